"""The right model, whole and in place.

What it does
------------
The engine finds config, weights and tokenizer of one model in one place: under the hub's full id, or in a folder as the container
sees it.

What it costs
-------------
A download, or a look at the volume.

When it does not help
---------------------
When the hub refuses the account, or the network does not reach it.

Says
----
cost: Someone must look at what is there.
step: Check what the container sees (kubectl exec … -- ls -l PATH): config.json, all weight files in full size, tokenizer files. Use the full id (ORGANISATION/NAME) or that path; fetch damaged files again (git lfs pull, or huggingface-cli download).
step-code: Read the model's own code, pin it with --revision, then set --trust-remote-code; or use an image that has a class for the model.
step-lora: Use an adapter that was trained on this model; set --max-lora-rank to at least its rank.
cost-code: The repository's code runs with all that the pod may do.
nearest: Known ids that look alike: {names}.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count
from oomedic.remedy import Catalogued, Change, Proposal, remedy, set_argument

_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
"""Values that max_lora_rank takes (vllm/config/lora.py)."""


@remedy("FIX203", "full-model-id-or-path", safety="manual")
def propose(evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Ask for the files; for code and adapters name the argument that admits them."""
    change = Change("manual", None, None, "FIX203")
    if finding.says("POD103.permission", "POD103.user", "POD103.volume"):
        return
    if finding.code == "CFG115":
        code = set_argument(evidence, "FIX203", trust_remote_code=True)
        step = claim("FIX203.step-code")
        yield Proposal(code, claim("FIX203.cost-code"), step=step, proof=f"log:{finding.line}", safety="unsafe")
    elif finding.code == "CFG118":
        rank = count(evidence.first("lora_rank_too_large"), "rank")
        fitting = next((each for each in _RANKS if rank is not None and each >= rank), None)
        if fitting is not None:
            change = set_argument(evidence, "FIX203", max_lora_rank=fitting)[0]
        yield Proposal((change,), claim("FIX203.cost"), step=claim("FIX203.step-lora"), proof=f"log:{finding.line}")
    else:
        step = claim("FIX203.step")
        if finding.code == "POD103" and evidence.nearest_models:
            step = claim("FIX203.nearest", names=evidence.nearest_models)
        yield Proposal((change,), claim("FIX203.cost"), step=step)
