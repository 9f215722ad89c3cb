"""oomedic explain: the page of a cause or a remedy, from the compiled index alone.

Neither causes nor catalogue are imported: this command answers as quickly as Python starts.
"""

import json
import sys

from oomedic.entrypoints.colours import colours
from oomedic.reports.draw import Pen
from oomedic.reports.page import Page, as_markdown, as_text
from oomedic.sources.languages import page_words, reader

TYPE_CHECKING = False  # see oomedic.entrypoints.cli
if TYPE_CHECKING:
    from argparse import Namespace


def run(options: "Namespace") -> int:
    """Show one page."""
    page = _page(options)
    if options.output in {"json", "yaml"}:
        from oomedic.entrypoints.terminal import as_data  # only for programs

        sys.stdout.write(as_data(page, options.output))
        return 0
    words = page_words(options.lang)
    if options.output == "markdown":
        sys.stdout.write(as_markdown(page, words))
    else:
        sys.stdout.write(as_text(page, Pen(colour=colours(options)), words))
    return 0


def _page(options: "Namespace") -> Page:
    """Return the page of a code or a name; one that is not known is refused with the nearest ones."""
    pages: dict[str, Page] = json.loads(reader(options.lang)("pages.json"))
    wanted = options.code.strip().lower()
    for code, page in pages.items():
        if wanted in {code.lower(), page["name"]}:
            return page
    from oomedic.entrypoints.terminal import catalogue

    return catalogue(options).page(options.code)
