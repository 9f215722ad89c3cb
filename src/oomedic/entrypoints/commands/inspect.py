"""oomedic inspect: what was understood of manifests, and where an edit would go."""

from typing import TYPE_CHECKING

from oomedic import __version__
from oomedic.entrypoints.colours import colours
from oomedic.entrypoints.terminal import catalogue, phrasebook, show, write
from oomedic.pipeline import Library, inspect_manifests
from oomedic.sources.manifests import read_all

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: "Namespace") -> int:
    """Read the manifests and show what they say."""
    facts = catalogue(options)
    report = inspect_manifests(read_all(options.path), Library(facts, __version__))
    if options.output in {"json", "yaml"}:
        show(report, options, facts)
        return 0
    from oomedic.reports.draw import Pen  # only for people
    from oomedic.reports.inspection import as_markdown, render

    if options.output == "markdown":
        write(as_markdown(report, phrasebook(options)))
    else:
        write(render(report, phrasebook(options), Pen(colour=colours(options))))
    return 0
