"""No secret reaches an output: tokens, keys and passwords in text become ``***``.

Two ways to know a secret: by its own shape (``hf_…``, ``sk-…``, ``Bearer …``, a password in a URL) and by the name that
it is given to (``--api-key VALUE``, ``'api_key': […]``, ``HF_TOKEN=…``). Text that was redacted stays as it is when it
is redacted again, and a redacted Python or JSON literal can still be read.
"""

import re
from itertools import pairwise
from typing import Final

HIDDEN: Final = "***"

_SECRETS: Final = frozenset(
    (
        *("secret", "secrets", "password", "passwd", "passphrase", "pwd", "credential", "credentials"),
        *("authorization", "bearer", "signature", "dsn", "apikey", "accesskey", "authtoken"),
    )
)
_KEYS_OF: Final = frozenset(("api", "access", "private", "secret", "auth", "encryption", "signing", "account"))
_TEXT_TOKENS: Final = frozenset(
    ("eos", "bos", "pad", "unk", "sep", "mask", "image", "video", "audio", "special", "stop", "per", "batched")
)
_NO_SECRET: Final = frozenset(("none", "null", "false", "true", "''", '""', "[]", HIDDEN))

_NAME_HINTS: Final = ("key", "token", "secret", "passw", "pwd", "auth", "cred", "bearer", "sign", "dsn")
_HINTS: Final = (
    *_NAME_HINTS,
    *(
        "hf_",
        "sk-",
        "gho",
        "ghp",
        "ghs",
        "ghu",
        "ghr",
        "github_",
        "glpat",
        "nvapi",
        "dckr",
        "xox",
        "akia",
        "asia",
        "eyj",
        "://",
    ),
)
_SHAPES: Final = re.compile(
    r"\b(?:hf_(?=[a-z]{0,40}[A-Z0-9])[A-Za-z0-9]{5,200}"
    r"|sk-(?=[a-z-]{0,40}[A-Z0-9])[\w-]{6,300}"
    r"|(?:gh[pousr]|github_pat|glpat|nvapi|xox[a-z]|dckr_pat)[_-][\w-]{10,300}"
    r"|A(?:KIA|SIA)[A-Z0-9]{12,20}"
    r"|eyJ[\w-]{8,4000}(?:\.[\w-]{4,4000}){1,2})",
    re.ASCII,
)
_BEARER: Final = re.compile(r"\b((?:bearer|basic)\s{1,3})(?=\S{0,40}[A-Z0-9+/=_-])[^\s'\",]{6,4000}", re.IGNORECASE)
_URL_PASSWORD: Final = re.compile(r"(://[^\s/:@'\"]{0,200}:)[^\s/@'\"]{1,400}(?=@)")
_NAME: Final = re.compile(
    r"(?<![\w-])(?:(?P<name>-{0,2}[A-Za-z_][\w-]{0,80})(?:\\?['\"])?\s{0,4}[:=]\s{0,4}"
    r"|(?P<flag>--?[A-Za-z][\w-]{0,80})(?P<close>\\?['\"])?(?(close)\s{0,3},\s{0,4}|\s{1,4})(?!-))"
)
_VALUE: Final = re.compile(
    r"\[[^\]]{0,4000}\]|\\?'[^']{0,4000}'|\\?\"[^\"]{0,4000}\"|(?:Bearer |Basic )?[^\s,;&'\"(){}\[\]<>]{1,4000}"
)
_MORE_VALUES: Final = re.compile(r"(?:\s{1,4}(?!-)[^\s,;&'\"(){}\[\]<>]{1,400}){1,8}(?=\s+-|\s*$)")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def is_secret_name(name: str) -> bool:
    """Say whether what is given to an argument or environment variable of this name is a secret.

    >>> is_secret_name("--api-key"), is_secret_name("HF_TOKEN"), is_secret_name("max_num_batched_tokens")
    (True, True, False)
    """
    if not _any_in(_NAME_HINTS, name):
        return False
    words = re.split(r"[^a-z0-9]+", _CAMEL.sub("_", name).lower().strip("-_"))
    if not _SECRETS.isdisjoint(words):
        return True
    if words[-1] == "token":
        return len(words) == 1 or words[-2] not in _TEXT_TOKENS
    return any(word in ("key", "keys") and before in _KEYS_OF for before, word in pairwise(words))


def redact(text: str) -> str:
    """Hide every secret in a text; the rest stays letter by letter.

    >>> redact("vllm serve m --api-key abc --port 80"), redact("{'api_key': ['abc'], 'port': 80}")
    ('vllm serve m --api-key *** --port 80', "{'api_key': ['***'], 'port': 80}")
    """
    if not _any_in(_HINTS, text):
        return text
    text = _SHAPES.sub(HIDDEN, text)
    text = _BEARER.sub(rf"\1{HIDDEN}", text)
    text = _URL_PASSWORD.sub(rf"\1{HIDDEN}", text)
    return _hide_named(text)


def _any_in(hints: tuple[str, ...], text: str) -> bool:
    """Say quickly that most texts hold nothing to hide."""
    low = text.lower()
    return any(hint in low for hint in hints)


def _hide_named(text: str) -> str:
    pieces: list[str] = []
    done = 0
    for match in _NAME.finditer(text):
        start = match.end()
        if start < done or not is_secret_name(match["name"] or match["flag"]):
            continue
        value = _VALUE.match(text, start)
        if value is None:
            continue
        end = value.end()
        if match["flag"] and (more := _MORE_VALUES.match(text, end)):
            end = more.end()
        pieces += text[done:start], _hidden(value[0])
        done = end
    return "".join(pieces) + text[done:]


def _hidden(value: str) -> str:
    if value.lower() in _NO_SECRET:
        return value
    if value[0] == "[":
        return f"['{HIDDEN}']"
    quote = value[: len(value) - len(value.lstrip("\\'\""))]
    return f"{quote}{HIDDEN}{quote}"
