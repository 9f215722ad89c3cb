import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic.logs.text import Line, continues, lines, to_utf8


def only(raw):
    (line,) = lines(raw.encode() if isinstance(raw, str) else raw)
    return line


@pytest.mark.parametrize(
    ("raw", "text", "rank"),
    [
        (
            "\x1b[1;36m(APIServer pid=8935)\x1b[0;0m INFO 11-30 15:29:41 [api_server.py:1896] vLLM API server\r",
            "vLLM API server",
            "APIServer",
        ),
        ("[1;36m(EngineCore_DP0 pid=9)[0;0m ERROR 11-30 15:29:41 [core.py:18] boom", "boom", "EngineCore_DP0"),
        ("(Worker_TP3 pid=9) INFO 09-25 10:53:35 [gpu_worker.py:298] Available", "Available", "Worker_TP3"),
        ("(Worker_TP7_EP7 pid=9) INFO 09-25 10:53:35 [gpu_worker.py:298] Available", "Available", "Worker_TP7_EP7"),
        ("(VllmWorker rank=1 pid=106) INFO 04-29 01:07:41 [a.py:1347] Model", "Model", "VllmWorker rank=1"),
        ("(VllmWorkerProcess pid=82) ERROR 03-02 19:49:43 [b.py:242] x", "x", "VllmWorkerProcess pid=82"),
        ("(VllmWorker-0 pid=2093) WARNING 11-30 15:23:57 [vllm.py:725] x", "x", "VllmWorker-0"),
        ("(RayWorkerWrapper pid=14, ip=10.0.0.1) INFO 03-27 10:29:01 [w.py:2] x", "x", "RayWorkerWrapper pid=14"),
        ("(LLMRayActor pid=20770) ERROR 06-28 06:11:45 worker_base.py:145] x", "x", "LLMRayActor pid=20770"),
        (
            "(VllmWorker rank=0 pid=1) (VllmWorker rank=1 pid=2) INFO 11-30 15:59:14 [p.py:1] x",
            "x",
            "VllmWorker rank=1",
        ),
        ("[rank0]: torch.OutOfMemoryError: CUDA", "torch.OutOfMemoryError: CUDA", "rank0"),
        ("[rank5]:[W1130 10:00:00.1 CUDACachingAllocator.cpp:3933] memory", "memory", "rank5"),
        ("(Worker pid=22) [Stage-0] ERROR 03-12 08:22:28 [m.py:800] x", "x", "Worker pid=22"),
        ("[Worker_TP1] [model_runner.py:411] Model loading", "Model loading", "Worker_TP1"),
        ("INFO 04-08 19:59:10 model_runner.py:1115] Loading", "Loading", None),
        ("INFO  [gpu_worker.py:642]  Available", " Available", None),
        ("INFO:     Application startup complete.", "Application startup complete.", None),
        ("[pod/qwen-0/vllm] (APIServer pid=1) INFO:     Started", "Started", "APIServer"),
        ("qwen3-1  | (VllmWorker rank=1 pid=6) x", "x", "VllmWorker rank=1"),
        ("[llm]        | (APIServer pid=1) ValueError: x", "ValueError: x", "APIServer"),
        ("2024-05-01T10:00:00.123456789Z stderr F (Worker_TP0 pid=1) x", "x", "Worker_TP0"),
        ("2024-05-01T10:00:00.123456789+02:00 INFO 11-30 15:29:41 [a.py:1] x", "x", None),
        ("[2026-02-24T20:21:58Z] (EngineCore_DP0 pid=6940) ValueError: x", "ValueError: x", "EngineCore_DP0"),
        ("2025-01-01 10:00:00,123 - vllm.engine - INFO - hello", "hello", None),
        ("Nov 30 15:29:41 node-1 vllm[12]: INFO 11-30 15:29:41 [api.py:1] x", "x", None),
        ('I0806 21:52:45.863589 1 pb_stub.cc:366] "Failed', '"Failed', None),
        ('WARN  PyProcess W-252-model-stderr:   File "a.py"', '  File "a.py"', None),
        ("Aug 19 18:34:30 vllm vllm[8707]: (APIServer pid=8707)     return cls(", "    return cls(", "APIServer"),
        (
            (
                "INFO 2025-11-19T20:16:36.096Z [resource.labels.containerName: vllm] (EngineCore_DP0 pid=270) "
                "ERROR 11-19 12:16:36 [v1/engine/core.py:842] x"
            ),
            "x",
            "EngineCore_DP0",
        ),
        ("2026-06-09 14:01:54.604 [Info] (Process) (APIServer pid=42406) x", "x", "APIServer"),
        ("(pid=53316) x", "x", None),
        ("> **(VllmWorker rank=5 pid=50999) ERROR 07-07 15:19:48 [m.py:492] x", "x", "VllmWorker rank=5"),
        ("> [multiproc_executor.py:492] ValueError: x", "ValueError: x", None),
        ("(Worker pid=1) x [repeated 30x across cluster]", "x", "Worker pid=1"),
        ("x [repeated 3x across cluster] (Ray deduplicates logs by default.)", "x", None),
        ("Capturing CUDA graphs (mixed prefill-decode, PIECEWISE): 5%", None, None),
        ("[enforce fail at alloc_cpu.cpp:118] err == 0.", None, None),
        ("(size 9637888)", None, None),
    ],
)
def test_wrappers_come_off_and_the_process_is_named(raw, text, rank):
    line = only(raw)
    assert (line.text, line.rank) == (raw if text is None else text, rank)


