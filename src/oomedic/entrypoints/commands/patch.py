"""oomedic patch: manifests in, a change that lets their engines start out, as a patch or in place."""

import sys
from typing import TYPE_CHECKING, Final

from oomedic.amending import Amended, Amendment, amend
from oomedic.claim import Claim, claim
from oomedic.entrypoints.commands.asking import engine_args, engine_options, given_checkpoint, library
from oomedic.entrypoints.terminal import catalogue, phrasebook, show, write
from oomedic.errors import UsageError
from oomedic.patches import FORMS, rendered
from oomedic.patches.patching import diff_of_files
from oomedic.question import Question
from oomedic.reports.wording import changes
from oomedic.result import Patch, Report, Result
from oomedic.sources.files import write_atomically
from oomedic.sources.manifests import read_all

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from oomedic.reports.phrases import Phrasebook

_UNKNOWN: Final = 3


def run(options: "Namespace") -> int:
    """Change manifests and return the exit status: 0 when every engine starts now, 3 where too little is known."""
    if options.in_place and "-" in options.file:
        raise UsageError("in-place-stdin")
    facts = catalogue(options)
    manifests = read_all(options.file)
    question = Question(
        manifests=manifests,
        command=engine_args(options, facts),
        options=engine_options(options),
        checkpoint=given_checkpoint(options),
        remedies=tuple(facts.page(name)["code"] for name in options.remedy),
    )
    found = amend(question, library(options, facts))
    text = rendered(found.changed, options.output) if options.output in FORMS and found.changed.anything else ""
    if options.in_place:
        _write(found)
    _tell(found, options)
    if options.output not in FORMS:
        show(_with_patch(found), options, facts)
    elif not options.in_place or options.output != FORMS[0]:
        write(text)
    return 0 if found.complete else _UNKNOWN


def _write(found: Amendment) -> None:
    changed = found.changed
    for path in (*changed.paths, *changed.made):
        write_atomically(path, changed.after[path])


def _tell(found: Amendment, options: "Namespace") -> None:
    """Say on standard error what was changed and why, an engine a line."""
    if options.quiet:
        return
    phrases = phrasebook(options)
    for engine in found.engines:
        for said in _lines(engine, phrases):
            sys.stderr.write(f"{phrases.say(said)}\n")
    if options.in_place:
        for path in found.changed.paths:
            sys.stderr.write(f"{phrases.text('patch.written', path=path)}\n")
        for path in found.changed.made:
            sys.stderr.write(f"{phrases.text('patch.added', path=path)}\n")
    elif options.output == FORMS[0] and "***" in diff_of_files(found.changed.before, found.changed.after):
        sys.stderr.write(f"{phrases.text('patch.hidden')}\n")


def _lines(engine: Amended, phrases: "Phrasebook") -> "Iterator[Claim]":
    if engine.offer is not None:
        made = changes(engine.offer, phrases)
        yield claim("patch.made", unit=engine.workload.unit, changes=made, remedy=engine.offer.remedy)
    elif engine.because is not None:
        yield claim("patch.not-made", unit=engine.workload.unit, because=phrases.say(engine.because))
    yield from engine.remarks


def _with_patch(found: Amendment) -> Report:
    """Return the report with the patch that was made beside the engines that it concerns."""
    text = rendered(found.changed, FORMS[0])
    made = {engine.workload.unit for engine in found.engines if engine.offer is not None}
    return found.report._replace(results=tuple(_patched(each, made, text) for each in found.report.results))


def _patched(result: Result, made: set[str], text: str) -> Result:
    return result._replace(patch=Patch("diff", text) if result.subject.unit in made else None)
