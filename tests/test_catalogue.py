import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic.catalogue import Catalogue
from oomedic.errors import InputError, UnknownName
from oomedic.figure import printed_gib
from oomedic.models.table import ModelTable, unfolded
from oomedic.sources.builtin import extra_data, load

CATALOGUE = load()


def lines(*rows):
    text = "# header\n" + "".join(f"{row['id'].lower()}\t{json.dumps(row)}\n" for row in rows)
    return text.encode()


def small(**parts):
    texts = {"gpus.json": b'{"gpu":[],"mig":[]}', "models.tsv": b"# none\n", "signatures.json": b"[]"}
    texts |= {name.replace("_", "."): text for name, text in parts.items()}
    return Catalogue(texts.__getitem__)


# --- models


def test_at_least_600_models_are_known_and_every_one_has_a_readable_config():
    ids = CATALOGUE.models()
    assert len(ids) >= 600
    for name in ids:
        model = CATALOGUE.model(name)
        assert model.id == name
        assert model.config["model_type"], name
        assert model.config["architectures"], name
        assert model.config_from in {"config.json", "catalogue"}
        assert model.sources, name


def test_every_model_says_how_large_it_is_unless_only_its_config_is_known():
    for name in CATALOGUE.models():
        model = CATALOGUE.model(name)
        if model.parameters is None:
            assert model.config_from == "config.json", name
        else:
            assert 0 < model.active_parameters <= model.parameters, name


def test_an_id_is_found_whatever_its_letters_case():
    assert CATALOGUE.model("qwen/QWEN2.5-7b-instruct").id == "Qwen/Qwen2.5-7B-Instruct"


def test_an_id_without_organisation_is_found_where_one_organisation_has_it():
    assert CATALOGUE.model("DeepSeek-R1").id == "deepseek-ai/DeepSeek-R1"


def test_a_name_that_two_organisations_have_is_not_chosen_between():
    table = ModelTable(lines({"id": "one/Tiny"}, {"id": "two/Tiny"}))
    assert table.find("tiny") is None
    assert table.find("two/tiny").id == "two/Tiny"


def test_a_mirror_does_not_make_a_name_ambiguous():
    assert CATALOGUE.model("Qwen2.5-7B-Instruct").id == "Qwen/Qwen2.5-7B-Instruct"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("Meta-Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("neuralmagic/Meta-Llama-3.1-8B-Instruct-FP8", "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8"),
        ("THUDM/glm-4-9b-chat-hf", "zai-org/glm-4-9b-chat-hf"),
    ],
)
def test_a_repository_that_moved_is_found_under_its_old_name(old, new):
    assert CATALOGUE.model(old).id == new


@pytest.mark.parametrize("name", ["", "nobody/nothing", "/", "\t", "# lower-case id, tab, row as JSON", "a\nb"])
def test_what_is_not_an_id_finds_nothing(name):
    assert CATALOGUE.model(name) is None
    assert CATALOGUE.variants(name) == ()


