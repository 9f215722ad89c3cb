"""Values of arguments as vLLM reads them from a command line (vllm/engine/arg_utils.py, utils/argparse_utils.py)."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from oomedic.arguments.given import Value
from oomedic.arguments.table import Argument
from oomedic.errors import OomedicError
from oomedic.units import parse_count

_STRINGS: Final = re.compile(r'("(?:[^"\\]|\\.)*")')
_SUFFIXED: Final = re.compile(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b")
_PAIRS: Final = re.compile(r"\s*\w+\s*=\s*\d+\s*(?:,\s*\w+\s*=\s*\d+\s*)*")
_DEPTH: Final = 50
_TRUE: Final = "true"
BOOLEANS: Final = frozenset((_TRUE, "false"))


def read_value(argument: Argument, texts: Sequence[str]) -> Value:
    """Read what was given to an argument: one text, or several for a list.

    Raises:
        ValueError: vLLM would not take it either.
    """
    if argument.kind == "list":
        return _list(argument, texts)
    text = texts[0]
    if argument.kind == "flag":
        return _flag(text)
    if text in {"", "None"}:
        return None
    if argument.kind == "text":
        return text
    if argument.kind == "json":
        return read_json(text)
    return _number(argument, text)


def read_json(text: str) -> Value:
    """Read a JSON value; numbers may end in k, M and so on, and ``image=5,video=1`` is the form before 0.10.

    >>> read_json('{"cpu_bytes_to_use": 80g}'), read_json("image=5")
    ({'cpu_bytes_to_use': 80000000000}, {'image': 5})
    """
    if _PAIRS.fullmatch(text):
        pairs = (pair.partition("=") for pair in text.split(","))
        return {name.strip(): int(value) for name, _, value in pairs}
    if not text.lstrip().startswith(("{", "[")):
        return text
    parts = _STRINGS.split(text)
    parts[::2] = [_SUFFIXED.sub(lambda match: str(parse_count(match[0])), part) for part in parts[::2]]
    try:
        found: Value = frozen(json.loads("".join(parts)))
    except (RecursionError, OomedicError) as error:
        raise ValueError(text[:80]) from error
    return found


def read_dotted(path: Sequence[str], text: str) -> Mapping[str, Any]:
    """Read ``--config.a.b 1`` as ``{"a": {"b": 1}}``; ``a+`` takes the items of a list.

    >>> read_dotted(["a", "b+"], "x,y")
    {'a': {'b': ('x', 'y')}}
    """
    if len(path) > _DEPTH:
        raise ValueError(len(path))
    value: Value
    if path[-1].endswith("+"):
        value = tuple(text.split(","))
    else:
        try:
            value = frozen(json.loads(text))
        except (ValueError, RecursionError):
            value = _count_or_text(text)
    for key in reversed(path):
        value = {key.removesuffix("+"): value}
    return value if isinstance(value, Mapping) else {}


def deepened(before: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two objects key by key; lists are joined, as vLLM joins dotted arguments.

    >>> deepened({"a": {"b": 1}}, {"a": {"c": 2}})
    {'a': {'b': 1, 'c': 2}}
    """
    merged = dict(before)
    for key, value in more.items():
        known = merged.get(key)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            merged[key] = deepened(known, value)
        else:
            merged[key] = known + value if isinstance(known, tuple) and isinstance(value, tuple) else value
    return merged


def frozen(value: Any, depth: int = 0) -> Any:
    """Turn the lists of a JSON value into tuples.

    Raises:
        ValueError: it is nested deeper than any configuration is.
    """
    if depth > _DEPTH:
        raise ValueError(depth)
    if isinstance(value, dict):
        return {key: frozen(inside, depth + 1) for key, inside in value.items()}
    return tuple(frozen(inside, depth + 1) for inside in value) if isinstance(value, list) else value


def _flag(text: str) -> bool:
    if text.lower() not in BOOLEANS:
        raise ValueError(text[:80])
    return text.lower() == _TRUE


def _number(argument: Argument, text: str) -> Value:
    if argument.kind == "float":
        number = float(text)
        if not math.isfinite(number):
            raise ValueError(text[:80])
        return number
    if argument.kind == "int":
        return int(text)
    if argument.name == "max_model_len" and text.strip().lower() in {"auto", "-1"}:
        return "auto"
    try:
        return parse_count(text)
    except OomedicError as error:
        raise ValueError(text[:80]) from error


def _list(argument: Argument, texts: Sequence[str]) -> Value:
    if len(texts) == 1 and texts[0].lstrip().startswith("["):
        items = read_json(texts[0])
        return items if isinstance(items, tuple) else (items,)
    return tuple(int(text) for text in texts) if argument.items == "int" else tuple(texts)


def _count_or_text(text: str) -> Value:
    try:
        return parse_count(text)
    except OomedicError:
        return text
