import pytest
from samples import edited, engine, engines, given, messages, sample, with_devices

VALUES = """\
servingEngineSpec:
  modelSpec:
    - name: a
      repository: vllm/vllm-openai
      tag: v0.11.0
      modelURL: org/m
      requestGPU: 2
"""


def test_extra_arguments_follow_the_fields_and_win():
    text = VALUES + "      vllmConfig: {gpuMemoryUtilization: 0.95, extraArgs: [--gpu-memory-utilization, '0.4']}\n"
    found = engine(text)
    assert given(found)["gpu_memory_utilization"] == 0.4
    assert [value.value for name, value in found.arguments.shadowed] == [0.95]
    assert "'0.5'" in edited(text, "gpu_memory_utilization", 0.5)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("{}", {"enable_prefix_caching": False}),
        ("{enablePrefixCaching: true}", {"enable_prefix_caching": True}),
        ("{enableChunkedPrefill: false}", {"enable_chunked_prefill": False, "enable_prefix_caching": False}),
        (
            "{maxModelLen: 4096, maxNumSeqs: '8'}",
            {"enable_prefix_caching": False, "max_model_len": 4096, "max_num_seqs": 8},
        ),
        ("{pipelineParallelSize: 2}", {"enable_prefix_caching": False}),
    ],
)
def test_the_chart_s_command_line_is_what_its_template_makes(config, expected):
    assert given(engine(f"{VALUES}      vllmConfig: {config}\n")) == {"model": "org/m", **expected}


def test_without_vllm_config_there_are_no_arguments_and_an_addition_keeps_the_defaults():
    assert given(engine(VALUES)) == {"model": "org/m"}
    changed = edited(VALUES, "max_model_len", 4096)
    config = "{enablePrefixCaching: true, extraArgs: [--max-model-len=4096]}"
    assert changed == f"{VALUES}      vllmConfig: {config}\n"


def test_a_switch_of_the_chart_is_turned_where_it_stands():
    text = VALUES + "      vllmConfig:\n        enablePrefixCaching: false # why\n"
    assert "enablePrefixCaching: true # why\n" in edited(text, "enable_prefix_caching", value=True)


def test_a_field_is_removed_with_its_line():
    text = VALUES + "      vllmConfig:\n        maxModelLen: 4096\n        dtype: half\n"
    assert edited(text, "max_model_len", None) == text.replace("        maxModelLen: 4096\n", "")


def test_extra_arguments_that_are_empty_or_null_take_an_addition():
    for empty in ("[]", ""):
        text = f"{VALUES}      vllmConfig:\n        extraArgs: {empty}".rstrip() + "\n"
        assert given(engine(edited(text, "seed", 7)))["seed"] == 7


def test_shared_memory_is_mounted_only_with_the_field_for_tensor_parallelism():
    assert not engine(VALUES + "      vllmConfig: {extraArgs: [-tp, '2']}\n").shm.mounted
    found = engine(VALUES + "      vllmConfig: {tensorParallelSize: 2}\n")
    assert (found.shm.mounted, found.shm.size) == (True, "20Gi")


def test_a_model_that_is_switched_off_is_no_engine():
    assert engines(VALUES + "      enabled: false\n") == []


def test_devices_are_changed_in_the_values():
    assert "requestGPU: 4\n" in with_devices(VALUES, 4)


def test_a_key_that_no_template_reads_is_told():
    assert messages(engine(sample("09-pstack-values-basic.yaml"))) == []
    assert set(messages(engines(sample("10-pstack-values-multi-model.yaml"))[0])) == {"note.value-ignored"}


def test_values_inside_a_release_of_flux_or_an_application_of_argo_are_changed_there():
    inner = "".join(f"    {line}\n" for line in VALUES.splitlines())
    flux = f"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: r}}\nspec:\n  values:\n{inner}"
    text = "".join(f"        {line}\n" for line in VALUES.splitlines())
    argo = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: r}\n"
    argo += "spec:\n  source:\n    helm:\n      values: |\n"
    assert engine(flux).unit == "HelmRelease/r#servingEngineSpec.modelSpec[0]"
    assert engine(flux).edit_paths["nvidia.com/gpu"].pointer == "/spec/values/servingEngineSpec/modelSpec/0/requestGPU"
    assert engine(argo + text).edit_paths["model"].inner == "servingEngineSpec.modelSpec[0].modelURL"
    assert "              requestGPU: 4\n" in with_devices(argo + text, 4)


def test_a_runtime_of_the_operator_takes_numbers_as_texts():
    text = (
        "apiVersion: production-stack.vllm.ai/v1alpha1\nkind: VLLMRuntime\nmetadata: {name: r}\nspec:\n"
        '  model: {modelURL: org/m, maxModelLen: 4096}\n  vllmConfig: {gpuMemoryUtilization: "0.8"}\n'
        '  deploymentConfig: {resources: {gpu: "1", memory: 32Gi}, image: {name: "vllm/vllm-openai:v0.11.0"}}\n'
    )
    found = engine(text)
    assert (found.unit, found.gpus_per_pod, found.host_memory_limit.written) == ("VLLMRuntime/r#vllm", 1, "32Gi")
    assert given(found) == {"model": "org/m", "max_model_len": 4096, "gpu_memory_utilization": 0.8}
    assert 'gpuMemoryUtilization: "0.7"' in edited(text, "gpu_memory_utilization", 0.7)
    assert "extraArgs: [--enforce-eager]" in edited(text, "enforce_eager", value=True)
