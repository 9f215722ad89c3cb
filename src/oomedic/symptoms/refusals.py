"""Values that the engine refuses to start with, as the command line, pydantic and vLLM's own checks word it."""

import re
from typing import Final, NamedTuple

from oomedic.evidence import Evidence
from oomedic.logs.fields import text
from oomedic.logs.phases import frames_of
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import start_failure

_OPEN: Final = re.compile(r"['\"\s]*[{\[]")
_JSON: Final = re.compile(r"json|dict|model_type|validation error", re.IGNORECASE)
_IMPLEMENTATIONS: Final = ("parser", "load_format", "backend", "runner", "method")
"""Ends of arguments that name one of several implementations."""
_POSITIVE: Final = ("max_model_len", "max_num_seqs", "max_num_batched_tokens", "block_size", "tensor_parallel_size")
_PASSING: Final = frozenset({"hub_status", "hub_unreachable", "hub_rate_limited", "peer_connection_lost"})
"""Errors that are retried, or follow from another one."""
_EARLY: Final = frozenset((None, "config_validation", "nccl_init"))
_SETTING: Final = re.compile(r"--[a-z][a-z-]{2,60}|\bVLLM_[A-Z_]{2,60}|\b[a-z]{2,30}(?:_[a-z0-9]{1,30}){1,8}\b")
_OF_REQUESTS: Final = frozenset(
    (
        *("max_tokens", "min_tokens", "max_completion_tokens", "top_p", "top_k", "min_p", "best_of", "prompt_logprobs"),
        *("top_logprobs", "stop_token_ids", "presence_penalty", "frequency_penalty", "repetition_penalty"),
        *("logit_bias", "tool_choice", "tool_calls", "response_format", "guided_json", "prompt_embeds", "image_url"),
    )
)
_OF_THE_CONFIGURATION: Final = frozenset({"config_frame", "environment_frame"})


class Refusal(NamedTuple):
    """One value that was refused.

    ``argument`` is vLLM's name in snake_case, ``by`` who refused it: the command line's parser before the engine looked
    at anything, or the engine's configuration.
    """

    event: Event
    argument: str | None
    value: str | None
    wanted: str
    by: str

    @property
    def is_malformed(self) -> bool:
        """Tell whether a JSON text could not be read, rather than that its content is refused."""
        broken = self.value is not None and _OPEN.match(self.value) is not None
        return (broken and _JSON.search(self.wanted) is not None) or "Invalid JSON" in self.wanted

    @property
    def is_unknown_name(self) -> bool:
        """Tell whether there is no implementation of this name: no slip in the form of the command line."""
        return "invalid choice" in self.wanted and (self.argument or "").endswith(_IMPLEMENTATIONS)


def refusals(evidence: Evidence) -> tuple[Refusal, ...]:
    """Return the values that the command line or the configuration refused, in the order of the log."""
    first = start_failure(evidence, "argument_invalid", "config_value_refused")
    if first is None:
        return ()
    return tuple(map(_refusal, evidence.all("argument_invalid", "config_value_refused")))


def refused(evidence: Evidence, *arguments: str) -> Refusal | None:
    """Return the refusal of one of these arguments, None when none of them was refused."""
    return next((refusal for refusal in refusals(evidence) if refusal.argument in arguments), None)


def other_refusal(evidence: Evidence) -> Event | None:
    """Return the error that stopped the start where no signature knows it, None where one does or nothing stopped it.

    The engine words hundreds of refusals; what they are about is told by their text.
    """
    if any(event.kind == "error" and event.signature not in _PASSING for event in evidence.events):
        return None
    event = start_failure(evidence, "value_error") or start_failure(evidence, "python_error")
    return None if event is None or _of_a_request(evidence, event) else event


def _of_a_request(evidence: Evidence, event: Event) -> bool:
    """Tell whether requests were served before an error and no process tells of a death: the log has no beginning."""
    served = any(mark.line < event.line for mark in evidence.all("runtime_stats"))
    return served and not any(other.kind == "wrapper" for other in evidence.events)


def impossible_setting(evidence: Evidence) -> tuple[str, int] | None:
    """Return a setting that was given a number which no engine can run with, None where there is none."""
    settings = evidence.config.settings if evidence.config else {}
    for name in _POSITIVE:
        setting = settings.get(name)
        if (
            setting is not None
            and setting.origin != "default"
            and isinstance(setting.value, int)
            and setting.value <= 0
        ):
            return name, setting.value
    return None


def says(event: Event) -> str:
    """Return the text of an error that no signature knows, without the name of its exception."""
    return (text(event, "message") or event.quote).rstrip(" .:")


def in_configuration(evidence: Evidence, event: Event) -> bool:
    """Tell whether an error was raised while the configuration was made, before any process of the engine started."""
    if event.signature == "value_error":
        return True
    return any(frame.signature in _OF_THE_CONFIGURATION for frame in frames_of(event, evidence.events))


def speaks_of_a_setting(evidence: Evidence, event: Event) -> bool:
    """Tell whether a refused value is one of the engine's, not of a request, and nothing was loaded before.

    Without its traceback, only what an error speaks of tells where it was raised.
    """
    if (text(event, "exception") or "").rpartition(".")[2] != "ValueError" or evidence.phase_of(event) not in _EARLY:
        return False
    return any(name not in _OF_REQUESTS for name in _SETTING.findall(says(event)))


def worded(evidence: Evidence, *words: str) -> Event | None:
    """Return the error that no signature knows where its text holds one of some words, whatever their case."""
    event = other_refusal(evidence)
    said = says(event).lower() if event else ""
    return event if any(word in said for word in words) else None


def _refusal(event: Event) -> Refusal:
    name = (text(event, "argument") or "").lstrip("-").partition(".")[0].partition("[")[0].replace("-", "_")
    by = "command line" if event.signature == "argument_invalid" else "configuration"
    wanted = text(event, "problem") or text(event, "wanted") or ""
    if by == "configuration" and name:  # pydantic writes the name on a line of its own, what is wrong below it
        event = event._replace(line=event.line + 1)
    return Refusal(event, name or None, text(event, "value") or _chosen(wanted), wanted, by)


def _chosen(problem: str) -> str | None:
    """Return the value in argparse's words: ``invalid choice: 'x' (choose from …)``, ``invalid int value: 'x'``."""
    found = re.search(r"invalid [\w ]{0,60}(?:choice|value): ['\"]?(.{1,120}?)['\"]?(?: \(|$)", problem)
    return found[1] if found else None