@pytest.mark.parametrize(
    "raw",
    [
        '{"log":"(Worker_TP0 pid=1) INFO 03-27 10:29:01 [w.py:2] hello\\n","stream":"stderr"}',
        '{"message": "(Worker_TP0 pid=1) hello", "levelname": "INFO"}',
        '{"msg": "\\u001b[36m(Worker_TP0 pid=1)\\u001b[0m hello", "level": "info"}',
        '{"jsonPayload": {"message": "(Worker_TP0 pid=1) hello"}}',
        '{"log": "{\\"message\\": \\"(Worker_TP0 pid=1) hello\\"}"}',
        '2024-05-01T10:00:00.1Z stdout F {"message": "(Worker_TP0 pid=1) hello"}',
    ],
)
def test_json_is_opened(raw):
    assert [(line.text, line.rank) for line in lines(raw.encode())] == [("hello", "Worker_TP0")]


def test_json_that_was_cut_off_is_read_as_far_as_it_goes():
    assert only('{"log": "said \\"no\\" and').text == 'said "no" and'


def test_json_holds_several_lines():
    raw = b'{"message":"Traceback (most recent call last):\\n  File \\"x\\"\\nValueError: a\\n"}'
    assert [line.text for line in lines(raw)] == ["Traceback (most recent call last):", '  File "x"', "ValueError: a"]


def test_what_only_looks_like_json_stays():
    assert only("{'a': 1}").text == "{'a': 1}"
    assert only("{}").text == "{}"


def test_each_state_of_a_progress_bar_is_a_line():
    raw = b"Capturing:   0%|  | 0/67\rCapturing:   9%|x | 3/35\r\n"
    assert [line.text for line in lines(raw)] == ["Capturing:   0%|  | 0/67", "Capturing:   9%|x | 3/35"]


def test_the_container_runtime_marks_what_it_cut():
    assert only("2024-05-01T10:00:00.1Z stderr P first half").partial
    assert not only("2024-05-01T10:00:00.1Z stderr F second half").partial


def test_bytes_that_are_no_text_do_no_harm():
    assert only(b"a\x00b\xff\xfec").text == "ab\ufffd\ufffdc"


def test_utf_16_with_a_byte_order_mark_is_read():
    raw = "Available KV cache memory: 1.0 GiB\r\nβ\n".encode("utf-16")
    assert b"".join(to_utf8([raw[:1], raw[1:7], raw[7:]])).decode() == "Available KV cache memory: 1.0 GiB\r\nβ\n"


@given(st.binary(max_size=200), st.integers(1, 20))
def test_other_bytes_pass_as_they_are(raw, size):
    chunks = [raw[start : start + size] for start in range(0, len(raw), size)]
    if not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        assert b"".join(to_utf8(chunks)) == raw


@pytest.mark.parametrize(
    ("first", "after", "same_message"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. GPU 0 has", "a total capacity of 23.65 GiB of which", True),
        ("larger than the maximum number of tokens that can be stored in KV cache", "(8192). Try increasing", True),
        ("non-default args:", "{'model': 'x',", True),
        ("ValueError: a", "(EngineCore_DP0 pid=1) ERROR 11-30 15:29:41 [core.py:18] b", False),
        ("ValueError: a", "INFO 11-30 15:29:41 [core.py:18] b", False),
        ("ValueError: a", "Traceback (most recent call last):", False),
        ("ValueError: a", '  File "x.py", line 1, in f', False),
        ("ValueError: a", "    raise ValueError(", False),
        ("ValueError: a", "RuntimeError: b", False),
        ("ValueError: a", "", False),
        ("(Worker_TP0 pid=1) ValueError: a", "(Worker_TP1 pid=2) b", False),
        ("(Worker_TP0 pid=1) ValueError: a", "(Worker_TP0 pid=1) b", True),
        ("vllm serve \\", "    Qwen/Qwen3-8B \\", True),
    ],
)
def test_what_continues_a_message(first, after, same_message):
    assert continues(only(first), (lines(after.encode()) or (Line(""),))[0]) is same_message


@given(st.binary(max_size=500))
def test_any_bytes_are_read(raw):
    lines(raw)


@pytest.mark.parametrize(
    "piece",
    [
        b"[1;",
        b"\x1b[0",
        b"(",
        b"{",
        b"[a/",
        b"INFO ",
        b"a ",
        b'{"log":"\\"',
        b"2024-05-01T10:00:00 ",
        b"(Worker pid=1) ",
        b"\r",
    ],
)
def test_time_grows_with_the_length_only(piece):
    raw = piece * (64 * 1024 // len(piece))
    start = time.perf_counter()
    lines(raw)
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("pod", ["vllm-7c5d9f4b8c-x2k9z", "qwen-0"])
def test_what_stern_puts_before_an_error_comes_off(pod):
    (line,) = lines(f"{pod} vllm ZeroDivisionError: division by zero".encode())
    assert line.text == "ZeroDivisionError: division by zero"


def test_words_that_only_look_like_a_pod_stay():
    (line,) = lines(b"attempt-2 failed with the status of the request")
    assert line.text == "attempt-2 failed with the status of the request"


@pytest.mark.parametrize("escape", ["\x1b", "#033", "^[", "ESC"])
def test_colours_come_off_however_the_escape_is_written(escape):
    (line,) = lines(f"{escape}[1;36m(APIServer pid=1){escape}[0;0m ValueError: no{escape}[0m".encode())
    assert (line.text, line.rank) == ("ValueError: no", "APIServer")
