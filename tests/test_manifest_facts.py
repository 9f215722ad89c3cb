"""Every fact of every sample manifest is found: read from the samples' own index of facts, and counted."""

import json
import sys
from pathlib import Path

import pytest

from oomedic.manifest import read_files, read_manifests
from oomedic.placement.node_pool import node_pools_among
from oomedic.sources.builtin import load
from oomedic.sources.manifests import read_all

SAMPLES = Path(__file__).parent / "manifests"
FACTS = json.loads((SAMPLES / "FACTS.json").read_text(encoding="utf-8"))
TABLE = load().arguments
NAMES = {argument.name for argument in TABLE.arguments()}
WITH_ENGINES = [name for name, entry in FACTS.items() if entry["facts"]["units"]]
FROM = {
    "first positional in args": "args[0]",
    "positional inside shell string": "args[0]",
    "--model inside shell block": "command[2]",
    "env MODEL": "env MODEL",
    "modelURL": "servingEngineSpec.modelSpec[0].modelURL",
    "ConfigMap/tiny-vllm-start-script data[vllm-entrypoint.sh] ARGS array": (
        "ConfigMap/tiny-vllm-start-script vllm-entrypoint.sh"
    ),
    "--model_id": "spec.predictor.model.args[1]",
    "storageUri (pvc://weights/dense-405b mounted at /mnt/models)": "spec.containers[0].args[0]",
    "spec.model.uri (hf://); the process itself serves /mnt/models": "spec.model.uri",
    'modelArtifacts.uri (hf://"{{ .Values.modelArtifacts.name }}")': "modelArtifacts.uri",
    "--model (after `vllm serve`)": "command[6]",
    "spec.artifactURL (huggingface://)": "spec.artifactURL",
    "spec.url (hf://)": "spec.url",
    "model_loading_config.model_source": (
        "spec.serveConfigV2 applications[0].args.llm_configs[0].model_loading_config.model_source"
    ),
    "env MODEL_PATH expanded by the shell": "args[0]",
    "inference.preset.name": "inference.preset.name",
    "positional on the command line (beats `model:` in the file)": "args[0]",
}
"""Where the sentences of the index say that the model comes from, as ``where`` names it."""


def engines_of(name):
    """The engines of a sample; a kustomization is read with all that it refers to."""
    manifests = {manifest.path: manifest.text for manifest in read_all([str(SAMPLES / name)])}
    return [reading.workload for reading in read_manifests(manifests, TABLE)]


def unit_of(name, number):
    """The engine that a unit of the index is about: of the same name, else by its number."""
    wanted = FACTS[name]["facts"]["units"][number]["unit"]
    found = engines_of(name)
    return next((each for each in found if each.unit == wanted), found[number])


def value_of(workload, name):
    given = workload.arguments.given.get(name)
    return None if given is None else given.value


def plain(probe):
    return {
        "initial": probe.initial,
        "period": probe.period,
        "failures": probe.failures,
        "timeout": probe.timeout,
        "budget_s": probe.budget_s,
        "path": probe.path,
        "tcp": None if probe.tcp is None else int(probe.tcp),
        "exec": probe.exec,
    }


def probes_agree(workload, expected):
    if expected is None:
        return workload.probes == (None, None, None)
    found = {kind: getattr(workload.probes, kind) for kind in ("startup", "liveness", "readiness")}
    for kind, facts in expected.items():
        if kind == "from":
            continue  # a sentence: the runtime's probes are not in the manifest
        if facts is None or found[kind] is None:
            if facts is not found[kind]:
                return False
        elif not all(str(value) in str(plain(found[kind])[key]) for key, value in facts.items()):
            return False
    return True


def shm_agrees(workload, expected):
    return (workload.shm.mounted, workload.shm.size) == (expected["mounted"], expected.get("size"))


def resource_agrees(workload, expected):
    """``limits.gpu (operator maps it to nvidia.com/gpu)`` names the resource in a sentence."""
    return workload.gpu_resource == expected or f"maps it to {workload.gpu_resource}" in expected


def number_agrees(found, expected):
    """``null (decided by …)`` is no number; ``8192 (env …)`` is one with a remark."""
    return str(expected).partition(" ")[0] == ("null" if found is None else str(found))


def edit_agrees(workload, expected):
    """One of the places is the one that the index names."""
    for path in workload.edit_paths.values():
        same = path.object == expected["object"] and path.pointer == expected["pointer"]
        inner = expected.get("inner")
        if same and (inner is None or (path.inner or "").startswith(inner)):
            return path.file.endswith(expected.get("file", "")) and expected.get("add", "") in (path.inner or "")
    return False


