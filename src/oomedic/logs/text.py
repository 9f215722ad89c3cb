r"""From the bytes of a log to the lines that the program printed.

On its way a line collects wrappers: colours, carriage returns of progress bars, the JSON of Docker or of a collector,
the prefix of the container runtime, of ``kubectl logs --prefix``, Compose or stern, a time stamp, the rank that printed
it and the header of the logger. Here they come off again. Nothing is read or written.

    [pod/qwen-0/vllm] (Worker_TP3 pid=9) INFO 09-25 10:53:35 [gpu_worker.py:298] Available KV cache memory: 35.68 GiB
    → Line("Available KV cache memory: 35.68 GiB", rank="Worker_TP3", headed=True)
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from oomedic.logs.records import message_in


class Line(NamedTuple):
    """One line as the program printed it.

    ``rank`` names the process: ``"Worker_TP3"``, ``"VllmWorker rank=1"``, ``"EngineCore_DP0"``, ``"rank0"``, or
    ``"RayWorkerWrapper pid=22033"`` where it printed no rank. ``headed`` says that a time stamp or a logger's header
    stood before the text, so that it begins a message; ``partial`` that the container runtime cut it off.
    """

    text: str
    rank: str | None = None
    headed: bool = False
    partial: bool = False


_UNWRAPS: Final = 8
_NESTED: Final = 3

_ESCAPES: Final = re.compile(
    r"\x1b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)?|[@-Z\\^_])"
    r"|(?:#033|\^\[|ESC)?(?<!u001b)\[(?:\d{1,3};){0,4}\d{1,3}m"
)
_COLOURED: Final = ("\x1b", "[0m", "[0;", "[1;", "[36m")  # written out (rsyslog, cat -v), or swallowed by a web page
_LEVEL: Final = "(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)"
_HEADER: Final = re.compile(
    _LEVEL + r" {1,4}(?:\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? )?\[?[\w./-]{1,160}:\d{1,6}\] ?"  # vLLM's own
)
_HASHED: Final = "[bcdfghjklmnpqrstvwxz2456789]"  # the letters of generated names in Kubernetes
_PREFIX: Final = re.compile(
    r"\[pod/[^\]\s]{1,300}\] ?"  # kubectl logs --prefix
    r"|(?P<time>\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?)"
    r"(?: (?:stdout|stderr) (?P<tag>[FP])(?::[^ ]{1,20})?(?: |$)"  # the container runtime
    rf"|,? - [\w.]{{1,80}} - {_LEVEL} - | ?)"  # Python's logging; kubectl logs --timestamps
    r"|[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,9}\s{1,8}\d{1,9} [\w.-]{1,80}:\d{1,6}\] ?"  # klog: Triton, kubelet
    r"|\[[IWEF][^\]\n]{0,80}\.(?:cpp|cu|h|hpp|cc):\d{1,6}\] ?"  # c10: torch
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,80} [\w./-]{1,80}(?:\[\d{1,9}\])?: "  # syslog
    rf"|{_LEVEL}(?:\s{{1,4}}PyProcess \S{{1,80}}: ?|:\s{{1,5}})"  # DJL serving, uvicorn
    r"|\[(?i:debug|info|warn|warning|error)\] ?(?:\(Process\) )?|[>*]{1,4} ?"  # launchers; quoted in a report
    r"|\[[\w./-]{1,120}\.py(?::\d{1,6})?\]\s{0,2}"  # what is left of a shortened header
    r"|\[?[\w.-]{1,120}(?:/[\w.-]{1,120})?\]?\s{1,60}\|\s"  # Compose, stern, honcho
    rf"|[a-z0-9][\w.-]{{0,200}}-{_HASHED}{{5,10}}-{_HASHED}{{5}} [a-z0-9][a-z0-9-]{{0,62}} "  # stern, of a Deployment
    r"|[a-z0-9][a-z0-9.-]{0,200}-\d{1,4} [a-z0-9][a-z0-9-]{0,62} "  # and of a StatefulSet
    r"(?=Traceback \(|\s{2}File \"|[\w.]{1,80}(?:Error|Exception)(?:: |$))"
    r"|(?P<rank>[(\[](?:(?:rank|Stage-)\d{1,5}|(?:Vllm)?Worker[\w-]{0,60}|EngineCore\w{0,40}|A[pP][iI]Server\w{0,40}"
    r"|(?:[A-Za-z][\w:.-]{0,60}(?: rank=\d+)?,? )?pid=\d+(?:, ip=[\w.:]+)?)[)\]]:? ?)"
)
_RANK: Final = re.compile(
    r"[(\[]((?:rank\d|(?:Vllm)?Worker|EngineCore|A[pP][iI]Server)[\w-]{0,60}[)\]]"
    r"|[A-Za-z][\w:.-]{0,60}(?=,? (?:rank|pid)=))( rank=\d+)?(,? pid=\d+)?"
)
_TELLING: Final = re.compile(r"\d|A[pP][iI]Server|EngineCore")
_REPEATED: Final = re.compile(r" \[repeated \d{1,9}x across cluster\].{0,300}$")
_BEGINS: Final = re.compile(
    r"\s{4}|\s{0,3}(?:Traceback \(|File \"|During handling|The above exception|Process \S+:$"
    r"|[\w.]{0,120}(?:Error|Exception|Warning)\b|[A-Z]{4,8}\b|\[(?!['\"\d])|[<*#|+]|- |[\w./-]{1,200}: error:|usage:"
    r"|exec )"
)


def to_utf8(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Turn UTF-16 with a byte order mark (as PowerShell writes files) into UTF-8; all else passes as it is."""
    decoder: codecs.IncrementalDecoder | None = None
    head: bytes | None = b""
    for chunk in chunks:
        if head is not None:
            head += chunk
            if len(head) < 2:
                continue
            chunk, head = head, None  # noqa: PLW2901 - the first chunk is what was gathered so far
            if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                decoder = codecs.getincrementaldecoder("utf-16")("replace")
        yield decoder.decode(chunk).encode("utf-8", "replace") if decoder else chunk
    if head:
        yield head


