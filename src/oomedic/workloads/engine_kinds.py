"""Which serving engine a container runs: by its command line, its image, or its arguments."""

import re
from typing import Final, NamedTuple

from oomedic.arguments.shell_words import Program, Word, find_vllm

# Patterns are compiled when they are first needed (and kept by re): most runs need few of them.
_PROGRAM: Final = r"[^-=\s][^=\s]*"
_BY_COMMAND: Final = (
    ("huggingfaceserver", r"huggingfaceserver$"),
    ("sglang", r"sglang\.launch_server|sglang_router|sglang$"),
    ("tgi", r"text-generation-(?:launcher|server)$"),
    ("tei", r"text-embeddings-router$"),
    ("tensorrt-llm", r"(?:trtllm-serve|tensorrt_llm\S*|dynamo\.trtllm)$"),
    ("triton", r"tritonserver$"),
    ("llama.cpp", r"(?:llama-server|llama_cpp\.server)$"),
    ("ollama", r"ollama$"),
    ("lmdeploy", r"lmdeploy$"),
)
_BY_IMAGE: Final = (
    ("nim", r"nvcr\.io/nim/"),
    ("huggingfaceserver", r"huggingfaceserver"),
    ("sglang", r"sglang"),
    ("tgi", r"text-generation-inference|pytorch-tgi"),
    ("tei", r"text-embeddings-inference"),
    ("tensorrt-llm", r"tensorrt-?llm"),
    ("triton", r"tritonserver"),
    ("djl", r"djl-inference|djl-serving"),
    ("llama.cpp", r"llama\.?cpp"),
    ("ollama", r"ollama/ollama"),
    ("lmdeploy", r"lmdeploy"),
    ("vllm", r"vllm|llm-d-(?:cuda|rocm|xpu|cpu|aws|dev)|llm-d/llm-d"),
)
_BESIDE_THE_ENGINE: Final = (
    r"router|proxy|sidecar|operator|controller|exporter|scheduler|gateway|bench|dashboard|-ui\b|lmstack|metadata|agent"
    r"|mock|inference-sim|simulator|emulator|extproc|gradio|webui|client|evals?\b|vllme\b"
)
_OWN_VERSIONS: Final = r"lmcache/|llm-d|vllm-runtime|neuron|huggingfaceserver|ray-llm|djl"
"""Images whose tag is the version of something else than the engine."""

_TAGGED: Final = r"(?:^|[_-])v?(\d+\.\d+\.\d+(?:\.\d+)?(?:\.?(?:post|rc|dev)\d+)*)(?=$|[-_+])"
_BUILT_IN: Final = r"vllm[_-]?v?(\d+\.\d+\.\d+(?:\.?(?:post|rc)\d+)?)"
_ONLY_VLLM: Final = frozenset(("max_model_len", "gpu_memory_utilization", "max_num_seqs", "enforce_eager"))
_TOGETHER: Final = frozenset(("model", "tensor_parallel_size"))
"""Others spell one of these two differently: ``--model-path``, ``--model-id``, ``--tp-size``, ``--num-shard``."""

_SERVERS: Final = (
    ("huggingfaceserver", r"huggingfaceserver$"),
    ("dynamo", r"dynamo\.vllm$"),
    ("kaito", r"inference_api\.py$"),
    ("vllm-omni", r"vllm-omni(?:$|:)"),
)
"""Programs that take vLLM's arguments beside their own, and start vLLM."""


class Running(NamedTuple):
    """An engine that was recognised; ``program`` where its command line shows the first argument."""

    engine: str
    program: Program | None


def engine_of_command(words: tuple[Word, ...]) -> Running | None:
    """Recognise the engine that a command line starts."""
    program = find_vllm(words)
    if program:
        return Running("vllm", program)
    for index, word in enumerate(words):
        for engine, pattern in _BY_COMMAND:
            if re.fullmatch(_PROGRAM, word.text) and re.search(pattern, word.text):
                return Running(engine, Program(engine, index + 1))
    return None


def server_of(words: tuple[Word, ...], image: str) -> str | None:
    """Return the program around vLLM that reads the arguments, None where vLLM does so itself."""
    name = image.partition("@")[0]
    texts = [*(word.text for word in words), name, name.rpartition(":")[0]]
    return next((name for name, pattern in _SERVERS for text in texts if re.search(pattern, text)), None)


def engine_of_image(image: str) -> str | None:
    """Recognise the engine by the image, leaving out what only runs beside engines.

    >>> engine_of_image("vllm/vllm-openai:v0.11.0"), engine_of_image("ghcr.io/llm-d/llm-d-routing-sidecar:v0.2")
    ('vllm', None)
    """
    name = image.partition("@")[0].lower().replace("/vllm-project/", "/")
    last = name.rpartition("/")[2].partition(":")[0]
    if re.search(_BESIDE_THE_ENGINE, last):
        return None
    return next((engine for engine, pattern in _BY_IMAGE if re.search(pattern, name)), None)


def engine_of_arguments(names: frozenset[str]) -> str | None:
    """Recognise vLLM by arguments that only it has: images have any name in a private registry."""
    return "vllm" if names & _ONLY_VLLM or names >= _TOGETHER else None


def version_of_image(image: str) -> str | None:
    """Return the engine's version from an image's tag, or from its name where that says ``vllm0.7.0``.

    >>> version_of_image("vllm/vllm-openai:v0.8.5.post1"), version_of_image("x.io/vllm:0.11.0-gpu-py312-cu128")
    ('0.8.5.post1', '0.11.0')
    >>> version_of_image("rocm/vllm:rocm6.3.1_vllm_0.8.5_20250521"), version_of_image("vllm/vllm-openai:latest")
    ('0.8.5', None)
    >>> version_of_image("x.io/ray-2.41.0-py310-vllm0.7.0:latest")
    '0.7.0'
    """
    whole = image.partition("@")[0]
    name, _, tag = whole.rpartition(":")
    if not name or "/" in tag:
        name, tag = whole, ""
    last = name.rpartition("/")[2]
    built_in = re.search(_BUILT_IN, tag.lower()) or re.search(_BUILT_IN, last.lower())
    if built_in:
        return built_in[1]
    tagged = re.match(_TAGGED, tag)
    return None if tagged is None or re.search(_OWN_VERSIONS, image.lower()) else tagged[1]
