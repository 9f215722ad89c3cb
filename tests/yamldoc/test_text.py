import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from oomedic.errors import InputError, OomedicError
from oomedic.yamldoc.nodes import MappingNode, ScalarNode, at_pointer, fields, get, is_string, items, text_of, uses
from oomedic.yamldoc.splice import appended, apply_splices, inside, removed
from oomedic.yamldoc.text import compose, line_and_column

TEXT = st.text(st.sampled_from("ab:#-'\"\\ \n{}[]é😀,&*!|>%@0"), min_size=1, max_size=30)


def root(text):
    return compose(text, "f.yaml").documents[0]


def value_at(text, pointer):
    return text_of(at_pointer(root(text), pointer))


def refusal(text):
    with pytest.raises(InputError) as caught:
        compose(text, "f.yaml")
    return caught.value.slug, caught.value.parameters.get("line"), caught.value.parameters.get("column")


@pytest.mark.parametrize(
    ("text", "slug", "line", "column"),
    [
        ("a: b\n\tc: d", "yaml-unreadable", 2, 1),
        ("a: [1, 2\nb: 3", "yaml-unreadable", 2, 2),
        ("ok: 1\na: b: c", "yaml-unreadable", 2, 5),
        ("a: *none", "yaml-unreadable", 1, 4),
        ("a: &a [*a]", "yaml-unreadable", 1, 8),
        ("a: 1\nb: \0", "yaml-unreadable", 2, 4),
        ("\ud800", "yaml-unreadable", 1, 1),
        ("a: 1\nb: 2\na: 3", "yaml-duplicate-key", 3, 1),
        ("- " * 200 + "x", "yaml-too-deep", 1, 201),
    ],
)
def test_a_broken_file_is_refused_with_the_place(text, slug, line, column):
    assert refusal(text) == (slug, line, column)


def test_aliases_of_aliases_are_refused_by_their_size():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert refusal("\n".join(lines))[0] == "yaml-too-large"


def test_a_chain_of_aliases_is_refused_by_its_depth():
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 300))]
    assert refusal("\n".join(lines))[0] == "yaml-too-deep"


def test_a_huge_file_is_refused_before_it_is_read():
    assert refusal("#" * (32 * 2**20 + 1))[0] == "yaml-too-large"


def test_values_are_what_kubernetes_reads():
    node = root(
        "a: x # comment\nb: 'it''s'\nc: \"\\u00e9\"\nd: |-\n  e\n  f\ng: >-\n  h\n  i\nj:\nk: ~\nl: null\nm: ''\n"
    )
    values = {key: text_of(value) for key, value in fields(node).items()}
    assert values == {
        "a": "x",
        "b": "it's",
        "c": "é",
        "d": "e\nf",
        "g": "h i",
        "j": None,
        "k": None,
        "l": None,
        "m": "",
    }


def test_merge_keys_are_resolved_and_own_keys_win():
    node = root("base: &b {x: 1, y: 2}\nmore: &m {z: 3, y: 4}\nown: {<<: [*b, *m], x: 5}\n")
    assert {key: text_of(value) for key, value in fields(get(node, "own")).items()} == {"x": "5", "y": "2", "z": "3"}


def test_an_alias_is_the_very_node_and_uses_are_counted():
    node = root("a: &a [1, 2]\nb: *a\nc: {<<: &m {d: 1}}\ne: *m\n")
    assert get(node, "a") is get(node, "b")
    assert uses(node, get(node, "a")) == 2
    assert uses(node, items(get(node, "a"))[0]) == 2
    assert uses(node, get(node, "c")) == 1


@pytest.mark.parametrize(
    ("written", "string"),
    [
        *[("4096", False), ("0.9", False), ("true", False), ("yes", False), ("~", False), ("'4096'", True)],
        *[("auto", True), ("--x=1", True), ("!!str 8", True), ("8k", True)],
    ],
)
def test_a_leaf_is_a_string_or_not(written, string):
    assert is_string(items(root(f"[{written}]"))[0]) is string


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffa: b c",
        "a: b c\r\nd: e",
        "é: 😀\na: b c",
        "--- \na: b c",
        "a: &x b c",
        "a: !!str b c",
        "a: 'b c'",
        'a: "b c"',
        "a: >\n  b\n  c\n",
        "a: |2-\n   b c\n",
        "a: b\n  c\n",
        'a: "b\\\n  \\ c"',
        "{a: b c}",
        "a: >- # why\n  b\n  c\n",
    ],
)
def test_a_leaf_is_changed_in_place_in_every_style(text):
    node = at_pointer(root(text), "/a")
    start = node.value.index("c")
    changed = apply_splices(text, [inside(text, node, start, start + 1, "X")])
    assert value_at(changed, "/a") == node.value.replace("c", "X")
    assert changed.replace("X", "c") == text
    longer = apply_splices(text, [inside(text, node, start + 1, start + 1, " more")])
    assert value_at(longer, "/a") == node.value.replace("c", "c more")


