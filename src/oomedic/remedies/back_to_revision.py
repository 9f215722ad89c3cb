"""Go back to what worked.

What it does
------------
The revision before the change runs again, while the change is worked on. On a cluster, where an earlier revision is known to
have run (its pods are ready, or the Deployment was available until it was replaced), `oomedic fix --remedy FIX502 --apply` goes
back to it, watches it, and takes that back too if it does not start any more.

What it costs
-------------
What the change was for.

When it does not help
---------------------
When nothing was changed, or the first start failed.

Says
----
cost: What the last change was for.
step: kubectl rollout undo -n {namespace} {workload} (or the previous image or values in the source that owns it: Helm, Argo CD, Flux).
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy


@remedy("FIX502", "back-to-revision", safety="manual")
def propose(evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name the command for this workload."""
    subject = evidence.subject
    workload = f"{(subject.kind or 'deployment').lower()}/{subject.name or 'NAME'}"
    step = claim("FIX502.step", namespace=subject.namespace or "NAMESPACE", workload=workload)
    yield Proposal((Change("manual", None, None, "FIX502"),), claim("FIX502.cost"), step=step)
