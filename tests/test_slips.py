"""Every page of a slip, executed: its example is told, its counter-example is not; and what all slips promise."""

import re
from pathlib import Path

import pytest

from oomedic.sources.builtin import load

LOCK = Path(__file__).parent / "codes.lock"
CATALOGUE = load()
SLIPS = {code: page for code in CATALOGUE.codes() if (page := CATALOGUE.page(code))["kind"] == "slip"}


def blocks(text):
    """The commands of a section, each with the file below it."""
    found = [part.split("\n", 1) for part in text.split("    $ ")[1:]]
    return [(command, re.sub(r"^ {4}", "", body, flags=re.MULTILINE)) for command, body in found]


@pytest.mark.parametrize("code", SLIPS)
@pytest.mark.parametrize(("section", "told"), [("Example", True), ("Not this", False)])
def test_the_examples_of_a_page_hold(oomedic, code, section, told):
    examples = blocks(SLIPS[code]["sections"][section])
    assert examples
    for command, manifest in examples:
        words = command.split()[1:]
        ran = oomedic(*words, stdin=manifest)
        assert ran.status < 2, ran.err
        assert (f" {code} " in ran.out) is told, ran.out


def test_every_page_has_the_same_headings():
    headings = ["What you see", "Why it happens", "Example", "Not this", "What to do"]
    assert all(list(page["sections"]) == headings for page in SLIPS.values())


def test_every_code_is_locked():
    lines = [line.split() for line in LOCK.read_text(encoding="utf-8").splitlines() if line.startswith("LINT")]
    assert [(code, name) for code, name, _ in lines] == [(code, page["name"]) for code, page in SLIPS.items()]


def test_a_slip_can_be_explained_by_code_and_by_name(oomedic):
    assert oomedic("explain", "LINT102").out == oomedic("explain", "variable-unread").out
    assert "A variable that nothing reads." in oomedic("explain", "lint102").out
