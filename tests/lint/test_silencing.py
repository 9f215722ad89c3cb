"""What silences a finding: a comment with a reason, and the baseline; and what is said of either."""

import json

import pytest

LONG = "--max-model-len=131072"
CARD = ("--gpu", "A10G", "-o", "json")


def told(ran):
    return {each["code"]: each for each in json.loads(ran.out)["lint"]["findings"]}


class TestComments:
    def test_a_comment_on_the_line_silences_with_its_reason(self, lint, deployment):
        ran = lint(*CARD, d=deployment(f"{LONG}  # oomedic: ignore[OOM401] only ever started with a shorter config"))
        assert ran.status == 0
        silenced = told(ran)["OOM401"]["silenced"]
        assert silenced == {"by": "comment", "reason": "only ever started with a shorter config"}

    def test_a_comment_alone_on_its_line_is_for_the_next_one(self, lint, deployment):
        text = deployment(LONG).replace(
            f"            - {LONG}", f"            # oomedic: ignore[OOM401] a reason\n            - {LONG}"
        )
        assert lint(*CARD, d=text).status == 0

    def test_several_codes_stand_in_one_comment(self, lint, deployment):
        text = deployment("--max-model-len=8192", "--max-model-len=131072 # oomedic: ignore[lint101, oom401] a reason")
        found = told(lint(*CARD, d=text))
        assert found["OOM401"]["silenced"] is not None

    def test_without_a_reason_it_silences_nothing_and_is_told(self, lint, deployment):
        ran = lint(*CARD, d=deployment(f"{LONG} # oomedic: ignore[OOM401]"))
        assert ran.status == 1
        assert told(ran)["OOM401"]["silenced"] is None
        told_of = told(ran)["LINT201"]
        assert (told_of["place"]["line"], told_of["place"]["column"]) == (13, 16 + len(LONG))

    def test_without_a_code_it_silences_nothing_and_is_told(self, lint, deployment):
        ran = lint(*CARD, d=deployment(f"{LONG} # oomedic: ignore because we say so"))
        assert told(ran)["LINT201"]["because"][0]["message"] == "LINT201.code"
        assert ran.status == 1

    def test_one_that_nothing_needs_is_told_and_fails_only_where_that_is_asked_for(self, lint, deployment):
        text = deployment("--max-model-len=8192 # oomedic: ignore[OOM401] it was longer once")
        assert "LINT202 ignore-unused (possible)" in lint("--gpu", "A10G", d=text).out
        assert lint("--gpu", "A10G", d=text).status == 0
        assert lint("--gpu", "A10G", "--fail-on", "possible", d=text).status == 1

    def test_another_code_on_the_line_is_not_silenced(self, lint, deployment):
        ran = lint(*CARD, d=deployment(f"{LONG} # oomedic: ignore[OOM201] a reason"))
        assert {code for code, each in told(ran).items() if each["silenced"] is None} == {"OOM401", "LINT202"}


class TestTheBaseline:
    @pytest.fixture
    def known(self, lint, deployment, tmp_path):
        path = tmp_path / ".known.json"
        ran = lint("--gpu", "A10G", "--write-baseline", path, d=deployment(LONG))
        assert ran.err == f"{path}: the 1 finding of now.\n"
        return path

    def test_what_it_holds_does_not_count(self, lint, deployment, known):
        ran = lint("--gpu", "A10G", "--baseline", known, d=deployment(LONG))
        assert (ran.status, ran.out) == (
            0,
            "0 findings in 1 engine, 1 file read. 1 silenced by comments or the baseline.\n",
        )

    def test_lines_above_and_other_figures_bring_nothing_back(self, lint, deployment, known):
        moved = "# a comment\n\n" + deployment("--max-model-len=120000")
        assert lint("--gpu", "A10G", "--baseline", known, d=moved).status == 0

    def test_the_same_in_another_engine_counts(self, lint, deployment, known):
        assert lint("--gpu", "A10G", "--baseline", known, d=deployment(LONG, name="other")).status == 1

    def test_what_is_not_found_any_more_is_told(self, lint, deployment, known):
        ran = lint("--gpu", "H200", "--baseline", known, d=deployment(LONG))
        assert ran.out.endswith("1 of the baseline is not found any more.\n")

    def test_writing_anew_keeps_what_was_known(self, lint, deployment, known):
        before = known.read_text(encoding="utf-8")
        lint("--gpu", "A10G", "--baseline", known, "--write-baseline", known, d=deployment(LONG))
        assert known.read_text(encoding="utf-8") == before

    @pytest.mark.parametrize(
        "text", ["", "[]", '{"schema": "other", "findings": []}', '{"schema": "oomedic/baseline-v1"}']
    )
    def test_another_file_is_refused_with_how_to_write_one(self, lint, deployment, tmp_path, text):
        path = tmp_path / "other.json"
        path.write_text(text, encoding="utf-8")
        ran = lint("--baseline", path, paths=("d.yaml",), d=deployment())
        assert (ran.status, ran.out) == (2, "")
        assert "is no baseline of oomedic lint" in ran.err
        assert "--write-baseline" in ran.err
