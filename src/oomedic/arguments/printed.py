"""Arguments as vLLM's own log lines print them.

Three lines hold them: ``args: Namespace(…)`` (until 0.8: every argument with its default), ``non-default args: {…}``
(since 0.9) and ``Initializing … with config: …`` (what the engine runs with, every release).
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from oomedic.arguments.given import EngineArgs, Given, Value, without_secrets
from oomedic.arguments.literals import CutOff, read_literal, read_pairs

_RENAMED: Final = {
    "model_tag": "model",
    "max_seq_len": "max_model_len",
    "chunked_prefill_enabled": "enable_chunked_prefill",
    "device_config": "device",
    "num_spec_tokens": "num_speculative_tokens",
}
_NOT_ARGUMENTS: Final = frozenset(("dispatch_function", "subparser", "use_cached_outputs", "use_async_output_proc"))
_KEY: Final = re.compile(r",\s*(?=\w+=)")
_ASSIGNED: Final = re.compile(r"\s*(\w+)=")
_STRUCTURED: Final = re.compile(r"['\"\[{<]|[A-Z]\w*\(")
_ENDED: Final = re.compile(r"\s*(?:,|$)")
_TYPE: Final = re.compile(r"torch\.(\w+)|[A-Z]\w*Format\.(\w+)")
_WORDS: Final = {"True": True, "False": False, "None": None}
_WHOLE: Final = re.compile(r"-?\d{1,18}")
_DECIMAL: Final = re.compile(r"-?\d{1,18}\.\d{1,18}")


def read_arguments_repr(text: str, where: str) -> EngineArgs:
    """Read ``non-default args: {'max_model_len': 4096, …}``; a line that was cut off is read as far as it goes.

    >>> read_arguments_repr("non-default args: {'model': 'm', 'max_model_len': 4096, 'dty", "log:1").given.keys()
    dict_keys(['model', 'max_model_len'])
    """
    start = text.find("{")
    return _given(read_pairs(text, start + 1, keywords=False) if start >= 0 else {}, where)


def read_namespace_repr(text: str, where: str) -> EngineArgs:
    """Read ``args: Namespace(model='m', …)``; it prints defaults too, and None is what was not given.

    >>> read_namespace_repr("args: Namespace(host=None, model='m', enforce_eager=True)", "log:1").given.keys()
    dict_keys(['model', 'enforce_eager'])
    """
    start = text.find("Namespace(")
    return _given(read_pairs(text, start + len("Namespace("), keywords=True) if start >= 0 else {}, where)


def read_config_repr(text: str, where: str) -> EngineArgs:
    """Read the engine's configuration line under the names of the arguments; None is left out.

    >>> line = "with config: model='m', dtype=torch.bfloat16, max_seq_len=2048, kv_cache_dtype=auto, quantization=None"
    >>> {name: given.value for name, given in read_config_repr(line, "log:1").given.items()}
    {'model': 'm', 'dtype': 'bfloat16', 'max_model_len': 2048, 'kv_cache_dtype': 'auto'}
    """
    start = text.find("with config:")
    at = start + len("with config:") if start >= 0 else 0
    found: dict[str, Any] = {}
    while (key := _ASSIGNED.match(text, at)) is not None:
        found[key[1]], at = _config_value(text, key.end())
    return _given(found, where)


def _config_value(text: str, start: int) -> tuple[Any, int]:
    """Read one value and where the next key starts; texts are printed without quotes, whatever is in them."""
    if _STRUCTURED.match(text, start):
        try:
            value, end = read_literal(text, start)
        except CutOff:
            end = start
        else:
            if _ENDED.match(text, end):
                following = _KEY.match(text, end)
                return value, following.end() if following else len(text)
        if text[start] in "[{<'":
            return None, len(text)
    following = _KEY.search(text, start)
    bare = text[start : following.start() if following else len(text)].strip().rstrip(",")
    if bare.endswith(")") and bare.count("(") < bare.count(")"):
        bare = bare[:-1]  # until 0.6 the whole configuration stood in brackets
    return _bare(bare), following.end() if following else len(text)


def _bare(text: str) -> Value:
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def _given(found: Mapping[str, Any], where: str) -> EngineArgs:
    given: dict[str, Given] = {}
    for key, value in found.items():
        name = _RENAMED.get(key, key)
        if value is None or key in _NOT_ARGUMENTS or name.isdecimal() or value == "":
            continue
        given[name] = Given(without_secrets(name, _as_argument(name, value)), where, key)
    return EngineArgs(given)


def _as_argument(name: str, value: Any) -> Value:
    if isinstance(value, str):
        kind = _TYPE.fullmatch(value)
        return (kind[1] or kind[2].lower()) if kind else value
    if name == "max_model_len" and value == -1:
        return "auto"
    if name == "speculative_config" and isinstance(value, Mapping):
        return {_RENAMED.get(str(key), str(key)): inside for key, inside in value.items() if inside is not None}
    return value if isinstance(value, int | float | Mapping | tuple) else None
