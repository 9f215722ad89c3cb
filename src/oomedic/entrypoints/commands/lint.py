"""oomedic lint: manifests in, findings with their places out, before anything is deployed."""

import sys
from typing import TYPE_CHECKING, Final

from oomedic import __version__
from oomedic.entrypoints.commands.asking import LazyHub, engine_args, engine_options
from oomedic.entrypoints.terminal import as_data, catalogue, phrasebook, write
from oomedic.lint.baseline import as_baseline, read_baseline, to_hold
from oomedic.lint.confidence import any_counts
from oomedic.lint.judging import LintQuestion, lint
from oomedic.question import Library
from oomedic.sources.files import read_manifest, write_atomically
from oomedic.sources.manifests import read_each

if TYPE_CHECKING:
    from argparse import Namespace

    from oomedic.catalogue import Catalogue
    from oomedic.lint.verdict import Linted
    from oomedic.reports.phrases import Phrasebook

_UNREADABLE: Final = 2
_WITH_CHANGES: Final = ("json", "yaml", "sarif")
"""Forms that show the changes as replacements in the files."""


def run(options: "Namespace") -> int:
    """Judge manifests; status 1 for findings at or above --fail-on, 2 where something could not be read."""
    facts = catalogue(options)
    manifests, unreadable = read_each(options.path)
    question = LintQuestion(
        manifests,
        engine_options(options),
        engine_args(options, facts),
        frozenset(options.path),
        unreadable,
        _baseline(options.baseline),
        rewrites=options.output in _WITH_CHANGES,
    )
    hub = LazyHub() if options.hub and not options.offline else None
    found = lint(question, Library(facts, __version__, hub))
    phrases = phrasebook(options)
    write(_rendered(found, options, phrases, facts))
    for error in found.unreadable:
        says, do = phrases.error(error)
        sys.stderr.write(f"oomedic: {says}\n         {do}\n" if do else f"oomedic: {says}\n")
    if options.write_baseline:
        _write_baseline(options.write_baseline, found, phrases)
    if found.unreadable:
        return _UNREADABLE
    return 1 if any_counts(found.told, options.fail_on) else 0


def _baseline(path: str | None) -> frozenset[str]:
    return frozenset() if path is None else read_baseline(read_manifest(path).text, path)


def _write_baseline(path: str, found: "Linted", phrases: "Phrasebook") -> None:
    held = to_hold(found.told)
    write_atomically(path, as_baseline(held))
    sys.stderr.write(f"{phrases.text('lint.baseline-written', path=path, number=len(held))}\n")


def _rendered(found: "Linted", options: "Namespace", phrases: "Phrasebook", facts: "Catalogue") -> str:
    """Return the form that is asked for; each loads itself alone."""
    if options.output in {"json", "yaml"}:
        from oomedic.reports.lint.tree import as_tree

        return as_data(as_tree(found, phrases), options.output)
    if options.output == "sarif":
        from oomedic.reports.lint import sarif
        from oomedic.sources.languages import page_words

        return sarif.render(found, phrases, facts.page, page_words(options.lang))
    if options.output == "github":
        from oomedic.reports.lint import github

        return github.render(found, phrases, options.fail_on)
    if options.output == "junit":
        from oomedic.reports.lint import junit

        return junit.render(found, phrases, options.fail_on)
    return _for_people(found, options, phrases)


def _for_people(found: "Linted", options: "Namespace", phrases: "Phrasebook") -> str:
    from oomedic.reports.lint.text import as_markdown, render

    if options.output == "markdown":
        return as_markdown(found, phrases)
    from oomedic.entrypoints.colours import colours
    from oomedic.reports.draw import Pen

    return render(found, phrases, Pen(colour=colours(options)), quiet=options.quiet)
