"""Build the programs of a real control plane from Go modules, and gather the CRDs that the tests install.

Everything lands in one folder outside the checkout, named by the digest of what it is made of, so that a second run
finds it and a changed version makes a new one. ``KUBEBUILDER_ASSETS``, the convention of the field, names a folder
whose ``etcd``, ``kube-apiserver`` and ``kubectl`` are used as they are.

Run as a program it builds and prints the folder.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml

HERE = Path(__file__).parent
KUBERNETES = "v1.36.3"
PROGRAMS = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kwok": "sigs.k8s.io/kwok/cmd/kwok",
    "karpenter": "sigs.k8s.io/karpenter/kwok",
}
"""What is built, under the name it is kept by: by itself etcd would build as ``server`` and Karpenter as ``kwok``."""


class Assets(NamedTuple):
    """Where the programs are, and the folder of CRDs, one folder a module."""

    programs: dict[str, Path]
    crds: Path


def assets() -> Assets:
    """Return programs and CRDs; what is missing is built first.

    Raises:
        RuntimeError: when something must be built and there is no Go.
    """
    folder = _cached("plane", "go.mod", "go.sum")
    crds = _cached("crds", "crds.tsv", "build.py")
    given = _given()
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        for name in PROGRAMS:
            if name not in given and not (folder / name).is_file():
                _build(name, folder)
        if not crds.is_dir():
            _gather_crds(crds)
    return Assets({name: given.get(name, folder / name) for name in PROGRAMS}, crds)


def _cached(kind: str, *made_of: str) -> Path:
    """Return the folder of exactly what these files say."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    digest = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in made_of))
    return home / "oomedic" / f"{kind}-{digest.hexdigest()[:12]}"


def _given() -> dict[str, Path]:
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    return {name: Path(folder, name) for name in PROGRAMS if folder and Path(folder, name).is_file()}


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one process build while others that want the same wait."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(name: str, folder: Path) -> None:
    number = KUBERNETES.removeprefix("v").split(".")
    said = {"gitVersion": KUBERNETES, "gitMajor": number[0], "gitMinor": number[1]}
    flags = " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{key}={value}" for key, value in said.items())])
    started = time.monotonic()
    # the build moves into place whole: an interrupted one leaves nothing that looks finished
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made = Path(scratch, name)
        _go("build", "-trimpath", "-ldflags", flags, "-o", str(made), PROGRAMS[name])
        made.rename(folder / name)
    _tell(f"built {name} in {time.monotonic() - started:.0f} s")


def _gather_crds(folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        for line in (HERE / "crds.tsv").read_text(encoding="utf-8").splitlines():
            if not line.startswith("#"):
                _gather(*line.split("\t"), Path(scratch, "crds"))
        Path(scratch, "crds").rename(folder)


def _gather(module: str, version: str, checksum: str, inside: str, into: Path) -> None:
    # outside of our own module: its go.mod and go.sum stay as they are
    found = json.loads(_go("mod", "download", "-json", f"{module}@{version}", at=into.parent))
    if found["Sum"] != checksum:
        raise RuntimeError(f"{module}@{version} is not what it was: {found['Sum']} instead of {checksum}")
    folder = into / module.replace("/", "_")
    folder.mkdir(parents=True)
    for source in sorted(Path(found["Dir"], inside).rglob("*.yaml")):
        text = source.read_text(encoding="utf-8")
        # patches for kustomize lie beside the definitions, and have no schema
        if "openAPIV3Schema" in text:
            definition = _without_descriptions(yaml.load(text, yaml.CSafeLoader))
            (folder / source.name).with_suffix(".json").write_text(json.dumps(definition), encoding="utf-8")


def _without_descriptions(tree: Any) -> Any:
    """Leave out the texts for readers, nine tenths of a definition; what is validated stays. It installs 8 x faster."""
    if isinstance(tree, list):
        return [_without_descriptions(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    return {
        key: _without_descriptions(item)
        for key, item in tree.items()
        if not (key == "description" and isinstance(item, str))
    }


def _go(*words: str, at: Path = HERE) -> str:
    program = shutil.which("go")
    if program is None:
        raise RuntimeError("the control plane is built with Go 1.26 or newer: install it, or set KUBEBUILDER_ASSETS")
    environment = os.environ | {"CGO_ENABLED": "0", "GOWORK": "off"}
    done = subprocess.run([program, *words], cwd=at, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    os.nice(5)
    found = assets()
    sys.stdout.write("".join(f"{path}\n" for path in [*found.programs.values(), found.crds]))
