"""Options of the commands that change or watch a workload on the cluster."""

import argparse

from oomedic.entrypoints.options.groups import cluster, common, engine


def fix_options(parser: argparse.ArgumentParser) -> None:
    """Add what is changed on the cluster, and how far it may go."""
    parser.add_argument("target", metavar="KIND/NAME", help="the workload on the cluster, such as deploy/vllm")
    parser.add_argument("--remedy", action="append", default=[], metavar="FIX…", help="this change, not the first one")
    parser.add_argument("--apply", action="store_true", help="change the object; without it nothing is changed")
    parser.add_argument("--no-rollback", action="store_true", help="leave a change that does not help as it is")
    parser.add_argument("--force-owner", action="store_true", help="even if Helm, Argo CD, Flux or an owner keeps it")
    _watch(parser)
    cluster(parser)
    engine(parser)
    common(parser)


def verify_options(parser: argparse.ArgumentParser) -> None:
    """Add what is watched."""
    parser.add_argument("target", metavar="KIND/NAME", help="the workload on the cluster, such as deploy/vllm")
    _watch(parser)
    cluster(parser)
    common(parser)


def undo_options(parser: argparse.ArgumentParser) -> None:
    """Add what is taken back."""
    parser.add_argument("target", metavar="KIND/NAME", help="the workload on the cluster, such as deploy/vllm")
    cluster(parser)
    common(parser)


def _watch(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("watching the rollout")
    group.add_argument("--timeout", default="30m", metavar="TIME", help="until the pods must be ready (30m)")
    group.add_argument("--soak", default="60s", metavar="TIME", help="how long they must stay ready (60s)")
