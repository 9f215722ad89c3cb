"""Which cards an engine must start on: those that its pod could get."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from oomedic.catalogue import Catalogue
from oomedic.errors import UsageError
from oomedic.figure import exactly
from oomedic.foresight import Room
from oomedic.gathering.gather import EngineOptions
from oomedic.instance import Instance
from oomedic.placement.landing import Closed, landings
from oomedic.placement.needs import needs_of
from oomedic.placement.node_pool import NodePool
from oomedic.units import parse_quantity
from oomedic.workloads.workload import Workload

_GPU: Final = "nvidia.com/gpu"
_SLICE: Final = "nvidia.com/mig-"


class Where(NamedTuple):
    """Where a pod may run.

    Attributes:
        options: what is said of the engine, once for each card; a single one that names none where nothing tells.
        room: what the node pools let it have.
        closed: pools that give it none, and why, where none does.
    """

    options: tuple[EngineOptions, ...]
    room: Room = Room()
    closed: tuple[Closed, ...] = ()


class Cards:
    """Finds the cards of engines, with what is the same for all of them."""

    def __init__(self, options: EngineOptions, pools: Sequence[NodePool], instances: Sequence[Instance]) -> None:
        """Take what the user says (``gpu`` may name several, with commas), the node pools and the instance types."""
        self._options = options
        self._pools = tuple(pools)
        self._instances = tuple(instances)
        self._known: dict[str, Where] = {}

    def of(self, workload: Workload) -> Where:
        """Return where the pods of an engine may run."""
        key = repr((needs_of(workload), workload.gpu_resource, workload.device_memory))
        if key not in self._known:
            self._known[key] = self._found(workload)
        return self._known[key]

    def _found(self, workload: Workload) -> Where:
        of_pools = self._of_pools(workload)
        if self._options.gpu:
            names = [name.strip() for name in self._options.gpu.split(",") if name.strip()]
            return of_pools._replace(options=tuple(self._options._replace(gpu=name) for name in names), closed=())
        return of_pools

    def _of_pools(self, workload: Workload) -> Where:
        memory, resource = workload.device_memory, workload.gpu_resource or _GPU
        if resource.startswith(_SLICE) and memory is not None and memory.bytes and self._options.gpu_memory is None:
            size = exactly(memory.bytes, "catalogued", resource)
            return Where((self._options._replace(gpu_memory=size),))
        if resource != _GPU:
            return Where((self._options,))
        found = landings(needs_of(workload), self._pools, self._instances)
        names = {name for landing in found.open for name in landing.pools}
        open_pools = tuple(pool for pool in self._pools if pool.name in names)
        cards = tuple(self._options._replace(gpu=landing.gpu.name) for landing in found.open)
        room = Room(known=bool(open_pools), gpus=_limit(open_pools))
        return Where(cards or (self._options,), room, () if found.open else found.closed)


def _limit(pools: Sequence[NodePool]) -> int | None:
    """Return the GPUs that all pools together may have, None where one of them has no limit."""
    total = 0
    for pool in pools:
        try:
            total += int(parse_quantity(pool.limits[_GPU]))
        except (KeyError, UsageError):
            return None
    return total if pools else None


def check_names(options: EngineOptions, catalogue: Catalogue) -> None:
    """Refuse a card that no catalogue knows before anything is judged.

    Raises:
        UnknownName: ``gpu-ambiguous`` or ``gpu-unknown``.
    """
    for name in _names(options):
        catalogue.gpu(name)


def _names(options: EngineOptions) -> Iterator[str]:
    yield from (name.strip() for name in (options.gpu or "").split(",") if name.strip())
