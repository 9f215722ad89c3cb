"""The memory of a GPU while a pod is watched."""

import pytest

from oomedic.entrypoints.gpu_memory import Memory, slope

GIB = 1 << 30


def watched(sizes, seconds=60.0):
    """Return what is said when each look, ten seconds apart, sees one of these sizes."""
    left = iter(sizes)
    memory = Memory(lambda: next(left, None), seconds)
    for elapsed in range(1, int(seconds) + 1):
        memory.look(float(elapsed))
    return [(each.message, dict(each.parameters)) for each in memory.said()]


def test_memory_that_stays_is_told_with_both_ends():
    ((message, sizes),) = watched([20 * GIB] * 7)
    assert message == "rollout.memory"
    assert sizes == {"before": 20 * GIB, "after": 20 * GIB, "seconds": 60}


def test_memory_that_grows_from_look_to_look_is_told_with_its_slope():
    _, (message, rate) = watched([20 * GIB + number * GIB for number in range(7)])
    # one GiB in ten seconds are six in a minute
    assert (message, rate) == ("rollout.memory-grows", {"rate": 6 * GIB})


def test_memory_that_grew_once_does_not_grow():
    assert [message for message, _ in watched([20 * GIB, *[21 * GIB] * 6])] == ["rollout.memory"]


def test_what_cannot_be_seen_is_not_told_and_not_asked_again():
    assert watched([None, 20 * GIB, 20 * GIB]) == []


def test_the_slope_is_that_of_the_best_line():
    assert slope([(0.0, 1.0), (1.0, 1.0), (2.0, 4.0)]) == pytest.approx(1.5)
