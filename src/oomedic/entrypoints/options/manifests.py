"""Options of the commands that read manifests."""

import argparse

from oomedic.entrypoints.options.groups import common, engine, fail_on


def inspect_options(parser: argparse.ArgumentParser) -> None:
    """Add what is read."""
    parser.add_argument("path", nargs="+", metavar="PATH", help="manifests, or folders of them; - reads standard input")
    common(parser)


def patch_options(parser: argparse.ArgumentParser) -> None:
    """Add what is changed, and how."""
    parser.add_argument("file", nargs="+", metavar="FILE", help="manifests, or folders of them; - reads standard input")
    parser.add_argument("--remedy", action="append", default=[], metavar="FIX…", help="this change, not the first one")
    parser.add_argument("--in-place", action="store_true", help="write the files, which keep their mode and owner")
    engine(parser)
    common(parser, ("diff", "jsonpatch", "strategic", "kustomize", "helm-set"))


def lint_options(parser: argparse.ArgumentParser) -> None:
    """Add what is judged, and against what."""
    parser.add_argument("path", nargs="+", metavar="PATH", help="manifests, or folders of them; - reads standard input")
    parser.add_argument("--hub", action="store_true", help="ask the hub for the config of a model that is not known")
    parser.add_argument("--baseline", metavar="FILE", help="do not count the findings that this file holds")
    parser.add_argument("--write-baseline", metavar="FILE", help="write the findings that there are now to this file")
    engine(parser)
    common(parser, ("text", "json", "sarif", "github", "junit"))
    fail_on(parser)
