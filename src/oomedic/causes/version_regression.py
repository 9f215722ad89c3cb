"""The same configuration fits in another version.

Nothing was changed but the image, and the engine no longer starts: its defaults or its accounting are different. Always beside
the cause that the log names, never instead of it.

What you see
------------
Another finding (a KV cache that is too small, a sampler that cannot warm up), for a configuration that worked before.

Why it happens
--------------
0.8.0 made V1 the default and prepared for 1024 requests at once, four times as many as before; 0.8.5 took that back on most
cards. From 0.20 on CUDA graphs are paid out of gpu_memory_utilization, whose default rose from 0.90 to 0.92 with it: with a
given share the KV cache gets smaller by the graphs. From 0.30 on a YaRN factor in config.json no longer lengthens max_model_len.

Example
-------
(It stands second here, behind the sampler's own finding.)

    $ oomedic diagnose --vllm 0.8.2 -
    ERROR 03-27 17:34:18 [core.py:343] RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering max_num_seqs or gpu_memory_utilization when initializing the engine.

Not this
--------
    $ oomedic diagnose --vllm 0.11.0 -
    ERROR 03-27 17:34:18 [core.py:343] RuntimeError: CUDA out of memory occurred when warming up sampler with 256 dummy requests. Please try lowering max_num_seqs or gpu_memory_utilization when initializing the engine.

What helps, in order, and why
-----------------------------
What helps against the cause itself; the old default written out (max_num_seqs 256); or the image that worked, until there is
time for the change.

What makes it worse
-------------------
Nothing of its own.

Since
-----
0.8.0, 0.20.0, 0.30.0, as described.

Says
----
sequences: vLLM {version} prepares for 1024 requests at once unless max_num_seqs is set; before 0.8.0, and on most cards from 0.8.5 on, it is 256.
graphs: From 0.20 on CUDA graphs are paid out of the request: {graphs:gib} here. In 0.19 the KV cache would have had {available:gib}, enough for the {needed:gib} of one request.
yarn: From 0.30 on the YaRN factor {factor} of config.json no longer lengthens max_model_len; before, {longest} tokens were allowed.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.logs.fields import count, line_of, size
from oomedic.models.hf_config import text_config
from oomedic.version import Version

_MANY = 1024
_SINCE, _UNTIL = Version(0, 8, 0), Version(0, 8, 5)
_GRAPHS_INSIDE = Version(0, 20, 0)
_YARN_COUNTED = Version(0, 30, 0)
_OLD_SHARE, _NEW_SHARE = 0.90, 0.92
_OF_SEQUENCES = ("warm_up_out_of_memory", "kv_cache_too_small", "no_memory_for_cache_blocks")


@cause(
    "VER101",
    "version-regression",
    reads=(*_OF_SEQUENCES, "max_model_len_above_model"),
    helps=("FIX104", "FIX502", "FIX501"),
)
def match(evidence: Evidence) -> Finding | None:
    """Compare with releases whose defaults or accounting are known to differ; None where the release is not known."""
    if evidence.config is None or not evidence.version_known:
        return None
    said = _sequences(evidence) or _graphs(evidence) or _yarn(evidence)
    if said is None:
        return None
    confidence: Confidence = "likely" if said.message == "VER101.graphs" else "possible"
    return Finding("VER101", "version-regression", confidence, (said,), None, None)


def _sequences(evidence: Evidence) -> Claim | None:
    config, event = evidence.config, evidence.first(*_OF_SEQUENCES)
    if config is None or event is None or not _SINCE <= config.rules.version < _UNTIL:
        return None
    if config.generation == "V0" or config.is_given("max_num_seqs") or config.integer("max_num_seqs") != _MANY:
        return None
    requests = count(event, "requests")
    if requests is not None and requests != _MANY:
        return None
    return claim("VER101.sequences", line_of(event), version=str(config.rules.version))


def _graphs(evidence: Evidence) -> Claim | None:
    """Add what the graphs take to the printed cache, and take away what the default share gained."""
    config, event = evidence.config, evidence.first("kv_cache_too_small")
    needed, available = size(event, "needed"), size(event, "available")
    graphs = evidence.figure("graph_estimate", "cuda_graphs")
    if config is None or event is None or needed is None or available is None or graphs is None:
        return None
    if config.rules.version < _GRAPHS_INSIDE or not config.graphs_budgeted:
        return None
    total = evidence.assessment.budget.total if evidence.assessment else None
    gained = 0
    if not config.is_given("gpu_memory_utilization"):
        if total is None:
            return None
        gained = round((_NEW_SHARE - _OLD_SHARE) * total.value)
    before = available.value + graphs.value - gained
    if before < needed.value:
        return None
    figures = {"graphs": graphs.value, "available": before, "needed": needed.value}
    return claim("VER101.graphs", graphs.where, **figures)


def _yarn(evidence: Evidence) -> Claim | None:
    event, config = evidence.first("max_model_len_above_model"), evidence.config
    asked, derived = count(event, "max_model_len"), count(event, "derived")
    if event is None or config is None or evidence.checkpoint is None or config.rules.version < _YARN_COUNTED:
        return None
    own = text_config(evidence.checkpoint.config)
    scaling = own.get("rope_scaling") or own.get("rope_parameters")
    factor = scaling.get("factor") if isinstance(scaling, dict) else None
    if not isinstance(factor, int | float) or asked is None or derived is None or asked > derived * factor:
        return None
    return claim("VER101.yarn", line_of(event), factor=factor, longest=round(derived * factor))
