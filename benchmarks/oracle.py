"""How near the arithmetic comes to vLLM's own classes and planner, record by record.

    python benchmarks/oracle.py [RECORDS.jsonl …] [--configs DIR | CONFIGS.jsonl] [--json] [--misses N]

A record says what one release's own model class allocates for a config at a tensor-parallel size, and what its own
planner makes of several pools: blocks, the tokens line, concurrency, or the refusal with its GiB and length. Weights
count as right within 0.01 %; a plan counts as exact when every figure is the same. Without RECORDS the project's own
copies are read (tests/oracle).
"""

import argparse
import json
import lzma
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from oomedic.engine.rules import EngineRules, rules_at
from oomedic.errors import OomedicError
from oomedic.memory import cache_rules
from oomedic.memory.attention import Request, layer_specs
from oomedic.memory.cache_rules import CacheUse
from oomedic.memory.kv_plan import KvPlan, layout, plan
from oomedic.memory.weights import Stage, stage_weights
from oomedic.models.architectures import Stack, stack_of, with_draft
from oomedic.models.hf_config import text_config
from oomedic.models.modules import Shard
from oomedic.models.quantization import Scheme, scheme_of
from oomedic.models.quantization.scheme import DTYPE_BYTES
from oomedic.sources.builtin import load
from oomedic.units import GIB
from oomedic.version import parse_version

OWN = Path(__file__).resolve().parent.parent / "tests/oracle"
EXACT = 1e-4
"""Weights count as right within this share."""
_NEEDED = re.compile(r"\(([\d.]+) GiB KV cache is needed")
_LONGEST = re.compile(r"estimated maximum model length is (\d+)")
_REFUSED_MIXTURE = re.compile(r"one unified type|not divisible by the maximum page size")

Record = Mapping[str, Any]


class Row(NamedTuple):
    """One record: ``weights`` is the relative error, None where nothing could be computed; ``misses`` in words."""

    config: str
    architecture: str
    vllm: str
    tensor_parallel_size: int
    weights: float | None
    buffers: int | None
    plans: int
    exact: int
    misses: tuple[str, ...]
    explained: str | None

    @property
    def weights_right(self) -> bool:
        """Tell whether the weights are right."""
        return self.weights is not None and abs(self.weights) <= EXACT


