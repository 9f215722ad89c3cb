"""What lint says, for programs: the report that every command has, and the place of each finding beside it."""

from typing import Any

from oomedic.errors import OomedicError
from oomedic.lint.verdict import Judged, Linted, Place, Replacement, Told
from oomedic.reports.json import as_tree as as_report
from oomedic.reports.json import claim_tree, offer_tree
from oomedic.reports.lint.wording import message
from oomedic.reports.phrases import Phrasebook


def as_tree(found: Linted, phrases: Phrasebook) -> dict[str, Any]:
    """Return the report as dicts and lists of plain values."""
    return as_report(found.report, phrases) | {
        "lint": {
            "files": found.files,
            "findings": [_told(each, phrases) for each in found.told],
            "not_judged": [_not_judged(each, phrases) for each in found.judged if not each.verdicts],
            "remarks": [{**claim_tree(each.said, phrases), "units": list(each.units)} for each in found.remarks],
            "skipped": [_error(each, phrases) for each in found.skipped],
            "unreadable": [_error(each, phrases) for each in found.unreadable],
            "gone_from_baseline": found.left,
        }
    }


def _told(told: Told, phrases: Phrasebook) -> dict[str, Any]:
    return {
        "code": told.code,
        "name": told.name,
        "confidence": told.confidence,
        "unit": told.unit or None,
        "says": message(told, phrases),
        "because": [claim_tree(said, phrases) for said in told.because],
        "place": _place(told.place),
        "gpus": list(told.gpus),
        "starts_on": list(told.fits),
        "change": None if told.offer is None else offer_tree(told.offer, phrases),
        "replacements": [_replacement(each) for each in told.replacements],
        "fingerprint": told.fingerprint,
        "silenced": None if told.silenced is None else told.silenced._asdict(),
    }


def _place(place: Place) -> dict[str, Any]:
    return {**place._asdict(), "what": place.what or None}


def _replacement(found: Replacement) -> dict[str, Any]:
    where = found.place
    return {
        "path": where.path,
        "line": where.line,
        "column": where.column,
        "end_line": where.end_line,
        "end_column": where.end_column,
        "text": found.text,
    }


def _not_judged(engine: Judged, phrases: Phrasebook) -> dict[str, Any]:
    workload = engine.reading.workload
    because = None if workload.because is None else phrases.say(workload.because)
    return {"unit": workload.unit, "path": engine.path, "because": because}


def _error(error: OomedicError, phrases: Phrasebook) -> dict[str, Any]:
    says, do = phrases.error(error)
    place = {name: error.parameters.get(name) for name in ("path", "line", "column")}
    return {"error": error.slug, **place, "says": says, "do": do or None}
