"""A comment that silences a finding and does not say why.

It has no effect until it does.

What you see
------------
`# oomedic: ignore[OOM401]` with nothing behind the bracket, or no code in it.

Why it happens
--------------
The build was red and somebody was in a hurry. Whoever reads the file next year cannot tell whether the reason still holds.

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
          args: [Qwen/Qwen2.5-7B-Instruct, --dtype=auto]  # oomedic: ignore[LINT101]

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
          # oomedic: ignore[LINT101] the base is used by others too
          args: [Qwen/Qwen2.5-7B-Instruct, --max-model-len=8192, --max-model-len=16384]

What to do
----------
Write the reason behind the bracket: `# oomedic: ignore[OOM401] only served on H200, which this cluster has`.

Says
----
reason: The comment names no reason, so it silences nothing.
code: The comment names no code, so it silences nothing: write ignore[CODE] and a reason.
"""

from collections.abc import Iterator

from oomedic.evidence import Evidence
from oomedic.slip import Sighting, slip
from oomedic.workloads.reading import Reading


@slip("LINT201", "ignore-without-reason")
def find(_reading: Reading, _evidence: Evidence) -> Iterator[Sighting]:
    """Yield nothing: comments belong to files, not to engines (oomedic.lint.ignores)."""
    yield from ()