def lines(raw: bytes) -> tuple[Line, ...]:
    """Read one physical line: the lines that it holds, several where JSON or a progress bar packs them into one."""
    text = raw.decode("utf-8", "replace").replace("\0", "").removeprefix("\ufeff").rstrip("\r\n")
    text = text.removesuffix("^M")  # as cat -v writes it
    return tuple(line for part in _parts(text) for line in _line(part, _NESTED))


def goes_on(line: Line) -> bool:
    """Say whether a line itself tells that the next one belongs to it: cut by the runtime, or ended by a backslash."""
    return line.partial or line.text.rstrip().endswith("\\")


def continues(first: Line, after: Line) -> bool:
    """Say whether ``after`` may be the rest of a message that begins in ``first`` and was broken by a console.

    It has no header of its own, comes from the same process and does not look like the beginning of something else.
    """
    if goes_on(first):
        return True
    if after.headed or not after.text or (after.rank or first.rank) != first.rank:
        return False
    indent = len(first.text) - len(first.text.lstrip())
    rest = after.text[indent:] if not after.text[:indent].strip() else after.text
    return _BEGINS.match(rest) is None


def _parts(text: str) -> Iterator[str]:
    """Cut at carriage returns; blank parts say nothing."""
    return (part for part in text.split("\r") if part.strip()) if "\r" in text else iter((text,))


def _line(text: str, nested: int) -> Iterator[Line]:
    """Take the wrappers off one after the other, from the outside inwards; JSON at most ``nested`` times."""
    if any(sign in text for sign in _COLOURED):
        text = _ESCAPES.sub("", text)
    rank: str | None = None
    headed = partial = False
    for _ in range(_UNWRAPS):
        inside = message_in(text) if nested else None
        if inside is not None:
            yield from _within(inside, Line("", rank, headed, partial), nested - 1)
            return
        header = _HEADER.search(text, 0, 400)
        if header and ('{"' in (before := text[: header.start()]) or ',"' in before):
            header = None  # it stands inside a record: what is around that must come off first
        prefix = header or _PREFIX.match(text)
        if prefix is None:
            break
        rank = _rank(text[: prefix.end()]) or rank
        headed = headed or header is not None or _is_heading(prefix)
        partial = partial or (header is None and prefix["tag"] == "P")
        text = text[prefix.end() :]
        if text.startswith(',"'):
            text = text[2:].removesuffix('"').replace('""', '"')  # a table of times and messages
    if text.endswith(("]", ")")):
        text = _REPEATED.sub("", text)
    yield Line(text, rank, headed, partial)


def _within(text: str, outer: Line, nested: int) -> Iterator[Line]:
    """Read what JSON wrapped; what the wrapper knew holds where the text itself does not say better."""
    for part in text.rstrip("\n").split("\n"):
        for piece in _parts(part):
            for line in _line(piece, nested):
                yield line._replace(rank=line.rank or outer.rank, partial=line.partial or outer.partial)


def _is_heading(prefix: re.Match[str]) -> bool:
    """A time of the container runtime stands before every line; a logger's own begins a message."""
    if prefix["time"]:
        return not prefix["tag"] and " " in prefix["time"]
    return prefix["rank"] is None and not prefix[0].startswith(("[pod/", ">", "*")) and "|" not in prefix[0]


def _rank(prefix: str) -> str | None:
    """Name the innermost process of a prefix; a pid only where nothing else tells one process from another."""
    for name, rank, pid in reversed(_RANK.findall(prefix)):
        name = name.rstrip(")]")  # noqa: PLW2901 - a name without a pid is known by its closing bracket
        return f"{name}{rank or ('' if _TELLING.search(name) else pid.lstrip(','))}"
    return None
