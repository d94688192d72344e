"""Rules that single families need: which layers have what, and counts that fields only imply."""

from __future__ import annotations

from pdviz.costmodel.hf_fields import MOST_HEADS, MOST_LAYERS, Fields, shown


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
    return fields.count_or_none("num_ln_in_parallel_attn", most=2) or (2 if new else 1)


def chatglm_kv_heads(fields: Fields, heads: int) -> int:
    """Groups where multi-query attention is on."""
    if not fields.flag("multi_query_attention", False):
        return heads
    return fields.count("multi_query_group_num", most=MOST_HEADS)


def mpt_kv_heads(fields: Fields, heads: int) -> int:
    """By the kind of attention; multi-head where the file says nothing."""
    kind = fields.text("attn_config.attn_type") or "multihead_attention"
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


def jamba_mixers(fields: Fields, layers: int) -> list[str]:
    """One layer in a period has attention, the others a Mamba mixer."""
    period = fields.count("attn_layer_period")
    offset = fields.number("attn_layer_offset", default=0)
    return ["full" if n % period == offset else "recurrent" for n in range(layers)]


def jamba_sparse(fields: Fields, layers: int) -> list[bool]:
    """One layer in a period has experts."""
    period = fields.count("expert_layer_period")
    offset = fields.number("expert_layer_offset", default=0)
    return [n % period == offset for n in range(layers)]


def linear_but_every_nth(fields: Fields, layers: int) -> list[str]:
    """Every n-th layer has attention, the others a fixed state."""
    n = fields.count("full_attention_interval")
    return ["full" if (layer + 1) % n == 0 else "recurrent" for layer in range(layers)]


def lightning_mixers(fields: Fields, layers: int) -> list[str]:
    """1 in ``attn_type_list`` is a layer with softmax attention."""
    kinds = fields.bits_of_layers("attn_type_list", layers)
    if kinds is None:
        raise fields.error("attn_type_list is missing, expected one 0 or 1 for each layer")
    return ["full" if softmax else "recurrent" for softmax in kinds]


_NEMOTRON = {"mamba": "M", "attention": "*", "moe": "E", "mlp": "-"}


def nemotron_layers(fields: Fields) -> int:
    """Newer files give a list of blocks and may leave out how many there are."""
    blocks = fields.entries("layers_block_type")
    if blocks is not None and not fields.has("num_hidden_layers"):
        if not 0 < len(blocks) <= MOST_LAYERS:
            raise fields.error(f"layers_block_type must hold 1 to {MOST_LAYERS} blocks, got {len(blocks)}")
        return len(blocks)
    return fields.count("num_hidden_layers", most=MOST_LAYERS)


def nemotron_pattern(fields: Fields, layers: int) -> str:
    """One letter a layer: M for Mamba 2, * for attention, E for experts, - for an MLP."""
    words = fields.names_of_layers("layers_block_type", layers)
    if words is not None:
        for word in sorted(set(words) - set(_NEMOTRON)):
            raise fields.error(f"layers_block_type has {shown(word)}, expected one of {', '.join(_NEMOTRON)}")
        return "".join(_NEMOTRON[word] for word in words)
    pattern = fields.text("hybrid_override_pattern")
    if pattern is None or len(pattern) != layers or set(pattern) - set("M*E-"):
        raise fields.error(
            f"hybrid_override_pattern must have one of M, *, E and - for each of the {layers} layers"
        )
    return pattern


def nemotron_mixers(fields: Fields, layers: int) -> list[str]:
    """Attention or a Mamba mixer, or neither in layers that are a feed-forward block."""
    kinds = {"M": "recurrent", "*": "full"}
    return [kinds.get(letter, "none") for letter in nemotron_pattern(fields, layers)]


def nemotron_blocks(fields: Fields, layers: int) -> list[str]:
    """Experts or an MLP, or neither in layers that are a mixer."""
    kinds = {"E": "experts", "-": "dense"}
    return [kinds.get(letter, "none") for letter in nemotron_pattern(fields, layers)]


def bare(fields: Fields, layers: int) -> list[str]:
    """No feed-forward blocks: the mixer is all there is."""
    return ["none"] * layers


def all_recurrent(fields: Fields, layers: int) -> list[str]:
    """Every layer has a fixed state."""
    return ["recurrent"] * layers


def minimax_shared(fields: Fields, width: int) -> int:
    """No published file has a shared expert; one that has is refused."""
    value = fields.raw("shared_intermediate_size")
    if value in (None, 0, [0]):
        return 0
    raise fields.error(
        "shared_intermediate_size must be 0 for minimax_text_01, other values are not modelled here"
    )


def minimax_mixers(fields: Fields, layers: int) -> list[str]:
    """Lightning attention and softmax attention in turn, where ``layer_types`` does not say."""
    return ["full" if layer % 2 else "recurrent" for layer in range(layers)]


def ernie_sparse(fields: Fields, layers: int) -> list[bool]:
    """Every n-th layer from one to another has experts."""
    n = fields.count("moe_layer_interval", most=MOST_LAYERS)
    first = fields.number("moe_layer_start_index", default=0, most=MOST_LAYERS)
    last = layers - 1
    if fields.raw("moe_layer_end_index") != -1:
        last = fields.number("moe_layer_end_index", default=last, most=MOST_LAYERS)
    return [(layer + 1) % n == 0 and first <= layer <= last for layer in range(layers)]


def mimo_v2_mixers(fields: Fields, layers: int) -> list[str]:
    """1 in ``hybrid_layer_pattern`` is a windowed layer."""
    pattern = fields.bits_of_layers("hybrid_layer_pattern", layers)
    if pattern is None:
        raise fields.error("hybrid_layer_pattern is missing, expected one 0 or 1 for each layer")
    return ["sliding" if windowed else "full" for windowed in pattern]


def gemma4_plain(fields: Fields) -> None:
    """Raise for the small Gemma 4 models, whose layers share caches and take inputs of their own."""
    for name in ("num_kv_shared_layers", "hidden_size_per_layer_input"):
        if fields.number(name, default=0):
            raise fields.error(f"{fields.label(name)} must be 0, other values are not modelled")


def gemma4_norms(fields: Fields) -> int:
    """Four norms a layer, three more around the experts."""
    gemma4_plain(fields)
    return 7 if fields.flag("enable_moe_block", False) else 4


def gemma4_router(fields: Fields, hidden: int) -> int:
    """The router scales its input and each expert's output."""
    return hidden + fields.count("num_experts")
