import difflib
import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oomedic
from oomedic.arguments.reader import ArgumentTable
from oomedic.edits.argument import edit as edit_argument
from oomedic.edits.devices import edit_resource as edit_devices_of
from oomedic.errors import InputError, OomedicError
from oomedic.manifest import read_workloads
from oomedic.yamldoc.nodes import at_pointer, text_of
from oomedic.yamldoc.text import compose

SAMPLES = Path(__file__).parent / "manifests"
FACTS = json.loads((SAMPLES / "FACTS.json").read_text(encoding="utf-8"))
DATA = tomllib.loads((Path(oomedic.__file__).parent / "data" / "arguments.toml").read_text(encoding="utf-8"))
TABLE = ArgumentTable.of(DATA["argument"])
NAMES = {row["name"] for row in DATA["argument"]}
PLAIN = ["01-deploy-equals-args-karpenter.yaml", "02-deploy-shell-c-flow-args.yaml", "23-aibrix-deployment.yaml"]
PLAIN += ["34-kustomize/base/deployment.yaml", "04-deploy-dra-args-only-offload.yaml", "35-deploy-config-file.yaml"]
TEMPLATE = "33-helm-template.yaml"

CONTAINER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: llm}
spec:
  template:
    spec:
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.11.0
"""


def edit(text, workload, argument, value):
    return edit_argument(text, workload, argument, value, TABLE)


def edit_resource(text, workload, resource, number):
    return edit_devices_of(text, workload, resource, number, TABLE)


def sample(name):
    return (SAMPLES / name).read_bytes().decode()


def read(text, path="f.yaml"):
    return read_workloads(text, path, TABLE)


def container(body):
    """One engine container with these lines of YAML, indented as they have to be."""
    return CONTAINER + "".join(f"          {line}\n" for line in body.splitlines())


def given_in(text):
    (workload,) = read(text)
    return {name: found.value for name, found in workload.arguments.given.items()}


def changed_lines(before, after):
    lines = difflib.ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True))
    return [line for line in lines if line[0] in "+-"]


def argument_facts(workload, facts):
    names = [name for name in facts if name in NAMES]
    given = workload.arguments.given
    return {name: given[name].value if name in given else None for name in names if name != "model"}


@pytest.mark.parametrize("name", PLAIN)
def test_the_facts_of_a_sample_are_read(name):
    (facts,) = FACTS[name]["facts"]["units"]
    (workload,) = read(sample(name), name)
    assert workload.unit == facts["unit"]
    assert workload.supported
    assert workload.model == facts["model"]
    assert argument_facts(workload, facts) == {
        name: value for name, value in facts.items() if name in NAMES and name != "model"
    }
    assert workload.served_name == facts.get("served_name", workload.served_name)
    assert workload.gpus_per_pod == facts["gpus_per_pod"]
    assert workload.gpu_resource == facts.get("gpu_resource", "nvidia.com/gpu")
    assert workload.node_selector == facts.get("node_selector")
    assert workload.strategy.type == facts.get("strategy", "RollingUpdate")
    assert workload.progress_deadline_s == facts.get("progress_deadline_s")
    if "node_affinity" in facts:
        assert {key: list(values) for key, values in workload.node_affinity.items()} == facts["node_affinity"]
    if "host_memory_limit" in facts:
        assert workload.host_memory_limit.written == facts["host_memory_limit"]
    if "shm" in facts:
        assert workload.shm.mounted == facts["shm"]["mounted"]
        assert workload.shm.size == facts["shm"].get("size")
    for kind, expected in (facts.get("probes") or {}).items():
        probe = getattr(workload.probes, kind)
        assert probe is None if expected is None else expected.items() <= probe._asdict().items()


@pytest.mark.parametrize("name", PLAIN)
def test_an_edit_path_of_a_sample_leads_to_the_value(name):
    (facts,) = FACTS[name]["facts"]["units"]
    text = sample(name)
    (workload,) = read(text, name)
    expected = (facts["edit"]["object"], facts["edit"]["pointer"])
    path = next(path for path in workload.edit_paths.values() if (path.object, path.pointer) == expected)
    document = compose(text, name).documents[workload.place[0]]
    node = at_pointer(document, path.pointer)
    assert text_of(node).startswith(facts["_value_at_edit_path"][:80])
    assert path.span == (node.start, node.end)
    assert path.file == name


def test_a_helm_template_is_recognised_and_declined():
    for text in (sample(TEMPLATE), "a: {{ .Values.x }}\n", CONTAINER.replace("v0.11.0", "{{ .Values.tag }}")):
        with pytest.raises(InputError) as caught:
            read(text)
        assert caught.value.slug == "helm-template"


def test_braces_in_other_texts_are_no_helm_template():
    chat_template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  t: |\n    {{ bos_token }}\n"
    assert read(chat_template) == ()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("args: [org/m, --max-model-len=8192]", {"model": "org/m", "max_model_len": 8192}),
        ("args: [--model, org/m, --max-model-len, 8192]", {"model": "org/m", "max_model_len": 8192}),
        ("command: [vllm, serve, org/m]\nargs: [-tp, '2']", {"model": "org/m", "tensor_parallel_size": 2}),
        ("command: [vllm]\nargs: [serve, org/m, -tp=2]", {"model": "org/m", "tensor_parallel_size": 2}),
        (
            "command: [python3, -m, vllm.entrypoints.openai.api_server]\nargs: [--model=org/m]",
            {"model": "org/m"},
        ),
        ("command: [sh, -c, 'exec vllm serve org/m --seed 1 # --seed 2']", {"model": "org/m", "seed": 1}),
        ("command: [bash, -euo, pipefail, -c]\nargs: ['vllm serve org/m']", {"model": "org/m"}),
        ("command: [/bin/sh]\nargs: [-c, 'vllm serve org/m']", {"model": "org/m"}),
        ("command: [tini, --, bash, -lc, 'vllm serve org/m \"$@\"', x, --seed, '1']", {"model": "org/m", "seed": 1}),
        ("command: [sh, -c, \"bash -c 'vllm serve org/m --seed 1'\"]", {"model": "org/m", "seed": 1}),
        (
            "env: [{name: M, value: org/m}, {name: N, value: '8'}]\nargs: [$(M), --seed=$(N), $(O)]",
            {"model": "org/m", "seed": 8},
        ),
        (
            """env: [{name: M, value: org/m}, {name: A, value: "--seed 1 --hf-overrides '{}'"}]
