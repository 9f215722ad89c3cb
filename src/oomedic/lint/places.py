"""Where in the files a finding belongs: the argument or the field that causes it."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from oomedic.arguments.given import Given
from oomedic.arguments.shell_words import Word
from oomedic.arguments.words import Occurrence, find_occurrence
from oomedic.claim import Claim
from oomedic.finding import Finding
from oomedic.lint.verdict import Place
from oomedic.planning.plan import Offer
from oomedic.slip import Sighting
from oomedic.workloads.atlas import Layer
from oomedic.workloads.reading import Reading
from oomedic.yamldoc.nodes import MappingNode, Node, ScalarNode, at_pointer, get, items, text_of

_SHARE: Final = ("gpu_memory_utilization",)
_BATCH: Final = ("max_num_batched_tokens", "max_num_seqs", "max_model_len")
_SPLIT: Final = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
ARGUMENTS: Final[Mapping[str, Sequence[str]]] = {
    **dict.fromkeys(("OOM101", "OOM102", "OOM103", "OOM402", "OOM404"), (*_SHARE, "max_model_len")),
    **dict.fromkeys(("OOM201", "OOM202", "OOM203"), ("model", "quantization", "tensor_parallel_size")),
    "OOM301": _BATCH,
    "OOM302": ("limit_mm_per_prompt", *_BATCH),
    "OOM303": ("max_num_seqs",),
    "OOM401": ("max_model_len", *_SHARE),
    "OOM403": ("max_num_seqs", "max_model_len"),
    "OOM501": ("cuda_graph_sizes", "compilation_config", *_SHARE),
    "OOM502": ("max_num_seqs", *_SHARE),
    "HOST102": _SPLIT,
    "HOST104": ("swap_space",),
    "CFG101": _SPLIT,
    "CFG102": _SPLIT,
    "CFG104": ("dtype", "quantization", "kv_cache_dtype", "model"),
    "CFG105": ("max_model_len",),
    "CFG108": _SPLIT,
    "CFG116": _BATCH,
}
"""The arguments that decide, by the code of a finding; the first that is given is shown."""
FIELDS: Final[Mapping[str, Sequence[str]]] = {
    "HOST101": ("resources/limits/memory",),
    "POD101": ("startupProbe", "livenessProbe"),
}
"""Fields of the container, by the code of a finding; the first that is there is shown."""
_OBJECTS: Final[Mapping[str, Sequence[str]]] = {
    "POD105": ("/spec/strategy", "/spec/updateStrategy", "/spec/deploymentStrategy", "/spec/replicas"),
}
_SHM: Final = "/dev/shm"  # noqa: S108 - the name of a mount


class Lines:
    """Turns offsets of one text into lines and columns."""

    def __init__(self, text: str) -> None:
        """Find where the lines of a text begin."""
        self._starts = [0]
        at = text.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = text.find("\n", at + 1)

    def at(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset, counted from one."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


class Places:
    """Finds places in some files."""

    def __init__(self) -> None:
        """Start without any file."""
        self._lines: dict[int, tuple[str, Lines]] = {}

    def of_finding(self, finding: Finding, reading: Reading, offer: Offer | None) -> Place:
        """Return what causes a finding: what it says itself, else what is known of its code, else what would change."""
        for place in self._suspects(finding, reading, offer):
            if place is not None:
                return place
        return self.of_engine(reading)

    def of_sighting(self, sighting: Sighting, reading: Reading) -> Place | None:
        """Return the place of what a slip is about; None for an argument that nobody wrote, as a controller's own."""
        about = sighting.about
        if isinstance(about, Given):
            return self._of_given(about, reading, about.spelling)
        place = self._of_name(about, reading) if about else self._of_said(sighting.said, (), reading)
        return place or self.of_engine(reading)

    def of_engine(self, reading: Reading) -> Place:
        """Return the place of an engine: its image, its container, or the name of its object."""
        found = reading.found
        for node in (get(reading.container, "image"), get(reading.container, "name"), reading.container):
            place = self._of_node(node, reading, "image")
            if place is not None:
                return place
        model = reading.workload.arguments.given.get("model")
        written = self._of_given(model, reading, "model") if model else None
        name = self._of_node(found.at("/metadata/name") if found else None, reading, "name")
        if written is not None or name is not None:
            return written or name  # type: ignore[return-value]  # one of them is there
        path = reading.source.file.path
        if found is None or found.node.start < 0:
            return Place(path, 1, 1, 1, 1)
        return self.of_range(found.file.path, found.file.text, (found.node.start, found.node.start), "")

    def of_range(self, path: str, text: str, span: tuple[int, int], what: str) -> Place:
        """Return the place of a range of a file's text."""
        known = self._lines.get(id(text))
        if known is None:
            known = self._lines[id(text)] = (text, Lines(text))  # the text is kept, so that its id stays its own
        lines = known[1]
        return Place(path, *lines.at(span[0]), *lines.at(max(span)), what)

    def _suspects(self, finding: Finding, reading: Reading, offer: Offer | None) -> Iterator[Place | None]:
        code, usual = finding.code, ARGUMENTS.get(finding.code, ())
        if finding.because:
            yield self._of_said(finding.because[0], usual, reading)
        for name in FIELDS.get(code, ()):
            yield self._of_node(at_pointer(reading.container, f"/{name}"), reading, name)
        for pointer in _OBJECTS.get(code, ()):
            yield self._of_node(reading.found.at(pointer) if reading.found else None, reading, pointer)
        if code == "HOST102":
            yield self._of_node(_shm(reading), reading, _SHM)
        changed = tuple(change.target for change in offer.changes) if offer else ()
        for name in (*usual, *changed, "model"):
            given = reading.workload.arguments.given.get(name)
            if given is not None:
                yield self._of_given(given, reading, name)

    def _of_said(self, said: Claim, usual: Sequence[str], reading: Reading) -> Place | None:
        """Return the words that a sentence is about: by the flag or the argument that it names, or where it points."""
        flags = said.parameters.get("flags") or said.parameters.get("flag")
        for flag in flags if isinstance(flags, tuple) else (flags,) if flags else ():
            found = self._of_word(str(flag), said.where, reading)
            if found is not None:
                return found
        given = reading.workload.arguments.given
        named = said.parameters.get("argument")
        here = [name for name, each in given.items() if said.where and each.where == said.where]
        for name in (*((named,) if isinstance(named, str) else ()), *(name for name in usual if name in here)):
            if name in given:
                return self._of_given(given[name], reading, name)
        if len(here) == 1:
            return self._of_given(given[here[0]], reading, here[0])
        return self._of_word("", said.where, reading) if said.where and not here else None

    def _of_word(self, flag: str, where: str, reading: Reading) -> Place | None:
        """Return a word by its flag, by where it stands, or by both."""
        for word in reading.command.arguments:
            if word.text.startswith(flag) and (not where or word.where == where):
                return self._of_leaf(reading.command.places.get(word.origin), reading, word.text, flag or where)
        return None

    def _of_given(self, given: Given, reading: Reading, name: str) -> Place | None:
        """Return the words that gave an argument."""
        command = reading.command
        if given.where.startswith("env "):
            return self._of_node(command.places.get(f"env/{given.spelling}"), reading, name)
        found = _occurrence(command.arguments, given)
        if found is None:
            return None
        ends = (command.arguments[found.first], command.arguments[found.last])
        first, last = (self._of_leaf(command.places.get(word.origin), reading, word.text, name) for word in ends)
        if first is None or last is None:
            return first or last
        if first.path != last.path:
            return last  # an overlay gives the value to a flag of its base
        behind = (first.line, first.column) <= (last.line, last.column)
        return first._replace(end_line=last.end_line, end_column=last.end_column) if behind else first

    def _of_name(self, name: str, reading: Reading) -> Place | None:
        """Return a variable, a resource or a field of container, pod or object, by its name."""
        if name.startswith("env/"):
            return self._of_node(reading.command.places.get(name), reading, name)
        limits = (get(reading.container, "resources", field, name) for field in ("limits", "requests"))
        field = None if reading.found is None else reading.found.at("/" + name.replace(".", "/"))
        for node in (*limits, at_pointer(reading.container, f"/{name}"), at_pointer(reading.pod, f"/{name}"), field):
            place = self._of_node(node, reading, name)
            if place is not None:
                return place
        path = reading.workload.edit_paths.get(name)
        if path is None or path.span is None or path.file != reading.source.file.path:
            return None
        return self.of_range(path.file, reading.source.file.text, path.span, name)

    def _of_leaf(self, leaf: Node | None, reading: Reading, word: str, what: str) -> Place | None:
        """Return a word within its leaf, or the leaf as a whole where the word is not found in it letter by letter."""
        place = self._of_node(leaf, reading, what)
        spot = reading.source.spot(leaf)
        if place is None or spot is None or spot.layer.outer is not None or not isinstance(leaf, ScalarNode):
            return place
        text = spot.layer.file.text
        at = text.rfind(word, leaf.start, leaf.end) if word else -1
        return place if at < 0 else self.of_range(place.path, text, (at, at + len(word)), what)

    def _of_node(self, node: Node | None, reading: Reading, what: str) -> Place | None:
        """Return where a node is written."""
        while isinstance(node, ScalarNode) and node.made_from is not None:
            node = node.made_from
        spot = reading.source.spot(node)
        if node is None or spot is None:
            return None
        end = min(node.end, node.start + 1) if isinstance(node, MappingNode) else node.end
        layer, span = spot.layer, (node.start, end)
        while layer.outer is not None and layer.holder is not None:
            span = _in_holder(layer, span)
            layer = layer.outer
        text = layer.file.text
        start, end = span
        return self.of_range(layer.file.path, text, (start, start + len(text[start:end].rstrip())), what)


