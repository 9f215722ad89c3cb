"""Vision towers of Qwen2-VL, Qwen2.5-VL, Qwen3-VL and Qwen3.5, and the merger that leads into the language model.

Mirrors vllm/model_executor/models/{qwen2_vl,qwen2_5_vl,qwen3_vl}.py.
"""

from oomedic.models.architectures.encoders.vit import Block, Tower, block, norm_pair, patches
from oomedic.models.hf_config import Config, first, need, number, ratio
from oomedic.models.modules import Buffer, Linear, Module, Shard, Table

_ROTARY_ROWS = 8192
_DEEP_LAYERS = (8, 16, 24)
_POSITIONS = 2304


def qwen2_vl(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the tower of Qwen2-VL."""
    del config  # all is in its vision part
    width, depth, heads = need(vision, "embed_dim"), need(vision, "depth"), need(vision, "num_heads")
    inner = round(width * ratio(vision, "mlp_ratio", default=4))
    shape = Block(
        "visual.blocks.0",
        width,
        heads,
        inner,
        qkv_parts=("attn.qkv",),
        out="attn.proj",
        mlp_parts=("mlp.fc1", "mlp.fc2"),
    )
    merged = _merged(vision, width)
    merger = _merger("visual.merger", merged, merged, need(vision, "hidden_size"), shard, names=("mlp.0", "mlp.2"))
    stem = (*_patches(vision, width, bias=False), *norm_pair(width), *_rotary(width // heads))
    return (stem, *((block(shape, shard),) * depth), merger)


def qwen2_5_vl(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the tower of Qwen2.5-VL: RMSNorms and a gated MLP."""
    del config  # all is in its vision part
    width, depth, heads = need(vision, "hidden_size"), need(vision, "depth"), need(vision, "num_heads")
    shape = Block(
        "visual.blocks.0",
        width,
        heads,
        need(vision, "intermediate_size"),
        qkv_parts=("attn.qkv",),
        out="attn.proj",
        mlp="gated",
        mlp_parts=("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
        norm_bias=False,
    )
    merged = _merged(vision, width)
    merger = _merger("visual.merger", merged, merged, need(vision, "out_hidden_size"), shard, names=("mlp.0", "mlp.2"))
    stem = (*_patches(vision, width, bias=False), *norm_pair(width, bias=False), *_rotary(width // heads))
    return (stem, *((block(shape, shard),) * depth), merger)


def qwen3_vl(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the tower of Qwen3-VL and Qwen3.5: learned positions, and a merger per layer that feeds the text."""
    width, depth, heads = need(vision, "hidden_size"), need(vision, "depth"), need(vision, "num_heads")
    shape = Block(
        "visual.blocks.0",
        width,
        heads,
        need(vision, "intermediate_size"),
        qkv_parts=("attn.qkv",),
        out="attn.proj",
        mlp_parts=("mlp.linear_fc1", "mlp.linear_fc2"),
    )
    merged, out = _merged(vision, width), need(vision, "out_hidden_size")
    names = ("linear_fc1", "linear_fc2")
    deep = _merger("visual.deepstack_merger_list.0", merged, merged, out, shard, names=names)
    deep = (*deep, *norm_pair(merged))
    stem = (
        *_patches(vision, width, bias=True),
        Table("visual.pos_embed", number(vision, "num_position_embeddings", default=_POSITIONS) * width),
        *norm_pair(width),
        *_rotary(width // heads),
    )
    deepest = () if str(config.get("model_type")).startswith("qwen3_5") else _DEEP_LAYERS
    layers = len(first(vision, "deepstack_visual_indexes", default=deepest))
    merger = _merger("visual.merger", merged, merged, out, shard, names=names)
    return (stem, *((block(shape, shard),) * depth), merger, *((deep,) * layers))


def _merged(vision: Config, width: int) -> int:
    return width * number(vision, "spatial_merge_size", default=2) ** 2


def _patches(vision: Config, width: int, *, bias: bool) -> tuple[Module, ...]:
    frames = number(vision, "temporal_patch_size", default=2)
    return patches(width, need(vision, "patch_size", "spatial_patch_size"), bias=bias, frames=frames)


def _rotary(head: int) -> tuple[Module, ...]:
    return (Buffer("visual.rotary_pos_emb", _ROTARY_ROWS * (head // 2)),)


def _merger(
    name: str, inputs: int, inner: int, out: int, shard: Shard, *, names: tuple[str, str]
) -> tuple[Module, ...]:
    split = shard.divide(inner, "vision merger")
    return (
        Linear(f"{name}.{names[0]}", inputs, (split,), bias=True),
        Linear(f"{name}.{names[1]}", split, (out,), bias=True),
    )
