from pathlib import Path

import pytest

from oomedic.observed.dcgm import read_dcgm
from oomedic.observed.nvidia_smi import read_nvidia_smi
from oomedic.units import MIB

SAMPLES = Path(__file__).parent / "samples"


def sizes(gpu):
    return tuple(None if size is None else size.value // MIB for size in (gpu.total, gpu.used, gpu.free))


def test_the_table_names_card_memory_processes_and_driver():
    observed = read_nvidia_smi((SAMPLES / "nvidia-smi.txt").read_text(encoding="utf-8"), "smi.txt")
    (gpu,) = observed.gpus
    assert (gpu.number, gpu.name, sizes(gpu)) == (0, "NVIDIA A10G", (23028, 12004, None))
    (process,) = gpu.processes
    assert (process.name, process.pid, process.memory.value // MIB) == ("tritonserver", 1234, 11990)
    assert (observed.driver.version, observed.driver.cuda) == ("550.54.15", "12.4")
    assert gpu.total.where == "smi.txt:10"


def test_a_single_row_as_a_runbook_quotes_it_is_enough():
    (gpu,) = read_nvidia_smi("| 0  NVIDIA A10G  | 00000000:00:1E.0 | 24576MiB / 24576MiB |", "s").gpus
    assert (gpu.name, sizes(gpu)) == ("NVIDIA A10G", (24576, 24576, None))


def test_a_name_that_an_old_driver_cut_is_no_name():
    rows = """
|   0  NVIDIA A100-SXM...  On   | 00000000:07:00.0 Off |                    0 |
| N/A   30C    P0    60W / 400W |   1234MiB / 81920MiB |      0%      Default |
|   1  Tesla V100-SXM2...  Off  | 00000000:08:00.0 Off |                    0 |
| N/A   30C    P0    60W / 300W |      0MiB / 16160MiB |      0%      Default |
"""
    first, second = read_nvidia_smi(rows, "s").gpus
    assert (first.name, second.name) == (None, None)
    assert (sizes(first), sizes(second)) == ((81920, 1234, None), (16160, 0, None))


def test_slices_take_the_place_of_their_card():
    table = """
|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                   On |
| N/A   30C    P0    60W / 400W |   20480MiB / 81920MiB |     N/A      Default |
+------------------------------------------------------------------------------------+
| MIG devices:                                                                         |
| GPU  GI  CI  MIG |                     Memory-Usage |        Vol|      Shared           |
|  0    7   0   0  |              12MiB /  9728MiB    | 14      0 |  1   0    0    0    0 |
|  0    8   0   1  |            9000MiB /  9728MiB    | 14      0 |  1   0    0    0    0 |
"""
    assert [sizes(gpu)[:2] for gpu in read_nvidia_smi(table, "s").gpus] == [(9728, 12), (9728, 9000)]


def test_the_list_names_cards_and_slices():
    listed = """GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-11111111-2222)
  MIG 1g.10gb     Device  0: (UUID: MIG-3)
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-33333333-2222)
"""
    assert [gpu.name for gpu in read_nvidia_smi(listed, "s").gpus] == [
        "NVIDIA A100-SXM4-80GB MIG 1g.10gb",
        "NVIDIA H100 80GB HBM3",
    ]


def test_the_long_report_says_the_same_of_each_card():
    observed = read_nvidia_smi((SAMPLES / "nvidia-smi-q.txt").read_text(encoding="utf-8"), "q.txt")
    first, second = observed.gpus
    assert (first.name, sizes(first)) == ("NVIDIA L40S", (46068, 30104, 15396))
    assert [(process.name, process.pid, process.memory.value // MIB) for process in first.processes] == [
        ("ollama", 4242, 30090)
    ]
    assert (sizes(second), second.processes) == ((46068, 0, 45500), ())
    assert observed.driver.version == "550.54.15"


def test_csv_is_read_by_its_header():
    text = """index, name, memory.used [MiB], memory.total [MiB], driver_version
0, NVIDIA A10G, 18432 MiB, 23028 MiB, 550.54.15
1, NVIDIA A10G, 0 MiB, 23028 MiB, 550.54.15
"""
    assert [(gpu.number, gpu.name, sizes(gpu)) for gpu in read_nvidia_smi(text, "c").gpus] == [
        (0, "NVIDIA A10G", (23028, 18432, None)),
        (1, "NVIDIA A10G", (23028, 0, None)),
    ]


def test_csv_of_processes_is_read_too():
    rows = ("77, /usr/bin/python3, 20000 MiB", "78, [Insufficient Permissions], [N/A]")
    text = "\n".join(("pid, process_name, used_gpu_memory [MiB]", *rows))
    (gpu,) = read_nvidia_smi(text, "c").gpus
    assert [(process.pid, process.memory and process.memory.value // MIB) for process in gpu.processes] == [
        (77, 20000),
        (78, None),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "Failed to initialize NVML: Driver/library version mismatch",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        "No devices were found",
    ],
)
def test_failures_are_kept_as_lines(line):
    observed = read_nvidia_smi(line + "\n", "smi.txt")
    assert observed.gpus == ()
    assert [(kept.text, kept.where) for kept in observed.lines] == [(line, "smi.txt:1")]


def test_dcgm_tells_memory_user_and_error_of_a_card():
    (gpu,) = read_dcgm((SAMPLES / "dcgm.txt").read_text(encoding="utf-8"), "dcgm.txt").gpus
    assert (gpu.name, gpu.number, sizes(gpu)) == ("NVIDIA A10G", 0, (22506, 12004, 10502))
    assert (gpu.pod, gpu.xid) == ("triton-0", 79)


def test_slices_in_dcgm_are_devices_of_their_own():
    labels = 'gpu="0",UUID="GPU-1",modelName="NVIDIA A100-SXM4-80GB",GPU_I_PROFILE="1g.10gb"'
    row = f'DCGM_FI_DEV_FB_USED{{{{{labels},GPU_I_ID="{{0}}"}}}} {{1}}\n'
    gpus = read_dcgm(row.format(7, 100) + row.format(8, 9000), "d").gpus
    assert [(gpu.name, sizes(gpu)[1]) for gpu in gpus] == [
        ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", 100),
        ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", 9000),
    ]


@pytest.mark.parametrize(
    "text", ["", "\n\n", "|   |", "GPU", "| 0 | 1MiB / 2MiB", "a,b\n1,2", 'DCGM_FI_X{gpu="0"} NaN']
)
def test_what_is_nothing_of_the_kind_gives_nothing(text):
    assert read_nvidia_smi(text, "s").gpus == ()
    assert read_dcgm(text, "s").gpus == ()
