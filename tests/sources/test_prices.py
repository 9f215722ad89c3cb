"""Prices from files and from AWS' price list; AWS' answers have the form of its own documentation."""

import json

import pytest

from oomedic.errors import InputError, MissingExtra
from oomedic.sources import prices
from oomedic.sources.prices import read_prices


def product(kind, price, unit="Hrs"):
    """One entry of GetProducts' PriceList, as FormatVersion aws_v1 writes it."""
    dimension = {"unit": unit, "pricePerUnit": {"USD": price}, "appliesTo": [], "rateCode": "X.JRTCKXETXF.6YS6EN2CT7"}
    return json.dumps(
        {
            "product": {"productFamily": "Compute Instance", "attributes": {"instanceType": kind}, "sku": "X"},
            "serviceCode": "AmazonEC2",
            "terms": {"OnDemand": {"X.JRTCKXETXF": {"priceDimensions": {"X.JRTCKXETXF.6YS6EN2CT7": dimension}}}},
        }
    )


class Pages:
    """A pricing client that gives its pages one after the other."""

    def __init__(self, *pages):
        self.pages = list(pages)
        self.asked = []

    def get_products(self, **arguments):
        self.asked.append(arguments)
        more = {"NextToken": f"page-{len(self.asked)}"} if len(self.pages) > 1 else {}
        return {"FormatVersion": "aws_v1", "PriceList": self.pages.pop(0), **more}


def test_all_pages_of_the_regions_on_demand_linux_types_are_read():
    client = Pages([product("g5.xlarge", "1.2580000000")], [product("g6.xlarge", "0.9990000000")])
    found = read_prices("aws", "eu-central-1", lambda: client)
    assert found.by_type == {"g5.xlarge": 1.258, "g6.xlarge": 0.999}
    assert found.region == "eu-central-1"
    assert client.asked[1]["NextToken"] == "page-1"
    fields = {each["Field"]: each["Value"] for each in client.asked[0]["Filters"]}
    assert fields["regionCode"] == "eu-central-1"
    assert fields["operatingSystem"] == "Linux"
    assert fields["capacitystatus"] == "Used"


def test_what_costs_nothing_or_is_not_by_the_hour_is_left_out():
    client = Pages([product("g5.xlarge", "0.0000000000"), product("g6.xlarge", "1.5", "Quantity")])
    assert read_prices("aws", None, lambda: client).by_type == {}


def test_an_answer_that_is_no_price_list_is_one_clear_error():
    with pytest.raises(InputError, match="prices-refused"):
        read_prices("aws", None, lambda: Pages(["{"]))


def test_without_boto3_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "boto3", None)
    with pytest.raises(MissingExtra, match="extra-aws"):
        prices.read_prices("aws", None)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.json", '{"region": "eu-west-1", "date": "2026-11-02", "prices": {"g5.xlarge": 1.123}}'),
        ("p.toml", 'region = "eu-west-1"\ndate = 2026-11-02\n[prices]\n"g5.xlarge" = 1.123\n'),
    ],
)
def test_a_file_of_prices_is_read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    found = read_prices(str(path), None)
    assert (found.region, found.date, found.by_type) == ("eu-west-1", "2026-11-02", {"g5.xlarge": 1.123})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"prices": 3}',
        '{"prices": {"g5.xlarge": "cheap"}}',
        '{"prices": {"a": -1}}',
        '{"prices": {"a": NaN}}',
        "\x00\xff",
    ],
)
def test_a_file_without_prices_is_one_clear_error(tmp_path, text):
    path = tmp_path / "p.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="prices-unreadable"):
        read_prices(str(path), None)


def test_prices_of_another_region_than_asked_for_are_refused(tmp_path):
    path = tmp_path / "p.json"
    path.write_text('{"region": "eu-west-1", "prices": {}}', encoding="utf-8")
    with pytest.raises(InputError, match="prices-of-other-region"):
        read_prices(str(path), "us-east-1")
