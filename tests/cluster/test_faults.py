"""Faults between oomedic and the API server: a right result or one clear message, and never half a change."""

import itertools
import json
import os
import signal
import stat
import subprocess
import sys
import time

import pytest
from plane.case import LENGTH, QUICK
from plane.proxy import Fault, faulty

DIAGNOSE = ("diagnose", "deploy/qwen", "-o", "json", "-n")
FIX = ("fix", "deploy/qwen", "--apply", *QUICK, "-o", "json", "-n")


def first(number, fault):
    """Make a fault of the first so many requests."""
    left = itertools.count(1)
    return lambda _method, _path: fault if next(left) <= number else None


def of_patches(fault, *, dry_run=False):
    """Make a fault of the first request that changes something (or would)."""
    left = itertools.count(1)

    def judge(method, path):
        return fault if method == "PATCH" and ("dryRun" in path) == dry_run and next(left) == 1 else None

    return judge


def test_too_many_requests_are_waited_for_as_long_as_the_server_wants(plane, oomedic, make):
    namespace = make()
    with faulty(plane.server, first(3, Fault(429, (("Retry-After", "1"),)))) as server:
        started = time.monotonic()
        status, out, err = oomedic(*DIAGNOSE, namespace, server=server)
    assert (status, json.loads(out)["results"][0]["diagnosis"]["findings"][0]["code"]) == (1, "OOM401"), err
    assert time.monotonic() - started >= 2


def test_errors_of_the_server_are_tried_again(plane, oomedic, make):
    namespace = make()
    number = itertools.count(1)
    with faulty(plane.server, lambda *_: Fault(500) if next(number) % 3 == 0 else None) as server:
        status, out, err = oomedic(*DIAGNOSE, namespace, server=server)
    assert (status, json.loads(out)["results"][0]["diagnosis"]["findings"][0]["code"]) == (1, "OOM401"), err


def test_a_server_that_stays_faulty_is_said_in_one_message(plane, oomedic, make):
    namespace = make()
    judge = lambda _, path: Fault(503) if path.startswith("/apis/apps") else None  # noqa: E731 - as short as it gets
    with faulty(plane.server, judge) as server:
        status, out, err = oomedic(*DIAGNOSE, namespace, server=server)
    assert (status, out) == (3, "")
    assert "answered 5 times with status 503" in err


def test_a_server_that_is_not_there_is_said_in_one_message(oomedic, namespace):
    status, out, err = oomedic(*DIAGNOSE, namespace, server="https://127.0.0.1:9")
    assert (status, out) == (3, "")
    assert "does not answer" in err


