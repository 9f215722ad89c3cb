"""The command line as its help promises it: commands, options, formats, statuses, one message for each error."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from oomedic import __version__
from oomedic.entrypoints import cli, options
from oomedic.sources.builtin import load

EXAMPLE = Path(__file__).parents[2] / "examples/llama-scout-g5"
MANIFESTS = Path(__file__).parents[1] / "manifests"
SCRIPTS = Path(sys.executable).parent
LLAMA = ("--", "vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct", "--max-model-len", "8192")
KV = (
    "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (4.51 GiB). Based on the available memory, the estimated "
    "maximum model length is 36928.\n"
)
LIKELY = (
    "RuntimeError: CUDA out of memory occurred when warming up sampler with 256 dummy requests. Please try lowering "
    "`max_num_seqs` or `gpu_memory_utilization` when initializing the engine.\n"
)
UNKNOWN = "Traceback (most recent call last):\nRuntimeError: something that nobody has seen\n"
HEALTHY = (
    "INFO 10-12 09:05:12 [api_server.py:1839] vLLM API server version 0.11.0\nINFO:     Application startup complete.\n"
)
COMMANDS = list(options.COMMANDS)
KINDS = ("causes", "remedies", "gpus", "instances", "models", "signatures", "versions")
FORMATS = ("text", "json", "yaml", "markdown")
ESCAPE = "\x1b["


def started(*words, script="oomedic", **more):
    """Run the installed program as a process of its own."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", **more.pop("env", {})}
    return subprocess.run(
        [SCRIPTS / script, *map(str, words)], capture_output=True, text=True, check=False, env=environment, **more
    )


class TestHelp:
    def test_the_program_names_its_commands(self, oomedic):
        ran = oomedic("--help")
        assert ran.status == 0
        assert all(f"\n    {command} " in ran.out for command in COMMANDS)

    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_option_of_a_command_is_explained(self, oomedic, command):
        ran = oomedic(command, "--help")
        assert (ran.status, ran.err) == (0, "")
        parser = options._command(command)
        unexplained = [
            action.dest
            for action in parser._actions
            if not action.help and not action.choices and action.dest != "help"
        ]
        assert unexplained == []

    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_command_takes_the_common_options(self, command):
        flags = {flag for action in options._command(command)._actions for flag in action.option_strings}
        common = {"-o", "--output", "--lang", "--color", "--data", "--offline", "-v", "--verbose", "-q", "--quiet"}
        assert flags >= common

    def test_the_version_is_the_packages(self, oomedic):
        ran = oomedic("--version")
        assert (ran.status, ran.out) == (0, f"oomedic {__version__}\n")

    def test_as_a_plugin_it_is_called_as_kubectl_shows_it(self):
        ran = started("explain", script="kubectl-oomedic")
        assert ran.returncode == 2
        assert ran.stderr.startswith("kubectl oomedic explain: the following arguments are required: CODE\n")
        assert started("--version", script="kubectl-oomedic").stdout == f"oomedic {__version__}\n"

    def test_without_a_command_it_says_how_to_ask(self, oomedic):
        ran = oomedic()
        assert ran.status == 2
        assert "oomedic --help" in ran.err


