"""oomedic for programs: the promised functions, with texts or paths in and values out.

Nothing is printed and nothing is fetched but the config of a model that no catalogue knows (``offline`` keeps it from
that). Errors are ``oomedic.errors.OomedicError``.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from oomedic import __version__
from oomedic.arguments.reader import EngineArgs, Given, merge, read_argv, relevant_environment, words_of
from oomedic.arguments.sweep import read_sweep
from oomedic.budgeting import compute_budget
from oomedic.catalogue import Catalogue
from oomedic.figure import Figure, exactly
from oomedic.gathering.gather import EngineOptions
from oomedic.models.checkpoint import Checkpoint
from oomedic.pipeline import diagnose_crash
from oomedic.question import Library, Log, Manifest, Question
from oomedic.reports.page import as_markdown
from oomedic.result import Report
from oomedic.sources.builtin import load
from oomedic.sources.compression import decompressed
from oomedic.sources.files import open_log, read_checkpoint, read_manifest
from oomedic.sources.hub import from_environment
from oomedic.sources.languages import asked_for, page_words
from oomedic.units import parse_size

if TYPE_CHECKING:
    from oomedic.observed.reading import Beside
    from oomedic.observed.recognition import FileKind

Text = str | bytes | os.PathLike[str]
"""A text, or where it lies: a path, or a string of one line that names a file."""
Command = str | Sequence[str]
"""What the container runs: ``"vllm serve org/model --max-model-len 8192"``, or its words."""


def diagnose(
    *,
    logs: Iterable[Text] | Text = (),
    manifest: Text | None = None,
    pod: Text | None = None,
    describe: Text | None = None,
    events: Text | None = None,
    nvidia_smi: Text | None = None,
    before: Text | None = None,
    command: Command | None = None,
    gpu: str | None = None,
    vllm: str | None = None,
    model: Text | None = None,
    offline: bool = False,
) -> Report:
    """Diagnose a crash from its logs, its manifest, its command line, or all of them.

    Args:
        logs: one log or several.
        manifest: the workload's YAML.
        pod: ``kubectl get pod -o yaml`` or ``-o json``.
        describe: ``kubectl describe`` of the pod or its node.
        events: ``kubectl get events``, as a table, YAML or JSON.
        nvidia_smi: what nvidia-smi prints, or DCGM's metrics.
        before: the manifest, or a log, of how it still worked.
        command: what the container runs.
        gpu: the card's name, where neither log nor manifest tells.
        vllm: the release, likewise.
        model: a model's id, its folder or its config.json.
        offline: ask no hub.

    Raises:
        OomedicError: when an input cannot be read or a name is not known.
    """
    catalogue = load()
    given = (logs,) if isinstance(logs, str | bytes | os.PathLike) else tuple(logs)
    question = Question(
        tuple(_log(text, number) for number, text in enumerate(given, 1)),
        () if manifest is None else (_manifest(manifest),),
        _command(command, model, catalogue, {}),
        EngineOptions(gpu=gpu, vllm=vllm),
        _checkpoint(model),
        tuple(_beside({"objects": pod, "describe": describe, "events": events, "nvidia-smi": nvidia_smi})),
        None if before is None else _how_it_worked(before),
    )
    return diagnose_crash(question, _library(catalogue, offline=offline))


def budget(
    command: Command = (),
    *,
    from_log: Text | None = None,
    sweep: Mapping[str, Sequence[object]] | None = None,
    gpu: str | Sequence[str] | None = None,
    vllm: str | Sequence[str] | None = None,
    gpu_count: int | None = None,
    gpu_memory: str | int | None = None,
    weights: str | int | None = None,
    kv_cache_memory: str | int | None = None,
    model: Text | None = None,
    env: Mapping[str, str] | None = None,
    offline: bool = False,
) -> Report:
    """Compute where the memory goes, for each card, release and combination of swept values asked for.

    Args:
        command: what the container runs; with ``from_log`` only what shall be different from that run.
        from_log: the log of a run, whose printed figures hold.
        sweep: arguments by vLLM's names, each with its values: ``{"max_model_len": [4096, "32k"]}``.
        gpu: the card's name, or several.
        vllm: the release, or several.
        gpu_count: cards of the pod; default: as many as the command needs.
        gpu_memory: capacity of one card, as bytes or as text ("22.1GiB").
        weights: size of the weights over all ranks.
        kv_cache_memory: the pool of one card, taken as printed.
        model: a model's id, its folder or its config.json.
        env: the container's environment.
        offline: ask no hub.

    Raises:
        OomedicError: when a name is not known or the model cannot be had.
    """
    catalogue = load()
    options = EngineOptions(
        gpu_count=gpu_count,
        gpu_memory=_size(gpu_memory, "gpu_memory"),
        weights=_size(weights, "weights"),
        kv_cache_memory=_size(kv_cache_memory, "kv_cache_memory"),
    )
    logs = () if from_log is None else (_log(from_log, 1),)
    question = Question(logs, (), _command(command, model, catalogue, env or {}), options, _checkpoint(model))
    swept = [
        read_sweep(f"{name}={','.join(map(str, values))}", catalogue.arguments)
        for name, values in (sweep or {}).items()
    ]
    return compute_budget(question, _library(catalogue, offline=offline), _several(gpu), _several(vllm), swept)


def plan(
    model: Text,
    *,
    context: int | None = None,
    concurrency: int = 1,
    max_price: float | None = None,
    region: str | None = None,
    gpus: Sequence[str] = (),
    allow_quantized: bool = False,
    command: Command | None = None,
    vllm: str | None = None,
    offline: bool = False,
) -> Report:
    """Find the instance types that run a model, the cheapest first.

    Args:
        model: a model's id, its folder or its config.json.
        context: tokens of one request; None: as many as the model allows.
        concurrency: requests of that length at once.
        max_price: the most that an hour may cost, in US dollars.
        region: an AWS region.
        gpus: names of cards; none: all.
        allow_quantized: offer copies that change answers.
        command: engine arguments that stand.
        vllm: the release; None: the newest that is known.
        offline: ask no hub.

    Raises:
        OomedicError: when a name is not known or the model cannot be had.
    """
    from oomedic.sizing import Order, plan_instances  # only where a search is asked for

    catalogue = load()
    question = Question((), (), _command(command, model, catalogue, {}), EngineOptions(vllm=vllm), _checkpoint(model))
    order = Order(context, concurrency, max_price, region, tuple(gpus), allow_quantized)
    return plan_instances(question, _library(catalogue, offline=offline), order)


def explain(code: str, lang: str = "en") -> str:
    """Return the page of a cause or remedy as Markdown, in English where the language is not there.

    Raises:
        UnknownName: ``code-unknown``, with the ``nearest`` codes.
    """
    language = asked_for((f"--lang={lang}",), {})
    return as_markdown(load(language).page(code), page_words(language))


def _library(catalogue: Catalogue, *, offline: bool) -> Library:
    return Library(catalogue, __version__, None if offline else from_environment())


def _several(names: str | Sequence[str] | None) -> Sequence[str]:
    return () if names is None else (names,) if isinstance(names, str) else names


def _path(text: Text) -> str | None:
    """Return the path that is meant, None for the text itself."""
    if isinstance(text, os.PathLike):
        return os.fspath(text)
    return text if isinstance(text, str) and "\n" not in text and os.path.exists(text) else None


def _log(text: Text, number: int) -> Log:
    path = _path(text)
    if path is not None:
        return open_log(path)
    name = f"log {number}"
    return Log(name, decompressed([text if isinstance(text, bytes) else str(text).encode()], name))


def _manifest(text: Text) -> Manifest:
    path = _path(text)
    if path is not None:
        return read_manifest(path)
    return Manifest("manifest", text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text))


def _beside(given: "Mapping[FileKind, Text | None]") -> "Iterator[Beside]":
    """Yield what is neither log nor manifest; where its content says better what it is, that counts."""
    files = [(kind, text) for kind, text in given.items() if text is not None]
    if not files:
        return
    from oomedic.observed.reading import Beside  # only where such a text is given
    from oomedic.observed.recognition import kind_of_file

    for named, given_text in files:
        path, text = _manifest(given_text)
        kind = kind_of_file(path, text)
        yield Beside(path if path != "manifest" else named, text, named if kind in {"log", "manifest"} else kind)


def _how_it_worked(before: Text) -> Question:
    from oomedic.observed.reading import Beside  # see _beside
    from oomedic.observed.recognition import kind_of_file

    path, text = _manifest(before)
    kind = kind_of_file(path, text)
    if kind == "log":
        return Question((_log(before, 1),))
    return Question((), (Manifest(path, text),)) if kind == "manifest" else Question(beside=(Beside(path, text, kind),))


def _checkpoint(model: Text | None) -> Checkpoint | None:
    path = None if model is None else _path(model)
    return None if path is None else read_checkpoint(path)


def _command(
    command: Command | None, model: Text | None, catalogue: Catalogue, environment: Mapping[str, str]
) -> EngineArgs:
    from shlex import split  # only where a command is one string

    words = split(command) if isinstance(command, str) else list(command or ())
    named = {"model": Given(str(model), "model", "model")} if model is not None and _path(model) is None else {}
    given = read_argv(words_of(*words), catalogue.arguments)
    return merge(given, EngineArgs(named, relevant_environment(dict(environment))))


def _size(size: str | int | None, where: str) -> Figure | None:
    if size is None:
        return None
    return exactly(parse_size(size) if isinstance(size, str) else size, "assumed", where)
