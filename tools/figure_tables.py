"""The measured figures as tables for README and docs/limits.md."""

from collections.abc import Mapping
from typing import Any

Figures = Mapping[str, Any]


def summary(figures: Figures) -> str:
    """Return the figures that a reader wants first, each with the command that reproduces it."""
    told, logs, near = figures["diagnosis"], figures["whole_logs"], figures["accuracy"]["figures"]["all"]
    exact, speed = figures["oracle"], figures["speed"]
    rows = [
        ("recorded crashes told right", f"{told['right']} of {told['decidable']}", "diagnosis.py"),
        ("… recorded fix among the first three offered", f"{told['fix_offered']} of {told['fix_recorded']}", ""),
        ("… offers known to make it worse", str(told["harmful_offers"]), ""),
        ("whole logs of real crashes told right", _of(logs["crashes"]), "whole_logs.py"),
        ("… and the line of the first cause named", _of(logs["line"]), ""),
        ("healthy starts without a finding", _of(logs["healthy"]), ""),
        ("weights against vLLM's own classes, within 0.01 %", _pair(exact, "weights_right", "weights"), "oracle.py"),
        ("KV cache plans equal to vLLM's own planner", _pair(exact, "plans_exact", "plans"), ""),
        ("weights against logs: median / 90th percentile", _error(near["weights"]), "accuracy.py"),
        ("KV cache from nothing but the arguments", _error(near["kv_gib"]), ""),
        ("tokens from the printed KV cache, exact", f"{near['kv_tokens_given_gib']['exact']:.0%}", ""),
        ("starts or dies, and where", f"{near['outcome']['right']:.0%} of {near['outcome']['n']}", ""),
        ("`diagnose` of 200 lines, against `python -c pass`", f"{speed['diagnose']} x (aim: 8)", "speed.py"),
        ("`explain`", f"{speed['explain']} x (aim: 3)", ""),
        ("`diagnose` of 1 GB, against `grep -F` with the same literals", _scanned(figures["scan"]), "speed.py --log"),
    ]
    lines = ["| | measured | `python benchmarks/…` |", "|--|--|--|"]
    return "\n".join([*lines, *(f"| {what} | {value} | {script} |" for what, value, script in rows)])


def _scanned(scan: Mapping[str, Any]) -> str:
    return f"{scan['grep_ratio']} x (aim: 2), {scan['peak_mb']} MB of memory"


def per_era(figures: Figures) -> str:
    """Return the errors against logs for every era of the engine."""
    lines = ["| releases | weights | KV cache, cold | tokens exact | starts or dies |", "|--|--|--|--|--|"]
    for era, table in figures["accuracy"]["figures"].items():
        tokens, outcome = table["kv_tokens_given_gib"], table["outcome"]
        cells = (
            _error(table["weights"], counted=True),
            _error(table["kv_gib"], counted=True),
            f"{tokens['exact']:.0%} of {tokens['n']}" if tokens["n"] else "",
            f"{outcome['right']:.0%} of {outcome['n']}" if outcome["n"] else "",
        )
        lines.append(f"| {era} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _error(found: Mapping[str, Any], *, counted: bool = False) -> str:
    if not found["n"]:
        return ""
    number = f" of {found['n']}" if counted else ""
    return f"{found['median']:.2%} / {found['p90']:.1%}{number}"


def _of(found: Mapping[str, Any]) -> str:
    return f"{found['right']} of {found['of']}"


def _pair(found: Mapping[str, Any], right: str, every: str) -> str:
    return f"{found[right]:,} of {found[every]:,}"
