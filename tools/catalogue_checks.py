"""What is wrong with a translation: missing, fuzzy, unused, or other placeholders, words of the field and log lines."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from string import Formatter

from babel.messages.catalog import Catalog, Message

from oomedic.reports.numbers import PLURAL

_PERCENT = re.compile(r"%(?:\(\w+\))?[srd%]")
_PLAIN = ("heading.", "page.", "release.", "signature.")
"""Texts that are shown as they stand: braces in them are braces."""
_KEPT = re.compile(
    r"`[^`\n]+`"  # what is typed or written in a file
    r"|(?<![\w-])--[a-z][\w-]+"  # options
    r"|\b(?:OOM|HOST|CFG|GPU|POD|VER|FIX)\d{3}\b"  # our codes
    r"|\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b"  # arguments, keys and fields
    r"|\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b"  # variables
)


def problems(catalog: Catalog, texts: Mapping[str, str]) -> list[str]:
    """Return what is wrong with a catalogue, one line each; nothing when it holds today's texts, all translated."""
    held = {str(message.context): message for message in catalog if message.id}
    found = [f"{name}: not in the catalogue" for name in texts if name not in held]
    forms = catalog.num_plurals
    for name, message in held.items():
        found += [f"{name}: {what}" for what in _problems(message, texts.get(name), forms)]
    return found


def _problems(message: Message, english: str | None, forms: int) -> Iterator[str]:
    said = str(message.string or "")
    if english is None:
        yield "unused: no such text any more"
    elif message.id != english:
        yield "the English text has changed"
    elif not said:
        yield "not translated"
    elif message.fuzzy:
        yield "fuzzy"
    else:
        yield from _differences(str(message.context), english, said, forms)


def _differences(name: str, english: str, said: str, forms: int) -> Iterator[str]:
    if name.startswith(_PLAIN):
        yield from _lines(english, said)
    elif name.startswith("help."):
        if Counter(_PERCENT.findall(english)) != Counter(_PERCENT.findall(said)):
            yield "other placeholders"
    else:
        yield from _placeholders(english, said, forms)
    lost = set(_KEPT.findall(english)) - set(_KEPT.findall(said))
    if lost:
        yield f"lost: {', '.join(sorted(lost))}"
    if (english[:1].isspace(), english[-1:].isspace()) != (said[:1].isspace(), said[-1:].isspace()):
        yield "blanks at an end differ"


def _placeholders(english: str, said: str, forms: int) -> Iterator[str]:
    wanted, there = _fields(english), _fields(said)
    if wanted.keys() != there.keys():
        yield f"other placeholders: {', '.join(sorted(wanted.keys() ^ there.keys()))}"
    for field in wanted.keys() & there.keys():
        if _shown(wanted[field]) != _shown(there[field]):
            yield f"{{{field}}} is written in another format"
    for formats in there.values():
        for form in formats:
            choices = len(form.removeprefix(PLURAL).split("|"))
            if form.startswith(PLURAL) and choices not in {forms, forms + 1}:
                yield f"{choices} forms where the language has {forms}: {form}"


def _fields(text: str) -> dict[str, set[str]]:
    """Return the formats of each placeholder."""
    fields: dict[str, set[str]] = {}
    for _, field, form, _ in Formatter().parse(text):
        if field is not None:
            fields.setdefault(field, set()).add(form or "")
    return fields


def _shown(formats: set[str]) -> set[str]:
    return {form for form in formats if not form.startswith(PLURAL)}


def _lines(english: str, said: str) -> Iterator[str]:
    """Compare the lines that are quoted: commands and log lines stand four blanks in."""
    wanted, there = (Counter(line for line in text.splitlines() if line.startswith("    ")) for text in (english, said))
    if wanted != there:
        yield f"quoted lines differ: {next(iter((wanted - there) + (there - wanted))).strip()}"
