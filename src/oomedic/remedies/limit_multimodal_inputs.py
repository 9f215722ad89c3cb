"""Limit images, videos and sounds per prompt.

What it does
------------
The profile run feeds the encoder with fewer dummy items, and the engine keeps room for fewer.

What it costs
-------------
Prompts with more images, videos or sounds than the limit are refused. With a limit of none the model reads text alone.

When it does not help
---------------------
For models without an encoder, and when the language model itself does not fit.

Says
----
cost: Prompts with more than one image, or with a video, are refused.
cost-none: Prompts with an image or a video are refused: the model reads text alone, and its encoder does not run.
"""

from collections.abc import Iterator
from typing import Any

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument


@remedy("FIX110", "limit-multimodal-inputs", safety="trade-off")
def propose(evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name one image and no video, then none at all, where the model has an encoder and more is allowed."""
    limits = evidence.setting("limit_mm_per_prompt")
    has_encoder = evidence.checkpoint is not None and evidence.checkpoint.is_multimodal
    has_encoder = has_encoder or finding.code == "OOM302"  # the log itself shows one
    if not has_encoder and not limits and evidence.first("encoder_budget") is None:
        return
    for after, cost in (({"image": 1, "video": 0}, "FIX110.cost"), ({"image": 0, "video": 0}, "FIX110.cost-none")):
        if _allows_more(limits, after):
            yield Proposal(set_argument(evidence, "FIX110", limit_mm_per_prompt=after), claim(cost))


def _allows_more(limits: Any, after: dict[str, int]) -> bool:
    if not isinstance(limits, dict):
        return True
    return any(int(limits.get(kind, count + 1) or 0) > count for kind, count in after.items())
