"""The help of the command line in other languages.

The English texts stand beside their options, in ``options/``. Here they are found in finished parsers: to be
collected for translation, and to be replaced. Each has an id that stays when its text changes: ``help.--logs``, or
``help.plan.--context`` where a later command says something else of an option of the same name.
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping

from oomedic.sources.languages import reader

TYPE_CHECKING = False  # see oomedic.entrypoints.cli
if TYPE_CHECKING:
    from collections.abc import Callable

    Put = Callable[[str], None]
    Finish = Callable[[str, argparse.ArgumentParser], None]

Texts = Mapping[str, str]

OWN_WORDS = (
    "usage: ",
    "options",
    "positional arguments",
    "show this help message and exit",
    "show program's version number and exit",
    "argument %(argument_name)s: %(message)s",
    "invalid choice: %(value)r (choose from %(choices)s)",
    "invalid %(type)s value: %(value)r",
    "unrecognized arguments: %s",
    "the following arguments are required: %s",
    "expected one argument",
    "expected at most one argument",
    "expected at least one argument",
    "ignored explicit argument %r",
    "%(heading)s:",
)
"""What argparse says itself, in its own words, which are also their ids (``help.argparse.…``)."""


PROGRAM = "program"
"""The name under which the texts of ``oomedic`` itself stand, beside those of its commands."""


def parsed_in(language: str, parse: "Callable[[Finish], argparse.Namespace]") -> argparse.Namespace:
    """Parse in another language; ``parse`` hands each parser over when it is made, before it reads."""
    texts: Texts = json.loads(reader(language)("help.json"))
    with own_words(texts):
        return parse(lambda command, parser: translate(command or PROGRAM, parser, texts))


def collected(parsers: Iterable[tuple[str, argparse.ArgumentParser]]) -> dict[str, str]:
    """Return the texts of parsers by their ids; the parsers come with the names of their commands."""
    texts: dict[str, str] = {}
    for command, parser in parsers:
        for ids, text, _ in _texts(command, parser):
            if texts.setdefault(ids[-1], text) != text:
                texts[ids[0]] = text
    return texts | {f"help.argparse.{words}": words for words in OWN_WORDS}


def translate(command: str, parser: argparse.ArgumentParser, texts: Texts) -> None:
    """Replace the texts of a finished parser; what has no translation stays."""
    for ids, text, put in _texts(command, parser):
        put(next((texts[name] for name in ids if name in texts), text))


class own_words:  # noqa: N801 - it is used like a function: ``with own_words(texts): …``
    """Lets argparse speak another language while it parses: it looks its sentences up under the name ``_``."""

    def __init__(self, texts: Texts) -> None:
        """Take the texts by their ids."""
        self._texts = texts
        self._theirs = getattr(argparse, "_", None)

    def __enter__(self) -> None:
        """Put our look-up in place of gettext's."""
        setattr(argparse, "_", self._say)  # noqa: B010 - a name that argparse does not declare

    def __exit__(self, *_: object) -> None:
        """Put gettext's back."""
        setattr(argparse, "_", self._theirs)  # noqa: B010 - see __enter__

    def _say(self, words: str) -> str:
        return self._texts.get(f"help.argparse.{words}", words)


def _texts(command: str, parser: argparse.ArgumentParser) -> "Iterator[tuple[tuple[str, str], str, Put]]":
    """Yield each text of a parser with its ids, the command's own first, and how to replace it."""
    yield ("", f"help.about.{command}"), parser.description or "", _setter(parser, "description")
    if hasattr(parser, "refusal"):
        yield ("", "help.refusal"), parser.refusal, _setter(parser, "refusal")
    if parser.usage:
        yield ("", f"help.usage.{command}"), parser.usage, _setter(parser, "usage")
    for group in parser._action_groups:  # noqa: SLF001 - argparse offers no other way to them
        if group.title not in {None, *OWN_WORDS}:
            yield ("", f"help.group.{group.title}"), str(group.title), _setter(group, "title")
    for action in _actions(parser):
        name = action.option_strings[-1] if action.option_strings else action.dest
        if action.help in OWN_WORDS:
            yield ("", f"help.argparse.{action.help}"), str(action.help), _setter(action, "help")
        elif action.help:
            yield (f"help.{command}.{name}", f"help.{name}"), action.help, _setter(action, "help")


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield options and arguments, and of commands the line of each."""
    for action in parser._actions:  # noqa: SLF001 - see _texts
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - it has no public name
            yield from action._choices_actions  # noqa: SLF001 - the lines of the commands


def _setter(owner: object, name: str) -> "Put":
    return lambda text: setattr(owner, name, text)