def main() -> int:
    """Print the table, or with --json one object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--configs", type=Path, help="folder of config.json files, or one file of them")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--misses", type=int, default=20, help="how many misses to print")
    options = parser.parse_args()
    show(report_of(run(options.paths or _own(), options.configs)), as_json=options.json, misses=options.misses)
    return 0


def show_report(path: Path, configs: Path | None, *, as_json: bool) -> int:
    """Print what ``oracle_report`` says about one file of records."""
    show(oracle_report(path, configs), as_json=as_json)
    return 0


def oracle_report(path: Path, configs: Path | None = None) -> dict[str, Any]:
    """Return counts per architecture and release, and a list of misses, for one file of records.

    Args:
        path: records, one JSON object per line; ``.xz`` is unpacked.
        configs: folder of config.json files named as the records say, or one such file of lines; the project's own
            when None.
    """
    return report_of(run([path], configs))


def run(paths: Sequence[Path], configs: Path | None = None) -> list[Row]:
    """Measure every record of some files."""
    known = read_configs(configs or OWN / "configs.jsonl.xz")
    return [
        measure(record, known[record["config"]]) for path in paths for record in read(path) if _counts(record, known)
    ]


def read(path: Path) -> Iterator[Record]:
    """Read records, one JSON object per line; ``.xz`` is unpacked."""
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def read_configs(path: Path) -> dict[str, dict[str, Any]]:
    """Return the configs by their names, each with its hf_quant_config.json where it has one."""
    if not path.is_dir():
        rows = list(read(path))
        return {row["name"]: _with_separate(row["config"], row.get("hf_quant_config")) for row in rows}
    files = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(path.glob("*.json"))}
    suffix = ".hf_quant_config"
    named = {name: config for name, config in files.items() if not name.endswith(suffix)}
    return {name: _with_separate(config, files.get(name + suffix)) for name, config in named.items()}


def measure(record: Record, config: Mapping[str, Any]) -> Row:
    """Compute one record."""
    rules = _rules(record["vllm"])
    element = DTYPE_BYTES.get(str(record.get("dtype")), 2)
    config = _as_built(record, config)
    misses: list[str] = []
    error = buffers = None
    exact = 0
    plans = _plans(record)
    try:
        scheme = scheme_of(config, None, element, release=rules.weights)
        shard = Shard(record["tensor_parallel_size"], release=rules.weights)
        stack = stack_of(config, shard)
        if stack is not None and "speculative" in record:
            stack = with_draft(stack, config, shard)
    except OomedicError as problem:
        misses.append(f"{problem.slug} {dict(problem.parameters)}")
        stack = scheme = None
    if stack is not None and scheme is not None:
        if "param_bytes" in record:
            found = stage_weights(stack, scheme, Stage(0, len(stack.layers), is_first=True, is_last=True))
            error, buffers = found.parameters / record["param_bytes"] - 1, found.buffers - record["buffer_bytes"]
            if abs(error) > EXACT:
                misses.append(f"weights {found.parameters:,} for {record['param_bytes']:,}")
        wrong = [miss for each in plans if (miss := _plan_miss(each, record, _Model(config, stack, scheme, element)))]
        exact = len(plans) - len(wrong)
        misses += wrong
    return Row(
        record["config"],
        str(text_config(config).get("model_type") or config.get("model_type")),
        record["vllm"],
        record["tensor_parallel_size"],
        error,
        buffers,
        len(plans),
        exact,
        tuple(misses),
        explained(record) if misses else None,
    )


def explained(record: Record) -> str | None:
    """Return why a record may differ from what runs on a GPU, None where nothing excuses it."""
    if record.get("arch") == "MllamaForConditionalGeneration":
        return "QKVCrossParallelLinear keeps its matrices outside parameters(): they are on the GPU, not in the record"
    if record.get("variant"):
        return f"built with {record['variant']}, not with the libraries of the release's image"
    if "kv_plan" in record:
        return "the CPU build's smallest block of windowed layers is 32 tokens"
    return None


class _Model(NamedTuple):
    config: Mapping[str, Any]
    stack: Stack
    scheme: Scheme
    element_bytes: int


def _plan_miss(wanted: Record, record: Record, model: _Model) -> str | None:
    """Return what differs in one plan, None when it is exact."""
    try:
        found = _planned(wanted, record, model)
    except OomedicError as problem:
        if _REFUSED_MIXTURE.search(str(wanted.get("error"))):
            return None
        return f"{_asked(wanted)}: {problem.slug}, for {wanted.get('error', 'a plan')}"
    if "error" in wanted:
        return _refusal_miss(wanted, found)
    concurrency = wanted.get("max_conc_exact", wanted.get("max_conc", found.max_concurrency))
    same = (
        found.fits
        and found.blocks == wanted["num_blocks"]
        and found.tokens == wanted.get("tokens", found.tokens)
        and abs(found.max_concurrency - concurrency) < 1e-6
    )
    got = (found.blocks, found.tokens, round(found.max_concurrency, 6))
    return None if same else f"{_asked(wanted)}: {got} for {(wanted['num_blocks'], wanted.get('tokens'), concurrency)}"


def _refusal_miss(wanted: Record, found: KvPlan) -> str | None:
    text = wanted["error"]
    if "No available memory" in text:
        return f"{_asked(wanted)}: fits, for no memory at all" if found.fits and found.blocks else None
    needed, longest = _NEEDED.search(text), _LONGEST.search(text)
    if needed is None:
        return f"{_asked(wanted)}: fits, for {text[:100]}"
    # 0.9 leaves the length out where not even one token fits
    length = int(longest[1]) if longest else 0
    near = found.needed is not None and abs(found.needed / GIB - float(needed[1])) < 0.0051
    if not found.fits and near and found.estimated_max_model_len == length:
        return None
    gib = (found.needed or 0) / GIB
    return f"{_asked(wanted)}: {gib:.2f} GiB, {found.estimated_max_model_len} for {needed[1]} GiB, {length}"


def _planned(wanted: Record, record: Record, model: _Model) -> KvPlan:
    rules = _rules(record["vllm"])
    text = text_config(model.config)
    cpu = "kv_plan" in record
    cached = wanted.get("prefix_caching", record.get("prefix_caching"))
    use = CacheUse(
        str(text.get("model_type")),
        record.get("engine", "V1"),
        16 if cpu else None,
        wanted.get("kv_cache_dtype", "auto"),
        model.element_bytes,
        sparse=bool(text.get("index_topk")),
        max_model_len=wanted.get("max_model_len", 8192),
        prefix_caching=bool(rules.defaults.get("hybrid_prefix_caching") if cached is None else cached),
        hybrid_manager=not wanted.get("hybrid_disabled"),
        speculative=record.get("speculative", {}).get("num_speculative_tokens", 0),
    )
    settings = cache_rules.cache_settings(rules.cache, use, cache_rules.element_bytes(rules.cache, use, model.scheme))
    plan_rules = cache_rules.plan_rules(rules.cache, use)
    tokens = wanted.get("max_num_batched_tokens") or wanted.get("mnbt") or record.get("max_num_batched_tokens", 2048)
    batches = 2 if rules.cache.get("in_flight") == "batches" and not cpu else 1
    encoder_tokens = record.get("max_num_batched_tokens", 0)
    blocks = cache_rules.speculative_blocks(rules.cache, use)
    request = Request(use.max_model_len, tokens * batches, speculative=blocks, encoder_tokens=encoder_tokens)
    layers = model.stack.caches(0, len(model.stack.layers), is_last=True)
    cut = layout(layer_specs(layers, settings, model.stack.fitted_state), plan_rules)
    return plan(cut, int(wanted["avail_gib"] * GIB), request, plan_rules)


def _asked(wanted: Record) -> str:
    dtype = wanted.get("kv_cache_dtype", "auto")
    manager = ", hybrid manager off" if wanted.get("hybrid_disabled") else ""
    return f"{wanted['avail_gib']} GiB, {wanted.get('max_model_len')} tokens, {dtype}{manager}"


def report_of(rows: Sequence[Row]) -> dict[str, Any]:
    """Count rows per architecture and release."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.architecture, row.vllm].append(row)
    return {
        "total": _counted(rows),
        "groups": [
            {"architecture": architecture, "vllm": vllm, **_counted(members)}
            for (architecture, vllm), members in sorted(groups.items())
        ],
        "misses": [
            {"config": row.config, "vllm": row.vllm, "tensor_parallel_size": row.tensor_parallel_size, "miss": miss}
            for row in rows
            if not row.explained
            for miss in row.misses
        ],
        "explained": dict(Counter(row.explained for row in rows if row.explained)),
    }


