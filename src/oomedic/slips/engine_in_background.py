"""The engine runs behind something else.

A shell starts it with & and goes on: when the engine dies, the container lives.

What you see
------------
`vllm serve … &` in a start-up script, a container that is Running and not Ready, restart count 0, an out-of-memory message in
the log of a pod that never crash-loops.

Why it happens
--------------
Scripts start the engine, wait for it and then load adapters or warm it up. The container ends when the script does.

Example
-------
    $ oomedic lint -
    apiVersion: v1
    kind: Pod
    metadata: {name: chat}
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.10.2
          command: [bash, -c, "vllm serve Qwen/Qwen2.5-7B-Instruct --port 8000 & sleep infinity"]

Not this
--------
    $ oomedic lint -
    apiVersion: v1
    kind: Pod
    metadata: {name: chat}
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.10.2
          command: [bash, -c, "exec vllm serve Qwen/Qwen2.5-7B-Instruct --port 8000"]

What to do
----------
Let the engine be the last command, with exec; do the rest in a sidecar or a postStart hook. Where that is not possible: a
liveness probe on /health.
"""

from collections.abc import Iterator

from oomedic.evidence import Evidence
from oomedic.slip import Sighting, slip
from oomedic.workloads.reading import Reading


@slip("LINT105", "engine-in-background")
def find(reading: Reading, _evidence: Evidence) -> Iterator[Sighting]:
    """Yield that the statement that starts the engine is left running behind."""
    for note in reading.workload.notes:
        if note.message == "note.engine-in-background":
            yield Sighting(note, "command")
