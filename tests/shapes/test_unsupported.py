import importlib
import pkgutil

import pytest

from oomedic import shapes
from oomedic.arguments import ArgumentTable
from oomedic.manifest import known_shapes, read_workloads

TABLE = ArgumentTable.of([])


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: a}\n", "LeaderWorkerSet/a"),
        ("apiVersion: ray.io/v1\nkind: RayService\nmetadata: {name: a}\n", "RayService/a"),
        ("servingEngineSpec: {modelSpec: []}\n", "values"),
        ("modelArtifacts: {uri: x}\ndecode: {}\n", "values"),
    ],
)
def test_a_shape_that_is_known_but_not_read_says_so(text, unit):
    (workload,) = read_workloads(text, "f.yaml", TABLE)
    assert (workload.unit, workload.supported) == (unit, False)
    assert workload.because.message == "workload.shape-unsupported"


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: example.com/v1\nkind: Model\nmetadata: {name: a}\n",
        "replicaCount: 1\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name: vllm}\n",
        "- just\n- a list\n",
        "text\n",
        "",
    ],
)
def test_a_file_without_an_engine_is_no_error(text):
    assert read_workloads(text, "f.yaml", TABLE) == ()


def test_every_module_is_a_shape_and_what_is_not_read_yet_is_asked_last():
    names = [module.name for module in pkgutil.iter_modules(shapes.__path__)]
    assert {shape.__name__ for shape in known_shapes()} == {f"oomedic.shapes.{name}" for name in names}
    assert known_shapes()[-1] is importlib.import_module("oomedic.shapes.unsupported")
    for shape in known_shapes():
        assert shape.__doc__
        assert callable(shape.recognises)
        assert callable(shape.read)
