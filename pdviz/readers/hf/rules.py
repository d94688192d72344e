"""Rules that single families need: heads, widths, norms and biases that fields only imply."""

from __future__ import annotations

from pdviz.readers.hf.fields import MOST_EXPERTS, MOST_HEADS, Fields, shown


def falcon_kv_heads(fields: Fields, heads: int) -> int:
    """The newer classes name their KV heads; the older have one, or as many as queries."""
    if fields.flag("new_decoder_architecture", False):
        return fields.count("num_kv_heads", "n_head_kv", most=MOST_HEADS)
    return 1 if fields.flag("multi_query", True) else heads


def falcon_norms(fields: Fields) -> int:
    """One norm where attention and MLP run side by side, unless the file asks for two."""
    if not fields.flag("parallel_attn", True):
        return 2
    new = fields.flag("new_decoder_architecture", False)
    norms = fields.count_or_none("num_ln_in_parallel_attn", most=2)
    if norms is None:
        norms = 2 if new else 1
        if new and not fields.present("num_ln_in_parallel_attn"):
            fields.take("num_ln_in_parallel_attn", norms)
    return norms


def chatglm_kv_heads(fields: Fields, heads: int) -> int:
    """Groups where multi-query attention is on."""
    if not fields.flag("multi_query_attention", False):
        return heads
    return fields.count("multi_query_group_num", most=MOST_HEADS)


def mpt_kv_heads(fields: Fields, heads: int) -> int:
    """By the kind of attention; multi-head where the file says nothing."""
    kind = fields.text("attn_config.attn_type")
    if kind is None:
        kind = "multihead_attention"
        fields.take("attn_config.attn_type", kind)
    if kind == "multiquery_attention":
        return 1
    return fields.count_or_none("attn_config.kv_n_heads", most=MOST_HEADS) or heads


def mpt_positions(fields: Fields) -> int:
    """Learned positions unless ALiBi stands in for them."""
    if fields.flag("attn_config.alibi", True) or not fields.flag("learned_pos_emb", True):
        return 0
    return fields.count("max_seq_len") * fields.count("d_model")


def gpt2_positions(fields: Fields) -> int:
    """A learned vector for each position."""
    return fields.count("n_positions") * fields.count("n_embd", "hidden_size")


def opt_positions(fields: Fields) -> int:
    """A learned vector for each position; the class reserves two rows before position 0."""
    return (fields.count("max_position_embeddings") + 2) * fields.count("hidden_size")


def minimax_shared(fields: Fields, width: int) -> int:
    """No published file has a shared expert; one that has is refused."""
    value = fields.raw("shared_intermediate_size")
    if value in (None, 0, [0]):
        return 0
    raise fields.error(
        "shared_intermediate_size must be 0 for minimax_text_01, other values are not modelled here"
    )


def gemma4_plain(fields: Fields) -> None:
    """Raise for the small Gemma 4 models, whose layers share caches and take inputs of their own."""
    for name in ("num_kv_shared_layers", "hidden_size_per_layer_input"):
        if not fields.present(name):
            fields.take(name, 0)
        if fields.number(name, default=0):
            raise fields.error(f"{fields.label(name)} must be 0, other values are not modelled")


def gemma4_norms(fields: Fields) -> int:
    """Four norms a layer, three more around the experts."""
    gemma4_plain(fields)
    return 7 if fields.flag("enable_moe_block", False) else 4


def gemma4_router(fields: Fields, hidden: int) -> int:
    """The router scales its input and each expert's output."""
    return hidden + fields.count("num_experts")


def named_kv_heads(fields: Fields, heads: int) -> int:
    """The first Falcon 40B names its KV heads and has no other switch."""
    return fields.count("n_head_kv", "num_kv_heads", most=MOST_HEADS)


def learned_positions(fields: Fields) -> int:
    """A learned vector for each position of the longest context."""
    return fields.count("max_position_embeddings") * fields.count("hidden_size")


def jais_positions(fields: Fields) -> int:
    """Learned positions unless ALiBi stands in for them."""
    return 0 if fields.text("position_embedding_type") == "alibi" else gpt2_positions(fields)


def bitnet_norms(fields: Fields, hidden: int) -> int:
    """Norms before the output of attention and of the MLP."""
    return hidden + fields.count("intermediate_size")


def value_as_hidden_over_heads(fields: Fields) -> dict[str, int]:
    """MiniCPM3's class: values as wide as hidden / heads where the file is silent."""
    return {"v_head_dim": fields.count("hidden_size") // fields.count("num_attention_heads") or 1}


def corrected(fields: Fields) -> bool:
    """A bias that ranks experts, unless the file chooses them in another way."""
    return fields.text("topk_method") in (None, "noaux_tc")


def arctic_residual(fields: Fields, width: int) -> int:
    """Arctic's dense MLP beside the experts is as wide as the model."""
    return fields.count("hidden_size") if fields.flag("parallel_attn_mlp_res", False) else 0


def lfm2_width(fields: Fields, hidden: int) -> int:
    """LFM2's MLP: two thirds of the width that the file gives, rounded up, unless it says not to."""
    width = fields.count("block_ff_dim", "intermediate_size")
    if not fields.flag("block_auto_adjust_ff_dim", True):
        return width
    factor = fields.raw("block_ffn_dim_multiplier")
    if factor is None:
        factor = 1.0
        fields.take("block_ffn_dim_multiplier", factor)
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < 1000:
        raise fields.error(
            f"{fields.label('block_ffn_dim_multiplier')} must be a positive number, got {shown(factor)}"
        )
    step = fields.count_or_none("block_multiple_of")
    if step is None:
        step = 256
        fields.take("block_multiple_of", step)
    return step * -(-int(factor * int(2 * width / 3)) // step)


def half_width(fields: Fields, hidden: int) -> int:
    """The file gives the width of gate and up together (Qwen 1, RecurrentGemma)."""
    return fields.count("intermediate_size") // 2 or 1


def noaux(fields: Fields) -> bool:
    """A bias that ranks experts, where the file says so."""
    return fields.text("topk_method") == "noaux_tc"


def hunyuan_shared(fields: Fields, width: int) -> int:
    """One shared expert unless the file gives another number; none without ``use_mixed_mlp_moe``."""
    if not fields.flag("use_mixed_mlp_moe", True):
        return 0
    if not fields.has("num_shared_expert"):
        fields.take("num_shared_expert", 1)
    return width * fields.number("num_shared_expert", default=1, most=MOST_EXPERTS)


def no_shared_cache(fields: Fields) -> None:
    """Raise where layers share their KV caches."""
    if fields.switch("use_cla", False):
        raise fields.error(
            f"{fields.label('use_cla')} must be false: layers that share caches are not modelled"
        )


def head_as_hidden_over_heads(fields: Fields) -> None:
    """Raise where heads together are not as wide as the model, as the class of Helium assumes."""
    heads = fields.count("num_attention_heads", most=MOST_HEADS)
    width = fields.count_or_none("head_dim") or 128
    if heads * width != fields.count("hidden_size"):
        raise fields.error(
            f"{fields.label('hidden_size')} must be that of {heads} heads of {width}, "
            f"got {fields.count('hidden_size')}"
        )


def four_times_as_wide(fields: Fields) -> None:
    """Raise where MPT's MLP is asked to be of another width, which its classes do not agree about."""
    ratio = fields.raw("expansion_ratio")
    if ratio not in (None, 4):
        raise fields.error(f"{fields.label('expansion_ratio')} must be 4, got {shown(ratio)}")
