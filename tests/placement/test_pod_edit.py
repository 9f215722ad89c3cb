"""Edits of a pod's place: exactly the intended lines change, in every style of YAML."""

import json
from difflib import unified_diff

import pytest

from oomedic.errors import InputError
from oomedic.kube.taint import Taint
from oomedic.manifest import read_workloads
from oomedic.observed.yaml_trees import trees
from oomedic.placement.pod_edit import demand_values, select_nodes, tolerate
from oomedic.sources.builtin import load

GPU = Taint("nvidia.com/gpu", "true", "NoSchedule")
L40S = {"karpenter.k8s.aws/instance-gpu-name": "l40s"}


def deployment(spec):
    return f"""\
# the server
apiVersion: apps/v1
kind: Deployment
metadata: {{name: vllm}}
spec:
  replicas: 1
  template:
    spec:
{spec}      containers:
        - name: vllm   # the engine
          image: vllm/vllm-openai:v0.10.2
          args: [--model, org/model]
          resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""


def workload_of(text):
    (workload,) = read_workloads(text, "f.yaml", load().arguments)
    return workload


def changed(before, after):
    """Return the lines that went, and the lines that came."""
    lines = list(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0))[2:]
    return (
        [line[1:] for line in lines if line.startswith("-")],
        [line[1:] for line in lines if line.startswith("+")],
    )


def pod_of(text):
    return trees(text, "f")[0]["spec"]["template"]["spec"]


def test_a_selector_is_written_where_there_is_none():
    text = deployment("")
    after = select_nodes(text, workload_of(text), L40S)
    assert changed(text, after) == (
        [],
        ["      nodeSelector:", "        karpenter.k8s.aws/instance-gpu-name: l40s"],
    )


def test_a_label_is_put_beside_the_others():
    text = deployment("      nodeSelector:\n        team: a  # ours\n")
    after = select_nodes(text, workload_of(text), L40S)
    assert changed(text, after) == ([], ["        karpenter.k8s.aws/instance-gpu-name: l40s"])


def test_a_label_in_braces_is_put_beside_the_others():
    text = deployment("      nodeSelector: {team: a}\n")
    after = select_nodes(text, workload_of(text), L40S)
    assert pod_of(after)["nodeSelector"] == {**L40S, "team": "a"}
    assert len(changed(text, after)[1]) == 1


def test_another_value_is_replaced_in_place():
    text = deployment("      nodeSelector:\n        node.kubernetes.io/instance-type: g5.xlarge  # one A10G\n")
    after = select_nodes(text, workload_of(text), {"node.kubernetes.io/instance-type": "g5.12xlarge"})
    assert changed(text, after) == (
        ["        node.kubernetes.io/instance-type: g5.xlarge  # one A10G"],
        ["        node.kubernetes.io/instance-type: g5.12xlarge  # one A10G"],
    )


def test_a_number_stays_a_text():
    text = deployment("      nodeSelector:\n        karpenter.k8s.aws/instance-gpu-memory: any\n")
    after = select_nodes(text, workload_of(text), {"karpenter.k8s.aws/instance-gpu-memory": "81920"})
    assert 'instance-gpu-memory: "81920"' in after


def test_what_is_selected_already_stays_byte_for_byte():
    text = deployment("      nodeSelector: {karpenter.k8s.aws/instance-gpu-name: l40s}\n")
    assert select_nodes(text, workload_of(text), L40S) == text


def test_a_toleration_is_written_where_there_is_none():
    text = deployment("")
    after = tolerate(text, workload_of(text), [GPU])
    assert changed(text, after)[1] == [
        "      tolerations:",
        '      - {key: nvidia.com/gpu, operator: Equal, value: "true", effect: NoSchedule}',
    ]


@pytest.mark.parametrize(
    "written",
    [
        "      tolerations:\n      - key: a\n        operator: Exists\n",
        "      tolerations:\n        - {key: a, operator: Exists}\n",
        "      tolerations: [{key: a, operator: Exists}]\n",
        "      tolerations: []\n",
    ],
)
def test_a_toleration_is_put_beside_the_others(written):
    text = deployment(written)
    before = pod_of(text)["tolerations"]
    after = tolerate(text, workload_of(text), [GPU])
    assert pod_of(after)["tolerations"][1:] == before
    assert pod_of(after)["tolerations"][0] == {
        "key": "nvidia.com/gpu",
        "operator": "Equal",
        "value": "true",
        "effect": "NoSchedule",
    }


def test_a_taint_that_is_tolerated_adds_nothing():
    text = deployment("      tolerations:\n        - {key: nvidia.com/gpu, operator: Exists}\n")
    assert tolerate(text, workload_of(text), [GPU]) == text


AFFINITY = """\
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              - matchExpressions:
                  - {key: karpenter.k8s.aws/instance-gpu-name, operator: In, values: [a10g, l4]}
                  - key: karpenter.k8s.aws/instance-size
                    operator: In
                    values:
                      - xlarge
                      - 2xlarge
                  - {key: zone, operator: NotIn, values: [a]}
"""


def test_values_that_a_node_affinity_asks_for_are_replaced():
    text = deployment(AFFINITY)
    labels = {"karpenter.k8s.aws/instance-gpu-name": "l40s", "karpenter.k8s.aws/instance-size": "12xlarge"}
    after = demand_values(text, workload_of(text), labels)
    required = pod_of(after)["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = required["nodeSelectorTerms"]
    assert [each["values"] for each in term["matchExpressions"]] == [["l40s"], ["12xlarge"], ["a"]]


def test_values_that_are_among_those_asked_for_stay():
    text = deployment(AFFINITY)
    assert demand_values(text, workload_of(text), {"karpenter.k8s.aws/instance-gpu-name": "l4"}) == text


def test_json_stays_json():
    tree = trees(deployment("      tolerations: []\n"), "f")[0]
    tree["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    text = json.dumps(tree, indent=2)
    workload = workload_of(text)
    after = tolerate(select_nodes(text, workload, L40S), workload, [GPU])
    pod = json.loads(after)["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == L40S
    assert pod["tolerations"][0]["value"] == "true"


def test_windows_line_ends_stay():
    text = deployment("").replace("\n", "\r\n")
    after = select_nodes(text, workload_of(text), L40S)
    assert after.count("\r\n") == after.count("\n") == text.count("\n") + 2


def test_a_pod_spec_that_is_shared_is_refused():
    spec = "spec: &pod\n  containers:\n    - {name: vllm, image: vllm/vllm-openai:v0.10.2, args: [--model, m]}\n"
    text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\n{spec}also: *pod\n"
    with pytest.raises(InputError, match="edit-refused"):
        select_nodes(text, workload_of(text), L40S)


def test_the_second_document_of_a_file_is_edited_alone():
    text = f"kind: Service\nmetadata: {{name: s}}\n---\n{deployment('')}"
    after = select_nodes(text, workload_of(text), L40S)
    assert after.startswith("kind: Service\nmetadata: {name: s}\n---\n")
    assert trees(after, "f")[1]["spec"]["template"]["spec"]["nodeSelector"] == L40S
