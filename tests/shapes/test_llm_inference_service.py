from samples import edited, engine, engines, given, messages, sample

PLAIN = """\
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceService
metadata: {name: chat}
spec:
  model: {uri: "hf://org/m", name: served}
  parallelism: {tensor: 2}
"""
MAIN = "  template: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 2}}}]}\n"


def with_env(name, value):
    return MAIN.replace("main,", f"main, env: [{{name: {name}, value: '{value}'}}],")


def test_the_model_is_named_by_its_source_and_the_parallelism_by_its_field():
    found = engine(PLAIN + MAIN)
    assert (found.unit, found.model, found.served_name) == ("LLMInferenceService/chat#template.main", "org/m", "served")
    assert given(found)["tensor_parallel_size"] == 2
    assert found.edit_paths["tensor_parallel_size"].pointer == "/spec/parallelism/tensor"
    assert messages(found) == ["note.defaults-of-controller"]


def test_of_two_sources_the_variable_wins_over_the_parallelism_and_the_arguments_over_both():
    container = "{name: main, env: [{name: VLLM_ADDITIONAL_ARGS, value: --tensor-parallel-size=4}]"
    found = engine(PLAIN + f"  template: {{containers: [{container}}}]}}\n")
    assert given(found)["tensor_parallel_size"] == 4
    assert [value.value for name, value in found.arguments.shadowed if name == "tensor_parallel_size"] == [2]
    found = engine(PLAIN + f"  template: {{containers: [{container}, args: ['--tensor-parallel-size=8']}}]}}\n")
    assert given(found)["tensor_parallel_size"] == 8


def test_an_addition_makes_the_variable_that_is_meant_for_it_wherever_it_has_to_start():
    for text, added in (
        (PLAIN, 'template: {containers: [{name: main, env: [{name: VLLM_ADDITIONAL_ARGS, value: "--seed 7"}]}]}'),
        (PLAIN + "  template: {nodeSelector: {a: b}}\n", "containers: [{name: main, env: "),
        (PLAIN + MAIN, 'env: [{name: VLLM_ADDITIONAL_ARGS, value: "--seed 7"}]'),
        (PLAIN + with_env("A", "b"), '{name: VLLM_ADDITIONAL_ARGS, value: "--seed 7"}]'),
        (PLAIN + with_env("VLLM_ADDITIONAL_ARGS", ""), '"--seed 7"'),
    ):
        changed = edited(text, "seed", 7)
        assert added in changed
        assert given(engine(changed))["seed"] == 7


def test_a_value_in_the_variable_is_changed_between_its_neighbours():
    text = PLAIN + with_env("VLLM_ADDITIONAL_ARGS", "--a=1 --max-model-len=8192 --b")
    assert "'--a=1 --max-model-len=4096 --b'" in edited(text, "max_model_len", 4096)


def test_what_a_shared_config_says_is_not_changed_in_it():
    text = sample("19-kserve-llmisvc-baserefs.yaml")
    changed = edited(text, "max_model_len", 4096)
    assert changed.partition("---")[2] == text.partition("---")[2]


def test_the_containers_of_config_and_service_are_one_by_their_name():
    found = engine(sample("19-kserve-llmisvc-baserefs.yaml"))
    assert found.image == "ghcr.io/llm-d/llm-d-cuda:v0.9.0"
    assert found.host_memory_limit.written == "64Gi"
    assert found.probes.liveness.initial == 1200


def test_prefill_is_an_engine_of_its_own():
    text = PLAIN + MAIN + "  prefill: {parallelism: {tensor: 8}, template: {containers: [{name: main}]}}\n"
    decode, prefill = engines(text)
    assert (decode.role, prefill.role) == ("decode", "prefill")
    assert (given(decode)["tensor_parallel_size"], given(prefill)["tensor_parallel_size"]) == (2, 8)
    assert prefill.model == "org/m"


def test_data_parallel_workers_make_groups_of_pods():
    text = PLAIN.replace("{tensor: 2}", "{data: 16, dataLocal: 8}") + MAIN + "  worker: {containers: [{name: main}]}\n"
    assert engine(text).group_size == 2


def test_memory_of_the_host_for_the_cache_is_counted():
    text = PLAIN + MAIN + "  workload: {kvCacheOffloading: {cpu: 10Gi}}\n"
    assert engine(text).offload == {"kvCacheOffloading.cpu": 10 * 2**30}
