"""From options to the question that the pipeline answers, for the commands that ask it."""

from typing import TYPE_CHECKING

from oomedic import __version__
from oomedic.arguments.reader import EngineArgs, Given, merge, read_argv, relevant_environment, words_of
from oomedic.catalogue import Catalogue
from oomedic.errors import UsageError
from oomedic.figure import Figure, exactly
from oomedic.gathering.gather import EngineOptions
from oomedic.models.checkpoint import Checkpoint
from oomedic.question import Library
from oomedic.units import MIB, parse_size
from oomedic.version import parse_version

if TYPE_CHECKING:
    from argparse import Namespace


def engine_options(options: "Namespace") -> EngineOptions:
    """Return what the user says of the engine.

    Raises:
        UsageError: ``size-unreadable``, ``size-too-small``, ``version-unreadable`` or ``option-unreadable``.
    """
    if options.vllm and any(parse_version(version) is None for version in options.vllm.split(",")):
        raise UsageError("version-unreadable", text=options.vllm)
    if options.gpu_count is not None and options.gpu_count < 1:
        raise UsageError(
            "option-unreadable", option="--gpu-count", text=str(options.gpu_count), command=options.command
        )
    return EngineOptions(
        gpu=options.gpu,
        gpu_count=options.gpu_count,
        gpu_memory=_size(options.gpu_memory, "--gpu-memory"),
        vllm=options.vllm,
        weights=_size(options.weights, "--weights"),
        kv_cache_memory=_size(options.kv_cache_memory, "--kv-cache-memory"),
    )


def engine_args(options: "Namespace", catalogue: Catalogue) -> EngineArgs:
    """Return the command line after ``--`` with the variables of --env and the model of --model."""
    given = read_argv(words_of(*options.engine), catalogue.arguments)
    named: dict[str, Given] = {}
    if options.model and not _is_path(options.model):
        named["model"] = Given(options.model, "--model", "--model")
    return merge(given, EngineArgs(named, relevant_environment(dict(map(_variable, options.env)))))


def given_checkpoint(options: "Namespace") -> Checkpoint | None:
    """Return the model whose folder or config.json the user gave, None when it is named or not given.

    Raises:
        InputError: when the config cannot be read.
    """
    if not options.model or not _is_path(options.model):
        return None
    from oomedic.sources.files import read_checkpoint  # only where a path is given

    return read_checkpoint(options.model)


def library(options: "Namespace", catalogue: Catalogue) -> Library:
    """Return the facts, and the hub unless the user works offline."""
    return Library(catalogue, __version__, None if options.offline else LazyHub())


class LazyHub:
    """The hub, loaded when a model is asked for that no catalogue knows."""

    trouble = "model-unknown"

    def checkpoint(self, model: str, /) -> Checkpoint | None:
        """Return the model from the hub, None when it cannot be had."""
        from oomedic.sources.hub import from_environment  # see the class

        hub = from_environment()
        found = hub.checkpoint(model)
        self.trouble = hub.trouble
        return found


def _is_path(model: str) -> bool:
    """Tell a path from an id: it is absolute, relative with a dot, or names a file that is there."""
    from os.path import exists  # only where a model is given

    return model.startswith(("/", "./", "../", "~")) or model.endswith(".json") or exists(model)


def _size(text: str | None, where: str) -> Figure | None:
    """Read a size; nobody means 24 bytes, or nothing, by the memory of a GPU."""
    if text is None:
        return None
    size = parse_size(text)
    if size < MIB:
        raise UsageError("size-too-small", option=where, text=text, size=size)
    return exactly(size, "assumed", where)


def _variable(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise UsageError("variable-unreadable", text=text)
    return name, value
