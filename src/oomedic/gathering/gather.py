"""From events, arguments and a manifest to the evidence about one life of one engine."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from oomedic.arguments.reader import NOTHING_GIVEN, EngineArgs, Given, merge
from oomedic.catalogue import Catalogue
from oomedic.engine.config import EngineConfig, ModelFacts, Setting, configure
from oomedic.engine.rules import rules_at
from oomedic.engine.validation import refusal
from oomedic.errors import OomedicError
from oomedic.evidence import Evidence, Subject
from oomedic.figure import Figure
from oomedic.gathering.cards import Clues, driver_total, find_card
from oomedic.gathering.known_models import Resolved
from oomedic.gathering.printed_figures import known_figures
from oomedic.gathering.ranks import spread_of
from oomedic.gathering.run_arguments import printed_arguments
from oomedic.gathering.versions import Release, generation, release_of
from oomedic.gpu import Gpu
from oomedic.logs.phases import got_past_loading
from oomedic.logs.signatures import Event
from oomedic.memory.assessment import Assessment, assess, calibrate, widened
from oomedic.memory.known import NOTHING_KNOWN, Known
from oomedic.models.checkpoint import Checkpoint, cache_facts, derived_max_model_len
from oomedic.models.quantization import method_of, quantization_block
from oomedic.workloads.workload import Workload

if TYPE_CHECKING:
    from oomedic.observed.facts import ContainerState, Observed
    from oomedic.observed.telling import About

_MODEL_ARGUMENTS: Final = ("model", "model_tag")


class EngineOptions(NamedTuple):
    """What the user says beside logs and manifests: engine options of the command line.

    ``weights`` are those of all ranks together; ``kv_cache_memory`` is one GPU's pool, taken as printed.
    """

    gpu: str | None = None
    gpu_count: int | None = None
    gpu_memory: Figure | None = None
    vllm: str | None = None
    weights: Figure | None = None
    kv_cache_memory: Figure | None = None


class Sources(NamedTuple):
    """The material about one life: events, command line, the manifest's engine, the model, and what the user says.

    ``observed`` is what was seen beside the log, ``about`` the pod that it concerns. ``change`` is what shall be
    different from the run: it outranks what the run printed.
    """

    subject: Subject
    events: tuple[Event, ...]
    command: EngineArgs
    workload: Workload | None
    model: Resolved | None
    options: EngineOptions
    observed: "Observed | None" = None
    about: "About | None" = None
    change: EngineArgs = NOTHING_GIVEN


def gather(sources: Sources, catalogue: Catalogue) -> Evidence:
    """Put together all that is known about one life.

    Where the release is not known, the arithmetic is done for each era that remains, and the least favourable is shown
    with bands that cover all of them.

    Raises:
        UnknownName: ``gpu-ambiguous`` or ``gpu-unknown`` for a GPU that the user named.
    """
    tag = sources.workload.engine_version if sources.workload else None
    release = release_of(sources.options.vllm, sources.events, tag, catalogue.engines(), catalogue.signatures())
    if release.is_known:
        return _gathered(sources, release, catalogue)
    found = [_gathered(sources, release._replace(version=version), catalogue) for version in release.possible]
    assessed = [evidence for evidence in found if evidence.assessment is not None]
    if not assessed:
        return found[0]
    together = widened([evidence.assessment for evidence in assessed if evidence.assessment is not None])
    worst = next(evidence for evidence in assessed if evidence.config is together.config)
    others = tuple(evidence for evidence in assessed if evidence is not worst)
    return worst._replace(assessment=together, versions=(release.possible[0], release.possible[-1]), others=others)


def _gathered(sources: Sources, release: Release, catalogue: Catalogue) -> Evidence:
    args = given_arguments(sources)
    checkpoint = sources.model.checkpoint if sources.model else None
    printed = known_figures(sources.events)
    gpu, cards = (None, ()) if runs_on_cpu(args) else find_card(_clues(sources, printed.total), catalogue)
    facts = model_facts(checkpoint, args.given.get("quantization", Given(None, "")).value, release)
    config = _config(args, facts, gpu, _Engine(release, sources.events), catalogue)
    known = _with_neighbours(_known(printed, sources.options, config), sources, config, gpu)
    known, assessment, refused = _assess(checkpoint, config, gpu, known)
    expected = _weights_of_another_checkpoint(assessment, known, sources.events)
    if expected is not None:
        known, assessment, refused = _assess(
            checkpoint, config, gpu, known._replace(other_weights=True, baseline=config)
        )
    if not any(event.source is None for event in sources.events):  # no run shows what the engine made of it
        config, assessment = _auto_fitted(args, config, assessment, (checkpoint, gpu, known))
        long_allowed = args.environment.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN") == "1"
        refused = refusal(config, facts, long_allowed=long_allowed) or refused
    return Evidence(
        subject=_subject(sources, release, gpu),
        events=sources.events,
        config=config,
        checkpoint=checkpoint,
        gpu=gpu,
        gpu_count=_gpu_count(sources, config),
        known=known,
        assessment=assessment,
        refused=refused,
        workload=sources.workload,
        requested_model=sources.model.requested if sources.model else None,
        nearest_models=sources.model.nearest if sources.model else (),
        cards=cards,
        version_known=release.is_known,
        expected_weights=expected,
        arguments=args,
        observed=sources.observed,
        container=_container(sources),
        facts=facts,
    )


def _auto_fitted(
    args: EngineArgs,
    config: EngineConfig,
    assessment: Assessment | None,
    rest: tuple[Checkpoint | None, Gpu | None, Known],
) -> tuple[EngineConfig, Assessment | None]:
    """Take the longest request that fits where the engine is asked to find it itself (since 0.14)."""
    asked = args.given.get("max_model_len", Given(None, "")).value
    kv = assessment.kv if assessment else None
    if asked not in {"auto", -1} or not config.rules.defaults.get("fits_length") or kv is None or kv.fits:
        return config, assessment
    if not kv.estimated_max_model_len:
        return config, assessment
    length = Setting(kv.estimated_max_model_len, "default", "auto")
    config = config._replace(settings={**config.settings, "max_model_len": length})
    checkpoint, gpu, known = rest
    return config, assess(checkpoint, config, gpu, known)


def _container(sources: Sources) -> "ContainerState | None":
    if sources.about is None or sources.about.pod is None:
        return None
    from oomedic.observed.pods import engine_container  # only where a pod was seen

    return engine_container(sources.about.pod, sources.about.container)


def _with_neighbours(known: Known, sources: Sources, config: EngineConfig, gpu: Gpu | None) -> Known:
    """Add what the GPUs themselves show, where the log does not say it: what others hold, and the size of the card."""
    if sources.observed is None or not sources.observed.gpus:
        return known
    from oomedic.observed.neighbours import held_by_others  # only where a GPU was seen

    pod = sources.about.pod if sources.about else None
    container = _container(sources)
    runs = container is not None and container.state == "running"
    runs = runs or any(event.signature == "server_ready" for event in sources.events)
    held = held_by_others(sources.observed, _gpu_count(sources, config), pod.name if pod else None, engine_runs=runs)
    total = known.total or (driver_total(sources.observed) if gpu is None else None)
    return known._replace(total=total, held_by_others=held if known.free_at_start is None else None)


def _weights_of_another_checkpoint(
    assessment: Assessment | None, known: Known, events: Sequence[Event]
) -> Figure | None:
    """Return the computed weights when the run got past loading although they are larger than the card."""
    budget = assessment.budget if assessment else None
    weights, total = (budget.item("weights"), budget.total) if budget else (None, None)
    if weights is None or total is None or known.weights is not None or weights.low <= total.high:
        return None
    return weights if got_past_loading(events) else None


class _Engine(NamedTuple):
    """Which engine ran: its release, and the log that shows its generation and runner."""

    release: Release
    events: tuple[Event, ...]


def given_arguments(sources: Sources) -> EngineArgs:
    """Merge what was given: the manifest first, then the command line, then what the engine itself printed.

    The engine's own lines outrank the manifest, whose environment and defaults may never have reached it; the names of
    its processes only fill what nothing else tells.
    """
    manifest = sources.workload.arguments if sources.workload else NOTHING_GIVEN
    told = merge(manifest, sources.command, printed_arguments(sources.events), sources.change)
    shown = spread_of(sources.events).given
    return merge(EngineArgs({name: given for name, given in shown.items() if name not in told.given}), told)


def model_name(args: EngineArgs) -> str | None:
    """Return the model that was asked for, None where nothing names it."""
    for name in _MODEL_ARGUMENTS:
        given = args.given.get(name)
        if given is not None and isinstance(given.value, str) and given.value:
            return given.value
    return None


def runs_on_cpu(args: EngineArgs) -> bool:
    """Tell whether the engine is built for CPUs: it says so where it prints its configuration."""
    given = args.given.get("device")
    return given is not None and given.value == "cpu"


def quantization_given(args: EngineArgs) -> str | None:
    """Return the method by which the engine was told that weights are stored, None where it was not."""
    given = args.given.get("quantization")
    return given.value if given is not None and isinstance(given.value, str) else None


def model_facts(checkpoint: Checkpoint | None, config_quantization: Any, release: Release) -> ModelFacts:
    """Return what the engine's defaults depend on in the model."""
    if checkpoint is None:
        return ModelFacts(quantization=config_quantization if isinstance(config_quantization, str) else None)
    facts = cache_facts(checkpoint)
    return ModelFacts(
        max_model_len=derived_max_model_len(checkpoint.config, release.version),
        architecture=checkpoint.architecture,
        multimodal=checkpoint.is_multimodal,
        experts=bool(checkpoint.experts),
        recurrent=facts.recurrent,
        latent=facts.latent,
        windowed=facts.windowed,
        quantization=method_of(quantization_block(checkpoint.config)) or config_quantization,
    )


