"""The model brings its own code, which was not allowed.

The repository holds Python files that build the model or its tokenizer, and --trust-remote-code is not given.

What you see
------------
"The repository … contains custom code which must be executed to correctly load the model", "Loading … requires you to execute
the configuration file in that repo".

Why it happens
--------------
Code from a repository runs with all that the pod may do: its token, its network, its service account. So it must be allowed.
Where vLLM has a class of its own for the model, the code is not needed once the image is new enough.

Example
-------
    $ oomedic diagnose -
    Value error, The repository /models/m contains custom code which must be executed to correctly load the model. You can inspect the repository content at /models/m .

Not this
--------
    $ oomedic diagnose -
    Value error, Model architectures ['FooBarForCausalLM'] are not supported for now. Supported architectures: dict_keys(['ApertusForCausalLM'])

What helps, in order, and why
-----------------------------
Read the code, pin the revision (--revision), then --trust-remote-code. A newer image that has its own class.

What makes it worse
-------------------
Nothing; memory settings play no part.

Since
-----
All releases.

Says
----
summary: {model} brings its own Python code, and --trust-remote-code is not given.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of, text
from oomedic.symptoms.failures import start_failure


@cause(
    "CFG115",
    "trust-remote-code-needed",
    reads=("trust_remote_code_needed",),
    helps=("FIX203", "FIX501"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX301"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the question that a server cannot answer."""
    event = start_failure(evidence, "trust_remote_code_needed")
    if event is None:
        return None
    model = text(event, "model") or evidence.requested_model or "The model"
    said = claim("CFG115.summary", line_of(event), model=model)
    return Finding("CFG115", "trust-remote-code-needed", "certain", (said,), event.line, "config_validation")
