"""Every page of a cause, executed: its examples fire, its counter-examples stay silent; and what all causes promise."""

import importlib
import io
import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oomedic import __version__, causes
from oomedic.catalogue import Catalogue
from oomedic.entrypoints.cli import main
from oomedic.pipeline import Library, Log, Question, diagnose_crash
from oomedic.sources.builtin import load

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "tests/codes.lock"
FOLDER = ROOT / "src/oomedic/causes"
HEADINGS = [
    "What you see",
    "Why it happens",
    "Example",
    "Not this",
    "What helps, in order, and why",
    "What makes it worse",
    "Since",
]
BESIDE = {"VER101"}
"""Causes that stand beside another one and are never first."""
ANY_LOG = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def pages():
    catalogue: Catalogue = load()
    return {code: catalogue.page(code) for code in catalogue.codes()}


PAGES = pages()
OBSERVED = {"container_refused", "gpu_driver", "gpu_shared"}
"""Facts that no line of a log prints (observed/telling.py)."""
CAUSES = {code: page for code, page in PAGES.items() if page["kind"] == "cause"}
BOUND = {code: importlib.import_module(f"oomedic.causes.{page['module']}").match for code, page in CAUSES.items()}


def blocks(text):
    """The commands of a section, each with the lines below it."""
    found = []
    for line in text.splitlines():
        if line.startswith("    $ "):
            found.append((line[6:], []))
        elif line.startswith("    ") and found:
            found[-1][1].append(line[4:])
    return found


def files_of(lines):
    """What a block gives: the log, and files introduced by a line ``# NAME``."""
    if not any(re.fullmatch(r"# [\w.-]+", line) for line in lines):
        return {"log": lines}
    files, name = {}, "log"
    for line in lines:
        if re.fullmatch(r"# [\w.-]+", line):
            name = line[2:]
        else:
            files.setdefault(name, []).append(line)
    return files


def executed(section):
    return [
        pytest.param(code, command, tuple(lines), id=f"{code}-{number}")
        for code, page in CAUSES.items()
        for number, (command, lines) in enumerate(blocks(page["sections"][section]))
    ]


@pytest.fixture
def diagnosed(tmp_path, monkeypatch, capsys):
    """Run a command of a page and return the codes that it finds."""

    def run(command, lines):
        files = files_of(list(lines))
        for name, content in files.items():
            (tmp_path / name).write_text("\n".join(content) + "\n")
        log = "\n".join(files.get("log", ())).encode()
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(log)))
        words = shlex.split(command)
        assert words[:2] == ["oomedic", "diagnose"]
        main(["diagnose", "-o", "json", *words[2:]])
        result = json.loads(capsys.readouterr().out)["results"][0]
        return [finding["code"] for finding in result["diagnosis"]["findings"]]

    return run


# ── the pages ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("code", "command", "lines"), executed("Example"))
def test_an_example_is_recognised_first(code, command, lines, diagnosed):
    found = diagnosed(command, lines)
    assert code in found
    assert found[0] == code or code in BESIDE


@pytest.mark.parametrize(("code", "command", "lines"), executed("Not this"))
def test_a_counter_example_stays_silent(code, command, lines, diagnosed):
    assert code not in diagnosed(command, lines)


@pytest.mark.parametrize("code", CAUSES)
def test_a_page_has_its_headings_in_order_and_both_kinds_of_examples(code):
    sections = CAUSES[code]["sections"]
    assert list(sections) == HEADINGS
    assert blocks(sections["Example"])
    assert blocks(sections["Not this"])


@pytest.mark.parametrize("code", CAUSES)
def test_a_file_is_short_and_half_of_it_explains(code):
    text = (FOLDER / f"{CAUSES[code]['module']}.py").read_text()
    lines = text.splitlines()
    docstring = text.split('"""')[1].splitlines()
    assert len(lines) <= 145, "a cause is explained and recognised on a page or two"
    assert len(docstring) >= len(lines) * 0.35


