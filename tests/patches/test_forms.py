"""Each form of a patch, put back into the object that it was made from, gives the object of the edited file."""

import json
import re
import shlex
from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from oomedic.edits.argument import edit_files
from oomedic.edits.devices import edit_devices
from oomedic.edits.tree import merging, operations
from oomedic.errors import InputError
from oomedic.kube.json_patch import applied
from oomedic.kube.values import kube_value
from oomedic.manifest import read_manifests
from oomedic.patches import FORMS, rendered
from oomedic.patches.changed import Changed, changed_objects
from oomedic.patches.jsonpatch import operations_of
from oomedic.patches.objects import holds_secret
from oomedic.patches.strategic import merge_patch
from oomedic.sources.builtin import load
from oomedic.sources.manifests import read_all
from oomedic.workloads.kustomize import build

SAMPLES = Path(__file__).parents[1] / "manifests"
TABLE = load().arguments
EDITS = {"max_model_len": 7168, "enforce_eager": True, "gpu_memory_utilization": 0.83}
EDITABLE = [
    name
    for name in sorted(path.name for path in SAMPLES.iterdir() if path.suffix == ".yaml" or path.is_dir())
    if name != "33-helm-template.yaml"
    and any(
        reading.workload.supported and reading.workload.edit_paths
        for reading in read_manifests({m.path: m.text for m in read_all([str(SAMPLES / name)])}, TABLE)
    )
]


def edited(name, argument, value):
    """The change of the first engine of a sample, or None where it cannot be made."""
    before = {manifest.path: manifest.text for manifest in read_all([str(SAMPLES / name)])}
    engine = next(each.workload for each in read_manifests(before, TABLE) if each.workload.supported)
    after = edit_files(before, engine, argument, value, TABLE)
    return Changed(before, after)


def strategically_merged(change):
    """What kustomize makes of the object and a strategic merge patch of it."""
    tree = deepcopy(change.before)
    tree["metadata"] = {**tree.get("metadata", {}), "name": change.name}
    files = {
        "k/kustomization.yaml": "resources: [object.yaml]\npatches: [{path: patch.yaml}]\n",
        "k/object.yaml": yaml.safe_dump(tree),
        "k/patch.yaml": yaml.safe_dump(merge_patch(change).body),
    }
    (made,) = build("k/kustomization.yaml", files.get).objects
    return kube_value(made.node)


