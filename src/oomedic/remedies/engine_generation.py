"""The other engine (V0 or V1).

What it does
------------
From 0.6.4 to 0.10 two engines come in one image, with different memory rules and features: VLLM_USE_V1 chooses.

What it costs
-------------
Other features and speed; V0 is gone from 0.11 on.

When it does not help
---------------------
In releases that have one engine only.

Says
----
cost: Other features and other speed; V0 is gone from 0.11 on.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy
from oomedic.version import Version

_BOTH_SINCE, _BOTH_UNTIL = Version(0, 7, 0), Version(0, 11, 0)


@remedy("FIX504", "engine-generation", safety="trade-off")
def propose(evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name the other generation where this release has both."""
    config = evidence.config
    if config is None or not evidence.version_known or not _BOTH_SINCE <= config.rules.version < _BOTH_UNTIL:
        return
    other = "0" if config.generation == "V1" else "1"
    change = Change("env.VLLM_USE_V1", "1" if other == "0" else "0", other, "FIX504")
    yield Proposal((change,), claim("FIX504.cost"))
