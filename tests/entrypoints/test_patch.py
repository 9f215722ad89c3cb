"""``oomedic patch``: which change is made, in which form, what is refused; files are written whole or not at all."""

import json
import stat
import subprocess

import pytest
import yaml

SMALL = "meta-llama/Llama-3.1-8B-Instruct"
ON_A10G = ("--gpu", "A10G", "--offline")


def deployment(*args, name="chat", model=SMALL, more=""):
    written = "".join(f"\n            - {arg}" for arg in (model, *args))
    return f"""apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}{more}}}
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.10.2
          args:{written}
          resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""


LONG = deployment("--max-model-len=131072   # long")


@pytest.fixture
def manifest(tmp_path):
    def write(text, name="d.yaml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return write


class TestTheChange:
    def test_the_plans_first_change_is_made_and_told(self, oomedic, manifest):
        ran = oomedic("patch", manifest(LONG), *ON_A10G)
        assert ran.status == 0
        assert "-            - --max-model-len=131072   # long\n" in ran.out
        # 3.64 GiB are left beside weights and peak: 29824 tokens at 128 KiB, rounded down to a thousand
        assert "+            - --max-model-len=29696   # long\n" in ran.out
        assert ran.err == "Deployment/chat#vllm: max_model_len: 29696 (was 131072) (FIX101)\n"

    def test_the_diff_can_be_applied_and_the_changed_manifest_starts(self, oomedic, manifest):
        path = manifest(LONG)
        diff = oomedic("patch", path, *ON_A10G).out
        subprocess.run(["patch", "-p1", "-d", "/", "--quiet"], input=diff, text=True, check=True)
        again = oomedic("patch", path, *ON_A10G)
        assert (again.status, again.out) == (0, "")
        assert again.err == "Deployment/chat#vllm: By our arithmetic it starts; nothing is to be changed.\n"

    def test_of_two_objects_with_one_name_the_one_that_does_not_fit_is_changed(self, oomedic, manifest):
        fits = deployment("--max-model-len=8192")
        for well, ill in (("a.yaml", "b.yaml"), ("b.yaml", "a.yaml")):
            paths = {manifest(fits, well), manifest(LONG, ill)}
            ran = oomedic("patch", *sorted(paths), *ON_A10G)
            assert ran.status == 0
            assert [line for line in ran.out.splitlines() if line.startswith("+++")] == [
                f"+++ b{manifest(LONG, ill)}"  # absolute: as seen from the root
            ]
            assert "+            - --max-model-len=29696" in ran.out

    def test_a_new_file_is_put_beside_the_engines_own(self, oomedic, manifest, tmp_path, monkeypatch):
        monkeypatch.chdir("/")
        large = deployment(model="meta-llama/Llama-3.3-70B-Instruct")  # no setting makes it fit on an A10G
        ran = oomedic("patch", manifest(large), "--in-place", *ON_A10G)
        pool = tmp_path / "chat-gpu-nodepool.yaml"
        assert ran.status == 0
        assert "kind: NodePool" in pool.read_text(encoding="utf-8")
        assert ran.err.endswith(f"{tmp_path / 'd.yaml'} was changed.\n{pool} is new.\n")

    def test_two_objects_with_one_name_are_both_changed(self, oomedic, manifest):
        shorter = LONG.replace("131072", "65536")
        ran = oomedic("patch", manifest(LONG, "a.yaml"), manifest(shorter, "b.yaml"), *ON_A10G)
        assert ran.out.count("+            - --max-model-len=29696") == 2

    def test_a_remedy_can_be_chosen_by_its_code_or_its_name(self, oomedic, manifest):
        for name in ("FIX102", "raise-gpu-memory-utilization"):
            ran = oomedic("patch", manifest(LONG), "--remedy", name, *ON_A10G)
            assert "+            - --gpu-memory-utilization=0.95\n" in ran.out

    def test_a_remedy_that_does_not_fit_is_refused_with_those_that_do(self, oomedic, manifest):
        ran = oomedic("patch", manifest(LONG), "--remedy", "FIX103", *ON_A10G)
        assert (ran.status, ran.out) == (2, "")
        assert "FIX103 is not among the changes that fit here: FIX101, FIX102" in ran.err

    def test_a_remedy_is_made_although_nothing_calls_for_it(self, oomedic, manifest):
        ran = oomedic("patch", manifest(deployment("--max-model-len=8192")), "--remedy", "enforce-eager", "--offline")
        assert ran.status == 0
        assert [line for line in ran.out.splitlines()[2:] if line[0] in "+-"] == ["+            - --enforce-eager"]

    def test_two_engines_are_changed_in_one_patch(self, oomedic, manifest):
        other = deployment("--max-model-len=100000", name="other")
        ran = oomedic("patch", manifest(f"{LONG}---\n{other}"), *ON_A10G)
        assert ran.out.count("+            - --max-model-len=29696") == 2
        assert len(ran.err.splitlines()) == 2

    def test_where_no_card_is_named_the_smallest_on_which_it_dies_decides(self, oomedic, manifest):
        text = LONG.replace(
            "      containers:", "      nodeSelector: {karpenter.k8s.aws/instance-family: g5}\n      containers:"
        )
        ran = oomedic("patch", manifest(text), "--offline")
        assert "+            - --max-model-len=29696" in ran.out

    def test_a_change_in_a_config_map_says_that_it_restarts_nothing(self, oomedic, manifest):
        text = LONG.replace("--max-model-len=131072   # long", "--config=/etc/vllm/c.yaml").replace(
            "          resources:",
            "          volumeMounts: [{name: c, mountPath: /etc/vllm}]\n          resources:",
        )
        text += """      volumes: [{name: c, configMap: {name: settings}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  c.yaml: |
    max-model-len: 131072
"""
        ran = oomedic("patch", manifest(text), *ON_A10G)
        assert "-    max-model-len: 131072\n+    max-model-len: 29696\n" in ran.out
        assert "kubectl rollout restart deployment/chat" in ran.err


class TestInPlace:
    def test_the_file_keeps_its_mode_and_owner_and_all_else_letter_by_letter(self, oomedic, manifest):
        path = manifest(f"# café\r\n{LONG}".replace("\n", "\r\n").replace("\r\r", "\r"))
        path.chmod(0o640)
        before = path.stat()
        ran = oomedic("patch", path, "--in-place", *ON_A10G)
        assert (ran.status, ran.out) == (0, "")
        assert ran.err.endswith(f"{path} was changed.\n")
        after = path.stat()
        assert stat.S_IMODE(after.st_mode) == 0o640
        assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
        text = path.read_bytes().decode()
        assert text.replace("29696", "131072") == f"# café\n{LONG}".replace("\n", "\r\n")

    def test_a_link_stays_a_link(self, oomedic, manifest, tmp_path):
        path = manifest(LONG)
        link = tmp_path / "link.yaml"
        link.symlink_to(path)
        assert oomedic("patch", link, "--in-place", *ON_A10G).status == 0
        assert link.is_symlink()
        assert "29696" in path.read_text(encoding="utf-8")

    def test_nothing_is_written_where_nothing_changes_or_something_is_refused(self, oomedic, manifest):
        path = manifest(LONG)
        before = path.stat().st_mtime_ns
        oomedic("patch", path, "--in-place", "--remedy", "FIX103", *ON_A10G)
        oomedic("patch", path, "--in-place", "--offline")
        assert path.stat().st_mtime_ns == before
        assert list(path.parent.iterdir()) == [path], "no temporary file is left"

    def test_standard_input_cannot_be_changed(self, oomedic):
        ran = oomedic("patch", "-", "--in-place", *ON_A10G, stdin=LONG)
        assert ran.status == 2
        assert "Standard input cannot be changed in place." in ran.err


class TestForms:
    def test_json_patch_is_one_document(self, oomedic, manifest):
        operations = json.loads(oomedic("patch", manifest(LONG), "-o", "jsonpatch", *ON_A10G).out)
        assert [operation["op"] for operation in operations] == ["test", "replace"]

    def test_a_strategic_merge_patch_is_yaml(self, oomedic, manifest):
        tree = yaml.safe_load(oomedic("patch", manifest(LONG), "-o", "strategic", *ON_A10G).out)
        (container,) = tree["spec"]["template"]["spec"]["containers"]
        assert container == {"name": "vllm", "args": [SMALL, "--max-model-len=29696"]}

    def test_the_report_holds_the_patch(self, oomedic, manifest):
        ran = oomedic("patch", manifest(LONG), "-o", "json", *ON_A10G)
        (result,) = ran.results
        assert result["patch"]["format"] == "diff"
        assert "+            - --max-model-len=29696" in result["patch"]["text"]
        assert result["plan"]["changes"][0]["remedy"] == "FIX101"
        assert "Change of the manifest" in oomedic("patch", manifest(LONG), "-o", "text", *ON_A10G).out

    def test_a_form_that_does_not_fit_names_the_one_that_does(self, oomedic, manifest):
        ran = oomedic("patch", manifest(LONG), "-o", "helm-set", *ON_A10G)
        assert ran.status == 2
        assert "-o helm-set cannot show" in ran.err
        assert "Use -o diff" in ran.err


class TestRefusals:
    def test_what_another_object_makes_is_not_changed(self, oomedic, manifest):
        owner = ", ownerReferences: [{apiVersion: kubeai.org/v1, kind: Model, name: m, controller: true}]"
        ran = oomedic("patch", manifest(deployment("--max-model-len=131072", more=owner)), *ON_A10G)
        assert (ran.status, ran.out) == (2, "")
        assert "Model/m makes Deployment/chat#vllm, and would undo a change made here" in ran.err

    def test_what_helm_keeps_is_changed_with_a_word_about_its_source(self, oomedic, manifest):
        labels = ", labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: chat-prod}"
        ran = oomedic("patch", manifest(deployment("--max-model-len=131072", more=labels)), *ON_A10G)
        assert ran.status == 0
        assert "helm keeps Deployment/chat#vllm as its source says (chat-prod)" in ran.err

    def test_an_engine_of_another_kind_is_declined_in_its_own_words(self, oomedic, manifest):
        text = LONG.replace("vllm/vllm-openai:v0.10.2", "lmsysorg/sglang:v0.4")
        ran = oomedic("patch", manifest(text), *ON_A10G)
        assert (ran.status, ran.out) == (3, "")
        assert "The engine is sglang, not vLLM" in ran.err

    def test_files_without_an_engine_are_refused(self, oomedic, manifest):
        ran = oomedic("patch", manifest("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"))
        assert ran.status == 2
        assert "There is no engine in" in ran.err

    def test_where_too_little_is_known_it_says_what_is_missing(self, oomedic, manifest):
        ran = oomedic("patch", manifest(LONG), "--offline")
        assert (ran.status, ran.out) == (3, "")
        assert "The GPU is not known: give --gpu NAME" in ran.err

    def test_an_edit_that_would_change_something_else_too_says_why(self, oomedic, manifest):
        text = LONG.replace("          args:", "          args: &words").replace("   # long", "")
        text += "        - {name: logger, image: busybox, args: *words}\n"
        ran = oomedic("patch", manifest(text), "--remedy", "FIX101", *ON_A10G)
        assert (ran.status, ran.out) == (2, "")
        assert "it is shared by a YAML alias" in ran.err