def _config(
    args: EngineArgs, facts: ModelFacts, gpu: Gpu | None, engine: _Engine, catalogue: Catalogue
) -> EngineConfig:
    platform = "cpu" if runs_on_cpu(args) else None
    rules = rules_at(engine.release.version, catalogue.engines(), platform)
    ran = generation(engine.events)
    environment = dict(args.environment)
    if ran is not None and not rules.defaults.get("only_generation"):
        environment["VLLM_USE_V1"] = "1" if ran == "V1" else "0"
    if any(event.signature == "v2_model_runner" for event in engine.events):
        environment["VLLM_USE_V2_MODEL_RUNNER"] = "1"
    return configure(args._replace(environment=environment), facts, gpu, rules)


def _known(printed: Known, options: EngineOptions, config: EngineConfig) -> Known:
    ranks = config.ranks
    weights = printed.weights
    if options.weights is not None:
        share = options.weights
        weights = Figure(share.value // ranks, share.low // ranks, share.high // ranks, share.origin, share.where)
    anything = printed != NOTHING_KNOWN or weights is not None or options.kv_cache_memory is not None
    return printed._replace(
        total=options.gpu_memory or printed.total,
        weights=weights,
        pool=options.kv_cache_memory or printed.pool,
        baseline=config if anything else None,
    )


def _assess(
    checkpoint: Checkpoint | None, config: EngineConfig, gpu: Gpu | None, known: Known
) -> tuple[Known, Assessment | None, OomedicError | None]:
    try:
        known = calibrate(checkpoint, gpu, known)
        return known, assess(checkpoint, config, gpu, known), None
    except OomedicError as refused:
        return known, None, refused


def _clues(sources: Sources, total: Figure | None) -> Clues:
    selector = (sources.workload.node_selector or {}) if sources.workload else {}
    node = sources.observed.node_of(sources.about.pod) if sources.observed and sources.about else None
    return Clues(
        sources.options.gpu, sources.events, {**selector, **(node.labels if node else {})}, sources.observed, total
    )


def _gpu_count(sources: Sources, config: EngineConfig) -> int | None:
    if sources.options.gpu_count is not None:
        return sources.options.gpu_count
    if sources.workload is not None and sources.workload.gpus_per_pod:
        return sources.workload.gpus_per_pod
    used = config.ranks
    return used if used > 1 else None


def _subject(sources: Sources, release: Release, gpu: Gpu | None) -> Subject:
    workload = sources.workload
    base = sources.subject._replace(gpu=gpu.name if gpu else None, vllm=release.text or None)
    if workload is None:
        return base
    return base._replace(
        unit=workload.unit,
        kind=workload.kind,
        namespace=workload.namespace,
        name=workload.name,
        container=workload.container,
    )
