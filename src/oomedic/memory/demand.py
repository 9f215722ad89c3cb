"""What one rank of an engine asks of its GPU: each part computed from the model, the configuration and the release.

A part that cannot be computed is None; nothing is guessed. Bands: weights by the method that gave them, the rest from
the release's file in data/engines.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from oomedic.engine.config import EngineConfig
from oomedic.errors import UsageError
from oomedic.figure import Figure, between, exactly
from oomedic.gpu import Gpu
from oomedic.memory import cache_rules
from oomedic.memory.activation import Peak, activation_peak, sampler, speculative
from oomedic.memory.attention import CacheSettings, Request, layer_specs
from oomedic.memory.cache_rules import CacheUse
from oomedic.memory.drafts import draft_of
from oomedic.memory.encoder_items import drops_towers
from oomedic.memory.graphs import graph_memory
from oomedic.memory.kv_plan import Layout, PlanRules, layout
from oomedic.memory.loaded import beside_weights
from oomedic.memory.weights import Stage, encoder_weights, layer_weights, stage_weights, stages
from oomedic.models.architectures import Layer, Stack, stack_of
from oomedic.models.cache_layers import Attention, CacheLayer, CrossAttention, State
from oomedic.models.checkpoint import Checkpoint
from oomedic.models.modules import Shard
from oomedic.models.quantization import Scheme
from oomedic.units import GIB, Bytes

_KNOWN_BAND: Final = 0.003
_ESTIMATE_BAND: Final = 0.08
_TOWER_BAND: Final = 0.5


class Demand(NamedTuple):
    """The parts of one pipeline stage, and how its cache is cut. ``peak`` names the largest part of the activation.

    ``encoder`` is the part of the weights that encoders of images, video and audio take.

    Without a model nothing is assumed of what the engine needs beside its weights.
    """

    stage: Stage
    weights: Figure | None
    non_torch: Figure | None
    activation: Figure | None
    cuda_graphs: Figure | None
    workspace: Figure
    warm_up: Figure | None
    cut: Layout | None
    peak: str | None = None
    encoder: Figure | None = None


def demands(
    checkpoint: Checkpoint | None, config: EngineConfig, gpu: Gpu | None, weighed: Sequence[Demand] = ()
) -> tuple[Demand, ...]:
    """Return what each pipeline stage asks for.

    Args:
        checkpoint: the model's.
        config: the engine's whole configuration.
        gpu: the card.
        weighed: the same stages under other settings which do not touch weights: those are not counted again.

    Raises:
        UsageError: ``not-divisible`` or ``too-many-stages`` when the model cannot be split over the ranks.
        InputError: ``config-lacks`` when the model's config misses a key that the arithmetic needs.
    """
    if checkpoint is None:
        nothing = Stage(0, 0, is_first=True, is_last=True)
        return (Demand(nothing, None, None, None, _eager(config), workspace(config), None, None),)
    stack = stack_of(checkpoint.config, shard_of(checkpoint, config))
    layers = len(stack.layers) if stack else 1
    parts = _stages(layers, config) if stack else (_whole(),)
    loaded = [(each.weights, each.encoder) for each in weighed] or [
        (weights(checkpoint, config, gpu, stack, stage), _encoder(checkpoint, config, gpu, stack, stage))
        for stage in parts
    ]
    return tuple(
        _beside_weights(checkpoint, config, gpu, stack, stage)._replace(weights=held, encoder=encoder)
        for stage, (held, encoder) in zip(parts, loaded, strict=True)
    )


def shard_of(checkpoint: Checkpoint, config: EngineConfig) -> Shard:
    """Return how one rank's share is cut."""
    return Shard(
        config.tensor_parallel_size,
        config.data_parallel_size,
        config.flag("enable_expert_parallel"),
        whole_encoder=config.value("mm_encoder_tp_mode") == "data",
        no_encoder=drops_towers(checkpoint, config),
        release=config.rules.weights,
    )


def plan_rules(config: EngineConfig) -> PlanRules:
    """Return the planner's rules of the release and generation."""
    return cache_rules.plan_rules(config.rules.cache, _cache_use(config))


def request_of(config: EngineConfig, length: int) -> Request:
    """Return one request of ``length`` tokens as the planner sees it."""
    batches = 1
    if config.rules.cache.get("in_flight") == "batches":
        batches = config.pipeline_parallel_size + 1 if config.runner == "V2" else 1 + config.flag("async_scheduling")
    in_flight = config.integer("max_num_batched_tokens") * batches
    return Request(
        length,
        in_flight,
        max(1, config.integer("decode_context_parallel_size")),
        cache_rules.speculative_blocks(config.rules.cache, _cache_use(config)),
        encoder_tokens=config.integer("max_num_batched_tokens"),
    )


