import pytest

from oomedic.live.workload import (
    Refused,
    config_maps_named,
    gpus_asked,
    has_crashed,
    is_failing,
    is_ready,
    is_unscheduled,
    logged_lives,
)


def pod(state=None, last=None, *, ready=False, **more):
    status = {"name": "vllm", "ready": ready, "state": state or {}, "lastState": last or {}}
    return {"metadata": {"name": "p"}, "status": {"containerStatuses": [status]}} | more


CRASHED = {"terminated": {"exitCode": 1}}
BACK_OFF = {"waiting": {"reason": "CrashLoopBackOff"}}


@pytest.mark.parametrize(
    ("found", "failing"),
    [
        (pod(BACK_OFF, CRASHED), True),
        (pod({"running": {}}, CRASHED), True),  # between two crashes
        (pod({"running": {}}, CRASHED, ready=True), False),  # it has recovered
        (pod({"waiting": {"reason": "ContainerCreating"}}), False),
        (pod({"waiting": {"reason": "ImagePullBackOff"}}), True),
        (pod({"running": {}}), False),
        (pod({"terminated": {"exitCode": 0}}), False),
        ({"metadata": {}, "status": {"phase": "Failed"}}, True),  # evicted
        ({"metadata": {}, "status": {"phase": "Pending"}}, False),
    ],
)
def test_a_pod_fails_when_it_waits_after_a_crash_or_cannot_start(found, failing):
    assert is_failing(found) is failing


def test_a_crash_is_an_end_with_another_status_than_zero():
    assert has_crashed(pod(BACK_OFF, CRASHED))
    assert not has_crashed(pod({"running": {}}, {"terminated": {"exitCode": 0}}))


def test_the_logs_of_previous_lives_come_first():
    assert list(logged_lives(pod(BACK_OFF, CRASHED))) == [("vllm", True)]
    assert list(logged_lives(pod({"running": {}}, CRASHED))) == [("vllm", True), ("vllm", False)]
    assert list(logged_lives(pod({"waiting": {}}))) == []


def test_a_pod_on_its_way_out_is_not_ready():
    found = {"metadata": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    assert is_ready(found)
    assert not is_ready(found | {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})


def test_a_pod_without_a_node_says_so_in_its_conditions():
    assert is_unscheduled({"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}})
    assert not is_unscheduled({"status": {}})


def test_config_maps_are_found_wherever_a_pod_names_them_and_secrets_nowhere():
    spec = {
        "volumes": [
            {"name": "a", "configMap": {"name": "files"}},
            {"name": "b", "projected": {"sources": [{"configMap": {"name": "projected"}}, {"secret": {"name": "s"}}]}},
            {"name": "c", "secret": {"secretName": "token"}},
        ],
        "containers": [
            {
                "envFrom": [{"configMapRef": {"name": "variables"}}, {"secretRef": {"name": "secret"}}],
                "env": [
                    {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "key", "key": "k"}}},
                    {"name": "B", "valueFrom": {"secretKeyRef": {"name": "secret", "key": "k"}}},
                    {"name": "C", "value": "plain"},
                ],
            }
        ],
    }
    assert config_maps_named({"spec": spec}) == ("files", "key", "projected", "variables")


def test_gpus_are_counted_over_containers_slices_included():
    limits = [{"nvidia.com/gpu": "2"}, {"nvidia.com/mig-1g.5gb": 1, "memory": "1Gi"}, {}]
    assert gpus_asked({"spec": {"containers": [{"resources": {"limits": each}} for each in limits]}}) == 3


def test_a_missing_permission_is_named_by_the_rule_that_gives_it():
    refused = Refused("logs", "get", "", "pods/log", "llm")
    assert refused.rule == '{apiGroups: [""], resources: ["pods/log"], verbs: ["get"]}'