# ── what causes promise ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("code", CAUSES)
def test_no_remedy_both_helps_and_harms(code):
    bound = BOUND[code]
    assert not set(bound.helps) & {*bound.useless, *bound.worsens}
    assert len(set(bound.helps)) == len(bound.helps)


@pytest.mark.parametrize("code", CAUSES)
def test_a_cause_names_only_remedies_and_causes_that_exist(code):
    bound = BOUND[code]
    remedies = {known for known, page in PAGES.items() if page["kind"] == "remedy"}
    assert {*bound.helps, *bound.useless, *bound.worsens} <= remedies
    assert set(bound.narrows) <= set(CAUSES)


@pytest.mark.parametrize("code", CAUSES)
def test_a_cause_offers_something(code):
    assert BOUND[code].helps


def test_causes_that_narrow_each_other_never_erase_both():
    assert not [(one, other) for one, bound in BOUND.items() for other in bound.narrows if one in BOUND[other].narrows]


def test_a_cause_reads_signatures_that_exist_and_every_error_is_read_by_one(signature_rows):
    names = {row["name"] for row in signature_rows}
    errors = {row["name"] for row in signature_rows if row["kind"] == "error"}
    read = {signature for bound in BOUND.values() for signature in bound.reads}
    assert read <= names | OBSERVED
    assert errors <= read


@pytest.mark.parametrize("code", CAUSES)
def test_every_message_of_a_cause_is_written_and_used(code):
    page = CAUSES[code]
    source = (FOLDER / f"{page['module']}.py").read_text().split('"""', 2)[2]
    messages = load().messages()
    written = {name.removeprefix(f"{code}.") for name in messages if name.startswith(f"{code}.")}
    used = set(re.findall(rf"{code}\.([\w-]+)", source))
    assert used <= written, "a message is missing in the section Says"
    named_apart = {name for name in written if f'"{name}"' in source or f'("{name}"' in source}
    assert written <= used | named_apart, "a message is never used"


def test_modules_load_by_name():
    assert causes.load(["port_in_use"])[0].code == "POD108"


# ── the register of codes ────────────────────────────────────────────────────────────────────────────────────────────


def locked():
    rows = (line.split() for line in LOCK.read_text().splitlines() if line and not line.startswith("#"))
    return {code: (name, " ".join(status)) for code, name, *status in rows}


def test_the_lock_lists_every_code_with_its_name():
    active = {code: name for code, (name, status) in locked().items() if status == "active"}
    assert active == {code: page["name"] for code, page in PAGES.items()}


def test_a_removed_code_redirects_to_one_that_is_active():
    rows = locked()
    for name, status in rows.values():
        assert status == "active" or rows[status.removeprefix("see ")][1] == "active", name


def test_the_lock_is_sorted():
    assert list(locked()) == sorted(locked())


# ── logs that nobody wrote ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def library():
    return Library(load(), __version__)


def findings(library, lines):
    report = diagnose_crash(Question((Log("log", ["\n".join(lines).encode()]),)), library)
    return [finding for result in report.results for finding in (result.diagnosis.findings if result.diagnosis else ())]


def samples(rows, *kinds):
    return [sample["line"] for row in rows if row["kind"] in kinds for sample in row["sample"]]


@ANY_LOG
@given(data=st.data())
def test_any_lines_in_any_order_are_diagnosed_without_an_accident(data, library, signature_rows):
    lines = samples(signature_rows, "error", "wrapper", "mark", "figure", "setting", "warning", "frame", "generic")
    chosen = data.draw(st.lists(st.sampled_from(lines), min_size=1, max_size=12))
    for finding in findings(library, chosen):
        assert finding.because
        assert finding.confidence in {"certain", "likely", "possible"}


