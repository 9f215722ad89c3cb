"""Writing down an argument that is not given yet, in the place that its shape has for such additions."""

import re
from typing import Any, Final

from oomedic.arguments.given import Value
from oomedic.edits.change import Change
from oomedic.edits.words import Line, appended_items, thawed, written_value
from oomedic.workloads.home import Home
from oomedic.yamldoc.insert import events_of, flow, item_added, pair_added
from oomedic.yamldoc.nodes import MappingNode, ScalarNode, SequenceNode
from oomedic.yamldoc.splice import Splice, inside, refused, requoted

_SAFE: Final = re.compile(r"[\w./:=,+@%-]+")
_CONTAINER: Final = "main"
"""The name of the engine's container in the one shape that may have to write it down first (LLMInferenceService)."""


def added(line: Line, home: Home, argument: str, value: Value, *, joined: bool) -> tuple[Change, ...]:
    """Return the changes that add an argument, best first: a text may be read with its quotes or without.

    Args:
        line: the command line as it is.
        home: where additions go.
        argument: vLLM's name of it.
        value: True and False for a flag.
        joined: whether arguments are written as one word, ``--flag=value``.
    """
    if home.way == "fields":
        return (_field(line, home, argument, value),)
    words = flag_words(argument, value, joined=joined)
    if home.way == "list":
        return (_listed(line, home, words),)
    texts = dict.fromkeys((" ".join(map(_in_shell, words)), " ".join(words)))
    return tuple((_text if home.way == "text" else _variable)(line, home, text) for text in texts)


def flag_words(argument: str, value: Value, *, joined: bool) -> list[str]:
    """Return an argument as words of a command line.

    >>> flag_words("max_model_len", 8192, joined=True), flag_words("enforce_eager", False, joined=False)
    (['--max-model-len=8192'], ['--no-enforce-eager'])
    """
    name = argument.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    text = written_value(value)
    return [f"--{name}={text}"] if joined else [f"--{name}", text]


def _listed(line: Line, home: Home, words: list[str]) -> Change:
    if home.keys:
        return _pair(line, home, words)
    sequence = home.node
    if not isinstance(sequence, SequenceNode):
        raise refused("written-elsewhere")
    if sequence.items and isinstance(sequence.items[-1], ScalarNode):
        return appended_items(line, sequence, words, ())._replace(words=None)
    spot = line.spot(sequence)
    text = ", ".join(map(flow, words))
    splice = item_added(spot.layer.file.text, sequence, words[0])._replace(text=text)
    return Change(spot, sequence, (splice,), added=(sequence.last, tuple(("ScalarEvent", word) for word in words)))


def _field(line: Line, home: Home, argument: str, value: Value) -> Change:
    key = home.key(argument)
    content: Any = thawed(value)
    if home.spelling == "camel":
        # a chart writes --flag VALUE: a switch has none, and a number keeps its form as a text
        if isinstance(value, bool):
            key, content = (key, "") if value else (f"no{key[0].upper()}{key[1:]}", "")
        else:
            content = written_value(value)
    elif home.spelling == "flag":
        content = str(value).lower() if isinstance(value, bool) else written_value(value)
    return _pair(line, home._replace(keys=(*home.keys, key)), content)


def _variable(line: Line, home: Home, text: str) -> Change:
    entry = {"name": home.name, "value": text}
    if home.keys[-1:] == ("containers",):
        return _pair(line, home, [{"name": _CONTAINER, "env": [entry]}])
    if home.keys:
        return _pair(line, home, [entry])
    sequence = home.node
    if not isinstance(sequence, SequenceNode):
        raise refused("written-elsewhere")
    spot = line.spot(sequence)
    splice = item_added(spot.layer.file.text, sequence, entry)
    return Change(spot, sequence, (splice,), added=(sequence.last, events_of(entry)))


def _pair(line: Line, home: Home, value: Any) -> Change:
    """Add a value under keys that are missing below a mapping."""
    mapping = home.node
    if not isinstance(mapping, MappingNode):
        raise refused("written-elsewhere")
    first, *others = home.keys
    for number, key in enumerate(reversed(others), start=1):
        value = {**(home.beside if number == len(others) else {}), key: value}
    spot = line.spot(mapping)
    splice = pair_added(spot.layer.file.text, mapping, first, value)
    empty = next((node for key, node in mapping.pairs if isinstance(key, ScalarNode) and key.value == first), None)
    if isinstance(empty, ScalarNode):
        there = range(empty.event, empty.event + 1)
        return Change(spot, mapping, (splice,), added=(empty.event, events_of(value)), removed=there)
    return Change(spot, mapping, (splice,), added=(mapping.last, (("ScalarEvent", first), *events_of(value))))


def _text(line: Line, home: Home, new: str) -> Change:
    """Add words behind those that a leaf holds."""
    leaf = home.node
    if not isinstance(leaf, ScalarNode):
        raise refused("written-elsewhere")
    spot = line.spot(leaf)
    end = len(leaf.value.rstrip())
    if not end:
        value = new
        splice: Splice = requoted(spot.layer.file.text, leaf, new)
    else:
        value = f"{leaf.value[:end]} {new}{leaf.value[end:]}"
        splice = inside(spot.layer.file.text, leaf, end, end, f" {new}")
    return Change(spot, leaf, (splice,), values={leaf.event: value})


def _in_shell(word: str) -> str:
    if _SAFE.fullmatch(word):
        return word
    if "'" in word:
        raise refused("quoting")
    return f"'{word}'"
