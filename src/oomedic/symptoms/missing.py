"""What evidence is missing, and the command that collects it."""

from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding, Missing
from oomedic.symptoms.exhaustion import EXHAUSTION, exhaustion

_NAMESPACE = "NAMESPACE"
_POD = "POD"


def missing_evidence(evidence: Evidence, findings: tuple[Finding, ...]) -> tuple[Missing, ...]:
    """Return what would decide or sharpen the answer, the most useful first."""
    wanted = []
    if not findings and (evidence.assessment is None or evidence.events):
        wanted.append("whole-log" if evidence.first(*EXHAUSTION) else "log")
    elif findings and findings[0].confidence != "certain" and not _shows_the_phase(evidence):
        wanted.append("whole-log")
    if evidence.gpu is None and evidence.known.total is None and evidence.setting("device") != "cpu":
        wanted.append("gpu")
    if evidence.checkpoint is None:
        wanted.append("model")
    if not evidence.version_known:
        wanted.append("version")
    if evidence.workload is None:
        wanted.append("manifest")
    return tuple(Missing(claim(f"missing.{name}"), _how(name, evidence)) for name in wanted)


def _shows_the_phase(evidence: Evidence) -> bool:
    """Tell whether marks, or the traceback of the allocation that failed, show where the engine was."""
    found = exhaustion(evidence)
    return evidence.phase_reached() is not None or (found is not None and found.proven)


def _how(name: str, evidence: Evidence) -> Claim:
    subject = evidence.subject
    parameters = {
        "namespace": subject.namespace or _NAMESPACE,
        "pod": _POD,
        "container": subject.container or "CONTAINER",
        "workload": f"{(subject.kind or 'deployment').lower()}/{subject.name or 'NAME'}",
    }
    return claim(f"missing.{name}.how", **parameters)
