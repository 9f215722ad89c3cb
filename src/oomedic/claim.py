"""A statement without a sentence: message id, named parameters, pointer.

Every sentence stands in the message catalogue (``data/messages.toml`` and the "Says" section of each cause and remedy),
so that all languages and the JSON come from one value.
"""

from collections.abc import Mapping
from typing import NamedTuple

from oomedic.errors import Parameter


class Claim(NamedTuple):
    """One statement: ``message`` is its id in the catalogue, ``where`` what proves it ("log:412").

    Sizes among the parameters are bytes; the template says how they are written (``{needed:gib}``).
    """

    message: str
    parameters: Mapping[str, Parameter]
    where: str = ""


def claim(message: str, where: str = "", **parameters: Parameter) -> Claim:
    """Make a claim with its parameters as keywords."""
    return Claim(message, parameters, where)
