"""A model of a few megabytes with random weights, written without torch: config, tokenizer and safetensors."""

import json
import random
import struct
from math import prod

VOCABULARY = 257  # every byte, and the end of a text
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "dtype": "bfloat16",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 1 << 20,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "bos_token_id": VOCABULARY - 1,
    "eos_token_id": VOCABULARY - 1,
}

WINDOWED = {
    "architectures": ["Gemma3ForCausalLM"],
    "model_type": "gemma3_text",
    "num_hidden_layers": 6,
    "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
    "sliding_window": 512,
    "max_position_embeddings": 32768,
    "hidden_activation": "gelu_pytorch_tanh",
    "query_pre_attn_scalar": 64,
}
"""What makes a Gemma 3 of it; its weights are not written for that, load_format must be dummy."""


def write_model(folder, **changes):
    """Write a Llama, with some keys of its config changed, None to leave one out."""
    config = {key: value for key, value in (CONFIG | changes).items() if value is not None}
    folder.mkdir(parents=True)
    _write_json(folder / "config.json", config)
    _write_json(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<end>"})
    _write_json(folder / "tokenizer.json", _tokenizer())
    _write_weights(folder / "model.safetensors", _shapes(config))
    return folder


def _shapes(config):
    hidden, inner, head = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    yield "model.embed_tokens.weight", (config["vocab_size"], hidden)
    yield "model.norm.weight", (hidden,)
    yield "lm_head.weight", (config["vocab_size"], hidden)
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        yield f"{at}.input_layernorm.weight", (hidden,)
        yield f"{at}.post_attention_layernorm.weight", (hidden,)
        yield f"{at}.self_attn.q_proj.weight", (queries, hidden)
        yield f"{at}.self_attn.k_proj.weight", (keys, hidden)
        yield f"{at}.self_attn.v_proj.weight", (keys, hidden)
        yield f"{at}.self_attn.o_proj.weight", (hidden, queries)
        yield f"{at}.mlp.gate_proj.weight", (inner, hidden)
        yield f"{at}.mlp.up_proj.weight", (inner, hidden)
        yield f"{at}.mlp.down_proj.weight", (hidden, inner)


def _write_weights(path, shapes):
    """Write small random numbers as bfloat16, the upper half of a float32."""
    chance = random.Random(0)
    numbers = [struct.pack(">f", chance.gauss(0, 0.05))[1::-1] for _ in range(1024)]
    header, body = {}, []
    at = 0
    for name, shape in shapes:
        values = b"".join(chance.choices(numbers, k=prod(shape)))
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": (at, at + len(values))}
        at += len(values)
        body.append(values)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(body))


def _tokenizer():
    """Return a byte-level tokenizer without merges: one token for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = [chr(byte) for byte in printable] + [chr(256 + index) for index in range(len(others))]
    vocabulary = {letter: index for index, letter in enumerate(letters)}
    end = {"id": VOCABULARY - 1, "content": "<end>", "special": True}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {
        "version": "1.0",
        "added_tokens": [end | flags],
        "pre_tokenizer": level,
        "decoder": level,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    }


def _write_json(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")