command: [sh, -c, 'vllm serve ${M} $(A) --port ${PORT:-1}']""",
            {"model": "org/m", "seed": 1, "hf_overrides": {}, "port": 1},
        ),
        ("command: [sh, -c, 'ARGS=\"--seed 1\"; vllm serve org/m $ARGS']", {"model": "org/m", "seed": 1}),
    ],
)
def test_arguments_are_read_wherever_the_container_has_them(body, expected):
    assert given_in(container(body)) == expected


def test_values_from_secrets_and_fields_are_never_read():
    body = (
        "env:\n- {name: LEN, valueFrom: {configMapKeyRef: {name: c, key: k}}}\n- {name: API_KEY, value: sk-abc}\n"
        "command: [sh, -c, 'vllm serve org/m --max-model-len $LEN --api-key $API_KEY --served-model-name $(API_KEY)']"
    )
    (workload,) = read(container(body))
    assert workload.arguments.given["max_model_len"].value is None
    assert "sk-abc" not in repr(workload)
    assert {problem.message for problem in workload.arguments.problems} == {"arguments.value-unknown"}


def test_variables_that_matter_are_kept_from_the_container_and_from_its_program():
    body = (
        "env: [{name: VLLM_USE_V1, value: '0'}, {name: HF_TOKEN, value: hf_abc}, {name: FOO, value: x}]\n"
        "command: [sh, -c, 'export NCCL_DEBUG=INFO; CUDA_VISIBLE_DEVICES=0,1 vllm serve org/m']"
    )
    (workload,) = read(container(body))
    assert workload.arguments.environment == {
        "VLLM_USE_V1": "0",
        "NCCL_DEBUG": "INFO",
        "CUDA_VISIBLE_DEVICES": "0,1",
    }


def test_the_engine_is_found_by_what_it_runs_never_by_its_position():
    text = CONTAINER.replace(
        "        - name: engine\n",
        "        - {name: proxy, image: envoy:1, args: [serve]}\n"
        "        - {name: metrics, image: vllm/vllm-openai:v1, command: [python, m.py]}\n        - name: engine\n",
    )
    (workload,) = read(text + "          command: [vllm, serve, org/m]\n")
    assert (workload.unit, workload.place[2]) == ("Deployment/chat#engine", "/spec/template/spec/containers/2")


def test_a_native_sidecar_can_be_the_engine_and_another_init_container_cannot():
    text = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  initContainers:
    - {name: download, image: vllm/vllm-openai:v0.11.0, command: [vllm, serve, no]}
    - {name: engine, restartPolicy: Always, image: vllm/vllm-openai:v0.11.0, args: [org/m]}
  containers: [{name: app, image: app:1}]
"""
    assert [workload.unit for workload in read(text)] == ["Pod/p#engine"]


