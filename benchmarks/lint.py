"""How long `oomedic lint` takes for many manifests in one call, and whether the time grows with their number alone.

    python benchmarks/lint.py [--most 1000] [--runs 3] [--json]

Each manifest is a Deployment of its own: four models on four cards, no two with the same length, of which some start,
some lack room for one request and some for their weights. They lie in one folder, and once all in one file, as
`kustomize build` prints them. A run is a whole process, start of Python included. The shortest of several runs counts,
for others may work on the machine; the CPU's time stands beside the clock's. Target: 1,000 within 5 s, and not more
than 1.3 times the work for each of them than for each of a quarter.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

MODELS = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "Qwen/Qwen2.5-7B-Instruct",
    "mistralai/Mistral-7B-Instruct-v0.3",
    "Qwen/Qwen2.5-32B-Instruct",
)
INSTANCES = ("g5.xlarge", "g6.xlarge", "g6e.xlarge", "p5.4xlarge")
RELEASES = ("0.8.5", "0.10.2", "0.20.0")
MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: engine-{number}}}
spec:
  replicas: 1
  strategy: {{type: Recreate}}
  selector: {{matchLabels: {{app: engine-{number}}}}}
  template:
    metadata: {{labels: {{app: engine-{number}}}}}
    spec:
      nodeSelector: {{node.kubernetes.io/instance-type: {instance}}}
      containers:
        - name: vllm
          image: vllm/vllm-openai:v{release}
          args:
            - {model}
            - --max-model-len={length}
            - --gpu-memory-utilization=0.9
          ports: [{{containerPort: 8000}}]
          startupProbe: {{httpGet: {{path: /health, port: 8000}}, periodSeconds: 10, failureThreshold: 120}}
          resources: {{limits: {{nvidia.com/gpu: 1, memory: 24Gi}}}}
"""
TARGET_S = 5.0
TARGET_GROWTH = 1.3


class Measured(NamedTuple):
    """One size: how many manifests, in how many files, and what a call took."""

    manifests: int
    files: int
    clock_s: float
    cpu_s: float


def manifests(count: int) -> Iterator[str]:
    """Yield manifests of which no two are alike."""
    kinds = list(product(MODELS, INSTANCES, RELEASES))
    for number in range(count):
        model, instance, release = kinds[number % len(kinds)]
        length = 2048 + 16 * number
        yield MANIFEST.format(number=number, model=model, instance=instance, release=release, length=length)


def measure(folder: Path, count: int, files: int, runs: int) -> Measured:
    """Write the manifests and take the time of the quickest call."""
    place = folder / f"{count}-in-{files}"
    place.mkdir()
    texts = list(manifests(count))
    for number in range(files):
        text = "---\n".join(texts[number::files])
        (place / f"{number}.yaml").write_text(text, encoding="utf-8")
    taken = [_call(place, count) for _ in range(runs)]
    return Measured(count, files, min(clock for clock, _ in taken), min(cpu for _, cpu in taken))


def _call(place: Path, count: int) -> tuple[float, float]:
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    words = [sys.executable, "-m", "oomedic.entrypoints.cli", "lint", str(place), "--lang", "en"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    clock, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if f"in {count} engines" not in done.stdout:
        sys.exit(f"not every manifest was judged: {done.stdout[-300:]}{done.stderr[-300:]}")
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Measure, print, and fail where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes = [options.most // 4, options.most // 2, options.most]
    with tempfile.TemporaryDirectory() as name:
        rows = [measure(Path(name), count, count, options.runs) for count in sizes]
        rows.append(measure(Path(name), options.most, 1, options.runs))
    growth = (rows[2].cpu_s / rows[2].manifests) / (rows[0].cpu_s / rows[0].manifests)
    if options.json:
        tree = {"rows": [row._asdict() for row in rows], "growth": round(growth, 2), "target_s": TARGET_S}
        print(json.dumps(tree, indent=2))
    else:
        print("manifests   files   clock s   CPU s   ms each")
        for row in rows:
            each = 1000 * row.cpu_s / row.manifests
            print(f"{row.manifests:9}{row.files:8}{row.clock_s:10.2f}{row.cpu_s:8.2f}{each:10.2f}")
        print(f"{growth:.2f} times the CPU's time for each of {options.most} than for each of {sizes[0]}")
    kept = all(row.cpu_s <= TARGET_S * row.manifests / 1000 for row in rows[2:]) and growth <= TARGET_GROWTH
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
