"""The texts of oomedic by their ids, and what a run reads of a translation.

A language is one file, ``src/oomedic/locale/LANGUAGE/LC_MESSAGES/oomedic.po``: its contexts are our ids, its msgids the
English texts. A translation counts only while its msgid is the English text of today; until then, and where there is
none, English stands in its place.
"""

import json
from collections.abc import Iterator, Mapping
from gettext import c2py
from pathlib import Path
from typing import Any

from babel import Locale
from babel.messages.catalog import Catalog
from babel.messages.plurals import get_plural
from babel.messages.pofile import read_po

from oomedic.reports.page import LISTS

LOCALE = Path(__file__).resolve().parent.parent / "src/oomedic/locale"
DOMAIN = "oomedic.po"
Parts = Mapping[str, bytes]
"""Files of the index by their names."""
Texts = dict[str, str]
"""Texts by their ids."""


def texts(parts: Parts) -> Texts:
    """Return every English text of the index by its id, which is its context in a catalogue."""
    found = dict(_tree(parts["messages.json"]))
    found |= sentences(parts)
    found |= {f"heading.{slug(name)}": text for name, text in _tree(parts["headings.json"]).items()}
    for code, page in _tree(parts["pages.json"]).items():
        found |= {f"page.{code}.{name}": text for name, text in _page_texts(page) if text}
    return found | _tree(parts["help.json"])


def sentences(parts: Parts) -> Texts:
    """Return the sentences of signatures and releases: `oomedic list` alone shows them."""
    signatures = {f"signature.{row['name']}": row["says"] for row in json.loads(parts["signatures.json"])}
    releases = {f"release.{row['version']}": row.get("source") for row in json.loads(parts["engines.json"])}
    return {name: text for name, text in (signatures | releases).items() if text}


def headings(pages: Mapping[str, Any]) -> Texts:
    """Return the headings of all pages, and the names of the lists below them, as they stand in English."""
    names = dict.fromkeys(heading for page in pages.values() for heading in page["sections"])
    return {name: name for name in (*names, *LISTS)}


def compiled(parts: Parts, locale: Path = LOCALE) -> dict[str, bytes]:
    """Return the files of the index that every language adds."""
    found: dict[str, bytes] = {}
    rows = {}
    for language, catalog in catalogues(locale):
        rows[language] = numbers(language)
        named = _in_language(parts, translated(catalog, texts(parts)))
        found |= {f"{name}.{language}.json": _json(content) for name, content in named.items()}
    return {"languages.json": _json(rows), **found}


def catalogues(locale: Path = LOCALE) -> Iterator[tuple[str, Catalog]]:
    """Yield each language with its catalogue."""
    for path in sorted(locale.glob(f"*/LC_MESSAGES/{DOMAIN}")):
        yield path.parent.parent.name, read(path)


def read(path: Path) -> Catalog:
    """Read a catalogue."""
    with path.open("rb") as file:
        return read_po(file, locale=path.parent.parent.name, abort_invalid=True)


def translated(catalog: Catalog, english: Mapping[str, str]) -> Texts:
    """Return what a catalogue says today: neither what is fuzzy nor what was made for another English text."""
    return {
        str(message.context): str(message.string)
        for message in catalog
        if message.string and not message.fuzzy and english.get(str(message.context)) == message.id
    }


def numbers(language: str) -> dict[str, str]:
    """Return how a language writes numbers, and which form stands beside 0 to 199 things; CLDR's by way of Babel."""
    symbols = Locale.parse(language).number_symbols["latn"]
    form = c2py(get_plural(language).plural_expr)
    forms = [form(number) for number in range(200)]
    if any(form(number) != forms[100 + number % 100] for number in range(100, 5000)):
        raise SystemExit(f"{language}: its plural forms look at more than two digits; Numbers.form must learn that")
    return {"decimal": symbols["decimal"], "group": symbols["group"], "plurals": "".join(map(str, forms))}


def slug(heading: str) -> str:
    """Return a heading as part of an id: ``What helps, in order, and why`` becomes ``what-helps-in-order-and-why``."""
    return "-".join("".join(sign if sign.isalnum() else " " for sign in heading.lower()).split())


def _page_texts(page: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from (("title", page["title"]), ("intro", page["intro"]))
    yield from ((slug(heading), body) for heading, body in page["sections"].items())


def _in_language(parts: Parts, said: Mapping[str, str]) -> dict[str, Any]:
    """Return the parts that are read in another language, by their names without the ending."""
    messages = _tree(parts["messages.json"]) | sentences(parts)
    return {
        "messages": {name: said.get(name, text) for name, text in messages.items()},
        "pages": {code: _page(code, page, said) for code, page in _tree(parts["pages.json"]).items()},
        "headings": {name: said.get(f"heading.{slug(name)}", name) for name in _tree(parts["headings.json"])},
        "help": {name: said.get(name, text) for name, text in _tree(parts["help.json"]).items()},
    }


def _page(code: str, page: Mapping[str, Any], said: Mapping[str, str]) -> dict[str, Any]:
    def text(name: str, english: str) -> str:
        return said.get(f"page.{code}.{name}", english)

    sections = {heading: text(slug(heading), body) for heading, body in page["sections"].items()}
    return {**page, "title": text("title", page["title"]), "intro": text("intro", page["intro"]), "sections": sections}


def _tree(text: bytes) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(text)
    return tree


def _json(content: Mapping[str, Any]) -> bytes:
    """Write one entry per line, as the index does."""
    if not content:
        return b"{}\n"
    entries = [f"{_compact(key)}:{_compact(item)}" for key, item in content.items()]
    return ("{\n" + ",\n".join(entries) + "\n}\n").encode()


def _compact(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))
