"""What a file is, by how it begins: whoever collects evidence names files as they like."""

import re
from collections.abc import Callable
from typing import Final, Literal

FileKind = Literal["log", "manifest", "objects", "describe", "events", "nvidia-smi", "dcgm"]
"""``objects`` hold pods, nodes or events as YAML or JSON; a ``manifest`` is all other YAML of Kubernetes, or Helm's."""

_KIND: Final = re.compile(r"^([ \t]{0,8}(?:- )?)kind:[ \t]+[\"']?(\w{1,60})", re.MULTILINE)
_JSON_KIND: Final = re.compile(r"\"kind\":\s{0,4}\"(\w{1,60})\"")
_API: Final = re.compile(r"^[ \t]{0,8}(?:- )?apiVersion:[ \t]|\"apiVersion\":", re.MULTILINE)
_JSON: Final = re.compile(r"\s*\{\s*\"(?:apiVersion|kind|items|metadata)\":")
_OBSERVED: Final = frozenset(("Pod", "PodList", "Node", "NodeList", "Event", "EventList"))
_SECTION: Final = re.compile(
    r"^(?:Containers|Events|Conditions|Allocatable|Controlled By|Pod Template|Labels):", re.MULTILINE
)
_EVENTS: Final = re.compile(
    r"^(?:NAMESPACE\s{2,})?LAST SEEN\s{2,}(?:FIRST SEEN\s{2,}COUNT\s{2,})?(?:NAME\s{2,})?TYPE\s{2,}REASON", re.MULTILINE
)
_SMI: Final = re.compile(
    r"^\| ?NVIDIA-SMI |={3,}NVSMI LOG={3,}|^GPU \d+: .{1,80} \(UUID: GPU-|memory\.(?:used|total|free) \["
    r"|used_(?:gpu_)?memory \[|^NVIDIA-SMI has failed|^Failed to initialize NVML"
    r"|^\|\s+\d+\s+(?:NVIDIA|Tesla|GeForce|Quadro) [^|\n]{1,80}\|\s+[0-9A-F]{8}:",
    re.MULTILINE,
)
_DCGM: Final = re.compile(r"^DCGM_FI_\w{1,60}\{", re.MULTILINE)
_LOGGED: Final = re.compile(r"\b(?:INFO|WARNING|ERROR|DEBUG|CRITICAL)\b")
_NEAR: Final = 4000


def kind_of_file(name: str, head: str) -> FileKind:
    """Tell what a file is.

    Args:
        name: its name; only its ending counts, and only where the content leaves it open.
        head: how it begins, some ten thousand characters.
    """
    text = head.removeprefix("\ufeff")
    found = next((kind for kind, recognises in _RECOGNISED if recognises(text)), None)
    if found is None and name.endswith((".yaml", ".yml")) and not _LOGGED.search(text[:_NEAR]):
        return "manifest"
    return found or "log"


def _is_dcgm(text: str) -> bool:
    return "DCGM_FI_" in text and _DCGM.search(text) is not None


def _is_nvidia_smi(text: str) -> bool:
    return _SMI.search(text[:_NEAR]) is not None


def _holds_objects(text: str) -> bool:
    return _is_kubernetes(text) and not _OBSERVED.isdisjoint(_kinds(text))


def _is_kubernetes(text: str) -> bool:
    """Tell whether a text is an object of Kubernetes: its keys stand near its beginning, at the left."""
    if _JSON.match(text):
        return _API.search(text) is not None and _JSON_KIND.search(text) is not None
    api, kind = _API.search(text), _KIND.search(text)
    return api is not None and kind is not None and min(api.start(), kind.start()) < _NEAR


def _kinds(text: str) -> set[str]:
    """Return the kinds of the file's objects, or of what a List lists; what stands deeper belongs to these."""
    if _JSON.match(text):
        return set(_JSON_KIND.findall(text)[:1])
    found = [(len(match[1]), match[2]) for match in _KIND.finditer(text)]
    listed = any(kind == "List" for _, kind in found) or text.lstrip().startswith(("apiVersion: v1\nitems:", "items:"))
    shallowest = min((indent for indent, _ in found), default=0)
    return {kind for indent, kind in found if listed or indent == shallowest}


def _is_events(text: str) -> bool:
    return _EVENTS.search(text[:_NEAR]) is not None


def _is_description(text: str) -> bool:
    return re.match(r"\s*Name:\s+\S", text) is not None and _SECTION.search(text) is not None


_RECOGNISED: Final[tuple[tuple[FileKind, Callable[[str], bool]], ...]] = (
    ("dcgm", _is_dcgm),
    ("nvidia-smi", _is_nvidia_smi),
    ("objects", _holds_objects),
    ("manifest", _is_kubernetes),
    ("events", _is_events),
    ("describe", _is_description),
)
