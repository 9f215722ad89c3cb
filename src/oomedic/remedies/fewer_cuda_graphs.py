"""Capture fewer CUDA graphs.

What it does
------------
Graphs are recorded for fewer batch sizes, so that they take less memory: outside the engine's share up to 0.19 (Model Runner
V2: 0.29), inside it later, where the KV cache grows by what they give back.

What it costs
-------------
Larger batches run without a graph, somewhat slower.

When it does not help
---------------------
When memory runs out before graphs are captured, and for a too small KV cache in releases that do not count graphs.

Says
----
cost: Batches of more than {largest} sequences run without a CUDA graph, somewhat slower.
"""

from collections.abc import Iterator
from typing import Any

from oomedic.claim import claim
from oomedic.engine.config import EngineConfig
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument
from oomedic.version import Version

_ONE_ARGUMENT_SINCE = Version(0, 11, 1)
_LARGEST = (128, 32, 8)


@remedy("FIX106", "fewer-cuda-graphs", safety="trade-off")
def propose(evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name smaller sets of capture sizes in the release's own argument; V0 has none."""
    config = evidence.config
    if config is None or config.generation == "V0" or config.flag("enforce_eager"):
        return
    if finding.code.startswith("OOM4") and not config.graphs_budgeted:
        return
    for largest in _LARGEST:
        values = _values(config, largest)
        yield Proposal(set_argument(evidence, "FIX106", **values), claim("FIX106.cost", largest=largest))


def _values(config: EngineConfig, largest: int) -> dict[str, Any]:
    if config.rules.version >= _ONE_ARGUMENT_SINCE:
        return {"max_cudagraph_capture_size": largest}
    sizes = [size for size in (1, 2, 4, 8, 16, 32, 64, 128) if size <= largest]
    given = config.value("compilation_config")
    return {"compilation_config": {**(given if isinstance(given, dict) else {}), "cudagraph_capture_sizes": sizes}}
