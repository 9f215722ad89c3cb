"""Options of the command that names the cause of a crash."""

import argparse

from oomedic.entrypoints.options.groups import cluster, common, engine, fail_on

_BESIDE_THE_LOG = (
    ("--pod", "kubectl get pod -o yaml or json; nodes and events as well"),
    ("--describe", "kubectl describe pod or node"),
    ("--events", "kubectl get events, as a table, YAML or JSON"),
    ("--nvidia-smi", "nvidia-smi, nvidia-smi -q, its CSV, or DCGM's metrics"),
)


def diagnose_options(parser: argparse.ArgumentParser) -> None:
    """Add what is diagnosed, and what lies beside it."""
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
    cluster(parser)
    engine(parser)
    common(parser)
    fail_on(parser)


def _search(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("search on the cluster")
    group.add_argument("-A", "--all-namespaces", action="store_true", help="all failing vLLM pods of the cluster")
    group.add_argument("-l", "--selector", metavar="LABELS", help="only pods with these labels, such as app=vllm")
    group.add_argument("--since", metavar="TIME", help="read current logs only this far back, such as 30m or 2h")
    group.add_argument("--probe-node", action="store_true", help="run nvidia-smi on the node, in a short-lived pod")
