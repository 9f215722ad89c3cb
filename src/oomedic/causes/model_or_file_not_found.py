"""The model, or a file that was named, does not exist.

What you see
------------
"404 Client Error", "Repository Not Found for url", "Invalid repository ID or local directory specified", "Repo id must be in the
form …", "Cannot find any model weights with …", "No adapter found for …", "[Errno 2] No such file or directory", "Permission denied", "getpwuid(): uid not found", "FailedMount", "Couldn't
instantiate the backend tokenizer", "outgoing traffic has been disabled".

Why it happens
--------------
A misspelt id; a path that is not mounted (a path that does not exist is taken for an id of the hub, which explains messages
about "repo id"); a volume that is empty or mounted elsewhere; a folder without config.json, weights or tokenizer; HF_HUB_OFFLINE=1
with an empty cache. A container that may not run as root (OpenShift) finds its home and cache folders unwritable. A private repository without a token looks the same.

Example
-------
    $ oomedic diagnose -
    Value error, Invalid repository ID or local directory specified: '/models/m'.

    $ oomedic diagnose -
    FileNotFoundError: [Errno 2] No such file or directory: '/tls/tls.key'

Not this
--------
    $ oomedic diagnose -
    huggingface_hub.errors.GatedRepoError: 403 Client Error.

What helps, in order, and why
-----------------------------
The full id (organisation/name) or the path as the container sees it; `kubectl exec … ls` on the volume. All files of the model in
one folder. For offline pods, a cache that was filled before (HF_HOME).

What makes it worse
-------------------
Nothing; the engine fails before it uses any GPU memory.

Since
-----
All releases.

Says
----
repository: The hub has no repository {name}, or hides it from this login.
path: {name} is neither a folder that the container sees, with a config.json in it, nor a repository that the hub shows to this login.
weights: {name} holds no weight files.
tokenizer: The model has no tokenizer files, or not those that --tokenizer-mode asks for.
adapter: There is no adapter at {name}.
template: The chat template {name} does not exist.
file: {name} does not exist.
file-unknown: A file that was named does not exist.
permission: {name} may not be read or written by the container's user.
user: The container runs as a user that has no name in the image; a package asks for its name or home folder.
volume: A volume of the pod, where the model or its cache may lie, cannot be mounted: {told}.
offline: The hub is switched off (HF_HUB_OFFLINE) and the model is not in the cache.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.logs.fields import line_of, text
from oomedic.logs.phases import frames_of
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import outweighed, spoken, start_failure
from oomedic.symptoms.hub_errors import told_by_hub

_NAMED = (
    *("weights_missing", "lora_adapter_missing", "chat_template_missing"),
    *("tokenizer_missing", "hub_offline", "model_file_missing"),
)
_WEAK = ("file_missing", "permission_denied", "user_unknown", "volume_not_mounted")
_SAYS = {
    "weights_missing": "POD103.weights",
    "lora_adapter_missing": "POD103.adapter",
    "chat_template_missing": "POD103.template",
    "tokenizer_missing": "POD103.tokenizer",
    "python_error": "POD103.tokenizer",
    "hub_offline": "POD103.offline",
    "model_path_invalid": "POD103.path",
    "repository_missing": "POD103.repository",
    "hub_status": "POD103.repository",
    "model_file_missing": "POD103.file",
    "file_missing": "POD103.file",
    "permission_denied": "POD103.permission",
    "user_unknown": "POD103.user",
    "volume_not_mounted": "POD103.volume",
}
_FIELDS = ("model", "path", "file", "program")
_MISSING = frozenset({404})


@cause(
    "POD103",
    "model-or-file-not-found",
    reads=(*_NAMED, *_WEAK, "model_path_invalid", "repository_missing", "hub_status", "python_error"),
    helps=("FIX203", "FIX408", "FIX409"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX301"),
    narrows=("CFG111", "VER102"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise what is missing; the line that names it outweighs the bare error of the file system."""
    event = start_failure(evidence, *_NAMED) or _repository(evidence) or _path(evidence)
    if event is None:
        event = start_failure(evidence, *_WEAK) or _tokenizer(evidence)
        if event is None or outweighed(evidence, event):
            return None
    event = spoken(evidence, event) if event.signature == "tokenizer_missing" else event
    said = _said(evidence, event)
    sure: Confidence = "likely" if said.message == "POD103.path" and not _is_path(said) else "certain"
    return Finding("POD103", "model-or-file-not-found", sure, (said,), event.line, "other")


def _is_path(said: Claim) -> bool:
    """Tell a path, which must exist here, from an id, which the hub may only be hiding or out of reach for."""
    return str(said.parameters.get("name", "")).startswith(("/", "."))


def _repository(evidence: Evidence) -> Event | None:
    return told_by_hub(evidence, _MISSING) or start_failure(evidence, "repository_missing")


def _path(evidence: Evidence) -> Event | None:
    """Return the engine's own words about a model that is nowhere, rather than those of retries before."""
    event = start_failure(evidence, "model_path_invalid")
    final = (each for each in evidence.all("model_path_invalid") if each.quote.startswith("Invalid repository"))
    return None if event is None else next(final, event)


def _tokenizer(evidence: Evidence) -> Event | None:
    """Return an error without a name that was raised while the tokenizer was loaded."""
    event = start_failure(evidence, "python_error")
    if event is None or not any(frame.signature == "tokenizer_frame" for frame in frames_of(event, evidence.events)):
        return None
    return event


def _said(evidence: Evidence, event: Event) -> Claim:
    message = _SAYS[event.signature]
    named = (text(each, field) for each in evidence.all(event.signature) for field in _FIELDS)
    name = next(filter(None, named), None)
    if message == "POD103.file" and name is None:
        return claim("POD103.file-unknown", line_of(event))
    if message == "POD103.volume":
        return claim(message, line_of(event), told=text(event, "message") or event.quote)
    return claim(message, line_of(event), name=name or evidence.requested_model)
