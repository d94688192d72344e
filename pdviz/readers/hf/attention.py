"""From fields and family traits to the attention of one kind of layer."""

from __future__ import annotations

import msgspec

from pdviz.costmodel.architecture import Attention, Matrix, MatrixRole
from pdviz.readers.hf.fields import MOST_HEADS, MOST_TOKENS, Fields, shown
from pdviz.readers.hf.traits import HEADS, Family, on

KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "attn_config.kv_n_heads")

#: Roles in a mixer that runs beside attention in the same layer.
_BESIDE = {
    MatrixRole.INPUT_PROJECTION: MatrixRole.RECURRENT_INPUT_PROJECTION,
    MatrixRole.ATTENTION_OUTPUT: MatrixRole.RECURRENT_OUTPUT,
}


def heads_of(fields: Fields, family: Family) -> tuple[int, int]:
    """(query heads, KV heads); the latter divide the former."""
    heads = fields.count(*family.heads, most=MOST_HEADS)
    if family.kv_heads is not None:
        kv_heads = family.kv_heads(fields, heads)
    else:
        found = fields.count_or_none(*KV_HEADS, most=MOST_HEADS)
        if found is None and not family.kv_as_queries:
            fields.require(*KV_HEADS)
        if found is None and (family.kv_field or fields.present(*KV_HEADS)):
            fields.remark(
                f"{KV_HEADS[0]} is {fields.how(*KV_HEADS)}: as many as query heads, as Hugging Face takes it."
            )
        kv_heads = found or heads
    if heads % kv_heads:
        raise fields.error(
            f"{fields.label(family.heads[0])} must be a multiple of the {kv_heads} KV heads, got {heads}"
        )
    return heads, kv_heads


def head_width(fields: Fields, hidden: int, heads: int) -> int:
    """The width of one head: the file's own, else hidden / heads."""
    width = fields.count_or_none("head_dim", "kv_channels", "attention_head_dim")
    if width is not None:
        return width
    if hidden % heads:
        raise fields.error(
            f"{fields.label('head_dim')} is missing and hidden size {hidden} is not "
            f"a multiple of {heads} heads"
        )
    return hidden // heads


def grouped_attention(fields: Fields, family: Family, hidden: int) -> Attention:
    """Multi-head, grouped-query or multi-query attention over the whole context."""
    heads, kv_heads = heads_of(fields, family)
    width = head_width(fields, hidden, heads)
    queries = heads * (2 if on(family.gated_output, fields) else 1)
    norm = family.qk_norm if isinstance(family.qk_norm, str) else family.qk_norm(fields)
    norms = {"none": 0, "head": 2 * width, "heads": (heads + kv_heads) * width, "shift": 4 * width}
    return Attention(
        kind="full",
        query_heads=heads,
        kv_heads=kv_heads,
        head_dim=width,
        value_head_dim=width,
        matrices=(
            Matrix(MatrixRole.QKV, hidden, (queries + 2 * kv_heads) * width, on(family.qkv_bias, fields)),
            Matrix(MatrixRole.ATTENTION_OUTPUT, heads * width, hidden, on(family.output_bias, fields)),
        ),
        cache_elements=2 * kv_heads * width,
        vectors=norms[norm] + (heads if on(family.sinks, fields) else 0),
    )


def grouped(
    hidden: int,
    heads: int,
    kv_heads: int,
    width: int,
    bias: bool,
    vectors: int = 0,
    *,
    projected: int = 2,
    between: tuple[Matrix, ...] = (),
) -> Attention:
    """Plain grouped-query attention; ``projected`` is 1 where keys and values are one projection.

    Matrices ``between`` stand after the projections.
    """
    return Attention(
        kind="full",
        query_heads=heads,
        kv_heads=kv_heads,
        head_dim=width,
        value_head_dim=width,
        matrices=(
            Matrix(MatrixRole.QKV, hidden, (heads + projected * kv_heads) * width, bias),
            *between,
            Matrix(MatrixRole.ATTENTION_OUTPUT, heads * width, hidden, bias),
        ),
        cache_elements=2 * kv_heads * width,
        vectors=vectors,
    )


