"""What lint says as SARIF 2.1.0 (OASIS), which code hosts and editors show beside the lines."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from oomedic.errors import OomedicError
from oomedic.lint.verdict import Linted, Place, Replacement, Silenced, Told
from oomedic.reports.lint.wording import help_of, message, remarks
from oomedic.reports.page import Page, as_markdown
from oomedic.reports.phrases import Phrasebook

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final = {"certain": "error", "likely": "error", "possible": "warning"}
_SLIP: Final = "LINT"
_RANKS: Final = {"certain": 95.0, "likely": 75.0, "possible": 40.0}
_ROOT: Final = "SRCROOT"
_STDIN: Final = "stdin"
_FINGERPRINT: Final = "oomedic/v1"

Pages = Callable[[str], Page]


def render(found: Linted, phrases: Phrasebook, pages: Pages, words: Mapping[str, str] | None = None) -> str:
    """Return a log of one run; ``pages`` are those of ``explain``, ``words`` their headings in another language."""
    codes = list(dict.fromkeys(told.code for told in found.told))
    driver = {
        "name": "oomedic",
        "version": found.report.versions.tool,
        "semanticVersion": found.report.versions.tool,
        "rules": [_rule(pages(code), words) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(found, phrases)],
        "results": [_result(told, codes, phrases) for told in found.told],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _rule(page: Page, words: Mapping[str, str] | None) -> dict[str, Any]:
    markdown = as_markdown(page, words)
    name = "".join(part.capitalize() for part in page["name"].split("-"))
    return {
        "id": page["code"],
        "name": name,
        "shortDescription": {"text": page["title"]},
        "fullDescription": {"text": page["intro"] or page["title"]},
        "help": {"text": markdown, "markdown": markdown},
        "properties": {"tags": [page["kind"], page["code"].rstrip("0123456789")]},
    }


def _result(told: Told, codes: Sequence[str], phrases: Phrasebook) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": told.code,
        "ruleIndex": codes.index(told.code),
        "level": _level(told),
        "rank": _RANKS[told.confidence],
        "message": {"text": message(told, phrases)},
        "locations": [_location(told)],
        "partialFingerprints": {_FINGERPRINT: told.fingerprint},
        "properties": {"confidence": told.confidence, "gpus": list(told.gpus)},
    }
    if told.replacements and told.offer is not None:
        result["fixes"] = [_fix(told.replacements, help_of(told.offer, phrases))]
    if told.silenced is not None:
        result["suppressions"] = [_suppression(told.silenced)]
    return result


def _level(told: Told) -> str:
    """Return how bad it is: a start that fails is an error; no engine dies of a slip."""
    return "note" if told.code.startswith(_SLIP) and told.confidence == "possible" else _LEVELS[told.confidence]


def _location(told: Told) -> dict[str, Any]:
    location: dict[str, Any] = {"physicalLocation": _physical(told.place)}
    if told.unit:
        location["logicalLocations"] = [{"fullyQualifiedName": told.unit, "kind": "resource"}]
    return location


def _physical(place: Place) -> dict[str, Any]:
    return {"artifactLocation": _artifact(place.path), "region": _region(place)}


def _artifact(path: str) -> dict[str, str]:
    """Return a file as a URI; one that is named relatively stands below the root of the sources."""
    path = path.replace("\\", "/").removeprefix("./")
    if path == "-":
        return {"uri": _STDIN}
    if path.startswith("/"):
        return {"uri": f"file://{quote(path)}"}
    return {"uri": quote(path), "uriBaseId": _ROOT}


def _region(place: Place) -> dict[str, int]:
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def _fix(replacements: Sequence[Replacement], description: str) -> dict[str, Any]:
    by_path: dict[str, list[Replacement]] = {}
    for each in replacements:
        by_path.setdefault(each.place.path, []).append(each)
    return {
        "description": {"text": description},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(path),
                "replacements": [
                    {"deletedRegion": _region(each.place), "insertedContent": {"text": each.text}} for each in several
                ],
            }
            for path, several in by_path.items()
        ],
    }


def _suppression(silenced: Silenced) -> dict[str, str]:
    if silenced.by == "comment":
        return {"kind": "inSource", "justification": silenced.reason}
    return {"kind": "external"}


def _invocation(found: Linted, phrases: Phrasebook) -> dict[str, Any]:
    """Return that the run went through, with what could not be read or judged."""
    told = [_notification("error", " ".join(phrases.error(error)), error) for error in found.unreadable]
    told += [_notification("note", text, None) for text in remarks(found, phrases)]
    return {"executionSuccessful": not found.unreadable, "toolExecutionNotifications": told}


def _notification(level: str, text: str, error: OomedicError | None) -> dict[str, Any]:
    notification: dict[str, Any] = {"level": level, "message": {"text": text}}
    path = error.parameters.get("path") if error else None
    if error is not None and isinstance(path, str):
        physical: dict[str, Any] = {"artifactLocation": _artifact(path)}
        line, column = error.parameters.get("line"), error.parameters.get("column")
        if isinstance(line, int) and isinstance(column, int):
            physical["region"] = {"startLine": line, "startColumn": column}
        notification["locations"] = [{"physicalLocation": physical}]
    return notification
