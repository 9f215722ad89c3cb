"""GPUs: how much memory torch reports for one device, and who is meant by a name.

A card has many names: what nvidia-smi, torch and vLLM print ("NVIDIA A100-SXM4-80GB"), the node label of GPU Feature
Discovery ("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb-SHARED"), Karpenter's ("a100") and what people type ("A100 80GB"). Some
mean several cards with different memory; those are refused with the candidates, never chosen silently.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

from oomedic.errors import UnknownName
from oomedic.figure import Figure, Origin, between
from oomedic.units import GIB, Bytes, parse_size

Row = Mapping[str, Any]
Platform = Literal["cuda", "rocm"]

_SAME_CARD: Final = 0.05
"""Two totals of one card differ by less: drivers keep back up to 2 %, WSL2 nothing; 40 GB and 80 GB are far apart."""
_BESIDE_BAND: Final = 0.0015
"""How far beside its band a total may still be a card's, as a share: 0.03 GiB of 22, 0.2 GiB of 140."""
_NEAREST: Final = 3

# Patterns are compiled when they are first needed (and kept by re): compiling them all takes longer than a look-up.
_NOISE: Final = r"\([^)]*\)|[^a-z0-9.+]"
_MAKER: Final = r"^(?:nvidia|amdinstinct|amd|tesla|geforce|quadro)+"
_SHARING: Final = "-SHARED"
_MIG: Final = r"(?i)(?P<parent>.*?)[\s_-]*(?:nvidia\.com/)?MIG[\s_-]*(?P<profile>\d+g\.\d+gb)(?:[+.]\w+)*"


class Gpu(NamedTuple):
    """One device as the engine sees it: a whole card, a MIG slice, or one half of a card that shows as two.

    ``memory`` is the total that torch reports (``torch.cuda.mem_get_info``), the lowest that was seen; its band reaches
    up to the highest. ``capability`` is CUDA's, None on other platforms. ``bandwidth`` is in bytes per second. ``fp8``
    says that the device computes in fp8; an older one can still store weights and cache so.
    """

    name: str
    memory: Figure
    capability: tuple[int, int] | None = None
    mig: str | None = None
    unified_memory: bool = False
    platform: Platform = "cuda"
    bandwidth: int | None = None
    bf16: bool = True
    fp8: bool = False
    nvlink: bool = False


