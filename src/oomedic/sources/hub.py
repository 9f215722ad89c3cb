"""The Hugging Face hub: config.json and safetensors headers of a model that no catalogue knows.

The only outgoing call of oomedic: the model's id, within three seconds, cached. ``HF_ENDPOINT``, ``HF_TOKEN``,
``HF_HUB_OFFLINE`` and ``OOMEDIC_CACHE`` are honoured. The token goes to the endpoint's own host alone, wherever that
redirects to. The library huggingface_hub is not used for these few requests: it takes longer to import than everything
else a run does (docs/adr/0006).
"""

import json
import os
import re
import time
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from threading import Thread
from typing import IO, Any, Final
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from oomedic.errors import InputError
from oomedic.models.checkpoint import Checkpoint
from oomedic.sources.files import write_atomically

_SECONDS: Final = 3.0
_HEADER_LIMIT: Final = 64 * 1024 * 1024
_CONFIG_LIMIT: Final = 4 * 1024 * 1024
_PIECE: Final = 256 * 1024
_ID: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[\w.-]{1,95}")
_ON: Final = frozenset({"1", "TRUE", "YES", "ON"})
_DENIED: Final = frozenset({401, 403})
_BITS: Final = {"F64": 64, "I64": 64, "U64": 64, "F32": 32, "I32": 32, "U32": 32, "F4": 4}
_SIXTEEN: Final = frozenset({"BF16", "F16", "I16", "U16"})


