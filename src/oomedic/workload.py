"""What a manifest says about one engine: where it runs, with which arguments, and where each could be changed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from oomedic.claim import Claim
from oomedic.given import NOTHING_GIVEN, EngineArgs
from oomedic.units import Bytes

if TYPE_CHECKING:
    from oomedic.placement.requirement import Requirement


class EditPath(NamedTuple):
    """Where a change of one argument would go.

    Attributes:
        file: as it was named.
        object: ``Kind/name`` of the Kubernetes object, or ``values`` of a Helm values file.
        pointer: RFC 6901, from the root of that object.
        inner: the flag, when the place is one word inside a longer text (a shell program, a variable); else None.
        span: the characters of the leaf in the file.
    """

    file: str
    object: str
    pointer: str
    inner: str | None = None
    span: tuple[int, int] | None = None


class Amount(NamedTuple):
    """A Kubernetes quantity: bytes, or thousandths of a processor (None if it cannot be read), and as it is written."""

    bytes: Bytes | None
    written: str


class Shm(NamedTuple):
    """Shared memory: whether a volume is mounted at /dev/shm, and its limit (None: no limit, or no volume)."""

    mounted: bool
    size: str | None = None
    bytes: Bytes | None = None


class Probe(NamedTuple):
    """A probe with Kubernetes' defaults filled in; seconds. ``budget_s`` is what it allows before it has failed."""

    initial: int
    period: int
    failures: int
    timeout: int
    budget_s: int


class Probes(NamedTuple):
    """The probes of a container; None where there is none."""

    startup: Probe | None = None
    liveness: Probe | None = None
    readiness: Probe | None = None


class Strategy(NamedTuple):
    """How a new version is rolled out; ``default`` where the manifest leaves it to Kubernetes."""

    type: str
    max_surge: str | None = None
    max_unavailable: str | None = None
    default: bool = False


class Workload(NamedTuple):
    """One engine container in one object.

    Attributes:
        unit: ``Kind/name#container``.
        supported: whether its arguments were understood and the tool knows the engine; ``because`` says why not.
        engine: ``vllm``, ``sglang``, …, None if unknown.
        engine_version: from the image tag, None where the tag does not say.
        model: what is loaded; ``served_name`` may say something else.
        gpu_resource: ``nvidia.com/gpu``, a MIG profile's resource, ``dra:`` and a device class.
        gpus_total: over all replicas, None where that is not in the manifest.
        node_selector: None if there is none. ``node_affinity`` holds the required In terms; ``node_terms`` all
            required terms, one of which a node must satisfy.
        edit_paths: by argument, and by resource name for the devices.
        place: where the container is found again: document, item of a List, pointer.
    """

    unit: str
    kind: str
    namespace: str | None
    name: str
    container: str
    supported: bool
    because: Claim | None = None
    engine: str | None = None
    engine_version: str | None = None
    image: str | None = None
    model: str | None = None
    served_name: str | None = None
    arguments: EngineArgs = NOTHING_GIVEN
    gpu_resource: str | None = None
    gpus_per_pod: int | None = None
    gpus_total: int | None = None
    node_selector: Mapping[str, str] | None = None
    node_affinity: Mapping[str, tuple[str, ...]] | None = None
    node_terms: "tuple[tuple[Requirement, ...], ...]" = ()
    tolerations: tuple[Mapping[str, str], ...] = ()
    host_memory_limit: Amount | None = None
    host_memory_request: Amount | None = None
    cpu_request: Amount | None = None
    shm: Shm | None = None
    probes: Probes | None = None
    strategy: Strategy | None = None
    replicas: int | None = None
    progress_deadline_s: int | None = None
    edit_paths: Mapping[str, EditPath] = {}
    place: tuple[int, int | None, str] | None = None
