"""The hub cannot be reached, or limits how often it is asked.

What you see
------------
"Failed to resolve 'huggingface.co'", "Max retries exceeded with url", "Server disconnected without sending a response", "429 Client
Error: Too Many Requests", "503 Server Error".

Why it happens
--------------
No way out of the cluster's network (egress policy, proxy, DNS), an outage, or too many pods that fetch the same model without a
token. What follows ("Invalid repository ID", "Can't load the configuration") is a consequence.

Example
-------
    $ oomedic diagnose -
    requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /api/models/Qwen/Qwen2.5-7B-Instruct/tree/main (Caused by NameResolutionError("Failed to resolve 'huggingface.co'"))

Not this
--------
    $ oomedic diagnose -
    huggingface_hub.errors.GatedRepoError: 403 Client Error.

What helps, in order, and why
-----------------------------
The model on a volume, with HF_HUB_OFFLINE=1, so that a restart needs no network; HTTPS_PROXY or an egress rule; a token, which
raises the limit of requests.

What makes it worse
-------------------
A crash loop: each restart asks again.

Since
-----
All releases.

Says
----
unreachable: The hub could not be reached: name resolution, network or proxy.
limited: The hub answers that it is asked too often (429).
answered: The hub answers with an error of its own ({status}).
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import outweighed, start_failure
from oomedic.symptoms.hub_errors import told_by_hub

_LIMITED, _BROKEN = 429, range(500, 600)
_CONSEQUENCES = ("model_path_invalid", "model_file_missing", "tokenizer_missing", "repository_missing")


@cause(
    "POD107",
    "hub-unreachable",
    reads=("hub_unreachable", "hub_rate_limited", "hub_status"),
    helps=("FIX408", "FIX409"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX301"),
    narrows=("POD103",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a hub that is out of reach; errors of the engine that are none of its consequences outweigh it."""
    event = start_failure(evidence, "hub_rate_limited") or told_by_hub(evidence, _BROKEN)
    event = event or told_by_hub(evidence, (_LIMITED,)) or start_failure(evidence, "hub_unreachable")
    if event is None or outweighed(evidence, event, _CONSEQUENCES):
        return None
    return Finding("POD107", "hub-unreachable", "certain", (_said(event),), event.line, "other")


def _said(event: Event) -> Claim:
    where, status = line_of(event), count(event, "status")
    if event.signature == "hub_rate_limited" or status == _LIMITED:
        return claim("POD107.limited", where)
    return claim("POD107.unreachable", where) if status is None else claim("POD107.answered", where, status=status)
