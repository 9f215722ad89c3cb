"""An argument that does not say what it seems to say.

Its value stands somewhere else, is not a value, or becomes a word on its own.

What you see
------------
A word on the command line that belongs to no argument, `--enable-chunked-prefill=false` where a release knows only
`--no-enable-chunked-prefill`, a chart's `true` that becomes a word, a value from a variable that nothing in the manifest sets.

Why it happens
--------------
A switch of vLLM takes no value in some releases and does in others; charts write what they are given; a shell expands `$NAME`
and Kubernetes `$(NAME)`, and neither does the other's.

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
          command: [sh, -c, "exec vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len=$MAX_LEN"]

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
          command: [sh, -c, "exec vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len=$MAX_LEN"]
          env: [{name: MAX_LEN, value: "8192"}]

What to do
----------
Write the value out, one word for each item of args.
"""

from collections.abc import Iterator
from typing import Final

from oomedic.evidence import Evidence
from oomedic.slip import Sighting, slip
from oomedic.workloads.reading import Reading

_NOTES: Final = frozenset(("note.switch-as-word", "note.number-unquoted", "note.backend-auto"))


@slip("LINT104", "argument-misread")
def find(reading: Reading, _evidence: Evidence) -> Iterator[Sighting]:
    """Yield what could not be read as it is written."""
    workload = reading.workload
    for problem in workload.arguments.problems:
        yield Sighting(problem, problem.where or None)
    for note in workload.notes:
        if note.message in _NOTES:
            yield Sighting(note)
