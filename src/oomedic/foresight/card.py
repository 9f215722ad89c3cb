"""What the card cannot compute: types of weights, activations and caches have a lowest compute capability.

Mirrors get_min_capability of vllm/model_executor/layers/quantization, check_if_supports_dtype of vllm/platforms/cuda.py
(bfloat16), _resolve_auto_dtype of vllm/config.py (0.9.1 and later take float16 where the card lacks bfloat16), and the
types of Triton, which has no e4m3 below 8.9.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from oomedic.claim import claim
from oomedic.engine.config import EngineConfig
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.models.hf_config import dtype_of
from oomedic.search.formats import PLAIN, Format, format_of

Capability = tuple[int, int]

_BFLOAT16: Final = "bfloat16"
_E4M3: Final = frozenset({"fp8", "fp8_e4m3"})
_LEAST_FOR_BFLOAT16: Final = (8, 0)
_LEAST_FOR_E4M3: Final = (8, 9)
_FALLS_BACK_SINCE: Final = (0, 9, 1)


class _Lack(NamedTuple):
    what: str
    least: Capability
    argument: str
    sure: Confidence = "certain"


def beyond_the_card(evidence: Evidence, formats: Mapping[str, Format]) -> Iterator[Finding]:
    """Yield what the configuration or the checkpoint asks for and the card lacks."""
    config, gpu = evidence.config, evidence.gpu
    if config is None or gpu is None or gpu.capability is None:
        return
    for lack in (*_of_dtype(evidence, config), *_of_weights(evidence, config, formats), *_of_cache(config)):
        if gpu.capability < lack.least:
            setting = config.settings.get(lack.argument)
            shown = {"what": lack.what, "gpu": gpu.name, "least": _shown(lack.least), "has": _shown(gpu.capability)}
            said = claim("foreseen.beyond-the-card", setting.where if setting else "", **shown)
            yield Finding("CFG104", "dtype-or-capability-unsupported", lack.sure, (said,), None, "config_validation")


def _of_dtype(evidence: Evidence, config: EngineConfig) -> Iterator[_Lack]:
    dtype = str(config.value("dtype")).removeprefix("torch.")
    if dtype == _BFLOAT16 and config.is_given("dtype"):
        yield _Lack(_BFLOAT16, _LEAST_FOR_BFLOAT16, "dtype")
    elif not config.is_given("dtype") and tuple(config.rules.version[:3]) < _FALLS_BACK_SINCE:
        stored = dtype_of(evidence.checkpoint.config) if evidence.checkpoint else None
        if stored == _BFLOAT16:
            yield _Lack(_BFLOAT16, _LEAST_FOR_BFLOAT16, "dtype", "certain" if evidence.version_known else "possible")


def _of_weights(evidence: Evidence, config: EngineConfig, formats: Mapping[str, Format]) -> Iterator[_Lack]:
    key = format_of(evidence.checkpoint.config) if evidence.checkpoint else PLAIN
    if key == PLAIN:
        key = str(config.value("quantization") or PLAIN)
    stored = formats.get(key)
    if stored is not None:
        # images can be built for older cards than the published ones: only a quantisation checks the card itself
        sure: Confidence = "certain" if evidence.version_known and key != PLAIN else "likely"
        yield _Lack(stored.name, stored.needs(config.rules.version), "quantization", sure)


def _of_cache(config: EngineConfig) -> Iterator[_Lack]:
    if config.value("kv_cache_dtype") in _E4M3 and config.is_given("kv_cache_dtype"):
        yield _Lack(f"kv_cache_dtype {config.value('kv_cache_dtype')}", _LEAST_FOR_E4M3, "kv_cache_dtype", "likely")


def _shown(capability: Capability) -> str:
    return ".".join(map(str, capability))
