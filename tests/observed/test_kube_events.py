import json
from pathlib import Path

from oomedic.observed.kube_events import read_events_table
from oomedic.observed.objects import read_objects

SAMPLES = Path(__file__).parent / "samples"
TABLE = (SAMPLES / "events.txt").read_text(encoding="utf-8").splitlines()


def test_every_row_of_kubectl_get_events_is_one_happening():
    found = read_events_table(TABLE, "events.txt")
    assert [(event.type, event.reason) for event in found] == [
        ("Normal", "Scheduled"),
        ("Warning", "Unhealthy"),
        ("Normal", "Killing"),
        ("Warning", "BackOff"),
        ("Warning", "FailedScheduling"),
        ("Warning", "FailedMount"),
    ]
    assert found[2].message == "Container vllm failed startup probe, will be restarted"
    assert (found[2].about, found[2].where) == ("pod/vllm-llama-7b9f4c6d5-x2x9z", "events.txt:4")


def test_a_namespace_column_changes_nothing():
    wide = ["NAMESPACE   " + TABLE[0], *("inference   " + line for line in TABLE[1:])]
    assert [event[:3] for event in read_events_table(wide, "e")] == [
        event[:3] for event in read_events_table(TABLE, "e")
    ]


def test_the_wide_table_has_columns_behind_the_message():
    header = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "SUBOBJECT", "SOURCE", "MESSAGE", "FIRST SEEN", "COUNT", "NAME")
    cells = ("5m", "Warning", "Unhealthy", "pod/x", "", "kubelet, n", "Liveness probe failed:", "9m", "7", "x.17")
    widths = [max(map(len, pair)) + 3 for pair in zip(header, cells, strict=True)]
    lines = ["".join(map(str.ljust, row, widths)) for row in (header, cells)]
    (event,) = read_events_table(lines, "e")
    assert (event.reason, event.message) == ("Unhealthy", "Liveness probe failed:")


def test_objects_of_both_apis_say_the_same():
    core = {
        "apiVersion": "v1",
        "kind": "Event",
        "type": "Warning",
        "reason": "Unhealthy",
        "message": "Liveness probe failed",
        "involvedObject": {"kind": "Pod", "name": "p"},
        "source": {"component": "kubelet"},
    }
    new = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "type": "Warning",
        "reason": "Unhealthy",
        "note": "Liveness probe failed",
        "regarding": {"kind": "Pod", "name": "p"},
        "reportingController": "kubelet",
    }
    (one,), (other,) = (read_objects(json.dumps(tree), "e.json").happened for tree in (core, new))
    assert one._replace(where="") == other._replace(where="")
    assert (one.where, other.where) == ("e.json:message", "e.json:note")


def test_what_is_no_row_is_passed_over():
    assert read_events_table(["", "No resources found in default namespace.", "Warning", "x  Warning"], "e") == ()