def _stages(layers: int, config: EngineConfig) -> tuple[Stage, ...]:
    if config.pipeline_parallel_size > layers:
        raise UsageError("too-many-stages", layers=layers, pipeline_parallel_size=config.pipeline_parallel_size)
    last = config.rules.weights.get("stage_remainder") == "last"
    return stages(layers, config.pipeline_parallel_size, remainder_last=last)


def cache_settings(checkpoint: Checkpoint, config: EngineConfig, gpu: Gpu | None) -> CacheSettings:
    """Return what decides the bytes of a block."""
    use = _cache_use(config)._replace(
        model_type=str(checkpoint.text.get("model_type")),
        model_bytes=checkpoint.element_bytes(config.value("dtype")),
        capability=_capability(gpu)[0],
        sparse=bool(checkpoint.text.get("index_topk")),
    )
    scheme = _scheme(checkpoint, config, gpu)
    element_bytes = cache_rules.element_bytes(config.rules.cache, use, scheme)
    return cache_rules.cache_settings(config.rules.cache, use, element_bytes)


def _cache_use(config: EngineConfig) -> CacheUse:
    cached = config.value("enable_prefix_caching")
    return CacheUse(
        model_type="",
        generation=config.generation,
        block_size=None if config.is_default("block_size") else config.integer("block_size") or None,
        kv_cache_dtype=str(config.value("kv_cache_dtype") or "auto"),
        max_model_len=config.max_model_len or 0,
        prefix_caching=bool(config.rules.defaults.get("hybrid_prefix_caching") if cached is None else cached),
        hybrid_manager=not config.flag("disable_hybrid_kv_cache_manager"),
        state_mode=_state_mode(config),
        speculative=speculative(config),
    )


def _state_mode(config: EngineConfig) -> str | None:
    asked = config.value("mamba_cache_mode")
    return str(asked) if asked and asked != "none" else None


def non_torch(config: EngineConfig) -> Figure:
    """Return what lies on the GPU outside torch and grows while the engine starts: NCCL, cuBLAS, kernels.

    On the CPU all of the worker's process counts: its libraries, and the tokens of a batch.
    """
    outside = counted(config, "non_torch_tp1" if config.ranks == 1 else "non_torch_tp")
    batch = batch_bytes(config) * config.integer("max_num_seqs") * (config.max_model_len or 0)
    return outside.plus(exactly(batch, "computed", "max_num_seqs x max_model_len")) if batch else outside


def batch_bytes(config: EngineConfig) -> Bytes:
    """Return what a pool pays for each token of max_num_seqs requests of max_model_len; nothing on GPUs."""
    return int(config.rules.counted.get("batch_bytes", 0))


def workspace(config: EngineConfig) -> Figure:
    """Return what attention backends allocate after the KV cache, inside no budget."""
    return counted(config, "workspace")


def counted(config: EngineConfig, key: str) -> Figure:
    """Return a figure that no formula gives: low, typical and high of the release's file."""
    low, typical, high = (round(value * GIB) for value in config.rules.counted[key])
    return between(low, typical, high, "assumed", config.rules.where("counted", key))


def _beside_weights(
    checkpoint: Checkpoint, config: EngineConfig, gpu: Gpu | None, stack: Stack | None, stage: Stage
) -> Demand:
    known = bool(checkpoint.text.get("hidden_size") or checkpoint.text.get("n_embd") or checkpoint.text.get("d_model"))
    peak = activation_peak(checkpoint, config) if known else None
    return Demand(
        stage,
        None,
        non_torch(config),
        _of_peak(peak),
        _graphs(checkpoint, config, gpu) if known else _eager(config),
        workspace(config),
        _of_peak(sampler(checkpoint, config)) if known and config.generation == "V1" else None,
        _cut(checkpoint, config, gpu, stack, stage),
        peak.part if peak else None,
    )


def _capability(gpu: Gpu | None) -> tuple[int, int]:
    """Return the compute capability; of a card that is not known, Hopper's."""
    return gpu.capability if gpu is not None and gpu.capability else (9, 0)


def _scheme(checkpoint: Checkpoint, config: EngineConfig, gpu: Gpu | None) -> Scheme | None:
    element = checkpoint.element_bytes(config.value("dtype"))
    return checkpoint.scheme(config.value("quantization"), element, config.rules.weights, _capability(gpu))


def weights(
    checkpoint: Checkpoint, config: EngineConfig, gpu: Gpu | None, stack: Stack | None, stage: Stage
) -> Figure | None:
    """Return the weights of one rank: tensor by tensor where the architecture is known, else an estimate."""
    scheme = _scheme(checkpoint, config, gpu)
    if stack is None or scheme is None:
        return _estimated(checkpoint, config)
    whole = bool(config.rules.weights["whole_segments"])
    found = stage_weights(stack, scheme, stage, whole_segments=whole)
    beside = beside_weights(checkpoint, config, stack, scheme, stage)
    draft = draft_of(checkpoint, config, stack, shard_of(checkpoint, config)) if stage.is_last else None
    if draft is not None:
        beside += stage_weights(draft.stack, scheme, draft.stage, whole_segments=whole).allocated
    figure = _with_band(found.allocated + beside, f"{checkpoint.where}:{checkpoint.id}")
    if stage.is_first and stack.encoder is None and checkpoint.tower_parameters:
        figure = figure.plus(_tower(checkpoint, config, scheme.element_bytes))
    if not config.number("cpu_offload_gb"):
        return figure
    return _offloaded(figure, config, layer_weights(stack, scheme, stage).parameters)


