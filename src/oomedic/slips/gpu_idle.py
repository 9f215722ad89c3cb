"""A GPU is paid for and not used.

The pod asks for more GPUs than the engine spreads its model over.

What you see
------------
nvidia.com/gpu: 2 and no `--tensor-parallel-size`: one card holds everything, the other nothing.

Why it happens
--------------
vLLM takes one GPU unless it is told otherwise. More of them do not help against an out-of-memory error by themselves.

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
          resources: {limits: {nvidia.com/gpu: 2}}

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
          args: [Qwen/Qwen2.5-7B-Instruct, --tensor-parallel-size=2]
          resources: {limits: {nvidia.com/gpu: 2}}

What to do
----------
Set `--tensor-parallel-size` to the number of GPUs, as far as it divides the attention heads, or ask for fewer GPUs.

Says
----
idle: The engine uses {used} of the {gpus} GPUs of its {pods} {pods:plural pod|pods}: tensor_parallel_size x pipeline_parallel_size x data_parallel_size is {used}.
"""

from collections.abc import Iterator
from typing import Final

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.slip import Sighting, slip
from oomedic.workloads.reading import Reading

_WHOLE_CARDS: Final = "nvidia.com/gpu"


@slip("LINT106", "gpu-idle")
def find(reading: Reading, evidence: Evidence) -> Iterator[Sighting]:
    """Yield that a replica has more GPUs than ranks."""
    workload, config = reading.workload, evidence.config
    gpus = workload.gpus_per_replica
    if config is None or gpus is None or workload.gpu_resource != _WHOLE_CARDS:
        return
    used = config.ranks * max(config.data_parallel_size, 1)
    if used < gpus:
        said = claim("LINT106.idle", _WHOLE_CARDS, used=used, gpus=gpus, pods=workload.group_size)
        yield Sighting(said, _WHOLE_CARDS)
