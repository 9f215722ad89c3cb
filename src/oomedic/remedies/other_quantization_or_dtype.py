"""Another quantisation or data type.

What it does
------------
The engine computes in a format that the checkpoint is stored in and that the card knows: no --quantization where the checkpoint
says it itself, float16 where bfloat16 does not exist, no fp8 cache where nothing can read it.

What it costs
-------------
float16 has a smaller range than bfloat16: a few models become unstable. Taking away a quantisation argument costs nothing, but a
plain checkpoint then needs two bytes for each parameter.

When it does not help
---------------------
When the image has no kernels for the card at all, and for models that refuse float16.

Says
----
cost: Answers can change: the engine computes in another format.
cost-plain: None, if the checkpoint is stored plain; it then needs two bytes for each parameter.
step: Use a checkpoint in a format that this card and this release support: another quantisation of the same model, or the original one.
"""

from collections.abc import Iterator
from typing import Any

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, Safety, remedy, set_argument

_HALF = "half"
_NO_DTYPE = frozenset({"bfloat16_unsupported", "quantization_dtype"})
_PLAIN = frozenset({"quantization_config_missing", "quantization_mismatch"})
_CACHE = frozenset({"fp8_kv_cache_unsupported", "attention_dtype_mismatch"})


@remedy("FIX202", "other-quantization-or-dtype", safety="unsafe")
def propose(evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name the argument that stands in the way, as far as log or rules tell which; else ask for another checkpoint."""
    if finding.says("CFG104.kernels", "CFG104.card", "CFG107.uninspected", "CFG119.uva"):
        return
    for values, cost, safety in (*_foreseen(finding), *_changes(evidence, finding)):
        proof = None if finding.line is None else f"log:{finding.line}"
        yield Proposal(set_argument(evidence, "FIX202", **values), claim(cost), proof=proof, safety=safety)
        return
    change = Change("manual", None, None, "FIX202")
    yield Proposal((change,), claim("FIX202.cost"), step=claim("FIX202.step"), safety="manual")


def _foreseen(finding: Finding) -> Iterator[tuple[dict[str, Any], str, Safety]]:
    """Yield what helps where an argument asks for a type that the card lacks, before anything ran."""
    said = next((each for each in finding.because if each.message == "foreseen.beyond-the-card"), None)
    what = str(said.parameters.get("what")) if said else ""
    if what == "bfloat16":
        yield {"dtype": _HALF}, "FIX202.cost", "trade-off"
    elif what.startswith("kv_cache_dtype"):
        yield {"kv_cache_dtype": "auto"}, "FIX202.cost-plain", "safe"


def _changes(evidence: Evidence, finding: Finding) -> Iterator[tuple[dict[str, Any], str, Safety]]:
    seen = {event.signature for event in evidence.events if event.line == finding.line}
    if seen & _NO_DTYPE:
        yield {"dtype": _HALF}, "FIX202.cost", "trade-off"
    elif "float16_unsupported" in seen:
        yield {"dtype": "bfloat16"}, "FIX202.cost", "trade-off"
    elif seen & _PLAIN or finding.code == "CFG113":
        if evidence.setting("quantization") is not None:
            yield {"quantization": None}, "FIX202.cost-plain", "safe"
    elif "marlin_shape" in seen:
        yield {"quantization": "gptq"}, "FIX202.cost", "trade-off"
    elif seen & _CACHE or finding.says("CFG104.fp8-cache"):
        yield {"kv_cache_dtype": "auto"}, "FIX202.cost-plain", "safe"
