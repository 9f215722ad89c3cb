from samples import edited, engine, engines, given, messages, with_devices

GROUP = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: big}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 4
    leaderTemplate:
      spec:
        containers:
          - name: leader
            image: vllm/vllm-openai:v0.11.0
            args: [org/m, --pipeline-parallel-size, $(LWS_GROUP_SIZE)]
            resources: {limits: {nvidia.com/gpu: 8}}
    workerTemplate:
      spec:
        containers:
          - name: worker
            image: vllm/vllm-openai:v0.11.0
            command: [sh, -c, ray start]
            resources: {limits: {nvidia.com/gpu: 8}}
"""


def test_the_group_s_size_is_known_to_its_command_line():
    found = engine(GROUP)
    assert found.unit == "LeaderWorkerSet/big#leader/leader"
    assert given(found)["pipeline_parallel_size"] == 4
    assert (found.group_size, found.replicas, found.gpus_per_replica, found.gpus_total) == (4, 2, 32, 64)


def test_a_change_of_the_devices_concerns_leader_and_workers_alike():
    changed = with_devices(GROUP, 4)
    assert changed.count("nvidia.com/gpu: 4") == 2
    assert "nvidia.com/gpu: 8" not in changed


def test_the_size_itself_is_not_changed_as_a_value_of_an_argument():
    changed = edited(GROUP, "pipeline_parallel_size", 2)
    assert "size: 2" in changed
    assert "$(LWS_GROUP_SIZE)" in changed


def test_without_a_leader_s_template_the_workers_one_is_used():
    first = GROUP.index("    workerTemplate:")
    text = GROUP[:first].replace("leaderTemplate:", "workerTemplate:")
    assert [found.unit for found in engines(text)] == ["LeaderWorkerSet/big#worker/leader"]


def test_workers_that_start_an_engine_of_their_own_are_units_too():
    text = GROUP.replace("command: [sh, -c, ray start]", "command: [vllm, serve, org/m, --headless]")
    assert [found.unit.partition("#")[2] for found in engines(text)] == ["leader/leader", "worker/worker"]


def test_a_group_that_is_recreated_takes_its_logs_with_it():
    assert messages(engine(GROUP)) == ["note.group-recreated"]
    assert messages(engine(GROUP.replace("size: 4", "size: 4\n    restartPolicy: None"))) == []
