import pytest

from oomedic.claim import Claim, claim
from oomedic.reports.phrases import Phrasebook
from oomedic.sources.builtin import load
from oomedic.units import GIB


@pytest.fixture
def phrases():
    return Phrasebook({"kv.small": "One request needs {needed:gib}, {pods} share it.", "plain": "Nothing."})


def test_a_claim_holds_no_sentence_but_an_id_and_named_parameters():
    made = claim("kv.small", "log:4", needed=GIB)
    assert made == Claim("kv.small", {"needed": GIB}, "log:4")
    assert claim("plain") == Claim("plain", {}, "")


def test_the_sentence_comes_from_the_catalogue(phrases):
    assert phrases.say(claim("kv.small", needed=3 * GIB, pods=2)) == "One request needs 3.00 GiB, 2 share it."


def test_what_is_not_known_is_written_as_a_dash_and_a_missing_parameter_by_its_name(phrases):
    assert phrases.say(claim("kv.small", needed=None)) == "One request needs –, {pods} share it."


def test_a_message_that_the_catalogue_lacks_shows_its_id(phrases):
    assert phrases.say(claim("lost", size=3)) == "lost {'size': 3}"
    assert phrases.say(claim("lost")) == "lost"


def test_a_size_given_in_gb_is_shown_in_gb_beside_gib():
    decimal = Phrasebook({"size": "{size:gib}"}, decimal=True)
    assert decimal.say(claim("size", size=21_600_000_000)) == "20.12 GiB (21.6 GB)"


def test_braces_in_a_parameter_are_text_and_no_placeholders(phrases):
    assert phrases.say(claim("kv.small", needed=GIB, pods="{needed} {0} {x.y}")).endswith(
        "{needed} {0} {x.y} share it."
    )


def test_every_placeholder_of_every_shipped_message_can_be_filled():
    messages = load().messages()
    shown = Phrasebook(messages)
    for name, template in messages.items():
        assert "{" not in shown.text(name, **dict.fromkeys(_names(template), 1)).replace("{..image}", ""), name


def _names(template):
    from string import Formatter

    return {name for _, name, _, _ in Formatter().parse(template) if name}