def _encoder(
    checkpoint: Checkpoint, config: EngineConfig, gpu: Gpu | None, stack: Stack | None, stage: Stage
) -> Figure | None:
    """Return the part of the weights that encoders take, None where there are none."""
    scheme = _scheme(checkpoint, config, gpu)
    if stack is None or scheme is None or not stage.is_first:
        return None
    if stack.encoder is None:
        return _tower(checkpoint, config, scheme.element_bytes) if checkpoint.tower_parameters else None
    if not stack.encoder:
        return None
    held = encoder_weights(stack, scheme, whole_segments=bool(config.rules.weights["whole_segments"])).allocated
    return _with_band(held, f"{checkpoint.where}:{checkpoint.id}:encoder")


def _with_band(size: Bytes, where: str) -> Figure:
    margin = round(size * _KNOWN_BAND)
    return between(size - margin, size, size + margin, "computed", where)


def _tower(checkpoint: Checkpoint, config: EngineConfig, element: int) -> Figure:
    """Return the encoders: split over the ranks where their heads divide, else whole on each rank."""
    size = (checkpoint.tower_parameters or 0) * element
    split = size // config.tensor_parallel_size
    band = round(size * _TOWER_BAND / 10)
    return between(
        split - band, split, max(size, split + band), "computed", f"{checkpoint.where}:{checkpoint.id}:encoder"
    )


def _estimated(checkpoint: Checkpoint, config: EngineConfig) -> Figure | None:
    if checkpoint.estimate is None:
        return None
    ranks = config.ranks
    share = checkpoint.estimate // ranks
    margin = round(share * _ESTIMATE_BAND)
    figure = between(share - margin, share, share + 2 * margin, "catalogued", f"{checkpoint.where}:{checkpoint.id}")
    return _offloaded(figure, config, figure.value)


def _offloaded(figure: Figure, config: EngineConfig, movable: Bytes) -> Figure:
    """Return what stays on the GPU: parameters of decoder layers alone can move to the host.

    vllm/model_executor/models/utils.py make_layers; embeddings, output projection, norms and rotary tables stay.
    """
    offload = min(round(config.number("cpu_offload_gb") * GIB), movable, figure.value)
    return figure.minus(exactly(offload, "computed", "cpu_offload_gb")) if offload else figure


def _of_peak(peak: Peak | None) -> Figure | None:
    return None if peak is None else between(peak.low, peak.size, peak.high, "computed", f"activation:{peak.part}")


def _graphs(checkpoint: Checkpoint, config: EngineConfig, gpu: Gpu | None) -> Figure:
    capability = gpu.capability[0] if gpu is not None and gpu.capability else None
    memory = graph_memory(checkpoint, config, speculative(config), capability)
    return between(memory.low, memory.size, memory.high, "computed", f"graphs:{memory.graphs}")


def _eager(config: EngineConfig) -> Figure | None:
    return exactly(0, "computed", "enforce_eager") if config.flag("enforce_eager") else None


def _cut(
    checkpoint: Checkpoint, config: EngineConfig, gpu: Gpu | None, stack: Stack | None, stage: Stage
) -> Layout | None:
    if stack is None:
        return None
    draft = draft_of(checkpoint, config, stack, shard_of(checkpoint, config)) if stage.is_last else None
    held = (*stack.layers[stage.start : stage.end], *(draft.layers if draft else ()))
    layers = [cache for layer in held for cache in _caches(layer, config)]
    settings = cache_settings(checkpoint, config, gpu)
    if settings.states == "refused" and any(isinstance(layer, State) for layer in layers):
        return None
    return layout(layer_specs(layers, settings, stack.fitted_state), plan_rules(config))


def _caches(layer: Layer, config: EngineConfig) -> tuple[CacheLayer, ...]:
    """Return what a layer keeps; in V0 attention to itself and to the encoder share one cache.

    vllm/worker/cache_engine.py allocates one per layer.
    """
    if config.generation != "V0":
        return layer.cache
    own = tuple(cache for cache in layer.cache if not isinstance(cache, CrossAttention))
    crossing = (cache for cache in layer.cache if isinstance(cache, CrossAttention))
    return own or tuple(Attention(cache.kv_heads, cache.head_size) for cache in crossing)


def _whole() -> Stage:
    return Stage(0, 1, is_first=True, is_last=True)
