"""The command line of a container: ``command`` and ``args`` as one argument vector, each word with its place.

Kubernetes replaces ``$(VAR)`` by values of the environment before anything runs; a shell, if there is one, expands the
rest. A program that is a file of a ConfigMap in the same manifest is read there.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from oomedic.arguments.given import relevant_environment
from oomedic.arguments.shell_words import Variable, Word
from oomedic.workloads.config_file import MountedFile, mounted_file
from oomedic.workloads.engine_kinds import Running, engine_of_command
from oomedic.workloads.source import Source
from oomedic.workloads.variables import REFERENCE, expanded, read_environment
from oomedic.yamldoc.nodes import Node, ScalarNode, get, items
from oomedic.yamldoc.rendered import dashed, flags, listed

_SHELL: Final = re.compile(r"(?:\S*/)?(?:ba|da|a|z|k)?sh")
_OPTION_C: Final = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*")
_CONFIG: Final = "--config"
_SCRIPT: Final = re.compile(r"/[^\s:=]+")
_ALONE: Final = re.compile(r"(\"?)\$(?:\{(\w+)(?::?[-=][^{}]*)?\}|(\w+)|\((\w+)\))\1")
_NESTED: Final = 3
"""So many programs inside programs are read: ``sh -c``, a script of a ConfigMap, what that hands to another shell."""


class CommandLine(NamedTuple):
    """What a container starts.

    Attributes:
        words: the argument vector, or the statement of the shell program that starts the engine.
        running: the engine that it starts, if it shows.
        places: the leaf in which the words of each origin (``args/0``, ``env/NAME``, ``file/NAME/KEY``) are written.
        environment: the variables that can matter to the engine, without secrets.
        replaced: whether the container has a command of its own in place of the image's.
        program: the origin of the shell program that the words are a statement of, if there is one.
        variables: everything that the container's environment says, for programs that are not read.
        text: everything that may mention a variable: command, arguments, other variables, and the program.
        background: whether the statement is left running behind, so that the container outlives the engine.
    """

    words: tuple[Word, ...]
    running: Running | None
    places: dict[str, ScalarNode]
    environment: Mapping[str, str]
    replaced: bool
    program: str | None = None
    variables: Mapping[str, Variable] = {}
    text: str = ""
    background: bool = False

    @property
    def arguments(self) -> tuple[Word, ...]:
        """The engine's arguments: all words where the image brings the program."""
        program = self.running.program if self.running else None
        return self.words[program.first if program else 0 :]


def read_command(container: Node, pod: Node | None, source: Source) -> CommandLine:
    """Read the command line of a container of a pod."""
    variables, places = read_environment(container, source)
    leaves = {f"env/{name}": leaf for name, leaf in places.items()}
    words = [
        word
        for field in ("command", "args")
        for word in _words(get(container, field), field, variables, leaves, source)
    ]
    literal = {name: variable.text for name, variable in variables.items() if variable.text is not None}
    has_command = bool(items(get(container, "command")))
    plain = CommandLine(
        tuple(words),
        engine_of_command(tuple(words)),
        leaves,
        relevant_environment(literal),
        has_command,
        variables=variables,
        text="\n".join(leaf.value for leaf in leaves.values()),
    )
    program = None if plain.running else _program(words)
    script = _script(words[program], leaves) if program is not None else None
    opener = _Opener(container, pod, source, variables, leaves)
    found = (
        None if plain.running else opener.read(script, words[(program or 0) + 1 :]) if script else opener.files(words)
    )
    if found is not None and found.running is not None:
        plain = plain._replace(
            words=found.words,
            running=found.running,
            environment=relevant_environment({**literal, **found.assigned}),
            program=found.origin,
            background=found.background,
        )
    text = plain.text if found is None else f"{plain.text}\n{found.text}"
    return _with_config_file(plain._replace(text=text), opener)