class TestStatus:
    @pytest.mark.parametrize(
        ("log", "fail_on", "status"),
        [
            (HEALTHY, "likely", 0),
            (KV, "likely", 1),
            (KV, "certain", 1),
            (KV, "possible", 1),
            (KV, "never", 0),
            (LIKELY, "certain", 0),
            (LIKELY, "likely", 1),
            (UNKNOWN, "likely", 3),
            (UNKNOWN, "never", 3),
            ("", "likely", 3),
            ("just a line\n", "likely", 3),
        ],
    )
    def test_of_a_diagnosis(self, oomedic, log, fail_on, status):
        assert oomedic("diagnose", "-", "--fail-on", fail_on, stdin=log).status == status

    @pytest.mark.parametrize("output", FORMATS)
    def test_does_not_depend_on_the_format(self, oomedic, output):
        assert oomedic("diagnose", "-", "-o", output, stdin=KV).status == 1
        assert oomedic("diagnose", "-", "-o", output, stdin=UNKNOWN).status == 3
        assert oomedic("diagnose", "-", "-o", output, stdin=HEALTHY).status == 0

    def test_of_a_manifest_alone_is_that_of_its_arithmetic(self, oomedic):
        words = ("--gpu", "A10G", "--vllm", "0.10.2")
        assert oomedic("diagnose", *words, *LLAMA).status == 0
        assert oomedic("diagnose", *words, *LLAMA[:-2]).status == 1
        assert oomedic("diagnose", "--fail-on", "never", *words, *LLAMA[:-2]).status == 0
        assert oomedic("diagnose", *LLAMA).status == 3  # no card: nothing decides

    def test_one_cause_among_several_logs_is_enough(self, oomedic, tmp_path):
        for name, log in {"a.log": UNKNOWN, "b.log": KV}.items():
            (tmp_path / name).write_text(log)
        assert oomedic("diagnose", tmp_path / "a.log", tmp_path / "b.log").status == 1

    @pytest.mark.parametrize("command", [("budget",), ("budget", "--gpu", "A10G", *LLAMA[:-2]), ("list", "gpus")])
    def test_of_what_only_shows_something_is_0(self, oomedic, command):
        assert oomedic(*command).status == 0


BAD = {
    "an unknown command": ("diagnos",),
    "an unknown option": ("diagnose", "--lgos", "x"),
    "an abbreviated option": ("diagnose", "--man", "x"),
    "an unknown format": ("budget", "-o", "xml"),
    "an unknown list": ("list", "things"),
    "an unknown code": ("explain", "OOM999"),
    "nothing to diagnose": ("diagnose",),
    "a missing log": ("diagnose", "--logs", "/nowhere/x.log"),
    "a missing target": ("diagnose", "/nowhere/x.log"),
    "a missing manifest": ("diagnose", "--manifest", "/nowhere/x.yaml"),
    "a folder as a log": ("diagnose", "--logs", "/"),
    "no manifest": ("inspect", "/nowhere"),
    "a log as a manifest": ("inspect", str(EXAMPLE / "previous.log")),
    "a template": ("inspect", str(MANIFESTS / "33-helm-template.yaml")),
    "an ambiguous card": ("budget", "--gpu", "A100"),
    "an unknown card": ("budget", "--gpu", "RTX 42"),
    "a size without a unit": ("budget", "--gpu-memory", "24"),
    "a negative size": ("budget", "--gpu-memory=-24GiB"),
    "no size": ("budget", "--weights", "lots"),
    "no count": ("diagnose", "-", "--gpu-count", "many"),
    "a count of nothing": ("diagnose", "-", "--gpu-count", "0"),
    "no release": ("budget", "--vllm", "latest"),
    "one release of two": ("budget", "--vllm", "0.10.2,banana"),
    "no variable": ("budget", "--env", "VLLM_USE_V1"),
    "an unknown model": ("budget", "--model", "nobody/nothing"),
    "a model without a config": ("budget", "--model", "/nowhere"),
    "a length below one": ("plan", "Qwen/Qwen3-8B", "--context", "-1"),
    "a price below zero": ("plan", "Qwen/Qwen3-8B", "--max-price=-1"),
    "a price that is no number": ("plan", "Qwen/Qwen3-8B", "--max-price", "nan"),
    "a missing file of prices": ("list", "gpus", "--prices", "/nowhere"),
    "a time without a unit": ("verify", "deploy/chat", "--soak", "60"),
    "no folder of data": ("list", "gpus", "--data", "/nowhere"),
    "standard input twice": ("diagnose", "--logs", "-", "--manifest", "-"),
    "an unknown language": ("budget", "--lang", "tlh"),
}


