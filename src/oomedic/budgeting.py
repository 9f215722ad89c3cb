"""The budget of a configuration that need not run: for each card, release and swept value asked for.

With the log of a run its printed figures stand in for computed ones, and what the formulas got wrong there is carried
over to every change.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from oomedic.answer import result_of, versions_of
from oomedic.arguments.given import EngineArgs, Given, merge
from oomedic.arguments.sweep import Sweep
from oomedic.diagnosis import diagnose, started
from oomedic.engine.config import EngineConfig
from oomedic.errors import OomedicError, UnknownName
from oomedic.evidence import Evidence
from oomedic.gathering.gather import EngineOptions
from oomedic.planning.plan import settled
from oomedic.question import Library, Question
from oomedic.result import Report
from oomedic.understanding import Life, evidence_of, lives_of


def compute_budget(
    question: Question, library: Library, gpus: Sequence[str], versions: Sequence[str], sweep: Sweep = ()
) -> Report:
    """Compute the budget for each GPU, release and combination of swept values asked for.

    Where the question holds a log, it is the run that is changed; its command line holds the changes alone.

    Raises:
        OomedicError: when a name is not known or the model cannot be had.
    """
    run = _run(question._replace(options=question.options._replace(gpu=None)), library, gpus) if question.logs else None
    results = []
    for gpu, version, values in product(gpus or (None,), versions or (None,), _combinations(sweep)):
        options = question.options._replace(gpu=gpu, vllm=version)
        asked = question._replace(options=options, command=merge(question.command, EngineArgs(values)))
        evidence = evidence_of(asked, library, Life()) if run is None else _changed(asked, library, *run)
        if run is None:
            _require_model(evidence, options, library)
        results.append(result_of(evidence, None, None, None))
    return Report(tuple(results), versions_of(library))


def _combinations(sweep: Sweep) -> Iterator[Mapping[str, Given]]:
    """Yield every combination of the swept values; without any, one that changes nothing."""
    names = [name for name, _ in sweep]
    for values in product(*(values for _, values in sweep)):
        yield dict(zip(names, values, strict=True))


def _require_model(evidence: Evidence, options: EngineOptions, library: Library) -> None:
    nothing = evidence.checkpoint is None and options.weights is None and evidence.known.weights is None
    if nothing and evidence.requested_model is not None:
        trouble = library.hub.trouble if library.hub else "model-offline"
        raise UnknownName(trouble, name=evidence.requested_model, nearest=evidence.nearest_models)


def _run(question: Question, library: Library, gpus: Sequence[str]) -> tuple[Life, Evidence]:
    """Return the life of the log that got furthest, and what is known of it, with what its end showed.

    What the log does not tell of its model, card and release is taken from what is asked for.
    """
    lives = lives_of(question._replace(before=None), library)
    life = next((life for life in lives if started(life.events)), lives[-1])
    model = {name: given for name, given in question.command.given.items() if name == "model"}
    asked = question._replace(command=EngineArgs(model), options=question.options._replace(vllm=None))
    evidence = evidence_of(asked, library, life)
    card = gpus[0] if gpus and evidence.gpu is None else None
    release = None if evidence.version_known else question.options.vllm
    if card is not None or release is not None:
        options = question.options._replace(gpu=card, vllm=release.split(",")[0] if release else None)
        evidence = evidence_of(asked._replace(options=options), library, life)
    if started(life.events):
        return life, evidence._replace(known=evidence.known._replace(died=_AFTER_THE_START))
    from oomedic.pipeline import causes_for  # only where the run of the log has died

    findings = diagnose(evidence, causes_for(evidence, library.catalogue)).findings
    return life, settled(evidence, findings[0]) if findings else evidence


_AFTER_THE_START = "runtime"
"""The phase in which a run is that passed every step of its start."""


def _changed(question: Question, library: Library, life: Life, run: Evidence) -> Evidence:
    """Return the run with changed arguments, release or card."""
    bare = question._replace(command=EngineArgs({}), options=_inherited(question.options, run))
    changed = evidence_of(bare, library, life, question.command)
    if changed.config is None:
        return changed
    one, two = run.checkpoint, changed.checkpoint
    checkpoint = None if two is None or (one is not None and one.id == two.id) else two
    gpu = None if changed.gpu is None or run.gpu is None or run.gpu.name == changed.gpu.name else changed.gpu
    if checkpoint is None and gpu is None and _is_same(changed.config, run):
        return run
    try:
        assessment = run.assess(changed.config, checkpoint, gpu)
    except OomedicError as refused:
        return changed._replace(known=run.known, assessment=None, refused=refused)
    return changed._replace(known=run.known, assessment=assessment, refused=None, events=(), logged=False)


def _is_same(config: EngineConfig, run: Evidence) -> bool:
    """Tell whether a configuration is that of the run."""
    same_release = run.config is not None and run.config.rules.version == config.rules.version
    return same_release and not run.known.changed(config)


def _inherited(options: EngineOptions, run: Evidence) -> EngineOptions:
    """Keep the release of the run where no other is asked for."""
    if options.vllm is not None or run.config is None or not run.version_known:
        return options
    return options._replace(vllm=str(run.config.rules.version))
