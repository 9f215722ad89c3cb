"""What a manifest says between the lines: the model behind a path, its quantisation, host memory for the KV cache."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from oomedic.arguments.given import EngineArgs, Value
from oomedic.arguments.shell_words import Variable
from oomedic.units import GIB, Bytes
from oomedic.yamldoc.nodes import Node, ScalarNode, get, items

_ID: Final = r"([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)"
_DOWNLOADS: Final = (
    re.compile(rf"(?:hf|huggingface-cli)\s+download\s+(?:--?[\w-]+(?:[= ]\S+)?\s+)*?['\"]?{_ID}"),
    re.compile(rf"snapshot_download\(\s*(?:repo_id\s*=\s*)?['\"]{_ID}"),
    re.compile(rf"huggingface\.co/{_ID}"),
    re.compile(rf"modelscope\s+download\s+(?:--model\s+)?['\"]?{_ID}"),
)
_HOST_MEMORY: Final = "cpu_bytes_to_use"
_IN_GIB: Final = ("kv_offloading_size",)
_ABSURD: Final = 1e12
"""GiB: larger than any host memory."""
_LMCACHE: Final = "LMCACHE_MAX_LOCAL_CPU_SIZE"


def model_hint(path: str, pod: Node | None) -> str | None:
    """Return the id that an init container downloads to a path; the only one, where none names the path.

    >>> model_hint("/models/x", None)
    """
    found: list[tuple[str, bool]] = []
    for container in items(get(pod, "initContainers")):
        texts = [
            item.value
            for field in ("command", "args")
            for item in items(get(container, field))
            if isinstance(item, ScalarNode)
        ]
        values = [get(entry, "value") for entry in items(get(container, "env"))]
        program = " ".join(texts)
        variables = " ".join(value.value for value in values if isinstance(value, ScalarNode))
        for pattern in _DOWNLOADS:
            found += [(match[1], path in program) for match in pattern.finditer(program)]
        if not found and "download" in program:
            found += [(match[0], False) for match in re.finditer(_ID, variables)]
    exact = [name for name, here in found if here]
    names = list(dict.fromkeys(exact or [name for name, _ in found]))
    return names[0] if len(names) == 1 else None


def quantization_hint(arguments: EngineArgs, model: str | None) -> str | None:
    """Return what a model's name says of its quantisation, where no argument does.

    >>> quantization_hint(EngineArgs({}), "org/Model-8B-FP8")
    'fp8'
    """
    if model is None or "quantization" in arguments.given:
        return None
    from oomedic.models.names import split_name, split_storage  # its patterns take 2 ms to compile

    stored = split_storage(split_name(model)[1])[1]
    return next((word for word in stored if word not in {"static", "dynamic", "quantized", "block"}), None)


def offload(arguments: EngineArgs, variables: Mapping[str, Variable]) -> Mapping[str, Bytes]:
    """Return the host memory that the KV cache is to use, by what asks for it."""
    found: dict[str, Bytes] = {}
    config = arguments.given.get("kv_transfer_config")
    sizes = list(_sizes(config.value)) if config else []
    if sizes:
        found[_HOST_MEMORY] = sum(sizes)
    for name in _IN_GIB:
        given = arguments.given.get(name)
        if given and isinstance(given.value, int | float) and 0 < given.value < _ABSURD:
            found[name] = int(given.value * GIB)
    lmcache = variables.get(_LMCACHE)
    try:
        size = float(lmcache.text or "") if lmcache else 0.0
    except ValueError:
        size = 0.0
    if 0 < size < _ABSURD:
        found[_LMCACHE] = int(size * GIB)
    return found


def _sizes(value: Value | Any) -> Iterator[int]:
    """Yield every size of host memory in a connector's configuration, however deep it stands."""
    if isinstance(value, Mapping):
        for key, inside in value.items():
            if key == _HOST_MEMORY and isinstance(inside, int | float):
                yield int(inside)
            else:
                yield from _sizes(inside)
    elif isinstance(value, tuple):
        for inside in value:
            yield from _sizes(inside)
