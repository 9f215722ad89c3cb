"""Which containers are engines: by the image, by arguments; and what an image says of the engine's release."""

import pytest

from oomedic.manifest import read_workloads
from oomedic.sources.builtin import load
from oomedic.workloads.engine_kinds import engine_of_image, version_of_image

TABLE = load().arguments


def pod(image, arguments="[]", resources="{limits: {nvidia.com/gpu: 2}}", env="[]"):
    container = f"{{name: e, image: '{image}', args: {arguments}, env: {env}, resources: {resources}}}"
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{containers: [{container}]}}\n"


@pytest.mark.parametrize(
    "image",
    [
        "ghcr.io/vllm-project/semantic-router/extproc:latest",
        "quay.io/org/gradio-rag-vllm:1",
        "quay.io/org/vllme:0.2",
        "x.io/vllm-client:1",
    ],
)
def test_what_only_has_the_engine_s_name_is_no_engine(image):
    assert engine_of_image(image) is None


@pytest.mark.parametrize("image", ["ghcr.io/vllm-project/vllm-openai:v1", "x.io/team/vllm:0.11.0", "rocm/vllm"])
def test_the_engine_s_own_images_are_one(image):
    assert engine_of_image(image) == "vllm"


def test_the_release_may_stand_in_the_name_of_the_image():
    assert version_of_image("public.ecr.aws/a/ray-2.41.0-py310-cu118-vllm0.7.0:latest") == "0.7.0"
    assert version_of_image("public.ecr.aws/a/ray-2.41.0-vllm_v0.7.0@sha256:00") == "0.7.0"
    assert version_of_image("localhost:5000/vllm") is None


def test_a_model_beside_a_tensor_parallel_size_is_vllm_s_way_to_say_it():
    (found,) = read_workloads(
        pod("IMAGE", "[--model=$(M), --tensor-parallel-size=2]", env="[{name: M, value: o/m}]"), "f", TABLE
    )
    assert (found.engine, found.model) == ("vllm", "o/m")
    assert read_workloads(pod("IMAGE", "[--model-path=o/m, --tensor-parallel-size=2]"), "f", TABLE) == ()


def test_a_variable_that_another_variable_or_an_argument_names_is_read_by_something():
    env = "[{name: MAX_MODEL_LEN, value: '8192'}, {name: TENSOR_PARALLEL_SIZE, value: '2'},"
    env += " {name: TP, value: $(TENSOR_PARALLEL_SIZE)}, {name: GPU_MEMORY_UTILIZATION, value: '0.5'}]"
    arguments = "[--model=o/m, '--max-model-len=$(MAX_MODEL_LEN)', --tensor-parallel-size, $(TP)]"
    (found,) = read_workloads(pod("vllm/vllm-openai:v0.11.0", arguments, env=env), "f", TABLE)
    assert found.dead_variables == ("GPU_MEMORY_UTILIZATION",)
    assert found.arguments.given["max_model_len"].value == 8192


def test_vllm_s_own_variable_of_another_meaning_is_no_argument():
    text = pod("vllm/vllm-openai:v1", env="[{name: VLLM_PORT, value: '8004'}]").replace("args: []", "command: [run.sh]")
    (found,) = read_workloads(text, "f", TABLE)
    assert "port" not in found.arguments.given


def test_the_objects_of_a_template_of_openshift_are_read():
    runtime = (
        "apiVersion: serving.kserve.io/v1alpha1, kind: ServingRuntime, metadata: {name: r}, spec: {containers: ["
        "{name: kserve-container, image: 'x/vllm:1', command: [python, -m, vllm.entrypoints.openai.api_server],"
        " args: [--model=/mnt/models, '--served-model-name={{.Name}}']}]}"
    )
    text = f"kind: Template\napiVersion: template.openshift.io/v1\nmetadata: {{name: t}}\nobjects: [{{{runtime}}}]\n"
    (found,) = read_workloads(text, "f", TABLE)
    assert (found.unit, found.model) == ("ServingRuntime/r#kserve-container", "/mnt/models")


@pytest.mark.parametrize(
    ("limits", "resource", "memory"),
    [
        ("nvidia.com/gpu: 1, nvidia.com/gpumem: 20000", "nvidia.com/gpu", (20000 * 2**20, "20000 MiB")),
        ("nvidia.com/gpu: 1, nvidia.com/gpumem-percentage: 50", "nvidia.com/gpu", (None, "50 %")),
        ("nvidia.com/GH100_H100_PCIE: 1", "nvidia.com/GH100_H100_PCIE", None),
    ],
)
def test_shares_of_a_card_and_cards_by_name_are_devices(limits, resource, memory):
    (found,) = read_workloads(pod("vllm/vllm-openai:v1", "[o/m]", f"{{limits: {{{limits}}}}}"), "f", TABLE)
    assert (found.gpu_resource, found.gpus_per_pod, found.device_memory) == (resource, 1, memory)
