"""A mixture of experts, sized by its active parameters.

The number in the model's name counts the parameters that one token uses. All experts must be on the GPU, though, and all of
them together are several times as large.

What you see
------------
An out-of-memory error while weights load, for a model whose name promises that it fits: "17B" on a 24 GB card.

Why it happens
--------------
A router picks a few experts per token, any expert for some token. So the memory follows the total number of parameters:
Llama 4 Scout "17B" has 109 billion, about 202 GiB in bf16; Qwen3-30B-A3B has 30 billion, not 3.

Example
-------
    $ oomedic diagnose --vllm 0.8.5 - -- vllm serve meta-llama/Llama-4-Scout-17B-16E-Instruct
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 1.12 GiB is free. Including non-PyTorch memory, this process has 22.53 GiB memory in use.

Not this
--------
A dense model of the same size class:

    $ oomedic diagnose --vllm 0.8.5 - -- vllm serve Qwen/Qwen2.5-14B-Instruct
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 1.12 GiB is free. Including non-PyTorch memory, this process has 22.53 GiB memory in use.

What helps, in order, and why
-----------------------------
As for any weights that exceed the GPU: more GPUs by tensor parallelism, a quantised checkpoint, cards with more memory.

What makes it worse
-------------------
Nothing moves it: no setting of memory or length changes the size of the weights.

Since
-----
All releases that load mixtures of experts.

Says
----
summary: {model} has {active:billions} active but {total_parameters:billions} parameters in all, and all of them must be on the GPU.
size: Its weights take {weights:gib}; the GPU has {total:gib}.
size-split: Its weights take {all_weights:gib}, {weights:gib} on each GPU, which has {total:gib}.
no-knob: No setting of memory or length helps: they come into play after the weights are loaded.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.logs.fields import line_of
from oomedic.symptoms.exhaustion import EXHAUSTION, exhaustion
from oomedic.symptoms.fitting import all_weights, hides_ranks, weights_exceed


@cause(
    "OOM202",
    "moe-sized-by-active-parameters",
    reads=(*EXHAUSTION, "weights_out_of_memory"),
    helps=("FIX301", "FIX201", "FIX111", "FIX303"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX106", "FIX107", "FIX108"),
    narrows=("OOM201", "OOM203"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise weights that exceed the card although the active parameters alone would fit on the same GPUs."""
    found = exhaustion(evidence)
    if found is not None and found.phase != "weights_load":
        return None
    if (found is None and evidence.events) or not weights_exceed(evidence) or not _active_part_fits(evidence):
        return None
    if found is None:
        return _finding(evidence, "", None, "likely")
    sure: Confidence = "certain" if found.proven or not hides_ranks(evidence) else "likely"
    return _finding(evidence, line_of(found.event), found.event.line, sure)


def _active_part_fits(evidence: Evidence) -> bool:
    """Tell whether the model would fit if only the parameters in its name counted, at the same bytes per parameter."""
    checkpoint, whole = evidence.checkpoint, all_weights(evidence)
    budget, config = (evidence.assessment.budget, evidence.config) if evidence.assessment else (None, None)
    if checkpoint is None or whole is None or budget is None or budget.total is None or config is None:
        return False
    if not checkpoint.experts or not checkpoint.parameters or not checkpoint.active_parameters:
        return False
    # bf16 of the active part is what people compute; a quantised build of it is what the runbook's reader expects
    share = checkpoint.active_parameters / checkpoint.parameters
    gpus = config.ranks
    return whole * share / gpus < 2 * budget.total.value


def _finding(evidence: Evidence, where: str, line: int | None, sure: Confidence) -> Finding:
    checkpoint, assessment = evidence.checkpoint, evidence.assessment
    if checkpoint is None or assessment is None:
        raise AssertionError(evidence)
    budget = assessment.budget
    weights, total = budget.item("weights"), budget.total
    if weights is None or total is None:
        raise AssertionError(budget)
    claims = (
        claim(
            "OOM202.summary",
            where,
            model=checkpoint.id,
            active=checkpoint.active_parameters,
            total_parameters=checkpoint.parameters,
        ),
        claim(
            "OOM202.size" if evidence.config is not None and evidence.config.ranks == 1 else "OOM202.size-split",
            weights.where,
            all_weights=all_weights(evidence),
            weights=weights.value,
            total=total.value,
        ),
        claim("OOM202.no-knob"),
    )
    return Finding("OOM202", "moe-sized-by-active-parameters", sure, claims, line, "weights_load")
