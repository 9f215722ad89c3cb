"""The command line of a container: ``command`` and ``args`` as one argument vector, each word with its place.

Kubernetes replaces ``$(VAR)`` by literal environment values before anything runs; a shell, if there is one, expands the
rest. Values that come from Secrets, ConfigMaps or fields are never read: they are known to exist, no more.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from oomedic.engine_kinds import Running, engine_of_command
from oomedic.given import relevant_environment
from oomedic.redaction import is_secret_name
from oomedic.shell import read_script
from oomedic.shell_words import Variable, Word
from oomedic.yamlnodes import Node, ScalarNode, fields, get, items, pointer_token, text_of

_SHELL: Final = re.compile(r"(?:\S*/)?(?:ba|da|a|z|k)?sh")
_OPTION_C: Final = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*")
_REFERENCE: Final = re.compile(r"\$\$|\$\(([A-Za-z_][\w.-]*)\)")
_ALONE: Final = re.compile(r"(\"?)\$(?:\{(\w+)(?::?[-=][^{}]*)?\}|(\w+)|\((\w+)\))\1")
_LONGEST: Final = 2**16


class Place(NamedTuple):
    """A leaf that holds words: the leaf, its pointer in the object, and whether it is a program or one word."""

    scalar: ScalarNode
    pointer: str
    whole: bool


class CommandLine(NamedTuple):
    """What a container starts.

    Attributes:
        words: the argument vector, or the statement of the shell program that starts the engine.
        running: the engine that it starts, if it shows.
        places: where the words of each origin (``args/0``, ``env/NAME``) are written.
        environment: the variables that can matter to the engine, without secrets.
        replaced: whether the container has a command of its own in place of the image's.
        program: the origin of the shell program that the words are a statement of, if there is one.
    """

    words: tuple[Word, ...]
    running: Running | None
    places: Mapping[str, Place]
    environment: Mapping[str, str]
    replaced: bool
    program: str | None = None

    @property
    def arguments(self) -> tuple[Word, ...]:
        """The engine's arguments: all words where the image brings the program."""
        program = self.running.program if self.running else None
        return self.words[program.first if program else 0 :]


def read_command(container: Node, pointer: str) -> CommandLine:
    """Read the command line of a container that stands at ``pointer`` in its object."""
    places: dict[str, Place] = {}
    variables = _environment(get(container, "env"), f"{pointer}/env", places)
    words = [
        word
        for field in ("command", "args")
        for word in _words(get(container, field), field, f"{pointer}/{field}", (variables, places))
    ]
    literal = {name: variable.text for name, variable in variables.items() if variable.text is not None}
    has_command = bool(items(get(container, "command")))
    program = _program(words)
    if program is not None:
        found, running, assigned = _in_program(words, program, variables, places)
        if running:
            environment = relevant_environment({**literal, **assigned})
            return CommandLine(found, running, places, environment, has_command, words[program].origin)
    return CommandLine(
        tuple(words), engine_of_command(tuple(words)), places, relevant_environment(literal), has_command
    )


def place_of(command: CommandLine, word: Word, glued: int) -> Place | None:
    """Return the leaf to change for the value of a word: a variable's own, where the value is that variable alone.

    ``glued`` is how many characters of the word stand before its value (``--flag=``).
    """
    place = command.places.get(word.origin)
    if place is None or word.span is None or not glued:
        return place
    written = place.scalar.value[word.span[0] + glued : word.span[1]]
    reference = _ALONE.fullmatch(written)
    name = reference and (reference[2] or reference[3] or reference[4])
    behind = command.places.get(f"env/{name}")
    return behind if behind and behind.scalar.value == word.text[glued:] else place


def _environment(node: Node | None, pointer: str, places: dict[str, Place]) -> dict[str, Variable]:
    """Read literal values; a later entry of a name wins, and refers to those before it."""
    variables: dict[str, Variable] = {}
    for index, entry in enumerate(items(node)):
        name = text_of(get(entry, "name"))
        value = get(entry, "value")
        if name is None:
            continue
        if not isinstance(value, ScalarNode) or is_secret_name(name):
            known = isinstance(value, ScalarNode) or "valueFrom" in fields(entry)
            variables[name] = Variable(None if known else "", f"env/{name}")
            continue
        text = _expanded(value.value, variables)
        places[f"env/{name}"] = Place(value, f"{pointer}/{index}/value", whole=False)
        variables[name] = Variable(text, f"env/{name}", 0 if text == value.value else None)
    return variables


