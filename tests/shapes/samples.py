"""Readers and editors for the tests of shapes."""

from pathlib import Path

from oomedic.edits.argument import edit_files
from oomedic.edits.devices import edit_devices
from oomedic.manifest import read_manifests
from oomedic.sources.builtin import load

SAMPLES = Path(__file__).parents[1] / "manifests"
TABLE = load().arguments


def engines(text, path="f.yaml"):
    """The engines of one file."""
    return [reading.workload for reading in read_manifests({path: text}, TABLE)]


def engine(text, path="f.yaml"):
    """The only engine of a file."""
    (found,) = engines(text, path)
    return found


def given(workload):
    """What was given, by name."""
    return {name: each.value for name, each in workload.arguments.given.items()}


def edited(text, argument, value, path="f.yaml", number=0):
    """A file with one argument of one engine changed."""
    return edit_files({path: text}, engines(text, path)[number], argument, value, TABLE)[path]


def with_devices(text, number, path="f.yaml"):
    """A file with another number of devices for its first engine."""
    return edit_devices({path: text}, engines(text, path)[0], number, TABLE)[path]


def sample(name):
    """The text of a sample manifest."""
    return (SAMPLES / name).read_bytes().decode()


def messages(workload):
    """The notes of an engine, by message."""
    return [note.message for note in workload.notes]
