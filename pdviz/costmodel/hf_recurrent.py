"""Layers that keep a fixed state instead of a growing KV cache: their matrices, counted exactly.

The state of a sequence is the recurrence's own plus what the short convolution remembers. Shapes
follow the Hugging Face classes of the same names (transformers 5: JambaMambaMixer, MambaMixer,
NemotronHMamba2Mixer, Qwen3NextGatedDeltaNet, MiniMaxLightningAttention).
"""

from __future__ import annotations

from pdviz.costmodel.architecture import Attention, Matrix
from pdviz.costmodel.hf_fields import MOST_HEADS, Fields


def _recurrent(
    matrices: list[Matrix], state: int, vectors: int, heads: int, head_dim: int, value_dim: int
) -> Attention:
    return Attention(
        kind="recurrent",
        query_heads=heads,
        kv_heads=heads,
        head_dim=head_dim,
        value_head_dim=value_dim,
        matrices=tuple(matrices),
        cache_elements=0,
        state_elements=state,
        vectors=vectors,
    )


def _selective(fields: Fields, hidden: int, prefix: str, bias: str, norms: bool) -> Attention:
    """A first-generation Mamba mixer: selective scan over ``expand * hidden`` channels."""
    names = {"": ("state_size", "conv_kernel", "expand", "time_step_rank"), "mamba_": ("d_state", "d_conv")}
    state_name, conv_name = (prefix + name for name in names[prefix][:2])
    expand_name = prefix + "expand"
    rank_name = "mamba_dt_rank" if prefix else "time_step_rank"
    state = fields.count(state_name)
    kernel = fields.count(conv_name)
    rank = -(-hidden // 16) if fields.raw(rank_name) == "auto" else fields.count(rank_name)
    inner = hidden * fields.count(expand_name, most=1024)
    conv_bias = fields.flag("mamba_conv_bias" if prefix else "use_conv_bias", True)
    with_bias = fields.flag(bias, False)
    vectors = inner * (kernel + conv_bias) + inner * state + inner
    if norms:
        vectors += rank + 2 * state
    return _recurrent(
        [
            Matrix("input projection", hidden, 2 * inner, with_bias),
            Matrix("state projection", inner, rank + 2 * state),
            Matrix("time step", rank, inner, True),
            Matrix("attention output", inner, hidden, with_bias),
        ],
        state=inner * state + inner * (kernel - 1),
        vectors=vectors,
        heads=1,
        head_dim=state,
        value_dim=inner,
    )


def mamba(fields: Fields, hidden: int) -> Attention:
    """Mamba as published by its authors."""
    return _selective(fields, hidden, "", "use_bias", norms=False)


def jamba(fields: Fields, hidden: int) -> Attention:
    """Mamba as Jamba has it: with norms on the time step and on both state inputs."""
    return _selective(fields, hidden, "mamba_", "mamba_proj_bias", norms=True)


def mamba2(fields: Fields, hidden: int) -> Attention:
    """Mamba 2 as Nemotron-H has it: scalar decay a head, grouped state inputs, a gated norm."""
    heads = fields.count("mamba_num_heads", most=MOST_HEADS)
    width = fields.count("mamba_head_dim")
    groups = fields.count("n_groups", most=MOST_HEADS)
    state = fields.count("ssm_state_size")
    kernel = fields.count("conv_kernel")
    inner = heads * width
    channels = inner + 2 * groups * state
    bias = fields.flag("use_bias", False)
    return _recurrent(
        [
            Matrix("input projection", hidden, inner + channels + heads, bias),
            Matrix("attention output", inner, hidden, bias),
        ],
        state=inner * state + channels * (kernel - 1),
        vectors=channels * (kernel + fields.flag("use_conv_bias", True)) + 3 * heads + inner,
        heads=heads,
        head_dim=state,
        value_dim=width,
    )


def delta_net(fields: Fields, hidden: int) -> Attention:
    """The gated delta rule of Qwen3-Next: one state matrix of key width x value width a value head."""
    keys = fields.count("linear_num_key_heads", most=MOST_HEADS)
    values = fields.count("linear_num_value_heads", most=MOST_HEADS)
    key_dim = fields.count("linear_key_head_dim")
    value_dim = fields.count("linear_value_head_dim")
    kernel = fields.count("linear_conv_kernel_dim")
    channels = 2 * keys * key_dim + values * value_dim
    return _recurrent(
        [
            Matrix("qkv and gate", hidden, channels + values * value_dim),
            Matrix("decay and beta", hidden, 2 * values),
            Matrix("attention output", values * value_dim, hidden),
        ],
        state=values * key_dim * value_dim + channels * (kernel - 1),
        vectors=channels * kernel + 2 * values + value_dim,
        heads=values,
        head_dim=key_dim,
        value_dim=value_dim,
    )


def lightning(fields: Fields, hidden: int) -> Attention:
    """MiniMax's lightning attention: one state matrix of head width squared a head, an output gate."""
    heads = fields.count("num_attention_heads", most=MOST_HEADS)
    width = fields.count("head_dim")
    return _recurrent(
        [
            Matrix("qkv", hidden, 3 * heads * width),
            Matrix("output gate", hidden, heads * width),
            Matrix("attention output", heads * width, hidden),
        ],
        state=heads * width * width,
        vectors=heads * width,
        heads=heads,
        head_dim=width,
        value_dim=width,
    )
