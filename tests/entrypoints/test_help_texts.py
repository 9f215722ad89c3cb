"""The help in other languages: found in finished parsers, each text under an id that stays."""

import argparse

import pytest

from oomedic.entrypoints.help_texts import OWN_WORDS, collected, own_words, translate
from oomedic.entrypoints.options import parsers


@pytest.fixture
def parser():
    made = argparse.ArgumentParser(prog="oomedic plan", description="Plan.", usage="%(prog)s MODEL")
    made.add_argument("model", help="a model")
    group = made.add_argument_group("engine options")
    group.add_argument("--vllm", help="the release")
    return made


def test_every_text_has_an_id_of_its_own(parser):
    texts = collected([("plan", parser)])
    assert {name: text for name, text in texts.items() if not name.startswith("help.argparse.")} == {
        "help.about.plan": "Plan.",
        "help.usage.plan": "%(prog)s MODEL",
        "help.group.engine options": "engine options",
        "help.model": "a model",
        "help.--vllm": "the release",
    }


def test_an_option_that_means_something_else_in_a_later_command_has_two(parser):
    other = argparse.ArgumentParser(prog="oomedic fix")
    other.add_argument("--vllm", help="another thing")
    texts = collected([("plan", parser), ("fix", other)])
    assert (texts["help.--vllm"], texts["help.fix.--vllm"]) == ("the release", "another thing")


def test_texts_are_replaced_and_what_has_no_translation_stays(parser):
    translate("plan", parser, {"help.--vllm": "wydanie", "help.plan.--vllm": "wydanie dla planu"})
    shown = parser.format_help()
    assert "wydanie dla planu" in shown
    assert "a model" in shown


def test_argparse_speaks_the_language_only_while_it_parses():
    theirs = argparse._
    with own_words({"help.argparse.expected one argument": "oczekiwano jednego argumentu"}):
        assert argparse._("expected one argument") == "oczekiwano jednego argumentu"
        assert argparse._("something newer") == "something newer"
    assert argparse._ is theirs


def test_all_words_of_argparse_that_our_commands_can_show_are_known(monkeypatch):
    asked = set()
    monkeypatch.setattr(argparse, "_", lambda words: asked.add(words) or words)
    for _, made in parsers():
        made.format_help()
        with pytest.raises(SystemExit):
            made.parse_args(["--no-such-option", "--lang"])
    assert asked <= set(OWN_WORDS)
