"""A cluster for people: a control plane on this machine with a vLLM that crash-loops, until Ctrl-C.

With ``OOMEDIC_ENGINE`` (the path of a ``vllm`` command, as tools/install_engine.py prints it) a real vLLM runs behind
the pod. Without it kwok plays a public case.
"""

import http.server
import os
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from rig.model import write_model
from rig.process import environment

from plane.case import ARGS, CARD, CRASHES, PREVIOUS
from plane.control_plane import ControlPlane
from plane.fake_engine import FakeEngine
from plane.objects import as_container_log, deployment, eventually, gpu_node, logs_of_namespace, ports_of_namespace
from plane.runner import PLAYS, Runner

NAMESPACE = "inference"
TARGET = f"deploy/vllm -n {NAMESPACE}"


def main() -> int:
    """Run the lab."""
    with tempfile.TemporaryDirectory(prefix="oomedic-lab-") as folder, ExitStack() as stack:
        _say("starting etcd, API server, controller manager, scheduler and kwok …")
        plane = ControlPlane(Path(folder))
        stack.callback(plane.stop)
        plane.create(gpu_node("gpu-1", CARD, instance_type="workstation"))
        plane.kubectl("create", "namespace", NAMESPACE)
        model = _real(plane, Path(folder), stack) if os.environ.get("OOMEDIC_ENGINE") else _played(plane, Path(folder))
        _say("waiting for the crash loop …")
        eventually(lambda: plane.crash_looping(NAMESPACE), patience=600)
        _explain(plane, model)
        try:
            while True:
                time.sleep(1)
        except KeyboardInterrupt:
            _say("\nstopping")
    return 0


def _real(plane: ControlPlane, folder: Path, stack: ExitStack) -> str:
    """Put a real engine behind the pod; return the option that tells its model."""
    vllm = Path(os.environ["OOMEDIC_ENGINE"])
    model = write_model(folder / "tiny")
    stack.callback(Runner(plane, vllm, environment(vllm), folder).stop)
    args = [str(model), "--served-model-name=tiny", f"--max-model-len={1 << 20}", "--enforce-eager"]
    made = deployment("vllm", NAMESPACE, args, PLAYS, image="vllm/vllm-openai:v0.32.0")
    template = made["spec"]["template"]
    template["metadata"]["labels"] |= PLAYS
    template["spec"]["containers"][0]["command"] = ["vllm", "serve"]
    template["spec"]["containers"][0]["env"] = [{"name": "VLLM_CPU_KVCACHE_SPACE", "value": "1"}]
    plane.create(made)
    return f" --model {model}"


def _played(plane: ControlPlane, folder: Path) -> str:
    """Let kwok play a public case, and a small server answer for the engine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), FakeEngine)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (folder / "previous").write_text(as_container_log(PREVIOUS), encoding="utf-8")
    (folder / "current").write_text(as_container_log("INFO GPU KV cache size: 111,456 tokens"), encoding="utf-8")
    plane.create(
        logs_of_namespace(NAMESPACE, folder / "current", folder / "previous"),
        ports_of_namespace(NAMESPACE, server.server_port),
        deployment("vllm", NAMESPACE, ARGS, CRASHES, image="vllm/vllm-openai:v0.20.0"),
    )
    return ""


def _explain(plane: ControlPlane, model: str) -> None:
    _say(f"""
A vLLM crash-loops on a cluster of this machine. In another terminal:

    export KUBECONFIG={plane.admin} PATH={Path(sys.executable).parent}:{plane.assets.programs["kubectl"].parent}:$PATH

    oomedic diagnose {TARGET}{model}
    oomedic fix {TARGET}{model} --apply --soak 10s
    oomedic undo {TARGET}

kubectl works there as well. Ctrl-C ends the lab and removes all of it.""")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