def latent_attention(fields: Fields, family: Family, hidden: int) -> Attention:
    """Multi-head latent attention (DeepSeek-V2 report, arXiv 2405.04434, section 2.1).

    A token caches one latent and one rotary key for all heads together, so ``kv_heads`` is 1.
    """
    heads = fields.count(*HEADS, most=MOST_HEADS)
    latent = fields.count("kv_lora_rank")
    rotary = fields.count("qk_rope_head_dim")
    plain = fields.count("qk_nope_head_dim")
    value = fields.count("v_head_dim")
    low_rank = fields.count_or_none("q_lora_rank")
    if low_rank is None and family.low_rank:
        fields.require("q_lora_rank")
    bias = on(family.qkv_bias, fields)
    if low_rank is None:
        query: tuple[Matrix, ...] = (Matrix(MatrixRole.Q, hidden, heads * (plain + rotary)),)
    else:
        query = (
            Matrix(MatrixRole.Q_DOWN, hidden, low_rank, bias),
            Matrix(MatrixRole.Q_UP, low_rank, heads * (plain + rotary)),
        )
    return Attention(
        kind="latent",
        query_heads=heads,
        kv_heads=1,
        head_dim=plain + rotary,
        value_head_dim=value,
        matrices=(
            *query,
            Matrix(MatrixRole.KV_DOWN, hidden, latent + rotary, bias),
            Matrix(MatrixRole.KV_UP, latent, heads * (plain + value)),
            Matrix(MatrixRole.ATTENTION_OUTPUT, heads * value, hidden, on(family.output_bias, fields)),
        ),
        cache_elements=latent + rotary,
        vectors=latent + (low_rank or 0),
    )


def attention_of(fields: Fields, family: Family, hidden: int, kind: str) -> Attention | None:
    """The attention of layers of that kind; None for "none"."""
    if kind == "none":
        return None
    if kind == "recurrent":
        if family.recurrent is None:
            raise fields.error("layers with a recurrent state are not modelled for this family")
        return family.recurrent(fields, hidden)
    if family.attention is not None:
        found = family.attention(fields, hidden, kind)
    elif on(family.latent, fields):
        if kind != "full":
            raise fields.error(f"{kind} windows on latent attention are not modelled here")
        found = latent_attention(fields, family, hidden)
    else:
        found = grouped_attention(fields, family, hidden)
    if family.beside is not None:
        found = _joined(found, family.beside(fields, hidden))
    if kind == "full":
        return found
    names = family.window if kind == "sliding" else ("attention_chunk_size",)
    return msgspec.structs.replace(found, kind=kind, window_tokens=fields.count(*names, most=MOST_TOKENS))


def _joined(attention: Attention, mixer: Attention) -> Attention:
    """Attention and a mixer with a fixed state that run side by side."""
    beside = tuple(msgspec.structs.replace(m, role=_BESIDE[m.role]) for m in mixer.matrices)
    return msgspec.structs.replace(
        attention,
        matrices=(*attention.matrices, *beside),
        state_elements=mixer.state_elements,
        vectors=attention.vectors + mixer.vectors,
    )


def mimo_v2(fields: Fields, hidden: int, kind: str) -> Attention:
    """MiMo-V2: windowed layers have heads of their own, values are narrower than keys, sinks by kind.

    Files of transformers 5 list ``layer_types`` and leave the windowed layers' heads out: twice the KV heads.
    """
    shared = fields.has("layer_types") and not fields.has("swa_num_key_value_heads")
    prefix = "swa_" if kind == "sliding" and not shared else ""
    heads = fields.count(prefix + "num_attention_heads", most=MOST_HEADS)
    kv_heads = fields.count(prefix + "num_key_value_heads", most=MOST_HEADS)
    kv_heads *= 2 if shared and kind == "sliding" else 1
    width, value = fields.count(prefix + "head_dim"), fields.count(prefix + "v_head_dim")
    sinks = f"add_{'swa' if kind == 'sliding' else 'full'}_attention_sink_bias"
    bias = fields.flag("attention_bias", False)
    return Attention(
        kind="full",
        query_heads=heads,
        kv_heads=kv_heads,
        head_dim=width,
        value_head_dim=value,
        matrices=(
            Matrix(MatrixRole.QKV, hidden, heads * width + kv_heads * (width + value), bias),
            Matrix(MatrixRole.ATTENTION_OUTPUT, heads * value, hidden),
        ),
        cache_elements=kv_heads * (width + value),
        vectors=heads if fields.flag(sinks, kind == "sliding") else 0,
    )


