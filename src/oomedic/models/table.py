"""The models of the catalogue: one is found among hundreds without reading the others.

The index holds one line per model: its id in small letters, a tab, its row as JSON. Looking for ``newline id tab`` in
the bytes takes microseconds, parsing all of them would take longer than everything else a run does.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import product
from typing import Any, Final, NamedTuple

from oomedic.units import Bytes

Row = Mapping[str, Any]

_FOLDED: Final = r"\{([\d,-]+)\}"
_MIRRORS: Final = frozenset(("nousresearch", "unsloth"))
"""Organisations that publish others' models again, under the same names."""


class Model(NamedTuple):
    """One checkpoint.

    ``config`` is its config.json (with ModelOpt's ``hf_quant_config`` where that is a file of its own); ``config_from``
    says whether it is the checkpoint's own ("config.json"), written from a record of its architecture ("catalogue"),
    or "yours". ``parameters`` is what the checkpoint holds, multi-token-prediction layers included;
    ``weights_estimate`` is what loading takes, all ranks together, by ``estimate_method``. None: not known.
    """

    id: str
    config: Mapping[str, Any]
    config_from: str
    parameters: int | None = None
    active_parameters: int | None = None
    vision_parameters: int | None = None
    audio_parameters: int | None = None
    mtp_parameters: int | None = None
    weights_estimate: Bytes | None = None
    estimate_method: str | None = None
    checkpoint_estimate: Bytes | None = None
    base_model: str | None = None
    variant_of: str | None = None
    gated: bool | None = None
    licence: str | None = None
    note: str | None = None
    sources: tuple[str, ...] = ()


class Stored(NamedTuple):
    """A known model whose weights an unknown checkpoint stores, by its name, and the words that say how."""

    model: Model
    how: tuple[str, ...]


class ModelTable:
    """All models: the index's lines, and rows of the user, which come first."""

    def __init__(self, lines: bytes, rows: Iterable[Row] = ()) -> None:
        """Take the text of models.tsv and the user's rows; nothing is parsed yet."""
        self._lines = lines
        self._rows = {str(row["id"]).lower(): row for row in rows}
        self._found: dict[str, Model | None] = {}
        self._nearest: dict[tuple[str, int], tuple[str, ...]] = {}

    def find(self, name: str) -> Model | None:
        """Return the model of an id, whatever its letters' case; without an organisation only where one has it.

        A repository that moved is found under its old name too. Mirrors do not make a name ambiguous.
        """
        key = name.strip().lower()
        if key not in self._found:
            row = self._row(key)
            if row is None and "/" not in key:
                row = self._only_one_named(key)
            self._found[key] = None if row is None else model_of(row)
        return self._found[key]

    def behind(self, path: str) -> Model | None:
        """Return the model after which a folder, file or bucket is named, None when none or several are.

        That is a guess from a name, for whoever says so: the files may hold anything.
        """
        from oomedic.models.names import split_name  # ids that are right need none of it

        owner, name = split_name(path)
        found = self.find(f"{owner}/{name}") if owner else None
        return found or self.find(name)

    def stored_in(self, name: str) -> Stored | None:
        """Return the model of which an unknown checkpoint is a quantised copy, when its name says so.

        "unsloth/Qwen3.8-27B-NVFP4" stores Qwen/Qwen3.8-27B, how: ("nvfp4",). A guess from a name, for whoever says so.
        """
        from oomedic.models.names import split_name, split_storage  # ids that are right need none of it

        plain, how = split_storage(split_name(name)[1])
        model = self.find(plain) if how else None
        return None if model is None else Stored(model, how)

    def nearest(self, name: str, count: int) -> tuple[str, ...]:
        """Return the ids most like a name that is not known, the likest first."""
        from oomedic.models.names import nearest_names  # ids that are right need none of it

        asked = (name, count)
        if asked not in self._nearest:
            found = (self._row(key) for key in nearest_names(name, self._keys, count, _MIRRORS))
            self._nearest[asked] = tuple(str(row["id"]) for row in found if row is not None)
        return self._nearest[asked]

    def variants(self, name: str) -> tuple[Model, ...]:
        """Return the checkpoints that store the weights of this model quantised; for one of them, the others."""
        model = self.find(name)
        if model is None:
            return ()
        root = model.variant_of or model.id
        found = (model_of(row) for row in self._storing(root))
        return tuple(variant for variant in found if variant.id != model.id)

    def ids(self) -> tuple[str, ...]:
        """Return every id, as the hub writes it, in alphabetical order."""
        rows = (self._row(key) for key in self._keys)
        return tuple(str(row["id"]) for row in rows if row is not None)

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        lines = (line.partition(b"\t") for line in self._lines.splitlines() if not line.startswith(b"#"))
        known = {key.decode() for key, _, row in lines if not row.startswith(_MOVED)}
        return tuple(sorted(known | self._rows.keys()))

    def _row(self, key: str) -> Row | None:
        if key in self._rows:
            return self._rows[key]
        found = self._parsed(key)
        if found is not None and "moved_to" in found:
            return self._row(found["moved_to"].lower())
        return found

    def _parsed(self, key: str) -> Row | None:
        start = self._lines.find(f"\n{key}\t".encode())
        if start < 0:
            return None
        row: Row = json.loads(self._lines[self._lines.index(b"\t", start) : _end(self._lines, start + 1)])
        return row

    def _only_one_named(self, name: str) -> Row | None:
        keys = {key for key in self._rows if key.endswith(f"/{name}")}
        keys |= set(self._keys_before(f"/{name}\t".encode()))
        rows = {str(row["id"]): row for row in map(self._row, keys) if row is not None}
        originals = [row for key, row in rows.items() if key.partition("/")[0].lower() not in _MIRRORS]
        found = originals or list(rows.values())
        return found[0] if len(found) == 1 else None

    def _keys_before(self, wanted: bytes) -> Iterator[str]:
        """Yield the key of every line that holds these bytes."""
        place = self._lines.find(wanted)
        while place >= 0:
            start = self._lines.rfind(b"\n", 0, place) + 1
            yield self._lines[start : self._lines.index(b"\t", start)].decode()
            place = self._lines.find(wanted, place + 1)

    def _storing(self, root: str) -> Iterator[Row]:
        yield from (row for row in self._rows.values() if row.get("variant_of") == root)
        for key in self._keys_before(f'"variant_of":{json.dumps(root)}'.encode()):
            row = self._row(key)
            if row is not None and row.get("variant_of") == root and key not in self._rows:
                yield row


