"""Reading a Hugging Face config.json, whose keys have many spellings."""

from collections.abc import Mapping
from typing import Any

from oomedic.errors import InputError

Config = Mapping[str, Any]

_TEXT_KEYS = ("text_config", "llm_config", "language_config", "thinker_config", "language_model")


def text_config(config: Config) -> Config:
    """Return the part that describes the language model; a vision model nests it.

    What only stands outside (``tie_word_embeddings``, ``torch_dtype``, ``quantization_config``) is taken along.
    """
    for key in _TEXT_KEYS:
        nested = config.get(key)
        if isinstance(nested, Mapping):
            return {**_outer(config), **text_config(nested)}
    return config


def first(config: Config, *names: str, default: Any = None) -> Any:
    """Return the first of several keys that is there and not null."""
    for name in names:
        value = config.get(name)
        if value is not None:
            return value
    return default


def nested(config: Config, *names: str) -> Config:
    """Return the first of several keys that holds an object with something in it, else an empty one."""
    found = (config.get(name) for name in names)
    return next((each for each in found if isinstance(each, Mapping) and each), {})


def number(config: Config, *names: str, default: int) -> int:
    """Return the first of several keys as a whole number, or the default where none of them is there.

    Raises:
        InputError: ``config-malformed`` when it is no number.
    """
    return int(ratio(config, *names, default=default))


def ratio(config: Config, *names: str, default: float) -> float:
    """Return the first of several keys as a number, or the default where none of them is there.

    Raises:
        InputError: ``config-malformed`` when it is no number.
    """
    value = first(config, *names)
    if value is None:
        return default
    if _is_number(value):
        size: float = value
        return size
    raise _malformed(config, names[0], value)


def _is_number(value: Any) -> bool:
    """Tell a number from what only looks like one: JSON in Python knows NaN and Infinity."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _malformed(config: Config, key: str, value: Any) -> InputError:
    problem = f"{key} is {type(value).__name__}"
    return InputError("config-malformed", problem=problem, model_type=str(config.get("model_type")))


def need(config: Config, *names: str) -> int:
    """Return the first of several keys as a whole number.

    Raises:
        InputError: ``config-lacks`` when none of them is there, or it is no number.
    """
    value = first(config, *names)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError("config-lacks", key=names[0], model_type=str(config.get("model_type")))
    return value


def head_dim(config: Config) -> int:
    """Return the size of one attention head: given, or hidden_size over heads."""
    given = number(config, "head_dim", "kv_channels", "attention_head_dim", default=0)
    return given or need(config, "hidden_size", "n_embd", "d_model") // attention_heads(config)


def attention_heads(config: Config) -> int:
    """Return the number of query heads."""
    return need(config, "num_attention_heads", "n_head", "num_heads")


def key_value_heads(config: Config) -> int:
    """Return the number of KV heads; a config that is silent has one per query head."""
    names = ("num_key_value_heads", "num_kv_heads", "multi_query_group_num", "n_head_kv")
    return number(config, *names, default=0) or attention_heads(config)


def layer_count(config: Config) -> int:
    """Return the number of decoder layers."""
    return need(config, "num_hidden_layers", "n_layer", "num_layers", "n_layers")


def dtype_of(config: Config) -> str:
    """Return the checkpoint's own dtype by torch's name; float16 when it is silent, as transformers once wrote."""
    text = text_config(config)
    for source in (config, text):
        value = first(source, "torch_dtype", "dtype")
        if isinstance(value, str):
            return value.removeprefix("torch.")
    return "float16"


def _outer(config: Config) -> dict[str, Any]:
    carried = ("tie_word_embeddings", "torch_dtype", "dtype", "quantization_config", "architectures")
    return {key: config[key] for key in carried if key in config}