@pytest.mark.parametrize(
    ("body", "engine", "message"),
    [
        ("command: [python, -m, sglang.launch_server, --model-path, m]", "sglang", "workload.engine-unsupported"),
        ("command: [/opt/start.sh]\nresources: {limits: {nvidia.com/gpu: 1}}", "vllm", "workload.command-unreadable"),
        (
            "args: [org/m]\nresources: {limits: {aws.amazon.com/neuron: 16}}",
            "vllm",
            "workload.accelerator-unsupported",
        ),
    ],
)
def test_what_cannot_be_judged_says_why(body, engine, message):
    (workload,) = read(container(body))
    assert (workload.engine, workload.supported, workload.because.message) == (engine, False, message)


def test_an_image_of_any_name_is_vllm_by_its_arguments():
    text = container("args: [--model, org/m, --max-model-len, '1']\nresources: {limits: {nvidia.com/gpu: 1}}")
    assert given_in(text.replace("vllm/vllm-openai:v0.11.0", "registry.example/team/llm:7"))["max_model_len"] == 1


@pytest.mark.parametrize(
    "body", ["command: [sleep, infinity]", "command: [python, download.py]", "command: [vllm, bench, latency]"]
)
def test_a_container_that_runs_something_else_is_no_engine(body):
    assert read(container(body)) == ()


@pytest.mark.parametrize(
    ("resources", "resource", "number"),
    [
        ("{limits: {nvidia.com/gpu: 8}}", "nvidia.com/gpu", 8),
        ("{requests: {nvidia.com/gpu: '2'}}", "nvidia.com/gpu", 2),
        ("{limits: {nvidia.com/mig-3g.71gb: 1}}", "nvidia.com/mig-3g.71gb", 1),
        ("{limits: {cpu: 8, nvidia.com/gpumem: 4000, nvidia.com/gpu: 1}}", "nvidia.com/gpu", 1),
        ("{limits: {amd.com/gpu: 4}}", "amd.com/gpu", 4),
        ("{limits: {cpu: 8}}", None, None),
    ],
)
def test_devices_are_read_from_limits_or_requests(resources, resource, number):
    (workload,) = read(container(f"args: [org/m]\nresources: {resources}"))
    assert (workload.gpu_resource, workload.gpus_per_pod) == (resource, number)


def test_shared_memory_follows_the_mount_not_the_name():
    body = "args: [org/m]\nvolumeMounts: [{name: a, mountPath: /dev/shm/}]"
    volumes = "      volumes: [{name: shm, emptyDir: {sizeLimit: 40Gi}}, {name: a, emptyDir: {sizeLimit: 1Gi}}]\n"
    (workload,) = read(container(body) + volumes)
    assert workload.shm == (True, "1Gi", 2**30)


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("vllm/vllm-openai:v0.11.0", "0.11.0"),
        ("vllm/vllm-openai:0.6.2", "0.6.2"),
        ("vllm/vllm-openai:v0.8.5.post1@sha256:0f", "0.8.5.post1"),
        ("1.dkr.ecr.us-west-2.amazonaws.com/vllm:0.11.0-gpu-py312-cu128-ubuntu22.04-ec2", "0.11.0"),
        ("vllm/vllm-openai:v0.10.1.1-x86_64", "0.10.1.1"),
        ("rocm/vllm:rocm6.4.1_vllm_0.9.1_20250702", "0.9.1"),
        ("registry:5000/vllm/vllm-openai", None),
        ("vllm/vllm-openai:latest", None),
        ("vllm/vllm-openai:nightly-0a1b2c", None),
        ("nvcr.io/nvidia/vllm:25.09-py3", None),
        ("lmcache/vllm-openai:v0.3.9", None),
        ("ghcr.io/llm-d/llm-d-cuda:v0.3.0", None),
    ],
)
def test_the_version_is_the_engine_s_not_the_image_s(image, version):
    (workload,) = read(container("args: [org/m]").replace("vllm/vllm-openai:v0.11.0", image))
    assert workload.engine_version == version


