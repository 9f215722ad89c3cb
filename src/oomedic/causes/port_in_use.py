"""The port is taken.

Another process of the pod, or of the node where the pod uses its network, already listens on the engine's port.

What you see
------------
"OSError: [Errno 98] Address already in use" within seconds.

Why it happens
--------------
A second engine or a sidecar on the same port of one pod; hostNetwork with two pods on a node; a wrapper script whose first engine
still runs.

Example
-------
    $ oomedic diagnose -
    OSError: [Errno 98] Address already in use

Not this
--------
    $ oomedic diagnose -
    ValueError: VLLM_PORT 'tcp://10.0.0.1:6785' appears to be a URI. This may be caused by a Kubernetes service discovery issue,check the warning in: https://docs.vllm.ai/en/stable/serving/env_vars.html

What helps, in order, and why
-----------------------------
Another --port, or no hostNetwork; ending what listens there.

What makes it worse
-------------------
Nothing; memory settings play no part.

Since
-----
All releases.

Says
----
summary: Another process listens on the port that the engine wants.
port: The port is {port}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of
from oomedic.symptoms.failures import start_failure


@cause(
    "POD108",
    "port-in-use",
    reads=("port_in_use",),
    helps=("FIX409", "FIX404"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX301"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the kernel's answer."""
    event = start_failure(evidence, "port_in_use")
    if event is None:
        return None
    claims = (claim("POD108.summary", line_of(event)), *_port(evidence))
    return Finding("POD108", "port-in-use", "certain", claims, event.line, "other")


def _port(evidence: Evidence) -> tuple[Claim, ...]:
    port = evidence.setting("port")
    return (claim("POD108.port", port=port),) if isinstance(port, int) else ()