RULES = {
    "unit": lambda workload, expected: workload.unit == expected,
    "model": lambda workload, expected: workload.model == expected.removeprefix("preset ").removesuffix(" (image)"),
    "model_from": lambda workload, expected: workload.arguments.given["model"].where == FROM[expected],
    "model_hint": lambda workload, expected: workload.model_hint == expected.partition(" ")[0],
    "served_name": lambda workload, expected: workload.served_name == expected,
    "gpu_resource": resource_agrees,
    "gpus_per_pod": lambda workload, expected: number_agrees(workload.gpus_per_pod, expected),
    "gpus_total": lambda workload, expected: workload.gpus_total == expected,
    "gpus_from": lambda workload, _: workload.gpu_resource in workload.edit_paths,
    "gpus_per_replica": lambda workload, expected: (
        str((value_of(workload, "tensor_parallel_size") or 1) * (value_of(workload, "pipeline_parallel_size") or 1))
        == expected.partition(" ")[0]
    ),
    "group_size": lambda workload, expected: workload.group_size == expected,
    "replicas": lambda workload, expected: (
        workload.replicas == expected
        if isinstance(expected, int)
        else workload.replicas_range == (expected["min"], expected["max"])
    ),
    "node_selector": lambda workload, expected: workload.node_selector == expected,
    "node_affinity": lambda workload, expected: (
        {key: list(values) for key, values in workload.node_affinity.items()} == expected
    ),
    "host_memory_limit": lambda workload, expected: workload.host_memory_limit.written == expected,
    "host_memory_request": lambda workload, expected: workload.host_memory_request.written == expected,
    "shm": shm_agrees,
    "probes": probes_agree,
    "strategy": lambda workload, expected: workload.strategy.type == expected,
    "progress_deadline_s": lambda workload, expected: workload.progress_deadline_s == expected,
    "kv_offload_cpu_bytes": lambda workload, expected: workload.offload["cpu_bytes_to_use"] == expected,
    "lmcache_cpu_gib": lambda workload, expected: workload.offload["LMCACHE_MAX_LOCAL_CPU_SIZE"] == expected * 2**30,
    "quantization": lambda workload, expected: workload.quantization_hint == expected.partition(" ")[0],
    "supported": lambda workload, _: not workload.supported,
    "engine": lambda workload, expected: workload.arguments.environment["VLLM_USE_V1"] == {"V0": "0"}[expected],
    "vllm_version": lambda workload, expected: workload.engine_version == expected,
    "role": lambda workload, expected: workload.role == expected,
    "port": lambda workload, expected: workload.port == expected,
    "min_gpu_memory": lambda workload, expected: workload.device_memory.written == expected,
    "device_memory_hint": lambda workload, expected: workload.device_memory.written == expected.removesuffix(" slice"),
    "instance_type": lambda workload, expected: workload.instance_type == expected,
    "parallel_from": lambda workload, _: "workerSpec" in workload.edit_paths["tensor_parallel_size"].pointer,
    "max_model_len": lambda workload, expected: number_agrees(
        value_of(workload, "max_model_len"), "null" if expected is None else expected
    ),
    "max_model_len_spelling": lambda workload, expected: (
        workload.arguments.given["max_model_len"].spelling == expected.partition(" ")[0]
    ),
    "max_model_len_shadowed": lambda workload, expected: (
        ("max_model_len", int(expected.partition(" ")[0]))
        in [(name, given.value) for name, given in workload.arguments.shadowed]
    ),
    "edit": edit_agrees,
}
ARGUMENT = NAMES - {"model", "max_model_len", "quantization"}


def holds(workload, name, expected):
    if name in RULES:
        return RULES[name](workload, expected)
    assert name in ARGUMENT, name
    return value_of(workload, name) == expected


def facts_of(name):
    for number, facts in enumerate(FACTS[name]["facts"]["units"]):
        for fact, expected in facts.items():
            if fact != "_value_at_edit_path":  # what stands there, cut off: test_manifest_edit changes it
                yield number, fact, expected
        for fact in FACTS[name]["facts"].keys() - {"units", "traps"}:
            yield number, fact, FACTS[name]["facts"][fact]


@pytest.mark.parametrize("name", WITH_ENGINES)
def test_every_fact_of_a_sample_is_found(name):
    wrong = [
        (number, fact, expected)
        for number, fact, expected in facts_of(name)
        if not holds(unit_of(name, number), fact, expected)
    ]
    assert wrong == []


def test_the_share_of_facts_that_are_found_is_printed(capsys):
    found = [
        holds(unit_of(name, number), fact, value) for name in WITH_ENGINES for number, fact, value in facts_of(name)
    ]
    with capsys.disabled():
        share = f"{sum(found)} of {len(found)} found ({sum(found) / len(found):.0%})"
        sys.stdout.write(f"\nfacts of tests/manifests: {share}\n")
    assert all(found)


@pytest.mark.parametrize("name", [name for name, entry in FACTS.items() if "nodepool" in entry["facts"]])
def test_every_fact_of_a_node_pool_is_found(name):
    facts = FACTS[name]["facts"]
    (file,) = read_files({name: (SAMPLES / name).read_text(encoding="utf-8")}, TABLE)
    (pool,) = node_pools_among(file.objects)
    assert pool.name == facts["nodepool"]
    signs = {"Gt": "> ", "Lt": "< "}
    shown = {
        each.key: list(each.values) if each.operator == "In" else f"{signs[each.operator]}{each.values[0]}"
        for each in pool.requirements
    }
    assert shown == facts["requirements"]
    assert [str(taint) for taint in pool.taints] == facts.get("taints", ["nvidia.com/gpu:NoSchedule"])
    assert {name: int(amount) for name, amount in pool.limits.items()} == facts["limits"]
    assert pool.node_class[1:] == (facts["nodeclass"]["kind"], facts["nodeclass"]["name"])
    aliases = [term for found in file.objects for term in [found.at("/spec/amiSelectorTerms/0/alias")] if term]
    assert [alias.value for alias in aliases] == ([facts["nodeclass"]["ami"]] if "ami" in facts["nodeclass"] else [])
    assert file.engines == ()


def test_a_kustomization_s_own_index_holds_no_engine_beside_what_it_builds():
    assert [each.unit for each in engines_of("34-kustomize/base/kustomization.yaml")] == ["Deployment/coder-7b#engine"]