def gemma4(fields: Fields, hidden: int, kind: str) -> Attention:
    """Gemma 4: full layers have wider and fewer KV heads, and may compute values from keys.

    Keys and values are cached apart even so, since only keys are rotated.
    """
    heads = fields.count("num_attention_heads", most=MOST_HEADS)
    shared = kind == "full" and fields.flag("attention_k_eq_v", False)
    kv_heads = fields.count(
        "num_global_key_value_heads" if shared else "num_key_value_heads", most=MOST_HEADS
    )
    width = fields.count("global_head_dim" if kind == "full" else "head_dim")
    bias = fields.flag("attention_bias", False)
    projected = 1 if shared else 2
    return grouped(hidden, heads, kv_heads, width, bias, 2 * width, projected=projected)


def _heads_of_kind(fields: Fields, kind: str) -> int:
    """Query heads of the layers of a kind, where ``num_attention_heads_per_layer`` lists them."""
    name = "num_attention_heads_per_layer"
    listed, words = fields.entries(name), fields.entries("layer_types") or []
    if listed is None:
        return fields.count("num_attention_heads", most=MOST_HEADS)
    if len(listed) != len(words):
        raise fields.error(
            f"{fields.label(name)} must have one entry for each of layer_types, got {len(listed)}"
        )
    found = {shown(n): n for n, w in zip(listed, words, strict=True) if str(w).startswith(kind)}
    heads = next(iter(found.values()), None)
    if len(found) != 1 or type(heads) is not int or not 0 < heads <= MOST_HEADS:
        raise fields.error(
            f"{fields.label(name)} must be one positive number for all {kind} layers, got {', '.join(found)}"
        )
    return heads


def laguna(fields: Fields, hidden: int, kind: str) -> Attention:
    """Laguna: heads by kind of layer, QK norms, and a gate on each head (or each of its channels)."""
    gating = fields.raw("gating")
    if gating not in (None, True, "per-head", "per-element"):
        raise fields.error(
            f"{fields.label('gating')} must be true, per-head or per-element, got {shown(gating)}"
        )
    heads = _heads_of_kind(fields, kind)
    kv_heads = fields.count("num_key_value_heads", most=MOST_HEADS)
    if heads % kv_heads:
        raise fields.error(
            f"{fields.label('num_attention_heads_per_layer')} must be multiples of the {kv_heads} KV heads, "
            f"got {heads}"
        )
    return _gated(fields, hidden, heads, kv_heads, by_channel=gating == "per-element")


def step(fields: Fields, hidden: int, kind: str) -> Attention:
    """Step 3.5: windowed layers have heads of their own, every head has a gate."""
    heads = fields.count("num_attention_heads", most=MOST_HEADS)
    kv_heads = fields.count("num_key_value_heads", "num_attention_groups", most=MOST_HEADS)
    if kind == "sliding" and fields.has("num_sliding_attention_heads"):
        heads = fields.count("num_sliding_attention_heads", most=MOST_HEADS)
    elif kind == "sliding" and fields.has("attention_other_setting"):
        other = fields.child("attention_other_setting")
        heads = other.count("num_attention_heads", most=MOST_HEADS)
        kv_heads = other.count("num_attention_groups", most=MOST_HEADS)
    if heads % kv_heads:
        raise fields.error(
            f"{fields.label('num_attention_heads')} of {kind} layers must be a multiple of "
            f"the {kv_heads} KV heads, got {heads}"
        )
    return _gated(fields, hidden, heads, kv_heads, by_channel=False)


def _gated(fields: Fields, hidden: int, heads: int, kv_heads: int, *, by_channel: bool) -> Attention:
    width = fields.count("head_dim")
    bias = fields.flag("attention_bias", False)
    gate = Matrix(MatrixRole.ATTENTION_GATE, hidden, heads * (width if by_channel else 1))
    return grouped(hidden, heads, kv_heads, width, bias, 2 * width, between=(gate,))
