"""Options of the commands that tell what oomedic knows."""

import argparse

from oomedic.entrypoints.options.groups import common, prices


def explain_options(parser: argparse.ArgumentParser) -> None:
    """Add what is explained."""
    parser.add_argument("code", metavar="CODE", help="OOM401, FIX101, or a name such as kv-cache-too-small")
    common(parser)


def list_options(parser: argparse.ArgumentParser) -> None:
    """Add what is listed."""
    kinds = ("causes", "remedies", "gpus", "instances", "models", "signatures", "versions")
    parser.add_argument("kind", choices=kinds)
    prices(parser)
    common(parser)
