"""Events of a pod that got no node, through the whole of `oomedic diagnose`."""

import json

import pytest

from oomedic.entrypoints.cli import main


def events(message, about="pod/vllm-6d9f7-x2k4q", reason="FailedScheduling"):
    """Return what `kubectl get events` prints of one event."""
    return f"LAST SEEN   TYPE      REASON      OBJECT      MESSAGE\n2m   Warning   {reason}   {about}   {message}\n"


@pytest.fixture
def finding(tmp_path, capsys):
    def run(text):
        path = tmp_path / "events.txt"
        path.write_text(text, encoding="utf-8")
        main(["diagnose", "--offline", "--events", str(path), "-o", "json"])
        (result,) = json.loads(capsys.readouterr().out)["results"]
        return result["diagnosis"]["findings"][0]

    return run


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", "no-free-gpu"),
        (
            "Failed to schedule pod, all available instance types exceed limits for nodepool (NodePool=small)",
            "pool-limit",
        ),
        ("Failed to schedule pod, did not tolerate taint (taint=nvidia.com/gpu=true:NoSchedule)", "taint"),
        (
            "Failed to schedule pod, no instance type has enough resources, requirements=a, resources={}",
            "no-instance-type",
        ),
    ],
)
def test_an_event_of_the_pod_is_explained_with_its_next_step(message, reason, finding):
    found = finding(events(message))
    assert found["code"] == "POD105"
    says, do = found["because"][:2]
    assert says["message"] in {f"unplaced.{reason}.says", f"unplaced.{reason}.plain"}
    assert do["message"] == f"unplaced.{reason}.do"


def test_a_refusal_of_the_cloud_stands_with_the_node_claim(finding):
    message = (
        "NodeClaim gpu-x7k2q event: creating instance, insufficient capacity, with fleet error(s), VcpuLimitExceeded: "
        "You have requested more vCPU capacity than your current vCPU limit of 0 allows for the instance bucket that "
        "the specified instance type belongs to."
    )
    found = finding(events(message, "nodeclaim/gpu-x7k2q", "InsufficientCapacityError"))
    assert found["because"][0]["message"] == "unplaced.quota.says"
    assert found["because"][0]["parameters"] == {"limit": "0"}


@pytest.mark.parametrize("option", [(), ("--events",)])
def test_events_as_json_are_read_too(option, tmp_path, capsys):
    event = {
        "apiVersion": "v1",
        "involvedObject": {"kind": "Pod", "name": "vllm-6d9f7-x2k4q"},
        "kind": "Event",
        "metadata": {"name": "a.17"},
        "message": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
        "reason": "FailedScheduling",
        "type": "Warning",
    }
    path = tmp_path / "events.json"
    path.write_text(json.dumps({"apiVersion": "v1", "items": [event], "kind": "List"}, indent=4), encoding="utf-8")
    main(["diagnose", "--offline", *option, str(path), "-o", "json"])
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["diagnosis"]["findings"][0]["code"] == "POD105"