class TestErrors:
    @pytest.mark.parametrize("what", BAD)
    def test_wrong_usage_is_one_message_and_status_2(self, oomedic, what):
        ran = oomedic(*BAD[what])
        assert ran.status == 2
        assert ran.out == ""
        first, *more = ran.err.splitlines()
        assert first.startswith("oomedic")
        assert more
        assert all(line.startswith("         ") for line in more)
        assert "Traceback" not in ran.err
        assert "{" not in ran.err  # every placeholder is filled

    def test_what_went_wrong_is_not_told_in_pythons_words(self, oomedic, tmp_path):
        (tmp_path / "broken.json").write_text("{", encoding="utf-8")
        for command in (("list", "gpus", "--prices"), ("lint", EXAMPLE, "--baseline")):
            assert "Error" not in oomedic(*command, tmp_path / "broken.json").err
            assert "no such file" in oomedic(*command, tmp_path / "missing.json").err

    def test_an_unknown_name_shows_the_nearest_ones(self, oomedic):
        assert "kv-cache" not in oomedic("explain", "OOM499").out
        assert "OOM401" in oomedic("explain", "kv-cache-to-small").err
        assert "NVIDIA A10G" in oomedic("budget", "--gpu", "A10GG").err
        assert "meta-llama/Llama-3.1-8B-Instruct" in oomedic("budget", "--model", "meta-llama/Llama-3.1-8B-Instruc").err

    def test_an_ambiguous_name_lists_the_candidates(self, oomedic):
        assert (
            "NVIDIA A100-SXM4-40GB, NVIDIA A100-PCIE-40GB, NVIDIA A100-SXM4-80GB"
            in oomedic("budget", "--gpu", "A100").err
        )

    def test_the_reason_why_a_model_is_not_known_is_told(self, oomedic, monkeypatch):
        assert "works offline" in oomedic("budget", "--model", "a/b").err
        monkeypatch.delenv("HF_HUB_OFFLINE")
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
        assert "could not be reached" in oomedic("budget", "--model", "a/b").err

    def test_an_interrupted_run_ends_quietly(self, oomedic, monkeypatch):
        def interrupted(_):
            raise KeyboardInterrupt

        monkeypatch.setattr(cli, "_run", interrupted)
        ran = oomedic("budget")
        assert (ran.status, ran.out, ran.err) == (130, "", "")

    def test_json_stands_alone_on_standard_output(self):
        ran = started("diagnose", "-", "-o", "json", input=UNKNOWN)
        assert ran.returncode == 3
        assert ran.stderr == ""
        assert json.loads(ran.stdout)["schema"] == "oomedic/v1"