@pytest.mark.parametrize("name", PLAIN)
def test_a_sample_is_edited_and_nothing_else_in_it_changes(name):
    text = sample(name)
    (workload,) = read(text)
    for argument, value in (("max_model_len", 4096), ("enforce_eager", True)):
        edited = edit(text, workload, argument, value)
        (after,) = read(edited)
        assert after.arguments.given[argument].value == value
        assert after._replace(arguments=None, edit_paths=None) == workload._replace(arguments=None, edit_paths=None)
        others = {key: found for key, found in workload.arguments.given.items() if key != argument}
        assert {key: after.arguments.given[key].value for key in others} == {k: v.value for k, v in others.items()}
        assert len(changed_lines(text, edited)) <= 2 + (argument not in workload.arguments.given)
        assert edit(edited, workload, argument, value) == edited


def test_a_comment_behind_the_value_stays():
    text = sample(PLAIN[0])
    edited = edit(text, read(text)[0], "max_model_len", 4096)
    assert changed_lines(text, edited) == [
        "-             - --max-model-len=32768 # 32K window\n",
        "+             - --max-model-len=4096 # 32K window\n",
    ]


def test_several_edits_follow_each_other_with_the_workload_of_the_first_text():
    text = sample(PLAIN[1])
    (workload,) = read(text)
    for argument, value in [("max_model_len", 4096), ("enforce_eager", True), ("max_model_len", 2048)]:
        text = edit(text, workload, argument, value)
    text = edit(text, workload, "enforce_eager", None)
    assert given_in(text)["max_model_len"] == 2048
    assert "enforce_eager" not in given_in(text)


@pytest.mark.parametrize(
    ("body", "argument", "value", "expected"),
    [
        ("args: [org/m, --enable-x, --enforce-eager]", "enforce_eager", False, "--no-enforce-eager]"),
        ("args: [org/m, --no-enforce-eager]", "enforce_eager", True, "[org/m, --enforce-eager]"),
        ("args: [org/m, --enforce-eager=false]", "enforce_eager", True, "[org/m, --enforce-eager=true]"),
        ("args: [org/m, --enforce-eager]", "enforce_eager", True, "[org/m, --enforce-eager]"),
        ("args: [org/m, --max-num-seq=8]", "max_num_seqs", 4, "[org/m, --max-num-seq=4]"),
        ("args: [org/m, --seed=1, --seed=2]", "seed", 3, "[org/m, --seed=1, --seed=3]"),
        ("args: [org/m, --seed=1, --port=2, --seed=3]", "seed", None, "[org/m, --port=2]"),
        ("args: [org/m, -tp, '2']", "tensor_parallel_size", 4, "[org/m, -tp, '4']"),
        ("args: [org/m, -qawq]", "quantization", "fp8", "[org/m, -qfp8]"),
        ("args: [org/m]", "model", "org/n", "[org/n]"),
        ("args: [org/m, --seed, '1']", "max_model_len", 8, "[org/m, --seed, '1', --max-model-len, '8']"),
        ("args: [org/m, --seed=1]", "limit_mm_per_prompt", {"image": 1}, "'--limit-mm-per-prompt={\"image\":1}']"),
        ("command: [sh, -c, vllm serve org/m > log]", "seed", 1, "vllm serve org/m --seed=1 > log]"),
        ("command: [sh, -c, 'vllm serve org/m | tee log']", "seed", 1, "'vllm serve org/m --seed=1 | tee log'"),
        ("command: [sh, -c, 'vllm serve org/m $MORE; x']", "seed", 1, "'vllm serve org/m $MORE --seed=1; x'"),
        ("command: [sh, -c, 'vllm serve m --seed \"1\" -tp 2']", "seed", 2, "'vllm serve m --seed \"2\" -tp 2'"),
        ("command: [sh, -c, 'vllm serve m --seed ${S:-1} -tp 2']", "seed", 2, "m --seed ${S:-2} -tp 2'"),
        ("command: [sh, -c, 'vllm serve m --seed 1 -tp 2']", "seed", None, "'vllm serve m -tp 2'"),
        ("command: [sh, -c, 'A=\"--seed 1\"; vllm serve m $A']", "seed", 2, 'A="--seed 2"; vllm serve m $A\''),
        (
            "command: [sh, -c, 'vllm serve m']",
            "hf_overrides",
            {"a": 1},
            "'vllm serve m ''--hf-overrides={\"a\":1}'''",
        ),
        ("env: [{name: S, value: '1'}]\nargs: [m, --seed=$(S)]", "seed", 2, "value: '2'}]\n          args: [m, --s"),
        ("env: [{name: S, value: '1'}]\nargs: [m, --seed, $(S)]", "seed", 2, "value: '2'}]\n          args: [m, --s"),
        (
            "env: [{name: A, value: '--seed 1 -tp 2'}]\ncommand: [sh, -c, 'vllm serve m $A']",
            "seed",
            2,
            "'--seed 2 -tp 2'",
        ),
    ],
)
def test_a_change_keeps_the_style_of_what_is_there(body, argument, value, expected):
    text = container(body)
    edited = edit(text, read(text)[0], argument, value)
    assert expected in edited
    assert given_in(edited).get(argument) == value


