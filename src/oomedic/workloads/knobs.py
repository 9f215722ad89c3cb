"""Environment variables that are named like the engine's arguments: read by a script, or by nothing at all."""

import re
from collections.abc import Mapping
from typing import Final

from oomedic.arguments.given import Given, without_secrets
from oomedic.arguments.shell_words import Variable
from oomedic.arguments.table import Argument, ArgumentTable
from oomedic.arguments.values import read_value

_OTHER_NAMES: Final = {
    "MODEL_ID": "model",
    "MODEL_NAME": "model",
    "MODEL_PATH": "model",
    "HF_MODEL_ID": "model",
    "TENSOR_PARALLELISM": "tensor_parallel_size",
    "PIPELINE_PARALLELISM": "pipeline_parallel_size",
    "NUM_GPUS": "tensor_parallel_size",
    "MAX_MODEL_LENGTH": "max_model_len",
    "GPU_MEMORY_UTIL": "gpu_memory_utilization",
}
_PREFIXES: Final = ("NIM_", "VLLM_", "ENGINE_", "NEURON_")
_OWN: Final = frozenset(("VLLM_PORT",))
"""Variables of vLLM itself that are named like an argument and mean something else (vllm/envs.py)."""
_SETTINGS: Final = re.compile(r"(?:MAX|GPU|TENSOR|PIPELINE|DATA|KV|CPU|SWAP|BLOCK|ENFORCE|ENABLE|DTYPE|QUANT)\w*")


def knob_of(name: str, table: ArgumentTable) -> Argument | None:
    """Return the argument that a variable is named like, None for any other variable.

    >>> knob_of("HOME", ArgumentTable.of([]))
    """
    for prefix in ("", *_PREFIXES):
        if not name.startswith(prefix) or name in _OWN:
            continue
        bare = name.removeprefix(prefix)
        flag = f"--{_OTHER_NAMES.get(bare, bare).lower().replace('_', '-')}"
        match = (table.find(flag) if _SETTINGS.fullmatch(bare) else table.exact(flag)) if bare.isupper() else None
        if match is not None and not match.negated:
            return match.argument
    return None


def read_knobs(variables: Mapping[str, Variable], table: ArgumentTable) -> dict[str, Given]:
    """Read the variables that a program may take for arguments; what cannot be read is left out."""
    found: dict[str, Given] = {}
    for name, variable in variables.items():
        argument = knob_of(name, table) if variable.text else None
        if argument is None or argument.secret or not variable.text:
            continue
        try:
            value = read_value(argument, [variable.text])
        except ValueError:
            continue
        found.setdefault(argument.name, Given(without_secrets("", value), f"env {name}", name))
    return found


def mentions(text: str, name: str) -> bool:
    """Tell whether a program's text has a name as a word.

    >>> mentions("os.environ['MODEL_ID']", "MODEL_ID"), mentions("MODEL_ID_2", "MODEL_ID")
    (True, False)
    """
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def dead_knobs(variables: Mapping[str, Variable], text: str, table: ArgumentTable) -> tuple[str, ...]:
    """Return the variables that are named like memory settings, and that a program which shows never mentions.

    vLLM reads no such variable itself: its own all begin with ``VLLM_``.
    """
    return tuple(
        name for name in variables if _SETTINGS.fullmatch(name) and not mentions(text, name) and knob_of(name, table)
    )
