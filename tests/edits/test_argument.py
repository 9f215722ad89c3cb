"""Edits of every sample: the facts are there afterwards, only the intended lines differ, the inverse restores all."""

import difflib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oomedic.arguments.words import find_occurrence
from oomedic.edits.argument import edit_files
from oomedic.edits.devices import edit_devices
from oomedic.errors import InputError
from oomedic.manifest import read_manifests
from oomedic.sources.builtin import load
from oomedic.sources.manifests import read_all

SAMPLES = Path(__file__).parents[1] / "manifests"
FACTS = json.loads((SAMPLES / "FACTS.json").read_text(encoding="utf-8"))
TABLE = load().arguments
WITH_ENGINES = [name for name, entry in FACTS.items() if entry["facts"]["units"]]
VALUES = {
    "max_model_len": st.integers(1, 10**6),
    "gpu_memory_utilization": st.sampled_from([0.5, 0.75, 0.92]),
    "max_num_seqs": st.integers(1, 4096),
    "max_num_batched_tokens": st.integers(1, 10**6),
    "kv_cache_dtype": st.sampled_from(["auto", "fp8"]),
    "enforce_eager": st.just(value=True),
    "cpu_offload_gb": st.integers(0, 64),
    "compilation_config": st.just({"cudagraph_capture_sizes": [1, 2]}),
}
INDEXED = [
    (name, number)
    for name in WITH_ENGINES
    for number, facts in enumerate(FACTS[name]["facts"]["units"])
    if facts.get("supported", True) is True
]


def files_of(name):
    return {each.path: each.text for each in read_all([str(SAMPLES / name)])}


FILES = {name: files_of(name) for name in WITH_ENGINES}


def reading_of(files, number):
    return read_manifests(files, TABLE)[number]


def values_of(files, number):
    found = reading_of(files, number).workload.arguments.given
    return {name: given.value for name, given in found.items()}


def changed_lines(before, after):
    lines = []
    for path in before:
        pair = before[path].splitlines(keepends=True), after[path].splitlines(keepends=True)
        lines += [line for line in difflib.ndiff(*pair) if line[0] in "+-"]
    return lines


def frozen(value):
    return {"cudagraph_capture_sizes": (1, 2)} if isinstance(value, dict) else value


def original_text(files, number, argument):
    """What stands on the command line for an argument now; None where it is not given there."""
    reading = reading_of(files, number)
    known = reading.workload.arguments.given.get(argument)
    words = reading.command.arguments
    occurrence = find_occurrence(words, known) if known else None
    if occurrence is None or isinstance(known.value, bool):
        return None if known is None else known.value
    return words[occurrence.last].text[occurrence.glued :]


@pytest.mark.parametrize(("name", "number"), INDEXED)
@pytest.mark.parametrize(("argument", "value"), [("max_model_len", 4096), ("enforce_eager", True)])
def test_an_argument_is_changed_or_added_and_nothing_else(name, number, argument, value):
    files = FILES[name]
    workload = reading_of(files, number).workload
    edited = edit_files(files, workload, argument, value, TABLE)
    assert values_of(edited, number) == values_of(files, number) | {argument: value}
    assert len(changed_lines(files, edited)) <= 5
    again = reading_of(edited, number).workload
    assert again._replace(arguments=None, edit_paths=None) == workload._replace(arguments=None, edit_paths=None)
    others = [each.workload for at, each in enumerate(read_manifests(files, TABLE)) if at != number]
    after = [each.workload for at, each in enumerate(read_manifests(edited, TABLE)) if at != number]
    assert [each.arguments.given.keys() for each in after] == [each.arguments.given.keys() for each in others]


