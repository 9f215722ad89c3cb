"""What `oomedic patch` prints is taken by a real API server, strictly validated, and makes the objects of the files.

Each kind whose API can be installed: Deployment, ConfigMap, LeaderWorkerSet, KServe's InferenceService and
LLMInferenceService, KubeRay's RayService, Karpenter's NodePool. The object is created from the file, patched with the
printed text, and held against the one that the API server makes of the edited file.
"""

import json
import re
from pathlib import Path

import pytest
import yaml

from oomedic.edits.argument import edit_files
from oomedic.instance import instances_of
from oomedic.manifest import read_manifests
from oomedic.patches import rendered
from oomedic.patches.changed import Changed, changed_objects
from oomedic.placement.node_pool import read_node_pools
from oomedic.placement.widening import widen
from oomedic.sources.builtin import load

SAMPLES = Path(__file__).parents[1] / "manifests"
CATALOGUE = load()
KINDS = {
    "Deployment": "02-deploy-shell-c-flow-args.yaml",
    "Deployment with devices of a claim": "04-deploy-dra-args-only-offload.yaml",
    "LeaderWorkerSet": "07-lws-limits-only.yaml",
    "ConfigMap of a RayCluster": "13-pstack-raycluster-configmap-script.yaml",
    "InferenceService": "15-kserve-isvc-huggingface.yaml",
    "LLMInferenceService": "17-kserve-llmisvc-additional-args-pd.yaml",
    "LLMInferenceService without arguments": "20-kserve-llmisvc-managed-dra.yaml",
    "RayService": "27-rayservice-llm-engine-kwargs.yaml",
}
TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec:
      requirements:
        - {key: GROUP/instance-gpu-name, operator: In, values: [a10g, l4]}  # small cards
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      nodeClassRef: {group: GROUP, kind: KIND, name: gpu}
      taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]
  limits: {nvidia.com/gpu: 8, cpu: 1000}
"""
SECRET = "              - {name: HUGGING_FACE_HUB_TOKEN, value: $HUGGING_FACE_HUB_TOKEN}\n"
"""A merge patch of a custom resource holds its whole list of containers; one with a secret in it is refused."""
FROM_THE_SERVER = {"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "namespace"}
REVISION = "deployment.kubernetes.io/revision"


def changed(name):
    """A sample with another length and without CUDA graphs, as a change of its file."""
    text = (SAMPLES / name).read_text(encoding="utf-8")
    text = text.replace(f"            env:\n{SECRET}", "").replace("  namespace: llm\n", "")
    after = {name: text}
    for reading in read_manifests({name: text}, CATALOGUE.arguments):
        for argument, value in (("max_model_len", 4096), ("enforce_eager", True)):
            after = edit_files(after, reading.workload, argument, value, CATALOGUE.arguments)
    return Changed({name: text}, after)


def printed(change, form):
    """The patch that is printed in a form, and its type: what a person hands to kubectl."""
    text = rendered(change, form)
    if form == "jsonpatch":
        return json.loads(text), TYPES["json"]
    (kind,) = re.findall(r"^# kubectl patch .* --type=(\w+) ", text, re.MULTILINE)
    return yaml.safe_load(text), TYPES[kind]


def objects(text, namespace):
    """The objects of a file, in a namespace of the test."""
    found = [tree for tree in yaml.safe_load_all(text) if tree]
    return [tree | {"metadata": tree["metadata"] | {"namespace": namespace}} for tree in found]


def path_of(change, namespace=None):
    root = f"/apis/{change.api_version}" if "/" in change.api_version else f"/api/{change.api_version}"
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{inside}/{change.kind.lower()}s/{change.name}"


def said(found):
    """What an object says, without what the server adds to each."""
    kept = {key: value for key, value in found["metadata"].items() if key not in FROM_THE_SERVER}
    kept["annotations"] = {key: value for key, value in kept.get("annotations", {}).items() if key != REVISION}
    return {key: value for key, value in found.items() if key not in {"metadata", "status"}} | {"metadata": kept}


@pytest.fixture
def two(workload_kinds, namespace):
    """Two namespaces: one for what is patched, one for what the edited file makes."""
    other = f"{namespace}-edited"
    workload_kinds.kubectl("create", "namespace", other)
    yield namespace, other
    workload_kinds.kubectl("delete", "namespace", other, "--wait=false")


@pytest.mark.parametrize("form", ["jsonpatch", "strategic"])
@pytest.mark.parametrize("name", KINDS.values(), ids=KINDS)
def test_a_printed_patch_makes_the_object_of_the_edited_file(plane, two, name, form):
    namespace, other = two
    change = changed(name)
    (concerned,) = changed_objects(change)
    for where, text in ((namespace, change.before[name]), (other, change.after[name])):
        for each in objects(text, where):
            plane.kubectl("create", "--validate=strict", "-f", "-", given=each)
    patch, kind = printed(change, form)
    place = path_of(concerned, namespace)
    patched = plane.ask("PATCH", f"{place}?fieldValidation=Strict", json.dumps(patch).encode(), kind)
    assert said(patched) == said(plane.ask("GET", path_of(concerned, other)))
    assert said(patched) != said(concerned.before)


@pytest.mark.parametrize("form", ["jsonpatch", "strategic"])
@pytest.mark.parametrize("maker", [("karpenter.k8s.aws", "EC2NodeClass"), ("eks.amazonaws.com", "NodeClass")])
def test_a_wider_node_pool_too(plane, form, maker):
    text = POOL.replace("GROUP", maker[0]).replace("KIND", maker[1])
    (pool,) = read_node_pools(text, "pool.yaml")
    instances = {each.type: each for each in instances_of(CATALOGUE.instances(), CATALOGUE.gpu)}
    change = Changed({"pool.yaml": text}, {"pool.yaml": widen(text, pool, instances["g6e.12xlarge"], 16)})
    (concerned,) = changed_objects(change)
    patch, kind = printed(change, form)
    made = []
    for tree, changing in ((concerned.before, patch), (concerned.after, None)):
        plane.kubectl("create", "--validate=strict", "-f", "-", given=tree)
        try:
            place = path_of(concerned)
            if changing is not None:
                plane.ask("PATCH", f"{place}?fieldValidation=Strict", json.dumps(changing).encode(), kind)
            made.append(said(plane.ask("GET", place)))
        finally:
            plane.kubectl("delete", "nodepool", concerned.name)
    assert made[0] == made[1]


def test_a_patch_that_was_made_for_another_state_is_refused(plane, two):
    namespace, _ = two
    name = KINDS["Deployment"]
    change = changed(name)
    (concerned,) = changed_objects(change)
    for each in objects(change.after[name], namespace):
        plane.kubectl("create", "--validate=strict", "-f", "-", given=each)
    patch, kind = printed(change, "jsonpatch")
    with pytest.raises(OSError, match="422"):  # the test of the old value does not hold
        plane.ask("PATCH", path_of(concerned, namespace), json.dumps(patch).encode(), kind)
