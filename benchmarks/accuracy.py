"""How near the arithmetic comes to what vLLM printed, over recorded start-ups.

    python benchmarks/accuracy.py [STARTS.jsonl] [--json]
    python benchmarks/accuracy.py --oracle ORACLE.jsonl [--configs DIR] [--json]
    python benchmarks/accuracy.py --leave-one-source-out [STARTS.jsonl]

Cold: model, version, GPU and arguments are given, nothing printed. Tokens are also predicted with the printed GiB of
KV cache given. Each source (thread) counts once, with the median of its records; a record counts for a figure only
when its audit says that the figure can be told from what a user sees (``usable_for``). Of several pipeline stages a log
shows the weights of one, seldom saying which: the one that comes nearest is compared.
"""

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

import cases
from oomedic.engine.rules import eras
from oomedic.errors import OomedicError
from oomedic.evidence import Evidence, Subject
from oomedic.figure import between
from oomedic.gathering.gather import Sources, gather
from oomedic.gathering.known_models import resolve
from oomedic.memory.demand import demands
from oomedic.pipeline import Library
from oomedic.units import GIB
from oomedic.version import Version

FIGURES = ("weights", "kv_gib", "kv_tokens_given_gib", "outcome")
EXACT = "share exact to one block, or to the rounding of the print"


def main() -> int:
    """Print the tables, or with --json one object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, default=cases.default("starts.jsonl"))
    parser.add_argument("--oracle", type=Path, help="records of what vLLM's own classes allocate")
    parser.add_argument("--configs", type=Path, help="folder of the oracle's config.json files")
    parser.add_argument(
        "--leave-one-source-out", action="store_true", help="fit calibrated constants without the source at hand"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="a line per record")
    options = parser.parse_args()
    if options.oracle:
        from oracle import show_report

        return show_report(options.oracle, options.configs, as_json=options.json)
    if options.leave_one_source_out:
        return show_left_out(options.path, as_json=options.json)
    rows = [measure(case, cases.library()) for case in cases.read(options.path)]
    if options.json:
        print(json.dumps({"figures": figures(rows), "left_out": left_out(rows), "records": rows}))
    else:
        show(rows, verbose=options.verbose)
    return 0


def measure(case: cases.Case, library: Library) -> dict[str, Any]:
    """Compute one record cold, and its tokens from the printed KV cache."""
    row: dict[str, Any] = {
        "id": case["id"],
        "source": case["source"],
        "usable_for": case.get("usable_for", []),
        "errors": {},
        "left_out": None,
    }
    try:
        evidence = asked(case, library, pool=None)
        row["era"] = era(evidence, library)
        if evidence.checkpoint is None:
            row["left_out"] = f"model not known: {case.get('model')}"
            return row
        row["model"] = evidence.checkpoint.id
        row["errors"] = errors(case, evidence, library)
    except OomedicError as error:
        row["left_out"] = f"{error.slug} {error.parameters}"
    return row


def asked(case: cases.Case, library: Library, pool: float | None) -> Evidence:
    """Return the evidence of a record; ``pool`` is the printed KV cache in GiB."""
    question = cases.question(case, library, with_log=False)
    name = question.command.given["model"].value if "model" in question.command.given else None
    options = question.options
    total = case.get("gpu_total_gib")
    if total and (options.gpu is None or "torch total" not in " ".join(case.get("problems", ()))):
        options = options._replace(gpu_memory=_rounded(total))
    if pool is not None:
        options = options._replace(kv_cache_memory=_rounded(pool))
    if options.vllm is None and case.get("vllm_version_guess"):
        options = options._replace(vllm=_guess(case["vllm_version_guess"]))
    resolved = resolve(str(name), library.catalogue, (case.get("args") or {}).get("quantization")) if name else None
    command = question.command
    if case.get("engine") in {"V0", "V1"}:
        command = command._replace(environment={"VLLM_USE_V1": "1" if case["engine"] == "V1" else "0"})
    return gather(Sources(Subject(), (), command, None, resolved, options), library.catalogue)


def errors(case: cases.Case, evidence: Evidence, library: Library) -> dict[str, float | bool]:
    """Return relative errors of the figures that this record can test."""
    observed, found, usable = case["observed"], {}, case.get("usable_for", ())
    assessment = evidence.assessment
    if assessment is None:
        return {}
    printed = observed.get("model_load_gib")
    if "weights" in usable and printed:
        missed = [each / GIB / printed - 1 for each in stage_weights(evidence)]
        if missed:
            found["weights"] = min(missed, key=abs)
    pool = observed.get("available_kv_gib")
    if "kv_gib" in usable and assessment.budget.available is not None and pool:
        found["kv_gib"] = assessment.budget.available.value / GIB / pool - 1
    if "kv_tokens_given_gib" in usable and pool:
        found |= tokens(case, library, pool)
    if "outcome" in usable:
        # of a card that nobody named only the printed pool tells how large it is
        judged = evidence if assessment.budget.total is not None or not pool else asked(case, library, pool)
        found["outcome"] = right_outcome(case, judged)
    return found


def stage_weights(evidence: Evidence) -> list[int]:
    """Return the weights of each pipeline stage."""
    if evidence.config is None:
        return []
    stages = demands(evidence.checkpoint, evidence.config, evidence.gpu)
    return [stage.weights.value for stage in stages if stage.weights is not None]


def tokens(case: cases.Case, library: Library, pool: float) -> dict[str, float | bool]:
    """Compare tokens, blocks or concurrency with the print, the printed GiB of KV cache given."""
    observed = case["observed"]
    plan = asked(case, library, pool).assessment
    kv = plan.kv if plan else None
    if kv is None:
        return {}
    prints = (
        (observed.get("kv_tokens"), kv.tokens, kv.block_size),
        (observed.get("gpu_blocks"), kv.blocks, 1),
        (observed.get("max_concurrency"), kv.max_concurrency, 0.005),
    )
    printed, ours, step = next((each for each in prints if each[0]), (None, 0, 0))
    if not printed:
        return {}
    rounding = 0.005 / pool + step / printed
    return {"kv_tokens_given_gib": ours / printed - 1, "tokens_exact": abs(ours / printed - 1) <= rounding}


def right_outcome(case: cases.Case, evidence: Evidence) -> bool:
    """Tell whether start or death, and the phase of a death, come out as they were."""
    observed, assessment = case["observed"], evidence.assessment
    if assessment is None:
        return False
    if observed["outcome"] == "starts":
        return assessment.outcome == "starts"
    return assessment.outcome == "crashes" and assessment.phase == observed.get("phase")


def era(evidence: Evidence, library: Library) -> str:
    """Return the name of the era whose accounting the record follows."""
    version = evidence.config.rules.version if evidence.config else Version(0, 0, 0)
    if evidence.config is not None and evidence.config.generation == "V0":
        return "V0"
    return [name for start, name in eras(library.catalogue.engines()) if start <= version][-1]


def figures(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return n, median and p90 of each figure, overall and per era."""
    rows = list(rows)
    result: dict[str, Any] = {"all": _table(rows)}
    for name in sorted({row.get("era") for row in rows if row.get("era")}):
        result[name] = _table([row for row in rows if row.get("era") == name])
    return result