class TestOutput:
    def test_a_reader_that_leaves_is_no_error(self):
        program = f"{SCRIPTS / 'oomedic'} list models | head -n 1; echo ${{PIPESTATUS[0]}}"
        ran = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=False)
        assert ran.stderr == ""
        assert ran.stdout.splitlines()[-1] == "0"

    def test_characters_that_an_encoding_lacks_are_replaced(self):
        ran = started("list", "instances", env={"PYTHONIOENCODING": "ascii"})
        assert (ran.returncode, ran.stderr) == (0, "")
        assert "?" in ran.stdout

    @pytest.mark.parametrize("words", [("explain", "OOM401"), ("diagnose", "--help"), ("explain", "nothing")])
    def test_an_encoding_without_the_languages_letters_is_no_error(self, words):
        ran = started(*words, "--lang", "pl", env={"PYTHONIOENCODING": "ascii"})
        assert "Traceback" not in ran.stderr
        assert "?" in ran.stdout + ran.stderr
        assert "\\u" not in ran.stdout + ran.stderr

    @pytest.mark.parametrize(
        ("streams", "status"),
        [
            ("explain OOM401 >&-", 0),
            ("explain nothing 2>&-", 2),
            ("diagnose - <&-", 3),
            ("explain OOM401 >/dev/full", 2),
            ("list models -o json >/dev/full", 2),
        ],
    )
    def test_streams_that_are_closed_or_full_bring_no_traceback(self, streams, status):
        program = f"{SCRIPTS / 'oomedic'} {streams}"
        ran = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=False)
        assert ran.returncode == status
        assert "Traceback" not in ran.stderr
        assert "Exception" not in ran.stderr
        assert ("No space left" in ran.stderr) is ("full" in streams)

    @pytest.mark.parametrize(
        "command", [("diagnose", "-"), ("explain", "OOM401"), ("list", "gpus"), ("budget", "--gpu", "A10G")]
    )
    def test_colour_is_there_when_it_is_asked_for_and_not_in_a_pipe(self, oomedic, command):
        assert ESCAPE in oomedic(*command, "--color", "always", stdin=KV).out
        assert ESCAPE not in oomedic(*command, "--color", "never", stdin=KV).out
        assert ESCAPE not in oomedic(*command, stdin=KV).out

    @pytest.mark.parametrize(
        ("environment", "coloured"),
        [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
    )
    def test_on_a_terminal_the_environment_decides(self, monkeypatch, environment, coloured):
        from argparse import Namespace

        from oomedic.entrypoints.colours import colours

        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("NO_COLOR", raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        assert colours(Namespace(color="auto")) == coloured
        assert colours(Namespace(color="always"))
        assert not colours(Namespace(color="never"))

    def test_a_coloured_report_says_the_same(self, oomedic):
        plain, coloured = (oomedic("diagnose", "-", "--color", when, stdin=KV).out for when in ("never", "always"))
        assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain

    def test_yaml_is_the_json(self, oomedic):
        as_json, as_yaml = (oomedic("diagnose", "-", "-o", output, stdin=KV).out for output in ("json", "yaml"))
        assert yaml.safe_load(as_yaml) == json.loads(as_json)


class TestInput:
    def test_a_log_may_come_from_standard_input(self, oomedic):
        assert "OOM401" in oomedic("diagnose", "-", stdin=KV).out
        assert "OOM401" in oomedic("diagnose", "--logs", "-", stdin=KV).out

    def test_a_manifest_may_come_from_standard_input(self, oomedic):
        text = (EXAMPLE / "deployment.yaml").read_text()
        assert "max_model_len" in oomedic("inspect", "-", stdin=text).out
        assert "OOM202" in oomedic("diagnose", "--logs", EXAMPLE / "previous.log", "--manifest", "-", stdin=text).out

    def test_files_are_told_apart_without_options(self, oomedic):
        ran = oomedic("diagnose", EXAMPLE / "previous.log", EXAMPLE / "deployment.yaml")
        assert "OOM202" in ran.out

    def test_the_engines_words_may_be_a_whole_command(self, oomedic):
        serve = oomedic("budget", "--gpu", "A10G", "--vllm", "0.10.2", *LLAMA).out
        words = ("python3", "-m", "vllm.entrypoints.openai.api_server", "--model", LLAMA[3], "--max_model_len=8192")
        assert oomedic("budget", "--gpu", "A10G", "--vllm", "0.10.2", "--", *words).out == serve
        assert (
            oomedic("budget", "--gpu", "A10G", "--vllm", "0.10.2", "--", LLAMA[3], "--max-model-len", "8192").out
            == serve
        )

    def test_a_variable_can_choose_the_engine(self, oomedic):
        words = ("budget", "-v", "--gpu", "A10G", "--vllm", "0.8.5")
        v1, v0 = (oomedic(*words, *more, *LLAMA).out for more in ((), ("--env", "VLLM_USE_V1=0")))
        assert "engines/0.8.5.toml:v1.batch" in v1
        assert "v0.batch" in v0

    def test_a_model_may_be_a_folder_or_a_config(self, oomedic, tmp_path):
        config = load().model(LLAMA[3]).config
        (tmp_path / "config.json").write_text(json.dumps(dict(config)))
        words = ("-o", "json", "--gpu", "A10G", "--vllm", "0.10.2", "--", "--max-model-len", "8192")
        known = oomedic("budget", "--model", LLAMA[3], *words).results[0]["budget"]["items"]["weights"]["value"]
        for path in (tmp_path, tmp_path / "config.json"):
            own = oomedic("budget", "--model", path, *words).results[0]
            assert own["budget"]["items"]["weights"]["value"] == known
            assert own["budget"]["items"]["weights"]["where"].startswith(str(tmp_path))

    def test_what_the_user_knows_outranks_what_is_computed(self, oomedic):
        words = ("budget", "-o", "json", "--vllm", "0.10.2")
        (found,) = oomedic(*words, "--gpu-memory", "48GiB", "--weights", "9GB", *LLAMA).results
        assert found["budget"]["total"]["value"] == 48 * 2**30
        assert found["budget"]["items"]["weights"]["value"] == 9_000_000_000
        assert found["budget"]["items"]["weights"]["where"] == "--weights"

    def test_a_users_own_cards_are_known(self, oomedic, tmp_path):
        (tmp_path / "gpus.toml").write_text('[[gpu]]\nname = "Homemade 9000"\nmemory = "30GiB"\nsource = "mine"\n')
        ran = oomedic("budget", "-o", "json", "--gpu", "Homemade 9000", "--data", tmp_path, "--weights", "9GB")
        assert ran.results[0]["budget"]["total"]["value"] == 30 * 2**30


class TestExplain:
    @pytest.mark.parametrize("code", [*load().codes()])
    def test_every_code_has_a_page(self, oomedic, code):
        ran = oomedic("explain", code)
        assert (ran.status, ran.err) == (0, "")
        assert ran.out.startswith(f"{code} ")

    @pytest.mark.parametrize("name", ["OOM401", "oom401", "kv-cache-too-small", " KV-cache-too-small "])
    def test_a_code_or_its_name_in_any_case(self, oomedic, name):
        assert oomedic("explain", name).out.startswith("OOM401 kv-cache-too-small\n")

    @pytest.mark.parametrize("output", FORMATS)
    def test_every_format_holds_the_same_sections(self, oomedic, output):
        out = oomedic("explain", "OOM401", "-o", output).out
        for heading in ("What you see", "Why it happens", "What makes it worse", "Since"):
            assert heading in out
        read = {"json": json.loads, "yaml": yaml.safe_load}.get(output, str)
        assert read(out)

    def test_markdown_has_headings(self, oomedic):
        out = oomedic("explain", "OOM401", "-o", "markdown").out
        assert out.startswith("# OOM401 kv-cache-too-small\n")
        assert "\n## What you see\n" in out


class TestList:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("output", FORMATS)
    def test_every_list_in_every_format(self, oomedic, kind, output):
        ran = oomedic("list", kind, "-o", output)
        assert (ran.status, ran.err) == (0, "")
        rows = len(json.loads(oomedic("list", kind, "-o", "json").out))
        assert rows > 20
        if output in {"text", "markdown"}:
            assert len(ran.out.splitlines()) == rows + (1 if output == "text" else 2)
        else:
            assert len(yaml.safe_load(ran.out) if output == "yaml" else json.loads(ran.out)) == rows

    def test_what_is_listed_can_be_asked_for(self, oomedic):
        names = [row["name"] for row in json.loads(oomedic("list", "gpus", "-o", "json").out)]
        for name in names[:: len(names) // 12]:
            assert oomedic("budget", "--gpu", name, "--weights", "1GiB").status == 0, name

    def test_there_are_as_many_facts_as_promised(self, oomedic):
        assert len(json.loads(oomedic("list", "gpus", "-o", "json").out)) >= 44
        assert len(json.loads(oomedic("list", "models", "-o", "json").out)) >= 600
