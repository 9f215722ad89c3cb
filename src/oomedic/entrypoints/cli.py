"""The command line: options in, report out, exit status.

    0  nothing found, or all well
    1  findings at or above --fail-on
    2  wrong usage or unreadable input
    3  not enough evidence: the crash is not recognised, or something could not be collected
    4  a rollout failed

Only what a command needs is imported: `explain` must stay as quick as plain Python.
"""

import os
import sys
from collections.abc import Sequence

from oomedic.entrypoints.options import parse
from oomedic.errors import InputError, OomedicError

TYPE_CHECKING = False  # importing typing for its own constant takes as long as starting Python
if TYPE_CHECKING:
    from argparse import Namespace

_COMMANDS = {
    "diagnose": "oomedic.entrypoints.commands.diagnose",
    "budget": "oomedic.entrypoints.commands.budget",
    "plan": "oomedic.entrypoints.commands.plan",
    "fix": "oomedic.entrypoints.commands.fix",
    "verify": "oomedic.entrypoints.commands.verify",
    "undo": "oomedic.entrypoints.commands.undo",
    "inspect": "oomedic.entrypoints.commands.inspect",
    "patch": "oomedic.entrypoints.commands.patch",
    "lint": "oomedic.entrypoints.commands.lint",
    "explain": "oomedic.entrypoints.commands.explain",
    "list": "oomedic.entrypoints.commands.catalogue",
}
_INTERRUPTED = 130
_GARBAGE = 200_000


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = parse(list(sys.argv[1:] if argv is None else argv))
    try:
        return _run(options)
    except OomedicError as error:
        return _refuse(error, options)
    except BrokenPipeError:
        _write_no_more()  # the reader has gone
        return 0
    except OSError as error:
        _write_no_more()
        return _refuse(InputError("system-refused", reason=error.strerror or str(error)), options)
    except KeyboardInterrupt:
        return _INTERRUPTED


def _run(options: "Namespace") -> int:
    from importlib import import_module

    status: int = import_module(_COMMANDS[options.command]).run(options)
    sys.stdout.flush()
    return status


def _write_no_more() -> None:
    """Put nothing in the place of standard output: Python would write what is left, and complain, when it ends."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - it stays open until the end


def _refuse(error: OomedicError, options: "Namespace") -> int:
    """Say on standard error what happened, what it means and what to do."""
    from oomedic.entrypoints.terminal import phrasebook

    says, do = phrasebook(options).error(error)
    sys.stderr.write(f"oomedic: {says}\n")
    if do:
        sys.stderr.write(f"         {do}\n")
    return error.exit_status


def process() -> int:
    """Run the command of this process: what the console scripts call.

    Collecting garbage takes a tenth of a run, and again as much when the interpreter ends, and finds next to nothing.
    """
    import gc

    gc.set_threshold(_GARBAGE)
    _open_streams()
    status = main()
    gc.freeze()
    return status


def _open_streams() -> None:
    """Open the streams that the caller closed; none fails for a character that its encoding lacks, as under LANG=C."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - it stays open until the end
        elif mode == "w":
            stream.reconfigure(errors="replace")


if __name__ == "__main__":
    sys.exit(process())
