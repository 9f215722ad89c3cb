"""An object without its secrets, to be shown: the rules are those of ``patches.objects.holds_secret``."""

from collections.abc import Mapping
from typing import Any

from oomedic.patches.objects import REFERENCES, is_secret_flag
from oomedic.redaction import HIDDEN, is_secret_name, redact


def hidden(value: Any) -> Any:
    """Return a tree of plain values in which every secret is hidden.

    >>> hidden({"args": ["--api-key", "abc", "--port", "80"], "env": [{"name": "HF_TOKEN", "value": "abc"}]})
    {'args': ['--api-key', '***', '--port', '80'], 'env': [{'name': 'HF_TOKEN', 'value': '***'}]}
    """
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        secret = is_secret_name(str(value.get("name", "")))
        return {key: _item(key, item, secret=secret and key == "value") for key, item in value.items()}
    if isinstance(value, list | tuple):
        behind = [False, *map(is_secret_flag, value[:-1])]
        return [_word(word, secret=secret) for word, secret in zip(value, behind, strict=False)]
    return value


def _item(key: str, item: Any, *, secret: bool) -> Any:
    named = is_secret_name(str(key)) and str(key).lower() not in REFERENCES
    return HIDDEN if isinstance(item, str) and item and (secret or named) else hidden(item)


def _word(word: Any, *, secret: bool) -> Any:
    return HIDDEN if secret and isinstance(word, str) and not word.startswith("-") else hidden(word)
