import pytest

SMALL = "meta-llama/Llama-3.1-8B-Instruct"


@pytest.fixture
def deployment():
    """Write a Deployment of one engine; keyword arguments are further lines of the container or of the pod."""

    def write(*args, name="chat", model=SMALL, image="v0.10.2", gpus=1, memory=None, container="", pod="", spec=""):
        words = "".join(f"\n            - {arg}" for arg in (model, *args))
        limits = f"nvidia.com/gpu: {gpus}" + (f", memory: {memory}" if memory else "")
        return f"""apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  strategy: {{type: Recreate}}
{indented(spec, 2)}  template:
    spec:
{indented(pod, 6)}      containers:
        - name: vllm
          image: vllm/vllm-openai:{image}
          args:{words}
{indented(container, 10)}          resources: {{limits: {{{limits}}}}}
"""

    return write


def indented(text, by):
    return "".join(f"{' ' * by}{line}\n" for line in text.splitlines())


@pytest.fixture
def lint(oomedic, tmp_path, monkeypatch):
    """Lint texts as files of a folder; return what the command came to."""
    monkeypatch.chdir(tmp_path)

    def run(*words, paths=(".",), **files):
        for name, text in files.items():
            path = tmp_path / f"{name}.yaml"
            path.write_text(text, encoding="utf-8", newline="")
        return oomedic("lint", *paths, *words)

    return run
