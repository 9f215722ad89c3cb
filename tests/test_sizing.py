"""From a model to instance types, as the command line asks: options, variants, and budgets that agree."""

import json

import pytest

from oomedic.entrypoints.cli import main

SCOUT = "meta-llama/Llama-4-Scout-17B-16E-Instruct"
LLAMA = "meta-llama/Llama-3.3-70B-Instruct"
LONG = ("--env", "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1")
DENSE_17B = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "torch_dtype": "float16",
    "hidden_size": 5120,
    "intermediate_size": 13824,
    "num_attention_heads": 40,
    "num_key_value_heads": 40,
    "num_hidden_layers": 53,
    "max_position_embeddings": 4096,
    "vocab_size": 32000,
}


@pytest.fixture
def dense_17b(tmp_path):
    """The config.json of the runbook's dense 17B model."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(DENSE_17B), encoding="utf-8")
    return str(path)


def asked(capsys, *words, status=0):
    assert main(["plan", *words, "--offline", "-o", "json"]) == status
    return json.loads(capsys.readouterr().out)


def sizes(tree):
    """Return a budget without the names of the options that its figures come from."""
    return {key: sizes(item) if isinstance(item, dict) else item for key, item in tree.items() if key != "where"}


def flags(arguments):
    return [word for name, value in arguments.items() for word in _flag("--" + name.replace("_", "-"), value)]


def _flag(flag, value):
    return (flag,) if value is True else (flag, str(value))


@pytest.mark.parametrize(("model", "context", "concurrency"), [(LLAMA, 32768, 4), (SCOUT, 32768, 1), ("", 32768, 1)])
def test_each_answer_fits_when_its_budget_is_computed_alone(model, context, concurrency, capsys, dense_17b):
    model = model or dense_17b
    report = asked(capsys, model, "--context", str(context), "--concurrency", str(concurrency))
    for result in report["results"]:
        instance = result["instance"]
        named = ["--model", model] if model == dense_17b else []
        serve = ["--", "vllm", "serve", *([] if named else [model]), "--max-model-len", str(context)]
        words = ["--gpu", instance["gpu"], "--vllm", result["subject"]["vllm"], *named, "-o", "json", *LONG, *serve]
        assert main(["budget", *words, *flags(instance["arguments"])]) == 0
        (again,) = json.loads(capsys.readouterr().out)["results"]
        assert again["outcome"] == "starts"
        assert sizes(again["budget"]) == sizes(result["budget"])
        assert again["kv_cache"]["max_concurrency"] >= concurrency


def test_the_runbooks_instance_is_among_the_answers_for_its_model(capsys, dense_17b):
    report = asked(capsys, dense_17b, "--context", "32k")
    found = {each["instance"]["type"]: each["instance"] for each in report["results"]}
    assert found["g5.12xlarge"]["tensor_parallel_size"] == 4
    assert found["g5.12xlarge"]["price_usd_per_hour"] == 5.672
    assert found["g5.12xlarge"]["price_date"] == "2026-07-20"


def test_a_length_beyond_the_models_own_is_named(capsys, dense_17b):
    report = asked(capsys, dense_17b, "--context", "32k")
    assert "search.beyond-model" in [note["message"] for note in report["notes"]]


def test_arguments_that_the_engine_refuses_on_any_card_are_refused(capsys):
    words = [SCOUT, "--context", "8k", "--concurrency", "64", "--offline", "--"]
    assert main(["plan", *words, "--max-num-batched-tokens", "32"]) == 2
    assert "max_num_batched_tokens" in capsys.readouterr().err
    assert main(["plan", *words, "--gpu-memory-utilization", "1.5"]) == 2
    assert "gpu_memory_utilization" in capsys.readouterr().err


def test_the_runbooks_table_of_sizes_comes_out_for_its_model(capsys, dense_17b):
    report = asked(capsys, dense_17b)
    found = {variant["format"]: variant["weights"]["value"] / 1e9 for variant in report["variants"]}
    # runbook, step 5: FP16 34 GB, GPTQ 8-bit 17 GB, AWQ 4-bit 9 GB, GGUF Q4_K_M 10 GB
    assert found["16 bit"] == pytest.approx(34, rel=0.1)
    assert found["GPTQ 8 bit"] == pytest.approx(17, rel=0.1)
    assert found["AWQ 4 bit"] == pytest.approx(9, rel=0.1)
    assert found["GGUF Q4_K_M"] == pytest.approx(10, rel=0.1)
    assert all(variant["source"] for variant in report["variants"] if variant["quality"])


def test_variants_are_the_catalogues_copies_before_recipes(capsys):
    report = asked(capsys, LLAMA)
    known = {variant["model"]: variant for variant in report["variants"]}
    assert known["RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic"]["known"] == "listed"
    assert known["RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic"]["native_capability"] == "8.9"
    assert [variant["format"] for variant in report["variants"]].count("fp8") == 1


def test_answers_change_only_where_that_is_allowed(capsys):
    plain = asked(capsys, LLAMA, "--context", "8k")
    quantized = asked(capsys, LLAMA, "--context", "8k", "--allow-quantized")
    assert all(result["instance"]["quantization"] is None for result in plain["results"])
    first = quantized["results"][0]["instance"]
    assert first["quantization"] is not None
    assert first["price_usd_per_hour"] < plain["results"][0]["instance"]["price_usd_per_hour"]


def test_only_the_cards_that_are_named_are_offered(capsys):
    report = asked(capsys, LLAMA, "--gpus", "a100,l40s", "--context", "8192")
    cards = {result["instance"]["gpu"] for result in report["results"]}
    assert cards == {"NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB", "NVIDIA L40S"}


@pytest.mark.parametrize("price", ["10.5", "10.5/h", "$10.5/h"])
def test_nothing_dearer_than_the_highest_price_is_offered(price, capsys):
    report = asked(capsys, LLAMA, "--max-price", price)
    assert {result["instance"]["type"] for result in report["results"]} <= {"g7e.12xlarge", "g6e.12xlarge"}


def test_where_nothing_fits_that_is_said(capsys):
    report = asked(capsys, "moonshotai/Kimi-K2-Instruct", "--max-price", "10", status=1)
    assert report["results"] == []
    assert [note["message"] for note in report["notes"]] == ["search.none"]


def test_prices_of_two_regions_beside_each_other_are_told(capsys, tmp_path):
    path = tmp_path / "p.json"
    path.write_text('{"region": "eu-west-1", "prices": {"g6e.12xlarge": 1.0}}', encoding="utf-8")
    report = asked(capsys, LLAMA, "--context", "32k", "--prices", str(path))
    note = next(note for note in report["notes"] if note["message"] == "search.some-other-region")
    assert note["parameters"] == {"region": "eu-west-1", "known": "us-east-1"}


def test_prices_of_a_region_that_is_not_known_are_named_as_anothers(capsys):
    report = asked(capsys, LLAMA, "--region", "eu-central-1")
    assert "search.other-region" in [note["message"] for note in report["notes"]]
    assert report["results"][0]["instance"]["price_region"] == "us-east-1"


def test_given_prices_rank_the_answers(capsys, tmp_path):
    path = tmp_path / "prices.json"
    path.write_text('{"region": "eu-central-1", "prices": {"p4de.24xlarge": 0.5}}', encoding="utf-8")
    report = asked(capsys, LLAMA, "--context", "32k", "--prices", str(path))
    first = report["results"][0]["instance"]
    assert (first["type"], first["price_usd_per_hour"], first["price_region"]) == ("p4de.24xlarge", 0.5, "eu-central-1")


def test_engine_arguments_after_two_dashes_stand(capsys):
    assert main(["plan", LLAMA, "--offline", "-o", "json", "--", "--gpu-memory-utilization", "0.6"]) == 0
    report = json.loads(capsys.readouterr().out)
    budget = report["results"][0]["budget"]
    assert budget["requested"]["value"] == pytest.approx(0.6 * budget["total"]["value"])


@pytest.mark.parametrize(
    "words",
    [
        ("--concurrency", "0"),
        ("--max-price", "cheap"),
        ("--context", "long"),
        ("--gpus", "no-such-card"),
        ("--vllm", "newest"),
        ("--prices", "no-such-file.json"),
    ],
)
def test_an_option_that_cannot_be_read_is_one_clear_error(words, capsys):
    assert main(["plan", LLAMA, "--offline", *words]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_model_that_is_not_known_is_refused_with_the_nearest(capsys):
    assert main(["plan", "meta-lama/Lama-3.3-70B-Instrct", "--offline"]) == 2
    assert LLAMA in capsys.readouterr().err


def test_the_table_names_instance_price_and_command_line(capsys):
    assert main(["plan", LLAMA, "--context", "32768", "--offline"]) == 0
    text = capsys.readouterr().out
    assert "g7e.12xlarge" in text
    assert "8.29" in text
    assert f"vllm serve {LLAMA} --max-model-len 32768 --tensor-parallel-size 2" in text


def test_markdown_has_the_same_rows(capsys):
    assert main(["plan", LLAMA, "--offline", "-o", "markdown"]) == 0
    assert "| 1 | g7e.12xlarge |" in capsys.readouterr().out


def test_programs_get_the_same_answers(capsys):
    import oomedic

    report = oomedic.plan(LLAMA, context=32768, gpus=["l40s"], offline=True)
    shown = asked(capsys, LLAMA, "--context", "32768", "--gpus", "l40s")
    assert [result.subject.instance for result in report.results] == [
        result["subject"]["instance"] for result in shown["results"]
    ]
