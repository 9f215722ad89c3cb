"""Which card an engine runs on: named by the user, the log, nvidia-smi or the node, or told by its total."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from oomedic.catalogue import Catalogue
from oomedic.errors import UnknownName
from oomedic.figure import Figure
from oomedic.gpu import Gpu
from oomedic.instance import cards_of_labels
from oomedic.logs.fields import text
from oomedic.logs.signatures import Event
from oomedic.units import MIB, Bytes

if TYPE_CHECKING:
    from oomedic.observed.facts import Observed

_LABELS: Final = (
    "karpenter.k8s.aws/instance-gpu-name",
    "eks.amazonaws.com/instance-gpu-name",
    "cloud.google.com/gke-accelerator",
    "nvidia.com/gpu.product",
)
_PLATFORMS: Final[Mapping[str | None, tuple[str, ...]]] = {
    "CUDA": ("cuda", "rocm"),
    "HIP": ("rocm",),
    "NPU": (),
    "XPU": (),
    "HPU": (),
    "MUSA": (),
}
"""torch's names of its interfaces; up to 2.5 it wrote CUDA on AMD's cards too."""
_MEMORY_LABEL: Final = "nvidia.com/gpu.memory"


class Clues(NamedTuple):
    """What points at a card.

    ``named`` is the user's word; ``labels`` are those of the node, or of the nodes that the pod asks for; ``total`` is
    what torch reported.
    """

    named: str | None
    events: Sequence[Event]
    labels: Mapping[str, str]
    observed: "Observed | None" = None
    total: Figure | None = None


def find_card(clues: Clues, catalogue: Catalogue) -> tuple[Gpu | None, tuple[Gpu, ...]]:
    """Return the card, and those that print the total which the log shows where the named card does not.

    What the user named must be known; a label or a line that is not is passed over.

    Raises:
        UnknownName: ``gpu-ambiguous`` or ``gpu-unknown`` for a GPU that the user named.
    """
    total = clues.total
    size = total.value if total else _size_beside(clues)
    named = catalogue.gpu(clues.named, size) if clues.named else _found(clues, size, catalogue)
    if total is None:
        return named, ()
    cards = tuple(card for card in catalogue.gpus_with_total(total) if card.platform in _platforms(clues.events))
    if named is None:
        return (cards[0] if len(cards) == 1 else None), cards
    return named, () if any(card.name == named.name for card in cards) else cards


def _platforms(events: Sequence[Event]) -> frozenset[str]:
    """Return the platforms whose cards can have printed the log: torch names its interface where memory ran out."""
    interfaces = {text(event, "api") for event in events} & _PLATFORMS.keys()
    return frozenset(platform for name in interfaces or {"CUDA", "HIP"} for platform in _PLATFORMS[name])


def driver_total(observed: "Observed | None") -> Figure | None:
    """Return what torch should report of a card of which the driver's total is known; with a band."""
    if observed is None:
        return None
    from oomedic.observed.neighbours import as_torch_sees_it, card_total  # only where something was seen

    seen = card_total(observed)
    return None if seen is None else as_torch_sees_it(seen)


def _size_beside(clues: Clues) -> Bytes | None:
    """Return a size that decides between cards of one name: of nvidia-smi, or of the node's label (MiB)."""
    seen = driver_total(clues.observed)
    label = clues.labels.get(_MEMORY_LABEL, "")
    return seen.value if seen else int(label) * MIB if label.isdecimal() else None


def _found(clues: Clues, size: Bytes | None, catalogue: Catalogue) -> Gpu | None:
    for name in _names(clues, catalogue):
        try:
            return catalogue.gpu(name, size)
        except UnknownName:
            continue
    return None


def _names(clues: Clues, catalogue: Catalogue) -> Iterator[str]:
    """Yield what names the card: lines of the log, nvidia-smi, labels, the only card that such nodes have."""
    yield from filter(None, (text(event, "gpu") for event in clues.events if event.signature == "gpu_named"))
    if clues.observed is not None:
        from oomedic.observed.neighbours import card_names  # see driver_total

        yield from card_names(clues.observed)
    yield from (clues.labels[label] for label in _LABELS if label in clues.labels)
    cards = cards_of_labels(clues.labels, catalogue.instances()) if clues.labels else frozenset()
    yield from cards if len(cards) == 1 else ()
