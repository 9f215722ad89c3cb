"""Which language is asked for: the option, OOMEDIC_LANG, the locale, in this order."""

import json

import pytest

from oomedic.sources.index import read_part
from oomedic.sources.languages import asked_for, languages, numbers_row, page_words, reader


def test_english_comes_first_and_polish_is_there():
    assert languages()[0] == "en"
    assert "pl" in languages()


@pytest.mark.parametrize(
    ("words", "environment", "language"),
    [
        ([], {}, "en"),
        (["--lang", "pl"], {"OOMEDIC_LANG": "en"}, "pl"),
        (["--lang=pl"], {}, "pl"),
        (["--lang", "pl", "--lang", "en"], {}, "en"),
        (["--lang"], {"OOMEDIC_LANG": "pl"}, "pl"),
        ([], {"OOMEDIC_LANG": "pl", "LANG": "en_US.UTF-8"}, "pl"),
        ([], {"LANG": "pl_PL.UTF-8"}, "pl"),
        ([], {"LANG": "pl"}, "pl"),
        ([], {"LC_MESSAGES": "pl_PL.UTF-8", "LANG": "en_US.UTF-8"}, "pl"),
        ([], {"LC_ALL": "C", "LC_MESSAGES": "pl_PL", "LANG": "pl_PL"}, "en"),
        ([], {"LC_ALL": "", "LANG": "pl_PL.UTF-8"}, "pl"),
        ([], {"LANG": "de_DE.UTF-8"}, "en"),
        ([], {"OOMEDIC_LANG": "de", "LANG": "pl_PL.UTF-8"}, "pl"),
        ([], {"OOMEDIC_LANG": "xx"}, "xx"),
    ],
)
def test_the_option_wins_then_the_variable_then_the_locale(words, environment, language):
    assert asked_for(words, environment) == language


def test_english_reads_the_index_itself():
    assert reader("en") is read_part
    assert page_words("en") == {}
    assert numbers_row("en") is None


def test_another_language_reads_its_own_texts_and_the_same_facts():
    read = reader("pl")
    assert json.loads(read("messages.json"))["label.budget"] == "Budżet jednego GPU"
    assert read("gpus.json") == read_part("gpus.json")
    assert numbers_row("pl")["decimal"] == ","


def test_a_translated_page_differs_in_its_words_alone():
    english, polish = (json.loads(reader(language)("pages.json")) for language in ("en", "pl"))
    assert english.keys() == polish.keys()
    for code, page in english.items():
        assert {**page, "title": "", "intro": "", "sections": list(page["sections"])} == {
            **polish[code],
            "title": "",
            "intro": "",
            "sections": list(polish[code]["sections"]),
        }


def test_the_pseudo_language_marks_every_text_of_the_catalogue():
    read = reader("xx")
    messages = json.loads(read("messages.json"))
    assert {"label.budget", "signature.bus_error", "release.0.2.0"} <= messages.keys()
    assert all(text.startswith("⟦") and text.endswith("⟧") for text in messages.values())
    page = json.loads(read("pages.json"))["OOM401"]
    assert all(text.startswith("⟦") for text in (page["title"], page["intro"], *page["sections"].values()))