@pytest.mark.parametrize(("name", "number"), INDEXED)
def test_the_edit_goes_to_the_place_that_the_index_names(name, number):
    """Where the index gives the value at the place, that value's argument is changed there."""
    expected = FACTS[name]["facts"]["units"][number]["edit"]
    files = FILES[name]
    workload = reading_of(files, number).workload
    there = [
        argument
        for argument, path in workload.edit_paths.items()
        if (path.object, path.pointer) == (expected["object"], expected["pointer"])
    ]
    assert there
    if expected["pointer"] is None:
        there = ["max_model_len"]
    for argument in there:
        if argument not in VALUES or (argument == "compilation_config"):
            continue
        value = {"enforce_eager": True, "kv_cache_dtype": "fp8", "gpu_memory_utilization": 0.55}.get(argument, 4096)
        edited = edit_files(files, workload, argument, value, TABLE)
        assert values_of(edited, number)[argument] == value


@settings(deadline=None)
@given(st.sampled_from(INDEXED), st.data())
def test_any_edit_and_its_inverse_leave_the_files_byte_for_byte_as_they_were(which, data):
    name, number = which
    files = FILES[name]
    argument = data.draw(st.sampled_from(sorted(VALUES)))
    value = data.draw(VALUES[argument])
    workload = reading_of(files, number).workload
    before = original_text(files, number, argument)
    edited = edit_files(files, workload, argument, value, TABLE)
    expected = values_of(files, number) | {argument: frozen(value)}
    assert values_of(edited, number) == expected
    assert edit_files(edited, workload, argument, before, TABLE) == files


@settings(deadline=None)
@given(st.sampled_from(INDEXED), st.integers(1, 64))
def test_a_number_of_devices_is_changed_and_changed_back(which, devices):
    name, number = which
    files = FILES[name]
    workload = reading_of(files, number).workload
    if not reading_of(files, number).counts:  # the number is left to a controller, or to another object
        with pytest.raises(InputError, match="missing"):
            edit_devices(files, workload, devices, TABLE)
        return
    edited = edit_devices(files, workload, devices, TABLE)
    assert reading_of(edited, number).workload.gpus_per_pod == devices
    assert edit_devices(edited, workload, workload.gpus_per_pod, TABLE) == files


def test_what_a_base_says_is_changed_in_the_overlay():
    name = "34-kustomize/overlays/prod/kustomization.yaml"
    files = FILES[name]
    workload = reading_of(files, 0).workload
    edited = edit_files(files, workload, "dtype", "bfloat16", TABLE)
    changed = [path for path in files if files[path] != edited[path]]
    assert [path.endswith("overlays/prod/kustomization.yaml") for path in changed] == [True]
    assert edited[changed[0]].endswith(
        "  - target: {kind: Deployment, name: coder-7b}\n    patch: |-\n      - op: replace\n"
        "        path: /spec/template/spec/containers/0/command/9\n        value: bfloat16\n"
    )
    assert values_of(edited, 0)["dtype"] == "bfloat16"


def test_an_engine_is_found_again_among_several():
    files = FILES["17-kserve-llmisvc-additional-args-pd.yaml"]
    decode, prefill = read_manifests(files, TABLE)
    edited = edit_files(files, prefill.workload, "max_model_len", 4096, TABLE)
    assert "max_model_len" not in values_of(edited, 0)
    assert values_of(edited, 1)["max_model_len"] == 4096
    with pytest.raises(InputError, match="not-found"):
        edit_files(files, decode.workload._replace(unit="Pod/other#engine"), "max_model_len", 1, TABLE)


def test_a_word_behind_a_variable_is_removed_as_it_was_added():
    program = "vllm serve org/m --max-model-len ${LEN}\n# no more\n"
    lines = "".join(f"        {line}\n" for line in program.splitlines())
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: e\n"
        "    env: [{name: LEN, value: '8192'}]\n    command: [sh, -c]\n    args:\n    - |\n" + lines
    )
    files = {"f.yaml": text}
    added = edit_files(files, reading_of(files, 0).workload, "enforce_eager", value=True, table=TABLE)
    assert "${LEN} --enforce-eager\n" in added["f.yaml"]
    assert edit_files(added, reading_of(added, 0).workload, "enforce_eager", None, TABLE) == files
