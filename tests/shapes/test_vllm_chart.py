from samples import edited, engine, engines, given, with_devices

VALUES = """\
image:
  repository: vllm/vllm-openai
  tag: v0.11.0
  command: ["vllm", "serve", "/data/", "--served-model-name", "opt", "--max-model-len", "2048"]
replicaCount: 2
resources:
  requests: {cpu: 4, memory: 16Gi, nvidia.com/gpu: 1}
  limits: {cpu: 4, memory: 16Gi, nvidia.com/gpu: 1}
shm: {enabled: false, size: 16Gi}
gpuModels: [TYPE_GPU_USED]
"""


def test_the_command_line_stands_under_the_image():
    found = engine(VALUES)
    assert (found.unit, found.model, found.served_name) == ("values#image", "/data/", "opt")
    assert (found.engine_version, found.gpus_per_pod, found.gpus_total) == ("0.11.0", 1, 2)
    assert found.host_memory_limit.written == "16Gi"
    assert not found.shm.mounted
    assert not found.node_affinity


def test_nodes_and_shared_memory_are_what_the_chart_makes_of_the_values():
    text = VALUES.replace("TYPE_GPU_USED", "NVIDIA-L40S").replace("enabled: false", "enabled: true")
    found = engine(text)
    assert found.node_affinity == {"nvidia.com/gpu.product": ("NVIDIA-L40S",)}
    assert (found.shm.mounted, found.shm.size) == (True, "16Gi")


def test_words_are_changed_and_added_in_the_list():
    assert '"--max-model-len", "4096"]' in edited(VALUES, "max_model_len", 4096)
    assert given(engine(edited(VALUES, "enforce_eager", value=True)))["enforce_eager"] is True
    assert with_devices(VALUES, 2).count("nvidia.com/gpu: 2") == 2


def test_values_of_any_other_chart_are_none():
    assert engines("image: {repository: nginx, command: [nginx]}\nreplicaCount: 1\n") == []
