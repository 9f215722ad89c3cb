"""What a file is, by how it begins: whoever collects evidence names files as they like."""

import re
from collections.abc import Callable
from typing import Final, Literal

FileKind = Literal["log", "manifest", "objects", "describe", "events", "nvidia-smi", "dcgm"]
"""``objects`` hold pods, nodes or events as YAML or JSON; a ``manifest`` is all other YAML of Kubernetes, or Helm's."""

# Patterns are compiled when they are first needed (and kept by re): most files need one or two of them.
_KIND: Final = r"(?m)^([ \t]{0,8}(?:- )?)kind:[ \t]+[\"']?(\w{1,60})"
_JSON_KIND: Final = r"\"kind\":\s{0,4}\"(\w{1,60})\""
_JSON: Final = r"\s*\{\s*\"(?:apiVersion|kind|items|metadata)\":"
_OBSERVED: Final = frozenset(("Pod", "PodList", "Node", "NodeList", "Event", "EventList"))
_DESCRIBED: Final = r"\s*Name:\s+\S"
_SECTION: Final = r"(?m)^(?:Containers|Events|Conditions|Allocatable|Controlled By|Pod Template|Labels):"
_EVENTS: Final = (
    r"(?m)^(?:NAMESPACE\s{2,})?LAST SEEN\s{2,}(?:FIRST SEEN\s{2,}COUNT\s{2,})?(?:NAME\s{2,})?TYPE\s{2,}REASON"
)
_SMI: Final = (
    r"(?m)^\| ?NVIDIA-SMI |={3,}NVSMI LOG={3,}|^GPU \d+: .{1,80} \(UUID: GPU-|memory\.(?:used|total|free) \["
    r"|used_(?:gpu_)?memory \[|^NVIDIA-SMI has failed|^Failed to initialize NVML"
    r"|^\|\s+\d+\s+(?:NVIDIA|Tesla|GeForce|Quadro) [^|\n]{1,80}\|\s+[0-9A-F]{8}:"
)
_SMI_WORDS: Final = ("NVIDIA", "NVSMI", "UUID: GPU-", "memory", "NVML", "| ")
_DCGM: Final = r"(?m)^DCGM_FI_\w{1,60}\{"
_ENGINE_LINE: Final = (
    r"\b(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d |Traceback \(most recent call last\)|vLLM API server version"
)
_LOGGED: Final = r"\b(?:INFO|WARNING|ERROR|DEBUG|CRITICAL)\b"
_NEAR: Final = 4000


def kind_of_file(name: str, head: str) -> FileKind:
    """Tell what a file is.

    Args:
        name: its name; only its ending counts, and only where the content leaves it open.
        head: how it begins, some ten thousand characters.
    """
    text = head.removeprefix("\ufeff")
    found = next((kind for kind, recognises in _RECOGNISED if recognises(text)), None)
    if found is None and name.endswith((".yaml", ".yml")) and not re.search(_LOGGED, text[:_NEAR]):
        return "manifest"
    return found or "log"


def _is_dcgm(text: str) -> bool:
    return "DCGM_FI_" in text and re.search(_DCGM, text) is not None


def _is_nvidia_smi(text: str) -> bool:
    """Tell nvidia-smi's output from the log of a container that printed it before it started the engine."""
    near = text[:_NEAR]
    if not any(word in near for word in _SMI_WORDS) or re.search(_SMI, near) is None:
        return False
    return re.search(_ENGINE_LINE, text) is None


def _holds_objects(text: str) -> bool:
    return _is_kubernetes(text) and not _OBSERVED.isdisjoint(_kinds(text))


def _is_kubernetes(text: str) -> bool:
    """Tell whether a text is an object of Kubernetes: its keys stand near its beginning, at the left."""
    if "apiVersion" not in text or "kind" not in text:
        return False
    if re.match(_JSON, text):
        return re.search(_JSON_KIND, text) is not None
    return re.search(_KIND, text) is not None and ("apiVersion:" in text[:_NEAR] or "kind:" in text[:_NEAR])


def _kinds(text: str) -> set[str]:
    """Return the kinds of the file's objects, or of what a List lists; what stands deeper belongs to these."""
    if re.match(_JSON, text):
        named = re.findall(_JSON_KIND, text)
        return set(named if named[:1] == ["List"] or text.lstrip().startswith('{"items"') else named[:1])
    found = [(len(match[1]), match[2]) for match in re.finditer(_KIND, text)]
    listed = any(kind == "List" for _, kind in found) or text.lstrip().startswith(("apiVersion: v1\nitems:", "items:"))
    shallowest = min((indent for indent, _ in found), default=0)
    return {kind for indent, kind in found if listed or indent == shallowest}


def _is_events(text: str) -> bool:
    if "LAST SEEN" not in text[:_NEAR] or re.search(_EVENTS, text[:_NEAR]) is None:
        return False
    return re.search(_ENGINE_LINE, text) is None


def _is_description(text: str) -> bool:
    """Tell a description, which may quote the end of a log, from one that a log follows in the same file."""
    if re.match(_DESCRIBED, text) is None or re.search(_SECTION, text) is None:
        return False
    return re.search(_ENGINE_LINE, text[max(0, text.find("\nEvents:")) :]) is None or "\nEvents:" not in text


_RECOGNISED: Final[tuple[tuple[FileKind, Callable[[str], bool]], ...]] = (
    ("dcgm", _is_dcgm),
    ("nvidia-smi", _is_nvidia_smi),
    ("objects", _holds_objects),
    ("manifest", _is_kubernetes),
    ("events", _is_events),
    ("describe", _is_description),
)
