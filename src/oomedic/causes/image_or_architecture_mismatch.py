"""The image does not run on this node.

It is for another kind of processor, cannot be pulled, or lacks the program that the pod starts.

What you see
------------
"exec format error", "image platform (linux/amd64) does not match the expected platform (linux/arm64)", "ErrImagePull", "no matching
manifest for linux/arm64", "vllm: executable file not found in $PATH".

Why it happens
--------------
An amd64 image on arm64 nodes (Graviton, GH200, GB200, GB10), or the other way round; a tag that does not exist; a registry that
asks for a login; a command that belongs to another image.

Example
-------
    $ oomedic diagnose -
    exec /usr/local/bin/python3: exec format error

Not this
--------
    $ oomedic diagnose -
    Fatal Python error: Illegal instruction

What helps, in order, and why
-----------------------------
An image (or a tag with several platforms) for the node's processor; a node selector kubernetes.io/arch that keeps the pod where its
image runs; the right tag and pull secret.

What makes it worse
-------------------
Nothing; the engine never starts.

Since
-----
All releases.

Says
----
architecture: The image is for another kind of processor than the node's.
platforms: The image is for {image}; the node is {host}.
pull: The image cannot be pulled: the tag does not exist, or the registry wants a login.
refused: The container could not be started: {told}. An image for another processor and a mount that is refused look like this.
one-word: The command is one text with spaces, "{command}": that is taken for the name of one program. Each word must be an item of its own.
manifest: The image does not exist for this kind of processor, or has no such program.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.logs.fields import line_of, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import start_failure

_PRINTED = ("exec_format", "image_pull_failed", "image_platform_missing", "container_refused")
_ONE_WORD = "command_in_one_word"
_HOOK = "PostStartHookError"


@cause(
    "POD104",
    "image-or-architecture-mismatch",
    reads=(*_PRINTED, _ONE_WORD),
    helps=("FIX409", "FIX407", "FIX410"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX201", "FIX301"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise what the kernel or the kubelet says about the image."""
    event = start_failure(evidence, _ONE_WORD)
    if event is not None:
        said = claim("POD104.one-word", line_of(event), command=text(event, "command"))
        return Finding("POD104", "image-or-architecture-mismatch", "certain", (said,), event.line, "other")
    event = start_failure(evidence, *_PRINTED)
    if event is None or text(event, "reason") == _HOOK:
        return None
    if _unclear(event) and evidence.first("container_toolkit_refused"):
        return None
    confidence: Confidence = "likely" if _unclear(event) else "certain"
    return Finding("POD104", "image-or-architecture-mismatch", confidence, (_said(event),), event.line, "other")


def _said(event: Event) -> Claim:
    where, image, host = line_of(event), text(event, "image"), text(event, "host")
    if event.signature == "image_pull_failed":
        return claim("POD104.pull", where)
    if _unclear(event):
        told = text(event, "told") or text(event, "message")
        return claim("POD104.refused", where, told=told)
    if event.signature == "image_platform_missing":
        return claim("POD104.manifest", where)
    return (
        claim("POD104.platforms", where, image=image, host=host)
        if image and host
        else claim("POD104.architecture", where)
    )


def _unclear(event: Event) -> bool:
    """Tell whether only the runtime's own words, which no signature reads, say why the container did not start."""
    return event.signature == "container_refused" or text(event, "told") is not None