@given(st.text(max_size=40))
def test_no_text_makes_the_lookup_fail(name):
    model = CATALOGUE.model(name)
    assert model is None or model.id.lower().endswith(name.strip().lower().rpartition("/")[2])
    assert len(CATALOGUE.nearest_models(name)) <= 3


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("meta-llama/Llama-4-Scout-17B-Instruct", "meta-llama/Llama-4-Scout-17B-16E-Instruct"),
        ("meta-llama/Lama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("llama-3-1-8b-instruct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("Llama3.3-70B", "meta-llama/Llama-3.3-70B-Instruct"),
        ("Qwen/Qwen2.5-7B-Instuct", "Qwen/Qwen2.5-7B-Instruct"),
        ("qwen25_32b_instruct", "Qwen/Qwen2.5-32B-Instruct"),
        ("Qwen/Qwen3-4B-Instruct", "Qwen/Qwen3-4B-Instruct-2507"),
        ("cyankiwi/gemma-4-31B-it-AWQ-4bit", "google/gemma-4-31B-it"),
        ("google/gemma3-27b", "google/gemma-3-27b-it"),
        ("deepseek r1 distill qwen 32b", "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B"),
        ("facebook/opt125m", "facebook/opt-125m"),
        ("mixtral-8x7b", "mistralai/Mixtral-8x7B-v0.1"),
        ("/models/qwen2.5-7b-instruct", "Qwen/Qwen2.5-7B-Instruct"),
        ("/mnt/models/Meta-Llama-3-8B-Instruct/", "meta-llama/Meta-Llama-3-8B-Instruct"),
        ("s3://bucket/llms/falcon-h1-7b", "tiiuae/Falcon-H1-7B-Instruct"),
        ("/root/.cache/huggingface/hub/models--openai--gpt-oss-20b/snapshots/d666cf3b67006cf8", "openai/gpt-oss-20b"),
    ],
)
def test_a_misspelt_name_or_local_path_leads_to_the_model_that_was_meant(written, meant):
    assert CATALOGUE.nearest_models(written)[0] == meant


def test_a_family_name_leads_to_its_members():
    assert set(CATALOGUE.nearest_models("Qwen3-VL-8B")) >= {"Qwen/Qwen3-VL-8B-Instruct", "Qwen/Qwen3-VL-8B-Thinking"}


@pytest.mark.parametrize("path", ["/mnt/models", "/data/models/reasoner-120b", "model", "", "/workspace/checkpoints/"])
def test_a_path_that_names_no_model_is_like_none(path):
    assert CATALOGUE.nearest_models(path) == ()
    assert CATALOGUE.model_behind(path) is None


@pytest.mark.parametrize(
    "path",
    [
        "/models/Qwen2.5-7B-Instruct",
        "/data/Qwen/Qwen2.5-7B-Instruct/",
        "/cache/hub/models--Qwen--Qwen2.5-7B-Instruct/snapshots/a09a35458c702b33eeacc393d103063234e8bc28",
    ],
)
def test_a_path_is_traced_to_the_one_model_it_is_named_after(path):
    assert CATALOGUE.model_behind(path).id == "Qwen/Qwen2.5-7B-Instruct"


@pytest.mark.parametrize(
    ("name", "stored", "how"),
    [
        ("unsloth/Qwen3.8-27B-NVFP4", "Qwen/Qwen3.8-27B", ("nvfp4",)),
        ("/models/Qwen3.6-27B-AutoRound-INT4", "Qwen/Qwen3.6-27B", ("autoround", "int4")),
        ("neuralmagic/Qwen2-72B-Instruct-quantized.w8a16", "Qwen/Qwen2-72B-Instruct", ("quantized", "w8a16")),
        ("/data/Qwen3-235B-A22B-UD-Q4_K_XL.gguf", "Qwen/Qwen3-235B-A22B", ("ud", "q4_k_xl")),
        ("unsloth/Qwen2.5-3B-Instruct-unsloth-bnb-4bit", "Qwen/Qwen2.5-3B-Instruct", ("unsloth", "bnb", "4bit")),
    ],
)
def test_a_quantised_copy_is_traced_to_the_model_it_was_made_from(name, stored, how):
    found = CATALOGUE.stored_in(name)
    assert (found.model.id, found.how) == (stored, how)


@pytest.mark.parametrize("name", ["Qwen/Qwen3-32B", "awq", "me/unheard-of-AWQ", ""])
def test_a_name_without_a_known_model_or_without_a_storage_word_is_no_copy(name):
    assert CATALOGUE.stored_in(name) is None


def test_variants_store_the_same_weights_quantised():
    found = CATALOGUE.variants("meta-llama/Llama-3.1-8B-Instruct")
    assert "hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4" in {model.id for model in found}
    assert all(model.config.keys() & {"quantization_config", "hf_quant_config"} for model in found)


