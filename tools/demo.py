"""The main job, on the runbook's own case: a pod that crash-loops on GPU memory, its log and its manifest."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMAND = [
    "diagnose",
    "--logs",
    "examples/llama-scout-g5/previous.log",
    "--manifest",
    "examples/llama-scout-g5/deployment.yaml",
]


def main() -> int:
    """Run the command and show it; finding the cause is success here."""
    print(f"$ oomedic {' '.join(COMMAND)}\n", flush=True)
    process = [sys.executable, "-m", "oomedic.entrypoints.cli", *COMMAND]
    status = subprocess.run(process, cwd=ROOT, check=False).returncode
    return 0 if status in {0, 1} else status


if __name__ == "__main__":
    sys.exit(main())
