"""What one decoder layer keeps between tokens, as one GPU of a tensor-parallel group holds it."""

from typing import NamedTuple


class Attention(NamedTuple):
    """Keys and values of ``kv_heads`` heads on this rank.

    ``window`` is a sliding window, ``chunk`` a chunk of local attention (Llama 4), both in tokens; ``value_size`` is
    the head size of the values where it differs. ``own_dtype`` when the layer keeps the model's dtype whatever
    kv_cache_dtype says.
    """

    kv_heads: int
    head_size: int
    value_size: int | None = None
    window: int | None = None
    chunk: int | None = None
    own_dtype: bool = False


class Latent(NamedTuple):
    """One latent row per token (MLA): kv_lora_rank + qk_rope_head_dim elements, the same on every rank.

    ``index_size`` is the key of the sparse indexer (DeepSeek V3.2), a second cache of its own. ``heads`` and the full
    head sizes are what releases without MLA kept instead.
    """

    width: int
    heads: int
    key_size: int
    index_size: int | None = None


class State(NamedTuple):
    """A recurrent state per sequence that does not grow: elements of the convolution and of the recurrence.

    ``temporal_dtype`` None means the model's dtype; ``kind`` is vLLM's mamba_type. ``conv_row`` are the elements that
    the convolution keeps more for each speculative token, ``chunk`` is the step of the chunked scan.
    """

    kind: str
    convolution: int
    temporal: int
    temporal_dtype: str | None = None
    chunk: int | None = None
    conv_row: int = 0


class CrossAttention(NamedTuple):
    """Keys and values over the encoder's output, ``tokens`` of it per request."""

    kv_heads: int
    head_size: int
    tokens: int


class Compressed(NamedTuple):
    """The caches of one DeepSeek V4 layer: a window of exact keys, and one key per ``ratio`` tokens unless that is 0.

    ``width`` is the size of a key, ``index_size`` that of the sparse indexer's where the layer has one.
    """

    ratio: int
    width: int
    window: int
    index_size: int | None = None


class KeyOnly(NamedTuple):
    """One key of ``size`` per token without a value, the same on every rank: MiniMax M3 chooses blocks by it."""

    size: int


CacheLayer = Attention | Latent | State | CrossAttention | Compressed | KeyOnly
