"""Whether to colour a report."""

import os
import sys

TYPE_CHECKING = False  # see oomedic.entrypoints.cli
if TYPE_CHECKING:
    from argparse import Namespace


def colours(options: "Namespace") -> bool:
    """Tell whether to colour: as asked for, else on a terminal unless NO_COLOR is set."""
    if options.color != "auto":
        return bool(options.color == "always")
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
