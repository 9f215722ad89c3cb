"""A variable that nothing reads.

It is named like an argument of the engine, and neither vLLM nor the command line looks at it.

What you see
------------
`MAX_MODEL_LEN`, `GPU_MEMORY_UTILIZATION`, `TENSOR_PARALLEL_SIZE` and the like under env, and an engine that runs with its
defaults.

Why it happens
--------------
Other images (NIM, TGI, start-up scripts of a cloud provider) read such variables. vLLM's own all begin with `VLLM_`.

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
          args: [Qwen/Qwen2.5-7B-Instruct, --dtype=auto]
          env: [{name: MAX_MODEL_LEN, value: "8192"}]

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
          args: [Qwen/Qwen2.5-7B-Instruct, --max-model-len=$(MAX_MODEL_LEN)]
          env: [{name: MAX_MODEL_LEN, value: "8192"}]

What to do
----------
Write the argument on the command line, and delete the variable; or refer to it there as `$(NAME)`.

Says
----
dead: Nothing reads {name}: vLLM's own variables begin with VLLM_, and the command line does not mention it.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.slip import Sighting, slip
from oomedic.workloads.reading import Reading


@slip("LINT102", "variable-unread")
def find(reading: Reading, _evidence: Evidence) -> Iterator[Sighting]:
    """Yield each variable that is named like an argument and that no program mentions."""
    for name in reading.workload.dead_variables:
        yield Sighting(claim("LINT102.dead", f"env {name}", name=name), f"env/{name}")