class HuggingFaceHub:
    """Fetches what is needed of one model, or nothing; ``trouble`` then says why, as the slug of an error."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Take the environment variables that say where and whether to ask."""
        self.trouble = "model-unknown"
        self._endpoint = (environment.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
        self._token = environment.get("HF_TOKEN") or environment.get("HUGGING_FACE_HUB_TOKEN")
        self._offline = environment.get("HF_HUB_OFFLINE", "").upper() in _ON
        home = environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - works without a home
        self._cache = Path(environment.get("OOMEDIC_CACHE") or Path(home) / "oomedic") / "hub"
        self._opener = build_opener(_SameHost)
        self._until = 0.0

    def checkpoint(self, model: str, /) -> Checkpoint | None:
        """Return the model, None when it cannot be had: no network, no such id, no access.

        A thread of its own asks: no time limit of a socket ends the search for a host's address.
        """
        self.trouble = "model-unknown"
        if not _ID.fullmatch(model) or ".." in model:
            return None
        self._until = time.monotonic() + _SECONDS
        found: list[Checkpoint | None] = []
        asking = Thread(target=lambda: found.append(self._checkpoint(model)), daemon=True)
        asking.start()
        asking.join(_SECONDS)
        if not found:
            self.trouble = "model-unreachable"
        return found[0] if found else None

    def _checkpoint(self, model: str) -> Checkpoint | None:
        config = self._json(model, "config.json", _CONFIG_LIMIT)
        if not isinstance(config, dict):
            return None
        if "quantization_config" not in config:
            separate = self._json(model, "hf_quant_config.json", _CONFIG_LIMIT)
            config = {**config, "hf_quant_config": separate} if isinstance(separate, dict) else config
        return Checkpoint(model, config, "hub", estimate=self._weights(model))

    def _weights(self, model: str) -> int | None:
        """Return the bytes of all tensors: the index says them, else the header of the only file."""
        index = self._json(model, "model.safetensors.index.json", _HEADER_LIMIT)
        if isinstance(index, dict):
            metadata = index.get("metadata")
            total = metadata.get("total_size") if isinstance(metadata, dict) else None
            return int(total) if isinstance(total, int | float) and total > 0 else None
        header = self._header(model, "model.safetensors")
        return sum(map(_tensor_bytes, header.values())) or None

    def _header(self, model: str, name: str) -> dict[str, Any]:
        """Read the header of a safetensors file: eight bytes of length, then as much JSON; empty without one."""
        start = self._get(model, name, 0, 8)
        length = int.from_bytes(start or b"", "little")
        if start is None or len(start) < 8 or not 2 <= length <= _HEADER_LIMIT:
            return {}
        text = self._get(model, name, 8, length)
        header = _parsed(text.decode("utf-8", "replace")) if text else None
        return (
            {key: tensor for key, tensor in header.items() if key != "__metadata__"} if isinstance(header, dict) else {}
        )

    def _json(self, model: str, name: str, limit: int) -> Any:
        """Return a JSON file of the model: the kept one, else the hub's, which is then kept."""
        kept = self._cache / model.replace("/", "--") / name
        parsed = _parsed(_kept(kept))
        if parsed is not None:
            return parsed
        content = self._get(model, name, None, limit)
        text = content.decode("utf-8", "replace") if content else ""
        parsed = _parsed(text)
        if parsed is not None:
            self._keep(kept, text)
        return parsed

    def _keep(self, path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(str(path), text)
        except (OSError, InputError):
            return  # a cache that cannot be written only costs time

    def _get(self, model: str, name: str, start: int | None, length: int) -> bytes | None:
        """Return up to ``length`` bytes of a file, from ``start`` on; None when they cannot be had."""
        left = self._until - time.monotonic()
        if self._offline or left <= 0 or urlsplit(self._endpoint).scheme not in {"http", "https"}:
            self.trouble = "model-offline" if self._offline else "model-unreachable"
            return None
        request = Request(f"{self._endpoint}/{quote(model)}/resolve/main/{quote(name)}")  # noqa: S310 - checked above
        request.add_header("User-Agent", "oomedic")
        if start is not None:
            request.add_header("Range", f"bytes={start}-{start + length - 1}")
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            with self._opener.open(request, timeout=left) as answer:
                skipped = (
                    start if start and answer.status != 206 else 0
                )  # the whole file, although a part was asked for
                return self._read(answer, skipped + length)[skipped:]
        except HTTPError as refused:
            self.trouble = "model-denied" if refused.code in _DENIED else "model-unknown"
        except (OSError, ValueError, HTTPException):
            self.trouble = "model-unreachable"
        return None

    def _read(self, answer: IO[bytes], length: int) -> bytes:
        """Read a body piece by piece, so that one that only trickles does not outlast the time.

        Raises:
            TimeoutError: when the time is over before the body is.
        """
        body = b""
        while len(body) < length:
            piece = answer.read1(min(_PIECE, length - len(body)))  # type: ignore[attr-defined] # HTTPResponse has it
            if not piece:
                break
            body += piece
            if time.monotonic() > self._until:
                raise TimeoutError
        return body


class _SameHost(HTTPRedirectHandler):
    """Follows redirects over HTTP alone, and carries the token on only to the host that it was meant for."""

    def redirect_request(  # noqa: PLR0917 - the signature of urllib
        self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        """Make the request for the new place."""
        if urlsplit(newurl).scheme not in {"http", "https"}:
            return None
        found = super().redirect_request(req, fp, code, msg, headers, newurl)
        token = req.unredirected_hdrs.get("Authorization")
        if found is not None and token and urlsplit(newurl)[:2] == urlsplit(req.full_url)[:2]:
            found.add_unredirected_header("Authorization", token)
        return found


def from_environment() -> HuggingFaceHub:
    """Return the hub that the process's environment names."""
    return HuggingFaceHub(os.environ)


def _kept(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _tensor_bytes(tensor: Any) -> int:
    """Return the bytes of one tensor of a header, 0 where it is not described as one."""
    if not isinstance(tensor, dict):
        return 0
    dtype, shape = str(tensor.get("dtype")), tensor.get("shape")
    bits = 16 if dtype in _SIXTEEN else _BITS.get(dtype, 8)
    if not isinstance(shape, list) or not all(isinstance(length, int) and length >= 0 for length in shape):
        return 0
    for length in shape:
        bits *= length
    return bits // 8
