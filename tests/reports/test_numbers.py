"""Figures with the signs of a language, and the form of a word beside a number: 1 pod, 2 pody, 5 podów."""

import ast
from pathlib import Path

import pytest

from oomedic.claim import claim
from oomedic.reports.draw import wrapped
from oomedic.reports.numbers import Numbers
from oomedic.reports.phrases import Phrasebook
from oomedic.units import GIB

POLISH_PLURALS = "".join(
    "0" if n == 1 else "1" if n % 10 in {2, 3, 4} and n % 100 not in {12, 13, 14} else "2" for n in range(200)
)
POLISH = Numbers(",", "\u00a0", POLISH_PLURALS)
PODS = ("pod", "pody", "podów")


@pytest.mark.parametrize(
    ("number", "form"),
    [
        *((number, "pod") for number in (1,)),
        *((number, "pody") for number in (2, 4, 22, 122, 8192)),
        *((number, "podów") for number in (0, 5, 11, 12, 14, 21, 101, 112, 32768)),
    ],
)
def test_polish_has_three_forms_of_a_counted_word(number, form):
    assert POLISH.form(number, PODS) == form


def test_english_has_two():
    assert [Numbers().form(number, ("pod", "pods")) for number in (0, 1, 2, 101)] == ["pods", "pod", "pods", "pods"]


def test_a_fraction_takes_the_form_after_those_of_whole_numbers():
    forms = ("żądanie", "żądania", "żądań", "żądania (ułamek)")
    assert POLISH.form(3.64, forms) == "żądania (ułamek)"
    assert POLISH.form(3.0, forms) == "żądania"


def test_what_is_not_known_takes_the_last_form():
    assert POLISH.form(None, PODS) == "podów"


def test_one_sentence_counts_several_things():
    text = "{made} z {wanted} {wanted:plural poda|podów|podów}, {ready} {ready:plural gotowy|gotowe|gotowych}"
    phrases = Phrasebook({"rollout": text}, numbers=POLISH)
    assert phrases.text("rollout", made=1, wanted=1, ready=1) == "1 z 1 poda, 1 gotowy"
    assert phrases.text("rollout", made=2, wanted=5, ready=2) == "2 z 5 podów, 2 gotowe"


def test_figures_have_the_decimal_sign_of_the_language():
    phrases = Phrasebook({"size": "{size:gib}", "price": "{price:.2f}", "share": "{share:.1%}"}, numbers=POLISH)
    assert phrases.say(claim("size", size=6034502451)) == "5,62 GiB"
    assert phrases.say(claim("price", price=1.5)) == "1,50"
    assert phrases.say(claim("share", share=0.123)) == "12,3%"
    assert phrases.number(3.64, ".1f") == "3,6"
    assert phrases.size(GIB) == "1,00 GiB"


def test_large_numbers_are_grouped_as_the_language_does():
    assert Phrasebook({"n": "{n}"}, numbers=POLISH).text("n", n=131072) == "131\u00a0072"
    assert Phrasebook({"n": "{n}"}).text("n", n=131072) == "131,072"


def test_a_grouped_number_is_not_broken_over_two_lines():
    assert wrapped("KV cache mieści 131\u00a0072 tokeny", 20, "") == ["KV cache mieści", "131\u00a0072 tokeny"]


def test_the_value_of_an_argument_stays_as_it_is_typed():
    phrases = Phrasebook({"set": "gpu_memory_utilization = {value}"}, numbers=POLISH)
    assert phrases.text("set", value=0.9) == "gpu_memory_utilization = 0.9"


def test_where_a_figure_comes_from_is_named_in_the_language_and_files_are_not():
    phrases = Phrasebook({"named.command line": "wiersz poleceń", "named.shifted to the run": "przesunięte"})
    assert phrases.named("gpus.toml:NVIDIA L4 x command line") == "gpus.toml:NVIDIA L4 x wiersz poleceń"
    assert phrases.named("graphs:35, shifted to the run") == "graphs:35, przesunięte"
    assert phrases.named("log:412") == "log:412"


REPORTS = Path(__file__).parents[2] / "src/oomedic/reports"


@pytest.mark.parametrize("path", sorted(REPORTS.glob("*.py")), ids=lambda path: path.stem)
def test_no_report_writes_a_figure_past_the_language(path):
    """``f"{size:.2f}"`` has a point in every language; Phrasebook.number has the language's own sign."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    formats = [node.format_spec for node in ast.walk(tree) if isinstance(node, ast.FormattedValue) and node.format_spec]
    written = {part.value for each in formats for part in each.values if isinstance(part, ast.Constant)}
    assert path.stem == "phrases" or not {form for form in written if "." in form or "," in form}
