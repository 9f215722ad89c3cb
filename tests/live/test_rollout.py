import pytest

from oomedic.live.rollout import Look, is_new, needs_room, progress, stuck


def deployment(args=("--max-model-len=8192",), replicas=1, **spec):
    template = {"spec": {"containers": [{"name": "vllm", "image": "v", "args": list(args)}]}}
    return {"kind": "Deployment", "spec": {"replicas": replicas, "template": template, **spec}}


def pod(args=("--max-model-len=8192",), *, ready=False, waiting=None, exit_code=None, restarts=0, conditions=()):
    state = {"waiting": {"reason": waiting}} if waiting else {"running": {}}
    last = {} if exit_code is None else {"terminated": {"exitCode": exit_code}}
    status = {"ready": ready, "restartCount": restarts, "state": state, "lastState": last}
    told = [{"type": "Ready", "status": str(ready)}, *conditions]
    return {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "vllm", "image": "v", "args": list(args)}]},
        "status": {"conditions": told, "containerStatuses": [status]},
    }


UNSCHEDULED = ({"type": "PodScheduled", "status": "False"},)


def test_a_pod_with_other_arguments_is_an_old_one():
    assert is_new(pod(), deployment())
    assert not is_new(pod(["--max-model-len=32768"]), deployment())


def test_all_new_pods_ready_is_a_rollout_that_is_done():
    assert progress(Look(deployment(), (pod(ready=True),))).is_ready
    assert not progress(Look(deployment(replicas=2), (pod(ready=True),))).is_ready
    assert not progress(Look(deployment(), (pod(["--max-model-len=32768"], ready=True),))).is_ready


def test_a_pod_on_its_way_out_counts_for_nothing():
    leaving = pod(ready=True)
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert progress(Look(deployment(), (leaving,))).made == 0


def test_one_crash_is_not_yet_a_crash_loop():
    once = pod(exit_code=1, restarts=1)
    assert progress(Look(deployment(), (once,))).crashed is None, "the GPU may just have been being freed"
    assert progress(Look(deployment(), (pod(exit_code=1, restarts=2),))).crashed is not None
    assert progress(Look(deployment(), (pod(exit_code=1, waiting="CrashLoopBackOff"),))).crashed is not None


def test_the_old_pods_crash_says_nothing_of_the_change():
    old = pod(["--max-model-len=32768"], exit_code=1, waiting="CrashLoopBackOff")
    assert progress(Look(deployment(), (old,))).crashed is None


@pytest.mark.parametrize(
    ("message", "state"),
    [
        ("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", "unschedulable"),
        ("0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.", "constraint-mismatch"),
        ("0/3 nodes are available: 3 node(s) had untolerated taint(s)", "constraint-mismatch"),
        ('all available instance types exceed limits for nodepool "gpu"', "quota"),
        ("creating instance, VcpuLimitExceeded: You have requested more vCPU capacity", "quota"),
        ("creating instance, InsufficientInstanceCapacity: no capacity", "capacity"),
    ],
)
def test_a_pod_that_no_node_takes_is_told_by_what_the_schedulers_say(message, state):
    look = Look(deployment(), (pod(conditions=UNSCHEDULED),), (message,), elapsed_s=61)
    assert progress(look).verdict.state == state


def test_a_pod_may_wait_for_a_node_for_a_while_and_longer_with_karpenter():
    look = Look(deployment(), (pod(conditions=UNSCHEDULED),), (), elapsed_s=59)
    assert progress(look).verdict is None
    assert progress(look._replace(elapsed_s=300, has_pools=True)).verdict is None
    assert progress(look._replace(elapsed_s=901, has_pools=True)).verdict is not None


def test_an_image_that_cannot_be_had_ends_the_watch():
    assert progress(Look(deployment(), (pod(waiting="ImagePullBackOff"),))).verdict.state == "image"


@pytest.mark.parametrize(
    ("replicas", "strategy", "room"),
    [
        (1, {}, True),  # 25 % of 1: surge rounds up to 1, unavailable down to 0
        (3, {}, True),
        (4, {}, False),  # 25 % of 4: one pod may be unavailable
        (1, {"type": "Recreate"}, False),
        (1, {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}, False),
        (1, {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}, True),
    ],
)
def test_a_deployment_needs_room_where_no_old_pod_may_end_first(replicas, strategy, room):
    assert needs_room(deployment(replicas=replicas, strategy=strategy)) is room


def test_other_kinds_replace_their_pods_in_place():
    assert not needs_room({"kind": "StatefulSet", "spec": {"replicas": 1}})


def test_a_pod_with_another_config_file_is_an_old_one():
    wanted, running = deployment(), pod()
    volume = {"name": "config", "configMap": {"name": "tuning-1", "defaultMode": 420}}
    wanted["spec"]["template"]["spec"]["volumes"] = [volume]
    running["spec"]["volumes"] = [{**volume, "configMap": {"name": "tuning"}}]
    assert not is_new(running, wanted)
    # beside the token of the service account, which the server adds
    running["spec"]["volumes"] = [volume, {"name": "kube-api-access-x", "projected": {}}]
    assert is_new(running, wanted)


OLD, FAILING = ["--max-model-len=32768"], {"exit_code": 1, "waiting": "CrashLoopBackOff"}


@pytest.mark.parametrize(
    ("kind", "spec", "number"),
    [
        ("StatefulSet", {}, 1),
        ("StatefulSet", {"podManagementPolicy": "Parallel"}, 0),
        ("StatefulSet", {"podManagementPolicy": "Parallel", "updateStrategy": {"type": "OnDelete"}}, 1),
        ("StatefulSet", {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}}, 0),
        ("DaemonSet", {"updateStrategy": {"type": "RollingUpdate"}}, 0),
        ("DaemonSet", {"updateStrategy": {"type": "OnDelete"}}, 1),
        ("Deployment", {}, 0),
    ],
)
def test_a_failing_old_pod_that_no_controller_replaces_is_stuck(kind, spec, number):
    found = {**deployment(**spec), "kind": kind}
    old = pod(OLD, **FAILING)
    old["metadata"]["name"] = "qwen-0"
    assert len(stuck(found, [old])) == number
    assert len(stuck(found, [{**pod(OLD, conditions=UNSCHEDULED), "metadata": old["metadata"]}])) == number
    assert stuck(found, [pod(OLD, ready=True)]) == (), "one that serves is left to its controller"
    assert stuck(found, [pod(**FAILING)]) == (), "one with the change is watched"


def test_of_what_other_controllers_make_a_pod_is_new_when_it_was_not_there_before():
    found = {"kind": "InferenceService", "spec": {"predictor": {}}}
    before = pod(**FAILING)
    before["metadata"]["uid"] = "1"
    assert progress(Look(found, (before,), old=frozenset(("1",)))).crashed is None
    assert progress(Look(found, (before,))).crashed is before, "where nothing was changed, all pods count"


def test_a_leader_worker_set_wants_all_ranks_of_all_replicas():
    found = {"kind": "LeaderWorkerSet", "spec": {"replicas": 2, "leaderWorkerTemplate": {"size": 4}}}
    assert progress(Look(found, ())).wanted == 8
