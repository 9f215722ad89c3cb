"""Use another model.

What it does
------------
A model that this engine knows, or a smaller one of the same family, takes its place.

What it costs
-------------
Other answers: someone must decide.

When it does not help
---------------------
When the cause has nothing to do with the model.

Says
----
cost: Other answers.
step: Choose a model that this release supports (or a smaller one of the same family), and try it before production.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy


@remedy("FIX204", "smaller-model", safety="manual")
def propose(_evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Ask for another model, unless the engine has a class for this one."""
    if finding.says("CFG107.uninspected"):
        return
    change = Change("manual", None, None, "FIX204")
    yield Proposal((change,), claim("FIX204.cost"), step=claim("FIX204.step"))