def test_a_token_that_has_expired_is_renewed(plane, make, tmp_path):
    namespace = make()
    plugin, used = tmp_path / "credentials", tmp_path / "used"
    plugin.write_text(
        f"#!/bin/sh\nif [ -e {used} ]; then token=admin-token; else token=expired; touch {used}; fi\n"
        'echo "{\\"apiVersion\\": \\"client.authentication.k8s.io/v1\\", \\"kind\\": \\"ExecCredential\\", '
        '\\"status\\": {\\"token\\": \\"$token\\"}}"\n',
        encoding="utf-8",
    )
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    config = json.loads(plane.admin.read_text(encoding="utf-8"))
    version = "client.authentication.k8s.io/v1"
    config["users"][0]["user"] = {"exec": {"apiVersion": version, "command": str(plugin), "interactiveMode": "Never"}}
    (tmp_path / "config").write_text(json.dumps(config), encoding="utf-8")
    words = [*DIAGNOSE, namespace, "--offline", f"--kubeconfig={tmp_path / 'config'}"]
    done = subprocess.run(
        [sys.executable, "-m", "oomedic.entrypoints.cli", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr


def test_credentials_that_are_not_accepted_are_said_in_one_message(plane, oomedic, make):
    namespace = make()
    judge = lambda _, path: Fault(401) if path.startswith("/apis/apps") else None  # noqa: E731 - see above
    with faulty(plane.server, judge) as server:
        status, out, err = oomedic(*DIAGNOSE, namespace, server=server)
    assert (status, out) == (3, "")
    assert "does not accept your credentials" in err


def test_an_edit_elsewhere_in_the_object_meanwhile_loses_nothing(plane, oomedic, make):
    namespace = make()
    edit = Fault(before=lambda: plane.kubectl("annotate", "deploy/qwen", "-n", namespace, "team=chat"))
    with faulty(plane.server, of_patches(edit)) as server:
        status, out, err = oomedic(*FIX, namespace, server=server)
    assert (status, json.loads(out)["results"][0]["verdict"]["state"]) == (0, "healthy"), err
    assert plane.read("deploy/qwen", "-n", namespace)["metadata"]["annotations"]["team"] == "chat"


def test_an_edit_of_the_same_place_meanwhile_is_a_conflict_and_stays(plane, oomedic, make):
    namespace = make()
    place = "/spec/template/spec/containers/0/args/1"
    edit = json.dumps([{"op": "replace", "path": place, "value": "--max-model-len=90000"}])
    theirs = Fault(before=lambda: plane.kubectl("patch", "deploy/qwen", "-n", namespace, "--type=json", "-p", edit))
    with faulty(plane.server, of_patches(theirs)) as server:
        status, out, err = oomedic(*FIX, namespace, server=server)
    assert (status, out) == (3, "")
    assert "was changed by somebody else meanwhile" in err
    assert arguments(plane, namespace)[1] == "--max-model-len=90000"


def test_a_connection_that_breaks_during_the_change_leaves_a_whole_change_that_can_be_undone(plane, oomedic, make):
    namespace = make()
    before = plane.spec(namespace)
    with faulty(plane.server, of_patches(Fault(cut=True))) as server:
        status, _, err = oomedic(*FIX, namespace, server=server)
    assert status == 3
    assert "it is not known whether it was" in err
    assert arguments(plane, namespace)[1] == f"--max-model-len={LENGTH}"
    assert oomedic("undo", "deploy/qwen", "-n", namespace)[0] == 0
    assert plane.spec(namespace) == before


@pytest.mark.parametrize("dry_run", [True, False], ids=["in the dry run", "in the change"])
def test_a_fix_that_is_killed_leaves_the_old_or_the_new_spec(plane, make, oomedic, dry_run):
    namespace = make()
    before = plane.spec(namespace)
    running = []
    kill = Fault(before=lambda: os.kill(running[0].pid, signal.SIGKILL))
    with faulty(plane.server, of_patches(kill, dry_run=dry_run)) as server:
        config = plane.kubeconfig("admin", server=server)
        words = [
            sys.executable,
            "-m",
            "oomedic.entrypoints.cli",
            *FIX,
            namespace,
            f"--kubeconfig={config}",
            "--offline",
        ]
        running.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        assert running[0].wait(60) == -signal.SIGKILL
        time.sleep(1)
    if dry_run:
        assert plane.spec(namespace) == before
    else:
        assert arguments(plane, namespace)[1] == f"--max-model-len={LENGTH}"
        assert oomedic("undo", "deploy/qwen", "-n", namespace)[0] == 0
    assert plane.spec(namespace) == before


class AfterTheChange:
    """Make a fault of some of the requests that follow the change."""

    def __init__(self, fault, wanted=lambda _method, _path: True, number=10**6):
        self._fault, self._wanted, self._left, self._changed = fault, wanted, number, False

    def __call__(self, method, path):
        if method == "PATCH" and "dryRun" not in path:
            self._changed = True
            return None
        if not self._changed or self._left <= 0 or not self._wanted(method, path):
            return None
        self._left -= 1
        return self._fault


def test_a_cluster_that_is_silent_for_a_while_during_the_watch_is_waited_for(plane, oomedic, make):
    namespace = make()
    with faulty(plane.server, AfterTheChange(Fault(cut=True), number=3)) as server:
        status, out, err = oomedic(*FIX, namespace, server=server)
    assert (status, json.loads(out)["results"][0]["verdict"]["state"]) == (0, "healthy"), err
    assert "the cluster does not answer" in err


def test_a_cluster_that_stays_silent_during_the_watch_leaves_a_change_that_can_be_undone(plane, oomedic, make):
    namespace = make()
    before = plane.spec(namespace)
    words = ("fix", "deploy/qwen", "--apply", "--soak", "1s", "--timeout", "3s", "-o", "json", "-n", namespace)
    with faulty(plane.server, AfterTheChange(Fault(cut=True))) as server:
        status, out, err = oomedic(*words, server=server)
    assert (status, out) == (3, "")
    assert "The cluster can no longer be watched: the change stays." in err
    assert arguments(plane, namespace)[1] == f"--max-model-len={LENGTH}"
    assert oomedic("undo", "deploy/qwen", "-n", namespace)[0] == 0
    assert plane.spec(namespace) == before


def test_a_permission_that_is_lost_during_the_watch_is_named_and_the_change_stays_whole(plane, oomedic, make):
    namespace = make()
    lost = AfterTheChange(Fault(403), lambda method, path: method == "GET" and "/pods?" in path)
    with faulty(plane.server, lost) as server:
        status, out, err = oomedic(*FIX, namespace, server=server)
    assert (status, out) == (3, "")
    assert 'apiGroups: [""], resources: ["pods"], verbs: ["list"]' in err
    assert "The cluster can no longer be watched: the change stays." in err
    assert arguments(plane, namespace)[1] == f"--max-model-len={LENGTH}"
    assert oomedic("undo", "deploy/qwen", "-n", namespace)[0] == 0


def test_a_slow_server_is_waited_for(plane, oomedic, make):
    namespace = make()
    with faulty(plane.server, lambda *_: Fault(before=lambda: time.sleep(0.3))) as server:
        status, out, err = oomedic(*DIAGNOSE, namespace, server=server)
    assert (status, json.loads(out)["results"][0]["diagnosis"]["findings"][0]["code"]) == (1, "OOM401"), err


def test_a_server_that_is_too_slow_is_said_in_one_message(plane, oomedic, make):
    namespace = make()
    judge = lambda _, path: Fault(before=lambda: time.sleep(3)) if path.startswith("/apis/apps") else None  # noqa: E731
    with faulty(plane.server, judge) as server:
        status, out, err = oomedic(*DIAGNOSE, namespace, "--request-timeout", "1s", server=server)
    assert (status, out) == (3, "")
    assert "did not answer within 1 second" in err


def test_a_change_to_which_no_answer_comes_in_time_is_said_to_be_unknown(plane, oomedic, make):
    namespace = make()
    before = plane.spec(namespace)
    with faulty(plane.server, of_patches(Fault(before=lambda: time.sleep(4)))) as server:
        status, out, err = oomedic(*FIX, namespace, "--request-timeout", "2s", server=server)
    assert (status, out) == (3, "")
    assert "it is not known whether it was" in err
    time.sleep(3)  # the proxy hands the request on, late
    assert arguments(plane, namespace)[1] == f"--max-model-len={LENGTH}"
    assert oomedic("undo", "deploy/qwen", "-n", namespace)[0] == 0
    assert plane.spec(namespace) == before


def test_an_interrupted_watch_says_that_the_cluster_is_left_as_it_is(plane, make):
    # the pod of the change never gets ready: the watch would go on
    namespace = make(annotations={"oomedic.test/crashes-with": "--max-model-len=180000", "oomedic.test/waits": "yes"})
    words = [*FIX, namespace, "--offline", f"--kubeconfig={plane.admin}", "--soak", "60s"]
    running = subprocess.Popen(
        [sys.executable, "-m", "oomedic.entrypoints.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    said = ""
    while "watching for" not in said:
        said += running.stderr.readline()
    running.send_signal(signal.SIGINT)
    out, rest = running.communicate(timeout=30)
    assert (running.returncode, out) == (130, "")
    assert "Interrupted: the cluster is left as it is." in rest
    assert "Traceback" not in rest
    assert arguments(plane, namespace)[1] == f"--max-model-len={LENGTH}"


def arguments(plane, namespace):
    return plane.spec(namespace)["template"]["spec"]["containers"][0]["args"]