class GpuTable:
    """The catalogue's rows under every name that they have."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """Take the rows (see ``gpu_rows``)."""
        self._rows = tuple(rows)

    def all(self) -> tuple[Gpu, ...]:
        """Return every GPU and MIG slice."""
        return tuple(map(gpu_of, self._rows))

    def find(self, name: str, total: Bytes | None = None) -> Gpu:
        """Return the GPU of that name; letters' case, spaces, dashes and the maker's name do not matter.

        Args:
            name: as printed by a tool, written in a label, or typed.
            total: a capacity that is known from elsewhere (a log, a node label); of several it picks the nearest.

        Raises:
            UnknownName: ``gpu-ambiguous`` with all ``candidates``, or ``gpu-unknown`` with the ``nearest`` names.
        """
        found = self._named(name)
        if len(found) > 1 and total is not None:
            found = _nearest_in_size(found, total)
        if not found:
            raise UnknownName("gpu-unknown", name=name, nearest=self._nearest(name))
        if len(found) > 1:
            raise UnknownName("gpu-ambiguous", name=name, candidates=tuple(row["name"] for row in found))
        return gpu_of(found[0])

    def with_total(self, total: Figure) -> tuple[Gpu, ...]:
        """Return the GPUs that show this total, whole cards first and the nearest of them first.

        Catalogued bands come before assumed ones. "23.65 GiB is no A10G (22.06 to 22.19): an RTX 3090 or 4090 shows
        that".
        """
        fitting = [gpu_of(row) for row in self._rows if _shows(row, total)]
        return tuple(sorted(fitting, key=lambda gpu: _rank(gpu, total)))

    @cached_property
    def _spelled(self) -> tuple[Mapping[str, list[Row]], Mapping[str, list[Row]]]:
        """The rows by their names' letters, and by their names' letters without the maker."""
        return _by_spelling(self._rows, _letters), _by_spelling(self._rows, _without_maker)

    def _named(self, name: str) -> tuple[Row, ...]:
        plain = name.strip().removesuffix(_SHARING)
        for spelling, rows in zip((_letters, _without_maker), self._spelled, strict=True):
            wanted = spelling(plain)
            if wanted and wanted in rows:
                return tuple(rows[wanted])
        return self._slices_named(plain)

    def _slices_named(self, name: str) -> tuple[Row, ...]:
        match = re.fullmatch(_MIG, name)
        if match is None:
            return ()
        profile = match["profile"].lower()
        slices = tuple(row for row in self._rows if row.get("profile") == profile)
        if not match["parent"]:
            return slices
        cards = [row for row in self._named(match["parent"]) if "profile" not in row]
        names = {f"{card['name']} MIG {profile}" for card in cards}
        return tuple(row for row in slices if row["name"] in names)

    def _nearest(self, name: str) -> tuple[str, ...]:
        from difflib import get_close_matches  # only a name that is wrong needs it

        spelled = {_without_maker(spelling): row["name"] for row in self._rows for spelling in gpu_names(row)}
        close = get_close_matches(_without_maker(name), spelled, n=2 * _NEAREST, cutoff=0.5)
        return tuple(dict.fromkeys(spelled[match] for match in close))[:_NEAREST]


def gpu_rows(cards: Sequence[Row], slices: Iterable[Row]) -> tuple[Row, ...]:
    """Return one row per device: every card, and every MIG slice with what it inherits from its card."""
    by_name = {card["name"]: card for card in cards}
    derived = [
        _slice_row(by_name[parent], piece) for piece in slices for parent in piece["parents"] if parent in by_name
    ]
    return (*cards, *derived)


def gpu_of(row: Row) -> Gpu:
    """Read one row."""
    capability = row.get("capability")
    bandwidth = row.get("bandwidth_gb_s")
    return Gpu(
        name=row["name"],
        memory=_memory(row),
        capability=_pair(capability) if capability else None,
        mig=row.get("profile"),
        unified_memory=row.get("unified_memory", False),
        platform="rocm" if row.get("vendor") == "AMD" else "cuda",
        bandwidth=None if bandwidth is None else round(bandwidth * 1e9),
        bf16=row.get("bf16", True),
        fp8=row.get("fp8", False),
        nvlink=row.get("nvlink", False),
    )


def _memory(row: Row) -> Figure:
    low = parse_size(row["memory"])
    high = parse_size(row.get("memory_high", row["memory"]))
    origin: Origin = "assumed" if row.get("memory_origin") == "assumed" else "catalogued"
    source = "--data" if row.get("origin") == "yours" else "gpus.toml"
    return between(low, low, high, origin, f"{source}:{row['name']}")


def _pair(capability: str) -> tuple[int, int]:
    major, _, minor = capability.partition(".")
    return int(major), int(minor or 0)


def _slice_row(card: Row, piece: Row) -> Row:
    profile = piece["profile"]
    own = {key: piece[key] for key in piece if key not in {"parents", "memory_high", "memory_origin"}}
    inherited = {key: card[key] for key in card if key not in _OF_THE_WHOLE_CARD}
    band = {key: piece[key] for key in ("memory_high", "memory_origin") if key in piece}
    label = card.get("product_label")
    names = {"product_label": f"{label}-MIG-{profile}"} if label else {}
    return {**inherited, **own, **band, **names, "name": f"{card['name']} MIG {profile}", "nvlink": False}


_OF_THE_WHOLE_CARD: Final = frozenset(
    (
        "aliases",
        "also_seen",
        "bandwidth_gb_s",
        "karpenter_name",
        "memory_high",
        "memory_note",
        "memory_origin",
        "nominal_gb",
        "nvidia_smi_mib",
        "product_label",
        "seen",
    )
)


def _by_spelling(rows: Iterable[Row], spelling: Callable[[str], str]) -> Mapping[str, list[Row]]:
    spelled: dict[str, list[Row]] = {}
    for row in rows:
        for name in {spelling(name) for name in gpu_names(row)}:
            spelled.setdefault(name, []).append(row)
    return spelled


def gpu_names(row: Row) -> tuple[str, ...]:
    """Return every name of a row: its own, aliases, node labels, Karpenter's."""
    labels = (row.get("product_label"), row.get("karpenter_name"))
    return (row["name"], *row.get("aliases", ()), *(label for label in labels if label))


def _letters(name: str) -> str:
    return re.sub(_NOISE, "", name.lower())


def _without_maker(name: str) -> str:
    return re.sub(_MAKER, "", _letters(name))


def _nearest_in_size(found: Sequence[Row], total: Bytes) -> tuple[Row, ...]:
    distances = [_beside(_memory(row), total) for row in found]
    nearest = min(distances)
    if nearest > total * _SAME_CARD:
        return tuple(found)
    return tuple(row for row, distance in zip(found, distances, strict=True) if distance == nearest)


def _shows(row: Row, total: Figure) -> bool:
    memory = _memory(row)
    beside = memory.high * _BESIDE_BAND
    if total.high >= memory.low - beside and total.low <= memory.high + beside:
        return True
    return any(total.low <= round(reading["gib"] * GIB) <= total.high for reading in row.get("also_seen", ()))


def _rank(gpu: Gpu, total: Figure) -> tuple[bool, bool, Bytes]:
    return gpu.mig is not None, gpu.memory.origin == "assumed", _beside(gpu.memory, total.value)


def _beside(band: Figure, total: Bytes) -> Bytes:
    return max(0, band.low - total, total - band.high)