@ANY_LOG
@given(data=st.data())
def test_what_is_certain_points_at_a_line(data, library, signature_rows):
    lines = data.draw(st.lists(st.sampled_from(samples(signature_rows, "error")), min_size=1, max_size=6))
    for finding in findings(library, lines):
        assert finding.confidence != "certain" or finding.line is not None


def test_wrappers_alone_name_no_cause(library, signature_rows):
    """They only say that something else failed; a signal that they tell of is something."""
    telling = ("exit_signal", "worker_died", "engine_core_initialization_failed")
    rows = [row for row in signature_rows if row["name"] not in telling]
    for line in samples(rows, "wrapper"):
        if "validation error" not in line and "Worker failed with" not in line:
            assert findings(library, [line]) == [], line


def test_errors_of_other_ranks_do_not_hide_the_first_cause(library):
    lost = (
        "(Worker_TP1 pid=12) RuntimeError: [/gloo/transport/tcp/pair.cc:547] Connection closed by peer [10.0.0.1]:4004"
    )
    cause = "(Worker_TP0 pid=11) ValueError: No available memory for the cache blocks."
    for lines in ([lost, cause], [cause, lost]):
        assert [finding.code for finding in findings(library, lines)] == ["OOM402"]


def test_advice_to_install_a_package_is_no_cause(library):
    advice = (
        "(EngineCore pid=3) WARNING 01-01 00:00:00 [topk_topp_sampler.py:69] FlashInfer is not available. "
        "Falling back to the PyTorch-native implementation. For the best performance, please install FlashInfer."
    )
    assert findings(library, [advice]) == []


def test_once_the_server_is_ready_a_lookup_that_failed_is_no_crash(library):
    ready = "INFO:     Application startup complete."
    refused = "huggingface_hub.errors.GatedRepoError: 403 Client Error."
    assert findings(library, [ready, refused]) == []
    assert findings(library, [refused])[0].code == "POD102"


def test_a_retry_that_the_engine_got_over_is_no_cause(library):
    retry = "ERROR [config.py:130] Error retrieving file list: 429 Client Error: Too Many Requests for url: https://huggingface.co/api/models/a/b"
    start = "INFO 01-01 00:00:01 [core.py:93] Initializing a V1 LLM engine (v0.10.2) with config: model='m'"
    crash = "ValueError: No available memory for the cache blocks."
    assert [finding.code for finding in findings(library, [retry, start, crash])] == ["OOM402"]


def test_an_exception_that_nothing_reads_is_not_taken_for_a_kill(library):
    log = [
        "INFO 01-01 00:00:01 [core.py:93] Initializing a V1 LLM engine (v0.10.2) with config: model='m'",
        "(EngineCore_0 pid=9) ERROR 01-01 00:00:02 [core.py:700] EngineCore failed to start.",
        "(EngineCore_0 pid=9) ERROR 01-01 00:00:02 [core.py:700] Exception: num_bits must be 4, got 3",
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
    ]
    assert "HOST101" not in [finding.code for finding in findings(library, log)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Value error, Sleep mode is not supported on current platform. [type=value_error, input_value=1]", "CFG119"),
        ("Value error, max_cpu_loras (1) must be >= max_loras (2) [type=value_error, input_value=1]", "CFG118"),
        ("Value error, tensors must be divisible by 16 [type=value_error, input_value=1]", "CFG108"),
        ("Value error, Unknown kv cache dtype: int4 [type=value_error, input_value=1]", "CFG104"),
        ("Value error, prompt_lookup_max=0 must be > 0 [type=value_error, input_value=1]", "CFG111"),
        ("NotImplementedError: MLA is not supported on CPU.", "CFG119"),
        ("AssertionError: FlashMLA is not supported for this head", "CFG109"),
        ("AttributeError: 'NoneType' object has no attribute 'shape'", "VER102"),
    ],
)
def test_a_refusal_that_no_signature_knows_is_placed_by_its_words(text, code, library):
    """vLLM words hundreds of refusals; the text says what they are about."""
    log = ["INFO 01-01 00:00:00 [utils.py:1] non-default args: {'model': 'm'}", f"(APIServer pid=1)   {text}"]
    found = findings(library, log)
    assert found[0].code == code
    assert found[0].confidence != "certain"


