import pytest
from samples import edited, engine, given, sample, with_devices

MODEL = """\
apiVersion: kubeai.org/v1
kind: Model
metadata: {name: chat}
spec:
  url: hf://org/m
  engine: VLLM
  resourceProfile: nvidia-gpu-h100:2
"""


def test_a_profile_that_is_not_given_is_one_gpu_times_the_number_behind_it():
    found = engine(MODEL)
    assert (found.unit, found.gpu_resource, found.gpus_per_pod, found.node_selector) == (
        "Model/chat",
        "nvidia.com/gpu",
        2,
        None,
    )
    assert (found.model, found.served_name) == ("org/m", "chat")


def test_a_profile_that_is_given_decides_what_one_of_it_is():
    profiles = (
        "---\nresourceProfiles:\n  nvidia-gpu-h100: {limits: {nvidia.com/gpu: 4, memory: 64Gi}, nodeSelector: {a: b}}\n"
    )
    found = engine(MODEL + profiles)
    assert (found.gpus_per_pod, found.node_selector, found.host_memory_limit.written) == (8, {"a": "b"}, "64Gi")


def test_the_number_behind_the_profile_is_changed_and_the_profile_stays():
    assert "resourceProfile: nvidia-gpu-h100:4\n" in with_devices(MODEL, 4)


def test_arguments_are_added_where_there_are_none_yet():
    changed = edited(MODEL, "enforce_eager", value=True)
    assert changed == MODEL + "  args: [--enforce-eager]\n"


def test_a_shortened_flag_is_changed_in_its_own_spelling():
    changed = edited(sample("26-kubeai-model-and-profile.yaml"), "max_num_batched_tokens", 8192)
    assert "- --max-num-batched-token=8192\n" in changed


@pytest.mark.parametrize(("engine_name", "profile"), [("OLlama", "cpu:1"), ("FasterWhisper", "nvidia-gpu-l4:1")])
def test_another_engine_is_declined(engine_name, profile):
    text = MODEL.replace("VLLM", engine_name).replace("nvidia-gpu-h100:2", profile)
    found = engine(text)
    assert (found.supported, found.engine) == (False, engine_name.lower())


def test_variables_are_a_mapping():
    assert engine(MODEL + "  env: {VLLM_USE_V1: '0'}\n").arguments.environment == {"VLLM_USE_V1": "0"}
    assert "hf://org/n" not in str(given(engine(MODEL)))
