"""Moves to bigger machines on a real API server, scheduler and Karpenter: accepted as written, and they bring the node.

The instance types are those of our catalogue, made nodes by Karpenter's kwok provider.
"""

import json
import subprocess

import pytest
import yaml
from plane.objects import deployment, eventually

from oomedic.entrypoints.cli import main

LLAMA = "meta-llama/Llama-3.3-70B-Instruct"
TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
KWOK = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
GPU_NAME = "karpenter.k8s.aws/instance-gpu-name"


def node_pool(name, *requirements, limit="16", node_class=KWOK):
    listed = [{"key": key, "operator": "In", "values": list(values)} for key, values in requirements]
    on_demand = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            "template": {
                "spec": {
                    "requirements": [*listed, on_demand],
                    "nodeClassRef": node_class,
                    "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}],
                }
            },
            "limits": {"nvidia.com/gpu": limit},
        },
    }


def engine(name, namespace, **spec):
    """Return a Deployment whose weights exceed one A10G."""
    args = [f"--model={LLAMA}", "--max-model-len=32768"]
    return deployment(name, namespace, args, strategy={"type": "Recreate"}, **spec)


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A folder with the files of a user, in which relative names are those of the diffs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def moves(workplace, capsys):
    """Return the ways to the first machine that a diagnosis of deployment.yaml and pool.yaml offers, and its type."""

    def run(workload, pool):
        (workplace / "deployment.yaml").write_text(yaml.safe_dump(workload, sort_keys=False), encoding="utf-8")
        words = ["diagnose", "--offline", "--manifest", "deployment.yaml"]
        if pool is not None:
            (workplace / "pool.yaml").write_text(yaml.safe_dump(pool, sort_keys=False), encoding="utf-8")
            words += ["--nodepool", "pool.yaml"]
        assert main([*words, "-o", "json"]) == 1
        (result,) = json.loads(capsys.readouterr().out)["results"]
        plan = result["plan"]
        machine = plan["cost"][0]["parameters"]["instance"]
        return {move["way"]: move for move in plan["moves"]}, machine

    return run


def applied(workplace, move):
    """Apply the patches of a move as a user does, and return the files to hand to the cluster, in their order."""
    files = []
    for patch in move["patches"]:
        if patch["format"] == "manifest":
            (workplace / patch["path"]).write_text(patch["text"], encoding="utf-8")
        else:
            subprocess.run(["git", "apply", "-"], input=patch["text"], text=True, cwd=workplace, check=True)
        files.append(workplace / patch["path"])
    return files


POOLS = {
    "karpenter": node_pool(
        "strict",
        (GPU_NAME, ("a10g", "l4")),
        node_class={"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
    ),
    "auto mode": node_pool(
        "strict",
        ("eks.amazonaws.com/instance-gpu-name", ("a10g", "l4")),
        node_class={"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"},
    ),
    "any card": node_pool("strict", ("karpenter.k8s.aws/instance-category", ("g", "p"))),
    "no pool": None,
}


@pytest.mark.parametrize("kind", POOLS)
def test_everything_that_is_emitted_passes_strict_validation(kind, karpenter, namespace, workplace, moves):
    selector = {"node.kubernetes.io/instance-type": "g5.xlarge"}
    if kind == "auto mode":
        selector |= {"eks.amazonaws.com/instance-gpu-name": "a10g"}
    workload = engine("strict", namespace, nodeSelector=selector)
    found, _ = moves(workload, POOLS[kind])
    assert found
    for move in found.values():
        for name, content in (("deployment.yaml", workload), ("pool.yaml", POOLS[kind])):
            (workplace / name).write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
        for file in applied(workplace, move):
            words = ("apply", "--dry-run=server", "--validate=strict", "-n", namespace, "-f", str(file))
            assert "(server dry run)" in karpenter.kubectl(*words)


@pytest.fixture
def pools(karpenter, request):
    """Make a NodePool that goes when the test ends, with its nodes."""

    def forget(name):
        karpenter.kubectl("delete", "nodepool", name, "--wait=false", "--ignore-not-found")

    def make(pool):
        request.addfinalizer(lambda: forget(pool["metadata"]["name"]))
        karpenter.create(pool)
        return pool

    make.forget = lambda name: request.addfinalizer(lambda: forget(name))
    return make


@pytest.fixture
def user(karpenter, pools, moves, workplace):
    """What a user has: a cluster whose pools can be made, oomedic, and a folder."""
    return karpenter, pools, moves, workplace


def node_of(plane, namespace, gpus):
    """Return the type of the node on which a pod with that many GPUs runs, None while there is none."""
    for pod in plane.read("pods", "-n", namespace)["items"]:
        asked = pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]
        if asked == str(gpus) and pod["status"]["phase"] == "Running":
            node = plane.read("node", pod["spec"]["nodeName"])
            return node["metadata"]["labels"]["node.kubernetes.io/instance-type"]
    return None


