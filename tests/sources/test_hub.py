"""The hub, played by a real HTTP server on this machine."""

import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from oomedic.sources import hub as module
from oomedic.sources.hub import HuggingFaceHub

MODEL = "org/tiny"
CONFIG = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2}
HEADER = {
    "__metadata__": {"format": "pt"},
    "embed": {"dtype": "BF16", "shape": [100, 64], "data_offsets": [0, 12800]},
    "scale": {"dtype": "F32", "shape": [64], "data_offsets": [12800, 13056]},
    "packed": {"dtype": "F8_E4M3", "shape": [8, 8], "data_offsets": [13056, 13120]},
}
WEIGHTS = 100 * 64 * 2 + 64 * 4 + 8 * 8


def safetensors(header):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + b"\0" * WEIGHTS


class Server:
    """Answers paths with bytes, a status, or a function that writes the answer itself; remembers what was asked."""

    def __init__(self):
        self.answers = {}
        self.requests = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests.append((self.path, dict(self.headers)))
                outer.answer(self)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def answer(self, handler):
        found = self.answers.get(handler.path, 404)
        if callable(found):
            found(handler)
        elif isinstance(found, int):
            handler.send_error(found)
        else:
            self.send(handler, found)

    def send(self, handler, content):
        span = handler.headers.get("Range")
        if span:
            first, last = map(int, span.removeprefix("bytes=").split("-"))
            content = content[first : last + 1]
        handler.send_response(206 if span else 200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def close(self):
        self.http.shutdown()
        self.http.server_close()


def path(name, model=MODEL):
    return f"/{model}/resolve/main/{name}"


@pytest.fixture
def servers():
    made = []

    def new():
        made.append(Server())
        return made[-1]

    yield new
    for server in made:
        server.close()


@pytest.fixture
def server(servers):
    found = servers()
    found.answers[path("config.json")] = json.dumps(CONFIG).encode()
    return found


@pytest.fixture
def ask(server, tmp_path):
    """Ask the hub as a process with these variables would."""

    def asked(model=MODEL, **environment):
        hub = HuggingFaceHub({"HF_ENDPOINT": server.url, "OOMEDIC_CACHE": str(tmp_path / "cache"), **environment})
        return hub.checkpoint(model), hub.trouble

    return asked


def test_the_config_is_what_the_hub_has(ask):
    found, _ = ask()
    assert (found.id, found.where, dict(found.config)) == (MODEL, "hub", CONFIG)
    assert found.estimate is None


def test_weights_of_several_files_are_in_the_index(ask, server):
    server.answers[path("model.safetensors.index.json")] = (
        b'{"metadata": {"total_size": 16060522496}, "weight_map": {}}'
    )
    assert ask()[0].estimate == 16060522496


def test_weights_of_one_file_are_summed_from_its_header_by_ranges(ask, server):
    content = safetensors(HEADER)
    server.answers[path("model.safetensors")] = content
    assert ask()[0].estimate == WEIGHTS
    ranges = [headers["Range"] for asked, headers in server.requests if asked == path("model.safetensors")]
    assert ranges == ["bytes=0-7", f"bytes=8-{8 + len(json.dumps(HEADER)) - 1}"]


def test_a_server_that_knows_no_ranges_is_read_from_the_start(ask, server):
    content = safetensors(HEADER)

    def whole(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    server.answers[path("model.safetensors")] = whole
    assert ask()[0].estimate == WEIGHTS


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\1",
        b"\0" * 8,
        (2**62).to_bytes(8, "little"),
        (40).to_bytes(8, "little") + b"{",
        (2).to_bytes(8, "little") + b"[]",
        safetensors({"a": 3, "b": {"dtype": "BF16"}, "c": {"dtype": "F32", "shape": "x"}, "d": {"shape": [-1]}}),
    ],
)
def test_a_header_that_makes_no_sense_gives_no_size(ask, server, content):
    server.answers[path("model.safetensors")] = content
    assert ask()[0].estimate is None


@pytest.mark.parametrize("index", [b"[]", b"{}", b'{"metadata": null}', b'{"metadata": {"total_size": "much"}}', b"{"])
def test_an_index_that_makes_no_sense_gives_no_size(ask, server, index):
    server.answers[path("model.safetensors.index.json")] = index
    assert ask()[0].estimate is None


def test_the_quantisation_of_modelopt_is_fetched_where_the_config_has_none(ask, server):
    server.answers[path("hf_quant_config.json")] = b'{"quantization": {"quant_algo": "FP8"}}'
    assert ask()[0].config["hf_quant_config"] == {"quantization": {"quant_algo": "FP8"}}
    server.answers[path("config.json", "org/other")] = json.dumps(CONFIG | {"quantization_config": {}}).encode()
    ask("org/other")
    assert path("hf_quant_config.json", "org/other") not in [asked for asked, _ in server.requests]


def test_the_token_goes_to_the_hub(ask, server):
    ask(HF_TOKEN="hf_CANARY")
    assert {headers.get("Authorization") for _, headers in server.requests} == {"Bearer hf_CANARY"}


def test_without_a_token_none_is_sent(ask, server):
    ask()
    assert all("Authorization" not in headers for _, headers in server.requests)


def redirect(to):
    def answer(handler):
        handler.send_response(302)
        handler.send_header("Location", to)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def test_a_redirect_to_another_host_does_not_carry_the_token(ask, server, servers):
    content = safetensors(HEADER)
    other = servers()
    other.answers["/signed"] = content
    server.answers[path("model.safetensors")] = redirect(f"{other.url}/signed")
    found, _ = ask(HF_TOKEN="hf_CANARY")
    assert found.estimate == WEIGHTS
    assert len(other.requests) == 2
    assert all("Range" in headers for _, headers in other.requests)
    assert not [headers for _, headers in other.requests if "hf_CANARY" in str(headers)]


