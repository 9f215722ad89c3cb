"""Limits that contradict each other or the model.

Mirrors vllm/config.py (_get_and_verify_max_len, SchedulerConfig.verify_max_model_len), later vllm/config/scheduler.py.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.engine.config import EngineConfig
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding

_STRETCHED = frozenset({"rope_scaling", "hf_overrides", "rope_theta"})
"""Arguments that may change how long the model's requests can be."""


def limits_in_conflict(evidence: Evidence) -> Iterator[Finding]:
    """Yield a length beyond the model's, and a batch below the number of requests or the length of one."""
    config = evidence.config
    if config is None:
        return
    yield from _beyond_the_model(evidence, config)
    yield from _small_batch(config)


def _beyond_the_model(evidence: Evidence, config: EngineConfig) -> Iterator[Finding]:
    length, own = config.max_model_len, evidence.facts.max_model_len if evidence.facts else None
    allowed = str(evidence.arguments.environment.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN", "0"))
    if not length or not own or length <= own or not config.is_given("max_model_len"):
        return
    if allowed.lower() in {"1", "true"} or _STRETCHED & set(evidence.arguments.given):
        return
    said = claim("foreseen.beyond-the-model", config.settings["max_model_len"].where, max_model_len=length, own=own)
    sure: Confidence = "certain" if _is_the_model(evidence) else "possible"
    yield Finding("CFG105", "max-model-len-exceeds-model", sure, (said,), None, "config_validation")


def _is_the_model(evidence: Evidence) -> bool:
    """Tell whether the config is that of the model that was asked for, not of one that it is named after."""
    asked, known = evidence.requested_model, evidence.checkpoint.id if evidence.checkpoint else None
    return known is not None and (asked is None or asked.lower() == known.lower())


def _small_batch(config: EngineConfig) -> Iterator[Finding]:
    batched, sequences = config.integer("max_num_batched_tokens"), config.integer("max_num_seqs")
    if not batched or not config.is_given("max_num_batched_tokens"):
        return
    where = config.settings["max_num_batched_tokens"].where
    length = config.max_model_len or 0
    if sequences and batched < sequences:
        said = claim("foreseen.batch-below-sequences", where, batched=batched, max_num_seqs=sequences)
    elif batched < length and config.is_given("enable_chunked_prefill") and not config.flag("enable_chunked_prefill"):
        said = claim("foreseen.batch-below-length", where, batched=batched, max_model_len=length)
    else:
        return
    sure: Confidence = "certain" if config.is_given("max_num_seqs") or config.is_given("max_model_len") else "likely"
    yield Finding("CFG116", "batch-limits-conflict", sure, (said,), None, "config_validation")
