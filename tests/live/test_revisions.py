"""Which earlier revision ran: only what the cluster itself shows counts."""

import pytest

from oomedic.live.revisions import differences, former_of_deployment, former_of_set, ran_itself_until
from oomedic.live.workload import Former

MADE = "2026-01-01T00:00:00Z"
DAY_2, DAY_3, DAY_5 = "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z", "2026-01-05T00:00:00Z"


def template(*args, image="vllm/vllm-openai:v0.20.0", env=(), **spec):
    container = {"name": "vllm", "image": image, "args": list(args), "env": list(env)}
    return {"metadata": {"labels": {"app": "q"}}, "spec": {"containers": [container], **spec}}


def replica_set(number, made, ready=0, **annotations):
    return {
        "metadata": {
            "name": f"q-{number}",
            "uid": f"rs-{number}",
            "creationTimestamp": made,
            "annotations": {"deployment.kubernetes.io/revision": str(number), **annotations},
            "ownerReferences": [{"uid": "d", "controller": True}],
        },
        "spec": {"template": template(f"--max-model-len={number}")},
        "status": {"readyReplicas": ready} if ready else {},
    }


def deployment(unavailable_since=None):
    conditions = [{"type": "Available", "status": "False", "lastTransitionTime": unavailable_since}]
    return {
        "kind": "Deployment",
        "metadata": {"name": "q", "uid": "d", "creationTimestamp": MADE},
        "status": {"conditions": conditions if unavailable_since else []},
    }


def pod(owner, *, ready, **labels):
    return {
        "metadata": {"name": f"p-{owner}", "labels": labels, "ownerReferences": [{"uid": owner}]},
        "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def test_a_revision_whose_pods_are_ready_ran():
    sets = [replica_set(1, MADE), replica_set(2, DAY_2, ready=1), replica_set(3, DAY_3)]
    former = former_of_deployment(deployment(), sets, [pod("rs-2", ready=True), pod("rs-3", ready=False)])
    assert (former.number, former.at, former.until) == (2, DAY_2, None)
    assert former.pod["metadata"]["name"] == "p-rs-2"
    assert former.template["spec"]["containers"][0]["args"] == ["--max-model-len=2"]


def test_a_revision_that_was_available_until_the_next_one_was_made_ran():
    # with Recreate the old pods end first: the Deployment became unavailable when revision 2 was made
    former = former_of_deployment(deployment(DAY_3), [replica_set(1, MADE), replica_set(2, DAY_3)], [])
    assert (former.number, former.until) == (1, DAY_3)


def test_a_revision_that_merely_came_before_may_never_have_started():
    sets = [replica_set(1, MADE), replica_set(2, DAY_3)]
    assert former_of_deployment(deployment(), sets, []) is None
    # it was never available: the condition is as old as the object
    assert former_of_deployment(deployment("2026-01-01T00:00:01Z"), sets, []) is None


def test_a_revision_that_ran_itself_for_a_while_is_no_change_for_the_worse():
    sets = [replica_set(1, MADE), replica_set(2, DAY_3)]
    assert former_of_deployment(deployment(DAY_5), sets, []) is None
    assert ran_itself_until(deployment(DAY_5), sets) == DAY_5
    assert ran_itself_until(deployment(DAY_3), sets) is None


def test_a_revision_that_was_taken_up_again_tells_nothing_by_its_age():
    again = {"deployment.kubernetes.io/revision-history": "1"}
    sets = [replica_set(2, DAY_2), replica_set(3, MADE, **again)]
    assert former_of_deployment(deployment(DAY_3), sets, []) is None
    assert ran_itself_until(deployment(DAY_3), sets) is None


def test_revisions_of_other_workloads_do_not_count():
    foreign = replica_set(1, MADE, ready=1)
    foreign["metadata"]["ownerReferences"] = [{"uid": "other"}]
    assert former_of_deployment(deployment(), [foreign, replica_set(2, DAY_2)], []) is None


def test_a_stateful_set_keeps_its_revisions_as_patches_of_the_template():
    def revision(number):
        return {
            "metadata": {"name": f"q-{number}", "creationTimestamp": MADE, "ownerReferences": [{"uid": "d"}]},
            "revision": number,
            "data": {"spec": {"template": {"$patch": "replace", **template(f"--max-model-len={number}")}}},
        }

    found = {"kind": "StatefulSet", "metadata": {"uid": "d"}}
    ready = pod("d", ready=True, **{"controller-revision-hash": "q-1"})
    former = former_of_set(found, [revision(1), revision(2)], [ready])
    assert (former.number, former.template) == (1, template("--max-model-len=1"))
    assert former_of_set(found, [revision(1), revision(2)], [pod("d", ready=False)]) is None
    current = pod("d", ready=True, **{"controller-revision-hash": "q-2"})
    assert former_of_set(found, [revision(1), revision(2)], [current]) is None, "the current one is no earlier one"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (template(), template(image="v:2"), ("vllm.image", "vllm/vllm-openai:v0.20.0", "v:2")),
        (template(), template(nodeSelector={"gpu": "a"}), ("nodeSelector.gpu", "–", "a")),
        (template(env=[{"name": "A", "value": "1"}]), template(), ("vllm.env.A", "1", "–")),
        (template(), template(env=[{"name": "HF_TOKEN", "value": "x"}]), ("vllm.env.HF_TOKEN", "–", "***")),
    ],
)
def test_what_the_pods_have_otherwise_is_told_place_by_place(before, after, told):
    (said,) = differences(Former(1, MADE, before), after)
    assert (said.parameters["place"], said.parameters["before"], said.parameters["after"]) == told


def test_arguments_are_compared_elsewhere():
    assert list(differences(Former(1, MADE, template("--a")), template("--b"))) == []
