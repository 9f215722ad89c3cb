"""oomedic explain: the page of a cause or a remedy, from the compiled index alone."""

from typing import TYPE_CHECKING

from oomedic.entrypoints.terminal import catalogue, colours, write
from oomedic.reports.draw import Pen

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: "Namespace") -> int:
    """Show one page."""
    page = catalogue(options).page(options.code)
    if options.output == "json":
        import json  # loaded with the index already

        write(json.dumps(page, indent=2, ensure_ascii=False) + "\n")
        return 0
    from oomedic.reports.page import as_markdown, as_text

    write(as_markdown(page) if options.output == "markdown" else as_text(page, Pen(colour=colours(options))))
    return 0