def _expanded(text: str, variables: Mapping[str, Variable]) -> str | None:
    """Replace ``$(VAR)`` as the kubelet does: what it does not know stays, ``$$`` becomes ``$``."""
    unknown = False

    def value(match: re.Match[str]) -> str:
        nonlocal unknown
        if match[1] is None:
            return "$"
        variable = variables.get(match[1])
        if variable is None:
            return match[0]
        unknown = unknown or variable.text is None
        return variable.text or ""

    found = _REFERENCE.sub(value, text)
    return None if unknown or len(found) > _LONGEST else found


def _words(
    node: Node | None, field: str, pointer: str, known: tuple[Mapping[str, Variable], dict[str, Place]]
) -> list[Word]:
    variables, places = known
    words: list[Word] = []
    for index, item in enumerate(items(node)):
        origin, where = f"{field}/{index}", f"{field}[{index}]"
        if not isinstance(item, ScalarNode):
            words.append(Word("", unknown=(where,), where=where))
            continue
        places[origin] = Place(item, f"{pointer}/{pointer_token(str(index))}", whole=True)
        words.append(_word(item.value, origin, variables)._replace(where=where))
    return words


def _word(text: str, origin: str, variables: Mapping[str, Variable]) -> Word:
    lone = _REFERENCE.fullmatch(text)
    variable = variables.get(lone[1]) if lone and lone[1] else None
    if variable is not None and variable.text is not None:
        return variable.word(0, len(variable.text))
    expanded = _expanded(text, variables)
    if expanded is None:
        names = (match[1] for match in _REFERENCE.finditer(text) if match[1])
        unknown = tuple(name for name in names if name in variables and variables[name].text is None)
        return Word(_REFERENCE.sub("", text), (0, len(text)), origin, unknown=unknown or ("…",))
    return Word(expanded, (0, len(text)), origin)


def _program(words: Sequence[Word]) -> int | None:
    """Return which word is a shell program: the one behind ``sh -c``, or one that holds a whole command line."""
    for index, word in enumerate(words):
        if _SHELL.fullmatch(word.text):
            for option in range(index + 1, min(index + 6, len(words) - 1)):
                if _OPTION_C.fullmatch(words[option].text):
                    return option + 1
    return 0 if words and len(words[0].text.split()) > 1 else None


def _in_program(
    words: Sequence[Word], program: int, variables: Mapping[str, Variable], places: Mapping[str, Place]
) -> tuple[tuple[Word, ...], Running | None, Mapping[str, str]]:
    """Find the statement that starts the engine, in the program or in a program inside it."""
    word = words[program]
    place = places.get(word.origin)
    text = place.scalar.value if place and place.whole else word.text
    script = Variable(text, word.origin, 0)
    assigned: Mapping[str, str] = {}
    for _ in range(3):
        nested: Word | None = None
        for statement in read_script(script.text or "", variables, words[program + 1 :]):
            found = tuple(_placed(part, script, word.where) for part in statement.words)
            running = engine_of_command(found)
            if running:
                return found, running, statement.environment
            assigned = statement.environment
            nested = next((part for part in statement.words if _holds_engine(part)), nested)
        if nested is None:
            break
        start = nested.inner(script.text or "") if not nested.origin else None
        known = start is not None and script.start is not None
        script = Variable(nested.text, script.origin, script.start + start if known else None)  # type: ignore[operator]  # both are known
    return tuple(words), None, assigned


def _holds_engine(word: Word) -> bool:
    return " " in word.text and ("vllm serve" in word.text or "vllm.entrypoints" in word.text)


def _placed(word: Word, script: Variable, where: str) -> Word:
    """Give a word of the program the program's place; words of variables and of the list keep their own."""
    word = word._replace(where=where, reference=script.shifted(word.reference))
    return word if word.origin else script.moved(word)
