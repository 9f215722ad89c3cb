"""A startup probe that outlasts the start.

What it does
------------
failureThreshold x periodSeconds of the startup probe allow the slowest start; until it has passed, the liveness probe waits.

What it costs
-------------
A start that hangs is noticed later.

When it does not help
---------------------
When the engine itself fails: then the pod only dies later.

Says
----
cost: A start that hangs is noticed after {budget} seconds.
step: Give the container a startupProbe on /health with periodSeconds 10 and failureThreshold {failures}, and leave initialDelaySeconds of the liveness probe at 0: it waits for the startup probe.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy

_PERIOD = 10
_LEAST = 1200
"""Seconds: what reading and compiling a large model from a network disk takes."""


@remedy("FIX403", "startup-probe-budget", safety="manual")
def propose(evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Ask for twice the present budget, twenty minutes at least."""
    probes = evidence.workload.probes if evidence.workload else None
    present = (probes.startup or probes.liveness) if probes else None
    budget = max(_LEAST, 2 * present.budget_s if present else 0)
    change = Change("manual", None, None, "FIX403")
    step = claim("FIX403.step", failures=-(-budget // _PERIOD))
    yield Proposal((change,), claim("FIX403.cost", budget=budget), step=step)
