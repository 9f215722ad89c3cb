"""Options of all commands, as promised in DESIGN 7 and 8."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from oomedic import __version__
from oomedic.sources.languages import ENGLISH, PSEUDO, asked_for, languages

TYPE_CHECKING = False  # see oomedic.entrypoints.cli
if TYPE_CHECKING:
    from typing import NoReturn

    Finish = Callable[[str, argparse.ArgumentParser], None]

_WIDEST = 118
_BESIDE_THE_LOG = (
    ("--pod", "kubectl get pod -o yaml or json; nodes and events as well"),
    ("--describe", "kubectl describe pod or node"),
    ("--events", "kubectl get events, as a table, YAML or JSON"),
    ("--nvidia-smi", "nvidia-smi, nvidia-smi -q, its CSV, or DCGM's metrics"),
)
_OUTPUTS = ("text", "json", "yaml", "markdown")
_CONFIDENCES = ("certain", "likely", "possible", "never")


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
    language = asked_for(own, os.environ)
    if language == ENGLISH:
        options = _parsed(own)
    else:
        from oomedic.entrypoints.help_texts import parsed_in  # only where another language is asked for

        options = parsed_in(language, lambda finish: _parsed(own, finish))
    options.engine = engine
    options.lang = language
    return options


def _parsed(own: list[str], finish: "Finish | None" = None) -> argparse.Namespace:
    """Read our own words; ``finish`` is told each parser and its command before it reads."""
    name = own[0] if own and own[0] in _COMMANDS else ""
    parser = _command(name) if name else _program()
    if finish:
        finish(name, parser)
    options = parser.parse_args(own[1:] if name else own)
    if name:
        options.command = name
    return options


def parsers() -> list[tuple[str, argparse.ArgumentParser]]:
    """Return the parser of ``oomedic`` itself and that of each command, with their names."""
    return [("program", _program()), *((name, _command(name)) for name in _COMMANDS)]


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
    _language(parser)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (purpose, _, _) in _COMMANDS.items():
        commands.add_parser(name, help=purpose, add_help=False)
    return parser


def _command(name: str) -> _Parser:
    """Make the parser of one command alone: those of all others take longer than the rest of ``explain``."""
    purpose, usage, add = _COMMANDS[name]
    parser = _Parser(
        prog=f"{program()} {name}",
        description=f"{purpose[0].upper()}{purpose[1:]}.",
        usage=f"%(prog)s {usage}" if usage else None,
        allow_abbrev=False,
    )
    add(parser)
    return parser


def _diagnose(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target",
        nargs="*",
        metavar="TARGET",
        help="KIND/NAME on the cluster; or logs, manifests, pods, …, told by content",
    )
    parser.add_argument("--logs", action="append", default=[], metavar="FILE", help="a log of the crashed container")
    parser.add_argument("--manifest", action="append", default=[], metavar="FILE", help="the workload's manifest")
    parser.add_argument(
        "--nodepool", action="append", default=[], metavar="FILE", help="node pools of the cluster, and their classes"
    )
    for option, what in _BESIDE_THE_LOG:
        parser.add_argument(option, action="append", default=[], metavar="FILE", help=what)
    parser.add_argument(
        "--before", action="append", default=[], metavar="FILE", help="the manifest, or a log, of how it still worked"
    )
    _search(parser)
    _cluster(parser)
    _engine(parser)
    _common(parser)
    parser.add_argument(
        "--fail-on", choices=_CONFIDENCES, default="likely", help="the least sure finding that gives status 1"
    )


def _budget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from-log",
        metavar="FILE",
        help="the log of a run: its figures hold, and after -- stands what shall be different",
    )
    parser.add_argument(
        "--sweep", action="append", default=[], metavar="ARG=V,V…", help="an argument's values in turn, as a table"
    )
    _engine(parser)
    _common(parser)


def _plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model's id, its folder or its config.json")
    parser.add_argument(
        "--context", metavar="TOKENS", help="length of one request; as vLLM reads it: 32k is 32000, 32K is 32768"
    )
    parser.add_argument("--concurrency", type=int, default=1, metavar="N", help="requests of that length at once (1)")
    parser.add_argument("--max-price", metavar="USD/h", help="the most that an hour may cost, such as 5/h")
    parser.add_argument("--gpus", metavar="NAME,…", help="only these GPUs, such as h100,l40s")
    parser.add_argument("--allow-quantized", action="store_true", help="offer copies in 8 or 4 bits, and an fp8 cache")
    _prices(parser)
    group = parser.add_argument_group("engine options")
    group.add_argument("--vllm", metavar="VERSION", help="the vLLM version; the newest that is known without it")
    group.add_argument("--env", action="append", default=[], metavar="KEY=VALUE", help="a variable of the engine")
    _common(parser)


def _inspect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="+", metavar="PATH", help="manifests, or folders of them; - reads standard input")
    _common(parser)


def _patch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="+", metavar="FILE", help="manifests, or folders of them; - reads standard input")
    parser.add_argument("--remedy", action="append", default=[], metavar="FIX…", help="this change, not the first one")
    parser.add_argument("--in-place", action="store_true", help="write the files, which keep their mode and owner")
    _engine(parser)
    _common(parser, ("diff", "jsonpatch", "strategic", "kustomize", "helm-set"))


def _lint(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="+", metavar="PATH", help="manifests, or folders of them; - reads standard input")
    parser.add_argument("--hub", action="store_true", help="ask the hub for the config of a model that is not known")
    parser.add_argument("--baseline", metavar="FILE", help="do not count the findings that this file holds")
    parser.add_argument("--write-baseline", metavar="FILE", help="write the findings that there are now to this file")
    _engine(parser)
    _common(parser, ("text", "json", "sarif", "github", "junit"))
    parser.add_argument(
        "--fail-on", choices=_CONFIDENCES, default="likely", help="the least sure finding that gives status 1"
    )


def _explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("code", metavar="CODE", help="OOM401, FIX101, or a name such as kv-cache-too-small")
    _common(parser)


def _list(parser: argparse.ArgumentParser) -> None:
    kinds = ("causes", "remedies", "gpus", "instances", "models", "signatures", "versions")
    parser.add_argument("kind", choices=kinds)
    _prices(parser)
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


def _cluster(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("cluster options, as of kubectl")
    group.add_argument("-n", "--namespace", metavar="NAMESPACE", help="the target's namespace")
    group.add_argument("--context", metavar="NAME", help="the kubeconfig's context")
    group.add_argument("--kubeconfig", metavar="FILE", help="the kubeconfig")
    group.add_argument(
        "--request-timeout", default="30s", metavar="TIME", help="how long the API server may take for one answer (30s)"
    )
    group.add_argument("--as", dest="as_user", metavar="USER", help="act as this user")
    group.add_argument("--as-group", action="append", default=[], metavar="GROUP", help="and as a member of this group")


def _search(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("search on the cluster")
    group.add_argument("-A", "--all-namespaces", action="store_true", help="all failing vLLM pods of the cluster")
    group.add_argument("-l", "--selector", metavar="LABELS", help="only pods with these labels, such as app=vllm")
    group.add_argument("--since", metavar="TIME", help="read current logs only this far back, such as 30m or 2h")
    group.add_argument("--probe-node", action="store_true", help="run nvidia-smi on the node, in a short-lived pod")


def _fix(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="KIND/NAME", help="the workload on the cluster, such as deploy/vllm")
    parser.add_argument("--remedy", action="append", default=[], metavar="FIX…", help="this change, not the first one")
    parser.add_argument("--apply", action="store_true", help="change the object; without it nothing is changed")
    parser.add_argument("--no-rollback", action="store_true", help="leave a change that does not help as it is")
    parser.add_argument("--force-owner", action="store_true", help="even if Helm, Argo CD, Flux or an owner keeps it")
    _watch(parser)
    _cluster(parser)
    _engine(parser)
    _common(parser)


def _verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="KIND/NAME", help="the workload on the cluster, such as deploy/vllm")
    _watch(parser)
    _cluster(parser)
    _common(parser)


def _undo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="KIND/NAME", help="the workload on the cluster, such as deploy/vllm")
    _cluster(parser)
    _common(parser)


def _watch(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("watching the rollout")
    group.add_argument("--timeout", default="30m", metavar="TIME", help="until the pods must be ready (30m)")
    group.add_argument("--soak", default="60s", metavar="TIME", help="how long they must stay ready (60s)")


def _prices(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("prices of gpus and instances")
    group.add_argument("--region", metavar="REGION", help="an AWS region (us-east-1)")
    group.add_argument("--prices", metavar="FILE|aws", help="on-demand prices: a JSON or TOML file, or ask AWS")


def _common(parser: argparse.ArgumentParser, forms: Sequence[str] = ()) -> None:
    """Add what all commands have; ``forms`` are a command's own, the first of them what it prints by itself."""
    group = parser.add_argument_group("common options")
    written = (*forms, *(form for form in _OUTPUTS if form not in forms))
    group.add_argument("-o", "--output", choices=written, default=written[0])
    _language(group)
    group.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    group.add_argument("--data", metavar="DIR", help="your own gpus.toml, instances.toml, models/*.toml, …")
    group.add_argument("--offline", action="store_true", help="ask no hub for a model that is not known")
    group.add_argument("-v", "--verbose", action="count", default=0, help="show every setting and its origin too")
    group.add_argument("-q", "--quiet", action="store_true", help="print only what each result comes to")


