"""Models whose layers have a shape of their own each: Nemotron's searched ones, DeciLM, OpenELM."""

from __future__ import annotations

from pdviz.costmodel.architecture import FeedForward, Layer, Run
from pdviz.readers.hf.attention import grouped, head_width
from pdviz.readers.hf.fields import MOST_HEADS, MOST_LAYERS, MOST_WIDTH, Fields, shown
from pdviz.readers.hf.layers import LAYERS, mlp, runs_of
from pdviz.readers.hf.traits import HEADS


def _share(fields: Fields, name: str, heads: int, by: int) -> int:
    if heads % by:
        raise fields.error(f"{fields.label(name)} must divide the {heads} heads, got {by}")
    return heads // by


def _factor(fields: Fields, name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1000:
        raise fields.error(f"{fields.label(name)} must be a positive number, got {shown(value)}")
    return float(value)


def _multiple(fields: Fields, width: int, step: int) -> int:
    found = step * -(-width // step)
    if found > MOST_WIDTH:
        raise fields.error(f"an MLP of width {found:,} is wider than {MOST_WIDTH:,}")
    return found


def searched(fields: Fields, hidden: int) -> tuple[Run, ...]:
    """``block_configs``: each block names its heads a group and its MLP's width, or does without.

    The width is two thirds of ``ffn_mult`` x hidden, rounded up to 256 (the class DeciLMConfig).
    """
    layers = fields.count(*LAYERS, most=MOST_LAYERS)
    heads = fields.count(*HEADS, most=MOST_HEADS)
    width = head_width(fields, hidden, heads)
    bias, mlp_bias = fields.flag("attention_bias", False), fields.flag("mlp_bias", False)
    blocks = fields.entries("block_configs", layers)
    if blocks is None:
        raise fields.error(f"{fields.label('block_configs')} is missing, expected one object for each layer")
    found: list[Layer] = []
    for number, block in enumerate(blocks):
        one = Fields({f"block_configs[{number}]": block}, fields.where).child(f"block_configs[{number}]")
        attention, block_mlp = one.child("attention"), one.child("ffn")
        for part in (attention, block_mlp):
            for name in ("replace_with_linear", "sparsify", "mamba", "moe", "llama4", "window_length"):
                if part.raw(name):
                    raise part.error(f"{part.label(name)} must be absent, other values are not modelled")
        mixer = feed_forward = None
        if not attention.switch("no_op", False):
            share = _share(attention, "n_heads_in_group", heads, attention.count("n_heads_in_group"))
            mixer = grouped(hidden, heads, share, width, bias)
        if not block_mlp.switch("no_op", False):
            factor = _factor(block_mlp, "ffn_mult", block_mlp.raw("ffn_mult"))
            inner = _multiple(block_mlp, int(2 * factor * hidden / 3), 256)
            feed_forward = FeedForward(mlp(hidden, inner, gated=True, bias=mlp_bias))
        norms = hidden * ((mixer is not None) + (feed_forward is not None))
        found.append(Layer(mixer, feed_forward, norms))
    return runs_of(found)


def decilm(fields: Fields, hidden: int) -> tuple[Run, ...]:
    """``num_key_value_heads_per_layer``: a Llama whose layers differ in their KV heads."""
    heads = fields.count(*HEADS, most=MOST_HEADS)
    width = head_width(fields, hidden, heads)
    block = FeedForward(mlp(hidden, fields.count("intermediate_size"), gated=True, bias=False))
    listed = _numbers(fields, "num_key_value_heads_per_layer", fields.count(*LAYERS, most=MOST_LAYERS))
    return runs_of(
        Layer(
            grouped(hidden, heads, kv_heads, width, False)
            if _share(fields, "num_key_value_heads_per_layer", heads, kv_heads)
            else None,
            block,
            2 * hidden,
        )
        for kv_heads in listed
    )


def _numbers(fields: Fields, name: str, layers: int) -> list[int]:
    values = fields.entries(name, layers)
    if values is None:
        raise fields.error(f"{fields.label(name)} is missing, expected one number for each layer")
    numbers = [value for value in values if type(value) is int and 0 < value <= MOST_HEADS]
    if len(numbers) != layers:
        raise fields.error(
            f"{fields.label(name)} must hold one positive number for each layer, got {shown(values)}"
        )
    return numbers


def openelm(fields: Fields, hidden: int) -> tuple[Run, ...]:
    """OpenELM: lists of heads and of MLP factors, one for each layer."""
    layers = fields.count(*LAYERS, most=MOST_LAYERS)
    width = fields.count("head_dim")
    queries = _numbers(fields, "num_query_heads", layers)
    shares = _numbers(fields, "num_kv_heads", layers)
    factors = fields.entries("ffn_multipliers", layers) or [fields.raw("ffn_multipliers")] * layers
    step = fields.count("ffn_dim_divisor")
    gated = fields.flag("ffn_with_glu", True)
    normed = 2 * width if fields.flag("normalize_qk_projections", True) else 0
    found: list[Layer] = []
    for heads, kv_heads, factor in zip(queries, shares, factors, strict=True):
        _share(fields, "num_kv_heads", heads, kv_heads)
        ideal = _factor(fields, "ffn_multipliers", factor) * hidden
        inner = max(step, int(ideal + step / 2) // step * step)
        inner = _multiple(fields, inner + step if inner < 0.9 * ideal else inner, step)
        block = FeedForward(mlp(hidden, inner, gated=gated, bias=False))
        found.append(Layer(grouped(hidden, heads, kv_heads, width, False, normed), block, 2 * hidden))
    return runs_of(found)
