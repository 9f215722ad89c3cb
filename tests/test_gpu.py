import pytest

from oomedic.errors import UnknownName
from oomedic.figure import printed_gib
from oomedic.gpu import Gpu, gpu_names, gpu_of, gpu_rows
from oomedic.sources.builtin import load
from oomedic.units import GIB, MIB

CATALOGUE = load()
TABLE = CATALOGUE._gpus
ROWS = TABLE._rows


def row(name, memory, **keys):
    return {"name": name, "memory": memory, **keys}


def names(gpus):
    return [gpu.name for gpu in gpus]


def test_at_least_44_cards_and_41_mig_profiles_are_known():
    slices = [gpu for gpu in CATALOGUE.gpus() if gpu.mig]
    assert len(CATALOGUE.gpus()) - len(slices) >= 44
    assert len({(gpu.name.partition(" MIG ")[0], gpu.mig) for gpu in slices}) >= 41


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("NVIDIA A10G", "NVIDIA A10G"),
        ("a10g", "NVIDIA A10G"),
        ("A10", "NVIDIA A10"),
        ("NVIDIA-A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB"),
        ("NVIDIA-L4-SHARED", "NVIDIA L4"),
        ("h100", "NVIDIA H100 80GB HBM3"),
        ("rtx4090", "NVIDIA GeForce RTX 4090"),
        ("GeForce RTX 4090", "NVIDIA GeForce RTX 4090"),
        ("nvidia-tesla-t4", "Tesla T4"),
        ("nvidia-tesla-a100", "NVIDIA A100-SXM4-40GB"),
        ("l40s", "NVIDIA L40S"),
        ("L40", "NVIDIA L40"),
        ("rtx-pro-server-6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition"),
        ("MI300X", "AMD Instinct MI300X"),
        ("NVIDIA DGX Spark (GB10)", "NVIDIA GB10"),
        ("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "NVIDIA A100-SXM4-80GB MIG 1g.10gb"),
        ("NVIDIA A100-SXM4-80GB MIG 1g.10gb+me", "NVIDIA A100-SXM4-80GB MIG 1g.10gb"),
        ("nvidia.com/mig-1g.18gb", "NVIDIA H200 MIG 1g.18gb"),
        ("H100 MIG 3g.40gb", "NVIDIA H100 80GB HBM3 MIG 3g.40gb"),
    ],
)
def test_a_card_is_found_by_any_of_its_names(name, found):
    assert TABLE.find(name).name == found


@pytest.mark.parametrize("name", ["A100", "V100", "H20", "GH200", "mig-1g.10gb", "a100"])
def test_a_name_of_several_cards_is_refused_with_all_candidates(name):
    with pytest.raises(UnknownName) as refused:
        TABLE.find(name)
    assert refused.value.slug == "gpu-ambiguous"
    candidates = refused.value.parameters["candidates"]
    assert len(candidates) > 1
    assert all(TABLE.find(candidate).name == candidate for candidate in candidates)


@pytest.mark.parametrize(
    ("name", "total", "found"),
    [
        ("A100", round(39.49 * GIB), "NVIDIA A100-SXM4-40GB"),
        ("a100", 81920 * MIB, "NVIDIA A100-SXM4-80GB"),
        ("v100", 32768 * MIB, "Tesla V100-SXM2-32GB"),
    ],
)
def test_a_total_from_elsewhere_decides_between_several_cards(name, total, found):
    assert TABLE.find(name, total).name == found


def test_a_total_that_fits_none_of_them_decides_nothing():
    with pytest.raises(UnknownName, match="gpu-ambiguous"):
        TABLE.find("A100", 24 * GIB)


@pytest.mark.parametrize(("name", "near"), [("RTX 4070", "NVIDIA GeForce RTX 4090"), ("A10GG", "NVIDIA A10G")])
def test_an_unknown_name_comes_back_with_its_nearest(name, near):
    with pytest.raises(UnknownName) as refused:
        TABLE.find(name)
    assert refused.value.slug == "gpu-unknown"
    assert near in refused.value.parameters["nearest"]


