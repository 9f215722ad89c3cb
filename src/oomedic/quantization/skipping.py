"""Which modules a method leaves alone: the lists that checkpoints carry, in their several spellings.

Entries are exact names ("lm_head", "model.layers.0.mlp.gate"), parts of names ("self_attn"), shell patterns
("model.layers.*.self_attn*") or regular expressions ("re:.*gate$"). Prefixes before "layers." differ between a text model
and the same model inside a vision model, so names are compared from there on.
"""

import re
from collections.abc import Callable, Iterable
from fnmatch import translate


def skipper(entries: Iterable[str]) -> Callable[[str], bool]:
    """Return a test of module names against the entries."""
    exact: set[str] = set()
    patterns: list[re.Pattern[str]] = []
    parts: list[str] = []
    for entry in entries:
        if entry.startswith("re:"):
            patterns.append(re.compile(entry[3:]))
        elif "*" in entry:
            patterns.append(re.compile(translate(_from_layers(entry.rstrip("*").rstrip(".") + "*"))))
        elif any(letter.isdigit() for letter in _from_layers(entry)[:1]):
            exact.add(_from_layers(entry))
        else:
            parts.append(f".{entry.rpartition('layers.')[2] or entry}.")

    def skips(name: str) -> bool:
        short = _from_layers(name)
        if short in exact or any(part in f".{short}." for part in parts):
            return True
        if any(prefix in exact for prefix in _prefixes(short)):
            return True
        return any(pattern.match(name) or pattern.match(short) for pattern in patterns)

    return skips


def _from_layers(name: str) -> str:
    head, found, tail = name.partition("layers.")
    return tail if found else head


def _prefixes(name: str) -> Iterable[str]:
    pieces = name.split(".")
    return (".".join(pieces[:count]) for count in range(2, len(pieces)))
