"""What lint says as annotations of GitHub Actions: one workflow command a finding, shown at its lines."""

from typing import Final

from oomedic.errors import OomedicError
from oomedic.lint.confidence import counts
from oomedic.lint.verdict import Linted, Told
from oomedic.reports.lint.wording import message, remarks, title
from oomedic.reports.phrases import Phrasebook

_BELOW: Final = {"certain": "warning", "likely": "warning", "possible": "notice"}


def render(found: Linted, phrases: Phrasebook, fail_on: str) -> str:
    """Return the workflow commands of all findings, of unreadable files, and of what was not judged.

    What makes the step fail is an error.
    """
    lines = [_finding(told, phrases, fail_on) for told in found.counting]
    lines += [_unreadable(error, phrases) for error in found.unreadable]
    lines += [f"::notice title=oomedic::{_data(text)}" for text in remarks(found, phrases)]
    return "".join(f"{line}\n" for line in lines)


def _finding(told: Told, phrases: Phrasebook, fail_on: str) -> str:
    place = told.place
    values = {"file": place.path.removeprefix("./"), "line": place.line, "endLine": place.end_line}
    if place.end_line == place.line:  # columns are only taken for annotations of one line
        values |= {"col": place.column, "endColumn": max(place.column, place.end_column - 1)}
    values["title"] = title(told)
    level = "error" if counts(told, fail_on) else _BELOW[told.confidence]
    return _command(level, values, message(told, phrases))


def _unreadable(error: OomedicError, phrases: Phrasebook) -> str:
    places = {"file": "path", "line": "line", "col": "column"}
    values = {name: error.parameters[key] for name, key in places.items() if error.parameters.get(key) is not None}
    return _command("error", {**values, "title": f"oomedic {error.slug}"}, " ".join(phrases.error(error)))


def _command(level: str, values: dict[str, object], text: str) -> str:
    properties = ",".join(f"{name}={_property(str(value))}" for name, value in values.items())
    return f"::{level} {properties}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
