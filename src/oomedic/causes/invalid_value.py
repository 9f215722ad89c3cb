"""The engine refuses the value of an argument or variable.

The command line can be read, but a value is outside what the engine accepts, names something that does not exist, or
contradicts another one.

What you see
------------
"Input should be less than or equal to 1 [… input_value=1.5", "invalid literal for int() with base 10: '0.5'", "invalid tool
call parser: hermez", "Load format `safetensor` is not supported", "--enable-auto-tool-choice requires --tool-call-parser";
"Value error, …" with a sentence of its own.

Why it happens
--------------
The engine checks its configuration before it starts. Environment variables (VLLM_…) are read as numbers or names at the
moment they are needed, wherever that is. Older releases check less: there a length of 0 or -5 ends in a division by zero or a
tensor of negative size, in code that has nothing to do with it.

Example
-------
    $ oomedic diagnose -
    1 validation error for CacheConfig
    gpu_memory_utilization
      Input should be less than or equal to 1 [type=less_than_equal, input_value=1.5, input_type=float]

    $ oomedic diagnose -
    KeyError: 'invalid tool call parser: hermez (chose from { deepseek_v3,granite,hermes })'

Not this
--------
    $ oomedic diagnose -
    vllm: error: unrecognized arguments: --max-modle-len 1024

What helps, in order, and why
-----------------------------
A value that the message names as possible. For variables: the one that the message or traceback names.

What makes it worse
-------------------
Nothing; memory settings play no part, unless one of them is the value that is refused.

Since
-----
All releases.

Says
----
value: {argument} is {value}; it must be {wanted}.
value-unnamed: A value of the configuration is {value}; it must be {wanted}.
variable: The variable {variable} is {value}, which it does not accept.
integer: A setting or VLLM_ variable that must be a whole number is "{value}".
parser: There is no parser called {parser}.
tool-parser: --enable-auto-tool-choice needs a --tool-call-parser.
load-format: There is no load format called {load_format}.
connector: There is no KV connector called {connector}.
choice: {argument} cannot be {value}.
segments: Sleep mode does not work with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.
utilization: gpu_memory_utilization is {gpu_memory_utilization}; it must be a share between 0 and 1.
out-of-range: {argument} is {value}, which no engine can run with; this release does not check it and fails later.
other: The engine refuses its configuration: {text}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.logs.fields import line_of, sayable
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import spoken, start_failure
from oomedic.symptoms.refusals import (
    impossible_setting,
    in_configuration,
    other_refusal,
    refusals,
    says,
    speaks_of_a_setting,
)

_SAYS = {
    "variable_invalid": "CFG111.variable",
    "integer_unreadable": "CFG111.integer",
    "parser_unknown": "CFG111.parser",
    "tool_parser_missing": "CFG111.tool-parser",
    "load_format_unknown": "CFG111.load-format",
    "kv_connector_unknown": "CFG111.connector",
    "expandable_segments_refused": "CFG111.segments",
    "utilization_out_of_range": "CFG111.utilization",
}


@cause(
    "CFG111",
    "invalid-value",
    reads=(*_SAYS, "config_value_refused", "argument_invalid", "value_error", "python_error"),
    helps=("FIX409",),
    useless=("FIX301", "FIX303"),
    narrows=("VER102",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a refused value; last, an error in the configuration that only its text explains."""
    event = start_failure(evidence, *_SAYS)
    if event is not None:
        event = spoken(evidence, event)
        return _finding(event, "certain", Claim(_SAYS[event.signature], sayable(event), line_of(event)))
    return _refused(evidence) or _out_of_range(evidence) or _other(evidence)


def _refused(evidence: Evidence) -> Finding | None:
    for refusal in refusals(evidence):
        where, name = line_of(refusal.event), refusal.argument
        if refusal.is_malformed or refusal.value is None:
            continue
        if refusal.by == "configuration":
            values = {"value": refusal.value, "wanted": refusal.wanted}
            said = claim("CFG111.value", where, argument=name, **values)
            return _finding(refusal.event, "certain", said if name else claim("CFG111.value-unnamed", where, **values))
        if refusal.is_unknown_name:
            said = claim("CFG111.choice", where, argument=name, value=refusal.value)
            return _finding(refusal.event, "certain", said)
    return None


def _out_of_range(evidence: Evidence) -> Finding | None:
    """Recognise a number that older releases let pass, where an error without a name follows."""
    event, wrong = other_refusal(evidence), impossible_setting(evidence)
    if event is None or wrong is None:
        return None
    name, value = wrong
    return _finding(event, "likely", claim("CFG111.out-of-range", line_of(event), argument=name, value=value))


def _other(evidence: Evidence) -> Finding | None:
    event = other_refusal(evidence)
    if event is None:
        return None
    told = in_configuration(evidence, event)
    if not told and not speaks_of_a_setting(evidence, event):
        return None
    return _finding(event, "likely" if told else "possible", claim("CFG111.other", line_of(event), text=says(event)))


def _finding(event: Event, confidence: Confidence, said: Claim) -> Finding:
    return Finding("CFG111", "invalid-value", confidence, (said,), event.line, "config_validation")
