"""Groups of options that several commands share."""

import argparse
from collections.abc import Sequence

from oomedic.sources.languages import PSEUDO, languages

_CONFIDENCES = ("certain", "likely", "possible", "never")
_OUTPUTS = ("text", "json", "yaml", "markdown")


def engine(parser: argparse.ArgumentParser) -> None:
    """Add what is known of the engine beside its command line."""
    group = parser.add_argument_group("engine options")
    group.add_argument("--gpu", metavar="NAME", help="the GPU, as nvidia-smi, a node label or people name it")
    group.add_argument("--gpu-count", type=int, metavar="N", help="GPUs that the pod has")
    group.add_argument("--gpu-memory", metavar="SIZE", help="capacity of one GPU, such as 22.1GiB")
    group.add_argument("--vllm", metavar="VERSION", help="the vLLM version, such as 0.10.2; several for budget")
    group.add_argument("--model", metavar="ID|PATH", help="a model's id, its folder or its config.json")
    group.add_argument("--env", action="append", default=[], metavar="KEY=VALUE", help="a variable of the engine")
    group.add_argument("--weights", metavar="SIZE", help="size of the weights, all ranks together, such as 9GB")
    group.add_argument("--kv-cache-memory", metavar="SIZE", help="one GPU's KV cache, taken as printed")


def cluster(parser: argparse.ArgumentParser) -> None:
    """Add which cluster is spoken to, and as whom."""
    group = parser.add_argument_group("cluster options, as of kubectl")
    group.add_argument("-n", "--namespace", metavar="NAMESPACE", help="the target's namespace")
    group.add_argument("--context", metavar="NAME", help="the kubeconfig's context")
    group.add_argument("--kubeconfig", metavar="FILE", help="the kubeconfig")
    group.add_argument(
        "--request-timeout", default="30s", metavar="TIME", help="how long the API server may take for one answer (30s)"
    )
    group.add_argument("--as", dest="as_user", metavar="USER", help="act as this user")
    group.add_argument("--as-group", action="append", default=[], metavar="GROUP", help="and as a member of this group")


def prices(parser: argparse.ArgumentParser) -> None:
    """Add where prices come from."""
    group = parser.add_argument_group("prices of gpus and instances")
    group.add_argument("--region", metavar="REGION", help="an AWS region (us-east-1)")
    group.add_argument("--prices", metavar="FILE|aws", help="on-demand prices: a JSON or TOML file, or ask AWS")


def common(parser: argparse.ArgumentParser, forms: Sequence[str] = ()) -> None:
    """Add what all commands have; ``forms`` are a command's own, the first of them what it prints by itself."""
    group = parser.add_argument_group("common options")
    written = (*forms, *(form for form in _OUTPUTS if form not in forms))
    group.add_argument("-o", "--output", choices=written, default=written[0])
    language(group)
    group.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    group.add_argument("--data", metavar="DIR", help="your own gpus.toml, instances.toml, models/*.toml, …")
    group.add_argument("--offline", action="store_true", help="ask no hub for a model that is not known")
    group.add_argument("-v", "--verbose", action="count", default=0, help="show every setting and its origin too")
    group.add_argument("-q", "--quiet", action="store_true", help="print only what each result comes to")


def language(parser: argparse._ActionsContainer) -> None:
    """Add which language is spoken."""
    known = languages()
    parser.add_argument(
        "--lang",
        choices=(*known, PSEUDO),
        metavar=f"{{{','.join(known)}}}",
        help="language of what is said; else OOMEDIC_LANG, else the locale",
    )


def fail_on(parser: argparse.ArgumentParser) -> None:
    """Add how sure a finding must be for status 1."""
    parser.add_argument(
        "--fail-on", choices=_CONFIDENCES, default="likely", help="the least sure finding that gives status 1"
    )
