"""Kinds that have no shape of their own: what stands in their pod templates is read all the same."""

import time

import pytest
from samples import edited, engine, engines, given, with_devices

CONTAINER = (
    "{name: e, image: 'vllm/vllm-openai:v0.10.0', command: [vllm, serve, org/m, --max-model-len, '8192'],"
    " resources: {limits: {nvidia.com/gpu: 2}}}"
)
ROLES = """\
apiVersion: workload.serving.volcano.sh/v1alpha1
kind: ModelServing
metadata: {name: g}
spec:
  replicas: 2
  template:
    roles:
      - name: prefill
        replicas: 3
        workerReplicas: 1
        entryTemplate:
          spec:
            nodeSelector: {gpu: l4}
            containers:
              - name: leader
                image: vllm/vllm-openai:v0.10.0
                command: [sh, -c]
                args:
                  - |
                    bash multi-node-serving.sh leader
                    vllm serve org/m --max-model-len 8192 -pp 2
                resources: {limits: {nvidia.com/gpu: 2}}
        workerTemplate:
          spec:
            containers:
              - name: worker
                image: vllm/vllm-openai:v0.10.0
                command: [sh, -c, bash multi-node-serving.sh worker]
                resources: {limits: {nvidia.com/gpu: 2}}
"""


def test_a_leader_is_an_engine_and_its_worker_is_a_pod_of_the_same_replica():
    found = engine(ROLES)
    assert (found.unit, found.role) == ("ModelServing/g#prefill/leader", "prefill")
    assert (found.model, found.engine_version, found.node_selector) == ("org/m", "0.10.0", {"gpu": "l4"})
    # 2 groups x 3 roles x (leader + 1 worker) x 2 GPUs
    assert (found.gpus_per_pod, found.group_size, found.replicas, found.gpus_total) == (2, 2, 6, 24)


def test_an_edit_changes_one_word_of_the_template():
    assert edited(ROLES, "max_model_len", 4096) == ROLES.replace("--max-model-len 8192", "--max-model-len 4096")
    assert given(engine(edited(ROLES, "enforce_eager", value=True)))["enforce_eager"] is True
    assert with_devices(ROLES, 4).count("nvidia.com/gpu: 4") == 1


@pytest.mark.parametrize(
    ("kind", "spec", "unit"),
    [
        ("argoproj.io/v1alpha1/Rollout", "{template: {spec: {containers: [X]}}}", "Rollout/a#e"),
        ("serving.knative.dev/v1/Service", "{template: {spec: {containers: [X]}}}", "Service/a#e"),
        (
            "jobset.x-k8s.io/v1alpha2/JobSet",
            "{replicatedJobs: [{name: j, template: {spec: {template: {spec: {containers: [X]}}}}}]}",
            "JobSet/a#j/e",
        ),
        (
            "ome.io/v1beta1/ClusterServingRuntime",
            "{engineConfig: {runner: X}}",
            "ClusterServingRuntime/a#e",
        ),
    ],
)
def test_any_way_to_a_pod_is_followed(kind, spec, unit):
    version, _, name = kind.rpartition("/")
    text = f"apiVersion: {version}\nkind: {name}\nmetadata: {{name: a}}\nspec: {spec.replace('X', CONTAINER)}\n"
    found = engine(text)
    assert (found.unit, found.model, found.gpus_per_pod) == (unit, "org/m", 2)


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: PodTemplate\nmetadata: {name: a}\ntemplate: {spec: {containers: [{name: a}]}}\n",
        "apiVersion: example.com/v1\nkind: A\nmetadata: {name: a}\nspec: {containers: [{name: a, image: nginx}]}\n",
        "apiVersion: serving.kserve.io/v1alpha1\nkind: LLMInferenceServiceConfig\nspec: {containers: [X]}\n".replace(
            "X", CONTAINER
        ),
    ],
)
def test_what_runs_no_engine_is_none(text):
    assert engines(text) == []


def test_another_engine_in_such_an_object_is_declined():
    container = "{name: e, image: 'lmsysorg/sglang:v0.5', command: [python3, -m, sglang.launch_server]}"
    text = "apiVersion: workloads.x-k8s.io/v1alpha2\nkind: RoleBasedGroup\n"
    text += f"spec: {{template: {{containers: [{container}]}}}}\n"
    assert engine(text).because.parameters["engine"] == "sglang"


def test_aliases_cannot_make_a_walk_endless():
    layers = "".join(f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 7))
    started = time.process_time()
    assert engines(f"apiVersion: example.com/v1\nkind: A\nspec:\n  a0: &a0 [x]\n{layers}") == []
    assert time.process_time() - started < 1
