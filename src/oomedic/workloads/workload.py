"""What a manifest says about one engine: where it runs, with which arguments, and where each could be changed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from oomedic.arguments.given import NOTHING_GIVEN, EngineArgs
from oomedic.claim import Claim
from oomedic.kube.ownership import Manager
from oomedic.units import Bytes

if TYPE_CHECKING:
    from oomedic.kube.requirement import Requirement


class EditPath(NamedTuple):
    """Where a change of one argument would go.

    Attributes:
        file: as it was named.
        object: ``Kind/name`` of the Kubernetes object, or ``values`` of a Helm values file.
        pointer: RFC 6901, from the root of that object; None where a patch of kustomize makes the value.
        inner: what to change, when the place is part of a longer text: a flag in a shell program or a variable, a key
            of a file in a ConfigMap; None where it is the leaf as a whole.
        span: the characters of the leaf in the file.
    """

    file: str
    object: str
    pointer: str | None
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
    """A probe with Kubernetes' defaults filled in; seconds.

    ``budget_s`` is what it allows before it has failed. It asks for an HTTP ``path``, a ``tcp`` port, or runs ``exec``.
    """

    initial: int
    period: int
    failures: int
    timeout: int
    budget_s: int
    path: str | None = None
    tcp: str | None = None
    exec: str | None = None


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
        server: the program that reads the arguments and hands them on, None where that is vLLM's own.
        model: what is loaded; ``served_name`` may say something else.
        gpu_resource: ``nvidia.com/gpu``, a MIG profile's resource, ``dra:`` and a device class.
        gpus_total: over all pods of all replicas, None where that is not in the manifest.
        node_selector: None if there is none. ``node_affinity`` holds the required In terms; ``node_terms`` all
            required terms, one of which a node must satisfy.
        edit_paths: by argument, and by resource name for the devices; arguments that are often changed have one even
            where they are not given.
        place: where the container is found again: document, item of a List, a key within the object.
        file: that it was read from, as it was named: two files may hold objects of one name.
        group_size: how many pods make one replica of the engine.
        replicas_range: the bounds of an autoscaler.
        role: ``prefill`` or ``decode`` where they are apart.
        port: that the engine listens on, where the manifest says so outside of the arguments.
        device_memory: what one device has by its name or by the claim: a MIG slice, a share, a lower bound.
        model_hint: the model's id where only a path is loaded; ``quantization_hint`` what its name says.
        offload: host memory for the KV cache, in bytes, by what asks for it.
        instance_type: of the nodes that the object asks for itself.
        dead_variables: variables that look like arguments and that nothing reads.
        managed_by: tools that keep the object as their source says; ``owner`` is the object that made this one.
        notes: what else a person should know before changing it.
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
    server: str | None = None
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
    file: str = ""
    group_size: int = 1
    replicas_range: tuple[int | None, int | None] | None = None
    role: str | None = None
    port: int | None = None
    device_memory: Amount | None = None
    model_hint: str | None = None
    quantization_hint: str | None = None
    offload: Mapping[str, Bytes] = {}
    instance_type: str | None = None
    dead_variables: tuple[str, ...] = ()
    managed_by: tuple[Manager, ...] = ()
    owner: str | None = None
    notes: tuple[Claim, ...] = ()

    @property
    def gpus_per_replica(self) -> int | None:
        """Devices of all pods that make one replica."""
        return None if self.gpus_per_pod is None else self.gpus_per_pod * self.group_size
