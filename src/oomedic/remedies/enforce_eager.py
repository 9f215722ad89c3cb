"""Run eagerly, without CUDA graphs.

What it does
------------
No graph is captured and torch.compile stays off: the memory of all graphs is free. Up to 0.19 it lies outside the engine's
share; later the KV cache grows by it.

What it costs
-------------
Speed, most of all with small batches and small models, where launching kernels takes longer than running them.

When it does not help
---------------------
While weights load; in the profile run it makes things worse, because torch.compile frees memory between operations. For a
too small KV cache in releases that do not count graphs it changes nothing.

Says
----
cost: Decoding gets slower, most of all for small models and few requests; start-up gets faster.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument


@remedy("FIX107", "enforce-eager", safety="trade-off")
def propose(evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name eager mode where graphs are what lacks memory, or where the release pays for them out of the request."""
    config = evidence.config
    if config is None or config.flag("enforce_eager"):
        return
    if finding.code.startswith("OOM4") and not config.graphs_budgeted:
        return
    yield Proposal(set_argument(evidence, "FIX107", enforce_eager=True), claim("FIX107.cost"))