def left_out(rows: Iterable[dict[str, Any]]) -> list[dict[str, str]]:
    """Return what could not be tested although its audit allows it, and why."""
    return [
        {"id": row["id"], "because": row["left_out"] or f"no figure for {name}"}
        for row in rows
        for name in row["usable_for"]
        if name in FIGURES and name not in row["errors"]
    ]


def _table(rows: list[dict[str, Any]]) -> dict[str, Any]:
    sizes = {name: _spread(rows, name) for name in ("weights", "kv_gib", "kv_tokens_given_gib")}
    exact = _per_source(rows, "tokens_exact", lambda values: sum(values) / len(values))
    outcome = _per_source(rows, "outcome", lambda values: sum(values) / len(values))
    sizes["kv_tokens_given_gib"]["exact"] = sum(exact) / len(exact) if exact else None
    return {**sizes, "outcome": {"n": len(outcome), "right": sum(outcome) / len(outcome) if outcome else None}}


def _spread(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    values = sorted(_per_source(rows, name, lambda found: median(map(abs, found))))
    if not values:
        return {"n": 0, "median": None, "p90": None}
    return {"n": len(values), "median": median(values), "p90": values[min(len(values) - 1, int(0.9 * len(values)))]}


def _per_source(rows: list[dict[str, Any]], name: str, join: Callable[[list[float]], float]) -> list[float]:
    groups: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if name in row["errors"]:
            groups[row["source"]].append(row["errors"][name])
    return [join(values) for values in groups.values()]


def _rounded(gib: float) -> Any:
    half = GIB // 200
    value = round(gib * GIB)
    return between(value - half, value, value + half, "printed", "given")


def _guess(text: str) -> str | None:
    """Return the first release that a remark on the version names: "0.9.x/0.10.0 (worker.py:294)"."""
    found = re.findall(r"(?<![\w.])0\.(?:[1-9]\d|[2-9])(?:\.\d+)?(?:\.post\d)?(?![\w-]*dev)", text)
    return found[0] if found else None


def _shown(error: float) -> str:
    return str(error) if isinstance(error, bool) else f"{error:+.2%}"


def show(rows: list[dict[str, Any]], *, verbose: bool) -> None:
    """Print the tables."""
    if verbose:
        for row in rows:
            shown = " ".join(f"{name} {_shown(error)}" for name, error in row["errors"].items())
            print(f"{row['id']:28} {row.get('era', ''):16} {row.get('model', row['left_out'])!s:48.48} {shown}")
    print(f"{'era':18}{'weights':>24}{'KV GiB, cold':>24}{'tokens, GiB given':>30}{'starts or dies':>16}")
    for name, table in figures(rows).items():
        print(
            f"{name:18}{_cell(table['weights']):>24}{_cell(table['kv_gib']):>24}{_tokens(table):>30}{_share(table):>16}"
        )
    print("each: n, median, p90 of the absolute relative error, one value per source")
    missing = left_out(rows)
    print(f"left out ({len(missing)}):")
    for each in missing:
        print(f"  {each['id']}: {each['because']}")


def show_left_out(path: Path, *, as_json: bool) -> int:
    """Print how far the KV cache is off with calibrated constants, and with such that the source had no part in."""
    from left_out import left_out as refitted

    tables = refitted(cases.read(path), cases.library(), asked)
    if as_json:
        print(json.dumps(tables))
        return 0
    for name, table in tables.items():
        print(f"KV GiB, cold, constants {name:20}{_cell(table)}")
    return 0


def _cell(spread: dict[str, Any]) -> str:
    if not spread["n"]:
        return "–"
    return f"{spread['n']}: {spread['median']:.2%} {spread['p90']:.2%}"


def _tokens(table: dict[str, Any]) -> str:
    spread = table["kv_tokens_given_gib"]
    return "–" if not spread["n"] else f"{_cell(spread)}, exact {spread['exact']:.0%}"


def _share(table: dict[str, Any]) -> str:
    outcome = table["outcome"]
    return "–" if not outcome["n"] else f"{outcome['n']}: {outcome['right']:.0%}"


if __name__ == "__main__":
    sys.exit(main())
