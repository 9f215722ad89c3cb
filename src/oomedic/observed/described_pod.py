"""A described pod as a Pod object: what the kubelet was told and what became of it."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from oomedic.observed.outline import Entry

_STATES: Final = {"Running": "running", "Waiting": "waiting", "Terminated": "terminated"}
_SECRET: Final = re.compile(r"<set to the key '([^']{1,200})' (?:in|of) (secret|config map) '([^']{1,200})'>")
_FIELD: Final = re.compile(r"\((v1|\w+/v\d\w*):([\w.\[\]'/-]{1,120})\)$")
_MOUNT: Final = re.compile(r"(\S+) from (\S+)")
_PROBE: Final = re.compile(r"(delay|timeout|period|#failure)=(\d+)")
_PROBE_FIELDS: Final = {
    "delay": "initialDelaySeconds",
    "timeout": "timeoutSeconds",
    "period": "periodSeconds",
    "#failure": "failureThreshold",
}
_SHELL: Final = re.compile(r"(?:\S*/)?(?:ba|da|a|z|k)?sh")
_TIME: Final = "%a, %d %b %Y %H:%M:%S %z"
_GROUPS: Final = (("Init Containers", "initContainers"), ("Containers", "containers"))
Tree = dict[str, Any]


def pod_of(found: Mapping[str, Entry]) -> tuple[Tree, Mapping[str, int]]:
    """Return the pod, and the line of each pointer into its status."""
    places: dict[str, int] = {"status": found["Status"].line if "Status" in found else found["Containers"].line}
    spec: Tree = {"nodeName": _value(found, "Node").partition("/")[0] or None}
    status: Tree = {"reason": _value(found, "Reason") or None, "message": _value(found, "Message") or None}
    for heading, field in _GROUPS:
        group = found.get(heading)
        if group is None:
            continue
        spec[field] = [_container(entry) for entry in group.children]
        statuses = f"{field.removesuffix('s')}Statuses"
        status[statuses] = [
            _status(entry, f"status.{statuses}[{index}]", places) for index, entry in enumerate(group.children)
        ]
    spec["nodeSelector"] = dict(_pairs(found.get("Node-Selectors")))
    spec["volumes"] = [_volume(entry) for entry in found["Volumes"].children] if "Volumes" in found else []
    metadata: Tree = {"name": _value(found, "Name"), "namespace": _value(found, "Namespace") or None}
    kind, _, owner = _value(found, "Controlled By").partition("/")
    if owner:
        metadata["ownerReferences"] = [{"kind": kind, "name": owner}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}, places


def _value(found: Mapping[str, Entry], key: str) -> str:
    value = found[key].value if key in found else ""
    return "" if value.startswith("<") else value


def _container(entry: Entry) -> Tree:
    limits, requests = entry.child("Limits"), entry.child("Requests")
    mounts = entry.child("Mounts")
    return {
        "name": entry.key,
        "image": entry.value_of("Image"),
        **_command(entry),
        "env": _environment(entry.child("Environment")),
        "resources": {"limits": dict(_leaves(limits)), "requests": dict(_leaves(requests))},
        "volumeMounts": [
            {"mountPath": mount[1], "name": mount[2]}
            for child in (mounts.children if mounts else ())
            if (mount := _MOUNT.match(child.text))
        ],
        **{
            field: _probe(probe)
            for name, field in (
                ("Startup", "startupProbe"),
                ("Liveness", "livenessProbe"),
                ("Readiness", "readinessProbe"),
            )
            if (probe := entry.value_of(name))
        },
    }


def _command(entry: Entry) -> Tree:
    """Read the words; the lines of a shell program are one word, though a description does not show where it ends."""
    command, args = entry.child("Command"), entry.child("Args")
    words, more = (command.block() if command else []), (args.block() if args else [])
    if words and _SHELL.fullmatch(words[0]) and len(words) > 2:
        words = [*words[:2], "\n".join(words[2:])]
    elif words and _SHELL.fullmatch(words[0]) and more:
        more = ["\n".join(more)]
    return {key: value for key, value in (("command", words), ("args", more)) if value}


def _environment(entry: Entry | None) -> list[Tree]:
    """Read variables; what comes from elsewhere is known to exist, no more."""
    variables: list[Tree] = []
    for child in entry.children if entry else ():
        if _SECRET.match(child.value) or _FIELD.search(child.value):
            variables.append({"name": child.key, "valueFrom": {}})
        elif child.key:
            variables.append({"name": child.key, "value": child.value})
    return variables


def _leaves(entry: Entry | None) -> dict[str, str]:
    return {child.key: child.value for child in entry.children} if entry else {}


def _probe(text: str) -> Tree:
    return {_PROBE_FIELDS[name]: number.rstrip("s") for name, number in _PROBE.findall(text)}


def _pairs(entry: Entry | None) -> dict[str, str]:
    texts = (entry.value, *(child.text for child in entry.children)) if entry else ()
    return {name: value for name, separator, value in (text.strip().partition("=") for text in texts) if separator}


def _volume(entry: Entry) -> Tree:
    kind = entry.value_of("Type") or ""
    if not kind.startswith("EmptyDir"):
        return {"name": entry.key}
    sizes = {"medium": entry.value_of("Medium"), "sizeLimit": entry.value_of("SizeLimit")}
    return {"name": entry.key, "emptyDir": {key: value for key, value in sizes.items() if value}}


def _status(entry: Entry, pointer: str, places: dict[str, int]) -> Tree:
    places[pointer] = entry.line
    status: Tree = {"name": entry.key, "restartCount": entry.value_of("Restart Count")}
    for heading, field in (("State", "state"), ("Last State", "lastState")):
        state = entry.child(heading)
        kind = _STATES.get(state.value) if state else None
        if state is not None and kind is not None:
            status[field] = {kind: _state(state)}
            places[f"{pointer}.{field}.{kind}"] = state.line
    return status


def _state(state: Entry) -> Tree:
    message = state.child("Message")
    said = "\n".join((message.value, *message.block())) if message else None
    times = {"startedAt": _iso(state.value_of("Started")), "finishedAt": _iso(state.value_of("Finished"))}
    code = state.value_of("Exit Code")
    return {"reason": state.value_of("Reason"), "message": said, "exitCode": code, **times}


def _iso(written: str | None) -> str | None:
    try:
        return None if written is None else datetime.strptime(written, _TIME).isoformat()  # noqa: DTZ007 - %z is in _TIME
    except ValueError:
        return None
