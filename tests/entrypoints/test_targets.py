from argparse import Namespace

import pytest

from oomedic.entrypoints.targets import asks_cluster, is_object, kind_and_name, seconds
from oomedic.errors import UsageError


def options(*target, **given):
    usual = {"logs": [], "manifest": [], "engine": [], "model": None, "namespace": None, "all_namespaces": False}
    return Namespace(target=list(target), **(usual | given))


@pytest.mark.parametrize("word", ["deploy/vllm", "deployments.apps/vllm", "lws/vllm", "pod/vllm-0"])
def test_a_kind_and_a_name_are_an_object(word):
    assert is_object(word, options())


@pytest.mark.parametrize("word", ["-", "previous.log", "logs/previous.log", "manifests/vllm.yaml", "a/b/c"])
def test_what_looks_like_a_file_is_one(word):
    assert not is_object(word, options(namespace="llm"))


def test_what_is_there_is_a_file_whatever_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy/vllm").touch()
    assert not is_object("deploy/vllm", options())


def test_a_bare_name_is_a_pod_where_a_namespace_is_given():
    assert is_object("vllm-0", options(namespace="llm"))
    assert not is_object("vllm-0", options())
    assert kind_and_name("vllm-0") == ("pod", "vllm-0")
    assert kind_and_name("deploy/vllm") == ("deploy", "vllm")


def test_without_a_target_a_namespace_or_all_of_them_are_searched():
    assert asks_cluster(options(all_namespaces=True))
    assert asks_cluster(options(namespace="llm"))
    assert not asks_cluster(options())
    assert not asks_cluster(options(namespace="llm", logs=["previous.log"]))


def test_objects_and_files_in_one_call_are_refused():
    with pytest.raises(UsageError, match="targets-mixed"):
        asks_cluster(options("deploy/vllm", "previous.log"))


@pytest.mark.parametrize(("text", "number"), [("45s", 45), ("30m", 1800), ("2h", 7200), (None, None), ("", None)])
def test_a_time_has_a_unit(text, number):
    assert seconds(text) == number


@pytest.mark.parametrize("text", ["30", "m", "-5m", "1.5h", "5y"])
def test_another_time_is_refused(text):
    with pytest.raises(UsageError, match="time-unreadable"):
        seconds(text)