def _with_config_file(command: CommandLine, opener: "_Opener") -> CommandLine:
    """Put the keys of a ``--config`` file behind the positional model, where everything else wins over them."""
    arguments = command.arguments
    for index, word in enumerate(arguments):
        flag, has_value, value = word.text.partition("=")
        if flag != _CONFIG or (not has_value and index + 1 == len(arguments)):
            continue
        file = mounted_file(value if has_value else arguments[index + 1].text, *opener.around)
        root = opener.source.open(file.leaf) if file else None
        if file is None or root is None:
            return command
        words = _words(listed(flags(root, dashed)), "config", {}, command.places, opener.source)
        words = [each._replace(where=file.where) for each in words]
        first = len(command.words) - len(arguments) + (not arguments[0].text.startswith("-"))
        return command._replace(words=(*command.words[:first], *words, *command.words[first:]))
    return command


def place_of(command: CommandLine, word: Word, glued: int) -> ScalarNode | None:
    """Return the leaf to change for the value of a word: a variable's own, where the value is that variable alone.

    ``glued`` is how many characters of the word stand before its value (``--flag=``).
    """
    place = command.places.get(word.origin)
    if place is None or word.span is None or not glued:
        return place
    written = place.value[word.span[0] + glued : word.span[1]]
    reference = _ALONE.fullmatch(written)
    name = reference and (reference[2] or reference[3] or reference[4])
    behind = command.places.get(f"env/{name}")
    return behind if behind and behind.value == word.text[glued:] else place


class _Found(NamedTuple):
    """The statement that starts an engine, or the last program that was looked through."""

    words: tuple[Word, ...]
    running: Running | None
    assigned: Mapping[str, str]
    origin: str
    text: str
    background: bool = False


class _Script(NamedTuple):
    """A shell program: its text, where it is written, and what a person is told about the place."""

    variable: Variable
    where: str
    carrier: str


class _Opener:
    """Looks through programs, and through the programs that these start."""

    def __init__(
        self,
        container: Node,
        pod: Node | None,
        source: Source,
        variables: Mapping[str, Variable],
        leaves: dict[str, ScalarNode],
    ) -> None:
        self.around = (container, pod, source)
        self.source = source
        self.variables = variables
        self.leaves = leaves

    def files(self, words: Sequence[Word]) -> _Found | None:
        """Look into the first word that is a script of a ConfigMap; what follows it are its parameters."""
        for index, word in enumerate(words):
            script = self._file(word.text)
            if script is not None:
                return self.read(script, words[index + 1 :])
        return None

    def read(self, script: _Script, positional: Sequence[Word]) -> _Found:
        """Find the statement that starts the engine, in the program or in a program inside it."""
        from oomedic.arguments.shell import read_script  # only where a shell starts the engine

        variables: Mapping[str, Variable] = self.variables
        found = _Found((), None, {}, script.variable.origin, script.variable.text or "")
        behind = False
        for _ in range(_NESTED):
            nested: tuple[_Script, Sequence[Word]] | None = None
            text = script.variable.text or ""
            for statement in read_script(text, variables, positional):
                words = tuple(_placed(part, script) for part in statement.words)
                running = engine_of_command(words)
                left = behind or statement.background
                found = _Found(words, running, statement.environment, script.variable.origin, text, left)
                if running:
                    return found
                inner = self._nested(statement.words, script)
                if inner is not None:
                    nested, behind = inner, behind or statement.background
            if nested is None:
                break
            script, positional = nested
        return found

    def _nested(self, words: Sequence[Word], script: _Script) -> tuple[_Script, Sequence[Word]] | None:
        """Return the program that a statement starts: a word that holds an engine's command, or a mounted script."""
        for index, word in enumerate(words):
            if _holds_engine(word) or (" " in word.text and _is_program(words, index)):
                text = script.variable.text or ""
                start = word.inner(text) if not word.origin else None
                known = None if start is None or script.variable.start is None else script.variable.start + start
                inner = Variable(word.text, script.variable.origin, known)
                return script._replace(variable=inner), words[index + 1 :]
            opened = self._file(word.text)
            if opened is not None:
                return opened, words[index + 1 :]
        return None

    def _file(self, path: str) -> _Script | None:
        if not _SCRIPT.fullmatch(path):
            return None
        file = mounted_file(path, *self.around)
        if file is None or not _is_shell(file):
            return None
        origin = f"file/{file.config_map.name}/{file.key}"
        self.leaves[origin] = file.leaf
        return _Script(Variable(file.leaf.value, origin, 0), file.where, origin)


