"""What lint says as JUnit XML: a suite for each file, a test for each engine, a failure for what counts."""

from collections.abc import Iterator
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from oomedic.errors import OomedicError
from oomedic.lint.confidence import counts
from oomedic.lint.verdict import Judged, Linted, Told
from oomedic.reports.lint.wording import message, place, title
from oomedic.reports.phrases import Phrasebook

_COMMENTS: Final = "# oomedic: ignore"
_REFUSED: Final = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127, 0xFFFE, 0xFFFF), "\ufffd")
"""Characters that no XML 1.0 document holds."""


def render(found: Linted, phrases: Phrasebook, fail_on: str) -> str:
    """Return one document; findings below ``fail_on`` are told in the output of their test."""
    suites: dict[str, list[str]] = {}
    failures = 0
    for engine in found.judged:
        told = [each for each in found.told if each.unit == engine.reading.workload.unit and _of(each, engine)]
        failures += sum(counts(each, fail_on) for each in told)
        suites.setdefault(engine.path, []).append(_test(engine, told, phrases, fail_on))
    for each in found.told:
        if not each.unit:
            failures += counts(each, fail_on)
            body = "".join(_lines(each, phrases, fail_on))
            suites.setdefault(each.place.path, []).append(_case(_COMMENTS, each.place.path, body))
    for error in found.unreadable:
        path = str(error.parameters.get("path") or "-")
        suites.setdefault(path, []).append(_error(error, path, phrases))
    tests = sum(map(len, suites.values()))
    errors = len(found.unreadable)
    head = f'<testsuites name="oomedic lint" tests="{tests}" failures="{failures}" errors="{errors}">'
    body = "\n".join(_suite(path, cases) for path, cases in suites.items())
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}\n{body}\n</testsuites>\n'


def _of(told: Told, engine: Judged) -> bool:
    """Tell whether a finding is this engine's: units of one name may stand in several files."""
    return any(told.fingerprint and each.place == told.place and each.code == told.code for each in engine.told)


def _suite(path: str, cases: list[str]) -> str:
    failed = sum("<failure" in case for case in cases)
    broken = sum("<error" in case for case in cases)
    inside = "\n".join(cases)
    return (
        f'  <testsuite name={_quoted(path)} tests="{len(cases)}" failures="{failed}" errors="{broken}">\n'
        f"{inside}\n  </testsuite>"
    )


def _test(engine: Judged, told: list[Told], phrases: Phrasebook, fail_on: str) -> str:
    workload = engine.reading.workload
    body = "".join(line for each in told for line in _lines(each, phrases, fail_on))
    if not engine.verdicts:
        because = phrases.say(workload.because) if workload.because else ""
        body += f"      <skipped message={_quoted(because)}/>\n"
    return _case(workload.unit, engine.path, body)


def _lines(told: Told, phrases: Phrasebook, fail_on: str) -> Iterator[str]:
    text = f"{place(told.place)}: {message(told, phrases)}"
    if counts(told, fail_on):
        kind = _quoted(title(told))
        yield f"      <failure type={kind} message={_quoted(message(told, phrases))}>{_text(text)}</failure>\n"
    elif told.silenced is None:
        yield f"      <system-out>{_text(f'{title(told)}: {text}')}</system-out>\n"


def _error(error: OomedicError, path: str, phrases: Phrasebook) -> str:
    text = " ".join(phrases.error(error))
    return _case(path, path, f"      <error type={_quoted(error.slug)} message={_quoted(text)}/>\n")


def _case(name: str, path: str, body: str) -> str:
    head = f"    <testcase name={_quoted(name)} classname={_quoted(path)}"
    return f"{head}>\n{body}    </testcase>" if body else f"{head}/>"


def _quoted(text: str) -> str:
    return quoteattr(text.translate(_REFUSED))


def _text(text: str) -> str:
    return escape(text.translate(_REFUSED))
