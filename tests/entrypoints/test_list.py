"""What `oomedic list` shows of GPUs and instances."""

import json

from oomedic.entrypoints.cli import main


def rows(capsys, *words):
    assert main(["list", *words, "-o", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_gpus_have_prices_where_they_are_asked_for(capsys, tmp_path):
    path = tmp_path / "prices.json"
    path.write_text('{"region": "eu-west-1", "date": "2026-11-02", "prices": {"g5.12xlarge": 3.2}}', encoding="utf-8")
    found = {row["name"]: row for row in rows(capsys, "gpus", "--prices", str(path))}
    a10g = found["NVIDIA A10G"]
    # 3.2 USD / 4 GPUs; g5.xlarge costs 1.006 in the region of the catalogue
    assert (a10g["instance"], a10g["usd_per_gpu_hour"], a10g["region"]) == ("g5.12xlarge", 0.8, "eu-west-1")
    assert found["Tesla T4"]["region"] == "us-east-1"


def test_without_prices_every_gpu_is_listed(capsys):
    found = rows(capsys, "gpus")
    assert len(found) > 100
    assert set(found[0]) == {"name", "memory", "capability", "origin"}


def test_instances_say_what_is_no_target_for_cuda(capsys):
    found = {row["type"]: row for row in rows(capsys, "instances")}
    assert found["inf2.xlarge"]["cuda"] is False
    assert found["g6f.xlarge"]["fraction"] is True
    assert found["g5.xlarge"]["gpu_memory_origin"] == "catalogued"
    assert found["g5.xlarge"]["price_date"] == "2026-07-20"


def test_a_users_instances_extend_the_list(capsys, tmp_path):
    text = '[[instance]]\ntype = "g9.metal"\ngpu = "NVIDIA L4"\ngpus = 2\ncuda = true\nprice = { "us-east-1" = 9.0 }\n'
    (tmp_path / "instances.toml").write_text(text, encoding="utf-8")
    found = {row["type"]: row for row in rows(capsys, "instances", "--data", str(tmp_path))}
    assert found["g9.metal"]["usd_per_hour"] == 9.0
