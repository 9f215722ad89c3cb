"""DBRX: a mixture whose config keeps attention and experts in parts of their own.

Mirrors vllm/model_executor/models/dbrx.py.
"""

from oomedic.models.architectures import mixture
from oomedic.models.architectures.stack import Stack
from oomedic.models.hf_config import Config, first, need
from oomedic.models.modules import Shard


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of DBRX."""
    attention, experts = first(config, "attn_config", default={}), first(config, "ffn_config", default={})
    flat = {
        "hidden_size": need(config, "d_model", "hidden_size"),
        "num_hidden_layers": need(config, "n_layers", "num_hidden_layers"),
        "num_attention_heads": need(config, "n_heads", "num_attention_heads"),
        "num_key_value_heads": need({**config, **attention}, "kv_n_heads", "num_key_value_heads"),
        "intermediate_size": need({**config, **experts}, "ffn_hidden_size", "intermediate_size"),
        "num_local_experts": need({**config, **experts}, "moe_num_experts", "num_local_experts"),
        "max_position_embeddings": first(config, "max_seq_len", "max_position_embeddings", default=0),
    }
    return mixture.build({**config, **flat}, shard)
