"""What people read: the cause first, figures with their origin, the plan, what is missing; and the same in Markdown."""

from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples/llama-scout-g5"
KV = (
    "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (4.51 GiB). Based on the available memory, the estimated "
    "maximum model length is 36928. Try increasing `gpu_memory_utilization` or decreasing `max_model_len`."
)
BANNER = "INFO 10-12 09:00:01 [api_server.py:1896] vLLM API server version 0.10.2\n"
LLAMA = ("--", "vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct")
HEADINGS = ["Evidence", "Budget of one GPU (NVIDIA A10G, vLLM 0.10.2)", "Plan", "Not offered", "Change of the manifest"]
MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.10.2
          args: ["--model=meta-llama/Llama-3.1-8B-Instruct"]
          resources: {limits: {nvidia.com/gpu: 1}}
"""


@pytest.fixture
def told(oomedic, tmp_path):
    (tmp_path / "chat.yaml").write_text(MANIFEST)
    return lambda *options: (
        oomedic("diagnose", "-", "--manifest", tmp_path / "chat.yaml", "--gpu", "A10G", *options, stdin=BANNER + KV).out
    )


def test_the_cause_comes_first_and_in_one_sentence(told):
    first, second, *_ = told().splitlines()
    assert first == "OOM401 kv-cache-too-small (certain)"
    assert second == "The KV cache cannot hold one request of 131,072 tokens."


def test_the_parts_come_in_the_order_in_which_they_are_needed(told):
    lines = told().splitlines()
    places = [lines.index(heading) for heading in HEADINGS]
    assert places == sorted(places)


def test_proof_names_the_line_of_the_log(told):
    assert (
        "  log:2  One request of 131,072 tokens needs 16.00 GiB of KV cache; the engine has 4.51 GiB for it." in told()
    )


def test_the_budget_comes_in_start_up_order_with_the_origin_of_each_figure(told):
    budget = told().partition("Budget of one GPU")[2].partition("Plan")[0].splitlines()
    labels = ["GPU memory", "free at start", "requested", "W weights", "N outside torch", "A activation peak"]
    labels += ["G CUDA graphs", "K KV cache", "left"]
    rows = [next(line for line in budget if line.strip().startswith(label)) for label in labels]
    assert [budget.index(row) for row in rows] == sorted(map(budget.index, rows))
    for row in rows:
        assert any(origin in row for origin in ("printed", "computed", "catalogued", "assumed")), row


def test_what_does_not_fit_runs_over_the_edge_of_the_bar(told):
    (bar,) = [line for line in told().splitlines() if line.startswith("  [W")]
    assert "|!" in bar
    assert bar.index("|") == 3 + 60


def test_what_is_left_over_is_drawn_as_dots(oomedic):
    out = oomedic("budget", "--weights", "9GB", "--gpu-memory", "24GB").out
    (bar,) = [line for line in out.splitlines() if line.startswith("  [W")]
    # 9 of the 21.6 GB that are requested, on 60 places
    assert bar == f"  [{'W' * 25}{'·' * 35}|"


def test_sizes_stand_in_the_users_unit_beside_gib(oomedic):
    out = oomedic("budget", "--weights", "9GB", "--gpu-memory", "24GB").out
    assert "20.12 GiB (21.6 GB)" in out
    assert "11.73 GiB (12.6 GB) left for the KV cache before activation and graphs." in out
    assert "GB)" not in oomedic("budget", "--weights", "9GiB", "--gpu-memory", "24GiB").out


def test_lines_are_no_wider_than_a_page(told):
    text = told().partition("Change of the manifest")[0]
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("columns", [60, 80])
def test_a_narrow_terminal_gets_lines_that_fit(told, monkeypatch, columns):
    monkeypatch.setattr("oomedic.entrypoints.terminal._width", lambda: columns)
    report, _, _ = told().partition("Change of the manifest")  # lines of files stay as they are
    assert max(map(len, report.splitlines())) <= columns
    assert "A activation peak" in report


def test_quiet_says_only_what_it_comes_to(told):
    assert told("-q").splitlines() == told().splitlines()[:2]


def test_verbose_shows_every_setting_and_where_it_comes_from(told):
    settings = told("-v").partition("\nSettings\n")[2]
    assert any(
        line.split() == ["max_num_seqs", "256", "default", "engines/0.9.0.toml:v1.batch"]
        for line in settings.splitlines()
    )
    assert "max_model_len" in settings
    assert "\nSettings\n" not in told()


def test_several_logs_are_told_apart_by_their_names(oomedic, tmp_path):
    for name in ("one.log", "two.log"):
        (tmp_path / name).write_text(BANNER + KV)
    out = oomedic("diagnose", tmp_path / "one.log", tmp_path / "two.log", "-q").out
    assert [line.partition(" · ")[0] for line in out.splitlines()[::3]] == [
        f"{tmp_path}/one.log",
        f"{tmp_path}/two.log",
    ]


def test_several_lives_are_told_apart_by_their_numbers(oomedic):
    out = oomedic("diagnose", "-", "-q", stdin=f"{BANNER}{KV}\n{BANNER}{KV}\n").out
    assert [line for line in out.splitlines() if "Life" in line] == [
        "vLLM 0.10.2 · Life 1 in this log",
        "vLLM 0.10.2 · Life 2 in this log",
    ]


def test_without_a_log_nothing_is_said_of_one(oomedic, tmp_path):
    (tmp_path / "chat.yaml").write_text(MANIFEST)
    out = oomedic("diagnose", "--manifest", tmp_path / "chat.yaml").out
    assert out.startswith("Not enough is known to tell whether this starts.\n")
    assert "log" not in out.partition("Missing evidence")[0].replace("catalogue", "")


def test_a_log_that_just_ends_is_said_to_do_so(oomedic):
    assert oomedic("diagnose", "-", stdin="").out.startswith("The log contains no error line")
    assert oomedic("diagnose", "-", stdin=BANNER).out.startswith("The log contains no error line")


def test_a_healthy_start_lacks_nothing(oomedic, real_logs):
    log = real_logs["0.15.1__healthy-sigterm.log"]
    found = oomedic("diagnose", "-", stdin=log)
    assert found.status == 0
    assert found.out.startswith("The log shows a start without a failure.\n")
    assert "Missing evidence" not in found.out


def test_an_engine_on_the_cpu_is_not_asked_for_its_gpu(oomedic, real_logs):
    found = oomedic("diagnose", "-", stdin=real_logs["0.15.1__kv-too-small.log"]).out
    assert "The engine runs on the CPU" in found
    assert "--gpu" not in found


def test_memory_that_ran_out_in_an_unknown_phase_is_said_to_be_so(oomedic):
    torch = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 2.98 GiB"
    )
    found = oomedic("diagnose", "-", stdin=torch)
    assert found.status == 3
    assert found.out.startswith("The GPU's memory ran out, but nothing shows in which phase")
    assert "The lines before the error" in found.out


def test_words_that_no_engine_knows_are_named(oomedic):
    out = oomedic("budget", "--gpu", "A10G", "--vllm", "0.10.2", *LLAMA, "--bogus", "1", "--max-model-len", "many").out
    assert "No release of vLLM knows --bogus" in out
    assert '--max-model-len: "many" is not a value that vLLM takes' in out


def test_a_release_that_is_newer_than_all_that_are_known_is_flagged(oomedic):
    assert "vLLM 99.9.0 is newer" in oomedic("budget", "--gpu", "A10G", "--vllm", "99.9", *LLAMA).out
    assert "is newer" not in oomedic("budget", "--gpu", "A10G", "--vllm", "0.33.1", *LLAMA).out


def test_a_split_that_is_refused_does_not_start(oomedic):
    out = oomedic("budget", "--gpu", "A10G", "--vllm", "0.20.0", *LLAMA, "-tp", "3").out
    assert out.startswith(
        "By our arithmetic this configuration does not start: it dies in the phase config_validation.\n"
    )
    assert "num_attention_heads 32 cannot be split over 3 GPUs" in out


def test_markdown_says_what_text_says(told):
    text, markdown = told(), told("-o", "markdown")
    assert markdown.startswith("## OOM401 kv-cache-too-small (certain)\n\nThe KV cache cannot hold")
    for heading in ("Evidence", "Plan", "Not offered", "Change of the manifest"):
        assert f"\n### {heading}\n" in markdown
    assert "| Budget of one GPU (NVIDIA A10G, vLLM 0.10.2) | | |" in markdown
    assert "\n```diff\n--- a/" in markdown
    line = "One request of 131,072 tokens needs 16.00 GiB; up to 36928 tokens fit."
    assert line in text
    assert line in markdown


def test_markdown_shows_words_with_underscores_as_they_are(told):
    assert "max\\_model\\_len" in told("-o", "markdown").partition("### Plan")[2]
