"""The command line: options in, report out, exit status.

0  nothing found, or all well
1  findings at or above --fail-on
2  wrong usage or unreadable input
3  not enough evidence: the crash is not recognised, or something could not be collected
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from oomedic.errors import OomedicError

if TYPE_CHECKING:
    from argparse import Namespace

_COMMANDS = {
    "diagnose": "oomedic.entrypoints.commands.diagnose",
    "budget": "oomedic.entrypoints.commands.budget",
    "inspect": "oomedic.entrypoints.commands.inspect",
    "explain": "oomedic.entrypoints.commands.explain",
    "list": "oomedic.entrypoints.commands.catalogue",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; the console scripts end with it."""
    words = list(sys.argv[1:] if argv is None else argv)
    from oomedic.entrypoints.options import parse  # argparse is needed from here on

    options = parse(words)
    try:
        return _run(options)
    except OomedicError as error:
        return _refuse(error, options)
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return 130


def _run(options: "Namespace") -> int:
    from importlib import import_module  # each command loads only what it needs

    status: int = import_module(_COMMANDS[options.command]).run(options)
    return status


def _refuse(error: OomedicError, options: "Namespace") -> int:
    """Say on standard error what happened, what it means and what to do."""
    from oomedic.entrypoints.terminal import phrasebook  # only where something failed

    says, do = phrasebook(options).error(error)
    sys.stderr.write(f"oomedic: {says}\n")
    if do:
        sys.stderr.write(f"         {do}\n")
    return error.exit_status


if __name__ == "__main__":
    sys.exit(main())
