"""Raise the swap space (V0).

What it does
------------
Requests that V0 sets back have more room in host memory: swap_space GiB for every GPU.

What it costs
-------------
Host memory, pinned: the pod's memory limit must hold it for all of its GPUs.

When it does not help
---------------------
On V1, which has no swap space; and when the KV cache overflows all the time: then fewer requests must run.

Says
----
cost: {after} GiB of pinned host memory for each GPU instead of {before} GiB; the pod's memory limit must hold it.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument

_USUAL = 4
_LARGEST = 64


@remedy("FIX113", "raise-swap-or-block-override", safety="trade-off")
def propose(evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name twice the swap space, where V0 runs or may run."""
    config = evidence.config
    if config is None or config.rules.defaults.get("only_generation"):
        return
    value = evidence.setting("swap_space")
    before = int(value) if isinstance(value, int | float) and value > 0 else _USUAL
    after = before * 2
    if after <= _LARGEST:
        changes = set_argument(evidence, "FIX113", swap_space=after)
        yield Proposal(changes, claim("FIX113.cost", after=after, before=before))
