"""What a diagnosis says, as values: established causes with their proof, what was passed over, what is missing."""

from typing import Literal, NamedTuple

from oomedic.claim import Claim

Confidence = Literal["certain", "likely", "possible"]


class Finding(NamedTuple):
    """One established cause.

    ``line`` is where the log proves it, None where arithmetic alone does; ``phase`` is where the engine dies of it.
    """

    code: str
    name: str
    confidence: Confidence
    because: tuple[Claim, ...]
    line: int | None = None
    phase: str | None = None

    def says(self, *messages: str) -> bool:
        """Tell whether one of these messages is among its reasons: causes of one code can need different remedies."""
        return any(claim.message in messages for claim in self.because)


class Missing(NamedTuple):
    """Evidence that would decide or sharpen the answer: ``what`` it is and ``how`` to collect it."""

    what: Claim
    how: Claim


class Skipped(NamedTuple):
    """A cause that was looked at and does not hold, with the reason."""

    code: str
    because: Claim


class Diagnosis(NamedTuple):
    """What is established: the first of the ``findings`` explains the death, others stand beside it.

    ``first_error`` when none is recognised; ``logged`` when there was a log to recognise something in.
    """

    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...] = ()
    missing: tuple[Missing, ...] = ()
    first_error: Claim | None = None
    logged: bool = True
