import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic.logs.records import message_in, one_record_per_line


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"log":"INFO x\\n","stream":"stderr"}', "INFO x\n"),
        ('{"kubernetes":{"labels":{"message":"no"}},"log":"yes"}', "yes"),
        ('{"_source":{"message":"deep"}}', "deep"),
        ('{"log":"cut of', "cut of"),
        ('{"events":[{"timestamp":1,"message":"first of many","ingestionTime":2}', "first of many"),
        ('        "message": "of a record over \\"several\\" lines",', 'of a record over "several" lines'),
        ('    ["1760259600000000000","a pair"],', "a pair"),
        ('[0] kube.x: [[1.0, {}], {"stream"=>"stderr", "log"=>"as Ruby"}]', "as Ruby"),
        ('"2026-10-12","vllm","the ""longest"" cell"', 'the "longest" cell'),
        ("{'not': 'JSON'}", None),
        ("INFO nothing around it", None),
        ('{"nothing": "of the kind"}', None),
        ('"a quoted sentence"', None),
    ],
)
def test_the_message_comes_out_of_its_record(line, message):
    assert message_in(line) == message


@given(st.lists(st.text(), min_size=2, max_size=20), st.integers(1, 200))
def test_records_on_one_line_come_apart_whatever_they_say_and_however_they_arrive(messages, size):
    text = json.dumps({"events": [{"message": message} for message in messages]}).encode()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    lines = b"".join(one_record_per_line(pieces)).split(b"\n")
    assert [message_in(line.decode()) for line in lines] == messages


@pytest.mark.parametrize("text", [b"", b"\n", b'{"log":"a"}\n{"log":"b"}\n', b"plain\nlines", b"[1] x\n[2] y\n", b"{"])
def test_what_is_no_single_line_of_records_passes_as_it_is(text):
    assert b"".join(one_record_per_line([text[:3], text[3:]])) == text
