"""The page of a cause or remedy: one text for the terminal, for Markdown and for the documentation."""

from collections.abc import Mapping

from oomedic.reports.draw import Pen

TYPE_CHECKING = False  # see oomedic.entrypoints.cli
if TYPE_CHECKING:
    from typing import Any

Page = Mapping[str, "Any"]


def as_text(page: Page, pen: Pen) -> str:
    """Return the page for a terminal."""
    lines = [pen.paint(f"{page['code']} {page['name']}", "bold"), "", page["title"], "", page["intro"]]
    for heading, body in page["sections"].items():
        lines += ["", pen.paint(heading, "bold"), body]
    return "\n".join([*lines, *_helps(page)]) + "\n"


def as_markdown(page: Page) -> str:
    """Return the page as Markdown."""
    lines = [f"# {page['code']} {page['name']}", "", page["title"], "", page["intro"]]
    for heading, body in page["sections"].items():
        lines += ["", f"## {heading}", "", body]
    return "\n".join([*lines, *_helps(page)]) + "\n"


def _helps(page: Page) -> list[str]:
    arguments = page.get("arguments", {})
    rows = [(name, arguments.get(name, ())) for name in ("helps", "worsens", "useless")]
    shown = [f"{name}: {', '.join(codes)}" for name, codes in rows if codes]
    return ["", *shown] if shown else []
