"""An argument is given twice.

The later one wins. The earlier one stands in the file and says something that is not so.

What you see
------------
The same flag twice, in another spelling (`--max_model_len`, `--max-model-len`), as an abbreviation, in the command and in
the args, in a base and in what an overlay adds, or in a chart's own key and in its extra arguments.

Why it happens
--------------
Somebody adds an argument behind a long list without looking for it. vLLM's parser does not complain.

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
          args: [Qwen/Qwen2.5-7B-Instruct, --max-model-len=8192, --dtype=auto, --max_model_len=16384]

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
          args: [Qwen/Qwen2.5-7B-Instruct, --max-model-len=8192, --dtype=auto]

What to do
----------
Delete the one that does not count.

Says
----
shadowed: {name} = {value} does not count: {winner} further behind wins.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.slip import Sighting, slip
from oomedic.workloads.reading import Reading


@slip("LINT101", "argument-overridden")
def find(reading: Reading, _evidence: Evidence) -> Iterator[Sighting]:
    """Yield each value that a later one of the same argument overrides."""
    arguments = reading.workload.arguments
    for name, given in arguments.shadowed:
        winner = arguments.given.get(name)
        if winner is not None and winner.value not in {None, given.value}:
            said = claim(
                "LINT101.shadowed", given.where, name=name, value=str(given.value), winner=f"{name} = {winner.value}"
            )
            yield Sighting(said, given)
