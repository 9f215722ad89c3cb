"""Processes of vLLM, each with a log of its own that a failing test shows; whatever happens, nothing of them stays."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

STARTS = Path(__file__).with_name("starts.py")


class Served(NamedTuple):
    """A running ``vllm serve``."""

    process: subprocess.Popen
    log: Path
    address: str

    def log_when_ready(self, seconds):
        """Return the log once the server answers; it must not end before."""
        deadline = time.monotonic() + seconds
        while not self._answers():
            assert self.process.poll() is None, "it ended"
            assert time.monotonic() < deadline, f"no answer within {seconds} s"
            time.sleep(0.5)
        return self.log.read_bytes()

    def complete(self, prompt, tokens):
        """Ask for a completion of so many tokens and return the answer."""
        question = {"model": "tiny", "prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True}
        return json.loads(self._get("/v1/completions", json.dumps(question).encode()))

    def _answers(self):
        try:
            self._get("/health")
        except OSError:
            return False
        return True

    def _get(self, path, body=None):
        request = urllib.request.Request(self.address + path, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()


class Starter(NamedTuple):
    """A warm process, copies of which start vLLM: see starts.py."""

    process: subprocess.Popen
    folder: Path

    def start(self, name, variables, **what):
        """Start vLLM once, until it is ready or ends; return its exit status and its log."""
        log = self.folder / f"{name}.log"
        self.process.stdin.write(json.dumps({"log": str(log), "variables": variables, **what}).encode() + b"\n")
        self.process.stdin.flush()
        answered, _, _ = select.select([self.process.stdout], [], [], 180)
        if not log.exists():
            show(self.folder / "starter.log")
            raise AssertionError("vLLM could not be imported")
        show(log)
        assert answered, "neither ready nor ended within 180 s"
        return int(self.process.stdout.readline()), log.read_bytes()


@contextmanager
def starter(vllm, folder):
    """Import vLLM once for many starts, whose logs are written into a folder."""
    words = [Path(vllm).with_name("python"), STARTS]
    log = folder / "starter.log"
    with running(words, log, environment(vllm), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Starter(process, folder)


@contextmanager
def serving(vllm, model, log, *arguments):
    """Run ``vllm serve`` with a cache of 1 GiB on a port that is free."""
    port = free_port()
    words = [vllm, "serve", model, "--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(port)]
    variables = environment(vllm) | {"VLLM_CPU_KVCACHE_SPACE": "1"}
    try:
        with running([*words, *arguments], log, variables) as process:
            yield Served(process, log, f"http://127.0.0.1:{port}")
    finally:
        show(log)


@contextmanager
def running(words, log, variables, **pipes):
    """Run a command in a group of its own; what is left of the group is ended, and its temporary files are removed."""
    with log.open("wb") as output, TemporaryDirectory() as temporary:
        streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output} | pipes
        variables = os.environ | variables | {"TMPDIR": temporary}
        with subprocess.Popen(words, env=variables, start_new_session=True, **streams) as process:
            try:
                yield process
            finally:
                _end(process)


def environment(vllm):
    """Return the variables of an engine that asks nothing of the network and keeps its caches where it is installed."""
    cache = str(Path(vllm).parent.parent / "cache")
    alone = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    return alone | {"VLLM_CACHE_ROOT": cache, "HF_HOME": cache}


def free_port():
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def show(log):
    """Write a log where pytest shows it when the test fails."""
    sys.stdout.write(f"--- {log.name}\n{log.read_text(encoding='utf-8', errors='replace')}\n")


def _end(process):
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + 20
        left = _signalled(process, number)
        while left and time.monotonic() < deadline:
            time.sleep(0.1)
            left = _signalled(process, 0)  # no signal: is somebody left?


def _signalled(process, number):
    """Send a signal to all of the group; tell whether there was one."""
    process.poll()  # an ended leader that nobody waits for counts as there
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return False
    return True
