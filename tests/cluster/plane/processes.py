"""One program of the plane: started with its own log file, waited for, stopped by its own id."""

import os
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

PATIENCE = 90.0
"""Seconds that a program may take to start or to stop: a busy machine of 2 cores needs them, an idle one 3."""


class Program:
    """A running program.

    Args:
        words: the command line; the first is the program's path.
        log: where its output goes.
        environment: variables beside those of this process.
    """

    def __init__(self, words: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self.name = Path(words[0]).name
        self.log = log
        with log.open("ab") as output:
            # a process group of its own: Ctrl-C in a terminal reaches the tests, which then stop it in order
            self._process = subprocess.Popen(
                [str(word) for word in words],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=os.environ | dict(environment or {}),
                start_new_session=True,
            )

    def wait_until(self, ready: Callable[[], bool], patience: float = PATIENCE) -> None:
        """Wait until ``ready`` says so.

        Raises:
            RuntimeError: when the program ends or takes too long; its last lines are quoted.
        """
        deadline = time.monotonic() + patience
        while not ready():
            if self._process.poll() is not None:
                raise RuntimeError(f"{self.name} ended with {self._process.returncode}:\n{self.last_lines()}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} is not ready after {patience:.0f} s:\n{self.last_lines()}")
            time.sleep(0.1)

    def stop(self) -> None:
        """End the program: asked at first, killed when it takes too long."""
        if self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(PATIENCE)

    def last_lines(self, number: int = 30) -> str:
        """Return the end of its output."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-number:])


def free_ports(number: int) -> list[int]:
    """Return ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(number)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports: list[int] = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def listens(port: int) -> bool:
    """Tell whether somebody answers on a port of the loopback interface."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
