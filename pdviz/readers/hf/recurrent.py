"""Layers that keep a fixed state instead of a growing KV cache: their matrices, counted exactly.

The state of a sequence is the recurrence's own plus what the short convolution remembers. Shapes
follow the Hugging Face classes of the same names (transformers 5: JambaMambaMixer, MambaMixer,
NemotronHMamba2Mixer, Qwen3NextGatedDeltaNet, MiniMaxLightningAttention).
"""

from __future__ import annotations

from typing import NamedTuple

from pdviz.costmodel.architecture import Attention, Matrix, MatrixRole
from pdviz.readers.hf.attention import head_width
from pdviz.readers.hf.fields import MOST_HEADS, Fields


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
    said = None if prefix else fields.count_or_none("intermediate_size")
    inner = said or hidden * fields.count(expand_name, most=1024)
    expand = None if said is None else fields.count_or_none(expand_name, most=1024)
    if expand is not None and expand * hidden != inner:
        fields.remark(
            f"{fields.label(expand_name)} would make {expand * hidden:,} channels: "
            f"intermediate_size, {inner:,}, is what the class takes."
        )
    conv_bias = fields.flag("mamba_conv_bias" if prefix else "use_conv_bias", True)
    with_bias = fields.flag(bias, False)
    vectors = inner * (kernel + conv_bias) + inner * state + inner
    if norms:
        vectors += rank + 2 * state
    return _recurrent(
        [
            Matrix(MatrixRole.INPUT_PROJECTION, hidden, 2 * inner, with_bias),
            Matrix(MatrixRole.STATE_PROJECTION, inner, rank + 2 * state),
            Matrix(MatrixRole.TIME_STEP, rank, inner, True),
            Matrix(MatrixRole.ATTENTION_OUTPUT, inner, hidden, with_bias),
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


class _Mamba2(NamedTuple):
    """Sizes of a Mamba 2 mixer: heads of some width, groups of state inputs, the convolution's kernel."""

    heads: int
    width: int
    groups: int
    state: int
    kernel: int

    def mixer(
        self, hidden: int, *, bias: bool, output_bias: bool, conv_bias: bool, norm: bool = True
    ) -> Attention:
        """Scalar decay a head, grouped state inputs, a gated norm."""
        inner = self.heads * self.width
        channels = inner + 2 * self.groups * self.state
        return _recurrent(
            [
                Matrix(MatrixRole.INPUT_PROJECTION, hidden, inner + channels + self.heads, bias),
                Matrix(MatrixRole.ATTENTION_OUTPUT, inner, hidden, output_bias),
            ],
            state=inner * self.state + channels * (self.kernel - 1),
            vectors=channels * (self.kernel + conv_bias) + 3 * self.heads + norm * inner,
            heads=self.heads,
            head_dim=self.state,
            value_dim=self.width,
        )


def _sizes(fields: Fields, heads: str, width: str, groups: str, state: str, kernel: str) -> _Mamba2:
    return _Mamba2(
        fields.count(heads, most=MOST_HEADS),
        fields.count(width),
        fields.count(groups, most=MOST_HEADS),
        fields.count(state),
        fields.count(kernel),
    )


def mamba2(fields: Fields, hidden: int) -> Attention:
    """Mamba 2 as Nemotron-H has it."""
    names = ("mamba_num_heads", "mamba_head_dim", "n_groups", "ssm_state_size", "conv_kernel")
    bias = fields.flag("use_bias", False)
    conv_bias = fields.flag("use_conv_bias", True)
    return _sizes(fields, *names).mixer(hidden, bias=bias, output_bias=bias, conv_bias=conv_bias)


def mamba2_alone(fields: Fields, hidden: int) -> Attention:
    """Mamba 2 as published by its authors."""
    sizes = _sizes(fields, "num_heads", "head_dim", "n_groups", "state_size", "conv_kernel")
    _is_whole(fields, "expand", "num_heads", sizes, hidden * fields.count("expand", most=1024))
    bias = fields.flag("use_bias", False)
    return sizes.mixer(hidden, bias=bias, output_bias=bias, conv_bias=fields.flag("use_conv_bias", True))


def _is_whole(fields: Fields, expand: str, heads: str, sizes: _Mamba2, inner: int) -> None:
    if sizes.heads * sizes.width != inner:
        raise fields.error(
            f"{fields.label(heads)} is {sizes.heads} heads of {sizes.width}, but {expand} makes {inner:,} "
            "channels; they must agree"
        )


def _beside(fields: Fields, inner: int, expand: str) -> _Mamba2:
    heads = fields.count("mamba_n_heads", most=MOST_HEADS)
    width = fields.raw("mamba_d_head")
    sizes = _Mamba2(
        heads,
        inner // heads if width in ("auto", None) else fields.count("mamba_d_head"),
        fields.count("mamba_n_groups", most=MOST_HEADS),
        fields.count("mamba_d_state"),
        fields.count("mamba_d_conv"),
    )
    _is_whole(fields, expand, "mamba_n_heads", sizes, inner)
    return sizes


def mamba2_beside(fields: Fields, hidden: int) -> Attention:
    """Mamba 2 as Bamba and Granite 4 have it, in layers of its own."""
    inner = hidden * fields.count("mamba_expand", most=1024)
    bias = fields.flag("mamba_proj_bias", False)
    conv_bias = fields.flag("mamba_conv_bias", True)
    sizes = _beside(fields, inner, "mamba_expand")
    return sizes.mixer(hidden, bias=bias, output_bias=bias, conv_bias=conv_bias)


def falcon_h1(fields: Fields, hidden: int) -> Attention:
    """Mamba 2 as Falcon-H1 has it, beside attention: its own width, a norm only where asked for."""
    fields.require("mamba_d_ssm")
    inner, expand = fields.count_or_none("mamba_d_ssm"), "mamba_d_ssm"
    if inner is None:
        inner, expand = hidden * fields.count("mamba_expand", most=1024), "mamba_expand"
    return _beside(fields, inner, expand).mixer(
        hidden,
        bias=fields.flag("mamba_proj_bias", False),
        output_bias=fields.flag("projectors_bias", False),
        conv_bias=fields.flag("mamba_conv_bias", True),
        norm=fields.flag("mamba_rms_norm", False),
    )


def short_convolution(fields: Fields, hidden: int) -> Attention:
    """LFM2's gated short convolution: two gates and a value, each as wide as the model."""
    kernel = fields.count("conv_L_cache")
    bias = fields.flag("conv_bias", False)
    return _recurrent(
        [
            Matrix(MatrixRole.INPUT_PROJECTION, hidden, 3 * hidden, bias),
            Matrix(MatrixRole.ATTENTION_OUTPUT, hidden, hidden, bias),
        ],
        state=hidden * (kernel - 1),
        vectors=hidden * (kernel + bias),
        heads=1,
        head_dim=1,
        value_dim=hidden,
    )


def linear_unit(fields: Fields, hidden: int) -> Attention:
    """Griffin's real-gated linear recurrent unit (arXiv 2402.19427): one value of state a channel."""
    width = fields.count_or_none("lru_width") or hidden
    if not fields.present("lru_width"):
        fields.take("lru_width", width)
    heads = fields.count("num_attention_heads", most=MOST_HEADS)
    kernel = fields.count("conv1d_width")
    if width % heads:
        raise fields.error(
            f"{fields.label('lru_width')} must be a multiple of the {heads} heads, got {width}"
        )
    return _recurrent(
        [
            Matrix(MatrixRole.RECURRENT_INPUT_AND_GATE, hidden, 2 * width, True),
            Matrix(MatrixRole.RECURRENT_GATES, width, 2 * (width // heads)),
            Matrix(MatrixRole.ATTENTION_OUTPUT, width, hidden, True),
        ],
        state=width * kernel,
        vectors=width * (kernel + 1) + 3 * width,
        heads=heads,
        head_dim=1,
        value_dim=width // heads,
    )


def kimi_delta(fields: Fields, hidden: int) -> Attention:
    """Kimi's delta attention: as the gated delta rule, with a decay for each channel of a key."""
    inner = fields.child("linear_attn_config") if fields.has("linear_attn_config") else fields
    own = inner is not fields
    heads = inner.count("num_heads" if own else "linear_num_heads", most=MOST_HEADS)
    width = inner.count("head_dim" if own else "linear_head_dim")
    kernel = inner.count("short_conv_kernel_size" if own else "linear_conv_kernel_dim")
    channels = heads * width
    return _recurrent(
        [
            Matrix(MatrixRole.QKV, hidden, 3 * channels),
            Matrix(MatrixRole.RECURRENT_DECAY_GATE_AND_BETA, hidden, 2 * width + heads),
            Matrix(MatrixRole.RECURRENT_DECAY, width, channels),
            Matrix(MatrixRole.RECURRENT_GATE, width, channels),
            Matrix(MatrixRole.ATTENTION_OUTPUT, channels, hidden),
        ],
        state=heads * width * width + 3 * channels * (kernel - 1),
        vectors=3 * channels * kernel + channels + heads + width,
        heads=heads,
        head_dim=width,
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
            Matrix(MatrixRole.QKV_AND_GATE, hidden, channels + values * value_dim),
            Matrix(MatrixRole.DECAY_AND_BETA, hidden, 2 * values),
            Matrix(MatrixRole.ATTENTION_OUTPUT, values * value_dim, hidden),
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
    width = head_width(fields, hidden, heads)
    return _recurrent(
        [
            Matrix(MatrixRole.QKV, hidden, 3 * heads * width),
            Matrix(MatrixRole.OUTPUT_GATE, hidden, heads * width),
            Matrix(MatrixRole.ATTENTION_OUTPUT, heads * width, hidden),
        ],
        state=heads * width * width,
        vectors=heads * width,
        heads=heads,
        head_dim=width,
        value_dim=width,
    )