def _counted(rows: Sequence[Row]) -> dict[str, int]:
    return {
        "records": len(rows),
        "weights": sum(row.buffers is not None for row in rows),
        "weights_right": sum(row.weights_right for row in rows),
        "plans": sum(row.plans for row in rows),
        "plans_exact": sum(row.exact for row in rows),
    }


def show(report: Mapping[str, Any], *, as_json: bool, misses: int = 20) -> None:
    """Print a report as a table, or as one JSON object."""
    if as_json:
        print(json.dumps(report))
        return
    print(f"{'architecture':24} {'vLLM':8} {'records':>7}  {'weights within 0.01 %':>21}  {'plans exact':>13}")
    for group in [*report["groups"], {"architecture": "all", "vllm": "", **report["total"]}]:
        weights = f"{group['weights_right']} / {group['weights']}"
        plans = f"{group['plans_exact']} / {group['plans']}"
        print(f"{group['architecture']:24} {group['vllm']:8} {group['records']:7}  {weights:>21}  {plans:>13}")
    for miss in report["misses"][:misses]:
        print(f"{miss['config']} {miss['vllm']} TP{miss['tensor_parallel_size']}: {miss['miss']}")
    for reason, count in report["explained"].items():
        print(f"{count} records differ for a reason: {reason}")


def _own() -> list[Path]:
    return [path for path in sorted(OWN.glob("*.jsonl.xz")) if not path.name.startswith("configs.")]


def _counts(record: Record, configs: Mapping[str, Any]) -> bool:
    """Tell whether a record says something: a release may not know the model."""
    told = "param_bytes" in record or record.get("kv_plans")
    return bool(told) and "unsupported" not in record and record["config"] in configs


def _plans(record: Record) -> list[Record]:
    plans = [*record.get("kv_plans", ()), *([record["kv_plan"]] if "kv_plan" in record else [])]
    return [each for each in plans if "skipped" not in each]


def _as_built(record: Record, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the config without its quantisation where the release built the model unquantised."""
    if "param_bytes" not in record or record.get("quantization"):
        return config
    plain = {key: value for key, value in config.items() if key not in {"quantization_config", "hf_quant_config"}}
    text = plain.get("text_config")
    if isinstance(text, dict):
        plain["text_config"] = {key: value for key, value in text.items() if key != "quantization_config"}
    return plain


def _with_separate(config: dict[str, Any], separate: object) -> dict[str, Any]:
    return {**config, "hf_quant_config": separate} if separate else config


@cache
def _rules(version: str) -> EngineRules:
    parsed = parse_version(version)
    if parsed is None:
        raise ValueError(version)
    return rules_at(parsed, load().engines())


if __name__ == "__main__":
    raise SystemExit(main())
