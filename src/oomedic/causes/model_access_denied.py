"""The hub does not give the model to this account.

The repository is gated or private, and the token is missing, wrong, or its account has not been granted access.

What you see
------------
"401 Client Error", "403 Client Error", "Cannot access gated repo for url …", "Access to model … is restricted", "Invalid
credentials in Authorization header"; or an event that the Secret with the token does not exist.

Why it happens
--------------
Gated models need an account that accepted the licence on the model's page, and a token of that account in HF_TOKEN. A
fine-grained token needs the permission for gated repositories. For private repositories without a token the hub answers as if
they did not exist.

Example
-------
    $ oomedic diagnose -
    (APIServer pid=1) requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: https://huggingface.co/meta-llama/Llama-3.1-8B-Instruct/resolve/main/config.json

Not this
--------
    $ oomedic diagnose -
    huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error.

What helps, in order, and why
-----------------------------
Accept the licence with the token's account; put the token into HF_TOKEN from a Secret in the pod's namespace. A copy of the
model on a volume.

What makes it worse
-------------------
Nothing; the engine fails before it uses any GPU memory.

Since
-----
All releases.

Says
----
gated: {model} is gated, and access was not granted to this account.
refused: The hub refuses {model} ({status}): no token, a wrong one, or an account without access.
token: The hub does not accept the token.
store: The object store does not give the files of the model: {reason}. Credentials, endpoint, region or path are wrong or missing.
secret: The Secret that holds the token does not exist, or lacks the key.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import start_failure
from oomedic.symptoms.hub_errors import told_by_hub

_REFUSED = frozenset({401, 403})
_STORE = "object_store_refused"


@cause(
    "POD102",
    "model-access-denied",
    reads=(_STORE, "gated_repository", "hub_status", "hub_credentials_refused", "secret_missing"),
    helps=("FIX408", "FIX203"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX301"),
    narrows=("POD103", "POD107"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a refusal of the hub, or a token that is not there."""
    event = told_by_hub(evidence, _REFUSED) or start_failure(
        evidence, "gated_repository", "hub_credentials_refused", "secret_missing"
    )
    if event is None:
        return _store(evidence)
    return Finding("POD102", "model-access-denied", "certain", (_said(evidence, event),), event.line, "other")


def _store(evidence: Evidence) -> Finding | None:
    """Recognise an object store that gives nothing: it tells little of why, even where the path is wrong."""
    event = start_failure(evidence, _STORE)
    if event is None:
        return None
    reasons = filter(None, (text(event, name) for name in ("told", "credentials", "code", "exception")))
    said = claim("POD102.store", line_of(event), reason=next(reasons, event.quote))
    return Finding("POD102", "model-access-denied", "likely", (said,), event.line, "weights_load")


def _said(evidence: Evidence, event: Event) -> Claim:
    where, status = line_of(event), count(event, "status")
    gated = evidence.first("gated_repository")
    named = (text(each, "model") for each in evidence.all("gated_repository", "hub_status"))
    model = next((name for name in named if name), None) or evidence.requested_model or "The model"
    if event.signature == "secret_missing":
        return claim("POD102.secret", where)
    if gated is not None:
        return claim("POD102.gated", where, model=model)
    if status is None:
        return claim("POD102.token", where)
    return claim("POD102.refused", where, model=model, status=status)