def _script(word: Word, leaves: Mapping[str, ScalarNode]) -> _Script:
    """Return the program behind ``sh -c``: its text as it is written, where it is a leaf by itself."""
    leaf = leaves.get(word.origin)
    whole = leaf is not None and word.origin == word.carrier
    text = leaf.value if whole and leaf is not None else word.text
    return _Script(Variable(text, word.origin, 0), word.where, word.carrier)


def _words(
    node: Node | None, field: str, variables: Mapping[str, Variable], leaves: dict[str, ScalarNode], source: Source
) -> list[Word]:
    words: list[Word] = []
    written = source.spot(node) is not None
    for index, item in enumerate(items(node)):
        origin = f"{field}/{index}"
        where = f"{field}[{index}]" if written else _where(item, source) or f"{field}[{index}]"
        if not isinstance(item, ScalarNode):
            words.append(Word("", unknown=(where,), where=where, carrier=origin))
            continue
        leaves[origin] = item
        words.append(_word(item, origin, variables)._replace(where=where, carrier=origin))
    return words


def _where(item: Node, source: Source) -> str | None:
    """Say where a word comes from that a chart or a controller puts together."""
    spot = source.spot(item)
    if spot is None:
        return None
    steps = [step.replace("~1", "/").replace("~0", "~") for step in spot.pointer.split("/")[1:]]
    path = "".join(f"[{step}]" if step.isdecimal() else f".{step}" for step in steps).removeprefix(".")
    return f"{path} {spot.inner}" if spot.inner else path


def _word(item: ScalarNode, origin: str, variables: Mapping[str, Variable]) -> Word:
    text = item.value
    lone = REFERENCE.fullmatch(text)
    variable = variables.get(lone[1]) if lone and lone[1] else None
    if variable is not None and variable.text is not None:
        return variable.word(0, len(variable.text))
    known = expanded(text, variables)
    if known is None:
        names = (match[1] for match in REFERENCE.finditer(text) if match[1])
        unknown = tuple(name for name in names if name in variables and variables[name].text is None)
        return Word(REFERENCE.sub("", text), (0, len(text)), origin, unknown=unknown or ("…",))
    return Word(known, (0, len(text)), origin)


def _program(words: Sequence[Word]) -> int | None:
    """Return which word is a shell program: the one behind ``sh -c``, or one that holds a whole command line."""
    for index, word in enumerate(words):
        if _SHELL.fullmatch(word.text):
            for option in range(index + 1, min(index + 6, len(words) - 1)):
                if _OPTION_C.fullmatch(words[option].text):
                    others = (at for at in range(option + 1, len(words)) if not words[at].text.startswith("-"))
                    return next(others, None)
    return 0 if words and len(words[0].text.split()) > 1 else None


def _holds_engine(word: Word) -> bool:
    return " " in word.text and any(sign in word.text for sign in ("vllm serve", "vllm.entrypoints", "dynamo.vllm"))


def _is_program(words: Sequence[Word], index: int) -> bool:
    """Tell whether a word stands behind ``sh -c``."""
    return (
        index > 1
        and _OPTION_C.fullmatch(words[index - 1].text) is not None
        and any(_SHELL.fullmatch(word.text) for word in words[: index - 1])
    )


def _is_shell(file: MountedFile) -> bool:
    """Tell a shell program from another file by its name or its first line."""
    first = file.leaf.value.lstrip().partition("\n")[0]
    return first.endswith("sh") if first.startswith("#!") else file.key.endswith(("sh", "entrypoint"))


def _placed(word: Word, script: _Script) -> Word:
    """Give a word of the program the program's place; words of variables and of the list keep their own."""
    word = word._replace(where=script.where, carrier=script.carrier, reference=script.variable.shifted(word.reference))
    return word if word.origin else script.variable.moved(word)
