"""Another attention backend.

What it does
------------
The engine uses a backend that can do what is asked for: its own choice where one was forced, else one that the reasons do not
exclude.

What it costs
-------------
Perhaps some speed.

When it does not help
---------------------
When a feature works with one backend only, or the card has none that can.

Says
----
cost: Perhaps some speed.
step: Remove VLLM_ATTENTION_BACKEND (--attention-backend), so that the engine chooses; or name one that its reasons do not exclude (FLASH_ATTN, FLASHINFER, TRITON_ATTN).
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy


@remedy("FIX503", "other-attention-backend", safety="manual")
def propose(evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Ask for the engine's own choice, or another one; of the formats that a card lacks only for want of a kernel."""
    if finding.code == "CFG104" and not finding.says("CFG104.shared-memory", "CFG104.shared-memory-plain"):
        return
    if finding.code == "VER102" and not _is_chosen(evidence):
        return  # the engine's own choice is already what would be tried
    change = Change("manual", None, None, "FIX503")
    yield Proposal((change,), claim("FIX503.cost"), step=claim("FIX503.step"))


def _is_chosen(evidence: Evidence) -> bool:
    """Tell whether a backend was named, by argument or variable."""
    return bool(evidence.setting("attention_backend")) or "VLLM_ATTENTION_BACKEND" in evidence.arguments.environment
