"""What the engine printed about its memory, gathered from all ranks: the worst rank's figures are those that decide."""

from collections.abc import Callable, Iterable, Sequence

from oomedic.figure import Figure, between
from oomedic.logs.fields import count, size
from oomedic.logs.memory_error import OOM_SIGNATURES
from oomedic.logs.signatures import Event
from oomedic.memory.known import Known, PrintedCache

_TOTALS = (
    "free_memory_below_request",
    "v0_memory_requested",
    "v0_memory_profile_sums",
    "memory_account",
    "cpu_kv_space",
    "cpu_kv_space_measured",
    *OOM_SIGNATURES,
)


def known_figures(events: Sequence[Event]) -> Known:
    """Return the figures that a log states, each from the rank where it is worst.

    Weights: the largest. KV cache: the smallest, for the plan takes the minimum over all workers.
    """
    weights = _pick(
        events, max, ("model_loaded", "weights"), ("v0_memory_profile", "weights"), ("memory_account", "weights")
    )
    return Known(
        total=_first(events, "total", _TOTALS),
        free_at_start=_first(events, "free", ("free_memory_below_request", "memory_account")),
        weights=weights,
        non_torch=_pick(
            events,
            max,
            ("v0_memory_profile", "non_torch"),
            ("v0_memory_profile_sums", "non_torch"),
            ("memory_account", "non_torch"),
        ),
        activation=_activation(events, weights),
        cuda_graphs=_pick(
            events,
            max,
            ("graph_capture_done", "cuda_graphs"),
            ("memory_account", "cuda_graphs"),
            ("graph_estimate", "cuda_graphs"),
        ),
        pool=pool(events),
        cache=cache(events),
        empty=any(event.signature == "no_memory_for_cache_blocks" for event in events),
        tokens=min((tokens for event in events if (tokens := _tokens(event)) is not None), default=None),
    )


def cache(events: Sequence[Event]) -> PrintedCache | None:
    """Return what a refused run said about one request, None when it was not refused for its length."""
    event = next((each for each in events if each.signature in {"kv_cache_too_small", "kv_cache_too_small_v0"}), None)
    length = count(event, "max_model_len")
    if event is None or length is None:
        return None
    needed = size(event, "needed")
    longest = count(event, "estimated_max_model_len")
    return PrintedCache(length, count(event, "tokens"), needed.value if needed else None, longest)


def pool(events: Sequence[Event]) -> Figure | None:
    """Return the memory that the engine said it has for its KV cache, of the rank that has least."""
    return _pick(
        events,
        min,
        ("available_kv_cache", "kv_cache"),
        ("v0_memory_profile", "kv_cache"),
        ("v0_memory_profile_sums", "kv_cache"),
        ("kv_cache_given", "kv_cache"),
        ("cpu_kv_space", "kv_cache"),
        ("cpu_kv_space_measured", "kv_cache"),
        ("kv_cache_too_small", "available"),
    )


def _tokens(event: Event) -> int | None:
    return count(event, "tokens") if event.signature == "kv_cache_size" else None


def _activation(events: Sequence[Event], weights: Figure | None) -> Figure | None:
    """Return the printed peak; 0.6.3 and 0.6.4 print it with the weights in it."""
    printed = _pick(events, max, ("v0_memory_profile", "activation"), ("memory_account", "activation"))
    if printed is not None:
        return printed if printed.value >= 0 else None
    peak = _pick(events, max, ("v0_memory_profile_sums", "torch_peak"))
    if peak is None or weights is None:
        return None
    rest = peak.minus(weights)
    return between(max(0, rest.low), max(0, rest.value), max(0, rest.high), "printed", peak.where)


def _first(events: Sequence[Event], field: str, signatures: Iterable[str]) -> Figure | None:
    wanted = set(signatures)
    return next((figure for event in events if event.signature in wanted and (figure := size(event, field))), None)


def _pick(events: Sequence[Event], choose: Callable[..., Figure], *places: tuple[str, str]) -> Figure | None:
    """Return the largest or smallest figure of the first kind of line that is there at all."""
    for signature, field in places:
        figures = [figure for event in events if event.signature == signature and (figure := size(event, field))]
        if figures:
            return choose(figures, key=lambda figure: figure.value)
    return None
