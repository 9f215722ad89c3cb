"""The formats of lint: valid by their schemas, with places, fixes and fingerprints, and what silenced them."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import yaml

import oomedic as package

HERE = Path(__file__).parent
SARIF = json.loads((HERE / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
REPORT = json.loads((Path(package.__file__).parent / "data/schema/report-v1.json").read_text(encoding="utf-8"))
MANIFESTS = HERE.parent / "manifests"
LONG = "--max-model-len=131072"
BAD = "kind: Pod\nkind: Job\n"


@pytest.fixture
def everything(lint, deployment):
    """Lint a folder that shows all: findings, slips, a silenced one, a template, a broken file, another engine."""
    files = {
        "a": deployment("--max-model-len=8192", LONG, memory="6Gi"),
        "b": deployment(f"{LONG}  # oomedic: ignore[OOM401] because: one, two % three", name="b"),
        "c": "kind: Deployment\n{{ if .x }}\nspec: 1\n{{ end }}\n",
        "d": BAD,
        "e": (MANIFESTS / "31-nim-service.yaml").read_text(encoding="utf-8"),
    }
    return lambda form, *more: lint("--gpu", "A10G", "-o", form, *more, **files)


def sarif(ran):
    log = json.loads(ran.out)
    jsonschema.Draft4Validator(SARIF).validate(log)
    return log["runs"][0]


class TestSarif:
    def test_it_is_valid_and_every_result_has_a_rule_with_its_page(self, everything):
        run = sarif(everything("sarif"))
        rules = run["tool"]["driver"]["rules"]
        for result in run["results"]:
            rule = rules[result["ruleIndex"]]
            assert rule["id"] == result["ruleId"]
            assert rule["help"]["markdown"].startswith(f"# {rule['id']} ")

    def test_a_result_has_its_region_its_unit_its_fingerprint_and_its_fix(self, everything):
        result = next(each for each in sarif(everything("sarif"))["results"] if each["ruleId"] == "OOM401")
        (location,) = result["locations"]
        assert location["physicalLocation"] == {
            "artifactLocation": {"uri": "a.yaml", "uriBaseId": "SRCROOT"},
            "region": {"startLine": 14, "startColumn": 15, "endLine": 14, "endColumn": 37},
        }
        assert location["logicalLocations"][0]["fullyQualifiedName"] == "Deployment/chat#vllm"
        assert result["level"] == "error"
        assert len(result["partialFingerprints"]["oomedic/v1"]) == 32
        ((change,),) = [fix["artifactChanges"] for fix in result["fixes"]]
        assert change["replacements"] == [
            {
                "deletedRegion": {"startLine": 14, "startColumn": 31, "endLine": 14, "endColumn": 37},
                "insertedContent": {"text": "29696"},
            }
        ]

    def test_a_slip_is_a_note_and_what_may_fail_a_warning(self, everything):
        levels = {each["ruleId"]: each["level"] for each in sarif(everything("sarif"))["results"]}
        assert (levels["LINT101"], levels["HOST101"]) == ("note", "warning")

    def test_what_a_comment_silences_is_suppressed_with_its_reason(self, everything):
        (result,) = [each for each in sarif(everything("sarif"))["results"] if "suppressions" in each]
        assert result["suppressions"] == [{"kind": "inSource", "justification": "because: one, two % three"}]

    def test_broken_files_and_what_was_passed_over_are_notifications(self, everything):
        (invocation,) = sarif(everything("sarif"))["invocations"]
        assert invocation["executionSuccessful"] is False
        told = [(each["level"], each["message"]["text"][:30]) for each in invocation["toolExecutionNotifications"]]
        assert told[0] == ("error", './d.yaml, line 2, column 1: "k')
        assert any("Skipped: ./c.yaml" in text for _, text in told)

    def test_lines_that_move_and_figures_that_change_keep_the_fingerprint(self, lint, deployment):
        before, after = (
            sarif(lint("--gpu", "A10G", "-o", "sarif", d=text))["results"][0]["partialFingerprints"]
            for text in (deployment(LONG), f"# new\n{deployment('--max-model-len=100000')}")
        )
        assert before == after

    def test_absolute_paths_and_strange_names_become_uris(self, lint, deployment, tmp_path):
        path = tmp_path / "a folder/é#1.yaml"
        path.parent.mkdir()
        path.write_text(deployment(LONG), encoding="utf-8")
        (result,) = sarif(lint("--gpu", "A10G", "-o", "sarif", paths=(path,)))["results"]
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert uri.startswith("file:///")
        assert uri.endswith("/a%20folder/%C3%A9%231.yaml")


class TestAnnotations:
    def test_what_fails_the_step_is_an_error_at_its_lines(self, everything):
        lines = everything("github").out.splitlines()
        (oom,) = [line for line in lines if "OOM401" in line]
        places = "file=a.yaml,line=14,endLine=14,col=15,endColumn=36,title=OOM401 kv-cache-too-small"
        assert oom.startswith(f"::error {places}::Deployment/chat#vllm: ")
        assert [line.split(" ", 1)[0] for line in lines if "HOST101" in line or "LINT101" in line] == ["::notice"] * 2
        assert any(
            line.startswith("::error file=./d.yaml,line=2,col=1,title=oomedic yaml-duplicate-key::") for line in lines
        )

    def test_with_never_nothing_is_an_error_but_what_cannot_be_read(self, everything):
        errors = [line for line in everything("github", "--fail-on", "never").out.splitlines() if "::error" in line]
        assert len(errors) == 1

    def test_signs_of_the_workflow_language_are_escaped(self, lint, deployment, tmp_path):
        path = tmp_path / "a,b:c%.yaml"
        path.write_text(deployment(LONG), encoding="utf-8")
        assert "file=a%2Cb%3Ac%25.yaml," in lint("--gpu", "A10G", "-o", "github").out


class TestJunit:
    def test_each_engine_is_a_test_and_what_counts_a_failure(self, everything):
        root = ET.fromstring(everything("junit").out)
        cases = {(case.get("classname"), case.get("name")): case for case in root.iter("testcase")}
        failures = cases["./a.yaml", "Deployment/chat#vllm"].findall("failure")
        assert [each.get("type") for each in failures] == ["OOM401 kv-cache-too-small"]
        assert cases["./b.yaml", "Deployment/b#vllm"].find("failure") is None
        assert cases["./e.yaml", "NIMService/nim-8b"].find("skipped") is not None
        assert cases["./d.yaml", "./d.yaml"].find("error").get("type") == "yaml-duplicate-key"
        assert (root.get("failures"), root.get("errors")) == ("1", "1")

    def test_a_lower_bar_makes_more_failures(self, everything):
        root = ET.fromstring(everything("junit", "--fail-on", "possible").out)
        assert len(list(root.iter("failure"))) == int(root.get("failures")) == 3


class TestTrees:
    def test_json_keeps_what_every_report_promises_and_yaml_says_the_same(self, everything):
        tree = json.loads(everything("json").out)
        jsonschema.Draft202012Validator(REPORT).validate(tree)
        assert tree["schema"] == "oomedic/v1"
        assert tree["results"][0]["diagnosis"]["findings"][0]["code"] == "OOM401"
        assert tree["results"][0]["workload"]["unit"].startswith("Deployment/")
        assert [each["unit"] for each in tree["lint"]["not_judged"]] == ["NIMService/nim-8b"]
        assert yaml.safe_load(everything("yaml").out) == tree

    def test_markdown_is_a_table(self, everything):
        lines = everything("markdown").out.splitlines()
        assert lines[0] == "| where | finding | says |"
        assert any(
            line.startswith("| `./a.yaml:14:15` | OOM401 kv-cache-too-small (likely) | On NVIDIA A10G: ")
            for line in lines
        )


class TestStatus:
    @pytest.mark.parametrize(
        ("limits", "fail_on", "status"),
        [
            ((None, 8192), "possible", 0),
            (("6Gi", 8192), "possible", 1),
            (("6Gi", 8192), "likely", 0),
            (("3Gi", 8192), "likely", 1),
            (("3Gi", 8192), "certain", 0),
            ((None, 500000), "certain", 1),
            (("3Gi", 131072), "never", 0),
        ],
    )
    def test_it_is_1_from_the_confidence_on_that_is_asked_for(self, lint, deployment, limits, fail_on, status):
        memory, length = limits
        text = deployment(f"--max-model-len={length}", memory=memory)
        assert lint("--gpu", "A10G", "--fail-on", fail_on, d=text).status == status


def test_quiet_leaves_one_line_a_finding(lint, deployment):
    ran = lint("-q", "--gpu", "A10G", d=deployment(LONG))
    assert ran.out == "./d.yaml:13:15: OOM401 kv-cache-too-small (likely) Deployment/chat#vllm\n"


def test_no_secret_is_shown_in_any_format(lint, deployment):
    text = deployment(LONG, "--api-key=sk-of-ours-123456", container="env: [{name: HF_TOKEN, value: hf_ofours123456}]")
    text = text.replace(
        f"\n            - {LONG}\n            - --api-key=sk-of-ours-123456",
        f"\n            - --api-key=sk-of-ours-123456 {LONG}",
    )
    for form in ("text", "json", "sarif", "github", "junit", "yaml", "markdown"):
        ran = lint("--gpu", "A10G", "-o", form, d=text)
        assert "sk-of-ours" not in ran.out
        assert "hf_ofours" not in ran.out