def test_another_model_of_the_same_shape_is_no_variant():
    ids = {model.id for model in CATALOGUE.variants("deepseek-ai/DeepSeek-V3")}
    assert "deepseek-ai/DeepSeek-R1" not in ids


def test_a_variant_is_a_variant_of_the_others_and_not_of_itself():
    ids = {model.id for model in CATALOGUE.variants("Qwen/Qwen3-32B-FP8")}
    assert "Qwen/Qwen3-32B-AWQ" in ids
    assert "Qwen/Qwen3-32B-FP8" not in ids


def test_what_is_named_as_quantised_has_a_config_that_says_so():
    marks = ("-fp8", "nvfp4", "awq", "gptq", "bnb-4bit", "w4a16", "w8a8")
    for name in CATALOGUE.models():
        config = CATALOGUE.model(name).config
        said = {"quantization_config", "hf_quant_config"} & (config.keys() | (config.get("text_config") or {}).keys())
        assert said or not any(mark in name.lower() for mark in marks), name


def test_folded_module_names_are_written_out():
    config = CATALOGUE.model("nvidia/MiniMax-M3-NVFP4").config["hf_quant_config"]["quantization"]
    assert len(config["quantized_layers"]) == 3 * 3 + 4 * 60 + 5 * 57 + 57 * 128 * 3
    assert unfolded({"a.{0-1}": ["b.{2,4-5}.c", "d", "re:.*{2}"]}) == {
        name: ["b.2.c", "b.4.c", "b.5.c", "d", "re:.*{2}"] for name in ("a.0", "a.1")
    }


# --- everything else


def test_gpus_are_found_by_name_and_by_total():
    assert CATALOGUE.gpu("a10g").name == "NVIDIA A10G"
    assert CATALOGUE.gpus_with_total(printed_gib("22.19", "log:1"))[0].name == "NVIDIA A10G"


def test_engine_versions_come_oldest_first():
    versions = [tuple(map(int, row["version"].split("."))) for row in CATALOGUE.engines()]
    assert versions == sorted(versions)


def test_arguments_come_with_the_releases_they_were_read_from():
    assert "max_model_len" in {argument.name for argument in CATALOGUE.arguments.arguments()}
    assert CATALOGUE.argument_releases()


def test_every_message_is_text():
    assert all(isinstance(text, str) and text for text in CATALOGUE.messages().values())
    assert "{name}" in CATALOGUE.messages()["error.gpu-unknown.says"]


def page(name):
    return {"name": name, "sections": {}}


def test_a_page_is_found_by_code_or_name():
    pages = {"OOM401": page("kv-cache-too-small"), "OOM402": page("no-memory-for-kv-cache")}
    catalogue = small(pages_json=json.dumps(pages).encode())
    assert catalogue.page("oom401") == catalogue.page("kv-cache-too-small") == pages["OOM401"]
    assert catalogue.codes() == ("OOM401", "OOM402")
    with pytest.raises(UnknownName) as refused:
        catalogue.page("OOM400")
    assert refused.value.slug == "code-unknown"
    assert "OOM401" in refused.value.parameters["nearest"]


def test_nothing_is_read_before_it_is_asked_for():
    read = []

    def text(name):
        read.append(name)
        return b'{"catalogue":"1"}' if name == "versions.json" else b"{}"

    catalogue = Catalogue(text)
    assert read == []
    assert catalogue.version == catalogue.version == "1"
    assert read == ["versions.json"]


# --- what a user adds


def test_a_users_gpu_extends_and_overrides_by_name():
    yours = [{"name": "NVIDIA A10G", "memory": "20 GiB"}, {"name": "My Card", "memory": "10 GiB", "aliases": ["mine"]}]
    catalogue = CATALOGUE.extended({"gpu": yours})
    assert catalogue.gpu("a10g").memory.value == 20 * 2**30
    assert catalogue.gpu("a10g").memory.where == "--data:NVIDIA A10G"
    assert catalogue.gpu("a10g").capability == (8, 6)
    assert catalogue.gpu("mine").name == "My Card"
    assert CATALOGUE.gpu("a10g").memory.value != 20 * 2**30


