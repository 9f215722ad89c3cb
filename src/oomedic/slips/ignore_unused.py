"""A comment that silences nothing any more.

The finding that it names does not occur there.

What you see
------------
`# oomedic: ignore[OOM401] …` on a line where nothing is found.

Why it happens
--------------
The manifest was mended, or the line moved away from its comment.

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
          args: [Qwen/Qwen2.5-7B-Instruct, --dtype=auto]  # oomedic: ignore[LINT101] both were needed once

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
Delete the comment. It goes behind the line of the finding, or on a line of its own above it.

Says
----
unused: Nothing is found here that {codes} would silence.
"""

from collections.abc import Iterator

from oomedic.evidence import Evidence
from oomedic.slip import Sighting, slip
from oomedic.workloads.reading import Reading


@slip("LINT202", "ignore-unused")
def find(_reading: Reading, _evidence: Evidence) -> Iterator[Sighting]:
    """Yield nothing: comments belong to files, not to engines (oomedic.lint.ignores)."""
    yield from ()
