"""Instance types that run a model, for people: a ranked table, what to know, how to start it, and the variants."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from oomedic.claim import Claim
from oomedic.reports.draw import Pen, table, wrapped
from oomedic.reports.phrases import Phrasebook
from oomedic.result import Report
from oomedic.search.answer import Answer
from oomedic.search.variants import Variant

_MOST: Final = 12
_WIDTH: Final = 100
_SHOWN_ELSEWHERE: Final = frozenset({"tensor_parallel_size", "pipeline_parallel_size"})
_COLUMNS: Final = (
    *("rank", "instance", "gpus", "split", "quantization", "settings", "kv-room", "concurrency"),
    *("usd-per-hour", "usd-per-1k", "fit", "notes"),
)
_RIGHT: Final = frozenset({6, 7, 8, 9})


def as_text(report: Report, phrases: Phrasebook, pen: Pen, *, quiet: bool = False) -> str:
    """Return the report for a terminal."""
    answers = [result.answer for result in report.results if result.answer is not None]
    blocks = [list(_lines(report.notes, phrases))]
    if answers:
        shown = answers[:1] if quiet else answers[:_MOST]
        blocks.append(list(_ranked(shown, phrases, pen)))
        if len(shown) < len(answers):
            blocks[-1].append(f"  {phrases.text('search.more', number=len(answers) - len(shown))}")
        blocks.append(list(_start(answers[0], phrases, pen)))
    if report.variants and not quiet:
        blocks.append(list(_variants(report.variants, phrases, pen)))
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def as_markdown(report: Report, phrases: Phrasebook) -> str:
    """Return the report for an issue or a chat."""
    answers = [result.answer for result in report.results if result.answer is not None]
    lines = [*(f"- {phrases.say(note)}" for note in report.notes), ""]
    lines += _markdown_table([phrases.text(f"search.column.{name}") for name in _COLUMNS], _rows(answers, phrases))
    lines += ["", *(f"- {letter}: {says}" for letter, says in _legend(answers, phrases)), ""]
    head = [phrases.text(f"search.column.{name}") for name in _VARIANT_COLUMNS]
    sources = ["", *(f"{number}. {source}" for number, source in enumerate(_sources(report.variants), 1))]
    return "\n".join(lines + _markdown_table(head, _variant_rows(report.variants, phrases)) + sources) + "\n"


def _ranked(answers: Sequence[Answer], phrases: Phrasebook, pen: Pen) -> Iterator[str]:
    head = [phrases.text(f"search.column.{name}") for name in _COLUMNS]
    lines = table([head, *_rows(answers, phrases)], right=_RIGHT)
    yield pen.paint(lines[0], "bold")
    yield from lines[1:]
    for letter, says in _legend(answers, phrases):
        yield from wrapped(f"{letter}  {says}", _WIDTH)


def _rows(answers: Sequence[Answer], phrases: Phrasebook) -> list[list[str]]:
    letters = {says: letter for letter, says in _legend(answers, phrases)}
    return [_row(number, answer, letters, phrases) for number, answer in enumerate(answers, 1)]


def _row(number: int, answer: Answer, letters: dict[str, str], phrases: Phrasebook) -> list[str]:
    instance, stored, kv = answer.instance, answer.contender.format, answer.assessment.budget.available
    split = answer.split
    return [
        str(number),
        instance.type,
        f"{instance.gpus} x {_short(instance.gpu.name)}",
        f"TP{split.tensor}" if split.pipeline == 1 else f"TP{split.tensor} PP{split.pipeline}",
        stored.name if stored else "–",
        letters.get(_settings(answer), "–"),
        phrases.size(kv.value) if kv else "–",
        phrases.number(answer.concurrency, ".1f") if answer.concurrency else "–",
        phrases.number(instance.price, ".2f") if instance.price is not None else "–",
        phrases.number(answer.price_per_1k, ".4f") if answer.price_per_1k is not None else "–",
        phrases.text(f"search.fit-{answer.assessment.certainty}"),
        "".join(sorted(letters[phrases.say(claim)] for claim in answer.warnings)),
    ]


def _settings(answer: Answer) -> str:
    shown = {name: value for name, value in answer.changes.items() if name not in _SHOWN_ELSEWHERE}
    return " ".join(_flag(name, value) for name, value in shown.items())


def _flag(name: str, value: object) -> str:
    flag = "--" + name.replace("_", "-")
    return flag if value is True else f"{flag} {value}"


def _legend(answers: Sequence[Answer], phrases: Phrasebook) -> list[tuple[str, str]]:
    """Give each set of settings a capital letter and each thing to know a small one, in the order of the table."""
    settings = dict.fromkeys(filter(None, map(_settings, answers)))
    says = dict.fromkeys(phrases.say(claim) for answer in answers for claim in answer.warnings)
    return [*_lettered("A", settings), *_lettered("a", says)]


def _lettered(first: str, texts: Iterable[str]) -> list[tuple[str, str]]:
    return [(chr(ord(first) + number), text) for number, text in enumerate(texts)]


def _start(answer: Answer, phrases: Phrasebook, pen: Pen) -> Iterator[str]:
    """Yield the command line of the first answer."""
    yield pen.paint(phrases.text("search.start", instance=answer.instance.type), "bold")
    words = [_flag(name, value) for name, value in answer.changes.items()]
    length = answer.assessment.config.max_model_len
    if length is not None and answer.assessment.config.is_given("max_model_len"):
        words.insert(0, _flag("max_model_len", length))
    yield "  " + " ".join(["vllm serve", answer.contender.checkpoint.id, *words])


_VARIANT_COLUMNS: Final = ("model", "format", "weights", "capability", "quality")


def _variants(variants: Sequence[Variant], phrases: Phrasebook, pen: Pen) -> Iterator[str]:
    yield pen.paint(phrases.text("search.variants"), "bold")
    head = [phrases.text(f"search.column.{name}") for name in _VARIANT_COLUMNS]
    yield from table([head, *_variant_rows(variants, phrases)], right=frozenset({2}))
    for number, source in enumerate(_sources(variants), 1):
        yield f"  [{number}] {source}"


def _variant_rows(variants: Sequence[Variant], phrases: Phrasebook) -> list[list[str]]:
    sources = list(_sources(variants))
    return [_variant_row(variant, sources, phrases) for variant in variants]


def _sources(variants: Sequence[Variant]) -> Iterable[str]:
    return dict.fromkeys(variant.source for variant in variants if variant.source)


def _variant_row(variant: Variant, sources: Sequence[str], phrases: Phrasebook) -> list[str]:
    quality = phrases.text(variant.quality) if variant.quality else "–"
    return [
        variant.model if variant.known != "recipe" else phrases.text("search.recipe"),
        variant.format,
        phrases.size(variant.weights.value) if variant.weights else "–",
        _capabilities(variant, phrases),
        f"{quality} [{sources.index(variant.source) + 1}]" if variant.source else quality,
    ]


def _capabilities(variant: Variant, phrases: Phrasebook) -> str:
    if variant.capability is None:
        return "–"
    least = f"{variant.capability[0]}.{variant.capability[1]}"
    if variant.native is None:
        return least
    return phrases.text("search.native", least=least, native=f"{variant.native[0]}.{variant.native[1]}")


def _lines(notes: Sequence[Claim], phrases: Phrasebook) -> Iterator[str]:
    for note in notes:
        yield from wrapped(phrases.say(note), _WIDTH, "")


def _markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["--"] * len(head), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _short(name: str) -> str:
    return name.removeprefix("NVIDIA ").removeprefix("Tesla ").removesuffix(" Blackwell Server Edition")
