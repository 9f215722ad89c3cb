"""Arguments that no parser takes, or whose values are out of range."""

from collections.abc import Iterator
from typing import Final

from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.version import Version, parse_version

_UNREADABLE: Final = frozenset(
    {"arguments.unreadable", "arguments.without-value", "arguments.ambiguous", "arguments.joined"}
)
_WITH_A_VALUE: Final = "arguments.switch-with-value"
_POSITIVE: Final = ("tensor_parallel_size", "pipeline_parallel_size", "max_num_seqs", "max_num_batched_tokens")


def words_that_are_refused(evidence: Evidence) -> Iterator[Finding]:
    """Yield each argument that the engine's parser refuses, and each value that it checks and refuses."""
    sure: Confidence = "certain" if evidence.version_known else "likely"
    arguments = evidence.arguments
    server = evidence.workload.server if evidence.workload else None
    if arguments.unknown and server is None:
        said = claim("notes.arguments-unknown", flags=arguments.unknown)
        yield _command_line(said, sure)
    version = evidence.config.rules.version if evidence.config else None
    for problem in arguments.problems:
        if problem.message in _UNREADABLE or (problem.message == _WITH_A_VALUE and _no_value_since(problem, version)):
            yield _command_line(problem, sure)
    yield from _values(evidence)


def _command_line(said: Claim, sure: Confidence) -> Finding:
    return Finding("CFG110", "bad-command-line", sure, (said,), None, "config_validation")


def _no_value_since(problem: Claim, version: Version | None) -> bool:
    since = parse_version(str(problem.parameters.get("since")))
    return since is not None and version is not None and version >= since


def _values(evidence: Evidence) -> Iterator[Finding]:
    config = evidence.config
    if config is None:
        return
    share = config.value("gpu_memory_utilization")
    if config.is_given("gpu_memory_utilization") and isinstance(share, int | float) and not 0 < share <= 1:
        where = config.settings["gpu_memory_utilization"].where
        yield _value(claim("foreseen.share-out-of-range", where, value=share))
    fits_itself = config.value("max_model_len") == -1 and config.rules.defaults.get("fits_length")
    for name in (*_POSITIVE, *(() if fits_itself else ("max_model_len",))):
        value = config.value(name)
        if config.is_given(name) and isinstance(value, int) and value < 1:
            yield _value(claim("foreseen.not-positive", config.settings[name].where, argument=name, value=value))


def _value(said: Claim) -> Finding:
    return Finding("CFG111", "invalid-value", "certain", (said,), None, "config_validation")
