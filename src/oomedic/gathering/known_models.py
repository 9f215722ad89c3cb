"""From the name that was given to the engine to a model whose shape is known."""

from typing import Literal, NamedTuple

from oomedic.catalogue import Catalogue, Model
from oomedic.models.checkpoint import Checkpoint
from oomedic.models.names import is_extension_of, split_name
from oomedic.models.quantization import method_of, quantization_block
from oomedic.models.storage_words import method_of_publisher, quantization_of

How = Literal["exact", "stored", "behind", "nearest"]


class Resolved(NamedTuple):
    """A model, and how sure it is: its own id, a stored form of it, named after it, or the nearest known id.

    ``checkpoint`` None: nothing known is close enough; ``nearest`` are then the likest ids.
    """

    requested: str
    checkpoint: Checkpoint | None
    how: How | None = None
    nearest: tuple[str, ...] = ()


def resolve(name: str, catalogue: Catalogue, quantization: str | None = None) -> Resolved:
    """Look a model up in the catalogue.

    ``quantization`` is the engine's argument: a copy that stores its weights by another method is not the known one of
    that name; nor is one of a publisher who uses another. The nearest known id is taken only when it says all that the
    given name says and more ("…-17B-Instruct" for "…-17B-16E-Instruct"); the caller must say so.
    """
    exact = catalogue.model(name)
    if exact is not None:
        return Resolved(name, checkpoint_of(exact), "exact")
    behind = catalogue.model_behind(name)
    if behind is not None and _stores_so(behind, quantization or method_of_publisher(split_name(name)[0])):
        return Resolved(name, checkpoint_of(behind), "behind")
    stored = _stored(name, catalogue)
    if stored is not None:
        return stored

    nearest = catalogue.nearest_models(name)
    for candidate in nearest:
        model = catalogue.model(candidate) if is_extension_of(candidate, name) else None
        if model is not None:
            return Resolved(name, checkpoint_of(model), "nearest", nearest)
    return Resolved(name, None, None, nearest)


def _stores_so(model: Model, quantization: str | None) -> bool:
    method = method_of(quantization_block(model.config))
    return quantization is None or method is None or method == method_of({"quant_method": quantization})


def _stored(name: str, catalogue: Catalogue) -> Resolved | None:
    """Take a known model in the form that the name says its weights have."""
    found = catalogue.stored_in(name)
    form = quantization_of(found.how, split_name(name)[0]) if found else None
    if found is None or form is None:
        return None
    base = checkpoint_of(found.model)
    config = {**base.config, "quantization_config": form}
    return Resolved(name, base._replace(id=name, config=config, where="name", estimate=None), "stored", (base.id,))


def checkpoint_of(model: Model) -> Checkpoint:
    """Take what the arithmetic needs of a catalogued model."""
    towers = sum(count for count in (model.vision_parameters, model.audio_parameters) if count)
    # publishers name the active parameters of the language model: "17B" does not count the towers
    active = model.active_parameters - towers if model.active_parameters else None
    return Checkpoint(
        model.id,
        model.config,
        "catalogue",
        model.parameters,
        active,
        model.weights_estimate,
        towers or None,
    )