def test_a_variable_that_something_else_uses_too_is_left_alone():
    text = container("env: [{name: S, value: '1'}]\nargs: [m, --seed=$(S), --port=$(S)]")
    edited = edit(text, read(text)[0], "seed", 2)
    assert "args: [m, --seed=2, --port=$(S)]" in edited


@pytest.mark.parametrize(
    ("text", "argument", "reason"),
    [
        (container("args: &a [m, --seed=1]\nextra: *a"), "seed", "shared"),
        (container("args: [m, --seed=1]") + "          image2: &x --seed=1\n", "served_model_name", None),
    ],
)
def test_what_cannot_be_changed_alone_is_refused(text, argument, reason):
    (workload,) = read(text)
    if reason is None:
        assert given_in(edit(text, workload, argument, "x"))[argument] == ("x",)
        return
    with pytest.raises(InputError) as caught:
        edit(text, workload, argument, 2)
    assert (caught.value.slug, caught.value.parameters["reason"]) == ("edit-refused", reason)


def test_devices_are_changed_in_requests_and_limits_together():
    text = container("args: [m]\nresources:\n  requests: {nvidia.com/gpu: 1}\n  limits: {nvidia.com/gpu: '1'} # one")
    edited = edit_resource(text, read(text)[0], "nvidia.com/gpu", 4)
    assert "requests: {nvidia.com/gpu: 4}" in edited
    assert "limits: {nvidia.com/gpu: '4'} # one" in edited


def test_devices_that_requests_and_limits_share_are_changed_once():
    text = container("args: [m]\nresources:\n  limits: &r {nvidia.com/gpu: 1}\n  requests: *r")
    assert "limits: &r {nvidia.com/gpu: 4}\n" in edit_resource(text, read(text)[0], "nvidia.com/gpu", 4)


def test_devices_that_two_containers_share_are_refused():
    text = container("args: [m]\nresources: &r {limits: {nvidia.com/gpu: 1}}")
    text += "        - {name: other, image: app:1, resources: *r}\n"
    with pytest.raises(InputError, match="edit-refused"):
        edit_resource(text, read(text)[0], "nvidia.com/gpu", 4)


def test_a_value_in_a_configuration_file_is_changed_there():
    name = "35-deploy-config-file.yaml"
    text = sample(name)
    edited = edit(text, read(text)[0], "gpu_memory_utilization", 0.85)
    assert changed_lines(text, edited) == [
        "-     gpu-memory-utilization: 0.92\n",
        "+     gpu-memory-utilization: 0.85\n",
    ]
    assert given_in(edited)["gpu_memory_utilization"] == 0.85


FLAGS = st.fixed_dictionaries(
    {"--max-model-len": st.integers(1, 10**7), "--port": st.integers(1, 65535), "--dtype": st.just("half")},
    optional={"--seed": st.integers(0, 9), "--trust-remote-code": st.none(), "--hf-overrides": st.just('{"a": "b c"}')},
)
STYLES = ["block", "flow", "shell", "literal", "folded", "continued", "double"]


