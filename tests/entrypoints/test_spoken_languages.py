"""The whole tool in two languages, and in the pseudo-language that shows what bypasses the catalogue."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import oomedic as library
from oomedic.entrypoints import options
from oomedic.entrypoints.options import parse
from oomedic.sources.index import read_part

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/llama-scout-g5"
LOG = ("--offline", "--logs", EXAMPLE / "previous-kv-cache.log", "--manifest", EXAMPLE / "deployment.yaml")
BUDGET = ("budget", "--offline", "--gpu", "A10G", "--vllm", "0.10.2")
SERVE = ("--", "vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct", "--max-model-len", "8192")
COMMANDS = tuple(options.COMMANDS)
STANDS_FOR = {
    "FILE": EXAMPLE / "previous.log",
    "deployment.yaml": EXAMPLE / "deployment.yaml",
    "MODEL": "meta-llama/Llama-3.1-8B-Instruct",
    "…": "--max-model-len=8192",
}
SENTENCE = re.compile(r"(?<![\w./:#=@-])[A-Za-z][a-z]+(?:,? [a-z]+)+(?![\w./:=-])")
"""Two words or more, the later ones in small letters: names of cards and models, codes and paths are none."""
TYPED = re.compile(rf"^ *(?:vllm serve .*|kubectl .*|A --.*)$|oomedic (?:{'|'.join(COMMANDS)})\b", re.MULTILINE)
QUOTED = re.compile(r"^--- a/.*?(?=\n\n|\Z)", re.DOTALL | re.MULTILINE)


def readme_commands():
    """Every command that the README shows, with files and models that exist in place of words like FILE."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    written = re.findall(r"<!-- output of: oomedic (.*?) -->", text)
    written += [command.replace("\\|", "|") for command in re.findall(r"`oomedic ([a-z][^`]*)`", text)]
    for command in dict.fromkeys(written):
        words = [STANDS_FOR.get(word, word) for word in command.split()]
        if words[0] == "list":
            yield from (["list", kind] for kind in words[1].split("|"))
        else:
            yield words


def in_language(language, words):
    words = list(map(str, words))
    own = words.index("--") if "--" in words else len(words)
    return [*words[:own], "--lang", language, *words[own:]]


def unmarked(text):
    """What stands outside the marks of the pseudo-language; marks may hold other marks."""
    text = QUOTED.sub("", text)
    before = None
    while before != text:
        before, text = text, re.sub(r"⟦[^⟦⟧]*⟧", "", text)
    return TYPED.sub("", text)


