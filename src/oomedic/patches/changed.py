"""The objects that a change of files concerns, as they are and as they shall be."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from oomedic.kube.objects import KubeObject, objects_of
from oomedic.kube.values import kube_value
from oomedic.workloads.kustomization import kustomizations
from oomedic.workloads.kustomize import build
from oomedic.yamldoc.nodes import get, text_of
from oomedic.yamldoc.text import compose

Files = Mapping[str, str]


class Changed(NamedTuple):
    """A change of files: their texts before and after, by path."""

    before: Files
    after: Files

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that differ."""
        return tuple(path for path in self.before if self.before[path] != self.after[path])

    @property
    def anything(self) -> bool:
        """Whether any file differs or is new."""
        return bool(self.paths or self.made)

    @property
    def made(self) -> tuple[str, ...]:
        """The files that are new."""
        return tuple(path for path in self.after if path not in self.before)


class ObjectChange(NamedTuple):
    """One object that differs; without a kind it is a values file.

    ``path`` is the file that it stands in, or the kustomization that makes it; ``written_name`` is its name before that
    one changes it, which is when the patches of a kustomization are applied.
    """

    path: str
    api_version: str
    kind: str
    namespace: str | None
    name: str
    before: Any
    after: Any
    written_name: str = ""

    @property
    def group(self) -> str:
        """The API group, "" for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def title(self) -> str:
        """How a person is told which object it is."""
        return f"{self.kind}/{self.name}" if self.kind else self.path


def changed_objects(changed: Changed) -> tuple[ObjectChange, ...]:
    """Return the objects that differ; those that a kustomization makes, where it refers to a file that differs."""
    found: list[ObjectChange] = []
    overlays = kustomizations(changed.before)[0]
    for path in sorted(overlays):
        objects = [build(path, files.get).objects for files in (changed.before, changed.after)]
        found += _different(path, *objects)
    parts = kustomizations(changed.before)[1]
    for path in changed.paths:
        if path not in parts and path not in overlays:
            pair = [tuple(objects_of(compose(files[path], path))) for files in (changed.before, changed.after)]
            found += _different(path, *pair)
    return tuple(found)


def _different(path: str, before: tuple[KubeObject, ...], after: tuple[KubeObject, ...]) -> Iterator[ObjectChange]:
    for old, new in zip(before, after, strict=True):
        trees = kube_value(old.node), kube_value(new.node)
        if trees[0] != trees[1]:
            written = text_of(get(new.node, "metadata", "name")) or new.name
            yield ObjectChange(path, new.api_version, new.kind, new.namespace, new.name, *trees, written)
