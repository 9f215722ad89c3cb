"""The quantisation that was asked for is not the checkpoint's.

--quantization names a method that the checkpoint is not stored in, that this vLLM does not know, or whose kernels cannot
cut this model's layers.

What you see
------------
"Cannot find the config file for awq", "Quantization method specified in the model config (a) does not match …", "Unknown
quantization method: …", "Weight input_size_per_partition = A is not divisible by min_thread_k = 128".

Why it happens
--------------
--quantization does not quantise: most methods need a checkpoint that is stored so, with its settings in config.json (fp8 and
bitsandbytes are the exceptions, which convert while loading). Without the argument vLLM reads the method from the
checkpoint. The Marlin kernels want multiples of 64 and 128, which some models' layers are not, even on one GPU.

Example
-------
    $ oomedic diagnose -
    ValueError: Cannot find the config file for awq

    $ oomedic diagnose -
    ValueError: Weight input_size_per_partition = 10944 is not divisible by min_thread_k = 128. Consider reducing tensor_parallel_size or running with --quantization gptq.

Not this
--------
Here the method is known and the card is too old for it:

    $ oomedic diagnose -
    ValueError: The quantization method awq is not supported for the current GPU. Minimum capability: 75. Current capability: 70.

What helps, in order, and why
-----------------------------
Leave --quantization away, so that the checkpoint's own method is used. A checkpoint that is quantised in the way that was
meant. Another kernel of the same format (--quantization gptq instead of gptq_marlin). A newer vLLM that knows the method.

What makes it worse
-------------------
More ranks, where a layer's slice does not fit a kernel: the slices get smaller. Memory settings play no part.

Since
-----
All releases.

Says
----
not-quantised: --quantization {asked} is given, but the checkpoint is not stored so: it has no settings for it.
differs: The checkpoint is stored in {stored}, and --quantization asks for {asked}.
unknown: This vLLM does not know the quantisation {asked}.
unknown-here: The quantisation {asked} does not exist on this platform ({platform}).
tiles: The kernel needs multiples of {divisor}; a layer of this model has {size} on each rank.
other: The engine refuses the quantisation: {text}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import failure
from oomedic.symptoms.refusals import refused, says, worded

_MISMATCH = ("quantization_config_missing", "quantization_mismatch", "quantization_unknown")
_LOADING = ("marlin_shape", "bitsandbytes_parallel")
_WORDS = ("quantiz", "bitsandbytes", " bnb ")


@cause(
    "CFG103",
    "quantization-mismatch",
    reads=(*_MISMATCH, *_LOADING, "argument_invalid", "value_error", "python_error"),
    helps=("FIX202", "FIX201", "FIX304", "FIX501"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108"),
    worsens=("FIX301",),
    narrows=("CFG110", "CFG111", "VER102"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the engine's refusal in its several wordings."""
    event = failure(evidence, *_MISMATCH, *_LOADING)
    if event is not None and text(event, "tile") != "group_size":
        phase = "config_validation" if event.signature in _MISMATCH else "weights_load"
        return Finding("CFG103", "quantization-mismatch", "certain", (_said(event),), event.line, phase)
    refusal = refused(evidence, "quantization")
    if refusal is not None:
        said = claim("CFG103.unknown", line_of(refusal.event), asked=refusal.value)
        return Finding("CFG103", "quantization-mismatch", "certain", (said,), refusal.event.line, "config_validation")
    event = worded(evidence, *_WORDS)
    if event is None:
        return None
    said = claim("CFG103.other", line_of(event), text=says(event))
    return Finding("CFG103", "quantization-mismatch", "likely", (said,), event.line, "config_validation")


def _said(event: Event) -> Claim:
    where, asked, platform = line_of(event), text(event, "quantization"), text(event, "platform")
    if event.signature == "quantization_mismatch":
        return claim("CFG103.differs", where, stored=text(event, "checkpoint"), asked=asked)
    if event.signature == "marlin_shape":
        return claim("CFG103.tiles", where, divisor=count(event, "divisor"), size=count(event, "size"))
    if event.signature == "quantization_config_missing":
        return claim("CFG103.not-quantised", where, asked=asked)
    if platform is not None:
        return claim("CFG103.unknown-here", where, asked=asked, platform=platform)
    return claim("CFG103.unknown", where, asked=asked) if asked else claim("CFG103.other", where, text=event.quote)
