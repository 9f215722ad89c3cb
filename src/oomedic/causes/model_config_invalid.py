"""config.json of the model cannot be used.

The file is no valid JSON, does not say which kind of model it is, or holds a value that the model's own class refuses.

What you see
------------
"It looks like the config file at '…' is not a valid JSON file", "Unrecognized model in … Should have a `model_type` key",
"`rope_scaling` must be a dictionary with …", "'…Config' object has no attribute '…'".

Why it happens
--------------
A download that was cut short, a file edited by hand, --hf-overrides that replace more than was meant, or a config written for
a newer Transformers than the image holds.

Example
-------
    $ oomedic diagnose -
    json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 25 column 1 (char 572)
    OSError: It looks like the config file at '/models/m/config.json' is not a valid JSON file.

Not this
--------
    $ oomedic diagnose -
    Value error, Invalid repository ID or local directory specified: '/models/m'.

What helps, in order, and why
-----------------------------
The original config.json of the model; without --hf-overrides. A newer image, where the config is newer.

What makes it worse
-------------------
Nothing; memory settings play no part.

Since
-----
All releases.

Says
----
json: {path} is not valid JSON.
json-unknown: A JSON text is not valid: most likely config.json or another file of the model, or the value of an argument.
type: config.json does not say which kind of model it is (model_type).
lacks: The model's config lacks {key}: it was written for another release of Transformers, or edited.
value: config.json holds a value that the model's class refuses: {text}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import outweighed, spoken, start_failure

_PRINTED = ("model_config_unreadable", "model_type_missing", "model_config_invalid")


@cause(
    "CFG114",
    "model-config-invalid",
    reads=(*_PRINTED, "json_unreadable"),
    helps=("FIX203", "FIX501"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX301"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a config that cannot be read; what the JSON reader said before it is where the log proves it."""
    event, reader = start_failure(evidence, *_PRINTED), start_failure(evidence, "json_unreadable")
    if event is None:
        return _unreadable(evidence, reader)
    event = spoken(evidence, event)
    line = reader.line if reader is not None and event.signature == "model_config_unreadable" else event.line
    return Finding(
        "CFG114", "model-config-invalid", "certain", (_said(event),), min(line, event.line), "config_validation"
    )


def _unreadable(evidence: Evidence, reader: Event | None) -> Finding | None:
    """Take a JSON reader's error for that of config.json, where nothing says which text it was."""
    if (
        reader is None
        or not reader.quote.startswith(("JSONDecodeError", "Value error"))
        or outweighed(evidence, reader)
    ):
        return None
    said = claim("CFG114.json-unknown", line_of(reader))
    return Finding("CFG114", "model-config-invalid", "possible", (said,), reader.line, "config_validation")


def _said(event: Event) -> Claim:
    where, path = line_of(event), text(event, "path")
    if event.signature == "model_config_unreadable":
        return claim("CFG114.json", where, path=path) if path else claim("CFG114.json-unknown", where)
    if event.signature == "model_type_missing":
        return claim("CFG114.type", where)
    key = text(event, "key")
    return claim("CFG114.lacks", where, key=key) if key else claim("CFG114.value", where, text=event.quote)
