"""Reads a command line: which command, its options, and the engine's own words after ``--``.

The options of a command stand in the files beside this one; only that of the command called for is imported.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from oomedic import __version__
from oomedic.entrypoints.options.groups import language
from oomedic.sources.languages import ENGLISH, asked_for

TYPE_CHECKING = False  # see oomedic.entrypoints.cli
if TYPE_CHECKING:
    from typing import NoReturn

    Add = Callable[[argparse.ArgumentParser], None]
    Finish = Callable[[str, argparse.ArgumentParser], None]

_WIDEST = 118
COMMANDS = {
    "diagnose": (
        "name the cause of a crash and a change that fits",
        "[KIND/NAME | FILE | DIR | -]… [-n NAMESPACE | -A] [options] [-- vllm serve MODEL …]",
        "crashes",
    ),
    "budget": (
        "compute where the GPU's memory goes, without running anything",
        "[options] [-- vllm serve MODEL …]",
        "forecasts",
    ),
    "plan": (
        "find the instance types that run a model, the cheapest first",
        "MODEL [--context 32k] [--concurrency N] [options] [-- engine arguments]",
        "forecasts",
    ),
    "fix": (
        "change a workload on the cluster so that it starts, and watch it",
        "KIND/NAME [-n NAMESPACE] [--remedy FIX…] [--apply] [options]",
        "rollouts",
    ),
    "verify": ("watch a workload until its server answers", "KIND/NAME [-n NAMESPACE] [options]", "rollouts"),
    "undo": ("take back the last change of `fix`", "KIND/NAME [-n NAMESPACE] [options]", "rollouts"),
    "inspect": ("show what was understood of a manifest", "", "manifests"),
    "patch": (
        "change manifests so that their engines start",
        "FILE… [--remedy FIX…] [-o FORM | --in-place] [options]",
        "manifests",
    ),
    "lint": (
        "judge manifests before they ship, on every GPU that their pods could get",
        "PATH… [--gpu NAME,…] [-o FORM] [--fail-on certain|likely|possible|never] [options]",
        "manifests",
    ),
    "explain": ("explain a cause or a remedy", "", "knowledge"),
    "list": ("list what oomedic knows", "", "knowledge"),
}
"""Purpose and usage of each command, and the file beside this one that has its options."""


class _Parser(argparse.ArgumentParser):
    """An argparse parser whose refusal ends with status 2 and one line."""

    refusal = "%(prog)s: %(message)s\n         see %(prog)s --help\n"

    def _get_formatter(self) -> argparse.HelpFormatter:
        # argparse asks shutil for the width, even where nothing is printed; that import takes 5 ms
        return argparse.HelpFormatter(prog=self.prog, width=_width())

    def error(self, message: str) -> "NoReturn":
        from oomedic.redaction import redact  # only where a word is refused, and quoted

        self.exit(2, self.refusal % {"prog": self.prog, "message": redact(message)})


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Read a command line; what stands after ``--`` is the engine's own and kept in ``engine``."""
    own, engine = _split(words)
    own = _language_last(own)
    spoken = asked_for(own, os.environ)
    if spoken == ENGLISH:
        options = _parsed(own)
    else:
        from oomedic.entrypoints.help_texts import parsed_in  # only where another language is asked for

        options = parsed_in(spoken, lambda finish: _parsed(own, finish))
    options.engine = engine
    options.lang = spoken
    return options


def _parsed(own: list[str], finish: "Finish | None" = None) -> argparse.Namespace:
    """Read our own words; ``finish`` is told each parser and its command before it reads."""
    name = own[0] if own and own[0] in COMMANDS else ""
    parser = _command(name) if name else _program()
    if finish:
        finish(name, parser)
    options = parser.parse_args(own[1:] if name else own)
    if name:
        options.command = name
    return options


def parsers() -> list[tuple[str, argparse.ArgumentParser]]:
    """Return the parser of ``oomedic`` itself and that of each command, with their names."""
    return [("program", _program()), *((name, _command(name)) for name in COMMANDS)]


def _width() -> int:
    try:
        return min(os.get_terminal_size().columns - 2, _WIDEST)
    except OSError:
        return 78


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    if "--" not in words:
        return list(words), []
    at = list(words).index("--")
    return list(words[:at]), list(words[at + 1 :])


def _language_last(own: list[str]) -> list[str]:
    """Put a language that stands before the command behind it, with the command's other options."""
    if not own or not own[0].startswith("--lang"):
        return own
    width = 1 if "=" in own[0] else 2
    return [*own[width:], *own[:width]]


def program() -> str:
    """Return how the program was called: as a kubectl plugin it shows ``kubectl oomedic``."""
    name = os.path.basename(sys.argv[0])
    return "kubectl oomedic" if name.startswith("kubectl-") else "oomedic"


def _program() -> _Parser:
    parser = _Parser(
        prog=program(),
        description="The remedy for a vLLM pod that crash-loops on GPU memory: true cause, budget, a change that fits.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"oomedic {__version__}")
    language(parser)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (purpose, _, _) in COMMANDS.items():
        commands.add_parser(name, help=purpose, add_help=False)
    return parser


def _command(name: str) -> _Parser:
    """Make the parser of one command alone: those of all others take longer than the rest of ``explain``."""
    purpose, usage, file = COMMANDS[name]
    parser = _Parser(
        prog=f"{program()} {name}",
        description=f"{purpose[0].upper()}{purpose[1:]}.",
        usage=f"%(prog)s {usage}" if usage else None,
        allow_abbrev=False,
    )
    add: Add = getattr(import_module(f"oomedic.entrypoints.options.{file}"), f"{name}_options")
    add(parser)
    return parser