@pytest.mark.parametrize(
    ("way", "requirement"),
    [
        ("selector", ("karpenter.k8s.aws/instance-category", ("g", "p"))),
        ("new-pool", (GPU_NAME, ("a10g",))),
        ("wider-pool", (GPU_NAME, ("a10g",))),
    ],
)
def test_weights_that_exceed_a_g5_get_a_node_of_the_proposed_type(way, requirement, namespace, user):
    karpenter, pools, moves, workplace = user
    pool = pools(node_pool(f"story-{way}", requirement))
    selector = {"node.kubernetes.io/instance-type": "g5.xlarge"}
    workload = engine(f"llama-{way}", namespace, nodeSelector=selector, tolerations=[TOLERATION])
    karpenter.create(workload)
    assert eventually(lambda: node_of(karpenter, namespace, 1), patience=120) == "g5.xlarge"
    found, machine = moves(workload, pool)
    pools.forget(found[way]["node_pool"])
    for file in applied(workplace, found[way]):
        karpenter.kubectl("apply", "-n", namespace, "-f", str(file))
    # by hand: 131.4 GiB of weights need two cards of 96 GB (tests/search)
    assert machine == "g7e.12xlarge"
    assert eventually(lambda: node_of(karpenter, namespace, 2), patience=180) == machine


def events(plane, namespace, words):
    """Return the events of a namespace as the user collects them, once one of them says these words."""

    def said():
        listed = plane.kubectl("get", "events", "-n", namespace, "-o", "json")
        return listed if any(words in each.get("message", "") for each in json.loads(listed)["items"]) else None

    return eventually(said, patience=60)


@pytest.fixture
def explained(workplace, capsys):
    """Return the diagnosis of some events beside a pool."""

    def run(listed, workload, pool):
        (workplace / "events.json").write_text(listed, encoding="utf-8")
        (workplace / "deployment.yaml").write_text(yaml.safe_dump(workload, sort_keys=False), encoding="utf-8")
        (workplace / "pool.yaml").write_text(yaml.safe_dump(pool, sort_keys=False), encoding="utf-8")
        words = ("--events", "events.json", "--manifest", "deployment.yaml", "--nodepool", "pool.yaml")
        main(["diagnose", "--offline", *words, "-o", "json"])
        (result,) = json.loads(capsys.readouterr().out)["results"]
        return result

    return run


def test_a_pool_limit_that_is_too_small_is_named_from_the_real_events(karpenter, namespace, pools, explained):
    counts = ("karpenter.k8s.aws/instance-gpu-count", ("4",))
    pool = pools(node_pool("tight", (GPU_NAME, ("l40s",)), counts, limit="2"))
    workload = engine("tight", namespace, gpus="4", nodeSelector={GPU_NAME: "l40s"}, tolerations=[TOLERATION])
    karpenter.create(workload)
    result = explained(events(karpenter, namespace, "exceed limits for nodepool"), workload, pool)
    finding = result["diagnosis"]["findings"][0]
    assert (finding["code"], finding["because"][0]["message"]) == ("POD105", "unplaced.pool-limit.says")
    assert finding["because"][0]["parameters"] == {"pool": "tight"}
    assert [each["because"]["message"] for each in result["placement"]["closed"]] == ["placement.limit"]


def test_a_limit_that_karpenter_does_not_name_is_seen_in_the_pool(karpenter, namespace, pools, explained):
    # machines with one card stay within the limit: Karpenter then speaks of these alone
    pool = pools(node_pool("quiet", (GPU_NAME, ("l40s",)), limit="2"))
    workload = engine("quiet", namespace, gpus="4", nodeSelector={GPU_NAME: "l40s"}, tolerations=[TOLERATION])
    karpenter.create(workload)
    result = explained(events(karpenter, namespace, "no instance type has enough resources"), workload, pool)
    finding = result["diagnosis"]["findings"][0]
    assert (finding["code"], finding["because"][0]["message"]) == ("POD105", "unplaced.no-instance-type.says")
    assert [each["because"]["message"] for each in result["placement"]["closed"]] == ["placement.limit"]


def test_a_missing_toleration_is_named_from_the_real_events(karpenter, namespace, pools, explained):
    pool = pools(node_pool("tainted", (GPU_NAME, ("l4",))))
    workload = engine("untolerating", namespace, nodeSelector={GPU_NAME: "l4"})
    karpenter.create(workload)
    result = explained(events(karpenter, namespace, "did not tolerate taint"), workload, pool)
    finding = result["diagnosis"]["findings"][0]
    assert (finding["code"], finding["because"][0]["message"]) == ("POD105", "unplaced.taint.says")
    assert finding["because"][0]["parameters"]["taint"] == "nvidia.com/gpu=true:NoSchedule"
    assert [each["because"]["message"] for each in result["placement"]["closed"]] == ["placement.taint"]


def test_a_label_that_no_pool_makes_is_named_from_the_real_events(karpenter, namespace, pools, explained):
    pool = pools(node_pool("labelled", (GPU_NAME, ("l4",))))
    workload = engine("elsewhere", namespace, nodeSelector={GPU_NAME: "h100"}, tolerations=[TOLERATION])
    karpenter.create(workload)
    result = explained(events(karpenter, namespace, "not in"), workload, pool)
    finding = result["diagnosis"]["findings"][0]
    assert (finding["code"], finding["because"][0]["message"]) == ("POD105", "unplaced.labels.says")
    assert finding["because"][0]["parameters"]["label"] == GPU_NAME
