import pytest

import oomedic
from oomedic.logs.lives import split_lives


def split(events):
    return tuple(split_lives(events))


WITHOUT_BANNER = ("chat-template-missing", "tool-choice-without-parser")
"""Scenarios that die before the banner, of an error that other lives print much later."""


@pytest.fixture(scope="module")
def events_by_log(real_logs, signatures):
    return {name: tuple(signatures.read([raw])) for name, raw in real_logs.items()}


def test_no_event_is_no_life():
    assert split(()) == ()


def test_every_real_log_alone_is_one_life(events_by_log):
    assert {name: len(split(events)) for name, events in events_by_log.items() if events} == {
        name: 1 for name, events in events_by_log.items() if events
    }


def test_two_real_logs_in_one_file_are_two_lives(real_logs, signatures):
    names = sorted(real_logs)
    for first, second in [*zip(names, names[40:], strict=False), *zip(names[100:], names, strict=False)]:
        if second.endswith(tuple(f"__{scenario}.log" for scenario in WITHOUT_BANNER)):
            continue
        before = real_logs[first].rstrip(b"\n") + b"\n"
        lives = split(tuple(signatures.read([before, real_logs[second]])))
        assert len(lives) == 2, (first, second)
        assert lives[0][-1].line <= before.count(b"\n") < lives[1][0].line, (first, second)


def test_three_starts_that_fail_alike_are_three_lives(real_logs, signatures):
    raw = real_logs["0.32.0__kv-too-small-1m-default-len.log"]
    lives = split(tuple(signatures.read([raw, raw, raw])))
    assert [[event.signature for event in life] for life in lives] == [[event.signature for event in lives[0]]] * 3


def test_the_platform_line_before_a_banner_belongs_to_the_new_life(events_of):
    start = (
        "INFO 11-30 15:29:35 [__init__.py:216] Automatically detected platform cuda.\n"
        "INFO 11-30 15:29:41 [api_server.py:1896] vLLM API server version 0.10.2\n"
        "ValueError: No available memory for the cache blocks.\n"
    )
    lives = split(events_of(start * 2))
    assert [life[0].signature for life in lives] == ["platform_detected"] * 2
    assert [len(life) for life in lives] == [3, 3]


def test_the_platform_that_each_process_prints_begins_nothing(events_of):
    detected = "INFO 11-30 15:29:35 [__init__.py:216] Automatically detected platform cuda.\n"
    log = (
        f"{detected}INFO 11-30 15:29:41 [api_server.py:1896] vLLM API server version 0.10.2\n{detected}"
        "(EngineCore_DP0 pid=1) INFO 11-30 15:30:45 [core.py:76] Initializing a V1 LLM engine (v0.10.2)\n"
        f"{detected}(Worker pid=2) INFO 11-30 15:30:49 [r.py:1] Starting to load model /m...\n{detected}"
    )
    assert len(split(events_of(log))) == 1


def test_the_engines_of_data_parallel_ranks_are_one_life(events_of):
    log = "".join(
        f"(EngineCore_DP{rank} pid={rank}) INFO 11-30 15:30:45 [core.py:76] Initializing a V1 LLM engine (v0.10.2)\n"
        f"(EngineCore_DP{rank} pid={rank}) INFO 11-30 15:30:49 [r.py:1] Starting to load model /m...\n"
        for rank in range(4)
    )
    assert len(split(events_of(log))) == 1


def test_an_engine_without_a_server_that_starts_again_is_another_life(events_of):
    start = (
        "INFO 11-30 15:30:45 [core.py:76] Initializing a V1 LLM engine (v0.10.2) with config: model='a'\n"
        "INFO 11-30 15:30:49 [r.py:1] Starting to load model /m...\n"
        "ValueError: No available memory for the cache blocks.\n"
    )
    assert [len(life) for life in split(events_of(start * 3))] == [3, 3, 3]


def test_the_tail_of_a_life_before_a_start_is_a_life(events_of):
    log = (
        "RuntimeError: Engine core initialization failed. See root cause above.\n"
        "INFO 11-30 15:29:41 [api_server.py:1896] vLLM API server version 0.10.2\n"
    )
    assert [len(life) for life in split(events_of(log))] == [1, 1]


def test_a_command_line_that_is_refused_again_and_again_is_as_many_lives(events_of):
    refused = "usage: vllm serve\nvllm: error: unrecognized arguments: --tensor-paralel-size 2\n"
    assert len(split(events_of(refused * 5))) == 5


def test_nothing_is_lost_or_changes_its_order(events_by_log):
    events = tuple(event for name in sorted(events_by_log)[:30] for event in events_by_log[name])
    assert tuple(event for life in split(events) for event in life) == events


def test_one_life_is_told_before_the_next_is_read(events_of):
    start = "vLLM API server version 0.11.0\nValueError: No available memory for the cache blocks.\n"
    read = []

    def told():
        for event in events_of(start * 3):
            read.append(event)
            yield event

    lives = split_lives(told())
    next(lives)
    assert len(read) == 3  # two events of the first life, and the first of the second


def test_very_many_lives_are_told_by_those_that_differ_and_the_last():
    crash = "vLLM API server version 0.11.0\nValueError: No available memory for the cache blocks.\n"
    other = "vLLM API server version 0.11.0\nOSError: [Errno 98] Address already in use\n"
    report = oomedic.diagnose(logs=crash * 40 + other + crash * 60, offline=True)
    lives = [result.subject.life for result in report.results]
    assert lives == [*range(1, 21), 41, 101]
    (note,) = [note for note in report.results[0].notes if note.message == "lives.left-out"]
    assert note.parameters == {"lives": 101, "kept": 22}
