"""What the sampler's dummy requests cost, for the causes that speak of it."""

from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.memory.activation import sampler
from oomedic.models.hf_config import first


def sampler_claims(evidence: Evidence, message: str, requests: int | None) -> tuple[Claim, ...]:
    """State the computed size of sampling for ``requests`` rows, where model and configuration are known."""
    checkpoint, config = evidence.checkpoint, evidence.config
    vocabulary = first(checkpoint.text, "vocab_size") if checkpoint else None
    if checkpoint is None or config is None or not vocabulary:
        return ()
    rows = requests or config.integer("max_num_seqs")
    peak = sampler(checkpoint, config.replaced({"max_num_seqs": rows}))
    return (claim(message, "activation:sampler", sampler=peak.size, requests=rows, vocabulary=int(vocabulary)),)
