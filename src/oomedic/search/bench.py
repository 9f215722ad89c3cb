"""One checkpoint on many cards: what it asks for is worked out once for all cards on which it is the same."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import ceil
from typing import Any, Final, NamedTuple

from oomedic.arguments.given import EngineArgs, Given
from oomedic.engine.config import EngineConfig, configure
from oomedic.engine.validation import refusal
from oomedic.errors import UsageError
from oomedic.gpu import Gpu
from oomedic.memory.assessment import Assessment, assess_demands
from oomedic.memory.budget import available_memory, parts_of, requested_memory
from oomedic.memory.demand import Demand, demands, plan_rules, request_of
from oomedic.memory.kv_plan import Layout, blocks_per_request
from oomedic.models.hf_config import dtype_of
from oomedic.search.formats import MIXED
from oomedic.search.knobs import HIGHEST
from oomedic.search.splits import Split
from oomedic.search.wish import Contender, Wish
from oomedic.units import Bytes

_HALF: Final = frozenset({"half", "float16"})
_NO_HALF: Final = frozenset({"gemma2", "gemma3", "gemma3_text", "glm4", "plamo2"})
"""Model types that refuse float16 (vllm/config/model.py _FLOAT16_NOT_SUPPORTED_MODELS)."""
_WHERE: Final = "search"
_FIXED_POOL: Final = frozenset({"kv_cache_memory_bytes", "num_gpu_blocks_override"})
_ROUNDING: Final = 0.9
"""Split weights take at least this share of the whole: torch rounds large tensors up by as much as a tenth."""

_SMALLEST_CACHE: Final = 0.4
"""An fp8 cache takes half of a 16-bit one, and 0.57 of it for latent attention; less than this share it never takes."""
_BLOCKS: Final = 0.5
"""A request takes at least this share of the blocks that it takes on one card, where blocks can be larger."""


class Asked(NamedTuple):
    """What the pipeline stages ask for, and the bytes of a pool on each that holds the requests which are wanted."""

    demands: Sequence[Demand]
    pools: Sequence[Bytes]


class Candidate(NamedTuple):
    """One configuration on one card, and what it asks for."""

    config: EngineConfig
    gpu: Gpu
    asked: Asked

    def assessed(self) -> Assessment:
        """Assess it in full."""
        return assess_demands(self.asked.demands, self.config, self.gpu)


class Bench:
    """Assesses one contender on cards."""

    def __init__(self, contender: Contender, wish: Wish) -> None:
        """Take the checkpoint and what it shall do."""
        self.contender = contender
        self.wish = wish
        self._asked: dict[tuple[object, ...], Asked | None] = {}
        self._weighed: dict[tuple[object, ...], Sequence[Demand]] = {}

    def runs_on(self, gpu: Gpu) -> bool:
        """Tell whether a card computes in the formats of this checkpoint."""
        stored = self.contender.format
        if stored is not None and not stored.runs_on(gpu, self.wish.rules.version):
            return False
        return gpu.bf16 or self.dtype in _HALF or not self._refuses_half

    @property
    def copies(self) -> int:
        """How many copies of the model data parallelism makes on one machine."""
        sizes = (self.wish.given.given.get(name) for name in ("data_parallel_size_local", "data_parallel_size"))
        return next((size.value for size in sizes if size is not None and isinstance(size.value, int)), 1) or 1

    @property
    def dtype(self) -> str:
        """The data type that was asked for, else the checkpoint's own."""
        asked = self.wish.given.given.get("dtype")
        if asked is not None and asked.value not in {None, "auto"}:
            return str(asked.value)
        return dtype_of(self.contender.checkpoint.config)

    def needs_half(self, gpu: Gpu) -> bool:
        """Tell whether float16 must be asked for, on a card without bfloat16."""
        return not gpu.bf16 and self.dtype == "bfloat16"

    @property
    def _refuses_half(self) -> bool:
        asked = self.wish.given.given.get("dtype")
        fixed = asked is not None and asked.value == "bfloat16"
        return fixed or self.contender.checkpoint.text.get("model_type") in _NO_HALF

    def candidate(self, split: Split, changes: Mapping[str, Any], gpu: Gpu) -> Candidate | None:
        """Return one configuration with what it asks for; None when the model cannot be split so."""
        config = self.configured(split, changes, gpu)
        loaded = self._loaded(split, config, gpu)
        major = gpu.capability[0] if gpu.capability else None
        key = (loaded, major, config.runner, *map(config.value, _CHANGED))
        if key not in self._asked:
            self._asked[key] = self._work_out(config, gpu, loaded)
        asked = self._asked[key]
        return None if asked is None else Candidate(config, gpu, asked)

    def refusal(self, config: EngineConfig) -> UsageError | None:
        """Return what the engine refuses in a configuration before it touches the card, lengths left aside."""
        return refusal(config, self.contender.facts, long_allowed=True)

    def _loaded(self, split: Split, config: EngineConfig, gpu: Gpu) -> tuple[object, ...]:
        """Return all that differs between the candidates of one search and changes what a rank holds after loading."""
        found = (split, gpu.platform, self._kernels(gpu), config.generation, config.value("dtype"))
        if self.contender.checkpoint.is_multimodal:  # buffers for images are as large as a batch
            return (*found, config.value("max_num_batched_tokens"))
        return found

    def _kernels(self, gpu: Gpu) -> tuple[object, ...]:
        """Return what of a card decides about padding and scales: nothing where no card computes in the format."""
        stored = self.contender.format
        if gpu.capability is None or stored is None or stored.key == MIXED or "quantization" in self.wish.given.given:
            return (gpu.capability,)
        return () if stored.native is None else (gpu.capability[0], gpu.capability >= stored.native)

    def _work_out(self, config: EngineConfig, gpu: Gpu | None, loaded: tuple[object, ...] = ()) -> Asked | None:
        try:
            stages = demands(self.contender.checkpoint, config, gpu, self._weighed.get(loaded, ()))
        except UsageError:  # not divisible
            return None
        self._weighed[loaded] = stages
        return Asked(stages, self._pools(stages, config))

    def _pools(self, stages: Sequence[Demand], config: EngineConfig) -> list[Bytes]:
        concurrency = self.wish.concurrency
        return [_wanted(stage.cut, config, concurrency) if stage.cut else 0 for stage in stages]

    def may_hold_model(self, ranks: int, gpu: Gpu) -> bool:
        """Tell whether weights and requests could fit on so many cards at all, however they are split."""
        if self._least is None:
            return True
        weights, pool, share = self._least
        cache = _SMALLEST_CACHE if self.wish.quantized and gpu.fp8 else 1.0
        return weights + cache * pool <= ranks * share * gpu.memory.high

    def may_hold(self, candidate: Candidate) -> bool:
        """Tell whether the cache could hold the requests that are wanted: without it, a full assessment is in vain."""
        return self._holds(candidate, [_pool(candidate, demand) for demand in candidate.asked.demands], 1.0)

    def may_help(self, default: Candidate, changes: Mapping[str, Any]) -> bool:
        """Tell whether changed settings could make the requests fit, if nothing but weights were on the card."""
        share = float(changes.get("gpu_memory_utilization", default.config.utilization))
        most = round(default.gpu.memory.value * share)
        pools = [None if each.weights is None else most - each.weights.value for each in default.asked.demands]
        cache = _SMALLEST_CACHE if "kv_cache_dtype" in changes else 1.0
        if "max_num_batched_tokens" not in changes:
            return self._holds(default, pools, cache)
        # windows hold the tokens of one batch too: smaller batches want fewer blocks
        fewer = default.config.replaced({"max_num_batched_tokens": changes["max_num_batched_tokens"]})
        asked = Asked(default.asked.demands, self._pools(default.asked.demands, fewer))
        return self._holds(default._replace(asked=asked), pools, cache)

    @cached_property
    def _least(self) -> tuple[float, float, float] | None:
        """The fewest bytes of weights and of cache, and the largest share of a card; None where they are not known."""
        config = self.configured(Split(1, 1), {}, None)
        asked = self._work_out(config, None)
        if asked is None or asked.demands[0].weights is None or _FIXED_POOL & self.wish.given.given.keys():
            return None
        share = config.utilization if config.is_given("gpu_memory_utilization") else HIGHEST
        return asked.demands[0].weights.low * _ROUNDING, asked.pools[0] * _BLOCKS, share

    def _holds(self, candidate: Candidate, pools: Sequence[Bytes | None], cache: float) -> bool:
        known = [pair for pair in zip(pools, candidate.asked.pools, strict=True) if pair[0] is not None]
        if _FIXED_POOL & self.wish.given.given.keys() or len(known) < len(pools):
            return True
        # the stage with the smallest pool is the one that a full assessment shows
        pool, wanted = min(known, key=_first)
        return pool is None or pool >= cache * wanted

    def configured(self, split: Split, changes: Mapping[str, Any], gpu: Gpu | None) -> EngineConfig:
        """Return the engine's whole configuration on a card; it takes as many requests at once as are wanted."""
        wanted = {"tensor_parallel_size": split.tensor, "pipeline_parallel_size": split.pipeline, **changes}
        if gpu is not None and self.needs_half(gpu):
            wanted["dtype"] = "half"
        given = {**self.wish.given.given, **{name: Given(value, _WHERE) for name, value in wanted.items()}}
        args = EngineArgs(given, self.wish.given.environment)
        config = configure(args, self.contender.facts, gpu, self.wish.rules)
        if "max_num_seqs" in given or config.integer("max_num_seqs") >= self.wish.concurrency:
            return config
        enough = args._replace(given={**given, "max_num_seqs": Given(self.wish.concurrency, _WHERE)})
        return configure(enough, self.contender.facts, gpu, self.wish.rules)


def _first(pair: tuple[Bytes | None, Bytes]) -> Bytes:
    return pair[0] or 0


def _pool(candidate: Candidate, demand: Demand) -> Bytes | None:
    requested = requested_memory(candidate.gpu.memory, candidate.config)
    available = available_memory(requested, parts_of(demand), candidate.config)
    return None if available is None else available.value


def _wanted(cut: Layout, config: EngineConfig, concurrency: int) -> Bytes:
    """Return the bytes of a pool that holds so many requests of full length, as the planner counts blocks."""
    length, rules = config.max_model_len, plan_rules(config)
    if length is None or not cut.layers:
        return 0
    if rules.grouped:
        blocks = concurrency * blocks_per_request(cut, request_of(config, length))
    else:
        blocks = ceil(concurrency * length / cut.layers[0].block_size)
    return blocks * cut.bytes_per_block


_CHANGED: Final = (
    *("max_num_batched_tokens", "max_num_seqs", "enable_chunked_prefill"),
    *("enforce_eager", "kv_cache_dtype"),
)
"""Settings that differ between the candidates of one search and change what is asked for beside weights."""
