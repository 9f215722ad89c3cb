from samples import edited, engine, engines, given, messages, with_devices

VALUES = """\
modelArtifacts: {name: org/m, uri: "URI", mountPath: /model-cache}
decode:
  replicas: 2
  parallelism: {tensor: 4, data: 2}
  containers:
    - name: vllm
      image: ghcr.io/llm-d/llm-d-cuda:v0.9.0
      modelCommand: vllmServe
"""


def values(uri="hf://org/m", more=""):
    return VALUES.replace("URI", uri) + more


def test_the_chart_computes_the_gpus_from_the_parallelism():
    found = engine(values())
    assert (found.unit, found.gpus_per_pod, found.gpus_total) == ("values#decode.containers[0]", 8, 16)
    assert given(found)["tensor_parallel_size"] == 4
    assert found.edit_paths["nvidia.com/gpu"].pointer == "/decode/parallelism/tensor"


def test_limits_that_name_the_gpus_win_and_are_what_is_changed():
    text = values(more="      resources: {limits: {nvidia.com/gpu: 2}}\n")
    found = engine(text)
    assert found.gpus_per_pod == 2
    assert messages(found) == ["note.limits-win-over-parallelism"]
    assert "{limits: {nvidia.com/gpu: 4}}" in with_devices(text, 4)


def test_multinode_makes_groups_of_workers():
    text = "multinode: true\n" + values().replace("data: 2", "data: 16, workers: 2")
    assert (engine(text).group_size, engine(text).gpus_per_pod) == (2, 32)


def test_the_model_is_loaded_from_the_hub_or_from_a_volume():
    assert engine(values()).model == "org/m"
    assert engine(values("pvc://claim/path/m")).model == "/model-cache/path/m"
    assert engine(values("pvc+hf://claim/hub/org/m")).model == "org/m"
    assert engine(values("hf://{{ .Values.modelArtifacts.name }}")).model == "org/m"


def test_arguments_are_appended_and_start_a_list_where_there_is_none():
    changed = edited(values(), "max_model_len", 8192)
    assert changed == values(more='      args: [--max-model-len, "8192"]\n')


def test_a_command_of_the_user_s_is_taken_as_it_is():
    text = values(more="      command: [vllm, serve, org/other]\n").replace("vllmServe", "custom")
    assert given(engine(text)) == {"model": "org/other"}


def test_prefill_listens_elsewhere_and_can_be_switched_off():
    container = "{name: vllm, image: 'ghcr.io/llm-d/llm-d-cuda:v1', modelCommand: vllmServe}"
    prefill = f"prefill: {{create: true, containers: [{container}]}}\n"
    assert [(found.role, found.port) for found in engines(values(more=prefill))] == [
        ("decode", 8200),
        ("prefill", 8000),
    ]
    assert [found.role for found in engines(values(more=prefill.replace("create: true", "create: false")))] == [
        "decode"
    ]


def test_a_pinned_device_is_told_before_the_parallelism_is_raised():
    text = values(more="      env: [{name: CUDA_VISIBLE_DEVICES, value: '0'}]\n")
    assert messages(engine(text)) == ["note.devices-pinned"]


def test_nodes_are_chosen_by_accelerator_types():
    text = values().replace(
        "decode:\n", "decode:\n  acceleratorTypes: {labelKey: nvidia.com/gpu.product, labelValues: [L40S]}\n"
    )
    assert engine(text).node_affinity == {"nvidia.com/gpu.product": ("L40S",)}


def test_a_role_may_have_another_accelerator_than_the_others():
    text = values(more="  accelerator: {type: intel-gaudi}\n") + "accelerator: {type: nvidia}\n"
    found = engine(text)
    assert (found.gpu_resource, found.supported) == ("habana.ai/gaudi", False)
    assert engine(values(more="accelerator: {type: rebellions-atom}\n")).gpu_resource == "rebellions.ai/ATOM"


def test_devices_of_a_claim_are_as_many_as_parallelism_needs():
    """4 for tensor parallelism x 2 for data parallelism."""
    found = engine(values(more="  accelerator: {dra: true}\n"))
    assert (found.gpu_resource, found.gpus_per_pod, found.gpus_total) == ("dra:gpu.nvidia.com", 8, 16)
    assert found.edit_paths["dra:gpu.nvidia.com"].pointer == "/decode/parallelism/tensor"


def test_a_count_of_the_claim_wins_and_its_class_decides_whether_cuda_runs_there():
    template = "{class: gpu.nvidia.com, count: 2, selectors: [{cel: {expression: \"device.capacity['x']['memory']"
    template += ".compareTo(quantity('40Gi')) >= 0\"}}]}"
    more = f"accelerator: {{dra: true, resourceClaimTemplates: {{nvidia: {template}}}}}\n"
    found = engine(values(more=more))
    assert (found.gpus_per_pod, found.device_memory.written) == (2, "40Gi")
    assert "count: 4" in with_devices(values(more=more), 4)
    gaudi = engine(values(more="accelerator: {type: intel-gaudi, dra: true}\n"))
    assert (gaudi.gpu_resource, gaudi.supported) == ("dra:gaudi.intel.com", False)