def test_a_redirect_on_the_same_host_keeps_the_token(ask, server):
    server.answers["/api/renamed"] = server.answers[path("config.json")]
    server.answers[path("config.json")] = redirect("/api/renamed")
    assert ask(HF_TOKEN="hf_CANARY")[0] is not None
    assert dict(server.requests)["/api/renamed"]["Authorization"] == "Bearer hf_CANARY"


def test_a_token_does_not_come_back_by_way_of_another_host(ask, server, servers):
    other = servers()
    other.answers["/there"] = redirect(f"{server.url}/back")
    server.answers["/back"] = json.dumps(CONFIG).encode()
    server.answers[path("config.json")] = redirect(f"{other.url}/there")
    ask(HF_TOKEN="hf_CANARY")
    assert "Authorization" not in dict(server.requests)["/back"]


@pytest.mark.parametrize("to", ["file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_a_redirect_out_of_http_is_not_followed(ask, server, to):
    server.answers[path("config.json")] = redirect(to)
    assert ask()[0] is None


def test_a_redirect_in_circles_ends(ask, server):
    server.answers[path("config.json")] = redirect(path("config.json"))
    assert ask()[0] is None


@pytest.mark.parametrize(
    ("status", "trouble"),
    [(401, "model-denied"), (403, "model-denied"), (404, "model-unknown"), (500, "model-unknown")],
)
def test_a_refusal_is_told_apart(ask, server, status, trouble):
    server.answers[path("config.json")] = status
    assert ask() == (None, trouble)


@pytest.mark.parametrize("text", [b"", b"not json", b"[1, 2]", b"<html>login</html>", b"\xff\xfe", b"[" * 100_000])
def test_a_config_that_is_no_json_object_is_no_model(ask, server, text):
    server.answers[path("config.json")] = text
    assert ask()[0] is None


def test_a_broken_connection_is_no_model(ask, server):
    def cut(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
        handler.connection.close()

    server.answers[path("config.json")] = cut
    assert ask()[0] is None


def test_something_that_does_not_speak_http_is_no_model(ask, server):
    def speak(handler):
        handler.wfile.write(b"220 smtp.example.com ESMTP\r\n")
        handler.connection.close()

    server.answers[path("config.json")] = speak
    assert ask() == (None, "model-unreachable")


def trickle(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    for _ in range(200):
        try:
            handler.wfile.write(b" ")
        except OSError:
            return
        time.sleep(0.02)


def silence(handler):
    time.sleep(1)
    handler.close_connection = True


@pytest.mark.parametrize("answer", [trickle, silence])
def test_a_slow_hub_is_not_waited_for(ask, server, monkeypatch, answer):
    monkeypatch.setattr(module, "_SECONDS", 0.3)
    server.answers[path("config.json")] = answer
    start = time.monotonic()
    assert ask() == (None, "model-unreachable")
    assert time.monotonic() - start < 0.8


def test_a_whole_question_takes_at_most_three_seconds():
    assert module._SECONDS == 3.0


def test_nobody_there_is_no_model(ask):
    assert ask(HF_ENDPOINT="http://127.0.0.1:9") == (None, "model-unreachable")
    assert ask(HF_ENDPOINT="file:///etc") == (None, "model-unreachable")
    assert ask(HF_ENDPOINT="nonsense") == (None, "model-unreachable")


@pytest.mark.parametrize("offline", ["1", "true", "YES", "on"])
def test_offline_nothing_is_asked(ask, server, offline):
    assert ask(HF_HUB_OFFLINE=offline) == (None, "model-offline")
    assert server.requests == []


def test_offline_what_was_kept_is_still_known(ask, server):
    ask()
    asked = len(server.requests)
    assert ask(HF_HUB_OFFLINE="1")[0].config["hidden_size"] == 64
    assert len(server.requests) == asked


def test_a_config_is_fetched_once(ask, server):
    ask()
    ask()
    assert [asked for asked, _ in server.requests].count(path("config.json")) == 1


def test_a_refusal_is_not_kept(ask, server):
    config = server.answers[path("config.json")]
    server.answers[path("config.json")] = 404
    assert ask()[0] is None
    server.answers[path("config.json")] = config
    assert ask()[0] is not None


@pytest.mark.parametrize("kept", [b"", b'{"model_type": "lla', b"\xff\xff"])
def test_a_kept_file_that_is_broken_is_fetched_again(ask, tmp_path, kept):
    broken = tmp_path / "cache/hub/org--tiny/config.json"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(kept)
    assert ask()[0].config["hidden_size"] == 64
    assert json.loads(broken.read_text()) == CONFIG


def test_what_is_kept_is_whole_or_not_there(ask, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    assert ask()[0].config["hidden_size"] == 64
    assert not [found for found in (tmp_path / "cache").rglob("*") if found.is_file()]


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(ask, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert ask()[0].config["hidden_size"] == 64


def test_without_a_home_there_is_still_a_cache_folder():
    assert HuggingFaceHub({})._cache.parts[-2:] == ("oomedic", "hub")


@pytest.mark.parametrize(
    "model", ["", "gpt2", "a/b/c", "../../etc/passwd", "org/..", "org/na me", "org/x?y", "org/" + "x" * 200]
)
def test_what_is_no_id_is_never_asked_for(ask, server, model):
    assert ask(model)[0] is None
    assert server.requests == []