def _in_holder(layer: Layer, span: tuple[int, int]) -> tuple[int, int]:
    """Return a range of a text within the text that holds it; all of the holder where its lines are not kept."""
    holder, outer = layer.holder, layer.outer
    if holder is None or outer is None:
        return span
    written, inner = outer.file.text, layer.file.text
    first = written.find("\n", holder.start, holder.end) + 1
    if holder.style != "|" or not first:
        return holder.start, holder.end
    row, column = inner.count("\n", 0, span[0]), span[0] - (inner.rfind("\n", 0, span[0]) + 1)
    body = written[first : holder.end]
    indent = len(body) - len(body.lstrip(" "))
    for _ in range(row):
        first = written.find("\n", first) + 1
    start = first + indent + column
    end = start + min(span[1], inner.find("\n", span[0]) % (len(inner) + 1)) - span[0]
    return (start, end) if start < holder.end else (holder.start, holder.end)


def _occurrence(words: Sequence[Word], given: Given) -> Occurrence | None:
    """Return the words that gave a value; of several with the same flag the one that stands where it was read."""
    last = find_occurrence(words, given)
    if last is None or last.flag is None or words[last.first].where == given.where:
        return last
    flags = (given.spelling, f"{given.spelling}=")
    for index in range(last.first - 1, -1, -1):
        if words[index].where == given.where and (
            words[index].text == flags[0] or words[index].text.startswith(flags[1])
        ):
            return find_occurrence(words[: index + 2], given)
    return last


def _shm(reading: Reading) -> Node | None:
    """Return the volume that is mounted at /dev/shm."""
    for mount in items(get(reading.container, "volumeMounts")):
        if (text_of(get(mount, "mountPath")) or "").rstrip("/") == _SHM:
            name = text_of(get(mount, "name"))
            volumes = items(get(reading.pod, "volumes"))
            volume = next((each for each in volumes if text_of(get(each, "name")) == name), None)
            return get(volume, "emptyDir", "sizeLimit") or mount
    return None