@pytest.mark.parametrize("name", ["", "   ", "MIG", "-", "quantum flux 9000"])
def test_nonsense_is_unknown_and_never_a_traceback(name):
    with pytest.raises(UnknownName, match="gpu-unknown"):
        TABLE.find(name)


def meant_by(name):
    """Every card that a name may stand for."""
    try:
        return (TABLE.find(name).name,)
    except UnknownName as refused:
        return refused.parameters["candidates"]


def test_every_name_in_the_catalogue_finds_its_card_or_is_ambiguous():
    for known in ROWS:
        for name in gpu_names(known):
            assert known["name"] in meant_by(name), name


def test_memory_is_the_lowest_total_seen_and_its_band_reaches_the_highest():
    memory = TABLE.find("A10G").memory
    assert memory.value == memory.low == round(22.058 * GIB)
    assert memory.high == round(22.19 * GIB)
    assert (memory.origin, memory.where) == ("catalogued", "gpus.toml:NVIDIA A10G")


def test_a_total_that_nobody_printed_says_that_it_is_assumed():
    assert TABLE.find("A30").memory.origin == "assumed"
    assert TABLE.find("A30").memory.high < 24 * GIB


def test_no_capacity_is_the_nominal_one():
    for known in ROWS:
        if known.get("vendor") == "NVIDIA" and "nominal_gb" in known:
            assert gpu_of(known).memory.value < known["nominal_gb"] * GIB, known["name"]


def test_a_slice_takes_after_its_card_but_not_in_size_or_speed():
    card, piece = TABLE.find("H100"), TABLE.find("H100 MIG 1g.10gb")
    assert piece.capability == card.capability == (9, 0)
    assert (piece.mig, piece.bandwidth, piece.nvlink) == ("1g.10gb", None, False)
    assert piece.memory.high < 10 * GIB


def test_a_slice_of_a_card_that_is_not_listed_is_left_out():
    rows = gpu_rows([row("One", "8 GiB")], [{"profile": "1g.4gb", "parents": ["Two"], "memory": "4 GiB"}])
    assert names(map(gpu_of, rows)) == ["One"]


@pytest.mark.parametrize(
    ("total", "shown_by", "not_by"),
    [
        ("23.65", "NVIDIA GeForce RTX 4090", "NVIDIA A10G"),
        ("22.06", "NVIDIA A10G", "NVIDIA GeForce RTX 3090"),
        ("22.05", "NVIDIA L4", "NVIDIA GeForce RTX 5090 Laptop GPU"),
        ("79.25", "NVIDIA A100-SXM4-80GB", "NVIDIA H100 NVL"),
        ("139.81", "NVIDIA H200", "NVIDIA B200"),
        ("121.69", "NVIDIA GB10", "NVIDIA Thor"),
        ("9.50", "NVIDIA A100-SXM4-80GB MIG 1g.10gb", "NVIDIA A100-SXM4-40GB MIG 2g.10gb"),
        ("23.99", "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 3090"),
    ],
)
def test_a_printed_total_tells_which_cards_show_it(total, shown_by, not_by):
    found = names(TABLE.with_total(printed_gib(total, "log:1")))
    assert shown_by in found
    assert not_by not in found


def test_whole_cards_that_were_seen_come_before_slices():
    found = TABLE.with_total(printed_gib("39.49", "log:1"))
    assert found[0].name == "NVIDIA A100-SXM4-40GB"
    order = [gpu.mig is not None for gpu in found]
    assert order == sorted(order)


def test_a_total_that_no_card_shows_is_nobodys():
    assert TABLE.with_total(printed_gib("5.00", "log:1")) == ()


def test_other_platforms_have_no_cuda_capability():
    gpu = TABLE.find("MI300X")
    assert (gpu.capability, gpu.platform) == (None, "rocm")


def test_what_the_arithmetic_needs_is_enough_to_make_a_gpu():
    assert Gpu("any", printed_gib("8.00", "--gpu-memory")).mig is None
