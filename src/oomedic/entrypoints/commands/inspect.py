"""oomedic inspect: what was understood of manifests, and where an edit would go."""

from typing import TYPE_CHECKING

from oomedic import __version__
from oomedic.entrypoints.colours import colours
from oomedic.entrypoints.terminal import catalogue, phrasebook, show, write
from oomedic.pipeline import Library, inspect_manifests
from oomedic.sources.files import in_folders, is_manifest, once, read_manifest

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: "Namespace") -> int:
    """Read the manifests and show what they say."""
    facts = catalogue(options)
    once(options.path)
    named = set(options.path)
    paths = [path for path in in_folders(options.path) if path in named or is_manifest(path)]
    report = inspect_manifests(tuple(map(read_manifest, paths)), Library(facts, __version__))
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
