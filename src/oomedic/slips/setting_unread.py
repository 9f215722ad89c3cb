"""A setting that has no effect.

A key of a chart that no template reads, a flag that the server drops in silence, a volume that is mounted nowhere.

What you see
------------
The file says one thing, the pod does another: a node selector that pins nothing, 64 MiB of shared memory beside a volume of
40 GiB, a misspelt flag that changes nothing.

Why it happens
--------------
Charts render only the keys that they know. Hugging Face's server in KServe reads its arguments with parse_known_args and goes
on without those that it does not know. A volume is only there for containers that mount it.

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
      volumes:
        - {name: shm, emptyDir: {medium: Memory, sizeLimit: 8Gi}}

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
          args: [Qwen/Qwen2.5-7B-Instruct, --dtype=auto]
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
      volumes:
        - {name: shm, emptyDir: {medium: Memory, sizeLimit: 8Gi}}

What to do
----------
Write it where it is read, or delete it.
"""

from collections.abc import Iterator
from typing import Final

from oomedic.evidence import Evidence
from oomedic.slip import Sighting, slip
from oomedic.workloads.reading import Reading

_NOTES: Final = frozenset(("note.value-ignored", "note.flags-dropped", "note.memory-volume-unmounted"))
_VOLUME: Final = "volumes"


@slip("LINT103", "setting-unread")
def find(reading: Reading, _evidence: Evidence) -> Iterator[Sighting]:
    """Yield what the reader of the manifest noted as having no effect."""
    for note in reading.workload.notes:
        if note.message in _NOTES:
            key = note.parameters.get("key")
            yield Sighting(note, _VOLUME if "volume" in note.parameters else str(key) if key else None)
