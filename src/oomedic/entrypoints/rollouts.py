"""Watching a rollout to its verdict: the clock, the looks and what is said on standard error meanwhile."""

import sys
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from oomedic.claim import Claim, claim
from oomedic.entrypoints.gpu_memory import Memory
from oomedic.errors import ClusterError
from oomedic.kube.ownership import Reference, Tree, reference
from oomedic.live.rollout import Look, Progress, Verdict, progress, stuck
from oomedic.live.workload import is_ready
from oomedic.live_diagnosis import diagnose_live
from oomedic.logs.signatures import Signatures
from oomedic.question import Library, Question
from oomedic.reports.phrases import Phrasebook
from oomedic.result import Report
from oomedic.workloads.workload import Workload

if TYPE_CHECKING:
    from oomedic.sources.cluster.cluster import Cluster
    from oomedic.sources.cluster.serving import Served

_PAUSE_S: Final = 1.0
_LISTEN_S: Final = 5.0
_GRACE_S: Final = 60.0
_EXPECTED_MS: Final = 3000
"""The runbook expects the first answer within 2 to 3 seconds."""
_PORT: Final = 8000
_PASSING: Final = frozenset(("cluster-unreachable", "cluster-slow", "cluster-faulty"))
"""A rollout takes minutes, in which an API server may restart."""
_LINE_ABOVE: Final = "\x1b[1A\x1b[2K"
"""The terminal's codes for: one line up, and erase it."""
_KV_SIZE: Final = ("kv_cache_size", "gpu_blocks")


Seen = tuple[Tree, tuple[Tree, ...], tuple[str, ...]]
"""A workload, its pods, and what is said of those without a node."""


class Watching(NamedTuple):
    """How long to wait and what to compare with.

    Attributes:
        timeout_s: until the pods must be ready.
        soak_s: how long they must stay so.
        predicted: KV tokens of the plan, None where it has none.
        has_pools: whether Karpenter could bring a node.
        old: UIDs of the pods from before the change.
        frees: whether failing pods that no controller replaces are deleted, so that the change reaches them.
    """

    timeout_s: float
    soak_s: float
    predicted: int | None = None
    has_pools: bool = False
    old: frozenset[str] = frozenset()
    frees: bool = False


class Ended(NamedTuple):
    """The verdict, and the diagnosis of the pod that crashed."""

    verdict: Verdict
    second: Report | None = None


