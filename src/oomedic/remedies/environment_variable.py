"""Correct a setting: an argument or an environment variable.

What it does
------------
The value that was refused is written so that the engine accepts it, or taken away so that its default holds.

What it costs
-------------
Nothing.

When it does not help
---------------------
When the value is right and the release cannot do it.

Says
----
cost: None.
step-argument: Correct {argument}: {wanted}.
step-unknown: Correct or remove what this release does not know; `vllm serve --help=all` in the same image lists its arguments.
step-variable: Correct or remove the variable that the message names (whole numbers for VLLM_CPU_KVCACHE_SPACE and VLLM_PORT).
step-value: Correct or remove the value that the message names.
step-port: Set enableServiceLinks: false in the pod's spec, or give the Service another name than vllm.
step-listen: Choose another --port, or end what listens there; without hostNetwork each pod has its own ports.
step-folders: Set HOME, HF_HOME and VLLM_CACHE_ROOT to a folder that the container's user may write (an emptyDir or the model's volume; fsGroup in the pod's securityContext makes it writable), and USER to any name: images that expect root need that under another user id.
step-volume: `kubectl describe pod` names the volume: its claim must exist, be bound, and be free of other nodes (ReadWriteOnce); a hostPath or NFS path must exist.
step-words: Write the words of the command as items of their own (command: [vllm, serve, MODEL]), or start a shell that divides them (command: [/bin/sh, -c], the text in args).
step-ready: Raise VLLM_ENGINE_READY_TIMEOUT_S (seconds) above the longest start, and let the startup probe allow as much; faster storage for the weights shortens it.
step-pinned: Set VLLM_WSL2_ENABLE_PIN_MEMORY=1, which lets the engine pin host memory on WSL2.
step-space: Lower VLLM_CPU_KVCACHE_SPACE (GiB of host memory for each rank) below what the host has free.
"""

from collections.abc import Iterator

from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy
from oomedic.symptoms.refusals import refusals

_STEPS = {"POD106": "step-port", "POD108": "step-listen", "HOST105": "step-space", "POD103": "step-value"}
_OF_MESSAGES = {
    "POD103.permission": "step-folders",
    "POD103.user": "step-folders",
    "POD103.volume": "step-volume",
    "POD101.ready": "step-ready",
    "POD104.one-word": "step-words",
    "CFG119.uva": "step-pinned",
}
_OF_VARIABLES = frozenset({"integer_unreadable", "variable_invalid"})


@remedy("FIX409", "environment-variable", safety="manual")
def propose(evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Say what to correct, with what is possible where the engine lists it."""
    change = Change("manual", None, None, "FIX409")
    if finding.code == "POD106":
        change = Change("env.VLLM_PORT", None, None, "FIX409")
    if finding.code == "HOST105" and evidence.first("cpu_kv_cache_unavailable") is None:
        return
    told = finding.says("POD101.ready", "POD104.one-word", "CFG119.uva")
    if finding.code in {"POD101", "POD104", "CFG119"} and not told:
        return
    yield Proposal((change,), claim("FIX409.cost"), step=_step(evidence, finding))


def _step(evidence: Evidence, finding: Finding) -> Claim:
    for message, step in _OF_MESSAGES.items():
        if finding.says(message):
            return claim(f"FIX409.{step}")
    if finding.code in _STEPS:
        return claim(f"FIX409.{_STEPS[finding.code]}")
    refusal = next((each for each in refusals(evidence) if each.event.line == finding.line), None)
    if refusal is not None and refusal.argument:
        return claim("FIX409.step-argument", argument=refusal.argument, wanted=refusal.wanted)
    if evidence.first("arguments_unrecognized"):
        return claim("FIX409.step-unknown")
    variable = any(event.signature in _OF_VARIABLES for event in evidence.events)
    return claim("FIX409.step-variable" if variable else "FIX409.step-value")
