"""How many bytes the weights of one rank take: the tensors' own bytes, and what torch's allocator makes of them.

"Model loading took X GiB" counts allocator blocks (vllm DeviceMemoryProfiler over torch.cuda memory_allocated), so each
tensor is rounded as the CUDA caching allocator rounds it.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from oomedic.memory.allocator import counted
from oomedic.models.architectures import Stack
from oomedic.models.modules import Buffer, Experts, Linear, Module
from oomedic.models.quantization import Scheme
from oomedic.models.quantization.integers import PackedIntegers
from oomedic.models.quantization.scheme import DTYPE_BYTES, Kind, Sizes, plain_experts, plain_linear
from oomedic.units import Bytes

_Kinds = tuple[Kind | None, ...]


class Weights(NamedTuple):
    """Bytes on one rank: ``parameters`` and ``buffers`` as tensors are loaded into.

    ``allocated`` is what torch counts for both together, once weights were brought into the form of their kernels.
    """

    parameters: Bytes
    buffers: Bytes
    allocated: Bytes


class _Share(NamedTuple):
    """Modules that stand together: bytes of parameters and of buffers, and the size of each tensor."""

    parameters: Bytes
    buffers: Bytes
    tensors: tuple[Bytes, ...]


class Stage(NamedTuple):
    """A pipeline stage: decoder layers ``start`` up to ``end``."""

    start: int
    end: int
    is_first: bool
    is_last: bool


def stage_weights(stack: Stack, scheme: Scheme, stage: Stage, *, whole_segments: bool = False) -> Weights:
    """Return the weights of one pipeline stage.

    Args:
        stack: the model on one tensor-parallel rank.
        scheme: how its weights are stored.
        stage: which decoder layers the stage holds, and whether it is the first or the last one.
        whole_segments: vLLM loads with max_split_size_mb=20 since 0.21, so that a large block is never shared.
    """
    shares: list[_Share] = []
    known: dict[tuple[int, _Kinds | None], _Share] = {}
    # kept: a tuple's id may be given again once it is gone
    placed = tuple(_placed(stack, stage, "" if scheme.towers else None))
    for prefix, modules in placed:
        # layers of one kind share one tuple of modules, so each kind is sized once
        kinds = _kinds(prefix, modules, scheme) if scheme.per_layer else None
        share = known.get((id(modules), kinds))
        if share is None:
            share = _share(modules, kinds or _kinds(prefix, modules, scheme), scheme)
            known[id(modules), kinds] = share
        shares.append(share)
    return Weights(
        sum(share.parameters for share in shares),
        sum(share.buffers for share in shares),
        counted(chain.from_iterable(share.tensors for share in shares), whole_segments=whole_segments),
    )


def stages(
    layers: int, pipeline_parallel_size: int, partition: Sequence[int] = (), *, remainder_last: bool = False
) -> tuple[Stage, ...]:
    """Split the decoder layers over pipeline stages as vllm/distributed/utils.py get_pp_indices does.

    The remainder goes one each to the stages before the last, or as a whole to the last one in old releases;
    ``partition`` is VLLM_PP_LAYER_PARTITION.

    >>> [(stage.start, stage.end) for stage in stages(30, 4)]
    [(0, 7), (7, 15), (15, 23), (23, 30)]
    """
    counts = list(partition) or [layers // pipeline_parallel_size] * pipeline_parallel_size
    if not partition and remainder_last:
        counts[-1] += layers % pipeline_parallel_size
    elif not partition:
        for extra in range(2, layers % pipeline_parallel_size + 2):
            counts[-extra] += 1
    bounds = [sum(counts[:index]) for index in range(len(counts) + 1)]
    last = len(counts) - 1
    return tuple(Stage(bounds[i], bounds[i + 1], i == 0, i == last) for i in range(len(counts)))


def encoder_weights(stack: Stack, scheme: Scheme, *, whole_segments: bool = False) -> Weights:
    """Return the part of the first stage that belongs to encoders of images, video and audio."""
    only = stack._replace(layers=(), first=(), last=(), everywhere=())
    return stage_weights(only, scheme, Stage(0, 0, is_first=True, is_last=False), whole_segments=whole_segments)


def layer_weights(stack: Stack, scheme: Scheme, stage: Stage) -> Weights:
    """Return the part of a stage that belongs to its decoder layers."""
    only = stack._replace(first=(), last=(), everywhere=(), encoder=None, draft=None)
    return stage_weights(only, scheme, stage._replace(is_first=False, is_last=False))


def module_sizes(module: Module, kind: Kind | None, element_bytes: int) -> Sizes:
    """Return the bytes of each tensor of a module that is stored in a ``kind``, None: as it is."""
    if isinstance(module, Linear):
        return kind.linear(module) if kind else plain_linear(module, element_bytes)
    if isinstance(module, Experts):
        return kind.experts(module) if kind else plain_experts(module, element_bytes)
    return (module.elements * (DTYPE_BYTES[module.dtype] if module.dtype else element_bytes),)


def _placed(stack: Stack, stage: Stage, tower: str | None) -> Iterable[tuple[str | None, tuple[Module, ...]]]:
    if stage.is_first:
        yield stack.root, stack.first
        yield from ((tower, group) for group in stack.encoder or ())
    for index in range(stage.start, stage.end):
        yield f"{stack.root}.layers.{index}", stack.layers[index].modules
    if stage.is_last:
        yield "", _last(stack, stage)
        yield from ((prefix, layer.modules) for prefix, layer in stack.draft or ())
        if stack.draft and not stage.is_first:
            yield stack.root, stack.first  # drafts share the embedding within a stage only
    yield stack.root, stack.everywhere


def _last(stack: Stack, stage: Stage) -> tuple[Module, ...]:
    if not stack.tied:
        return stack.last
    without = tuple(module for module in stack.last if not module.name.startswith("lm_head"))
    # a tied head is the embedding itself, which a last stage that is not the first one needs as a copy
    return without if stage.is_first else (*without, *stack.first)


def _kinds(prefix: str | None, modules: tuple[Module, ...], scheme: Scheme) -> _Kinds:
    if prefix is None:  # a tower, which the method does not reach
        return (None,) * len(modules)
    return tuple(_kind(prefix, module, scheme) for module in modules)


def _kind(prefix: str, module: Module, scheme: Scheme) -> Kind | None:
    if isinstance(module, Linear):
        if not module.quantized:
            return None
        kinds = [scheme.kind_of(f"{prefix}.{name}" if prefix else name) for name in module.checkpoint_names]
        return None if None in kinds else kinds[0]
    if isinstance(module, Experts):
        return scheme.kind_of(f"{prefix}.{module.name}")
    return None


def _share(modules: tuple[Module, ...], kinds: _Kinds, scheme: Scheme) -> _Share:
    parameters = buffers = 0
    tensors: list[Bytes] = []
    for module, kind in zip(modules, kinds, strict=True):
        sizes = module_sizes(module, kind, scheme.element_bytes)
        if isinstance(module, Buffer):
            buffers += sum(sizes)
        else:
            parameters += sum(sizes)
        kept = kind.after_loading() if isinstance(kind, PackedIntegers) else kind
        tensors += sizes if kept is kind else module_sizes(module, kept, scheme.element_bytes)
    return _Share(parameters, buffers, tuple(tensors))
