"""Instance types with the prices that the user asks for: the catalogue's, a file's, or AWS' own."""

from typing import TYPE_CHECKING

from oomedic.catalogue import Catalogue
from oomedic.instance import REGION, Instance, Prices, instances_of

if TYPE_CHECKING:
    from argparse import Namespace


def priced_instances(facts: Catalogue, options: "Namespace") -> tuple[Instance, ...]:
    """Return the types with whole cards for CUDA at the prices of ``--region`` and ``--prices``.

    Raises:
        InputError, MissingExtra: when the prices cannot be had (see ``read_prices``).
    """
    prices = given_prices(options)
    region = options.region or (prices.region if prices else REGION)
    return instances_of(facts.instances(), facts.gpu, region, prices)


def given_prices(options: "Namespace") -> Prices | None:
    """Return the prices of ``--prices``, None where the catalogue's are to stand."""
    if not options.prices:
        return None
    from oomedic.sources.prices import read_prices  # only where prices are asked for

    return read_prices(options.prices, options.region)