def quoted(word, quote):
    return f"{quote}{word}{quote}" if not set(word) & set("'\"") else "'" + word + "'"


def words_of_flags(flags, *, equals):
    for flag, value in flags.items():
        if value is None:
            yield flag
        elif equals:
            yield f"{flag}={value}"
        else:
            yield from (flag, str(value))


def written(style, flags, draw):
    """The lines of a container that starts the engine with these flags, in one of the styles that people use."""
    words = list(words_of_flags(flags, equals=draw(st.booleans())))
    quote = draw(st.sampled_from(["'", '"']))
    comment = draw(st.sampled_from(["", " # why: it's so", "   # --max-model-len=1"]))
    if style in {"block", "flow"}:
        items = [quoted(word, quote) for word in words]
        if style == "flow":
            return f"command: [vllm, serve]\nargs: [org/m, {', '.join(items)}]{comment}"
        dash = draw(st.sampled_from(["- ", "-   ", "  - "]))
        return "command: [vllm, serve]\nargs:\n" + "\n".join(f"{dash}{item}{comment}" for item in ["org/m", *items])
    shell = ["org/m", *(f"'{word}'" if " " in word or '"' in word else word for word in words)]
    program = (
        "export A=1; exec vllm serve " + " ".join(shell) + draw(st.sampled_from(["", " 2>&1", " | tee log", " &"]))
    )
    if style in {"shell", "double"}:
        text = program.replace("'", "''") if style == "shell" else program.replace("\\", "\\\\").replace('"', '\\"')
        mark = "'" if style == "shell" else '"'
        return f"command: [sh, -c, {mark}{text}{mark}]"
    lines = ["set -e", "vllm serve " + " \\\n      ".join(shell)] if style == "continued" else program.split(" ")
    if style == "continued":
        return "command: [bash, -c]\nargs:\n  - |\n    " + "\n    ".join(lines)
    body = "\n    ".join(lines) if style == "folded" else program
    return f"command: [bash, -c]\nargs:\n  - {'>-' if style == 'folded' else '|'}\n    {body}"


@settings(deadline=None)
@given(st.sampled_from(STYLES), FLAGS, st.booleans(), st.booleans(), st.data())
def test_a_change_of_any_generated_manifest_changes_what_was_meant_and_no_more(style, flags, crlf, bom, data):
    text = container(written(style, flags, data.draw)) + "---\nkind: ConfigMap\nmetadata: {name: c} # end\n"
    text = ("\ufeff" if bom else "") + (text.replace("\n", "\r\n") if crlf else text)
    (workload,) = read(text)
    before = {name: found.value for name, found in workload.arguments.given.items()}
    assert before["max_model_len"] == flags["--max-model-len"]
    value = data.draw(st.integers(1, 10**7))
    edited = edit(text, workload, "max_model_len", value)
    assert given_in(edited) == before | {"max_model_len": value}
    assert len(changed_lines(text, edited)) <= 2 or str(value) == str(flags["--max-model-len"])
    edited = edit(edited, workload, "enforce_eager", value=True)
    assert given_in(edited) == before | {"max_model_len": value, "enforce_eager": True}
    edited = edit(edited, workload, "enforce_eager", None)
    assert edited == edit(text, workload, "max_model_len", value)
    gone = edit(edited, workload, "port", None)
    assert given_in(gone) == {name: v for name, v in given_in(edited).items() if name != "port"}


@given(st.sampled_from(PLAIN), st.integers(0, 3000), st.integers(0, 40), st.text(max_size=20))
def test_a_damaged_manifest_raises_nothing_but_its_own_errors(name, start, length, junk):
    text = sample(name)
    damaged = text[:start] + junk + text[start + length :]
    try:
        workloads = read(damaged)
        for workload in workloads:
            if workload.supported:
                edit(damaged, workload, "max_model_len", 4096)
    except OomedicError:
        pass


@given(st.text())
def test_no_text_raises_anything_but_its_own_errors(text):
    try:
        read(text)
    except OomedicError as error:
        assert error.slug  # noqa: PT017 - whether it is raised is not the point
