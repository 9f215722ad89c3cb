import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic.arguments.shell import read_script
from oomedic.arguments.shell_words import Program, Variable, Word, find_vllm, words_of


def texts(script, variables=None, positional=()):
    return [[word.text for word in statement.words] for statement in read_script(script, variables, positional)]


def engine(script, variables=None):
    for statement in read_script(script, variables):
        program = find_vllm(statement.words)
        if program:
            return [word.text for word in statement.words[program.first :]]
    return None


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("vllm serve m --x 1", [["vllm", "serve", "m", "--x", "1"]]),
        ("a; b && c || d | e & f\ng", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("""a '{"x": 1}' "{\\"y\\": 2}" """, [["a", '{"x": 1}', '{"y": 2}']]),
        ("a \\\n  b \\\n  c", [["a", "b", "c"]]),
        ("a b # --max-model-len 4\nc", [["a", "b"], ["c"]]),
        ("a b#c", [["a", "b#c"]]),
        ("a >log 2>&1 b &> all < in", [["a", "b"]]),
        ("cat <<EOF > f\nvllm serve no\nEOF\nvllm serve yes", [["cat"], ["vllm", "serve", "yes"]]),
        ("if [ -f x ]; then exec a; fi", [["[", "-f", "x", "]"], ["exec", "a"]]),
        ("(a; b)", [["a"], ["b"]]),
        ("a \\ --x", [["a", "--x"]]),
    ],
)
def test_a_program_falls_apart_into_the_words_of_its_statements(script, expected):
    assert texts(script) == expected


@pytest.mark.parametrize(
    "script",
    [
        "vllm serve org/m --port 1",
        "exec /opt/venv/bin/vllm serve org/m --port 1",
        "python3 -m vllm.entrypoints.openai.api_server org/m --port 1",
        "cd /tmp && nsys profile python /x/vllm/entrypoints/openai/api_server.py org/m --port 1 2>&1 | tee log",
        "until curl -f http://h:1 > /dev/null 2>&1; do sleep 2; done && vllm serve org/m --port 1",
        "pip install -q x;\nVLLM_USE_V1=0 uv run vllm serve org/m --port 1 & wait",
        'ARGS=(vllm serve)\nARGS+=(org/m\n --port 1)\nexec "${ARGS[@]}"',
        "export P=1; vllm serve org/m --port ${P}",
        "vllm serve org/m --port ${PORT:-1}",
    ],
)
def test_the_statement_that_starts_the_engine_is_found(script):
    assert engine(script) == ["org/m", "--port", "1"]


def test_a_program_without_an_engine_has_none():
    assert engine("echo vllm serve; pip install vllm; vllm bench serve") == []
    assert engine("sleep infinity") is None


def test_what_only_a_running_shell_knows_is_unknown():
    words = read_script(
        "vllm serve $MODEL --x=$(nproc) `date` ${Y%z} $SET", {"SET": Variable("s"), "Z": Variable(None)}
    )
    assert [word.unknown for word in words[0].words] == [(), (), ("MODEL",), ("$(nproc)",), ("`",), ("${Y%z}",), ()]


def test_a_known_variable_is_expanded_as_a_shell_does():
    variables = {"ARGS": Variable("--a 1  --b", "ARGS", 0), "MODEL": Variable("org/m", "MODEL", 0)}
    words = read_script('run $MODEL "$ARGS" $ARGS --m=$MODEL', variables)[0].words
    assert [word.text for word in words] == ["run", "org/m", "--a 1  --b", "--a", "1", "--b", "--m=org/m"]
    assert [(word.origin, word.span) for word in words[3:]] == [
        ("ARGS", (0, 3)),
        ("ARGS", (4, 5)),
        ("ARGS", (7, 10)),
        ("", (25, 35)),
    ]


def test_the_kubelet_replaces_text_before_the_shell_reads_it():
    variables = {"ARGS": Variable("--a '{\"x\": 1}'", "ARGS", 0)}
    words = read_script("run $(ARGS) $ARGS", variables)[0].words
    assert [word.text for word in words] == ["run", "--a", '{"x": 1}', "--a", '\'{"x":', "1}'"]


def test_a_word_of_a_script_variable_points_into_the_script():
    script = "ARGS='--a 1'; run $ARGS"
    word = read_script(script)[-1].words[-1]
    assert word.text == "1"
    assert script[word.span[0] : word.span[1]] == "1"


def test_positional_words_come_from_the_list_after_the_program():
    positional = (Word("zero", None, where="args[1]"), *words_of("--x", "1"))
    assert texts('run $0 "$@"', None, positional) == [["run", "zero", "--x", "1"]]


def test_assignments_are_the_environment_of_what_follows():
    statements = read_script("A=1; export B='x y'; C=$A run; D=${NO} other")
    assert statements[-2].environment == {"A": "1", "B": "x y", "C": "1"}


def test_a_program_that_doubles_a_variable_again_and_again_is_cut_off():
    script = "A=xxxxxxxx\n" + "A=$A$A\n" * 60 + "B=(a)\n" + 'B+=("${B[@]}")\n' * 60 + "run $A"
    assert len(read_script(script)[-1].words[-1].text) < 2**22


def test_find_vllm_names_the_first_argument():
    assert find_vllm(words_of("vllm", "serve", "m")) == Program("serve", 2)
    assert find_vllm(words_of("python", "-m", "sglang.launch_server")) is None


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1), min_size=1))
def test_words_that_were_quoted_for_a_shell_come_back(words):
    script = "run " + shlex.join(words)
    statement = read_script(script)[0]
    assert [word.text for word in statement.words] == ["run", *words]
    for word in statement.words:
        assert shlex.split(script[word.span[0] : word.span[1]]) == [word.text]


@given(st.text(st.sampled_from("ab =-'\"\\$(){}[]`;&|<>#\n\t0:@*")))
def test_no_text_at_all_makes_it_fail(script):
    for statement in read_script(script, {"a": Variable("x y", "a", 0), "b": Variable(None)}, words_of("p", "q")):
        for word in statement.words:
            assert word.span is None or word.origin or 0 <= word.span[0] <= word.span[1] <= len(script)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("N * LOCAL", "16"),
        ("$N*${LOCAL}", "16"),
        ("(N + 1) * 2 - LOCAL / 3", "4"),
        ("${MISSING:-3} % 2", "1"),
        ("-1 + N", "1"),
    ],
)
def test_arithmetic_with_known_variables_is_worked_out(expression, value):
    (statement,) = read_script(f"vllm serve m --x $(({expression}))", {"N": Variable("2"), "LOCAL": Variable("8")})
    assert [word.text for word in statement.words] == ["vllm", "serve", "m", "--x", value]


@pytest.mark.parametrize("expression", ["N * OTHER", "N / 0", "N ? 1 : 2", "", "(", "$(nproc) * 2", "9" * 30, "2 -- "])
def test_what_arithmetic_does_not_say_stays_unknown(expression):
    (statement,) = read_script(f"vllm serve m --x $(({expression}))", {"N": Variable("2")})
    assert statement.words[-1].unknown == (f"$(({expression}))",)