class Follower:
    """Follows one workload; ``say`` prints progress on standard error."""

    def __init__(
        self, cluster: "Cluster", asked: tuple[Library, Question], phrases: Phrasebook, *, quiet: bool
    ) -> None:
        """Keep what every look needs; ``asked`` are the facts, and what the user says beside the cluster."""
        self._cluster = cluster
        self._known, self._base = asked
        self._phrases = phrases
        self._quiet = quiet
        self._said = self._passing = ""
        self._heard = 0.0
        self._freed: set[str] = set()

    def say(self, what: Claim) -> None:
        """Say how it stands, each state once; on a terminal the line of a state that goes on is written anew."""
        text = self._phrases.say(what)
        if not self._quiet and text != self._said:
            again = what.message == self._passing == "progress.rollout" and sys.stderr.isatty()
            sys.stderr.write(f"{_LINE_ABOVE if again else ''}{text}\n")
            sys.stderr.flush()
            self._passing = what.message
        self._said = text

    def follow(self, target: Reference, workload: Workload | None, watching: Watching) -> Ended:
        """Watch until the pods are ready, then ask the server.

        Raises:
            ClusterError: when the cluster cannot be asked any more.
        """
        started = time.monotonic()
        while True:
            elapsed = time.monotonic() - started
            seen = self._look(target, until=started + watching.timeout_s)
            if seen is not None:
                ended = self._judged(seen, workload, watching, elapsed)
                if ended is not None:
                    return ended
                if elapsed > watching.timeout_s:
                    return Ended(Verdict("timeout", (claim("rollout.timeout", seconds=round(watching.timeout_s)),)))
            time.sleep(_PAUSE_S)

    def _look(self, target: Reference, *, until: float) -> Seen | None:
        """Look once; None where the API server has a moment's trouble.

        Raises:
            ClusterError: when it has not answered ``until`` then, and at once for what does not pass by itself.
        """
        try:
            return self._cluster.look(target)
        except ClusterError as error:
            if error.slug not in _PASSING or time.monotonic() > until:
                raise
            self.say(claim("progress.unseen", reason=_reason(error)))
            return None

    def _judged(self, seen: Seen, workload: Workload | None, watching: Watching, elapsed: float) -> Ended | None:
        """Return how it ended, None while it goes on."""
        found, pods, messages = seen
        look = Look(found, pods, messages, elapsed, watching.has_pools, watching.old)
        stands = progress(look)
        self._report(stands, elapsed)
        if watching.frees:
            self._free(found, pods)
        if stands.crashed is not None:
            return self._crashed(stands.crashed, found)
        if stands.verdict is not None:
            return Ended(stands.verdict)
        new = look.new_pods
        if stands.is_ready:
            return Ended(self._validated(next(filter(is_ready, new)), workload, watching, stands))
        if workload is not None and new and time.monotonic() - self._heard > _LISTEN_S:
            self._heard = time.monotonic()
            self._listen(new[0], workload.container, watching.predicted)
        return None

    def _free(self, found: Tree, pods: tuple[Tree, ...]) -> None:
        """Delete the old pods that would keep the change from ever arriving, each once."""
        for pod in stuck(found, pods):
            metadata = pod["metadata"]
            if metadata["uid"] in self._freed:
                continue
            self.say(claim("progress.freeing", pod=metadata["name"]))
            try:
                self._cluster.delete(reference(pod), metadata["uid"])
            except ClusterError as error:
                if error.slug not in _PASSING:
                    raise
            else:
                self._freed.add(metadata["uid"])

    def _listen(self, pod: Tree, container: str, predicted: int | None) -> None:
        """Say how far the engine is, and how large its cache came out, as soon as its log does."""
        if not any("running" in (each.get("state") or {}) for each in pod["status"].get("containerStatuses") or ()):
            return
        log = self._cluster.log(pod, container)
        events = list(Signatures(self._known.catalogue.signatures()).read([log])) if log else []
        phases = [event.phase for event in events if event.phase not in {None, "other"}]
        said = self._kv(log, predicted)
        if said:
            self.say(said[0])
        elif phases:
            self.say(claim("progress.phase", phase=phases[-1]))

    def _report(self, stands: Progress, elapsed: float) -> None:
        seconds = int(elapsed) // 5 * 5
        self.say(claim("progress.rollout", made=stands.made, wanted=stands.wanted, ready=stands.ready, seconds=seconds))

    def _crashed(self, pod: Tree, found: Tree) -> Ended:
        live = self._cluster.observed([pod], found)
        report = diagnose_live(live, self._base, self._known)
        because = [claim("rollout.crashed", pod=reference(pod).name)]
        diagnosis = report.results[0].diagnosis
        if diagnosis is None or not diagnosis.findings:
            return Ended(Verdict("crashes", tuple(because)), report)
        first = diagnosis.findings[0]
        because += [claim("rollout.cause", code=first.code, name=first.name), first.because[0]]
        if first.code.startswith("OOM"):
            return Ended(Verdict("still-oom", tuple(because)), report)
        return Ended(Verdict("probe-kill" if first.code == "POD101" else "crashes", tuple(because)), report)

    def _validated(self, pod: Tree, workload: Workload | None, watching: Watching, stands: Progress) -> Verdict:
        because = [claim("rollout.ready", ready=stands.ready, wanted=stands.wanted)]
        container = workload.container if workload else pod["spec"]["containers"][0]["name"]
        because += self._kv(self._cluster.log(pod, container), watching.predicted)
        self.say(claim("progress.asking", pod=reference(pod).name))
        served = self._cluster.ask_server(pod, _port(pod, container, workload))
        because += _answers(served)
        if served.reason is not None:
            return Verdict("no-answer", tuple(because))
        verdict = self._soaked(pod, container, watching.soak_s)
        return verdict._replace(because=(*because, *verdict.because))

    def _kv(self, log: bytes, predicted: int | None) -> list[Claim]:
        events = Signatures(self._known.catalogue.signatures()).read([log])
        sizes = (event.fields.get("tokens") for event in events if event.signature in _KV_SIZE)
        printed = next((size for size in sizes if isinstance(size, int)), None)
        if printed is None:
            return []
        if predicted is None:
            return [claim("rollout.kv-printed", printed=printed)]
        return [claim("rollout.kv", printed=printed, predicted=predicted)]

    def _soaked(self, pod: Tree, container: str, seconds: float) -> Verdict:
        """Watch the pod for a while: what only fails under way shows as a restart, or in the GPU's memory."""
        if not seconds:
            return Verdict("healthy")
        self.say(claim("progress.soaking", seconds=round(seconds)))
        started, before = time.monotonic(), _restarts(pod)
        memory = Memory(lambda: self._cluster.memory_in_use(pod, container), seconds)
        while time.monotonic() - started < seconds:
            time.sleep(min(_PAUSE_S, seconds))
            memory.look(time.monotonic() - started)
            try:
                seen = self._look(reference(pod), until=started + seconds + _GRACE_S)
            except ClusterError as error:
                if error.slug != "cluster-no-such-object":
                    raise
                return Verdict("crashes", (claim("rollout.pod-gone", pod=reference(pod).name),))
            restarts = 0 if seen is None else _restarts(seen[0]) - before
            if restarts > 0 or (seen is not None and not is_ready(seen[0])):
                return Verdict("crashes", (claim("rollout.restarted", restarts=restarts, seconds=round(seconds)),))
        return Verdict("healthy", (claim("rollout.soaked", seconds=round(seconds)), *memory.said()))


def _reason(error: ClusterError) -> str:
    return str(error.parameters.get("reason") or f"{error.parameters.get('seconds')} s")


def _answers(served: "Served") -> list[Claim]:
    if served.refused is not None:
        return [claim("rollout.not-asked", rule=served.refused.rule)]
    if served.reason is not None:
        return [claim("rollout.no-answer", reason=served.reason)]
    if served.wants_key:
        return [claim("rollout.needs-key")]
    said = [claim("rollout.answered", model=served.model, path=served.path, milliseconds=served.milliseconds)]
    if served.milliseconds is not None and served.milliseconds > _EXPECTED_MS:
        said.append(claim("rollout.slow", expected=_EXPECTED_MS))
    if served.preemptions is not None and served.usage is not None:
        said.append(claim("rollout.metrics", preemptions=served.preemptions, usage=served.usage))
    return said


def _port(pod: Tree, container: str, workload: Workload | None) -> int:
    """Return the port that the engine listens on: its argument, else the container's first, else vLLM's own."""
    given = workload.arguments.given.get("port") if workload else None
    if given is not None and isinstance(given.value, int):
        return given.value
    for each in pod["spec"]["containers"]:
        if each["name"] == container and each.get("ports"):
            return int(each["ports"][0]["containerPort"])
    return _PORT


def _restarts(pod: Tree) -> int:
    return sum(int(status.get("restartCount", 0)) for status in pod["status"].get("containerStatuses") or ())
