"""Kustomizations as people write them: generated ConfigMaps, components, patch files of several documents."""

import pytest

from oomedic.edits.argument import edit_files
from oomedic.manifest import read_manifests
from oomedic.sources.builtin import load
from oomedic.sources.manifests import read_all

TABLE = load().arguments
BASE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      containers:
        - name: e
          image: vllm/vllm-openai:v0.11.0
          command: [vllm, serve, $(MODEL_ID)]
          args: ["--max-model-len=$(MAX_MODEL_LEN)", --enforce-eager]
          envFrom: [{configMapRef: {name: runtime}}]
          resources: {limits: {nvidia.com/gpu: 1}}
"""
FILES = {
    "base/kustomization.yaml": "resources: [deployment.yaml]\nconfigMapGenerator: [{name: runtime, literals: [A=1]}]\n",
    "base/deployment.yaml": BASE,
    "prod/kustomization.yaml": (
        "nameSuffix: -prod\nresources: [../base]\ncomponents: [../more]\n"
        "configMapGenerator: [{name: runtime, behavior: merge, envs: [runtime.env]}]\n"
    ),
    "prod/runtime.env": "# sizes\nMAX_MODEL_LEN=8192\nMODEL_ID=org/m\n",
    "more/kustomization.yaml": "kind: Component\npatches: [{path: patch.yaml}]\n",
    "more/patch.yaml": (
        "apiVersion: apps/v1\nkind: Service\nmetadata: {name: chat}\n---\n"
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: chat}\n"
        "spec: {template: {spec: {containers: [{name: e, resources: {limits: {nvidia.com/gpu: 4}}}]}}}\n"
    ),
}


@pytest.fixture
def files(tmp_path):
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return {each.path: each.text for each in read_all([str(tmp_path / "prod")])}


def engine(files):
    (found,) = read_manifests(files, TABLE)
    return found.workload


def test_a_variable_comes_from_the_generated_config_map_whatever_the_suffix(files):
    found = engine(files)
    assert found.unit == "Deployment/chat-prod#e"
    assert found.arguments.given["max_model_len"].value == 8192
    assert (found.model, found.dead_variables) == ("org/m", ())


def test_a_component_changes_what_its_kustomization_has(files):
    assert engine(files).gpus_per_pod == 4


def test_a_value_of_a_generated_config_map_is_changed_by_a_patch_of_the_overlay(files):
    after = edit_files(files, engine(files), "max_model_len", 4096, TABLE)
    assert engine(after).arguments.given["max_model_len"].value == 4096
    changed = [path for path in files if after[path] != files[path]]
    assert [path.rpartition("/")[2] for path in changed] == ["kustomization.yaml"]
    assert engine(after).model == "org/m"
    assert "MODEL_ID" not in next(after[path] for path in changed)
