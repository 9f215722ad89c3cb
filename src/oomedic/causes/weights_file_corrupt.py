"""A weights file is damaged.

A file of the checkpoint was cut short, is only a pointer to the real one, or is something else.

What you see
------------
"Error while deserializing header: HeaderTooLarge", "… incomplete metadata, file not fully covered", "PytorchStreamReader
failed", "invalid load key, 'v'", "GGUF magic invalid".

Why it happens
--------------
A download that was interrupted, a disk that filled up, a copy that is still going on; or a repository that was cloned without
git-lfs, so that each weights file is a text of three lines. "header too large" and "invalid load key, 'v'" (the first letter
of "version https://git-lfs…") point at the latter.

Example
-------
    $ oomedic diagnose -
    safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer

Not this
--------
    $ oomedic diagnose -
    RuntimeError: Cannot find any model weights with `/models/m`

What helps, in order, and why
-----------------------------
Delete the file and fetch it again, with git lfs pull or the hub's own client; compare its size with the hub's.

What makes it worse
-------------------
Nothing; memory settings play no part.

Since
-----
All releases.

Says
----
summary: A weights file cannot be read: it is damaged or cut short.
pointer: A weights file cannot be read: it is probably a git-lfs pointer, a text that stands for the real file.
reason: The reader says: {reason}.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of, text
from oomedic.symptoms.failures import start_failure

_POINTER = ("headertoolarge", "header too large", "invalid load key, 'v'")
"""A pointer begins with "version": read as a length that is absurdly large, as a pickle an unknown key."""


@cause(
    "CFG112",
    "weights-file-corrupt",
    reads=("weights_file_corrupt", "gguf_corrupt"),
    helps=("FIX203", "FIX406"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX301"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise what the reader of the file says."""
    event = start_failure(evidence, "weights_file_corrupt", "gguf_corrupt")
    if event is None:
        return None
    where, reason = line_of(event), text(event, "reason")
    pointer = any(sign in (reason or event.quote).lower() for sign in _POINTER)
    claims = [claim("CFG112.pointer" if pointer else "CFG112.summary", where)]
    if reason:
        claims.append(claim("CFG112.reason", where, reason=reason))
    return Finding("CFG112", "weights-file-corrupt", "certain", tuple(claims), event.line, "weights_load")
