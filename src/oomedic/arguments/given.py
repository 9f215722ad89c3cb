"""What was given to the engine: arguments and environment variables, and where each of them stands."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from oomedic.claim import Claim
from oomedic.redaction import HIDDEN, is_secret_name, redact

Value = int | float | str | bool | Mapping[str, Any] | tuple[Any, ...] | None

_MATTERS: Final = (
    *("VLLM_", "PYTORCH_", "TORCH_", "NCCL_", "GLOO_", "CUDA_", "NVIDIA_", "HIP_", "ROCR_", "LMCACHE_", "RAY_", "UCX_"),
    *("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_ENDPOINT", "HF_HOME", "LD_LIBRARY_PATH", "LD_PRELOAD"),
    *("OMP_NUM_THREADS", "MALLOC_ARENA_MAX"),
)


class Given(NamedTuple):
    """One value that was given.

    Attributes:
        value: as vLLM reads it; None when it was given as nothing, or cannot be known here.
        where: ``"args[4]"``, ``"log:12"``, ``"command line"``.
        spelling: the flag as it was written, "" for the positional model.
    """

    value: Value
    where: str
    spelling: str = ""


class EngineArgs(NamedTuple):
    """Only what was given, never a default.

    Attributes:
        given: by vLLM's name of the argument; a secret's value is ``***``.
        environment: the variables that can matter to start-up, without secrets.
        shadowed: values that a later one of the same argument overrode.
        unknown: flags that no release knows.
        problems: what could not be read, and why.
    """

    given: Mapping[str, Given]
    environment: Mapping[str, str] = {}
    shadowed: tuple[tuple[str, Given], ...] = ()
    unknown: tuple[str, ...] = ()
    problems: tuple[Claim, ...] = ()


NOTHING_GIVEN: Final = EngineArgs({})


def merge(*sources: EngineArgs) -> EngineArgs:
    """Join what several sources say; a later one wins, and what it overrides is kept as shadowed.

    >>> merge(EngineArgs({"port": Given(1, "a")}), EngineArgs({"port": Given(2, "b")})).given["port"].value
    2
    """
    given: dict[str, Given] = {}
    environment: dict[str, str] = {}
    shadowed: list[tuple[str, Given]] = []
    for source in sources:
        shadowed += source.shadowed
        shadowed += [(name, given[name]) for name in source.given if name in given]
        given |= source.given
        environment |= source.environment
    unknown = dict.fromkeys(flag for source in sources for flag in source.unknown)
    problems = tuple(problem for source in sources for problem in source.problems)
    return EngineArgs(given, environment, tuple(shadowed), tuple(unknown), problems)


def relevant_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Keep the variables that can matter to the engine's start; never a secret, nor a secret inside a value.

    >>> relevant_environment({"VLLM_USE_V1": "0", "VLLM_API_KEY": "x", "HOME": "/root"})
    {'VLLM_USE_V1': '0'}
    """
    return {
        name: redact(value)
        for name, value in variables.items()
        if name.startswith(_MATTERS) and not is_secret_name(name)
    }


def without_secrets(name: str, value: Value) -> Value:
    """Hide the value of a secret argument, and secrets that stand inside the value of another.

    >>> without_secrets("api_key", ("sk-1",)), without_secrets("kv_transfer_config", {"auth_token": "x", "port": 1})
    ('***', {'auth_token': '***', 'port': 1})
    """
    if is_secret_name(name):
        return None if value is None else HIDDEN
    if isinstance(value, Mapping):
        return {key: without_secrets(str(key), inside) for key, inside in value.items()}
    if isinstance(value, tuple | list):
        return tuple(without_secrets("", inside) for inside in value)
    return redact(value) if isinstance(value, str) else value
