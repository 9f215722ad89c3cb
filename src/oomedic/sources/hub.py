"""The Hugging Face hub: config.json and safetensors headers of a model that no catalogue knows.

The only outgoing call of oomedic: the model's id, within three seconds, cached. ``HF_ENDPOINT``, ``HF_TOKEN``,
``HF_HUB_OFFLINE`` and ``HF_HOME`` are honoured. The library huggingface_hub is not used for these few requests: it
takes longer to import than everything else a run does (docs/adr/0006).
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from oomedic.checkpoint import Checkpoint
from oomedic.sources.files import write_atomically

_SECONDS: Final = 3.0
_HEADER_LIMIT: Final = 64 * 1024 * 1024
_CONFIG_LIMIT: Final = 4 * 1024 * 1024
_ID: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_DTYPE_BYTES: Final = {
    "F64": 8,
    "I64": 8,
    "F32": 4,
    "I32": 4,
    "BF16": 2,
    "F16": 2,
    "I16": 2,
    "U8": 1,
    "I8": 1,
    "BOOL": 1,
}


class HuggingFaceHub:
    """Fetches what is needed of one model, or nothing."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Take the environment variables that say where and whether to ask."""
        self._endpoint = environment.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
        self._token = environment.get("HF_TOKEN") or environment.get("HUGGING_FACE_HUB_TOKEN")
        self._offline = environment.get("HF_HUB_OFFLINE", "").upper() in {"1", "TRUE", "YES", "ON"}
        home = environment.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        self._cache = Path(environment.get("OOMEDIC_CACHE") or Path(home) / "oomedic") / "hub"

    def checkpoint(self, model: str, /) -> Checkpoint | None:
        """Return the model, None when it cannot be had: no network, no such id, no access."""
        if not _ID.fullmatch(model):
            return None
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
            total = index.get("metadata", {}).get("total_size")
            return int(total) if isinstance(total, int | float) else None
        header = self._header(model, "model.safetensors")
        return sum(map(_tensor_bytes, header.values())) if header else None

    def _header(self, model: str, name: str) -> dict[str, Any] | None:
        """Read the header of a safetensors file: eight bytes of length, then as much JSON."""
        start = self._get(model, name, "bytes=0-7", 8)
        if start is None or len(start) < 8:
            return None
        length = int.from_bytes(start[:8], "little")
        if length > _HEADER_LIMIT:
            return None
        text = self._get(model, name, f"bytes=8-{7 + length}", length)
        try:
            header = json.loads(text) if text else None
        except ValueError:
            return None
        return {key: tensor for key, tensor in header.items() if key != "__metadata__"} if header else None

    def _json(self, model: str, name: str, limit: int) -> Any:
        kept = self._cache / model.replace("/", "--") / name
        if kept.exists():
            return _parsed(kept.read_text(encoding="utf-8"))
        content = self._get(model, name, None, limit)
        if content is None:
            return None
        text = content.decode("utf-8", "replace")
        parsed = _parsed(text)
        if parsed is not None:
            self._keep(kept, text)
        return parsed

    def _keep(self, path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError:
            return  # a cache that cannot be written only costs time
        write_atomically(str(path), text)

    def _get(self, model: str, name: str, span: str | None, limit: int) -> bytes | None:
        if self._offline:
            return None
        headers = {"User-Agent": "oomedic"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if span:
            headers["Range"] = span
        url = f"{self._endpoint}/{quote(model)}/resolve/main/{quote(name)}"
        try:
            with urlopen(Request(url, headers=headers), timeout=_SECONDS) as answer:  # noqa: S310 - the user's endpoint
                content: bytes = answer.read(limit)
                return content
        except (URLError, OSError, ValueError):
            return None


def from_environment() -> HuggingFaceHub:
    """Return the hub that the process's environment names."""
    return HuggingFaceHub(os.environ)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _tensor_bytes(tensor: Any) -> int:
    size = _DTYPE_BYTES.get(str(tensor.get("dtype")), 1)
    for length in tensor.get("shape", ()):
        size *= int(length)
    return size
