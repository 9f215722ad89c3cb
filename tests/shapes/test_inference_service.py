import pytest
from samples import edited, engine, engines, given, messages, sample

SERVICE = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: chat}
spec:
  predictor:
    minReplicas: 3
    model:
      modelFormat: {name: FORMAT}
      args: [ARGS]
      resources: {limits: {nvidia.com/gpu: 1}}
"""


def service(form="huggingface", args="--model_id=org/m", more=""):
    return SERVICE.replace("FORMAT", form).replace("ARGS", args) + more


def test_the_runtime_that_kserve_ships_brings_shared_memory_and_the_served_name():
    found = engine(service())
    assert (found.unit, found.container) == ("InferenceService/chat#predictor.model", "kserve-container")
    assert found.replicas == 3
    assert (found.model, found.served_name) == ("org/m", "chat")
    assert (found.shm.mounted, found.shm.size) == (True, None)
    assert found.host_memory_limit.written == "2Gi"


def test_vllm_s_own_runtime_has_a_budget_of_half_an_hour_to_start():
    found = engine(service("vLLM", "--max-model-len=8192", "      storageUri: hf://org/m\n"))
    assert found.probes.startup.budget_s == 1830
    assert (found.model, found.model_hint) == ("/mnt/models", "org/m")


def test_a_model_of_storage_is_loaded_from_where_it_is_mounted():
    found = engine(service(args="", more="      storageUri: pvc://claim/folder\n"))
    assert (found.model, found.model_hint) == ("/mnt/models", "claim/folder")


def test_a_misspelt_flag_is_told_since_the_server_drops_it():
    found = engine(service(args="--model_id=org/m, --max-model-length=1, --backend=vllm"))
    (note,) = found.notes
    assert (note.message, note.parameters["flags"]) == ("note.flags-dropped", ("--max-model-length",))


def test_without_a_back_end_the_server_may_fall_back_to_transformers():
    assert "note.backend-auto" in messages(engine(service()))
    assert "note.backend-auto" not in messages(engine(service(args="--model_id=org/m, --backend=vllm")))


def test_plain_transformers_are_declined():
    found = engine(service(args="--model_id=org/m, --backend=huggingface"))
    assert (found.supported, found.because.parameters["engine"]) == (False, "transformers")


def test_arguments_of_the_service_follow_those_of_the_runtime():
    found = engine(sample("16-kserve-runtime-multinode.yaml"))
    assert found.served_name == "big-qna"
    assert [found.edit_paths[name].object for name in ("max_model_len", "tensor_parallel_size")] == [
        "InferenceService/big-qna",
        "InferenceService/big-qna",
    ]


def test_an_addition_goes_into_the_service_not_into_the_shared_runtime():
    text = sample("16-kserve-runtime-multinode.yaml")
    changed = edited(text, "enforce_eager", value=True)
    assert changed.partition("---")[0] == text.partition("---")[0]
    assert given(engine(changed))["enforce_eager"] is True


def test_the_parallel_sizes_of_worker_spec_are_changed_there():
    changed = edited(sample("16-kserve-runtime-multinode.yaml"), "tensor_parallel_size", 4)
    assert changed.endswith("      tensorParallelSize: 4\n")


def test_a_predictor_with_containers_of_its_own_is_read_as_a_pod():
    container = "    containers: [{name: c, image: 'vllm/vllm-openai:v0.11.0', args: [org/m]}]\n"
    text = service().partition("    model:")[0] + container
    found = engine(text)
    assert (found.unit, found.model) == ("InferenceService/chat#predictor", "org/m")


@pytest.mark.parametrize(("form", "expected"), [("sklearn", []), ("triton", [False])])
def test_a_format_of_another_kind_starts_no_vllm(form, expected):
    runtime = (
        "---\napiVersion: serving.kserve.io/v1alpha1\nkind: ClusterServingRuntime\nmetadata: {name: r}\nspec:\n"
        f"  supportedModelFormats: [{{name: {form}}}]\n"
        f"  containers: [{{name: kserve-container, image: kserve/{form}server:1}}]\n"
    )
    assert [found.supported for found in engines(service(form, "", runtime))] == expected
    assert engines(service(form, "")) == []
