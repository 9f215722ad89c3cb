"""KubeAI Model: arguments, and a resource profile with a number behind it, which the controller multiplies.

The pods belong to the Model itself; a bigger GPU is another profile. Profiles are values of KubeAI's chart, which may
stand in the same manifest; without them a profile is one GPU of the vendor that its name tells.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from oomedic.claim import claim
from oomedic.kube.objects import KubeObject
from oomedic.models.uri import read_model_uri
from oomedic.workloads.devices import whole
from oomedic.workloads.home import list_home
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.reading import Count, Reading
from oomedic.workloads.source import Source
from oomedic.yamldoc.nodes import Node, ScalarNode, fields, get, items, text_of
from oomedic.yamldoc.rendered import entries, joined, leaf, listed, mapped

_VENDORS: Final = (("amd-gpu", "amd.com/gpu"), ("google-tpu", "google.com/tpu"), ("gaudi", "habana.ai/gaudi"))
_GPU: Final = "nvidia.com/gpu"
_PROFILES: Final = "resourceProfiles"


def recognises(found: KubeObject) -> bool:
    """Tell whether this is a Model of KubeAI."""
    return found.kind == "Model" and found.group == "kubeai.org"


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return the engine of a model that vLLM serves; other engines are declined."""
    spec = found.at("/spec")
    engine = text_of(get(spec, "engine")) or "VLLM"
    asked = get(spec, "resourceProfile")
    name, _, count = (text_of(asked) or "").partition(":")
    profile = _profile(name, source)
    devices = _resource(name, profile)
    number = (whole(count) or 1) * devices[1]
    least, most = whole(text_of(get(spec, "minReplicas"))), whole(text_of(get(spec, "maxReplicas")))
    template = PodTemplate(
        _pod(found, spec, profile, {devices[0]: str(number)} if number else {}),
        "/spec",
        unit="{container}",
        replicas=whole(text_of(get(spec, "replicas"))) or least or 1,
        engine="server",
        home=list_home(spec, "args"),
    )
    for reading in read_pod(found, template, source):
        counts = (Count(asked, f"{name}:"),) if isinstance(asked, ScalarNode) and count and devices[1] == 1 else ()
        shown = _declined(reading, engine) if engine != "VLLM" else reading
        spot = source.spot(asked)
        paths = {**shown.workload.edit_paths, **({devices[0]: spot.edit_path(asked)} if spot and counts else {})}
        yield shown._replace(counts=counts).having(
            unit=found.title, replicas_range=(least, most) if (least, most) != (None, None) else None, edit_paths=paths
        )


def _profile(name: str, source: Source) -> Node | None:
    """Return a profile from values of KubeAI's chart that were given too."""
    for values in source.of_kind(""):
        profile = fields(get(values.node, _PROFILES)).get(name)
        if profile is not None:
            source.atlas.take(values)
            return profile
    return None


def _resource(name: str, profile: Node | None) -> tuple[str, int]:
    """Return what one of the profile is: its own limits, else one device of the vendor in its name."""
    asked = fields(get(profile, "limits")) or fields(get(profile, "requests"))
    for resource, amount in asked.items():
        if "/" in resource and "gpu" in resource:
            return resource, whole(text_of(amount)) or 0
    if name.startswith("cpu") or not name:
        return _GPU, 0
    return next((resource for vendor, resource in _VENDORS if vendor in name), _GPU), 1


def _pod(found: KubeObject, spec: Node | None, profile: Node | None, devices: dict[str, str]) -> Node:
    probe = {"periodSeconds": "2", "failureThreshold": "5400", "timeoutSeconds": "2"}
    limits = mapped({**fields(get(profile, "limits")), **devices})
    requests = mapped({**fields(get(profile, "requests")), **devices})
    container = {
        "name": "server",
        "image": get(spec, "image"),
        "args": listed(_arguments(found, spec)),
        "env": joined(listed(entries(get(spec, "env")))),
        "resources": mapped({"limits": limits, "requests": requests}),
        "startupProbe": mapped({**probe, "httpGet": mapped({"path": "/health", "port": "8000"})}),
        "volumeMounts": listed([mapped({"name": "dshm", "mountPath": "/dev/shm"})]),  # noqa: S108 - a mount path
    }
    volume = mapped({"name": "dshm", "emptyDir": mapped({"medium": "Memory"})})
    return mapped(
        {
            "containers": listed([mapped(container)]),
            "volumes": listed([volume]),
            "nodeSelector": get(profile, "nodeSelector"),
            "tolerations": get(profile, "tolerations"),
            "affinity": get(profile, "affinity"),
        }
    )


def _arguments(found: KubeObject, spec: Node | None) -> Iterator[Node]:
    """Yield what the controller puts in front, and the model's own arguments behind it."""
    url = get(spec, "url")
    written = text_of(url)
    if written is not None:
        yield from (leaf("--model", url), leaf(read_model_uri(written).id or written, url))
    yield leaf(f"--served-model-name={found.name}")
    yield from items(get(spec, "args"))


def _declined(reading: Reading, engine: str) -> Reading:
    because = claim("workload.engine-unsupported", engine=engine)
    return reading.having(engine=engine.lower(), supported=False, because=because)
