"""Lower max_model_len.

What it does
------------
One request may be shorter, so that it fits into the KV cache that is there. The cache itself does not change: max_model_len
allocates nothing on V1, it is what one request is held against.

What it costs
-------------
Requests longer than the new limit are refused. Nothing else changes: no speed, no answers.

When it does not help
---------------------
When weights or the profile run do not fit, or nothing at all is left for the cache. On V0 without chunked prefill the profile
run is max_model_len tokens long, so that there it helps as well.

Says
----
cost-own: Requests longer than the model's own limit, which the engine takes without this argument, are refused.
cost: Requests of more than {after} tokens (prompt and answer together) are refused.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, ratio
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument

_STEPS = (1024, 256, 16)
_SHORTEST = 256


@remedy("FIX101", "lower-max-model-len", safety="safe")
def propose(evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name the longest length that fits: the engine's own figure where it printed one, else ours."""
    before = evidence.setting("max_model_len")
    event = evidence.first("max_model_len_above_model")
    if finding.code == "CFG105" and event is not None and not ratio(event, "derived"):
        changes = set_argument(evidence, "FIX101", max_model_len=None)
        yield Proposal(changes, claim("FIX101.cost-own"), proof=f"log:{event.line}")
        return
    for length, proof in _lengths(evidence, finding):
        after = _rounded(length)
        if after > 0 and not (isinstance(before, int) and after >= before):
            changes = set_argument(evidence, "FIX101", max_model_len=after)
            yield Proposal(changes, claim("FIX101.cost", after=after), proof=proof)


def _lengths(evidence: Evidence, finding: Finding) -> Iterator[tuple[int, str | None]]:
    if finding.code == "CFG105":
        event = evidence.first("max_model_len_above_model")
        derived = ratio(event, "derived")
        if event is not None and derived:
            yield round(derived), f"log:{event.line}"
        elif event is None and evidence.facts is not None and evidence.facts.max_model_len:
            yield evidence.facts.max_model_len, None
    elif finding.code == "OOM401":
        yield from _printed(evidence)
        kv = evidence.assessment.kv if evidence.assessment else None
        if kv is not None:
            yield kv.estimated_max_model_len, None
    elif _shrinks_the_batch(evidence, finding):
        length = ((evidence.config.max_model_len if evidence.config else None) or 0) // 2
        while length >= _SHORTEST:
            yield length, None
            length //= 2


def _shrinks_the_batch(evidence: Evidence, finding: Finding) -> bool:
    """Tell whether the profile run's batch is as long as the longest request.

    Where nothing is left for the cache the batch is one reason of several: there only arithmetic can tell.
    """
    if evidence.config is None or evidence.config.flag("enable_chunked_prefill"):
        return False
    known = evidence.version_known and evidence.assessment is not None and evidence.assessment.kv is not None
    return finding.code != "OOM402" or (evidence.config.generation == "V0" and known)


def _printed(evidence: Evidence) -> Iterator[tuple[int, str | None]]:
    for event in evidence.all("kv_cache_too_small", "kv_cache_too_small_v0"):
        length = count(event, "estimated_max_model_len") or count(event, "tokens")
        if length:
            yield length, f"log:{event.line}"
            return


def _rounded(length: int) -> int:
    """Round down to a number that people recognise, as long as that costs little."""
    for step in _STEPS:
        if length >= 8 * step:
            return length // step * step
    return length
