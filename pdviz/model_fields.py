"""Every field of a model, for a program and to read: shapes, heads, windows, experts, formats."""

from __future__ import annotations

from typing import Any

from pdviz import units
from pdviz.costmodel.architecture import Architecture, Attention
from pdviz.costmodel.dtypes import PUBLISHED
from pdviz.costmodel.passes import ModelCost
from pdviz.names import shown
from pdviz.tables import detail

Json = dict[str, Any]
_SHAPE = ("family", "layers", "hidden", "vocabulary", "max_context_tokens")
_COUNTS = ("parameters", "active_parameters")


def model_fields(model: Architecture) -> Json:
    """The fields of a model as plain JSON, in SI units and elements."""
    wide, published = ModelCost(model, "bf16", "bf16"), ModelCost(model, PUBLISHED, "bf16")
    return {
        **{name: getattr(model, name) for name in (*_SHAPE, *_COUNTS)},
        "tied_embeddings": model.tied,
        "attention": _attention(model),
        "experts": _experts(model),
        "weights_bytes_bf16": wide.stored_weights_bytes,
        "kv_bytes_per_token_bf16": wide.kv_bytes_per_token,
        "kv_bytes_per_token_expanded_bf16": 2 * sum(n * a.expanded_elements for n, a in model.attentions()),
        "state_bytes_bf16": wide.state_bytes,
        "published_dtype": model.published_dtype,
        "published_weights": published.weights_title,
        "weights_bytes_published": published.stored_weights_bytes,
        "notes": list(model.notes),
        "left_out": list(model.left_out),
    }


def _attention(model: Architecture) -> list[Json]:
    """Each kind of attention with how many layers have it, in the order of the layers."""
    layers: dict[Attention, int] = {}
    for count, attention in model.attentions():
        layers[attention] = layers.get(attention, 0) + count
    names = ("kind", "query_heads", "kv_heads", "head_dim", "value_head_dim", "window_tokens")
    return [
        {"layers": count, **{name: getattr(attention, name) for name in names}}
        for attention, count in layers.items()
    ]


def _experts(model: Architecture) -> list[Json]:
    """Each kind of mixture of experts with how many layers have it."""
    layers: dict[tuple[int, int, bool], int] = {}
    for count, block in model.experts():
        kind = block.total, block.active, bool(block.shared)
        layers[kind] = layers.get(kind, 0) + count
    return [
        {"layers": count, "total": total, "active": active, "shared": shared}
        for (total, active, shared), count in layers.items()
    ]


def field_lines(fields: Json) -> list[str]:
    """All fields of a model, a labelled line each."""
    limit = fields["max_context_tokens"]
    lines = detail("family", shown(fields["family"]).strip('"'))
    for label, name in (("parameters", "parameters"), ("active for a token", "active_parameters")):
        lines += detail(label, units.count(fields[name]))
    for name in ("layers", "hidden", "vocabulary"):
        lines += detail(name, units.count(fields[name]))
    lines += detail("context", units.count(limit) if limit is not None else "not in the file")
    lines += detail("head", "tied to the embedding" if fields["tied_embeddings"] else "a table of its own")
    lines += detail("attention", *(_attention_text(a) for a in fields["attention"]))
    lines += detail("experts", *(_experts_text(e) for e in fields["experts"]))
    cache = units.binary_size(fields["kv_bytes_per_token_bf16"])
    expanded = fields["kv_bytes_per_token_expanded_bf16"]
    if expanded != fields["kv_bytes_per_token_bf16"]:
        cache += f" ({units.binary_size(expanded)} in engines that cache expanded heads)"
    lines += detail("BF16 KV cache of a token", cache)
    if fields["state_bytes_bf16"]:
        lines += detail("BF16 state of a sequence", units.binary_size(fields["state_bytes_bf16"]))
    size = units.size(fields["weights_bytes_published"])
    lines += detail("weights as published", f"{fields['published_weights']}, {size}")
    return lines


def _attention_text(attention: Json) -> str:
    text = f"{attention['layers']:,} × {attention['kind']}, {units.plural(attention['query_heads'], 'head')}"
    text += f", {attention['kv_heads']:,} KV, head dimension {attention['head_dim']:,}"
    if attention["value_head_dim"] != attention["head_dim"]:
        text += f" (values {attention['value_head_dim']:,})"
    window = attention["window_tokens"]
    return text if window is None else f"{text}, window {units.plural(window, 'token')}"


def _experts_text(experts: Json) -> str:
    text = f"{experts['layers']:,} × {experts['active']:,} of {experts['total']:,}"
    return f"{text}, and a shared one" if experts["shared"] else text
