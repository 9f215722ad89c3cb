"""One signature: a recognisable log line, matched against a text.

A pattern must stay linear: bounded gaps (``.{0,80}?``), no nested quantifiers. It is compiled when it is first needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, Union

from oomedic.errors import InputError, UsageError
from oomedic.figure import Figure, exactly, printed, printed_gib
from oomedic.redaction import redact
from oomedic.units import parse_size

Kind = Literal["error", "mark", "figure", "setting", "warning", "wrapper", "frame", "generic"]
KINDS: Final[tuple[Kind, ...]] = ("error", "mark", "figure", "setting", "warning", "wrapper", "frame", "generic")
PHASES: Final = (
    *("config_validation", "free_memory_check", "weights_load", "profile_run", "kv_check", "kv_alloc"),
    *("graph_capture", "sampler_warmup", "runtime", "host_oom", "nccl_init", "other"),
)
Field = Union[int, float, str, bool, Figure, tuple[Mapping[str, "Field"], ...]]  # noqa: UP007 - it names itself

_SHORTEST: Final = 4
_UNFIT: Final = re.compile(r"[\"\\`\n<>&]")  # JSON and HTML write them in another way
_BEFORE: Final = 4 * 1024
_AFTER: Final = 12 * 1024
_AFTER_IN_SETTING: Final = 60 * 1024


class Signature(NamedTuple):
    """A recognisable log line; without ``pattern`` a literal of ``contains`` that ends a word is all it takes.

    ``fields`` gives the type of each named group. ``more`` are patterns that add fields where they match; ``each`` are
    pairs of a pattern that is found any number of times and the field that takes what each of them reads.
    """

    name: str
    kind: Kind
    phase: str
    reached: str | None
    contains: tuple[str, ...]
    pattern: str | None
    fields: Mapping[str, str]
    more: tuple[str, ...]
    each: tuple[tuple[str, str], ...]


class Match(NamedTuple):
    """Where a signature stands in a text, and what its groups hold there; ``lists`` are those of ``each``."""

    start: int
    end: int
    groups: Mapping[str, str]
    lists: Mapping[str, tuple[Mapping[str, str], ...]]

    def says_more_than(self, other: Match | None, *, longer: bool) -> bool:
        """Compare with another reading of the message: more fields, or as many in a longer text if that counts."""
        if other is None:
            return True
        mine, its = len(self.groups) + len(self.lists), len(other.groups) + len(other.lists)
        return mine > its or (longer and mine == its and self.end - self.start > other.end - other.start)


def signature_of(row: Mapping[str, Any]) -> Signature:
    """Take one table of the index, or of a signature's TOML file with its ``name``."""
    get = row.get
    return Signature(
        row["name"],
        row["kind"],
        row["phase"],
        get("reached"),
        tuple(row["contains"]),
        get("pattern"),
        get("fields", {}),
        tuple(more["pattern"] for more in get("more", ())),
        tuple((each["pattern"], each["into"]) for each in get("each", ())),
    )


def check(row: Mapping[str, Any]) -> None:
    """Refuse the table of a signature that could not be read or would never match.

    Raises:
        InputError: ``signature-incomplete``, ``signature-word-unknown``, ``signature-literal-unfit``,
            ``signature-pattern-unreadable`` or ``signature-fields-differ``.
    """
    name = str(row.get("name", "?"))
    for key in ("kind", "phase", "contains"):
        if not row.get(key):
            raise InputError("signature-incomplete", name=name, key=key)
    words = [(row["kind"], KINDS), (row["phase"], PHASES), (row.get("reached", PHASES[0]), PHASES)]
    for word, known in words + [(kind, tuple(_READ)) for kind in row.get("fields", {}).values()]:
        if word not in known:
            raise InputError("signature-word-unknown", name=name, word=str(word), known=known)
    for literal in row["contains"]:
        if not isinstance(literal, str) or len(literal) < _SHORTEST or _UNFIT.search(literal):
            raise InputError("signature-literal-unfit", name=name, literal=str(literal))
    read = {group for pattern in _patterns(row) for group in _groups(name, pattern)}
    if differing := read ^ set(row.get("fields", {})):
        raise InputError("signature-fields-differ", name=name, fields=tuple(sorted(differing)))


def match(signature: Signature, text: str) -> Match | None:
    """Look for a signature in a text; of a long text only what surrounds the literal is seen."""
    place = _place(signature, text)
    if signature.pattern is None:
        return None if place is None else Match(place[0], place[1], {}, {})
    begin = place[0] if place else 0
    low, high = max(0, begin - _BEFORE), begin + (_AFTER_IN_SETTING if signature.kind == "setting" else _AFTER)
    found = _compiled(signature.pattern).search(text, low, high)
    if found is None:
        return None
    groups = _held(found)
    end = found.end()
    for pattern in signature.more:
        if added := _compiled(pattern).search(text, found.start(), high):
            groups = _held(added) | groups
            end = max(end, added.end())
    lists = {
        into: tuple(map(_held, _compiled(each).finditer(text, found.start(), high))) for each, into in signature.each
    }
    return Match(found.start(), end, groups, {into: held for into, held in lists.items() if held})


def is_complete(signature: Signature, found: Match) -> bool:
    """Say whether every field of the signature was read."""
    return len(found.groups) + len(found.lists) >= len(signature.fields) + len(signature.each)


def typed(signature: Signature, found: Match, where: str) -> dict[str, Field]:
    """Give what was read its types; what cannot be read as its type (a number cut in half) is left out."""
    fields = _typed(signature.fields, found.groups, where)
    for into, entries in found.lists.items():
        fields[into] = tuple(_typed(signature.fields, entry, where) for entry in entries)
    return fields


def _patterns(row: Mapping[str, Any]) -> list[str]:
    main = [row["pattern"]] if row.get("pattern") else []
    return main + [more["pattern"] for more in (*row.get("more", ()), *row.get("each", ()))]


def _groups(name: str, pattern: str) -> tuple[str, ...]:
    try:
        return tuple(_compiled(pattern).groupindex)
    except re.error as error:
        raise InputError("signature-pattern-unreadable", name=name, pattern=pattern, reason=str(error)) from error


def _place(signature: Signature, text: str) -> tuple[int, int] | None:
    """Find the first literal that stands in the text and does not end in the midst of a word."""
    for literal in signature.contains:
        start = text.find(literal)
        while start >= 0:
            end = start + len(literal)
            if not (_is_word(text[end : end + 1]) and _is_word(literal[-1])) or signature.pattern is not None:
                return start, end
            start = text.find(literal, end)
    return None


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile through the cache of ``re``, which holds them all."""
    return re.compile(pattern, re.ASCII)


def _held(found: re.Match[str]) -> dict[str, str]:
    return {name: text for name, text in found.groupdict().items() if text is not None}


def _typed(types: Mapping[str, str], groups: Mapping[str, str], where: str) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    for name, text in groups.items():
        try:
            fields[name] = _READ[types[name]](text, where)
        except (ValueError, OverflowError, UsageError):
            continue
    return fields


def _size(text: str, where: str) -> Figure:
    number, _, unit = text.partition(" ")
    return printed(number, parse_size(f"1 {unit}"), where)


_READ: Final[Mapping[str, Callable[[str, str], Field]]] = {
    "int": lambda text, _: int(text.replace(",", "")),
    "float": lambda text, _: float(text),
    "text": lambda text, _: redact(text),
    "flag": lambda _, __: True,
    "GiB": printed_gib,
    "bytes": lambda text, where: exactly(int(text.replace(",", "")), "printed", where),
    "size": _size,
}