@given(TEXT, st.sampled_from(["'", '"', "|", ">", None]), st.integers(2, 60), st.data())
def test_one_character_of_any_leaf_can_be_changed_alone(value, style, width, data):
    text = yaml.dump({"a": value}, default_style=style, width=width, allow_unicode=data.draw(st.booleans()))
    node = at_pointer(root(text), "/a")
    assume(isinstance(node, ScalarNode) and node.value.strip())
    index = data.draw(st.sampled_from([i for i, character in enumerate(node.value) if not character.isspace()]))
    try:
        changed = apply_splices(text, [inside(text, node, index, index + 1, "X")])
        read = value_at(changed, "/a")
    except OomedicError:
        return
    if style != ">":  # a folded leaf may fold another way when its last line changes
        assert read == node.value[:index] + "X" + node.value[index + 1 :]


@pytest.mark.parametrize(
    ("text", "new", "expected"),
    [
        ("a:\n  - x\n  - y # why\nb: 1\n", ["--z"], "a:\n  - x\n  - y # why\n  - --z\nb: 1\n"),
        ("a:\n- x\n- y", ["--z", "1"], 'a:\n- x\n- y\n- --z\n- "1"'),
        ("a:\r\n  - x\r\nb: 1\r\n", ["--z"], "a:\r\n  - x\r\n  - --z\r\nb: 1\r\n"),
        ("a: [x, y]\n", ["--z", "1"], 'a: [x, y, --z, "1"]\n'),
        ("a: ['x']\n", ["--z", "1"], "a: ['x', '--z', '1']\n"),
        ('a: [\n  "x",\n  "y"\n]\n', ["--z"], 'a: [\n  "x",\n  "y",\n  "--z"\n]\n'),
        ("a:\n  -   x\n", ["--z"], "a:\n  -   x\n  -   --z\n"),
        ("a:\n  - x\n  - |\n    y\n    z\nb: 1\n", ["--z"], "a:\n  - x\n  - |\n    y\n    z\n  - --z\nb: 1\n"),
        ("a:\n  - x\n", ['--z={"y": 1}'], "a:\n  - x\n  - '--z={\"y\": 1}'\n"),
        ('{"a": ["x", "y"]}', ["--z"], '{"a": ["x", "y", "--z"]}'),
    ],
)
def test_items_are_added_in_the_style_of_the_list(text, new, expected):
    sequence = at_pointer(root(text), "/a")
    changed = apply_splices(text, [appended(text, sequence, new)])
    assert changed == expected
    assert [text_of(item) for item in items(at_pointer(root(changed), "/a"))][-len(new) :] == new


@pytest.mark.parametrize(
    ("text", "first", "last", "expected"),
    [
        ("a:\n  - x\n  - y # why\n  - z\n", 1, 1, "a:\n  - x\n  - z\n"),
        ("a:\n  - x\n  - y\n  - z\n", 1, 2, "a:\n  - x\n"),
        ("a:\n  - x\n  - y\n", 0, 0, "a:\n  - y\n"),
        ("a:\n  - x\n  - y\n  # stays\n  - z", 1, 2, "a:\n  - x\n  # stays"),
        ("- x\n- y\n", 0, 0, "- y\n"),
        ("a: [x, y, z]\n", 1, 2, "a: [x]\n"),
        ("a: [x, y, z]\n", 0, 0, "a: [y, z]\n"),
        ("a:\r\n  - x\r\n  - y\r\n", 1, 1, "a:\r\n  - x\r\n"),
    ],
)
def test_items_are_removed_with_their_lines(text, first, last, expected):
    sequence = at_pointer(root(text), "/a" if text[0] == "a" else "")
    assert apply_splices(text, removed(text, sequence, first, last)) == expected


@given(st.text(st.sampled_from("ab:-[]{}&*!|>'\"\\ \t\r\n#%@,?<0"), max_size=40))
def test_no_text_makes_it_fail_with_anything_but_its_own_error(text):
    try:
        file = compose(text, "f.yaml")
    except OomedicError:
        return
    for document in file.documents:
        if isinstance(document, MappingNode):
            fields(document)


def test_lines_and_columns_count_from_one():
    assert line_and_column("a\nbc", 3) == (2, 2)
