"""Lower the swap space, or take away num_gpu_blocks_override.

What it does
------------
Less host memory is set aside for requests that are set back. V1 never uses it, so that 0 costs nothing there.

What it costs
-------------
On V0, requests with several sequences (beam search, best_of) can be aborted when the KV cache overflows.

When it does not help
---------------------
From 0.18 on the argument does not exist any more.

Says
----
cost: At most {after} GiB of host memory for each GPU hold requests that are set back; with none, V0 aborts some of them when its cache overflows.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import size
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument
from oomedic.units import GIB
from oomedic.version import Version

_GONE = Version(0, 18, 0)
_REFUSED_SHARE = 0.7
"""vLLM refuses more than this share of the host's memory (vllm/config.py, verify_with_parallel_config)."""


@remedy("FIX115", "lower-swap-or-block-override", safety="trade-off")
def propose(evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name the largest whole swap space that the check lets pass with half of the memory left, and none."""
    config, event = evidence.config, evidence.first("swap_space_too_large")
    if config is None or (event is None and (config.rules.version >= _GONE or not config.is_given("swap_space"))):
        return
    host = size(event, "host_memory")
    largest = int(host.low * _REFUSED_SHARE / 2 / GIB / config.tensor_parallel_size) if host else 0
    proof = f"log:{event.line}" if event else None
    for after in sorted({largest if config.generation == "V0" else 0, 0}, reverse=True):
        changes = set_argument(evidence, "FIX115", swap_space=after)
        yield Proposal(changes, claim("FIX115.cost", after=after), proof=proof)
