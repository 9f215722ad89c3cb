"""The command line cannot be read.

An argument is misspelt, belongs to another release, or has a value of the wrong kind; or a JSON text is not closed.

What you see
------------
"error: unrecognized arguments: --max-modle-len 1024", "error: argument --max-model-len: invalid … value: '32kk'", "Input
should be a valid dictionary [… input_value='{"max_position_embeddings": 8192'", "Invalid JSON". Exit code 2 within seconds.

Why it happens
--------------
The parser stops before anything of the engine starts. Arguments come and go between releases: --swap-space is gone from 0.18,
--task from 0.25; kv_cache_memory_bytes exists since 0.10.2, "auto" lengths since 0.14. In a manifest, quotes that a shell
would remove stay in the value, and a line that ends too early cuts a JSON text.

Example
-------
    $ oomedic diagnose -
    vllm: error: unrecognized arguments: --max-modle-len 1024

Not this
--------
Here the text is read and the engine refuses its content:

    $ oomedic diagnose -
    ValueError: max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256).

What helps, in order, and why
-----------------------------
The spelling that this release knows (`vllm serve --help=all` in the same image); JSON that is closed and quoted once.

What makes it worse
-------------------
Nothing; memory settings play no part.

Since
-----
All releases.

Says
----
unknown: This release does not know: {arguments}.
value: {argument} does not accept this value: {problem}.
problem: The command line is not complete: {problem}.
json: The value of {argument} is not closed or not valid JSON: {value}.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import start_failure
from oomedic.symptoms.refusals import Refusal, refusals


@cause(
    "CFG110",
    "bad-command-line",
    reads=("arguments_unrecognized", "argument_invalid", "config_value_refused", "json_unreadable"),
    helps=("FIX409", "FIX501"),
    useless=("FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX301"),
    narrows=("CFG111",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise what the parser says, or a JSON text that was cut."""
    event = start_failure(evidence, "arguments_unrecognized")
    if event is not None:
        return _finding(event, "unknown", arguments=text(event, "arguments"))
    broken = next((refusal for refusal in refusals(evidence) if refusal.is_malformed), None)
    if broken is not None:
        return _finding(broken.event, "json", argument=_flag(broken), value=broken.value or broken.wanted)
    first = next((each for each in refusals(evidence) if each.by == "command line" and not each.is_unknown_name), None)
    if first is None:
        return None
    if first.argument is None:
        return _finding(first.event, "problem", problem=first.wanted)
    return _finding(first.event, "value", argument=_flag(first), problem=first.wanted)


def _flag(refusal: Refusal) -> str:
    return "--" + (refusal.argument or "?").replace("_", "-")


def _finding(event: Event, message: str, **parameters: str | None) -> Finding:
    said = claim(f"CFG110.{message}", line_of(event), **parameters)
    return Finding("CFG110", "bad-command-line", "certain", (said,), event.line, "config_validation")
