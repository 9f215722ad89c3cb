"""Where a model comes from, as resources and charts write it: ``hf://ORG/NAME``, ``pvc://CLAIM/PATH`` and others."""

from typing import Final, NamedTuple

_HUBS: Final = frozenset(("hf", "huggingface"))


class ModelUri(NamedTuple):
    """A model's source: ``id`` on the hub, None where it lies on a volume or in a bucket; ``path`` is what follows."""

    scheme: str
    id: str | None
    path: str


def read_model_uri(text: str) -> ModelUri:
    """Read a model's source; quotes inside it, which a template may leave there, do not count.

    >>> read_model_uri("hf://org/name?revision=abc").id, read_model_uri("pvc://weights/dense-405b").path
    ('org/name', 'weights/dense-405b')
    >>> read_model_uri("pvc+hf://claim/hub/org/name").id, read_model_uri("org/name").id
    ('org/name', 'org/name')
    """
    scheme, separator, path = text.replace('"', "").replace("'", "").strip().partition("://")
    if not separator:
        return ModelUri("", scheme or None, scheme)
    if scheme in _HUBS:
        return ModelUri(scheme, path.partition("?")[0].partition("@")[0] or None, path)
    if scheme == "pvc+hf":
        return ModelUri(scheme, "/".join(path.split("/")[-2:]), path)
    return ModelUri(scheme, None, path)
