import importlib
import pkgutil

import pytest

from oomedic import shapes
from oomedic.arguments.reader import ArgumentTable
from oomedic.manifest import known_shapes, read_workloads

TABLE = ArgumentTable.of([])


@pytest.mark.parametrize(
    ("text", "unit", "message"),
    [
        (
            "apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeploymentRequest\nmetadata: {name: a}\n",
            "DynamoGraphDeploymentRequest/a",
            "workload.made-by-controller",
        ),
        (
            "image: {repository: nvcr.io/nim/meta/llama3-8b-instruct, tag: '1'}\nmodel: {}\n",
            "values",
            "workload.engine-unsupported",
        ),
    ],
)
def test_a_shape_that_is_known_and_not_read_says_what_to_give_instead(text, unit, message):
    (workload,) = read_workloads(text, "f.yaml", TABLE)
    assert (workload.unit, workload.supported) == (unit, False)
    assert workload.because.message == message


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


def test_every_module_is_a_shape_and_the_one_without_a_kind_is_asked_last():
    names = [module.name for module in pkgutil.iter_modules(shapes.__path__)]
    assert {shape.__name__ for shape in known_shapes()} == {f"oomedic.shapes.{name}" for name in names}
    assert list(known_shapes())[-1] is importlib.import_module("oomedic.shapes.pod_templates")
    for shape in known_shapes():
        assert shape.__doc__
        assert callable(shape.recognises)
        assert callable(shape.read)
