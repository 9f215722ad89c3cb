"""Lower max_num_seqs.

What it does
------------
The engine prepares for fewer requests at once. The sampler's memory shrinks in proportion (about 38 bytes per request and
entry of the vocabulary), CUDA graphs for large batches fall away, and a model with recurrent layers needs fewer state blocks.

What it costs
-------------
Throughput under load: further requests wait.

When it does not help
---------------------
When a single long request does not fit into the cache, it only frees what the sampler's peak took. It never makes weights
smaller.

Says
----
cost: At most {after} {after:plural request runs|requests run} at once; further ones wait.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument

_SIZES = (512, 256, 128, 64, 32, 16, 8)
_STATE = "OOM403"
_SMALL_SHARE = 0.45
"""Half of what the engine takes unless it is told otherwise."""


@remedy("FIX104", "lower-max-num-seqs", safety="trade-off")
def propose(evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name smaller numbers of sequences, the number of state blocks first where that is the limit."""
    current = _current(evidence)
    blocks = count(evidence.first("mamba_blocks_too_few"), "blocks") if finding.code == _STATE else None
    if blocks:
        yield _proposal(evidence, blocks, proof="log")
        return
    if finding.code == "OOM402" and _share_is_small(evidence):
        return
    for after in _SIZES:
        if current is None or after <= current // 2:
            yield _proposal(evidence, after)


def _share_is_small(evidence: Evidence) -> bool:
    """Tell whether a small gpu_memory_utilization was given: then that is the reason, unless arithmetic shows otherwise."""
    config, budget = evidence.config, evidence.assessment.budget if evidence.assessment else None
    if config is None or (budget is not None and budget.item("weights") is not None):
        return False
    return config.is_given("gpu_memory_utilization") and config.utilization < _SMALL_SHARE


def _current(evidence: Evidence) -> int | None:
    printed = count(evidence.first("warm_up_out_of_memory"), "requests")
    if printed is not None:
        return printed
    value = evidence.setting("max_num_seqs")
    return value if isinstance(value, int) else None


def _proposal(evidence: Evidence, after: int, proof: str | None = None) -> Proposal:
    changes = set_argument(evidence, "FIX104", max_num_seqs=after)
    return Proposal(changes, claim("FIX104.cost", after=after), proof=proof)