def _language(parser: argparse._ActionsContainer) -> None:
    known = languages()
    parser.add_argument(
        "--lang",
        choices=(*known, PSEUDO),
        metavar=f"{{{','.join(known)}}}",
        help="language of what is said; else OOMEDIC_LANG, else the locale",
    )


_COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "diagnose": (
        "name the cause of a crash and a change that fits",
        "[KIND/NAME | FILE | DIR | -]… [-n NAMESPACE | -A] [options] [-- vllm serve MODEL …]",
        _diagnose,
    ),
    "budget": (
        "compute where the GPU's memory goes, without running anything",
        "[options] [-- vllm serve MODEL …]",
        _budget,
    ),
    "plan": (
        "find the instance types that run a model, the cheapest first",
        "MODEL [--context 32k] [--concurrency N] [options] [-- engine arguments]",
        _plan,
    ),
    "fix": (
        "change a workload on the cluster so that it starts, and watch it",
        "KIND/NAME [-n NAMESPACE] [--remedy FIX…] [--apply] [options]",
        _fix,
    ),
    "verify": ("watch a workload until its server answers", "KIND/NAME [-n NAMESPACE] [options]", _verify),
    "undo": ("take back the last change of `fix`", "KIND/NAME [-n NAMESPACE] [options]", _undo),
    "inspect": ("show what was understood of a manifest", "", _inspect),
    "patch": (
        "change manifests so that their engines start",
        "FILE… [--remedy FIX…] [-o FORM | --in-place] [options]",
        _patch,
    ),
    "lint": (
        "judge manifests before they ship, on every GPU that their pods could get",
        "PATH… [--gpu NAME,…] [-o FORM] [--fail-on certain|likely|possible|never] [options]",
        _lint,
    ),
    "explain": ("explain a cause or a remedy", "", _explain),
    "list": ("list what oomedic knows", "", _list),
}
"""Purpose, usage and options of each command."""
