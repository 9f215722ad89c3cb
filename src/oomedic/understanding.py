"""From a question to what is known of each life: logs taken apart, workloads read, facts put beside them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from oomedic.arguments.given import NOTHING_GIVEN, EngineArgs
from oomedic.catalogue import Catalogue
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence, Subject
from oomedic.gathering.gather import EngineOptions, Sources, gather, given_arguments, model_name, quantization_given
from oomedic.gathering.known_models import Resolved, resolve
from oomedic.logs.lives import split_lives
from oomedic.logs.signatures import Event, Signatures
from oomedic.question import Library, Log, Manifest, Question
from oomedic.workloads.workload import Workload

if TYPE_CHECKING:
    from oomedic.observed.facts import Observed
    from oomedic.observed.reading import Seen
    from oomedic.observed.telling import About

_ALL_LIVES: Final = 20
_MOST_LIVES: Final = 50
_ENDS: Final = frozenset(("error", "wrapper"))


class Life(NamedTuple):
    """One life of one container, or a configuration that has not run: ``events`` of its log and of what was seen.

    ``number`` counts the lives of a log that holds several, ``log`` names the log where there are several. ``logged``
    when there is a log of it, though it may hold nothing that is recognised.
    """

    events: tuple[Event, ...] = ()
    number: int | None = None
    workload: Workload | None = None
    observed: "Observed | None" = None
    about: "About | None" = None
    log: str | None = None
    logged: bool = False
    remarks: tuple[Claim, ...] = ()


def lives_of(question: Question, library: Library) -> tuple[Life, ...]:
    """Return every life of every log, each with its workload; without a log one for each workload.

    What was seen beside the logs belongs to the last life: a status tells how that one ended.

    Raises:
        InputError: when an input cannot be read.
    """
    seen = _seen(question, library.catalogue)
    workloads = tuple(workloads_of(question.manifests, library.catalogue)) or (seen.workloads if seen else ())
    signatures = Signatures(library.catalogue.signatures()) if question.logs or seen else None
    lives = [
        life._replace(workload=_workload_of(life.events, workloads), log=log.name if len(question.logs) > 1 else None)
        for log in question.logs
        if signatures is not None
        for life in _lives(log, signatures)
    ]
    if not lives:
        chosen = workloads if not question.logs and seen is None else (_workload_of((), workloads),)
        lives = [Life(workload=workload, logged=bool(question.logs)) for workload in chosen or (None,)]
    if seen is not None and signatures is not None:
        last = _last_that_ended(lives)
        lives[last] = _with_facts(lives[last], seen.observed, signatures)
    return tuple(lives)


def _last_that_ended(lives: Sequence[Life]) -> int:
    """Return the number of the last life that shows an error; without any, that of the last one."""
    failed = [number for number, life in enumerate(lives) if any(event.kind in _ENDS for event in life.events)]
    return failed[-1] if failed else len(lives) - 1


def workloads_of(manifests: Sequence[Manifest], catalogue: Catalogue) -> Iterator[Workload]:
    """Yield the engines of manifests.

    Raises:
        InputError: when a manifest cannot be read.
    """
    if not manifests:
        return
    from oomedic.manifest import read_manifests  # YAML is loaded only where a manifest is given

    files = {manifest.path: manifest.text for manifest in manifests}
    yield from (reading.workload for reading in read_manifests(files, catalogue.arguments))


def evidence_of(question: Question, library: Library, life: Life, change: EngineArgs = NOTHING_GIVEN) -> Evidence:
    """Put together all that is known of one life, with a ``change`` as if it had been given so.

    Raises:
        UnknownName: for a GPU that the user named.
    """
    sources = Sources(
        Subject(life=life.number, log=life.log),
        life.events,
        question.command,
        life.workload,
        None,
        question.options,
        life.observed,
        life.about,
        change,
    )
    evidence = gather(sources._replace(model=_model(question, sources, library)), library.catalogue)
    return evidence._replace(logged=life.logged, remarks=life.remarks)


def _seen(question: Question, catalogue: Catalogue) -> "Seen | None":
    if not question.beside:
        return None
    from oomedic.observed.reading import read_beside  # only where there is something beside the log

    return read_beside(question.beside, catalogue.arguments)


def _lives(log: Log, signatures: Signatures) -> list[Life]:
    """Take a log apart; of very many lives those are kept that tell something else than all before, and the last."""
    kept: list[Life] = []
    seen: set[int] = set()
    left_out: list[Life] = []
    number = 0
    for number, events in enumerate(split_lives(signatures.read(log.chunks)), start=1):
        said = hash(tuple((event.signature, event.quote) for event in events))
        if len(kept) < _ALL_LIVES or (said not in seen and len(kept) < _MOST_LIVES):
            kept.append(Life(events, number, logged=True))
        else:
            left_out = [Life(events, number, logged=True)]
        seen.add(said)
    if number == 1:
        return [life._replace(number=None) for life in kept]
    kept += left_out
    if number > len(kept):
        kept[0] = kept[0]._replace(remarks=(claim("lives.left-out", lives=number, kept=len(kept)),))
    return kept


def _with_facts(life: Life, observed: "Observed", signatures: Signatures) -> Life:
    """Add what was seen to the events of a life, behind the last line of its log."""
    from oomedic.observed.reading import whom  # see _seen
    from oomedic.observed.telling import log_of_status, told

    about = whom(observed, life.workload)
    logged = life.events or tuple(log_of_status(about, signatures))
    after = max((event.line for event in logged), default=0)
    facts = told(observed, about, signatures, after)
    return life._replace(events=(*logged, *facts), observed=observed, about=about)


def _workload_of(events: Sequence[Event], workloads: tuple[Workload, ...]) -> Workload | None:
    """Return the workload that a log belongs to: the one with the model that it names, else the first engine."""
    supported = [workload for workload in workloads if workload.supported] or list(workloads)
    sources = Sources(Subject(), tuple(events), NOTHING_GIVEN, None, None, EngineOptions())
    named = model_name(given_arguments(sources))
    same = [workload for workload in supported if named and named in {workload.model, workload.served_name}]
    return next(iter(same or supported), None)


def find_model(question: Question, library: Library) -> Resolved | None:
    """Find the model that a command line or a config names; None where neither does."""
    sources = Sources(Subject(), (), question.command, None, None, question.options)
    return _model(question, sources, library)


def _model(question: Question, sources: Sources, library: Library) -> Resolved | None:
    """Find the model: given as a config, catalogued, or on the hub; the nearest known one where nothing else is."""
    given = given_arguments(sources)
    name = model_name(given)
    if question.checkpoint is not None:
        return Resolved(name or question.checkpoint.id, question.checkpoint, "exact")
    if name is None:
        return None
    found = resolve(name, library.catalogue, quantization_given(given))
    if found.how in {"exact", "behind"} or library.hub is None:
        return found
    fetched = library.hub.checkpoint(name)
    return found if fetched is None else Resolved(name, fetched, "exact")
