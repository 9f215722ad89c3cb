"""Which modules a method leaves alone: the lists that checkpoints carry, in their several spellings.

Entries are exact names ("lm_head", "model.layers.0.mlp.gate"), parts of names ("self_attn"), shell patterns
("model.layers.*.self_attn*") or regular expressions ("re:.*gate$"). Prefixes before "layers." differ between a text
model and the same model inside a vision model, so names are compared from there on; towers keep their prefix.
"""

import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from typing import Final

_TOWER: Final = re.compile(r"vis(ion|ual)|vit\b|audio|tower|encoder|mm_projector|multi_modal|vpm")


def skipper(entries: Iterable[str]) -> Callable[[str], bool]:
    """Return a test of module names against the entries."""
    exact: set[str] = set()
    patterns: list[re.Pattern[str]] = []
    parts: list[str] = []
    for entry in entries:
        if entry.startswith("mtp"):
            continue  # layers of multi-token prediction, whose numbers are not those of the decoder
        if entry.startswith("re:"):
            patterns.append(re.compile(entry[3:]))
        elif "*" in entry:
            patterns.append(re.compile(translate(short_name(entry.rstrip("*").rstrip(".") + "*"))))
        elif any(letter.isdigit() for letter in short_name(entry)[:1]):
            exact.add(short_name(entry))
        else:
            parts.append(f".{entry.rpartition('layers.')[2] or entry}.")

    def skips(name: str) -> bool:
        short = short_name(name)
        if short in exact or any(part in f".{short}." for part in parts):
            return True
        if any(prefix in exact for prefix in _prefixes(short)):
            return True
        return any(pattern.match(name) or pattern.match(short) for pattern in patterns)

    return skips


def short_name(name: str) -> str:
    """Return a decoder layer's module from its number on; other names as they are."""
    head, found, tail = name.partition("layers.")
    return tail if found and not _TOWER.search(head) else name.removeprefix("model.")


def exact_skipper(entries: Iterable[str]) -> Callable[[str], bool]:
    """Return a test that heeds whole names only, as the fp8 method does."""
    listed = {short_name(entry) for entry in entries if not entry.startswith("mtp")}
    return lambda name: short_name(name) in listed


def mentions_layers(entries: Iterable[str]) -> bool:
    """Tell whether an entry names single layers, so that layers may differ from each other."""
    return any(letter.isdigit() for entry in entries for letter in entry.partition("layers.")[2][:1])


def _prefixes(name: str) -> Iterable[str]:
    pieces = name.split(".")
    return (".".join(pieces[:count]) for count in range(2, len(pieces)))
