import pytest
from samples import edited, engine, engines, given, messages, sample

CLUSTER = """\
  rayClusterConfig:
    headGroupSpec: {template: {spec: {containers: [{name: head, image: 'rayproject/ray:2.50'}]}}}
    workerGroupSpecs:
      - groupName: g
        replicas: 2
        template:
          spec:
            containers:
              - {name: w, image: 'rayproject/ray-llm:2.50', resources: {limits: {nvidia.com/gpu: 4}}}
"""
SERVICE = "apiVersion: ray.io/v1\nkind: RayService\nmetadata: {name: s}\nspec:\n"


def service(config):
    lines = "".join(f"    {line}\n" for line in config.splitlines())
    return f"{SERVICE}  serveConfigV2: |\n{lines}{CLUSTER}"


LLM = "applications:\n- args:\n    llm_configs:\n    - model_loading_config: {model_id: a, model_source: org/m}\n"


def test_an_argument_is_added_to_engine_kwargs_even_where_there_are_none():
    changed = edited(service(LLM), "max_model_len", 4096)
    assert "      engine_kwargs: {max_model_len: 4096}\n" in changed
    assert given(engine(changed))["max_model_len"] == 4096


def test_an_argument_is_removed_from_engine_kwargs_with_its_line():
    text = service(LLM + "      engine_kwargs:\n        max_model_len: 8192 # long\n        enforce_eager: true\n")
    changed = edited(text, "max_model_len", None)
    assert "max_model_len" not in changed
    assert given(engine(changed))["enforce_eager"] is True


def test_a_switch_in_engine_kwargs_is_turned():
    text = service(LLM + "      engine_kwargs: {enforce_eager: true, dtype: half}\n")
    assert "{enforce_eager: false, dtype: half}" in edited(text, "enforce_eager", value=False)


def test_every_model_is_a_unit_and_the_gpus_are_those_of_the_workers():
    text = service(LLM + "    - model_loading_config: {model_id: org/n}\n")
    first, second = engines(text)
    assert [found.unit[-14:] for found in (first, second)] == ["llm_configs[0]", "llm_configs[1]"]
    assert (first.gpus_per_pod, first.gpus_total, first.container) == (4, 8, "w")
    assert second.model == "org/n"


def test_a_program_of_the_user_s_is_read_by_its_variables_and_declined():
    variables = "{MODEL_ID: org/m, MAX_MODEL_LEN: '8192', MAX_NUM_SEQ: '4'}"
    config = f"applications:\n- import_path: serve:app\n  runtime_env: {{env_vars: {variables}}}\n"
    found = engine(service(config))
    assert (found.supported, found.because.message) == (False, "workload.command-unreadable")
    assert given(found) == {"model": "org/m", "max_model_len": 8192, "max_num_seqs": 4}


def test_a_service_without_an_application_that_shows_is_no_engine():
    assert engines(service("not: [a config\n")) == []
    assert engines(SERVICE + CLUSTER) == []


def test_editing_in_place_and_starting_a_second_cluster_are_told_apart():
    found = engine(sample("27-rayservice-llm-engine-kwargs.yaml"))
    assert messages(found) == ["note.actor-restarts", "note.second-cluster"]


def test_a_job_s_entry_point_can_start_the_engine():
    head = SERVICE.replace("RayService", "RayJob")
    text = head + "  entrypoint: vllm serve org/m -tp 8\n" + CLUSTER.replace("Config", "Spec")
    found = engine(text)
    assert given(found)["tensor_parallel_size"] == 8
    assert "entrypoint: vllm serve org/m -tp 4\n" in edited(text, "tensor_parallel_size", 4)


@pytest.mark.parametrize("number", [0, 1])
def test_devices_of_head_and_workers_are_counted_together(number):
    text = sample("24-aibrix-rayclusterfleet.yaml")
    workers = "replicas: 1\n          rayStart"
    assert engine(text.replace(workers, workers.replace("1", str(number)))).gpus_total == 1 + number


@pytest.mark.parametrize(("sizes", "pods"), [("{}", 1), ("{tensor_parallel_size: 4, pipeline_parallel_size: 2}", 2)])
def test_a_replica_of_a_model_has_as_many_pods_as_its_ranks_need(sizes, pods):
    """The cluster offers 2 pods of 4 GPUs."""
    assert engine(service(LLM + f"      engine_kwargs: {sizes}\n")).group_size == pods


def test_what_the_program_in_a_config_map_never_mentions_is_no_argument():
    program = "a = EngineArgs(model=os.environ['MODEL_ID'], max_model_len=int(os.getenv('MAX_MODEL_LEN', '1')))"
    variables = "{MODEL_ID: org/m, MAX_MODEL_LEN: '8192', GPU_MEMORY_UTILIZATION: '0.9'}"
    config = f"applications:\n- import_path: my_app:deployment\n  runtime_env: {{env_vars: {variables}}}\n"
    mounted = service(config).replace(
        "resources: {limits: {nvidia.com/gpu: 4}}}",
        "resources: {limits: {nvidia.com/gpu: 4}},"
        " volumeMounts: [{name: s, mountPath: /home/ray/my_app.py, subPath: my_app.py}]}\n"
        "            volumes: [{name: s, configMap: {name: script}}]",
    )
    script = f'apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: script}}\ndata: {{my_app.py: "{program}"}}\n---\n'
    found = engine(script + mounted)
    assert given(found) == {"model": "org/m", "max_model_len": 8192}
    assert found.dead_variables == ("GPU_MEMORY_UTILIZATION",)
    assert "GPU_MEMORY_UTILIZATION" not in engine(mounted).dead_variables
