"""Let an existing node pool make nodes of one more type: lists grow, limits rise, and nothing is taken away."""

from collections.abc import Iterator
from typing import Final

from oomedic.errors import InputError
from oomedic.instance import Instance
from oomedic.kube.objects import KubeObject, objects_of
from oomedic.placement.landing import labels_in, pool_allows
from oomedic.placement.node_pool import NodePool, is_node_pool, node_pools_of
from oomedic.units import parse_quantity
from oomedic.yamldoc.nodes import ScalarNode, SequenceNode, get, items, text_of, uses
from oomedic.yamldoc.splice import Splice, appended, apply_splices, inside, refused
from oomedic.yamldoc.text import YamlFile, compose

_GPU: Final = "nvidia.com/gpu"


def widen(text: str, pool: NodePool, instance: Instance, gpus: int) -> str:
    """Return the file of a pool in which it may make nodes of a type, with at least ``gpus`` GPUs in all.

    Raises:
        InputError: ``edit-refused``: the pool is closed to the type by more than lists of values.
    """
    file = compose(text, pool.path)
    found = _object(file, pool)
    splices = [*_longer_lists(file, found, pool, instance), *_higher_limit(file, found, pool, gpus)]
    edited = apply_splices(text, splices)
    try:
        (after,) = (each for each in node_pools_of(compose(edited, pool.path)) if each.place == pool.place)
    except InputError:
        raise refused("proof") from None
    if not splices or not pool_allows(after, instance) or not _only_wider(pool, after):
        raise refused("proof")
    return edited


def _object(file: YamlFile, pool: NodePool) -> KubeObject:
    for found in objects_of(file):
        if is_node_pool(found) and (found.document, found.item) == pool.place:
            return found
    raise refused("not-found")


def _longer_lists(file: YamlFile, found: KubeObject, pool: NodePool, instance: Instance) -> Iterator[Splice]:
    labels = labels_in(pool, instance)
    for expression in items(found.at("/spec/template/spec/requirements")):
        key, values = text_of(get(expression, "key")) or "", get(expression, "values")
        asked = next((each for each in pool.requirements if each.key == key), None)
        if asked is None or key not in labels or asked.allows(labels[key]):
            continue
        if text_of(get(expression, "operator")) != "In" or not isinstance(values, SequenceNode) or not values.items:
            raise refused("list-style")
        if uses(file.documents[found.document], values) != 1:
            raise refused("shared")
        yield appended(file.text, values, [labels[key]])


def _higher_limit(file: YamlFile, found: KubeObject, pool: NodePool, gpus: int) -> Iterator[Splice]:
    limit = pool.limits.get(_GPU)
    if limit is None or parse_quantity(limit) >= gpus:
        return
    leaf = get(found.at("/spec/limits"), _GPU)
    if not isinstance(leaf, ScalarNode) or uses(file.documents[found.document], leaf) != 1:
        raise refused("shared")
    yield inside(file.text, leaf, 0, len(leaf.value), str(gpus))


def _only_wider(before: NodePool, after: NodePool) -> bool:
    """Tell whether everything that was allowed still is."""
    same = before._replace(requirements=(), limits={}) == after._replace(requirements=(), limits={})
    grown = all(
        (one.key, one.operator) == (other.key, other.operator) and set(one.values) <= set(other.values)
        for one, other in zip(before.requirements, after.requirements, strict=True)
    )
    raised = all(parse_quantity(after.limits[name]) >= parse_quantity(limit) for name, limit in before.limits.items())
    return same and grown and raised
