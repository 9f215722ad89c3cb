"""From the words at the end of a checkpoint's name to how its weights are stored: a guess, which the caller must name.

Publishers name quantised copies by habit: "-AWQ", "-GPTQ-Int4", "-FP8-dynamic", "-quantized.w4a16", "-bnb-4bit",
"-NVFP4". The usual recipe stands for each: groups of 128, output layer left alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

_DRAFTS: Final = ("re:.*mtp.*",)
"""Layers of multi-token prediction, which transformers does not load: whoever quantises through it leaves them."""
LEFT_ALONE: Final = ("lm_head", "re:.*(vision|visual|audio|multi_modal).*", *_DRAFTS)
"""What publishers leave as it is: the output layer, towers for images and sound with their projectors, drafts."""
_FLOATS_LEAVE: Final = (*LEFT_ALONE, "re:.*linear_attn.*")
"""What llm-compressor's examples for Qwen3-Next and Qwen3.5 leave as it is where weights become fp8 or fp4.

With integers (examples/awq/qwen3_next_example.py) linear attention is quantised as well.
"""
_COMPRESSORS: Final = frozenset(("redhatai", "neuralmagic", "nm-testing", "cpatonn", "cyankiwi"))
"""Publishers who quantise with llm-compressor, which stores AWQ as compressed-tensors too, without zero points."""
_GROUP: Final = 128
_FOUR_BITS: Final = frozenset({"4bit", "int4", "w4a16", "4-bit", "w4", "q4"})
_EIGHT_BITS: Final = frozenset({"8bit", "int8", "w8a16", "w8a8", "8-bit", "w8", "q8"})


def method_of_publisher(organisation: str) -> str | None:
    """Return the method by which an organisation stores all that it quantises, None where that is not known."""
    return "compressed-tensors" if organisation.lower() in _COMPRESSORS else None


def quantization_of(words: Sequence[str], publisher: str = "") -> Mapping[str, Any] | None:
    """Return a quantization_config for these words, None when they do not tell a method.

    ``publisher`` is the organisation in the name, for some have ways of their own.

    >>> quantization_of(("gptq", "int8"))["bits"], quantization_of(("q4_k_m",))["quant_method"]
    (8, 'gguf')
    """
    said = frozenset(word.lower() for word in words)
    bits = 8 if said & _EIGHT_BITS else 4
    if publisher.lower() in _COMPRESSORS and "nvfp4" in said:
        return _compressed({"weights": _NVFP4, "input_activations": _NVFP4})
    if publisher.lower() in _COMPRESSORS and "awq" in said:
        return _integers(bits)
    for word, recipe in _RECIPES.items():
        if word in said:
            return {**recipe, **({"bits": bits} if "bits" in recipe else {})}
    if any(word.startswith(("q2_", "q3_", "q4_", "q5_", "q6_", "q8_", "iq")) for word in said):
        return {"quant_method": "gguf"}
    if said & {"w4a16", "int4", "4bit"}:
        return _integers(4)
    return _integers(8) if said & {"w8a16", "int8", "8bit"} else None


def _integers(bits: int) -> Mapping[str, Any]:
    weights = {"num_bits": bits, "type": "int", "strategy": "group", "group_size": _GROUP, "symmetric": True}
    return _compressed({"weights": weights, "input_activations": None}, LEFT_ALONE)


def _compressed(group: Mapping[str, Any], left: Sequence[str] = _FLOATS_LEAVE) -> Mapping[str, Any]:
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}, "ignore": left}


_NVFP4: Final = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}
_FP8: Final = _compressed(
    {
        "weights": {"num_bits": 8, "type": "float", "strategy": "channel"},
        "input_activations": {"num_bits": 8, "type": "float", "dynamic": True},
    }
)
_RECIPES: Final[Mapping[str, Mapping[str, Any]]] = {
    "awq": {
        "quant_method": "awq",
        "bits": 4,
        "group_size": _GROUP,
        "zero_point": True,
        "modules_to_not_convert": _DRAFTS,
    },
    "gptq": {
        "quant_method": "gptq",
        "bits": 4,
        "group_size": _GROUP,
        "desc_act": False,
        "modules_to_not_convert": _DRAFTS,
    },
    "autoround": {
        "quant_method": "gptq",
        "bits": 4,
        "group_size": _GROUP,
        "desc_act": False,
        "modules_to_not_convert": _DRAFTS,
    },
    "bnb": {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True},
    "nvfp4": {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16, "ignore": LEFT_ALONE},
    "fp8": _FP8,
    "w8a8": _FP8,
}