def test_a_users_model_overrides_the_one_of_the_same_id():
    yours = [{"id": "qwen/qwen2.5-7b-instruct", "config": {"model_type": "qwen2"}}, {"id": "me/mine", "config": {}}]
    catalogue = CATALOGUE.extended({"model": yours})
    assert catalogue.model("Qwen/Qwen2.5-7B-Instruct").config == {"model_type": "qwen2"}
    assert catalogue.model("mine").config_from == "yours"
    assert "me/mine" in catalogue.models()
    assert catalogue.version == f"{CATALOGUE.version}+yours"


def test_extending_twice_keeps_both():
    catalogue = CATALOGUE.extended({"model": [{"id": "me/a", "config": {}}]}).extended(
        {"model": [{"id": "me/b", "config": {}}]}
    )
    assert catalogue.model("me/a")
    assert catalogue.model("me/b")


def test_a_users_signature_joins_the_others():
    catalogue = small(signatures_json=b'[{"name":"one"}]').extended({"signature": [{"name": "two"}]})
    assert [row["name"] for row in catalogue.signatures()] == ["one", "two"]


def test_a_directory_of_toml_files_is_read(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "signatures").mkdir()
    (tmp_path / "gpus.toml").write_text('[[gpu]]\nname = "X1"\nmemory = "10 GiB"\n')
    (tmp_path / "models/own.toml").write_text(
        '[[model]]\nid = "me/m"\nconfig = \'{"model_type": "llama", "a": null}\'\n'
    )
    (tmp_path / "signatures/ours.toml").write_text(
        'kind = "error"\nphase = "other"\ncontains = ["boom"]\n[[sample]]\ntext = "boom"\n'
    )
    extra = extra_data(tmp_path)
    catalogue = CATALOGUE.extended(extra)
    assert catalogue.gpu("x1").memory.value == 10 * 2**30
    assert catalogue.model("me/m").config == {"model_type": "llama", "a": None}
    assert catalogue.signatures()[-1]["name"] == "ours"
    assert "sample" not in catalogue.signatures()[-1]


@pytest.mark.parametrize(
    ("file", "text", "slug"),
    [
        ("gpus.toml", "[[gpu]\n", "data-unreadable"),
        ("gpus.toml", '[[gpu]]\nname = "X1"\n', "data-row-incomplete"),
        ("gpus.toml", '[[gpu]]\nname = "X1"\nmemory = "much"\n', "data-row-incomplete"),
        ("gpus.toml", '[[mig]]\nprofile = "1g.5gb"\nmemory = "5 GiB"\n', "data-row-incomplete"),
        ("gpus.toml", 'gpu = "X1"\n', "data-row-incomplete"),
        ("models/m.toml", '[[model]]\nid = "me/m"\n', "data-row-incomplete"),
        ("models/m.toml", '[[model]]\nid = "me/m"\nconfig = "{"\n', "data-row-incomplete"),
        ("signatures/s.toml", 'phase = "other"\n', "data-row-incomplete"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_clear_error(tmp_path, file, text, slug):
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        extra_data(tmp_path)
    assert refused.value.slug == slug
    assert refused.value.parameters["path"] == str(path)


def test_a_directory_that_is_not_there_is_one_clear_error(tmp_path):
    with pytest.raises(InputError, match="data-directory-missing"):
        extra_data(tmp_path / "nowhere")


def test_a_lookup_pulls_in_no_heavy_module():
    code = (
        "import sys; from oomedic.sources.builtin import load; c = load(); c.gpu('A10G');"
        "c.model('Qwen/Qwen2.5-7B-Instruct'); c.nearest_models('qwen'); print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"dataclasses", "difflib", "inspect", "pathlib", "tomllib", "urllib", "yaml"} & set(loaded)
