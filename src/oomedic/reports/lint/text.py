"""What lint says, for people: one block a finding, its place first, as compilers do."""

from oomedic.lint.verdict import Linted, Told
from oomedic.reports.draw import Pen
from oomedic.reports.lint.wording import because, helps, place, remarks, summary, title
from oomedic.reports.phrases import Phrasebook


def render(found: Linted, phrases: Phrasebook, pen: Pen, *, quiet: bool = False) -> str:
    """Return all findings that count, the remarks, and the sum; ``quiet`` leaves one line a finding."""
    lines: list[str] = []
    for told in found.counting:
        lines += _block(told, phrases, pen, quiet=quiet)
    if not quiet:
        lines += remarks(found, phrases)
        lines.append(summary(found, phrases))
    return "".join(f"{line}\n" for line in lines)


def _block(told: Told, phrases: Phrasebook, pen: Pen, *, quiet: bool) -> list[str]:
    sure = phrases.text(f"label.confidence-{told.confidence}")
    unit = f" {told.unit}" if told.unit else ""
    head = f"{place(told.place)}: {pen.paint(title(told), 'bold')} ({sure}){unit}"
    if quiet:
        return [head]
    return [head, *(f"    {text}" for text in (*because(told, phrases), *helps(told, phrases)))]


def as_markdown(found: Linted, phrases: Phrasebook) -> str:
    """Return the findings as a table, for a comment on a pull request."""
    lines = []
    if found.counting:
        head = (phrases.text(f"column.{name}") for name in ("where", "finding", "says"))
        lines += [f"| {' | '.join(head)} |", "|--|--|--|"]
    for told in found.counting:
        said = "<br>".join([*because(told, phrases), *helps(told, phrases)]).replace("|", "\\|")
        sure = phrases.text(f"label.confidence-{told.confidence}")
        lines.append(f"| `{place(told.place)}` | {title(told)} ({sure}) | {said} |")
    lines += [*([""] if lines else []), *(f"- {text}" for text in remarks(found, phrases)), "", summary(found, phrases)]
    return "\n".join(lines) + "\n"
