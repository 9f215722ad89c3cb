"""The facts: GPUs, models, engine versions, signatures, arguments, messages and pages.

Made from the texts of the compiled index, each of which is parsed when it is first asked for: who explains a code
reads no models. What a user adds comes first and overrides by key.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from oomedic.arguments.table import ArgumentTable
from oomedic.errors import UnknownName
from oomedic.figure import Figure
from oomedic.gpu import Gpu, GpuTable, gpu_rows
from oomedic.models.table import Model, ModelTable, Stored
from oomedic.units import Bytes

__all__ = ["Catalogue", "Model", "Stored"]

Row = Mapping[str, Any]
Extra = Mapping[str, Sequence[Row]]
"""A user's rows by kind: "gpu", "mig", "model", "signature", "instance"."""


class Catalogue:
    """All facts of one index, and what the user added to them."""

    def __init__(self, read: Callable[[str], bytes], extra: Extra | None = None) -> None:
        """Take a way to get the text of a part ("gpus.json"), and the user's rows; nothing is read yet."""
        self._read = read
        self._extra: Extra = extra or {}

    def extended(self, extra: Extra) -> "Catalogue":
        """Return this catalogue with more rows of the user; a row of the same key overrides what it names."""
        kinds = {*self._extra, *extra}
        joined = {kind: (*self._extra.get(kind, ()), *map(_yours, extra.get(kind, ()))) for kind in kinds}
        return Catalogue(self._read, joined)

    @property
    def version(self) -> str:
        """Return the date and digest of the index; "+yours" when the user added something."""
        version = self._part("versions.json")["catalogue"]
        return f"{version}+yours" if any(self._extra.values()) else version

    def gpu(self, name: str, total: Bytes | None = None) -> Gpu:
        """Return the GPU of that name; ``total`` decides between several.

        Raises:
            UnknownName: ``gpu-ambiguous`` or ``gpu-unknown``.
        """
        return self._gpus.find(name, total)

    def gpus(self) -> tuple[Gpu, ...]:
        """Return every GPU and MIG slice."""
        return self._gpus.all()

    def gpus_with_total(self, total: Figure) -> tuple[Gpu, ...]:
        """Return the GPUs that show this total, the likest first."""
        return self._gpus.with_total(total)

    def model(self, name: str) -> Model | None:
        """Return the model of an id (see ``ModelTable.find``), None when it is not known."""
        return self._models.find(name)

    def model_behind(self, path: str) -> Model | None:
        """Return the model that a path is named after: a guess, for the caller to say so."""
        return self._models.behind(path)

    def stored_in(self, name: str) -> Stored | None:
        """Return the model of which a checkpoint's name says that it is a quantised copy: a guess too."""
        return self._models.stored_in(name)

    def nearest_models(self, name: str, count: int = 3) -> tuple[str, ...]:
        """Return the ids most like a name or path, the likest first; none when nothing is like it."""
        return self._models.nearest(name, count)

    def variants(self, name: str) -> tuple[Model, ...]:
        """Return the quantised checkpoints of the same weights."""
        return self._models.variants(name)

    def models(self) -> tuple[str, ...]:
        """Return every model id."""
        return self._models.ids()

    def instances(self) -> tuple[Row, ...]:
        """Return the accelerated EC2 instance types, the user's among them."""
        return self._instances

    @cached_property
    def _instances(self) -> tuple[Row, ...]:
        return _overridden(self._part("instances.json"), self._extra.get("instance", ()), key="type")

    def formats(self) -> tuple[Row, ...]:
        """Return the ways of storing weights."""
        return tuple(self._part("formats.json"))

    def engines(self) -> tuple[Row, ...]:
        """Return what changed in each vLLM version, oldest first."""
        return tuple(self._part("engines.json"))

    def signatures(self) -> tuple[Row, ...]:
        """Return the signatures of log lines, the user's among them."""
        return _overridden(self._part("signatures.json"), self._extra.get("signature", ()))

    @cached_property
    def arguments(self) -> ArgumentTable:
        """The arguments that vLLM's server takes, or took."""
        return ArgumentTable.of(self._part("arguments.json").get("argument", ()))

    def argument_releases(self) -> tuple[str, ...]:
        """Return the releases that the arguments were read from."""
        return tuple(self._part("arguments.json").get("releases", ()))

    def messages(self) -> Mapping[str, str]:
        """Return the English text of every message by its id."""
        messages: Mapping[str, str] = self._part("messages.json")
        return messages

    def codes(self) -> tuple[str, ...]:
        """Return the codes of all causes and remedies."""
        return tuple(self._part("pages.json"))

    def page(self, code: str) -> Row:
        """Return the page of a cause or remedy, by its code or its name.

        Raises:
            UnknownName: ``code-unknown``, with the ``nearest`` codes.
        """
        wanted = code.strip().lower()
        page = self._named_pages.get(wanted)
        if page is None:
            raise UnknownName("code-unknown", name=code, nearest=_nearest_codes(wanted, self._part("pages.json")))
        return page

    @cached_property
    def _named_pages(self) -> Mapping[str, Row]:
        pages: Mapping[str, Row] = self._part("pages.json")
        return {page["name"]: page for page in pages.values()} | {code.lower(): page for code, page in pages.items()}

    @cached_property
    def _gpus(self) -> GpuTable:
        facts = self._part("gpus.json")
        cards = _overridden(facts["gpu"], self._extra.get("gpu", ()))
        return GpuTable(gpu_rows(cards, (*facts["mig"], *self._extra.get("mig", ()))))

    @cached_property
    def _models(self) -> ModelTable:
        return ModelTable(self._read("models.tsv"), self._extra.get("model", ()))

    @cached_property
    def _parsed(self) -> dict[str, Any]:
        return {}

    def _part(self, name: str) -> Any:
        if name not in self._parsed:
            self._parsed[name] = json.loads(self._read(name))
        return self._parsed[name]


def _yours(row: Row) -> Row:
    return {**row, "origin": "yours"}


def _overridden(rows: Sequence[Row], yours: Sequence[Row], key: str = "name") -> tuple[Row, ...]:
    """Merge by name, key by key; what is new comes last."""
    merged = {row[key]: row for row in rows}
    for row in yours:
        merged[row[key]] = {**merged.get(row[key], {}), **row}
    return tuple(merged.values())


def _nearest_codes(wanted: str, pages: Mapping[str, Row]) -> tuple[str, ...]:
    from difflib import get_close_matches  # only a code that is wrong needs it

    spelled = {known.lower(): known for known in pages} | {page["name"]: known for known, page in pages.items()}
    return tuple(dict.fromkeys(spelled[match] for match in get_close_matches(wanted, spelled, n=3, cutoff=0.5)))
