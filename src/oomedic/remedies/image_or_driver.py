"""Another image, or another driver.

What it does
------------
Image, processor, card and driver fit each other: an image built for the node's processor, with a CUDA that its driver supports and
kernels for its card, and with the packages that are used.

What it costs
-------------
Another image, or work on the node.

When it does not help
---------------------
When the hardware is faulty.

Says
----
cost: Another image, or a driver update on the node.
step: Use an image for the node's processor and card whose CUDA version the driver supports (nvidia-smi shows the highest), with the packages that the command needs; or update the driver of the node.
step-pull: Check registry, name and tag (docker manifest inspect IMAGE); give the pod an imagePullSecret where the registry wants a login or limits anonymous pulls; or mirror the image to a registry of your own.
step-processor: Use an image (or a tag with several platforms) for the node's processor: uname -m on the node, linux/amd64 or linux/arm64.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy


@remedy("FIX407", "image-or-driver", safety="manual")
def propose(_evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Ask for an image that fits; where a model is unknown, only if the image cannot import what it has."""
    if finding.says("POD104.one-word"):
        return
    if finding.code == "CFG107" and not finding.says("CFG107.uninspected"):
        return
    change = Change("manual", None, None, "FIX407")
    step = "FIX407.step-processor" if finding.code in {"POD104", "HOST106"} else "FIX407.step"
    step = "FIX407.step-pull" if finding.says("POD104.pull") else step
    yield Proposal((change,), claim("FIX407.cost"), step=claim(step))
