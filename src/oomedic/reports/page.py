"""The page of a cause or remedy: one text for the terminal, for Markdown and for the documentation."""

from collections.abc import Mapping

from oomedic.reports.draw import Pen

TYPE_CHECKING = False  # see oomedic.entrypoints.cli
if TYPE_CHECKING:
    from typing import Any

Page = Mapping[str, "Any"]
LISTS = ("helps", "worsens", "useless")
"""Lists of remedies that stand below a cause."""


def as_text(page: Page, pen: Pen, words: Mapping[str, str] | None = None) -> str:
    """Return the page for a terminal; ``words`` are its headings in another language than English."""
    lines = [pen.paint(f"{page['code']} {page['name']}", "bold"), *_opening(page)]
    for heading, body in page["sections"].items():
        lines += ["", pen.paint(_word(heading, words), "bold"), body]
    return "\n".join([*lines, *_helps(page, words)]) + "\n"


def as_markdown(page: Page, words: Mapping[str, str] | None = None) -> str:
    """Return the page as Markdown; ``words`` as in ``as_text``."""
    lines = [f"# {page['code']} {page['name']}", *_opening(page)]
    for heading, body in page["sections"].items():
        lines += ["", f"## {_word(heading, words)}", "", body]
    return "\n".join([*lines, *_helps(page, words)]) + "\n"


def _opening(page: Page) -> list[str]:
    """Return what stands before the first heading: the title, and an introduction where there is one."""
    return [line for text in (page["title"], page["intro"]) if text for line in ("", text)]


def _helps(page: Page, words: Mapping[str, str] | None) -> list[str]:
    arguments = page.get("arguments", {})
    rows = [(name, arguments.get(name, ())) for name in LISTS]
    shown = [f"{_word(name, words)}: {', '.join(codes)}" for name, codes in rows if codes]
    return ["", *shown] if shown else []


def _word(name: str, words: Mapping[str, str] | None) -> str:
    return words.get(name, name) if words else name
