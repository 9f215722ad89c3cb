"""The languages of oomedic: which one is asked for, and the parts of the index in it.

English is the source. What else there is stands compiled in the index (``messages.pl.json``) and is read only where
that language is asked for. ``xx`` is no language: it marks every text of the catalogue, so that what bypasses the
catalogue is seen at once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from oomedic.sources.index import index_names, read_part

TYPE_CHECKING = False  # see oomedic.entrypoints.cli
if TYPE_CHECKING:
    from typing import Any

ENGLISH = "en"
PSEUDO = "xx"
_VARIABLE = "OOMEDIC_LANG"
_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")
_OPTION = "--lang"
_TRANSLATED = ("headings.json", "help.json", "messages.json", "pages.json")
_PREFIX = "messages."


def languages() -> tuple[str, ...]:
    """Return the languages that are there, English first."""
    names = (name.removeprefix(_PREFIX).removesuffix(".json") for name in index_names() if name.startswith(_PREFIX))
    return (ENGLISH, *sorted(name for name in names if name != "json"))


def asked_for(words: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return the language of a command line, else of OOMEDIC_LANG, else of the locale; English where it is not there.

    >>> asked_for(["explain", "OOM401", "--lang", "pl"], {})
    'pl'
    >>> asked_for([], {"LANG": "pl_PL.UTF-8"}), asked_for([], {"LANG": "pl_PL.UTF-8", "LC_ALL": "C"})
    ('pl', 'en')
    """
    for name in (*_named(words), environment.get(_VARIABLE), _locale(environment)):
        code = (name or "").replace("-", "_").partition(".")[0].partition("_")[0].lower()
        if code == ENGLISH or (code and code in {*languages(), PSEUDO}):
            return code
    return ENGLISH


def reader(language: str) -> Callable[[str], bytes]:
    """Return what reads a part of the index in a language."""
    if language == ENGLISH:
        return read_part
    if language == PSEUDO:
        return _marked_part
    return lambda name: read_part(_localised(name, language) if name in _TRANSLATED else name)


def numbers_row(language: str) -> Mapping[str, str] | None:
    """Return how a language writes numbers: its row of ``languages.json``, None for English."""
    if language in {ENGLISH, PSEUDO}:
        return None
    row: Mapping[str, str] = _tree(read_part("languages.json"))[language]
    return row


def page_words(language: str) -> Mapping[str, str]:
    """Return the headings of pages in a language; none for English, whose headings are their own names."""
    if language == ENGLISH:
        return {}
    return _tree(reader(language)("headings.json"))


def marked(text: str) -> str:
    """Return a text of the catalogue as the pseudo-language shows it."""
    return f"⟦{text}⟧"


def _named(words: Sequence[str]) -> Iterable[str]:
    """Yield what ``--lang`` names, the last one first."""
    for place in range(len(words) - 1, -1, -1):
        if words[place] == _OPTION and place + 1 < len(words):
            yield words[place + 1]
        elif words[place].startswith(f"{_OPTION}="):
            yield words[place].partition("=")[2]


def _locale(environment: Mapping[str, str]) -> str | None:
    return next((environment[name] for name in _LOCALE if environment.get(name)), None)


def _localised(name: str, language: str) -> str:
    stem, _, ending = name.rpartition(".")
    return f"{stem}.{language}.{ending}"


def _tree(text: bytes) -> "dict[str, Any]":
    import json  # a command line in English is read without it

    tree: dict[str, Any] = json.loads(text)
    return tree


def _marked_part(name: str) -> bytes:
    if name not in _TRANSLATED:
        return read_part(name)
    import json  # see _tree

    content = _tree(read_part(name))
    marks = _marked_page if name == "pages.json" else marked
    found = {key: marks(item) for key, item in content.items()}
    if name == "messages.json":
        signatures, releases = json.loads(read_part("signatures.json")), json.loads(read_part("engines.json"))
        found |= {f"signature.{row['name']}": marked(row["says"]) for row in signatures}
        found |= {f"release.{row['version']}": marked(row["source"]) for row in releases if row.get("source")}
    return json.dumps(found).encode()


def _marked_page(page: "Mapping[str, Any]") -> "dict[str, Any]":
    sections = {heading: marked(body) for heading, body in page["sections"].items()}
    return {**page, "title": marked(page["title"]), "intro": marked(page["intro"]), "sections": sections}
