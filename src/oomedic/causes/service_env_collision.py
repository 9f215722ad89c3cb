"""A Service named "vllm" overwrites VLLM_PORT.

Kubernetes gives each container environment variables for every Service of its namespace. For a Service named vllm one of them is
VLLM_PORT=tcp://…, which the engine reads as its own setting.

What you see
------------
"VLLM_PORT 'tcp://10.0.0.1:6785' appears to be a URI. This may be caused by a Kubernetes service discovery issue".

Why it happens
--------------
Service links (enableServiceLinks, on unless it is set) turn the Service's name into variables. VLLM_HOST_IP and others are not
affected, because their names do not have that form.

Example
-------
    $ oomedic diagnose -
    ERROR 02-10 09:39:12 [engine.py:458] ValueError: VLLM_PORT 'tcp://10.0.0.1:6785' appears to be a URI. This may be caused by a Kubernetes service discovery issue,check the warning in: https://docs.vllm.ai/en/stable/serving/env_vars.html

Not this
--------
    $ oomedic diagnose -
    OSError: [Errno 98] Address already in use

What helps, in order, and why
-----------------------------
enableServiceLinks: false in the pod's spec; another name for the Service.

What makes it worse
-------------------
Nothing; memory settings play no part.

Since
-----
All releases; the message since 0.9.

Says
----
summary: A Kubernetes Service named vllm sets VLLM_PORT to an address; the engine expects a number there.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of
from oomedic.symptoms.failures import spoken, start_failure


@cause(
    "POD106",
    "service-env-collision",
    reads=("port_variable_collides", "integer_unreadable"),
    helps=("FIX409",),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX201", "FIX301"),
    narrows=("CFG111",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the engine's own guess, or the address that older releases tried to read as a number."""
    event = start_failure(evidence, "port_variable_collides")
    if event is None:
        numbers = evidence.all("integer_unreadable")
        event = next((each for each in numbers if str(each.fields.get("value", "")).startswith("tcp:")), None)
    if event is None:
        return None
    event = spoken(evidence, event)
    said = claim("POD106.summary", line_of(event))
    return Finding("POD106", "service-env-collision", "certain", (said,), event.line, "config_validation")
