"""The measured figures as tables for README and docs/limits.md."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from oomedic.reports.numbers import Numbers

Figures = Mapping[str, Any]


class Words(NamedTuple):
    """The language of a table: ``say`` translates an English text of the documentation."""

    say: Callable[[str], str] = str
    numbers: Numbers = Numbers()

    def of(self, part: object, whole: int) -> str:
        """Write a part of a whole."""
        shown = f"{part:,}" if isinstance(part, int) else str(part)
        return self.say("{0} of {1}").format(self.number(shown), self.number(f"{whole:,}"))

    def times(self, ratio: float, aim: int) -> str:
        """Write how many times as long something takes."""
        return self.say("{0} x (aim: {1})").format(self.number(str(ratio)), aim)

    def number(self, text: str) -> str:
        """Write figures with the language's signs."""
        return self.numbers.written(text)


ENGLISH: Final = Words()


def summary(figures: Figures, words: Words = ENGLISH) -> str:
    """Return the figures that a reader wants first, each with the command that reproduces it."""
    told, logs, near = figures["diagnosis"], figures["whole_logs"], figures["accuracy"]["figures"]["all"]
    exact, speed, say = figures["oracle"], figures["speed"], words.say
    rows = [
        (say("recorded crashes told right"), words.of(told["right"], told["decidable"]), "diagnosis.py"),
        (say("… recorded fix among the first three offered"), words.of(told["fix_offered"], told["fix_recorded"]), ""),
        (say("… offers known to make it worse"), str(told["harmful_offers"]), ""),
        (say("whole logs of real crashes told right"), _of(logs["crashes"], words), "whole_logs.py"),
        (say("… and the line of the first cause named"), _of(logs["line"], words), ""),
        (say("healthy starts without a finding"), _of(logs["healthy"], words), ""),
        (
            say("weights against vLLM's own classes, within 0.01 %"),
            words.of(exact["weights_right"], exact["weights"]),
            "oracle.py",
        ),
        (say("KV cache plans equal to vLLM's own planner"), words.of(exact["plans_exact"], exact["plans"]), ""),
        (say("weights against logs: median / 90th percentile"), words.number(_error(near["weights"])), "accuracy.py"),
        (say("KV cache from nothing but the arguments"), words.number(_error(near["kv_gib"])), ""),
        (say("tokens from the printed KV cache, exact"), f"{near['kv_tokens_given_gib']['exact']:.0%}", ""),
        (say("starts or dies, and where"), words.of(f"{near['outcome']['right']:.0%}", near["outcome"]["n"]), ""),
        (say("`diagnose` of 200 lines, against `python -c pass`"), words.times(speed["diagnose"], 8), "speed.py"),
        ("`explain`", words.times(speed["explain"], 3), ""),
        (
            say("`diagnose` of 1 GB, against `grep -F` with the same literals"),
            say("{0}, {1} MB of memory").format(
                words.times(figures["scan"]["grep_ratio"], 2), figures["scan"]["peak_mb"]
            ),
            "speed.py --log",
        ),
    ]
    lines = [f"| | {say('measured')} | `python benchmarks/…` |", "|--|--|--|"]
    return "\n".join([*lines, *(f"| {what} | {value} | {script} |" for what, value, script in rows)])


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


def crossed(figures: Figures) -> str:
    """Return how much of the accuracy is owed to constants that were calibrated on the same sources."""
    lines = ["| calibrated constants | KV cache, cold |", "|--|--|"]
    lines += [f"| {name} | {_error(found, counted=True)} |" for name, found in figures["accuracy"]["crossed"].items()]
    return "\n".join(lines)


def _error(found: Mapping[str, Any], *, counted: bool = False) -> str:
    if not found["n"]:
        return ""
    number = f" of {found['n']}" if counted else ""
    return f"{found['median']:.2%} / {found['p90']:.1%}{number}"


def _of(found: Mapping[str, Any], words: Words) -> str:
    return words.of(found["right"], found["of"])
