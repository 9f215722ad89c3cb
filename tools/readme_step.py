"""Is a translated page in step with its English one?

The same headings by level, the same code and commands, the same generated blocks, the same links and the same figures;
only the words differ. Comments behind ``#`` in a block of commands are words.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator

_GENERATED = re.compile(r"<!-- (?:output of|figures): .*? -->.*?<!-- end -->", re.DOTALL)
_MARKER = re.compile(r"<!-- (?:output of|figures): .*? -->")
_FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_INDENTED = re.compile(r"^ {4}\S.*$", re.MULTILINE)
_INLINE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\]\(([^)]+)\)")
_HEADING = re.compile(r"^(#+) ", re.MULTILINE)
_TABLE_ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
_NUMBER = re.compile(r"\d+(?:[.,\u00a0 ]\d+)*")
_COMMENT = re.compile(r"\s+#.*$", re.MULTILINE)


def differences(english: str, translated: str, language: str) -> list[str]:
    """Return what differs that must not, one line each."""
    return [
        f"{what}: {_first(read(english), read(translated))}"
        for what, read in _readers(language)
        if read(english) != read(translated)
    ]


def _readers(language: str) -> "Iterator[tuple[str, Callable[[str], object]]]":
    yield "headings", _HEADING.findall
    yield "generated blocks", _MARKER.findall
    yield "blocks of code", lambda text: [_COMMENT.sub("", block) for block in _FENCED.findall(_written(text))]
    yield "lines of code", lambda text: _INDENTED.findall(_without_blocks(text))
    yield "code in sentences", lambda text: Counter(_INLINE.findall(_without_blocks(text)))
    yield "links", lambda text: Counter(_target(link, language) for link in _LINK.findall(_written(text)))
    yield "rows of tables", lambda text: len(_TABLE_ROW.findall(_written(text)))
    yield "figures", lambda text: Counter(_figures(text))


def _written(text: str) -> str:
    """Return a page without its generated blocks."""
    return _GENERATED.sub("", text)


def _without_blocks(text: str) -> str:
    return _FENCED.sub("", _written(text))


def _target(link: str, language: str) -> str:
    """Return where a link leads, as the English page has it."""
    return link.replace(f"docs/{language}/", "docs/").replace(f"README.{language}.md", "README.md")


def _figures(text: str) -> list[str]:
    """Return the numbers of the sentences: 1,572 and 1 572, 0.01 and 0,01 are the same."""
    prose = _INLINE.sub("", _LINK.sub("]", _INDENTED.sub("", _without_blocks(text))))
    return [re.sub(r"\D", "", number) for number in _NUMBER.findall(prose)]


def _first(english: object, translated: object) -> str:
    """Name the first difference of two lists or counts."""
    if isinstance(english, Counter) and isinstance(translated, Counter):
        return f"{dict(english - translated)} is missing, {dict(translated - english)} is too much"
    if isinstance(english, list) and isinstance(translated, list):
        pairs = zip([*english, None], [*translated, None], strict=False)
        return next((f"{one!r} here, {other!r} there" for one, other in pairs if one != other), "their number")
    return f"{english} here, {translated} there"
