"""Run another vLLM version.

What it does
------------
A release in which the accounting or a defect is different.

What it costs
-------------
Another image: other defaults, perhaps other behaviour.

When it does not help
---------------------
When the memory is truly not there.

Says
----
cost: Another image, with other defaults.
step: Try a newer vLLM image; pin the version that worked before if there was one.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy


@remedy("FIX501", "engine-version", safety="manual")
def propose(_evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Ask for another release."""
    change = Change("manual", None, None, "FIX501")
    yield Proposal((change,), claim("FIX501.cost"), step=claim("FIX501.step"))