def merged(before, patch):
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    found = dict(before) if isinstance(before, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def put(tree, operations):
    """RFC 6902, with ``-`` for the end of a list."""
    for operation in operations:
        path = operation["path"]
        if path.endswith("/-"):
            holder = tree
            for part in path.split("/")[1:-1]:
                holder = holder[int(part) if isinstance(holder, list) else part.replace("~1", "/").replace("~0", "~")]
            path = f"{path[:-1]}{len(holder)}"
            holder.append(operation["value"])
        elif operation["op"] == "add" and isinstance(_holder(tree, path), list):
            _holder(tree, path).insert(int(path.rpartition("/")[2]), operation["value"])
        elif operation["op"] == "remove" and isinstance(_holder(tree, path), list):
            del _holder(tree, path)[int(path.rpartition("/")[2])]
        else:
            tree = applied(tree, [operation])
    return tree


def _holder(tree, path):
    for part in path.split("/")[1:-1]:
        tree = tree[int(part) if isinstance(tree, list) else part.replace("~1", "/").replace("~0", "~")]
    return tree


@pytest.mark.parametrize("argument", EDITS)
@pytest.mark.parametrize("name", EDITABLE)
def test_every_form_of_every_sample_gives_the_object_of_the_edited_file(name, argument):
    changed = edited(name, argument, EDITS[argument])
    changes = changed_objects(changed)
    assert changes or changed.before == changed.after, "an edit changes an object, unless it says so already"
    for change in changes:
        assert applied(change.before, operations_of(change)) == change.after
        assert put(deepcopy(change.before), operations(change.before, change.after)) == change.after
        assert merged(change.before, merging(change.before, change.after, strategic=False)) == change.after
        if change.kind:
            body = merge_patch(change).body
            assert (body["kind"], body["metadata"]["name"]) == (change.kind, change.name)
        if change.kind and merge_patch(change).type == "strategic":
            made, wanted = strategically_merged(change), change.after
            assert {**made, "metadata": None} == {**wanted, "metadata": None}


class TestWhichForms:
    VALUES = """servingEngineSpec:
  modelSpec:
    - {name: a, modelURL: org/m, requestGPU: 1, vllmConfig: {maxModelLen: 8192}}
"""

    def changed(self):
        before = {"values.yaml": self.VALUES}
        (reading,) = read_manifests(before, TABLE)
        return Changed(before, edit_files(before, reading.workload, "max_model_len", 4096, TABLE))

    def test_a_values_file_is_changed_by_options_for_helm(self):
        path = "servingEngineSpec.modelSpec[0].vllmConfig.maxModelLen"
        assert rendered(self.changed(), "helm-set") == f"--set-json '{path}=4096'\n"

    @pytest.mark.parametrize("form", ["jsonpatch", "strategic", "kustomize"])
    def test_a_values_file_is_no_object(self, form):
        with pytest.raises(InputError) as refused:
            rendered(self.changed(), form)
        assert refused.value.slug == "patch-form-unfit"
        assert refused.value.parameters == {"form": form, "path": "values.yaml", "instead": "helm-set"}

    def test_an_object_is_no_values_file(self):
        with pytest.raises(InputError, match="patch-form-unfit"):
            rendered(edited("01-deploy-equals-args-karpenter.yaml", "max_model_len", 4096), "helm-set")

    def test_a_file_that_is_new_is_shown_by_a_diff_alone(self):
        changed = Changed({"a.yaml": "a: 1\n"}, {"a.yaml": "a: 1\n", "pool.yaml": "kind: NodePool\n"})
        assert rendered(changed, "diff") == "--- /dev/null\n+++ b/pool.yaml\n@@ -0,0 +1,1 @@\n+kind: NodePool\n"
        for form in FORMS[1:]:
            with pytest.raises(InputError, match="patch-form-unfit"):
                rendered(changed, form)


class TestHelmSet:
    def test_helm_reads_from_the_options_what_the_edited_file_says(self):
        name = "09-pstack-values-basic.yaml"
        for argument, value in EDITS.items():
            changed = edited(name, argument, value)
            (change,) = changed_objects(changed)
            words = shlex.split(rendered(changed, "helm-set").replace("\\\n", " "))
            assert words[::2] == ["--set-json"] * (len(words) // 2)
            tree = deepcopy(change.before)
            for option in words[1::2]:
                path, _, text = option.partition("=")
                self.set(tree, path, json.loads(text))
            assert tree == change.after

    def set(self, tree, path, value):
        """As helm's strvals walks: keys behind dots, numbers in brackets."""
        keys = [int(index) if index else key for key, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path)]
        for key in keys[:-1]:
            tree = tree[key]
        tree[keys[-1]] = value

    def test_what_would_part_a_path_is_escaped(self):
        changed = Changed({"v.yaml": 'a: {"b.c/d=e": 1}\n'}, {"v.yaml": 'a: {"b.c/d=e": 2}\n'})
        assert rendered(changed, "helm-set") == "--set-json 'a.b\\.c/d\\=e=2'\n"


class TestSecrets:
    KEY = "sk-abcDEF0123456789abcdef"
    TEXT = f"""apiVersion: apps/v1
kind: Deployment
metadata: {{name: a}}
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.10.2
          args: [org/m, --api-key, {KEY}, --max-model-len, "8192"]
"""

    def changed(self, argument, value):
        (reading,) = read_manifests({"a.yaml": self.TEXT}, TABLE)
        return Changed(
            {"a.yaml": self.TEXT}, edit_files({"a.yaml": self.TEXT}, reading.workload, argument, value, TABLE)
        )

    @pytest.mark.parametrize("form", ["jsonpatch", "strategic", "kustomize"])
    def test_a_form_that_would_show_one_is_refused(self, form):
        with pytest.raises(InputError, match="patch-secret"):
            rendered(self.changed("enforce_eager", value=True), form)

    def test_a_form_that_does_not_touch_it_is_shown(self):
        assert self.KEY not in rendered(self.changed("max_model_len", 4096), "jsonpatch")
        assert json.loads(rendered(self.changed("max_model_len", 4096), "jsonpatch"))[-1]["value"] == "4096"

    def test_a_diff_hides_it(self):
        assert self.KEY not in rendered(self.changed("max_model_len", 4096), "diff")

    def test_names_of_secrets_are_none(self):
        assert not holds_secret({"imagePullSecrets": [{"name": "regcred"}], "env": [{"name": "HF_TOKEN"}]})
        assert holds_secret({"env": [{"name": "HF_TOKEN", "value": "x"}]})
        assert holds_secret(["--api-key=x"])


def test_several_objects_are_told_apart_by_the_command_that_patches_each():
    text = "".join(
        f"""---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: prod}}
spec: {{template: {{spec: {{containers: [{{name: vllm, image: vllm/vllm-openai:v0.10.2, args: [org/m, --seed=1]}}]}}}}}}
"""
        for name in ("a", "b")
    )
    changed = Changed({"d.yaml": text}, {"d.yaml": text.replace("--seed=1", "--seed=2")})
    parts = rendered(changed, "jsonpatch").split("# kubectl patch ")[1:]
    assert [part.partition("\n")[0] for part in parts] == [
        "deployment a -n prod --type=json --patch-file=FILE",
        "deployment b -n prod --type=json --patch-file=FILE",
    ]
    assert all(len(json.loads(part.partition("\n")[2])) == 2 for part in parts)


def test_a_custom_resource_is_merged_as_rfc_7386_says_for_its_lists_have_no_keys():
    (change,) = changed_objects(edited("26-kubeai-model-and-profile.yaml", "max_model_len", 4096))
    patch = merge_patch(change)
    assert patch.type == "merge"
    assert patch.body["spec"]["args"] == change.after["spec"]["args"]
    first = rendered(edited("26-kubeai-model-and-profile.yaml", "max_model_len", 4096), "strategic").split("\n")[0]
    assert first.startswith("# kubectl patch model.kubeai.org ")
    assert first.endswith("--type=merge --patch-file=FILE")


def test_the_patches_of_a_kustomization_make_of_what_it_builds_the_edited_object():
    for argument, value in EDITS.items():
        changed = edited("34-kustomize", argument, value)
        made = yaml.safe_load(rendered(changed, "kustomize"))
        overlay = next(path for path in changed.before if path.endswith("prod/kustomization.yaml"))
        tree = yaml.safe_load(changed.before[overlay])
        tree["patches"] += made["patches"]
        files = {**changed.before, overlay: yaml.safe_dump(tree)}
        (patched,), (wanted,) = (build(overlay, each.get).objects for each in (files, changed.after))
        assert kube_value(patched.node) == kube_value(wanted.node)


def test_the_number_of_gpus_is_changed_in_every_form_too():
    before = {"a.yaml": TestSecrets.TEXT.replace("args:", "resources: {limits: {nvidia.com/gpu: 1}}\n          args:")}
    (reading,) = read_manifests(before, TABLE)
    changed = Changed(before, edit_devices(before, reading.workload, 2, TABLE))
    (change,) = changed_objects(changed)
    assert merge_patch(change).body["spec"]["template"]["spec"]["containers"] == [
        {"name": "vllm", "resources": {"limits": {"nvidia.com/gpu": 2}}}
    ]
