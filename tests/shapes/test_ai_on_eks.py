import pytest
from samples import edited, engine, given, messages

VALUES = """\
model: org/m
modelParameters:
  maxModelLen: "8192"
inference:
  framework: FRAMEWORK
  modelServer:
    image: {repository: public.ecr.aws/deep-learning-containers/vllm, tag: 0.10.2-gpu-py312-ec2}
    deployment:
      instanceType: g6e.48xlarge
      resources: {gpu: {requests: {nvidia.com/gpu: 8}, limits: {nvidia.com/gpu: 8}}}
"""


def values(framework="vllm"):
    return VALUES.replace("FRAMEWORK", framework)


def test_the_tensor_parallel_size_is_the_number_of_gpus_unless_it_is_given():
    assert given(engine(values())) == {"model": "org/m", "max_model_len": 8192, "tensor_parallel_size": 8}
    text = values().replace("maxModelLen:", "tensorParallelSize: '2'\n  maxModelLen:")
    assert given(engine(text))["tensor_parallel_size"] == 2


def test_the_rest_of_the_pod_is_the_chart_s():
    found = engine(values())
    assert (found.engine_version, found.gpus_per_pod, found.instance_type) == ("0.10.2", 8, "g6e.48xlarge")
    assert found.node_selector == {"node.kubernetes.io/instance-type": "g6e.48xlarge"}
    assert (found.shm.mounted, found.probes.startup.budget_s) == (True, 600)


def test_values_are_written_as_texts_and_a_flag_as_an_empty_one():
    assert '  maxModelLen: "4096"\n' in edited(values(), "max_model_len", 4096)
    assert '  gpuMemoryUtilization: "0.8"\n' in edited(values(), "gpu_memory_utilization", 0.8)
    assert '  enforceEager: ""\n' in edited(values(), "enforce_eager", value=True)
    assert '  noEnablePrefixCaching: ""\n' in edited(values(), "enable_prefix_caching", value=False)
    assert 'modelParameters: {maxModelLen: "4096"}' in edited(
        values().replace('\n  maxModelLen: "8192"', ""), "max_model_len", 4096
    ).replace(" {max", " {max")


@pytest.mark.parametrize(
    ("line", "message"),
    [("enforceEager: false", "note.switch-as-word"), ("gpuMemoryUtilization: 0.9", "note.number-unquoted")],
)
def test_what_the_template_writes_wrongly_is_told(line, message):
    assert messages(engine(values().replace("modelParameters:", f"modelParameters:\n  {line}"))) == [message]


def test_the_program_of_the_ray_chart_reads_only_some_of_the_keys():
    text = values("ray-vllm").replace("modelParameters:", "modelParameters:\n  maxNumSeqs: '4'")
    found = engine(text)
    assert "max_num_seqs" not in given(found)
    assert given(found)["enforce_eager"] is True
    assert messages(found) == ["note.value-ignored"]


def test_groups_of_pods_have_as_many_as_there_are_pipeline_stages():
    text = values("lws-vllm").replace("modelParameters:", "modelParameters:\n  pipelineParallelSize: '2'")
    assert (engine(text).group_size, engine(text).gpus_total) == (2, 16)


@pytest.mark.parametrize("framework", ["diffusers", "nim-container", "triton-trtllm"])
def test_other_frameworks_are_declined(framework):
    found = engine(values(framework))
    assert (found.supported, found.engine) == (False, framework)


def test_a_switch_that_was_added_is_removed_without_a_trace():
    added = edited(values(), "enforce_eager", value=True)
    assert added != values()
    assert edited(added, "enforce_eager", None) == values()
