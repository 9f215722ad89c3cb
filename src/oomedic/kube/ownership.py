"""Who keeps an object as it is: its owners inside the cluster, and Helm, Argo CD or Flux outside of it.

What another hand keeps must be changed there: a change of the object itself is undone, or lost with the next release.
The marks are those that the tools' own documentation names.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

Tool = Literal["helm", "argocd", "flux-kustomize", "flux-helm"]
Tree = Mapping[str, Any]


class Reference(NamedTuple):
    """One object: API version, kind, namespace (None where the kind has none), name."""

    api_version: str
    kind: str
    namespace: str | None
    name: str

    @property
    def group(self) -> str:
        """The API group, "" for the core group."""
        return self.api_version.rpartition("/")[0]

    def __str__(self) -> str:
        """Return ``Kind/name``."""
        return f"{self.kind}/{self.name}"


class Manager(NamedTuple):
    """A tool that keeps an object as its source says, and what it calls that source."""

    tool: Tool
    name: str
    namespace: str | None = None


def reference(found: Tree) -> Reference:
    """Return what names an object."""
    metadata = found.get("metadata", {})
    return Reference(
        found.get("apiVersion", ""), found.get("kind", ""), metadata.get("namespace"), metadata.get("name", "")
    )


def controller_of(found: Tree) -> Reference | None:
    """Return the object whose controller made this one, None at the top of the chain."""
    metadata = found.get("metadata", {})
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            return Reference(owner["apiVersion"], owner["kind"], metadata.get("namespace"), owner["name"])
    return None


def managers(found: Tree) -> tuple[Manager, ...]:
    """Return the tools that keep an object, from their labels and annotations."""
    metadata = found.get("metadata", {})
    return tuple(_managers(metadata.get("labels") or {}, metadata.get("annotations") or {}))


def _managers(labels: Mapping[str, str], annotations: Mapping[str, str]) -> Iterator[Manager]:
    release = annotations.get("meta.helm.sh/release-name")
    if release or labels.get("app.kubernetes.io/managed-by") == "Helm":
        name = release or labels.get("app.kubernetes.io/instance", "")
        yield Manager("helm", name, annotations.get("meta.helm.sh/release-namespace"))
    tracked = annotations.get("argocd.argoproj.io/tracking-id", "").partition(":")[0]
    application = tracked or labels.get("argocd.argoproj.io/instance")
    if application:
        # an application outside of Argo's own namespace is tracked as namespace_name
        namespace, _, name = application.rpartition("_")
        yield Manager("argocd", name, namespace or None)
    for tool, prefix in (("flux-kustomize", "kustomize.toolkit.fluxcd.io"), ("flux-helm", "helm.toolkit.fluxcd.io")):
        if f"{prefix}/name" in labels:
            yield Manager(tool, labels[f"{prefix}/name"], labels.get(f"{prefix}/namespace"))  # type: ignore[arg-type] # two of Tool's values
