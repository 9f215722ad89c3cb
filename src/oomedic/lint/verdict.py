"""What lint says, as values: findings with their place in the files, and the change that helps."""

from typing import Literal, NamedTuple

from oomedic.claim import Claim
from oomedic.errors import OomedicError
from oomedic.finding import Confidence
from oomedic.planning.plan import Offer
from oomedic.result import Report, Result
from oomedic.workloads.reading import Reading


class Place(NamedTuple):
    """A range of characters in a file; lines and columns count from one, the end is behind the last character.

    ``what`` names it within its engine, whatever line it is on: an argument, or the path of a field.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    what: str = ""


class Replacement(NamedTuple):
    """Text that takes the place of a range."""

    place: Place
    text: str


class Silenced(NamedTuple):
    """Why a finding does not count: a comment with its reason, or the baseline."""

    by: Literal["comment", "baseline"]
    reason: str = ""


class Told(NamedTuple):
    """One finding, told once.

    Attributes:
        unit: the engine, "" for a comment.
        gpus: the cards on which it holds, none where it does not depend on the card; ``possible`` how many cards the
            pod may get, and ``fits`` those of them on which it starts.
        offer: the smallest change that helps.
        replacements: that change in the text, where it can be written.
        fingerprint: the same as long as code, file, engine and argument are: lines and figures may change.
    """

    code: str
    name: str
    confidence: Confidence
    because: tuple[Claim, ...]
    place: Place
    unit: str
    gpus: tuple[str, ...] = ()
    possible: int = 1
    fits: tuple[str, ...] = ()
    offer: Offer | None = None
    replacements: tuple[Replacement, ...] = ()
    fingerprint: str = ""
    silenced: Silenced | None = None


class Verdict(NamedTuple):
    """What a report shows of one engine on one card; ``helps`` are offers by the code of a finding."""

    result: Result
    helps: tuple[tuple[str, Offer], ...] = ()


class Judged(NamedTuple):
    """One engine: a verdict for each card that its pod may get (one without a card where nothing says which)."""

    reading: Reading
    verdicts: tuple[Verdict, ...]
    told: tuple[Told, ...] = ()

    @property
    def path(self) -> str:
        """The file that it was read from."""
        return self.reading.source.file.path


class Remark(NamedTuple):
    """What a person should know of some engines, said once."""

    said: Claim
    units: tuple[str, ...] = ()


class Linted(NamedTuple):
    """Everything that lint says.

    Attributes:
        told: the findings of engines and comments, in the order of the files.
        skipped: what was passed over in folders, and why.
        unreadable: files that could not be read.
        files: how many files were read.
        left: findings of the baseline that do not occur any more.
    """

    judged: tuple[Judged, ...]
    told: tuple[Told, ...]
    report: Report
    remarks: tuple[Remark, ...] = ()
    skipped: tuple[OomedicError, ...] = ()
    unreadable: tuple[OomedicError, ...] = ()
    files: int = 0
    left: int = 0

    @property
    def counting(self) -> tuple[Told, ...]:
        """The findings that nothing silences."""
        return tuple(each for each in self.told if each.silenced is None)
