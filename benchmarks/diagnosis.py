"""How often the first finding is right over reported crashes, and whether what is offered helps.

    python benchmarks/diagnosis.py [CRASHES.jsonl] [--taxonomy 2,3,4,5,6,7] [--json]

A case counts when its excerpt decides it (``decidable``). Each is given to the tool as its reporter would have: the log
lines, the arguments, version and GPU where they are known. Undecidable ones must say what is missing instead.
"""

import argparse
import json
import sys
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import cases
from oomedic.catalogue import Catalogue
from oomedic.errors import OomedicError
from oomedic.pipeline import Library, diagnose_crash
from oomedic.planning.plan import Plan

Row = dict[str, Any]
OFFERED = 3
GPU_MEMORY = "OOM"


def main() -> int:
    """Print the tables, or with --json one object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, default=cases.default("crashes.jsonl"))
    parser.add_argument("--taxonomy", help="groups of the case taxonomy, such as 2,3,4")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    groups = {int(group) for group in options.taxonomy.split(",")} if options.taxonomy else None
    rows = list(judged(cases.read(options.path), groups))
    if options.json:
        print(json.dumps(summary(rows) | {"cases": rows}))
    else:
        show(rows)
    return 0


def judged(records: Iterable[cases.Case], groups: set[int] | None) -> Iterator[Row]:
    """Diagnose each case of the groups."""
    library = cases.library()
    for case in records:
        if groups is None or case["taxonomy"] in groups:
            yield judge(case, library)


def judge(case: cases.Case, library: Library) -> Row:
    """Diagnose one case; compare its first finding, and what is offered."""
    row: Row = {name: case[name] for name in ("id", "taxonomy")}
    row |= {"decidable": bool(case.get("decidable", True)), "expected": case["expected_codes"], "found": []}
    row |= {"offered": [], "missing": [], "traceback": None}
    row |= {name: case.get(name) or [] for name in ("fix_remedies", "not_helping", "makes_worse")}
    try:
        report = diagnose_crash(cases.question(case, library, with_log=True), library)
    except OomedicError as error:
        row["refused"] = error.slug
    except Exception:  # noqa: BLE001 - a traceback is a result here: it is counted and shown
        row["traceback"] = traceback.format_exc()
    else:
        first = report.results[0]
        diagnosis = first.diagnosis
        row["found"] = [finding.code for finding in diagnosis.findings] if diagnosis else []
        row["missing"] = [each.what.message for each in diagnosis.missing] if diagnosis else []
        row["sure"] = diagnosis.findings[0].confidence if diagnosis and diagnosis.findings else None
        row["offered"] = offered(first.plan)
        row["against"] = against(row["found"], first.plan, library.catalogue)
    row["right"] = bool(row["found"]) and row["found"][0] in case["expected_codes"]
    return row


def offered(plan: Plan | None) -> list[list[str]]:
    """Return the remedies of each offer, the best first: those of its changes, its own in front."""
    offers = [plan.best, *plan.alternatives] if plan and plan.best else []
    return [list(dict.fromkeys([offer.remedy, *(change.remedy for change in offer.changes)])) for offer in offers]


def against(found: list[str], plan: Plan | None, catalogue: Catalogue) -> list[str]:
    """Return offered remedies that the cause itself calls useless or worse: there must be none."""
    if not found:
        return []
    arguments: Mapping[str, Any] = catalogue.page(found[0])["arguments"]
    harmful = {*arguments["useless"], *arguments["worsens"]}
    return [offer[0] for offer in offered(plan) if offer[0] in harmful]


def fixes(row: Row) -> bool | None:
    """Tell whether a confirmed fix is among the first offers; None where none is recorded."""
    if not row["fix_remedies"]:
        return None
    first = [code for offer in row["offered"][:OFFERED] for code in offer]
    return any(code in row["fix_remedies"] for code in first)


def harms(row: Row) -> list[str]:
    """Return what is offered alone although it cannot help, or at all although it makes things worse."""
    alone = {offer[0] for offer in row["offered"] if len(offer) == 1}
    anywhere = {code for offer in row["offered"] for code in offer}
    return sorted((alone & set(row["not_helping"])) | (anywhere & set(row["makes_worse"])))


def summary(rows: list[Row]) -> dict[str, Any]:
    """Return the figures of the README."""
    decided = [row for row in rows if row["decidable"]]
    open_ones = [row for row in rows if not row["decidable"]]
    recorded = [row for row in decided if fixes(row) is not None]
    return {
        "cases": len(rows),
        "decidable": len(decided),
        "right": sum(row["right"] for row in decided),
        "share": sum(row["right"] for row in decided) / len(decided) if decided else None,
        "blamed_on_gpu_memory": sum(_kind(row["found"]) == "gpu" and _expects(row) == "other" for row in decided),
        "gpu_memory_blamed_on_else": sum(_kind(row["found"]) == "other" and _expects(row) == "gpu" for row in decided),
        "tracebacks": sum(row["traceback"] is not None for row in rows),
        "undecidable": len(open_ones),
        "undecidable_say_what_is_missing": sum(bool(row["missing"]) for row in open_ones),
        "undecidable_certain": sum(row.get("sure") == "certain" and not row["right"] for row in open_ones),
        "fix_offered": sum(bool(fixes(row)) for row in recorded),
        "fix_recorded": len(recorded),
        "harmful_offers": sum(bool(harms(row)) for row in decided),
        "against_own_cause": sum(bool(row.get("against")) for row in rows),
    }


def _kind(codes: list[str]) -> str | None:
    return None if not codes else "gpu" if codes[0].startswith(GPU_MEMORY) else "other"


def _expects(row: Row) -> str:
    kinds = {_kind([code]) for code in row["expected"]}
    return "gpu" if kinds == {"gpu"} else "other" if kinds == {"other"} else "either"


def show(rows: list[Row]) -> None:
    """Print a line per case, the confusions, the offers that are wrong, and the shares."""
    for row in rows:
        mark = "right" if row["right"] else "-" if not row["decidable"] else "WRONG"
        found = " ".join(row["found"]) or row.get("refused") or "not recognised"
        print(f"{mark:6} {row['taxonomy']:>2} {row['id']:28} expected {'/'.join(row['expected']):26} found {found}")
        if row["traceback"]:
            print(row["traceback"])
    show_confusions(rows)
    show_remedies(rows)
    show_summary(summary(rows))


def show_confusions(rows: list[Row]) -> None:
    """Print the families of codes: expected downwards, found across."""
    pairs = Counter((row["expected"][0][:3], row["found"][0][:3] if row["found"] else "-") for row in rows)
    across = sorted({found for _, found in pairs})
    print("\nexpected / found" + "".join(f"{found:>6}" for found in across))
    for expected in sorted({expected for expected, _ in pairs}):
        print(f"{expected:16}" + "".join(f"{pairs[expected, found] or '.':>6}" for found in across))


def show_remedies(rows: list[Row]) -> None:
    """Print the decidable cases whose offers miss a confirmed fix, or harm."""
    print("\nremedies of decidable cases that are not as they should be")
    for row in rows:
        if not row["decidable"]:
            continue
        first = ["+".join(offer) for offer in row["offered"]]
        if fixes(row) is False:
            print(f"  missed   {row['id']:26} {row['found'][:1]} fix {'/'.join(row['fix_remedies'])}, offered {first}")
        if harms(row) or row.get("against"):
            print(f"  harmful  {row['id']:26} {row['found'][:1]} {harms(row)} {row.get('against')}, offered {first}")


def show_summary(figures: Mapping[str, Any]) -> None:
    """Print the shares."""
    if not figures["decidable"]:
        return
    print(
        f"\n{figures['right']} of {figures['decidable']} decidable cases right ({figures['share']:.1%}); "
        f"{figures['blamed_on_gpu_memory']} others blamed on GPU memory, "
        f"{figures['gpu_memory_blamed_on_else']} of GPU memory blamed on something else; "
        f"{figures['tracebacks']} tracebacks"
    )
    print(
        f"{figures['undecidable_say_what_is_missing']} of {figures['undecidable']} undecidable ones "
        f"say what is missing; "
        f"{figures['undecidable_certain']} are answered wrongly with certainty"
    )
    print(
        f"a confirmed fix is among the first {OFFERED} offers in "
        f"{figures['fix_offered']} of {figures['fix_recorded']}; "
        f"{figures['harmful_offers']} cases with an offer that cannot help or harms; "
        f"{figures['against_own_cause']} with an offer that its own cause excludes"
    )


if __name__ == "__main__":
    sys.exit(main())
