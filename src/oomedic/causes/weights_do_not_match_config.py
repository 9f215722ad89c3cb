"""The weights are not those that config.json describes.

Tensors are missing, left over, or of another shape.

What you see
------------
"start (0) + length (768) exceeds dimension size (512)", "Following weights were not initialized from checkpoint: {…}",
"There is no module or parameter named 'layers.3' in LlamaModel", "KeyError: 'layers.0.mlp.down_proj.weight'".

Why it happens
--------------
Files of two models or revisions in one folder; a config that was edited; plain weights under a config that says they are
quantised (or the other way round); an adapter or a pruned copy instead of the whole model; a checkpoint that is newer than
the model class of this release.

Example
-------
    $ oomedic diagnose -
    RuntimeError: start (0) + length (768) exceeds dimension size (512).

Not this
--------
    $ oomedic diagnose -
    safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer

What helps, in order, and why
-----------------------------
The complete files of one revision, config.json included, in an empty folder. Without --quantization or with the right one
where plain and quantised are mixed up. A newer vLLM where the checkpoint is newer.

What makes it worse
-------------------
Nothing; memory settings play no part.

Since
-----
All releases.

Says
----
shape: A tensor of the checkpoint has {stored} entries where config.json asks for {wanted}.
shape-unknown: A tensor of the checkpoint has another shape than config.json asks for.
missing: The checkpoint lacks weights that config.json asks for, such as {first}.
unexpected: The checkpoint holds weights that config.json does not describe: {tensor}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import start_failure

_PRINTED = ("weights_shape_mismatch", "weights_not_initialized", "weights_unexpected")


@cause(
    "CFG113",
    "weights-do-not-match-config",
    reads=_PRINTED,
    helps=("FIX203", "FIX202", "FIX501"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX301"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a tensor that is missing, left over or of another shape."""
    event = start_failure(evidence, *_PRINTED)
    if event is None:
        return None
    return Finding("CFG113", "weights-do-not-match-config", "certain", (_said(event),), event.line, "weights_load")


def _said(event: Event) -> Claim:
    where = line_of(event)
    if event.signature == "weights_not_initialized":
        return claim("CFG113.missing", where, first=text(event, "first"))
    if event.signature == "weights_unexpected":
        return claim("CFG113.unexpected", where, tensor=text(event, "tensor") or text(event, "module"))
    wanted, stored = count(event, "wanted"), count(event, "stored")
    if wanted is None or stored is None:
        return claim("CFG113.shape-unknown", where)
    return claim("CFG113.shape", where, wanted=wanted, stored=stored)