_MOVED: Final = b'{"moved_to":'


def model_of(row: Row) -> Model:
    """Read one row; a user's row needs no more than ``id`` and ``config``."""
    config = row.get("config") or {}
    if isinstance(config, str):
        config = json.loads(config)
    return Model(
        id=row["id"],
        config={key: unfolded(item) if key in _WITH_MODULES else item for key, item in config.items()},
        config_from="yours" if row.get("origin") == "yours" else row.get("config_from", "catalogue"),
        parameters=row.get("parameters"),
        active_parameters=row.get("active_parameters"),
        vision_parameters=row.get("vision_parameters"),
        audio_parameters=row.get("audio_parameters"),
        mtp_parameters=row.get("mtp_parameters"),
        weights_estimate=row.get("weights_bytes_estimate"),
        estimate_method=row.get("weights_bytes_method"),
        checkpoint_estimate=row.get("checkpoint_bytes_estimate"),
        base_model=row.get("base_model"),
        variant_of=row.get("variant_of"),
        gated=row.get("gated"),
        licence=row.get("licence"),
        note=row.get("note"),
        sources=tuple(row.get("sources", ())),
    )


_WITH_MODULES: Final = frozenset(("quantization_config", "hf_quant_config", "text_config"))


def unfolded(content: Any) -> Any:
    """Write folded module names out, in lists and as keys: "layers.{0-2}.mlp" stands for three names.

    >>> unfolded(["lm_head", "layers.{0-1,4}.mlp.gate"])
    ['lm_head', 'layers.0.mlp.gate', 'layers.1.mlp.gate', 'layers.4.mlp.gate']
    """
    if isinstance(content, Mapping):
        shared = ((_names(key), unfolded(item)) for key, item in content.items())
        return {name: item for names, item in shared for name in names}
    if isinstance(content, list):
        return [name for item in content for name in (_names(item) if isinstance(item, str) else (unfolded(item),))]
    return content


def _names(folded: str) -> Iterable[str]:
    if ".{" not in folded or folded.startswith("re:"):
        return (folded,)
    pieces = re.split(_FOLDED, folded)
    choices = [_numbers(piece) if place % 2 else (piece,) for place, piece in enumerate(pieces)]
    return map("".join, product(*choices))


def _numbers(ranges: str) -> Iterator[str]:
    for part in ranges.split(","):
        low, _, high = part.partition("-")
        yield from map(str, range(int(low), int(high or low) + 1))


def _end(lines: bytes, start: int) -> int:
    end = lines.find(b"\n", start)
    return len(lines) if end < 0 else end
