"""Fold the long lists of module names in quantisation blocks, without losing one.

A block that names every module of every layer takes megabytes ("model.layers.0.mlp.gate", "model.layers.1.mlp.gate" …).
Folded, numbers that differ alone become one entry: "model.layers.{0-61}.mlp.gate". ``oomedic.catalogue`` unfolds them.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

WORTH_FOLDING = 12


def fold(content: Any) -> Any:
    """Fold every list of names, and every mapping keyed by names, inside a quantisation block."""
    if isinstance(content, Mapping):
        if len(content) > WORTH_FOLDING and any("." in key for key in content):
            return _fold_mapping(content)
        return {key: fold(item) for key, item in content.items()}
    if isinstance(content, list):
        if len(content) > WORTH_FOLDING and all(isinstance(item, str) for item in content):
            return fold_names(content)
        return [fold(item) for item in content]
    return content


def fold_names(names: Iterable[str]) -> list[str]:
    """Merge names that differ in one number at a time, from the last number to the first."""
    split = {tuple(name.split(".")) for name in names}
    for position in range(-1, -max(map(len, split)) - 1, -1):
        split = _merge(split, position)
    return sorted(".".join(parts) for parts in split)


def _merge(names: set[tuple[str, ...]], position: int) -> set[tuple[str, ...]]:
    groups: dict[tuple[str, ...], list[int]] = {}
    kept: set[tuple[str, ...]] = set()
    for parts in names:
        if len(parts) >= -position and parts[position].isdigit():
            key = (*parts[:position], "", *parts[len(parts) + position + 1 :])
            groups.setdefault(key, []).append(int(parts[position]))
        else:
            kept.add(parts)
    for key, numbers in groups.items():
        text = str(numbers[0]) if len(numbers) == 1 else "{" + _ranges(sorted(numbers)) + "}"
        kept.add((*key[:position], text, *key[len(key) + position + 1 :]))
    return kept


def _ranges(numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def _fold_mapping(content: Mapping[str, Any]) -> dict[str, Any]:
    groups: dict[str, list[str]] = {}
    for name, item in content.items():
        groups.setdefault(json.dumps(item, sort_keys=True), []).append(name)
    return {name: json.loads(item) for item, names in groups.items() for name in fold_names(names)}


def count(name: str) -> int:
    """Return how many names a folded one stands for."""
    total = 1
    for group in re.findall(r"\{([\d,-]+)\}", name):
        total *= sum(int(run.split("-")[-1]) - int(run.split("-")[0]) + 1 for run in group.split(","))
    return total
