"""What lint reads: files, folders, standard input, kustomizations; what it passes over; and what is no manifest."""

import json
import time

import pytest

BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
TEMPLATE = "kind: Deployment\nspec:\n  {{- if .Values.on }}\n  replicas: 1\n  {{- end }}\n"


def files_of(ran):
    return sorted({each["place"]["path"] for each in json.loads(ran.out)["lint"]["findings"]})


LONG = "--max-model-len=131072"
ON_A10G = ("--gpu", "A10G", "-o", "json")


class TestPaths:
    def test_folders_are_read_with_those_below_and_hidden_ones_left_out(self, lint, deployment, tmp_path):
        for name in ("top.yml", "below/deeper/d.yaml", ".git/d.yaml", "below/.cache/d.yaml", "notes.txt"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(deployment(LONG), encoding="utf-8")
        assert files_of(lint(*ON_A10G)) == ["./below/deeper/d.yaml", "./top.yml"]

    def test_json_is_read_too(self, lint, tmp_path):
        container = {
            "name": "vllm",
            "image": "vllm/vllm-openai:v0.10.2",
            "args": ["meta-llama/Llama-3.1-8B-Instruct", LONG],
            "resources": {"limits": {"nvidia.com/gpu": 1}},
        }
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "chat"}, "spec": {"containers": [container]}}
        (tmp_path / "pod.json").write_text(json.dumps(pod, indent=2), encoding="utf-8")
        ran = lint(*ON_A10G)
        place = json.loads(ran.out)["lint"]["findings"][0]["place"]
        lines = (tmp_path / "pod.json").read_text(encoding="utf-8").splitlines()
        assert lines[place["line"] - 1][place["column"] - 1 : place["end_column"] - 1] == LONG

    def test_standard_input_takes_what_kustomize_and_helm_print(self, oomedic, deployment):
        printed = f"---\n# Source: chart/templates/a.yaml\n{deployment(LONG)}---\n---\n{deployment(LONG, name='b')}"
        ran = oomedic("lint", "-", *ON_A10G, stdin=printed)
        lines = [each["place"]["line"] for each in json.loads(ran.out)["lint"]["findings"]]
        assert lines == [2 + 13, 2 + 14 + 2 + 13]
        assert files_of(ran) == ["-"]

    def test_a_kustomization_stands_for_its_files_and_the_overlay_is_shown(self, lint, deployment, tmp_path):
        (tmp_path / "base").mkdir()
        (tmp_path / "base/d.yaml").write_text(deployment("--max-model-len=8192"), encoding="utf-8")
        (tmp_path / "base/kustomization.yaml").write_text("resources: [d.yaml]\n", encoding="utf-8")
        (tmp_path / "prod").mkdir()
        overlay = (
            "resources: [../base]\npatches:\n  - target: {kind: Deployment}\n    patch: |-\n      - op: replace\n"
            f"        path: /spec/template/spec/containers/0/args/1\n        value: {LONG}\n"
        )
        (tmp_path / "prod/kustomization.yaml").write_text(overlay, encoding="utf-8")
        (finding,) = json.loads(lint(*ON_A10G).out)["lint"]["findings"]
        assert (finding["place"]["path"], finding["place"]["line"]) == ("./prod/kustomization.yaml", 7)
        assert finding["place"]["column"] == len("        value: ") + 1
        (replacement,) = finding["replacements"]
        assert (replacement["path"], replacement["line"]) == ("./prod/kustomization.yaml", 7)

    def test_a_folder_without_an_engine_is_well(self, lint):
        ran = lint(a="kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n")
        assert (ran.status, ran.out) == (0, "No engine was found in 1 file.\n")

    def test_the_same_file_named_twice_is_judged_once(self, lint, deployment):
        assert "1 finding in 1 engine" in lint("--gpu", "A10G", paths=("d.yaml", "d.yaml"), d=deployment(LONG)).out

    def test_no_network_is_touched_unless_the_hub_is_asked_for(self, lint, deployment, monkeypatch):
        monkeypatch.setattr("socket.socket", _refuse)
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        ran = lint("--gpu", "A10G", d=deployment(model="nobody/knows-this-model"))
        assert "The size of the weights is not known" in ran.out


def _refuse(*_args, **_more):
    pytest.fail("a socket was opened")


class TestTemplates:
    def test_in_a_folder_they_are_passed_over_with_what_to_give_instead(self, lint, deployment):
        ran = lint("--gpu", "A10G", template=TEMPLATE, d=deployment("--max-model-len=8192"))
        assert ran.status == 0
        (said,) = [
            line for line in ran.out.splitlines() if line.startswith("Skipped: ./template.yaml, line 3, column 3")
        ]
        assert "helm template CHART -f values.yaml" in said

    def test_one_that_is_named_is_an_error(self, lint):
        ran = lint(paths=("template.yaml",), template=TEMPLATE)
        assert ran.status == 2
        assert "helm template" in ran.err


class TestWhatIsNoManifest:
    """One clear message each; everything else is judged all the same."""

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            (BOMB, "too large for a manifest"),
            ("kind: Pod\nmetadata:\n\tname: a\n", "line 3, column 1: not YAML as Kubernetes reads it"),
            ("kind: Pod\nkind: Job\n", 'line 2, column 1: "kind" stands twice in one mapping'),
            ("kind: Pod\nmetadata: {name: a\0b}\n", "line 2, column 19: not YAML as Kubernetes reads it"),
            ("kind: [", "not YAML as Kubernetes reads it"),
            ("[" * 500, "nested deeper than any manifest is"),
        ],
        ids=["alias bomb", "tab", "duplicate key", "NUL", "half-open", "deep"],
    )
    def test_it_is_told_in_one_message_and_stops_nothing_else(self, lint, deployment, content, says):
        ran = lint("--gpu", "A10G", bad=content, good=deployment(LONG))
        assert ran.status == 2
        assert ran.err.count("oomedic: ") == 1
        assert "./bad.yaml" in ran.err
        assert says in ran.err
        assert "./good.yaml:13:15: OOM401" in ran.out

    def test_a_file_of_100_mb_is_refused_before_it_is_parsed(self, lint, tmp_path):
        with (tmp_path / "huge.yaml").open("wb") as file:
            for _ in range(100):
                file.write(b"- some words of a list that goes on and on\n" * 24000)
        started = time.process_time()
        ran = lint()
        assert time.process_time() - started < 2
        assert ran.status == 2
        assert ran.err.count("oomedic: ") == 1
        assert "huge.yaml" in ran.err

    def test_programs_get_them_beside_the_findings(self, lint, deployment):
        ran = lint(*ON_A10G, bad="kind: [", good=deployment(LONG))
        tree = json.loads(ran.out)["lint"]
        assert [(each["error"], each["path"], each["line"]) for each in tree["unreadable"]] == [
            ("yaml-unreadable", "./bad.yaml", 1)
        ]
        assert len(tree["findings"]) == 1

    def test_a_missing_file_does_not_hide_the_others(self, lint, deployment):
        ran = lint("--gpu", "A10G", paths=("d.yaml", "gone.yaml"), d=deployment(LONG))
        assert ran.status == 2
        assert "gone.yaml" in ran.err
        assert "OOM401" in ran.out
