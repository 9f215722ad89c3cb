"""The change that helps, as replacements in the text of a file: what an editor or a review can apply with one click."""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Final

from oomedic.arguments.table import ArgumentTable
from oomedic.errors import InputError
from oomedic.lint.places import Places
from oomedic.lint.verdict import Replacement
from oomedic.patches.patching import edited_files
from oomedic.planning.plan import Offer
from oomedic.redaction import redact
from oomedic.workloads.kustomization import is_kustomization
from oomedic.workloads.kustomize import build
from oomedic.workloads.reading import Reading
from oomedic.workloads.workload import EditPath, Workload

_BY_HAND: Final = frozenset({"manual", "gpu"})
_LARGE: Final = 256 * 1024
"""Characters. An edit reads its file anew a few times, so an engine of a large file is taken out of it first."""

Files = Mapping[str, str]


class Rewriter:
    """Writes offers down in the files that lint read."""

    def __init__(self, files: Files, table: ArgumentTable, places: Places) -> None:
        """Take all files, vLLM's arguments, and what turns offsets into lines."""
        self._files = files
        self._table = table
        self._places = places

    def replacements(self, offer: Offer, reading: Reading) -> tuple[Replacement, ...]:
        """Return an offer as replacements, nothing where it cannot be written or would show a secret."""
        if all(change.target in _BY_HAND or change.target.startswith("env.") for change in offer.changes):
            return ()
        workload = reading.workload
        try:
            cut = self._document(reading)
            if cut is not None:
                return self._of_document(offer, workload, reading.source.file.path, cut)
            before = self._needed(reading)
            if sum(map(len, before.values())) > _LARGE:
                return ()
            after = edited_files(before, workload, offer.changes, self._table)
        except InputError:
            return ()
        found = (self._changes(path, before[path], after[path], 0) for path in before if before[path] != after[path])
        return _without_secrets(tuple(each for changes in found for each in changes))

    def _needed(self, reading: Reading) -> dict[str, str]:
        """Return the files that make up an engine."""
        path = reading.source.file.path
        if not is_kustomization(path):
            named = {path, *(place.file for place in reading.workload.edit_paths.values())}
            return {name: self._files[name] for name in self._files if name in named}
        asked: dict[str, str] = {}

        def get(name: str) -> str | None:
            text = self._files.get(name)
            if text is not None:
                asked[name] = text
            return text

        build(path, get)
        return asked

    def _document(self, reading: Reading) -> tuple[int, int] | None:
        """Return the range of the document that an engine stands in, where it is one of several and needs no other."""
        found, file = reading.found, reading.source.file
        if found is None or found.rendered or len(file.documents) < 2 or is_kustomization(file.path):
            return None
        start = file.text.rfind("\n", 0, max(found.root.start, 0)) + 1
        following = file.documents[found.document + 1 : found.document + 2]
        end = file.text.rfind("\n---", 0, following[0].start) + 1 if following else len(file.text)
        places = reading.workload.edit_paths.values()
        return (
            (start, end) if start < end and all(_within(place, file.path, (start, end)) for place in places) else None
        )

    def _of_document(
        self, offer: Offer, workload: Workload, path: str, cut: tuple[int, int]
    ) -> tuple[Replacement, ...]:
        start, end = cut
        before = self._files[path][start:end]
        place = workload.place
        alone = workload._replace(place=(0, *place[1:]) if place else None)
        after = edited_files({path: before}, alone, offer.changes, self._table)[path]
        return _without_secrets(tuple(self._changes(path, before, after, start)))

    def _changes(self, path: str, before: str, after: str, offset: int) -> Iterator[Replacement]:
        """Yield what differs, line block by line block, each cut down to the characters that differ."""
        old, new = before.split("\n"), after.split("\n")
        starts = [0]
        for line in old:
            starts.append(starts[-1] + len(line) + 1)
        for what, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if what == "equal":
                continue
            gone, come = "\n".join(old[i1:i2]), "\n".join(new[j1:j2])
            if what == "insert":
                come += "\n"
            elif what == "delete":
                gone += "\n"
            head = _common(gone, come)
            tail = _common(gone[head:][::-1], come[head:][::-1])
            at = offset + starts[i1] + head
            span = (at, at + len(gone) - head - tail)
            place = self._places.of_range(path, self._files[path], span, "")
            yield Replacement(place, come[head : len(come) - tail])


def _within(place: EditPath, path: str, cut: tuple[int, int]) -> bool:
    if place.file != path:
        return False
    return place.span is None or (cut[0] <= place.span[0] and place.span[1] <= cut[1])


def _without_secrets(found: tuple[Replacement, ...]) -> tuple[Replacement, ...]:
    return () if any(redact(each.text) != each.text for each in found) else found


def _common(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    most = min(len(one), len(other))
    return next((at for at in range(most) if one[at] != other[at]), most)
