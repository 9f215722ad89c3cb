"""One batch of requests needed far more memory than the profile run.

The server was up and answered; then a single step asked for gigabytes that no test at the start had asked for.

What you see
------------
An out-of-memory error after "Application startup complete", with "EngineCore encountered a fatal error", "AsyncLLM
output_handler failed" or "MQLLMEngine is already dead" around it. The allocation that failed is large: a gigabyte or more
at once. Other requests die with it.

Why it happens
--------------
The profile run measures a batch of dummy requests. Log-probabilities of a long prompt, images larger than the profiled
ones, long prompts without chunked prefill, a LoRA adapter or a draft model need more than it did. The KV cache has taken all
the rest of the request, so that only what lies outside gpu_memory_utilization can answer for the difference.

Example
-------
    $ oomedic diagnose -
    CRITICAL 04-06 00:44:23 [launcher.py:116] MQLLMEngine is already dead, terminating server process
    ERROR 04-06 00:44:23 [engine.py:160] OutOfMemoryError('CUDA out of memory. Tried to allocate 6.33 GiB. GPU 0 has a total capacity of 79.25 GiB of which 1.26 GiB is free. Process 357573 has 77.97 GiB memory in use. Of the allocated memory 77.05 GiB is allocated by PyTorch, and 429.22 MiB is reserved by PyTorch but unallocated.

Not this
--------
    $ oomedic diagnose -
    INFO [gpu_model_runner.py:2653] Model loading took 14.99 GiB and 4.5 seconds
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB. GPU 0 has a total capacity of 22.06 GiB of which 1.12 GiB is free. Including non-PyTorch memory, this process has 20.94 GiB memory in use.

What helps, in order, and why
-----------------------------
A lower gpu_memory_utilization leaves room for the spike. Smaller batches or chunked prefill make the spike smaller; fewer
or smaller images per prompt where an encoder asked. Fewer sequences at once.

What makes it worse
-------------------
A higher gpu_memory_utilization: the KV cache takes exactly what the spike needs. An fp8 cache changes nothing, because the
cache takes the same share either way.

Since
-----
All releases.

Says
----
summary: While serving, one step asked for {tried:gib} at once when {free:gib} were free.
why: The start-up test measures dummy requests only; this batch needed more, and the KV cache had taken the rest.
logprobs: A request asked for the log probabilities of its prompt: scores over the whole vocabulary, in 32 bits for each of its tokens. The start-up test measures none.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of
from oomedic.symptoms.exhaustion import EXHAUSTION, shortage, touches_logprobs
from oomedic.symptoms.serving import exhaustion_while_serving
from oomedic.units import GIB


@cause(
    "OOM601",
    "runtime-activation-spike",
    reads=EXHAUSTION,
    helps=("FIX103", "FIX105", "FIX114", "FIX110", "FIX104", "FIX303"),
    useless=("FIX101", "FIX108", "FIX112"),
    worsens=("FIX102",),
    narrows=("OOM602",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a large allocation that failed in a running server."""
    found = exhaustion_while_serving(evidence)
    if found is not None and touches_logprobs(evidence, found.event):
        said = (claim("OOM601.logprobs", line_of(found.event)),)
        return Finding("OOM601", "runtime-activation-spike", "certain", said, found.event.line, "runtime")
    message = found.message if found else None
    if found is None or message is None or message.tried is None or message.free is None:
        return None
    if (shortage(message) or 0) < GIB:
        return None
    where = line_of(found.event)
    summary = claim("OOM601.summary", where, tried=message.tried.value, free=message.free.value)
    return Finding(
        "OOM601",
        "runtime-activation-spike",
        "certain" if found.proven else "likely",
        (summary, claim("OOM601.why")),
        found.event.line,
        "runtime",
    )
