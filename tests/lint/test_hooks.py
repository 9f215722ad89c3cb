"""The pre-commit hook and the GitHub Action, run in a repository of their own as their hosts would run them."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
SCHEMA = Path(__file__).parent / "sarif-schema-2.1.0.json"
BIN = Path(sys.executable).parent


@pytest.fixture
def repository(tmp_path, deployment):
    """A git repository with an engine that dies on an A10G, a chart's template, and files that are no manifests."""
    folder = tmp_path / "repository"
    files = {
        "deploy/chat.yaml": deployment("--max-model-len=131072"),
        "chart/templates/deployment.yaml": "kind: Deployment\nspec:\n  {{- if .Values.on }}\n  a: 1\n  {{- end }}\n",
        "README.md": "# a repository\n",
        ".github/workflows/ci.yaml": "on: [push]\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git = ("git", "-C", folder)
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    return folder


def variables(**more):
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "PYTHONPATH") if name in os.environ}
    return kept | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "OOMEDIC_LANG": "en"} | more


class TestTheHook:
    def hook(self):
        (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
        return hook

    def run(self, repository, *arguments):
        """Run the hook on all files that git knows, as pre-commit does: those of its types that are not excluded."""
        hook = self.hook()
        listed = subprocess.run(["git", "ls-files"], cwd=repository, check=True, capture_output=True, text=True)
        endings = {"yaml": (".yaml", ".yml")}[hook["types"][0]]
        names = [name for name in listed.stdout.split("\n") if name.endswith(endings)]
        names = [name for name in names if not re.search(hook["exclude"], name)]
        words = [*shlex.split(hook["entry"]), *arguments, *names]
        return subprocess.run(words, cwd=repository, capture_output=True, text=True, check=False, env=variables())

    def test_it_has_what_pre_commit_asks_for(self):
        hook = self.hook()
        assert {"id", "name", "entry", "language"} <= hook.keys()
        assert (hook["language"], hook["require_serial"]) == ("python", True)
        scripts = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        assert f'\n{shlex.split(hook["entry"])[0]} = "' in scripts

    def test_a_commit_of_what_does_not_start_is_stopped(self, repository):
        ran = self.run(repository, "--gpu", "A10G")
        assert ran.returncode == 1
        assert ran.stdout.startswith(
            "deploy/chat.yaml:13:15: OOM401 kv-cache-too-small (likely) Deployment/chat#vllm\n"
        )

    def test_a_commit_of_what_starts_passes(self, repository):
        assert self.run(repository, "--gpu", "H200").returncode == 0


class TestTheAction:
    @pytest.fixture
    def run(self, repository, tmp_path):
        """Run the steps of the action: inputs become variables where the action says so."""
        action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
        home = tmp_path / "runner"
        (home / "oomedic/bin").mkdir(parents=True)
        (home / "oomedic/bin/oomedic").symlink_to(BIN / "oomedic")

        def steps(**inputs):
            given = {name: row["default"] for name, row in action["inputs"].items()} | inputs
            step = action["runs"]["steps"][-1]
            named = {name: self.filled(text, given) for name, text in step["env"].items()}
            summary = home / "summary.md"
            environment = variables(RUNNER_TEMP=str(home), GITHUB_STEP_SUMMARY=str(summary), **named)
            words = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
            done = subprocess.run(words, cwd=repository, capture_output=True, text=True, check=False, env=environment)
            return done, summary.read_text(encoding="utf-8")

        return steps

    def filled(self, text, inputs):
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: inputs[match[1]], text)

    def test_findings_are_annotations_and_fail_the_step(self, run):
        done, summary = run(gpu="A10G")
        assert done.returncode == 1
        first = done.stdout.splitlines()[0]
        assert first.startswith("::error file=deploy/chat.yaml,line=13,endLine=13,col=15,endColumn=36,title=OOM401 ")
        assert "| `./deploy/chat.yaml:13:15` | OOM401 kv-cache-too-small (likely) |" in summary

    def test_the_template_of_the_chart_is_passed_over_with_what_to_give_instead(self, run):
        done, _ = run(gpu="H200")
        assert done.returncode == 0
        assert "::notice title=oomedic::Skipped: ./chart/templates/deployment.yaml" in done.stdout
        assert "helm template" in done.stdout

    def test_sarif_is_written_beside(self, run, repository):
        run(gpu="A10G", **{"sarif-file": "found.sarif", "fail-on": "never"})
        log = json.loads((repository / "found.sarif").read_text(encoding="utf-8"))
        jsonschema.Draft4Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(log)
        assert log["runs"][0]["results"][0]["ruleId"] == "OOM401"

    def test_paths_stand_one_a_line_and_are_never_run(self, run, repository):
        done, _ = run(gpu="A10G", paths="deploy/chat.yaml\n$(touch ran)\n", **{"fail-on": "never"})
        assert done.returncode == 2
        assert "$(touch ran)" in done.stdout
        assert not (repository / "ran").exists()

    def test_the_first_step_installs_the_action_s_own_checkout(self):
        action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
        assert action["runs"]["using"] == "composite"
        assert all(step["shell"] == "bash" for step in action["runs"]["steps"])
        assert '"$GITHUB_ACTION_PATH"' in action["runs"]["steps"][0]["run"]
