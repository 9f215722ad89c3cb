"""What a plan changes of a live object beside its arguments: ConfigMaps through copies, variables, revisions."""

from pathlib import Path

import pytest
import yaml

from oomedic.errors import InputError
from oomedic.kube.json_patch import applied
from oomedic.live.workload import Former
from oomedic.live_change import live_change
from oomedic.live_diagnosis import manifest_of
from oomedic.live_edit import COPY_OF, Whole
from oomedic.planning.plan import Offer
from oomedic.question import Manifest
from oomedic.remedy import Change
from oomedic.sources.builtin import load
from oomedic.understanding import workloads_of

MANIFESTS = Path(__file__).parent / "manifests"
CONFIG = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "tuning", "namespace": "llm", "labels": {"app.kubernetes.io/managed-by": "x"}},
    "data": {"config.yaml": "# for the long requests\nmax-model-len: 131072\nmax-num-seqs: 64\n"},
}


def deployment(**container):
    engine = {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.20.0",
        "args": ["--model=m/x", "--config=/etc/vllm/config.yaml"],
        "volumeMounts": [{"name": "config", "mountPath": "/etc/vllm"}],
        **container,
    }
    spec = {"containers": [engine], "volumes": [{"name": "config", "configMap": {"name": "tuning"}}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "qwen", "namespace": "llm", "resourceVersion": "7"},
        "spec": {"replicas": 1, "template": {"metadata": {"labels": {"app": "q"}}, "spec": spec}},
    }


@pytest.fixture(scope="module")
def catalogue():
    return load()


@pytest.fixture
def change(catalogue):
    def make(found, *changes, former=None, remedy="FIX101"):
        workloads = tuple(workloads_of((manifest_of((found,), (CONFIG,)),), catalogue))
        offer = Offer(remedy, tuple(Change(name, None, value, remedy) for name, value in changes), "safe", ())
        return live_change(Whole(found, (CONFIG,), workloads, former), offer, spare=True)

    return make


def test_a_config_file_is_changed_in_a_copy_to_which_the_object_then_refers(change):
    found = deployment()
    made = change(found, ("max_model_len", 8192))
    (copy,) = made.created
    assert copy["data"]["config.yaml"] == "# for the long requests\nmax-model-len: 8192\nmax-num-seqs: 64\n"
    assert copy["metadata"]["name"].startswith("tuning-")
    assert copy["metadata"]["annotations"] == {COPY_OF: "tuning"}
    assert copy["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "oomedic"}, "no mark of another tool"
    after = applied(found, made.operations)
    assert after["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"] == copy["metadata"]["name"]
    assert applied(after, made.undo)["spec"] == found["spec"]
    assert "-    max-model-len: 131072" in made.diff
    assert "+    max-model-len: 8192" in made.diff


def test_the_same_content_gets_the_same_name_and_a_copy_of_a_copy_the_name_of_the_first(change):
    first, again = (change(deployment(), ("max_model_len", 8192)).created[0] for _ in range(2))
    assert first["metadata"]["name"] == again["metadata"]["name"]
    other = change(deployment(), ("max_model_len", 4096)).created[0]
    assert other["metadata"]["name"] != first["metadata"]["name"]


def test_a_variable_is_written_into_the_container_of_the_engine(change):
    found = deployment(env=[{"name": "A", "value": "1"}])
    made = change(found, ("env.PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"), remedy="FIX112")
    env = applied(found, made.operations)["spec"]["template"]["spec"]["containers"][0]["env"]
    assert env == [
        {"name": "A", "value": "1"},
        {"name": "PYTORCH_CUDA_ALLOC_CONF", "value": "expandable_segments:True"},
    ]


def test_no_secret_is_shown_though_the_request_holds_it(change):
    secret = [{"name": "HF_TOKEN", "value": "abc123"}]
    found = deployment(env=secret, args=["--model=m/x", "--api-key", "xyz789"])
    made = change(found, ("env.PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"), remedy="FIX112")
    assert "abc123" in str(made.operations), "the old value is tested"
    assert "abc123" not in str(made.shown) + made.diff
    ran = deployment(env=[{"name": "HF_TOKEN", "value": "old456"}], args=["--api-key", "old789"])["spec"]["template"]
    back = change(found, ("spec.template", 3), former=Former(3, "2026-01-01T00:00:00Z", ran), remedy="FIX502")
    assert not [each for each in ("abc123", "old456", "xyz789", "old789") if each in str(back.shown) + back.diff]


def test_a_variable_that_is_there_changes_in_its_place_for_others_may_refer_to_it(change):
    found = deployment(env=[{"name": "VLLM_USE_V1", "value": "1"}, {"name": "A", "value": "$(VLLM_USE_V1)"}])
    made = change(found, ("env.VLLM_USE_V1", "0"), remedy="FIX504")
    env = applied(found, made.operations)["spec"]["template"]["spec"]["containers"][0]["env"]
    assert env == [{"name": "VLLM_USE_V1", "value": "0"}, {"name": "A", "value": "$(VLLM_USE_V1)"}]


def test_an_earlier_revision_is_put_back_whole_without_the_mark_of_its_replica_set(change):
    ran = deployment(args=["--model=m/x"])["spec"]["template"]
    labelled = {**ran, "metadata": {"labels": {"app": "q", "pod-template-hash": "abc"}}}
    found = deployment()
    made = change(found, ("spec.template", 3), former=Former(3, "2026-01-01T00:00:00Z", labelled), remedy="FIX502")
    assert applied(found, made.operations)["spec"]["template"] == ran
    # older servers keep a time that is never set, and in one of both places only
    unset = {**labelled, "metadata": {**labelled["metadata"], "creationTimestamp": None}}
    again = change(found, ("spec.template", 3), former=Former(3, "2026-01-01T00:00:00Z", unset), remedy="FIX502")
    assert again.operations == made.operations


def test_what_nothing_changes_is_left_to_a_person(change):
    with pytest.raises(InputError, match="change-elsewhere"):
        change(deployment(), ("manual", None))


def test_a_variable_of_an_engine_in_several_ranks_is_left_to_a_person(catalogue):
    text = (MANIFESTS / "05-lws-ray-continuations.yaml").read_text(encoding="utf-8")
    workloads = tuple(workloads_of((Manifest("lws.yaml", text),), catalogue))
    found = next(yaml.safe_load_all(text))
    offer = Offer("FIX112", (Change("env.PYTORCH_CUDA_ALLOC_CONF", None, "x", "FIX112"),), "safe", ())
    with pytest.raises(InputError, match="change-elsewhere"):
        live_change(Whole(found, (), workloads), offer, spare=True)
