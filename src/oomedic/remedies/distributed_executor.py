"""Another executor.

What it does
------------
Ranks on one node are started as processes (mp) instead of through Ray, which then is not needed.

What it costs
-------------
Nothing on one node. Several nodes need Ray, or the newer multi-node mode of mp.

When it does not help
---------------------
When the ranks are on several nodes.

Says
----
cost: None on one node; several nodes need Ray in the image.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import text
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument


@remedy("FIX307", "distributed-executor", safety="trade-off")
def propose(evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name mp where Ray was asked for or is what is missing."""
    missing = (text(evidence.first("package_missing"), "package") or "").lower()
    if evidence.setting("distributed_executor_backend") != "ray" and missing != "ray":
        return
    changes = set_argument(evidence, "FIX307", distributed_executor_backend="mp")
    yield Proposal(changes, claim("FIX307.cost"), proof=f"log:{finding.line}")
