"""The swap space is larger than the host's memory.

swap_space is host memory for KV cache that was moved out of the GPU: 4 GiB per rank unless it is set. The host, or the
container's view of it, has less.

What you see
------------
"Too large swap space. X GiB out of the Y GiB total CPU memory is allocated for the swap space."

Why it happens
--------------
The engine checks swap_space x tensor_parallel_size against the host's memory (refused above 70 %). Small nodes fail with the
default, and each further rank adds its own share. V1 never uses this space; from 0.18 on the argument is gone.

Example
-------
    $ oomedic diagnose -
    ValueError: Too large swap space. 4.00 GiB out of the 4.30 GiB total CPU memory is allocated for the swap space.

Not this
--------
    $ oomedic diagnose -
    RuntimeError: Aborted due to the lack of CPU swap space. Please increase the swap space to avoid this error.

What helps, in order, and why
-----------------------------
A smaller swap_space: 0 where V1 runs, which does not use it. A host with more memory.

What makes it worse
-------------------
More ranks, and weights offloaded to the host (cpu_offload_gb): both want more host memory.

Since
-----
Up to 0.17.

Says
----
summary: The swap space of all ranks together, {swap:gib}, does not fit into the host's {host:gib} of memory.
ranks: That is swap_space for each of {ranks} ranks.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of, size
from oomedic.symptoms.failures import start_failure


@cause(
    "HOST104",
    "swap-space-exceeds-host-memory",
    reads=("swap_space_too_large",),
    helps=("FIX115", "FIX402"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108"),
    worsens=("FIX113", "FIX301", "FIX111"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the engine's refusal."""
    event = start_failure(evidence, "swap_space_too_large")
    swap, host = size(event, "swap_space"), size(event, "host_memory")
    if event is None or swap is None or host is None:
        return None
    summary = claim("HOST104.summary", line_of(event), swap=swap.value, host=host.value)
    claims = (summary, *_ranks(evidence))
    return Finding("HOST104", "swap-space-exceeds-host-memory", "certain", claims, event.line, "config_validation")


def _ranks(evidence: Evidence) -> tuple[Claim, ...]:
    ranks = evidence.config.tensor_parallel_size if evidence.config else 1
    return (claim("HOST104.ranks", ranks=ranks),) if ranks > 1 else ()
