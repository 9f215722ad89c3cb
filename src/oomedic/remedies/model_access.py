"""Give the pod access to the model.

What it does
------------
An account that accepted the licence, its token in HF_TOKEN from a Secret, a way through the network; or a copy of the model on a
volume, which needs none of them.

What it costs
-------------
Someone must accept a licence or fill a volume.

When it does not help
---------------------
When the id is misspelt.

Says
----
cost: Someone must accept the licence, or copy the model once.
step: Accept the licence on the model's page with the token's account; put its token into HF_TOKEN from a Secret of the pod's namespace (a fine-grained token needs the right to read gated repositories).
step-store: Read the same path with the same credentials in the pod (aws s3 ls): AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or the role of its service account, AWS_ENDPOINT_URL, AWS_REGION, the bucket and the folder; some releases want the path to end in a slash.
step-network: Put the model on a volume and set HF_HUB_OFFLINE=1, so that restarts need no network; or allow egress to the hub (HTTPS_PROXY, HF_ENDPOINT), with a token against rate limits.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy


@remedy("FIX408", "model-access", safety="manual")
def propose(_evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Ask for access, or for the network."""
    change = Change("manual", None, None, "FIX408")
    if finding.says("POD103.permission", "POD103.user", "POD103.volume"):
        return
    if finding.says("POD102.store"):
        yield Proposal((change,), claim("FIX408.cost"), step=claim("FIX408.step-store"))
        return
    step = "FIX408.step-network" if finding.code == "POD107" else "FIX408.step"
    yield Proposal((change,), claim("FIX408.cost"), step=claim(step))
