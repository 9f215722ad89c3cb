"""From what was given to what the engine runs with: every setting, and whether it was given, printed or a default.

Mirrors vllm/engine/arg_utils.py (create_engine_config, _set_default_args) of the release at hand.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from oomedic.arguments.reader import EngineArgs
from oomedic.engine.rules import EngineRules, Table
from oomedic.gpu import Gpu
from oomedic.units import parse_size

Generation = Literal["V0", "V1"]
SettingOrigin = Literal["given", "printed", "default"]
Context = Literal["api", "library"]

_ABSURD: Final = 1e12
_UNCOUNTABLE: Final = 10**30


class Setting(NamedTuple):
    """One value and where it comes from."""

    value: Any
    origin: SettingOrigin
    where: str


class ModelFacts(NamedTuple):
    """What the engine's defaults depend on in the model; None where the model is not known."""

    max_model_len: int | None = None
    architecture: str | None = None
    multimodal: bool = False
    experts: bool = False
    recurrent: bool = False
    latent: bool = False
    windowed: bool = False
    quantization: str | None = None
    dtype: str | None = None


class EngineConfig(NamedTuple):
    """Every setting of one engine. ``runner`` is the model runner of V1; ``rules`` are those of its release."""

    rules: EngineRules
    generation: Generation
    runner: Literal["V1", "V2"]
    settings: Mapping[str, Setting]

    def integer(self, name: str) -> int:
        """Return a setting that is a whole number, 0 where it is unknown, or beyond what can be reckoned with."""
        value = self.value(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _UNCOUNTABLE else 0

    def number(self, name: str) -> float:
        """Return a setting that is a number, 0 where it is unknown, or larger than anything that it could count."""
        value = self.value(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _ABSURD
        return float(value) if is_number else 0.0

    def value(self, name: str) -> Any:
        """Return a setting's value, None where nothing is known."""
        setting = self.settings.get(name)
        return None if setting is None else setting.value

    def flag(self, name: str) -> bool:
        """Return a setting that is on or off."""
        return bool(self.value(name))

    def is_default(self, name: str) -> bool:
        """Tell whether a setting has the release's default, as far as is known: neither given nor printed."""
        setting = self.settings.get(name)
        return setting is None or setting.origin == "default"

    def is_given(self, name: str) -> bool:
        """Tell whether a setting was given, not defaulted."""
        setting = self.settings.get(name)
        return setting is not None and setting.origin == "given"

    @property
    def utilization(self) -> float:
        """Return gpu_memory_utilization."""
        return self.number("gpu_memory_utilization")

    @property
    def tensor_parallel_size(self) -> int:
        """Return the size of a tensor-parallel group."""
        return max(1, self.integer("tensor_parallel_size"))

    @property
    def pipeline_parallel_size(self) -> int:
        """Return the number of pipeline stages."""
        return max(1, self.integer("pipeline_parallel_size"))

    @property
    def ranks(self) -> int:
        """Return over how many GPUs one copy of the model is spread."""
        return self.tensor_parallel_size * self.pipeline_parallel_size

    @property
    def data_parallel_size(self) -> int:
        """Return the number of data-parallel replicas of the attention layers."""
        return max(1, self.integer("data_parallel_size"))

    @property
    def local_ranks(self) -> int:
        """Return over how many GPUs all copies are spread that one command starts: data parallelism repeats them."""
        return self.ranks * (self.integer("data_parallel_size_local") or self.data_parallel_size)

    @property
    def max_model_len(self) -> int | None:
        """Return the length of a request, None where neither argument nor model tells."""
        return max(0, self.integer("max_model_len")) or None

    @property
    def accounting(self) -> Table:
        """Return the table of the generation: [v0] or [v1]."""
        return self.rules.v0 if self.generation == "V0" else self.rules.v1

    @property
    def graphs_budgeted(self) -> bool:
        """Tell whether CUDA graphs are paid out of the requested memory."""
        if self.generation == "V0":
            return False
        table = self.rules.runner_v2 if self.runner == "V2" else self.rules.graphs
        return bool(table.get("budgeted"))

    def replaced(self, changes: Mapping[str, Any], where: str = "plan") -> "EngineConfig":
        """Return this configuration with some settings given anew.

        Of the defaults only the batch follows, where it has to hold the longest request (V0 without chunked prefill).
        """
        given = {name: Setting(value, "given", where) for name, value in changes.items()}
        length = changes.get("max_model_len")
        if isinstance(length, int) and self._batch_follows_length:
            tokens = max(length, int(self.rules.defaults.get("chunked_tokens", 0)))
            given = {"max_num_batched_tokens": Setting(tokens, "default", where), **given}
        return self._replace(settings={**self.settings, **given})

    @property
    def _batch_follows_length(self) -> bool:
        tokens = self.settings.get("max_num_batched_tokens")
        if tokens is None or tokens.origin != "default" or self.flag("enable_chunked_prefill"):
            return False
        return self.max_model_len is not None and tokens.value == self.max_model_len


_FIXED: Final[Mapping[str, Any]] = {
    "tensor_parallel_size": 1,
    "pipeline_parallel_size": 1,
    "data_parallel_size": 1,
    "dtype": "auto",
    "kv_cache_dtype": "auto",
    "quantization": None,
    "enforce_eager": False,
    "cpu_offload_gb": 0.0,
    "enable_expert_parallel": False,
    "enable_lora": False,
    "decode_context_parallel_size": 1,
}


def configure(
    args: EngineArgs, model: ModelFacts, gpu: Gpu | None, rules: EngineRules, context: Context = "api"
) -> EngineConfig:
    """Fill what was not given with the release's defaults for this model and GPU.

    Args:
        args: what was given, or printed by the engine itself.
        model: what the defaults depend on in the model.
        gpu: the card; without it the defaults that depend on its memory are those of smaller cards.
        rules: of the release.
        context: an API server has smaller defaults than the library class.
    """
    settings = {
        name: Setting(given.value, "printed" if given.where.startswith("log") else "given", given.where)
        for name, given in args.given.items()
        if given.value is not None  # what is not known here is taken for the default
    }
    generation = _generation(args, model, gpu, rules)
    config = EngineConfig(rules, generation, _runner(args, model, rules), settings)
    defaults: dict[str, Any] = {**_FIXED, **_release_defaults(rules)}
    defaults["max_model_len"] = _fitted_length(settings, model)
    defaults["enable_chunked_prefill"] = _chunked_prefill(config, model, defaults["max_model_len"])
    if settings.get("max_model_len", Setting(None, "default", "")).value in {"auto", -1}:
        settings["max_model_len"] = Setting(model.max_model_len, "default", "model")
    for name, value in defaults.items():
        settings.setdefault(name, Setting(value, "default", rules.where("defaults", name)))
    _add_batch_limits(config, model, gpu, context, settings)
    return config


def _release_defaults(rules: EngineRules) -> Mapping[str, Any]:
    names = ("gpu_memory_utilization", "block_size", "swap_space", "async_scheduling")
    return {name: rules.defaults[name] for name in names if name in rules.defaults}


def _fitted_length(settings: Mapping[str, Setting], model: ModelFacts) -> int | None:
    setting = settings.get("max_model_len")
    given = setting.value if setting else None
    return given if isinstance(given, int) and given > 0 else model.max_model_len


def _generation(args: EngineArgs, model: ModelFacts, gpu: Gpu | None, rules: EngineRules) -> Generation:
    if rules.defaults.get("only_generation"):
        return "V1"
    forced = args.environment.get("VLLM_USE_V1")
    if forced is not None and rules.v1:
        return "V1" if forced == "1" else "V0"
    least = tuple(rules.v1.get("least_capability", ()))
    if rules.defaults["generation"] != "V1" or _needs_v0(model, rules) or _cache_needs_v0(args, model, gpu, rules):
        return "V0"
    return "V0" if gpu is not None and gpu.capability and gpu.capability < least else "V1"


def _needs_v0(model: ModelFacts, rules: EngineRules) -> bool:
    """Tell whether V1 falls back for this model (vllm/engine/arg_utils.py _is_v1_supported_oracle, 0.8 to 0.10)."""
    if model.recurrent and rules.v1.get("states_on_v0"):
        return True
    return model.architecture in rules.v1.get("only_v0", ())


def _cache_needs_v0(args: EngineArgs, model: ModelFacts, gpu: Gpu | None, rules: EngineRules) -> bool:
    """Tell whether V1 falls back for want of a kernel for an fp8 cache (as above, is_kv_cache_dtype_supported)."""
    majors = rules.v1.get("fp8_cache_majors")
    asked = args.given.get("kv_cache_dtype")
    if not majors or asked is None or not str(asked.value).startswith("fp8") or gpu is None or not gpu.capability:
        return False
    return gpu.capability[0] not in majors and not (model.latent and rules.v1.get("fp8_latent_cache"))


def _runner(args: EngineArgs, model: ModelFacts, rules: EngineRules) -> Literal["V1", "V2"]:
    forced = args.environment.get("VLLM_USE_V2_MODEL_RUNNER")
    if forced is not None:
        return "V2" if forced == "1" else "V1"
    listed: Sequence[str] = rules.runner_v2.get("default", ())
    if not listed or (model.quantization and not rules.runner_v2.get("quantized", True)):
        return "V1"
    if "all" in listed or ("dense" in listed and not model.experts and not model.recurrent and model.architecture):
        return "V2"
    return "V2" if model.architecture in listed else "V1"


def _chunked_prefill(config: EngineConfig, model: ModelFacts, length: int | None) -> bool:
    if config.generation == "V1":
        return True
    policy = config.rules.defaults["chunked_prefill"]
    if policy != "long" or model.multimodal or model.latent or model.windowed or config.flag("enable_lora"):
        return bool(policy == "always")
    return length is not None and length > config.rules.defaults["long_context"]


def _add_batch_limits(
    config: EngineConfig, model: ModelFacts, gpu: Gpu | None, context: Context, settings: dict[str, Setting]
) -> None:
    """Add max_num_seqs and max_num_batched_tokens, which depend on each other, on the card and on max_model_len."""
    row = _batch_row(config, gpu)
    times = _throughput(config, settings)
    where = config.rules.where(config.generation.lower(), "batch")
    seqs = settings.setdefault("max_num_seqs", Setting(row["max_num_seqs"] * times, "default", where))
    tokens = settings.get("max_num_batched_tokens")
    if tokens is None:
        limit = _batched_tokens(config, model, int(row[context]) * times, settings)
        tokens = settings["max_num_batched_tokens"] = Setting(limit, "default", where)
    values = seqs.value, tokens.value
    if seqs.origin == "default" and config.accounting.get("sequences_within_tokens") and all(map(_is_count, values)):
        settings["max_num_seqs"] = seqs._replace(value=min(values))


def _batched_tokens(config: EngineConfig, model: ModelFacts, usual: int, settings: Mapping[str, Setting]) -> int:
    """Return the default of max_num_batched_tokens: without chunked prefill a whole prompt must fit in one batch."""
    length, seqs = _fitted_length(settings, model), settings["max_num_seqs"].value
    tokens = usual
    if not settings["enable_chunked_prefill"].value:
        floor = config.accounting.get("unchunked_tokens", "usual")
        tokens = max(length or 0, usual if floor == "usual" or not (length or floor) else int(floor))
    if model.multimodal and config.generation == "V0":
        tokens = max(tokens, int(config.rules.defaults["multimodal_tokens"]))
    if length and config.accounting.get("tokens_within_sequences") and _is_count(seqs):
        tokens = min(tokens, max(1, seqs) * length)
    return int(tokens)


def _throughput(config: EngineConfig, settings: Mapping[str, Setting]) -> int:
    """Return by how much the mode multiplies the limits of a batch."""
    mode = settings.get("performance_mode")
    doubled = config.accounting.get("performance_mode") and mode is not None and mode.value == "throughput"
    return 2 if doubled else 1


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _batch_row(config: EngineConfig, gpu: Gpu | None) -> Table:
    defaults = config.rules.defaults
    if config.generation == "V0":
        tokens = defaults["chunked_tokens"]
        return {"api": tokens, "library": tokens, "max_num_seqs": defaults["max_num_seqs"]}
    if config.value("device") == "cpu" and config.rules.v1.get("cpu"):
        return {name: limit * _world_size(config) for name, limit in config.rules.v1["cpu"].items()}
    rows: Sequence[Table] = config.rules.v1["batch"]
    return next((row for row in rows if _row_applies(row, gpu)), rows[-1])


def _world_size(config: EngineConfig) -> int:
    return config.tensor_parallel_size * config.pipeline_parallel_size


def _row_applies(row: Table, gpu: Gpu | None) -> bool:
    conditions = {"named", "not_named", "total"} & row.keys()
    if not conditions:
        return True
    if gpu is None:
        return False
    name = gpu.name.lower()
    if "named" in row and not any(part in name for part in row["named"]):
        return False
    if "not_named" in row and any(part in name for part in row["not_named"].split()):
        return False
    return "total" not in row or gpu.memory.value >= parse_size(row["total"])
