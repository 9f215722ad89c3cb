"""Options of all commands, as promised in DESIGN 7 and 8."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from oomedic import __version__

_CONFIDENCES = ("certain", "likely", "possible", "never")


class _Parser(argparse.ArgumentParser):
    """An argparse parser whose refusal ends with status 2 and one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n         see {self.prog} --help\n")


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Read a command line; what stands after ``--`` is the engine's own and kept in ``engine``."""
    own, engine = _split(words)
    options = _parser().parse_args(own)
    options.engine = engine
    return options


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    if "--" not in words:
        return list(words), []
    at = list(words).index("--")
    return list(words[:at]), list(words[at + 1 :])


def program() -> str:
    """Return how the program was called: as a kubectl plugin it shows ``kubectl oomedic``."""
    name = os.path.basename(sys.argv[0])  # noqa: PTH119 - pathlib takes 4 ms to import
    return "kubectl oomedic" if name.startswith("kubectl-") else "oomedic"


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=program(),
        description="The remedy for a vLLM pod that crash-loops on GPU memory: true cause, budget, a change that fits.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"oomedic {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    _diagnose(commands)
    _budget(commands)
    _inspect(commands)
    _explain(commands)
    _list(commands)
    return parser


def _diagnose(commands: "argparse._SubParsersAction[_Parser]") -> None:
    parser = commands.add_parser(
        "diagnose",
        help="name the cause of a crash and a change that fits",
        usage="%(prog)s [FILE | -]… [--logs FILE]… [--manifest FILE]… [options] [-- vllm serve MODEL …]",
        allow_abbrev=False,
    )
    parser.add_argument("target", nargs="*", metavar="FILE", help="logs or manifests; - reads standard input")
    parser.add_argument("--logs", action="append", default=[], metavar="FILE", help="a log of the crashed container")
    parser.add_argument("--manifest", action="append", default=[], metavar="FILE", help="the workload's manifest")
    _engine(parser)
    _common(parser)
    _fail_on(parser)


def _budget(commands: "argparse._SubParsersAction[_Parser]") -> None:
    parser = commands.add_parser(
        "budget",
        help="compute where the GPU's memory goes, without running anything",
        usage="%(prog)s [options] [-- vllm serve MODEL …]",
        allow_abbrev=False,
    )
    _engine(parser)
    _common(parser)


def _inspect(commands: "argparse._SubParsersAction[_Parser]") -> None:
    parser = commands.add_parser("inspect", help="show what was understood of a manifest", allow_abbrev=False)
    parser.add_argument("path", nargs="+", metavar="PATH", help="manifests; - reads standard input")
    _common(parser)


def _explain(commands: "argparse._SubParsersAction[_Parser]") -> None:
    parser = commands.add_parser("explain", help="explain a cause or a remedy", allow_abbrev=False)
    parser.add_argument("code", metavar="CODE", help="OOM401, FIX101, or a name such as kv-cache-too-small")
    _common(parser)


def _list(commands: "argparse._SubParsersAction[_Parser]") -> None:
    kinds = ("causes", "remedies", "gpus", "instances", "models", "signatures", "versions")
    parser = commands.add_parser("list", help="list what oomedic knows", allow_abbrev=False)
    parser.add_argument("kind", choices=kinds)
    _common(parser)


def _engine(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("engine options")
    group.add_argument("--gpu", metavar="NAME", help="the GPU, as nvidia-smi, a node label or people name it")
    group.add_argument("--gpu-count", type=int, metavar="N", help="GPUs that the pod has")
    group.add_argument("--gpu-memory", metavar="SIZE", help="capacity of one GPU, such as 22.1GiB")
    group.add_argument("--vllm", metavar="VERSION", help="the vLLM version, such as 0.10.2; several for budget")
    group.add_argument("--model", metavar="ID|PATH", help="a model's id, its folder or its config.json")
    group.add_argument("--env", action="append", default=[], metavar="KEY=VALUE", help="a variable of the engine")
    group.add_argument("--weights", metavar="SIZE", help="size of the weights, all ranks together, such as 9GB")
    group.add_argument("--kv-cache-memory", metavar="SIZE", help="one GPU's KV cache, taken as printed")


def _common(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("common options")
    group.add_argument("-o", "--output", choices=("text", "json", "yaml", "markdown"), default="text")
    group.add_argument("--lang", choices=("en",), default="en", help="language of the report")
    group.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    group.add_argument("--data", metavar="DIR", help="your own gpus.toml, models/*.toml, signatures/*.toml")
    group.add_argument("--offline", action="store_true", help="ask no hub for a model that is not known")
    group.add_argument("-v", "--verbose", action="count", default=0)
    group.add_argument("-q", "--quiet", action="store_true", help="print the first line of each result alone")


def _fail_on(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fail-on", choices=_CONFIDENCES, default="likely", help="the least sure finding that gives status 1"
    )
