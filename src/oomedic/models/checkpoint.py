"""A model as its files describe it: config, source, and what the engine's defaults and limits read from it."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from oomedic.errors import OomedicError
from oomedic.models.architectures import is_known, stack_of
from oomedic.models.architectures.windows import windows
from oomedic.models.cache_layers import Latent, State
from oomedic.models.hf_config import Config, dtype_of, first, number, ratio, text_config
from oomedic.models.modules import Shard
from oomedic.models.quantization import Scheme, scheme_of
from oomedic.models.quantization.scheme import DTYPE_BYTES
from oomedic.units import Bytes
from oomedic.version import Version

_LENGTH_KEYS: Final = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_target_positions",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
)
_ALREADY_SCALED: Final = frozenset({"su", "longrope", "llama3", "mrope", "default", "proportional"})
_YARN_UNSCALED_SINCE: Final = Version(0, 30, 0)
_LONGROPE_ORIGINAL_SINCE: Final = Version(0, 13, 0)


class Checkpoint(NamedTuple):
    """One model. ``where`` tells where its config is from: "catalogue", a path, or the hub.

    ``parameters`` counts all of them, ``active_parameters`` those that one token uses. ``estimate`` is the size of the
    weights by a rougher method, for architectures that are not known tensor by tensor. ``tower_parameters`` belong to
    vision and audio encoders.
    """

    id: str
    config: Config
    where: str
    parameters: int | None = None
    active_parameters: int | None = None
    estimate: Bytes | None = None
    tower_parameters: int | None = None

    @property
    def text(self) -> Config:
        """Return the part of the config that describes the language model."""
        return text_config(self.config)

    @property
    def architecture(self) -> str | None:
        """Return the first architecture that the config names."""
        names = first(self.config, "architectures", default=())
        return str(names[0]) if isinstance(names, list | tuple) and names else None

    @property
    def is_multimodal(self) -> bool:
        """Tell whether the model has an encoder for images, video or audio."""
        return any(key in self.config for key in ("vision_config", "vit_config", "audio_config", "visual"))

    @property
    def experts(self) -> int:
        """Return the number of routed experts, 0 for a dense model."""
        names = ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
        return number(self.text, *names, default=0)

    @property
    def is_known(self) -> bool:
        """Tell whether the weights can be summed tensor by tensor."""
        return is_known(self.config)

    def scheme(
        self, quantization: str | None, element_bytes: int, release: Mapping[str, Any], capability: tuple[int, int]
    ) -> Scheme | None:
        """Return how the weights are stored (see ``scheme_of``), None when the method is not known."""
        return scheme_of(self.config, quantization, element_bytes, self.id, release=release, capability=capability)

    def element_bytes(self, dtype: str | None) -> int:
        """Return the bytes of an unquantised element under the engine argument ``dtype``.

        float32 checkpoints are loaded as 16-bit unless float32 is asked for (vllm _resolve_auto_dtype).
        """
        if dtype in {None, "auto"}:
            return min(2, DTYPE_BYTES.get(dtype_of(self.config), 2))
        return DTYPE_BYTES.get(str(dtype).removeprefix("torch."), 2)


class CacheFacts(NamedTuple):
    """What kinds of cache a model has."""

    latent: bool
    recurrent: bool
    windowed: bool


def cache_facts(checkpoint: Checkpoint) -> CacheFacts:
    """Tell what kinds of cache a model has; a model that is not known has none of the special ones."""
    try:
        stack = stack_of(checkpoint.config, Shard())
    except OomedicError:
        stack = None
    layers = [cache for layer in stack.layers for cache in layer.cache] if stack else []
    return CacheFacts(
        any(isinstance(layer, Latent) for layer in layers),
        any(isinstance(layer, State) for layer in layers),
        any(windows(checkpoint.text)) if stack and checkpoint.text.get("sliding_window") else False,
    )


def derived_max_model_len(config: Config, version: Version) -> int | None:
    """Return the longest request that the model's own config allows, None when it does not say.

    Mirrors vllm/config/model.py _get_and_verify_max_len: the smallest of nine keys, times the rope factor unless the
    scaling is one that ``max_position_embeddings`` already contains. Since 0.30 that includes YaRN.
    """
    text = text_config(config)
    lengths = [int(text[key]) for key in _LENGTH_KEYS if isinstance(text.get(key), int)]
    if not lengths:
        return None
    length = min(lengths)
    scaling = _rope_scaling(text)
    kind = str(scaling.get("rope_type") or scaling.get("type") or "default")
    factor = ratio(scaling, "factor", default=1.0) or 1.0
    if kind == "longrope" and version >= _LONGROPE_ORIGINAL_SINCE and not _is_extended(text):
        return length
    if kind in _ALREADY_SCALED or text.get("model_type") == "gemma3_text":
        return length
    if kind in {"yarn", "deepseek_yarn"}:
        if version >= _YARN_UNSCALED_SINCE:
            return length
        return int((number(scaling, "original_max_position_embeddings", default=0) or length) * factor)
    return int(length * factor)


def _is_extended(text: Config) -> bool:
    return bool(text.get("original_max_position_embeddings"))


def _rope_scaling(text: Config) -> Mapping[str, Any]:
    for key in ("rope_scaling", "rope_parameters"):
        value = text.get(key)
        if isinstance(value, Mapping) and ("factor" in value or "type" in value or "rope_type" in value):
            return value
    return {}
