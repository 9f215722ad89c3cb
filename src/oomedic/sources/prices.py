"""On-demand prices of instance types: from a file of the user, or from AWS' own price list.

AWS is asked only when ``--prices aws`` says so. It needs credentials that allow ``pricing:GetProducts`` and the extra
``oomedic[aws]``; nothing is sent but the region's name.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol

from oomedic.errors import InputError, MissingExtra
from oomedic.instance import REGION, Prices
from oomedic.sources.files import read_bytes

_FROM_AWS: Final = "aws"
_PRICING_REGION: Final = "us-east-1"
"""The price list is served from few regions, this one among them, for all regions."""
_TOO_MUCH: Final = 1e6
_ON_DEMAND: Final = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}


class PricingClient(Protocol):
    """The part of boto3's ``pricing`` client that is used."""

    def get_products(self, **arguments: Any) -> Mapping[str, Any]:
        """Return one page of products."""


def read_prices(source: str, region: str | None, client: Callable[[], PricingClient] | None = None) -> Prices:
    """Return the prices that ``--prices`` names: ``aws``, or a JSON or TOML file.

    A file holds ``region``, ``date`` and ``prices`` (a table of instance types), in US dollars per hour.

    Raises:
        InputError: ``prices-unreadable`` or ``prices-refused``, or where the file cannot be read.
        MissingExtra: ``extra-aws`` when boto3 is not installed.
    """
    if source == _FROM_AWS:
        return _from_aws(region or REGION, (client or _client)())
    return _from_file(source, region)


def _from_file(path: str, region: str | None) -> Prices:
    written = read_bytes(path)
    try:
        content = _parsed(path, written)
        prices = {str(kind): _amount(price) for kind, price in content["prices"].items()}
        where = str(content.get("region") or region or REGION)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError("prices-unreadable", path=path, reason=str(error)) from error
    if region is not None and where != region:
        raise InputError("prices-of-other-region", path=path, region=where, asked=region)
    date = content.get("date")
    return Prices(where, None if date is None else str(date), prices, path)


def _amount(price: Any) -> float:
    amount = float(price)
    if not 0 <= amount < _TOO_MUCH:  # not a number neither
        raise ValueError(f"{price} is no price")
    return amount


def _parsed(path: str, content: bytes) -> Mapping[str, Any]:
    text = content.decode("utf-8")
    if path.endswith(".toml"):
        import tomllib  # only where the user keeps prices so

        return tomllib.loads(text)
    parsed: Mapping[str, Any] = json.loads(text)
    return parsed


def _client() -> PricingClient:
    try:
        import boto3  # type: ignore[import-not-found,unused-ignore]  # an extra, and slow to import
    except ImportError as error:
        raise MissingExtra("extra-aws") from error
    client: PricingClient = boto3.client("pricing", region_name=_PRICING_REGION)
    return client


def _from_aws(region: str, client: PricingClient) -> Prices:
    from datetime import UTC, datetime  # prices are of the day they are asked for

    prices: dict[str, float] = {}
    try:
        for product in _products(region, client):
            price = _hourly(product)
            if price:
                prices[product["product"]["attributes"]["instanceType"]] = price
    except (KeyError, ValueError, TypeError) as error:
        raise InputError("prices-refused", region=region, reason=f"{type(error).__name__}: {error}") from error
    except Exception as error:  # botocore's own errors: no credentials, no permission, no network
        if not type(error).__module__.startswith("botocore"):
            raise
        raise InputError("prices-refused", region=region, reason=str(error)) from error
    return Prices(region, datetime.now(UTC).date().isoformat(), prices, "AWS Price List API")


def _products(region: str, client: PricingClient) -> Iterator[Mapping[str, Any]]:
    """Yield the on-demand Linux instance types of a region, page by page."""
    wanted = {"regionCode": region, **_ON_DEMAND}
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]
    arguments: dict[str, Any] = {"ServiceCode": "AmazonEC2", "Filters": filters, "FormatVersion": "aws_v1"}
    while True:
        page = client.get_products(**arguments)
        yield from map(json.loads, page["PriceList"])
        if not page.get("NextToken"):
            return
        arguments["NextToken"] = page["NextToken"]


def _hourly(product: Mapping[str, Any]) -> float | None:
    """Return the price per hour of a product, None where it has none."""
    for term in product.get("terms", {}).get("OnDemand", {}).values():
        for dimension in term["priceDimensions"].values():
            price = dimension.get("pricePerUnit", {}).get("USD")
            if dimension.get("unit") == "Hrs" and price is not None:
                return float(price)
    return None