# ── what is seen beside the log ──────────────────────────────────────────────────────────────────────────────────────

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: llm-0, namespace: ml}}
spec:
  nodeName: n1
  containers:
    - name: engine
      image: vllm/vllm-openai:v0.11.0
      args: [--model, Qwen/Qwen2.5-0.5B-Instruct]
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
      startupProbe: {{httpGet: {{path: /health, port: 8000}}, periodSeconds: 10, failureThreshold: 12}}
status:
  containerStatuses:
    - name: engine
      restartCount: 2
      {status}
"""
ENDED = 'lastState: {{terminated: {{exitCode: {code}, reason: {reason}, startedAt: "{start}", finishedAt: "{end}"}}}}'
NODE = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {nvidia.com/gpu.replicas: "4", nvidia.com/gpu.sharing-strategy: time-slicing}}
"""
LOADING = "INFO 11-30 15:35:18 [gpu_model_runner.py:2338] Starting to load model m..."
READY = "INFO:     Application startup complete."
FULL = (
    "ValueError: Free memory on device cuda:0 (9.57/22.05 GiB) on startup is less than desired GPU memory utilization "
    "(0.9, 19.84 GiB)."
)
NO_CACHE = "ValueError: No available memory for the cache blocks."
REFUSED = POD.format(status="state: {waiting: {reason: RunContainerError, message: no such device}}")
HOOK = POD.format(status="state: {waiting: {reason: PostStartHookError, message: no}}")


def ended(code, seconds, reason="Error"):
    end = f"2025-01-01T00:{seconds // 60:02}:{seconds % 60:02}Z"
    return POD.format(status=ENDED.format(code=code, reason=reason, start="2025-01-01T00:00:00Z", end=end))


def beside(log, **files):
    """The lines of a block that carries files."""
    written = [("# " + name.replace("_", "."), *content.splitlines()) for name, content in files.items()]
    return [line for file in written for line in file] + ["# log", *log]


@pytest.mark.parametrize(
    ("pod", "log", "expected"),
    [
        pytest.param(ended(137, 152), [LOADING], ["POD101", "HOST101"], id="killed-when-the-probe-gives-up"),
        pytest.param(ended(137, 40), [LOADING], ["HOST101"], id="killed-long-before"),
        pytest.param(ended(137, 152, "OOMKilled"), [LOADING], ["HOST101"], id="killed-for-memory"),
        pytest.param(ended(137, 152), [LOADING, READY], ["HOST101"], id="killed-while-serving"),
        pytest.param(ended(143, 40), [LOADING], ["POD101"], id="told-to-stop-while-loading"),
        pytest.param(ended(143, 40), [LOADING, READY], [], id="told-to-stop-while-serving"),
        pytest.param(ended(143, 40), [LOADING, NO_CACHE], ["OOM402"], id="stopped-after-an-error"),
        pytest.param(REFUSED, [], ["POD104"], id="refused"),
        pytest.param(HOOK, [], [], id="a-hook"),
    ],
)
def test_how_a_container_ended_decides_where_the_log_does_not(pod, log, expected, diagnosed):
    assert diagnosed("oomedic diagnose --pod pod.yaml -", beside(log, pod_yaml=pod)) == expected


def test_a_card_that_the_node_hands_out_several_times_is_shared_on_purpose(diagnosed):
    files = {"pod_yaml": ended(1, 40), "node_yaml": NODE}
    assert diagnosed("oomedic diagnose --pod pod.yaml --pod node.yaml -", beside([FULL], **files))[0] == "OOM103"
    assert diagnosed("oomedic diagnose --pod pod.yaml -", beside([FULL], pod_yaml=ended(1, 40)))[0] == "OOM101"