@pytest.fixture
def printed(tmp_path):
    """What a process prints that finds no cluster and asks no hub, on both of its outputs."""

    def run(words):
        command = [sys.executable, "-m", "oomedic.entrypoints.cli", *map(str, words)]
        environment = {**os.environ, "KUBECONFIG": str(tmp_path / "none"), "HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
        ran = subprocess.run(
            command, capture_output=True, check=False, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL
        )
        return (ran.stdout + ran.stderr).decode()

    return run


@pytest.mark.parametrize("words", list(readme_commands()), ids=lambda words: " ".join(map(str, words))[:60])
@pytest.mark.parametrize("form", [(), ("-o", "markdown"), ("-v",)])
def test_no_command_of_the_readme_prints_a_sentence_that_bypasses_the_catalogue(printed, words, form):
    said = printed(in_language("xx", [words[0], *form, *words[1:]]))
    left = unmarked(said)
    assert SENTENCE.findall(left) == [], left
    assert "⟦" in said
    assert "Traceback" not in left


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_marked_in_the_pseudo_language(oomedic, command):
    assert SENTENCE.findall(unmarked(oomedic(command, "--help", "--lang", "xx").out)) == []


def test_the_check_itself_sees_a_sentence_without_marks():
    assert SENTENCE.findall(unmarked("⟦Evidence⟧\n  log:1  the cache is too small\n")) == ["the cache is too small"]
    assert SENTENCE.findall(unmarked("⟦outer ⟦inner⟧ text⟧ max_model_len: 8192  NVIDIA L4\n--- a/x\n+ as it was")) == []


class TestPolish:
    """What a Polish reader sees."""

    def test_a_diagnosis(self, oomedic):
        lines = oomedic("diagnose", *LOG, "--lang", "pl").out.splitlines()
        assert lines[0] == "OOM401 kv-cache-too-small (pewne)"
        assert lines[1] == "Pamięć KV cache nie mieści jednego żądania o długości 32768 tokenów."
        assert "Dowody" in lines
        assert any(line.strip().startswith("1. max_model_len: 8192 (było 32768)") for line in lines)

    def test_figures_have_a_decimal_comma_and_arguments_a_point(self, oomedic):
        out = oomedic(*BUDGET, "--lang", "pl", *SERVE).out
        assert "22,06 GiB" in out
        assert "x 0.9" in out
        assert "naraz 3,64 żądania po 8192 tokeny" in out

    def test_a_page(self, oomedic):
        out = oomedic("explain", "OOM401", "--lang", "pl").out
        assert "\nDlaczego tak się dzieje\n" in out
        assert "max seq len (131072)" in out
        assert library.explain("OOM401", lang="pl").startswith("# OOM401 kv-cache-too-small\n\nPamięć KV cache")
        assert library.explain("OOM401", lang="de") == library.explain("OOM401")

    def test_an_error(self, oomedic):
        ran = oomedic("explain", "OOM4O1", "--lang", "pl")
        assert ran.status == 2
        assert ran.err.startswith("oomedic: Nie ma kodu ani nazwy „OOM4O1”.")

    def test_help_and_refusals(self, oomedic):
        assert "opcje wspólne:" in oomedic("budget", "--help", "--lang", "pl").out
        refused = oomedic("diagnose", "--fail-on", "x", "--lang", "pl")
        assert refused.status == 2
        assert "niedozwolony wybór: 'x'" in refused.err
        assert "zobacz oomedic diagnose --help" in refused.err
        assert "invalid choice: 'x'" in oomedic("diagnose", "--fail-on", "x").err

    def test_lists(self, oomedic):
        assert oomedic("list", "causes", "--lang", "pl").out.splitlines()[0].split() == ["kod", "nazwa", "tytuł"]
        assert "założone" in oomedic("list", "gpus", "--lang", "pl").out

    def test_pods_are_counted(self):
        from oomedic.entrypoints.terminal import phrasebook

        phrases = phrasebook(parse(["budget", "--lang", "pl"]))
        said = [phrases.text("rollout.ready", ready=number, wanted=number) for number in (1, 2, 5, 22)]
        assert said == [
            "1 z 1 poda jest gotowy.",
            "2 z 2 podów są gotowe.",
            "5 z 5 podów jest gotowych.",
            "22 z 22 podów są gotowe.",
        ]


@pytest.mark.parametrize("place", [("--lang", "pl", "explain", "FIX101"), ("explain", "FIX101", "--lang=pl")])
def test_the_option_stands_before_the_command_or_behind_it(oomedic, place):
    assert "Obniż max_model_len." in oomedic(*place).out


def test_the_variable_and_the_locale_choose_too(oomedic, monkeypatch):
    monkeypatch.setenv("OOMEDIC_LANG", "pl")
    assert "Obniż max_model_len." in oomedic("explain", "FIX101").out
    monkeypatch.delenv("OOMEDIC_LANG")
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.setenv("LC_MESSAGES", "pl_PL.UTF-8")
    assert "Obniż max_model_len." in oomedic("explain", "FIX101").out


def test_a_language_that_is_not_there_is_refused_with_those_that_are(oomedic):
    ran = oomedic("explain", "OOM401", "--lang", "de")
    assert ran.status == 2
    assert "'pl'" in ran.err


SAID = {"says", "what", "how", "step", "quality", "title"}
"""Keys of sentences; everything else is the same in every language."""


def without_sentences(tree):
    if isinstance(tree, dict):
        return {key: without_sentences(item) for key, item in tree.items() if key not in SAID}
    return [without_sentences(item) for item in tree] if isinstance(tree, list) else tree


@pytest.mark.parametrize(
    "words",
    [
        ["diagnose", *LOG],
        ["diagnose", "--offline", "--logs", EXAMPLE / "previous.log", "--manifest", EXAMPLE / "deployment.yaml"],
        [*BUDGET, *SERVE],
        ["plan", "meta-llama/Llama-3.1-8B-Instruct", "--offline"],
        ["inspect", EXAMPLE / "deployment.yaml"],
        ["list", "gpus"],
        ["list", "causes"],
        ["list", "instances"],
    ],
    ids=lambda words: words[0],
)
def test_json_differs_in_its_sentences_alone(oomedic, words):
    english, polish = (
        json.loads(oomedic(*in_language(language, [words[0], "-o", "json", *words[1:]])).out)
        for language in ("en", "pl")
    )
    assert without_sentences(english) == without_sentences(polish)


def test_the_sentences_of_json_follow_the_language(oomedic):
    (result,) = oomedic("diagnose", "-o", "json", *LOG, "--lang", "pl").results
    first = result["diagnosis"]["findings"][0]["because"][0]
    assert first["message"] == "OOM401.summary"
    assert first["parameters"] == {"max_model_len": 32768}
    assert first["says"] == "Pamięć KV cache nie mieści jednego żądania o długości 32768 tokenów."


def test_a_users_own_signature_keeps_its_words(oomedic, tmp_path):
    (tmp_path / "signatures").mkdir()
    (tmp_path / "signatures/ours.toml").write_text(
        'kind = "error"\nphase = "other"\nsays = "Our own words."\ncontains = ["our own failure"]\n'
    )
    out = oomedic("list", "signatures", "--data", tmp_path, "--lang", "pl").out
    assert "Our own words." in out
    english = json.loads(read_part("signatures.json"))[0]
    assert english["says"] not in out
