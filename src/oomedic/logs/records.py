r"""Logs as collectors keep them: each line inside a record, of JSON mostly.

{"log":"INFO 10-12 vLLM API server version 0.11.0\n","stream":"stderr"}      → INFO 10-12 vLLM API server …
        "message": "INFO 10-12 vLLM API server version 0.11.0",              → the same, of a record over several lines
[0] kube.var.log: [[1760259600.1, {}], {"log"=>"INFO 10-12 …"}]              → the same, as Fluent Bit prints it
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

_KEYS: Final = (
    *("log", "message", "msg", "textPayload", "jsonPayload", "line", "body", "MESSAGE", "event"),
    *("_source", "@message", "content"),
)
_DEPTH: Final = 3
_HEAD: Final = 64 * 1024
# Patterns are compiled when they are first needed (and kept by re): most logs are no records.
_MEMBER: Final = (
    r"\s{0,40}\"(?:log|message|msg|textPayload|line|body|MESSAGE|@message)\":\s{0,4}(?=\")"  # one member of a record
    r"|\s{0,40}\[\s{0,40}\"\d{10,20}\",\s{0,40}(?=\")"  # Loki's pairs of time and line
    r"|\[\d{1,9}\] [\w.*-]{1,200}: .{0,400}?\"(?:log|message)\"=>(?=\")"  # Fluent Bit's own print
)
_INSIDE: Final = r"\"(?:log|message|msg|line|textPayload)\":\s{0,4}(?=\")|\[\"\d{10,20}\",\s{0,4}(?=\")"
_BETWEEN: Final = rb",\s{0,40}(?=\{\"|\[\"\d{10})"
_CELL: Final = '","'
_ESCAPES: Final = ((r"\"", '"'), (r"\n", "\n"), (r"\t", "\t"), (r"\u001b", "\x1b"), (r"\\", "\\"))


def one_record_per_line(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Break a file that is a single line of JSON records (CloudWatch, Loki, Grafana); others pass as they are.

    A quotation mark inside a JSON string is escaped, so that ``{"`` after a comma is never part of a message.
    """
    pieces = iter(chunks)
    head = b""
    while len(head) < _HEAD and (piece := next(pieces, b"")):
        head += piece
    begin = head[:_HEAD].strip()
    if not begin.startswith((b"{", b"[")) or b"\n" in begin or re.search(_BETWEEN, begin) is None:
        yield head
        yield from pieces
        return
    rest = b""
    for piece in chain((head,), pieces):
        text = rest + piece
        cut = text.rfind(b",", max(0, len(text) - _HEAD))
        cut = len(text) if cut < 0 else cut
        yield re.sub(_BETWEEN, b",\n", text[:cut])
        rest = text[cut:]
    yield re.sub(_BETWEEN, b",\n", rest)


def message_in(text: str) -> str | None:
    """Return the message that a record carries, None when the text is no record."""
    begin = text[:200]
    if '"' not in begin:
        return None
    if begin.startswith("{"):
        return _of_object(text)
    if begin.lstrip()[:1] not in {'"', "["}:
        return None
    member = re.match(_MEMBER, text)
    return _of_row(text) if member is None else _string(text, member.end())


def _of_object(text: str) -> str | None:
    from json import JSONDecoder  # only where a log is JSON

    try:
        record: Any = JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        inside = re.search(_INSIDE, text)  # it was cut off
        return None if inside is None else _string(text, inside.end())
    for _ in range(_DEPTH):
        if not isinstance(record, dict):
            break
        record = next((record[key] for key in _KEYS if isinstance(record.get(key), str | dict)), None)
    return record if isinstance(record, str) else None


def _string(text: str, start: int) -> str:
    """Read the JSON string that begins at a place; one that was cut off as far as it goes."""
    from json import JSONDecoder  # see _of_object

    try:
        return str(JSONDecoder(strict=False).raw_decode(text, start)[0])
    except ValueError:
        rest = text[start:]
        for escape, character in _ESCAPES:
            rest = rest.replace(escape, character)
        return rest.strip(' "}')


def _of_row(text: str) -> str | None:
    """Return the longest cell of a table's row in which every cell is quoted."""
    if not text.startswith('"') or not text.endswith('"') or _CELL not in text:
        return None
    return max(text[1:-1].split(_CELL), key=len).replace('""', '"')
