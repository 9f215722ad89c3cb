"""CUDA graphs: which sizes are captured, and about how much memory they take.

There is no closed form: all graphs of a rank share one pool of about the activations of the largest size, and the
driver keeps some memory for every node of every graph. Sizes follow vllm/config/vllm.py; the memory is fitted to the
audited start-ups and has a wide band.
"""

from typing import Any, Final, NamedTuple

from oomedic.engine.config import EngineConfig
from oomedic.models.checkpoint import Checkpoint
from oomedic.models.hf_config import number
from oomedic.units import MIB, Bytes

_BASE: Final = 60 * MIB
_PER_GRAPH_AND_LAYER: Final = round(0.16 * MIB)
_CAP: Final = 512


class GraphMemory(NamedTuple):
    """Bytes of all graphs, with a band, and how many are captured."""

    size: Bytes
    low: Bytes
    high: Bytes
    graphs: int


class CapturedModel(NamedTuple):
    """What the default sizes depend on beside the configuration; ``capability`` is the major number of the card's."""

    model_type: str | None = None
    capability: int | None = None


UNKNOWN: Final = CapturedModel()


def capture_sizes(config: EngineConfig, speculative: int = 0, model: CapturedModel = UNKNOWN) -> tuple[int, ...]:
    """Return the batch sizes that are captured; none in eager mode."""
    if config.flag("enforce_eager") or _asked(config, "cudagraph_mode") == "NONE":
        return ()
    if config.rules.graphs["capture"] == "none":
        return ()
    seqs, tokens = config.integer("max_num_seqs"), config.integer("max_num_batched_tokens")
    if config.generation == "V0":
        return _grid(min(256, seqs))
    listed = _asked(config, "cudagraph_capture_sizes") or config.value("cuda_graph_sizes")
    if isinstance(listed, list | tuple) and len(listed) > 1:
        return tuple(sorted(int(size) for size in listed if not tokens or int(size) <= tokens))
    asked = _asked(config, "max_cudagraph_capture_size") or (listed[0] if listed else None)
    largest = asked if isinstance(asked, int) else _usual_largest(config, seqs * (1 + speculative), model)
    if config.rules.graphs["capture"] == "v1-steps":
        return _stepped(min(largest, tokens) if tokens else largest)
    return _stepped(largest) if largest > _CAP else _grid(largest)


def _usual_largest(config: EngineConfig, rows: int, model: CapturedModel) -> int:
    """Return the largest size that is captured unless one is asked for."""
    rules = config.rules.graphs
    of_type = rules.get("largest_of_type", {}).get(model.model_type)
    if of_type is not None:
        return int(of_type)
    cap = int(rules.get("largest_of_capability", {}).get(str(model.capability), _CAP))
    return cap if rules["capture"] == "v1" else min(2 * rows, cap)


def graph_memory(
    checkpoint: Checkpoint, config: EngineConfig, speculative: int = 0, capability: int | None = None
) -> GraphMemory:
    """Return about how much memory the graphs take on one rank of a card with this major compute capability."""
    model = CapturedModel(checkpoint.text.get("model_type"), capability)
    sizes = capture_sizes(config, speculative, model)
    if not sizes:
        return GraphMemory(0, 0, 0, 0)
    layers = number(checkpoint.text, "num_hidden_layers", "n_layer", "num_layers", default=32)
    layers = -(-layers // config.pipeline_parallel_size)
    full = 0 if config.generation == "V0" else sum(1 for size in sizes if size <= config.integer("max_num_seqs"))
    graphs = len(sizes) + (full if int(config.rules.graphs.get("modes", 1)) > 1 else 0)
    wider = 1.0 + 0.6 * (config.tensor_parallel_size > 1) + 0.8 * bool(checkpoint.experts)
    size = round((_BASE + graphs * layers * _PER_GRAPH_AND_LAYER) * wider)
    return GraphMemory(size, size // 3, round(size * 2.5), graphs)


def _grid(largest: int) -> tuple[int, ...]:
    """Return 1, 2, 4, then every 8."""
    return tuple(size for size in (1, 2, 4, *range(8, largest + 1, 8)) if size <= max(1, largest))


def _stepped(largest: int) -> tuple[int, ...]:
    """Return 1, 2, 4, every 8 up to 256, then every 16."""
    return _grid(min(largest, 256)) + tuple(range(272, largest + 1, 16))


def _asked(config: EngineConfig, name: str) -> Any:
    """Return what was asked for: by an argument of its own, or inside compilation_config."""
    own = config.value(name)
    inside = config.value("compilation_config")
    return own if own or not isinstance(inside, dict) else inside.get(name)
