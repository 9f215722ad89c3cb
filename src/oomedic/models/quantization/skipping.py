"""Which modules a method leaves alone: the lists that checkpoints carry, in their several spellings.

Entries are exact names ("lm_head", "model.layers.0.mlp.gate"), parts of names ("self_attn"), shell patterns
("model.layers.*.self_attn*") or regular expressions ("re:.*gate$"). Prefixes before "layers." differ between a text
model and the same model inside a vision model, so names are compared from there on; towers keep their prefix.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate
from typing import Final, NamedTuple

_TOWER: Final = re.compile(r"vis(ion|ual)|vit\b|audio|tower|encoder|mm_projector|multi_modal|vpm")

_DRAFT: Final = "mtp"
"""Layers of multi-token prediction start with it; their numbers are not those of the decoder."""


def skipper(entries: Iterable[str]) -> Callable[[str], bool]:
    """Return a test of module names against the entries."""
    listed = _sorted(entries)

    def skips(name: str) -> bool:
        short = short_name(name)
        number = short.partition(".")[0]
        if short.startswith((*listed.openings.get(number, ()), *listed.openings.get("", ()))):
            return True
        if short in listed.exact or any(prefix in listed.exact for prefix in _prefixes(short)):
            return True
        if any(part in f".{short}." for part in listed.parts):
            return True
        return any(pattern.match(name) or pattern.match(short) for pattern in listed.patterns)

    return skips


class _Listed(NamedTuple):
    """Entries by how they are compared; ``openings`` by the decoder layer's number, "" for those of no layer."""

    exact: frozenset[str]
    parts: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]
    openings: Mapping[str, tuple[str, ...]]


def _sorted(entries: Iterable[str]) -> _Listed:
    exact: set[str] = set()
    parts: list[str] = []
    patterns: list[re.Pattern[str]] = []
    openings: dict[str, list[str]] = {}
    for entry in entries:
        if entry.startswith(_DRAFT) and "*" not in entry:
            exact.add(entry)
            continue
        short = short_name(entry)
        if entry.startswith("re:"):
            patterns.append(re.compile(entry[3:]))
        elif "*" in entry[:-1]:
            patterns.append(re.compile(translate(short_name(entry.rstrip("*").rstrip(".") + "*"))))
        elif entry.endswith("*"):
            number = short.partition(".")[0].rstrip("*")
            openings.setdefault(number if number.isdigit() else "", []).append(short.rstrip("*").rstrip("."))
        elif short[:1].isdigit():
            exact.add(short)
        else:
            parts.append(f".{entry.rpartition('layers.')[2] or entry}.")
    sorted_openings = {number: tuple(names) for number, names in openings.items()}
    return _Listed(frozenset(exact), tuple(parts), tuple(patterns), sorted_openings)


def exact_skipper(entries: Iterable[str]) -> Callable[[str], bool]:
    """Return a test that heeds whole names only, as the fp8 method does."""
    listed = {short_name(entry) for entry in entries}
    return lambda name: short_name(name) in listed


def short_name(name: str) -> str:
    """Return a decoder layer's module from its number on; other names without the model's own prefix."""
    if name.startswith(_DRAFT):
        return name
    head, found, tail = name.partition("layers.")
    return tail if found and not _TOWER.search(head) else name.removeprefix("model.")


def mentions_layers(entries: Iterable[str]) -> bool:
    """Tell whether an entry names single layers, so that layers may differ from each other."""
    return any(letter.isdigit() for entry in entries for letter in entry.partition("layers.")[2][:1])


def _prefixes(name: str) -> Iterable[str]:
    pieces = name.split(".")
    return (".".join(pieces[:count]) for count in range(2, len(pieces)))
