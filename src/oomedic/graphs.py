"""CUDA graphs: which sizes are captured, and about how much memory they take.

There is no closed form: all graphs of a rank share one pool of about the activations of the largest size, and the
driver keeps some memory for every node of every graph. Sizes follow vllm/config/vllm.py; the memory is fitted to the
audited start-ups and has a wide band.
"""

from typing import Any, Final, NamedTuple

from oomedic.checkpoint import Checkpoint
from oomedic.engine import EngineConfig
from oomedic.hf_config import first
from oomedic.units import MIB, Bytes

_BASE: Final = 60 * MIB
_PER_GRAPH_AND_LAYER: Final = round(0.16 * MIB)


class GraphMemory(NamedTuple):
    """Bytes of all graphs, with a band, and how many are captured."""

    size: Bytes
    low: Bytes
    high: Bytes
    graphs: int


def capture_sizes(config: EngineConfig, speculative: int = 0) -> tuple[int, ...]:
    """Return the batch sizes that are captured; none in eager mode."""
    if config.flag("enforce_eager"):
        return ()
    listed = config.value("cudagraph_capture_sizes") or _from_compilation(config.value("compilation_config"))
    if isinstance(listed, list | tuple) and listed:
        return tuple(sorted(int(size) for size in listed))
    seqs, tokens = config.integer("max_num_seqs"), config.integer("max_num_batched_tokens")
    rule = "v0" if config.generation == "V0" else str(config.rules.graphs["capture"])
    if rule == "v0":
        return _grid(min(256, seqs), 256)
    if rule == "v1":
        return _grid(512, 512)
    asked = config.integer("max_cudagraph_capture_size")
    largest = asked or min(2 * seqs * (1 + speculative), 512, tokens)
    return _grid(min(largest, 256), 256) + tuple(range(272, largest + 1, 16))


def graph_memory(checkpoint: Checkpoint, config: EngineConfig, speculative: int = 0) -> GraphMemory:
    """Return about how much memory the graphs take on one rank."""
    sizes = capture_sizes(config, speculative)
    if not sizes:
        return GraphMemory(0, 0, 0, 0)
    layers = int(first(checkpoint.text, "num_hidden_layers", "n_layer", "num_layers", default=32))
    layers = -(-layers // config.pipeline_parallel_size)
    full = 0 if config.generation == "V0" else sum(1 for size in sizes if size <= config.integer("max_num_seqs"))
    graphs = len(sizes) + (full if int(config.rules.graphs.get("modes", 1)) > 1 else 0)
    wider = 1.0 + 0.6 * (config.tensor_parallel_size > 1) + 0.8 * bool(checkpoint.experts)
    size = round((_BASE + graphs * layers * _PER_GRAPH_AND_LAYER) * wider)
    return GraphMemory(size, size // 3, round(size * 2.5), graphs)


def _grid(largest: int, cap: int) -> tuple[int, ...]:
    return tuple(size for size in (1, 2, 4, *range(8, cap + 1, 8)) if size <= max(1, largest))


def _from_compilation(value: Any) -> Any:
    return value.get("cudagraph_capture_sizes") if isinstance(value, dict) else None
