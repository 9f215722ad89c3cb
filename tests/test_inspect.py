"""`oomedic inspect` shows what was understood of a manifest: held against facts that were read by hand."""

import json
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parent / "manifests"
FACTS = json.loads((SAMPLES / "FACTS.json").read_text(encoding="utf-8"))
SHOWN = {
    "01-deploy-equals-args-karpenter.yaml": "01-deploy-equals-args-karpenter.yaml",
    "02-deploy-shell-c-flow-args.yaml": "02-deploy-shell-c-flow-args.yaml",
    "23-aibrix-deployment.yaml": "23-aibrix-deployment.yaml",
    "34-kustomize/base": "34-kustomize/base/deployment.yaml",
}
ARGUMENTS = (
    *("max_model_len", "tensor_parallel_size", "gpu_memory_utilization", "dtype"),
    *("max_num_batched_tokens", "enable_chunked_prefill"),
)
HEAD = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  containers:
    - name: engine
      image: vllm/vllm-openai:v0.11.0
"""


@pytest.fixture
def inspected(oomedic):
    """The workloads in some files."""

    def read(*paths, stdin=""):
        ran = oomedic("inspect", *paths, "-o", "json", stdin=stdin)
        assert (ran.status, ran.err) == (0, "")
        return [result["workload"] for result in ran.results]

    return read


@pytest.fixture(params=SHOWN)
def sample(request, inspected):
    """One engine, and what is known of it."""
    (workload,) = inspected(SAMPLES / request.param)
    (facts,) = FACTS[SHOWN[request.param]]["facts"]["units"]
    return workload, facts


def test_the_engine_and_its_model(sample):
    workload, facts = sample
    assert (workload["unit"], workload["model"]) == (facts["unit"], facts["model"])
    assert workload["engine"] == "vllm"
    assert workload["supported"]
    if "served_name" in facts:
        assert workload["served_name"] == facts["served_name"]


def test_every_argument_that_the_facts_name_and_no_other_value(sample):
    workload, facts = sample
    given = {name: each["value"] for name, each in workload["arguments"].items()}
    for name in ARGUMENTS:
        if name in facts:
            assert given.get(name) == facts[name], name
        else:
            assert name not in given


def test_the_gpus(sample):
    workload, facts = sample
    assert workload["gpus_per_pod"] == facts["gpus_per_pod"]
    assert workload["gpu_resource"] == facts.get("gpu_resource", "nvidia.com/gpu")
    assert workload["node_selector"] == facts.get("node_selector")


def test_shared_memory_and_probes(sample):
    workload, facts = sample
    for name, value in facts.get("shm", {}).items():
        assert workload["shm"][name] == value
    for probe, expected in facts.get("probes", {}).items():
        found = workload["probes"][probe]
        assert found is None if expected is None else expected.items() <= found.items()


def test_where_an_edit_would_go(sample):
    workload, facts = sample
    name = next(name for name in ("max_model_len", "enable_chunked_prefill") if name in workload["edit_paths"])
    place = workload["edit_paths"][name]
    assert {key: place[key] for key in facts["edit"]} == facts["edit"]


@pytest.mark.parametrize("name", SHOWN)
def test_people_are_shown_the_same(oomedic, name):
    (facts,) = FACTS[SHOWN[name]]["facts"]["units"]
    out = oomedic("inspect", SAMPLES / name).out
    assert out.startswith(f"{facts['unit']}\n")
    assert facts["model"] in out
    assert f"{facts['gpus_per_pod']} x nvidia.com/gpu" in out
    for argument in ARGUMENTS:
        if facts.get(argument) is not None:
            assert any(line.split()[:2] == [argument, str(facts[argument])] for line in out.splitlines()), argument


def test_several_files_and_folders_are_read_in_order(inspected):
    found = inspected(SAMPLES / "23-aibrix-deployment.yaml", SAMPLES / "34-kustomize/base")
    assert [workload["unit"] for workload in found] == [
        "Deployment/distill-8b#vllm-openai",
        "Deployment/coder-7b#engine",
    ]


def test_what_has_no_engine_is_said_to_have_none(oomedic):
    ran = oomedic("inspect", SAMPLES / "40-karpenter-gpu-nodepool.yaml")
    assert ran.status == 0
    assert ran.out.startswith("No engine was found in what was given.\nNodePool/gpu\n")


def test_an_argument_that_no_release_knows_is_named(oomedic):
    text = HEAD + '      args: ["--model=org/chat", "--max-modle-len=4096", "--max-num-seqs", "many"]\n'
    out = oomedic("inspect", "-", stdin=text).out
    assert "No release of vLLM knows --max-modle-len" in out
    assert '--max-num-seqs: "many" is not a value that vLLM takes' in out


def test_a_list_is_shown_as_it_is_written(oomedic):
    text = HEAD + '      args: ["--model=org/chat", "--served-model-name", "a", "b"]\n'
    assert any(
        line.split()[:3] == ["served_model_name", "a", "b"]
        for line in oomedic("inspect", "-", stdin=text).out.splitlines()
    )


def test_a_secret_is_shown_as_stars(oomedic):
    out = oomedic("inspect", SAMPLES / "23-aibrix-deployment.yaml").out
    assert any(line.split()[:2] == ["api_key", "***"] for line in out.splitlines())


def test_markdown_has_a_table_of_the_arguments(oomedic):
    out = oomedic("inspect", SAMPLES / "23-aibrix-deployment.yaml", "-o", "markdown").out
    assert out.startswith("## Deployment/distill-8b#vllm-openai\n")
    assert "| `max_model_len` | `12288` | `command[10]` | `/spec/template/spec/containers/0/command/11` |" in out


def test_a_node_pool_is_shown_in_markdown_too(oomedic):
    out = oomedic("inspect", SAMPLES / "40-karpenter-gpu-nodepool.yaml", "-o", "markdown").out
    assert "## NodePool/gpu\n" in out
    assert "- limit of cpu: `1000`\n" in out


def test_pods_of_a_group_and_limits_of_a_pool_are_told_in_the_language(oomedic):
    files = SAMPLES / "05-lws-ray-continuations.yaml", SAMPLES / "40-karpenter-gpu-nodepool.yaml"
    out = oomedic("inspect", *files, "--lang", "pl").out
    assert "4 x nvidia.com/gpu, 3 pody na replikę" in out
    assert "limit cpu" in out
