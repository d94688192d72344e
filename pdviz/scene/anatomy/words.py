"""The names, colours and sentences of the anatomy page."""

from __future__ import annotations

from pdviz.costmodel.anatomy import Item, LayerRun
from pdviz.costmodel.architecture import Attention, Experts, Layer, MatrixRole
from pdviz.units import count, plural, size

TITLES = {
    "embedding": "Embedding",
    "positions": "Positions",
    "attention": "Attention",
    "recurrent": "Recurrent mixing",
    "dense": "MLP",
    "router": "Routers",
    "experts": "Routed experts",
    "shared": "Shared experts",
    "extra": "Other matrices",
    "vectors": "Norms, biases",
    "head": "Output head",
}
ROLES = {
    "embedding": "part_table",
    "positions": "part_table",
    "attention": "part_mixer",
    "recurrent": "part_mixer",
    "dense": "part_mlp",
    "router": "part_vector",
    "experts": "part_expert",
    "shared": "part_mlp",
    "extra": "part_table",
    "vectors": "part_vector",
    "head": "part_table",
}
"""Part -> role of the theme that fills it."""

_MIXERS = {
    "full": "full attention",
    "latent": "latent attention (MLA)",
    "recurrent": "linear attention or state space",
}
_MATRICES = {
    MatrixRole.QKV: "q, k, v",
    MatrixRole.Q_DOWN: "q down",
    MatrixRole.Q_UP: "q up",
    MatrixRole.KV_DOWN: "kv down",
    MatrixRole.KV_UP: "kv up",
    MatrixRole.ATTENTION_OUTPUT: "output",
    MatrixRole.GATE_AND_UP: "gate, up",
}


def mixer_words(mixer: Attention | None) -> str:
    """ "sliding attention, window of 4,096"."""
    if mixer is None:
        return "no attention"
    if mixer.kind in ("sliding", "chunked"):
        what = "window" if mixer.kind == "sliding" else "chunks"
        return f"{mixer.kind} attention, {what} of {count(mixer.window_tokens or 0)} tokens"
    return _MIXERS.get(mixer.kind, mixer.kind)


def heads_words(mixer: Attention | None) -> str:
    """How queries share keys and values."""
    if mixer is None or mixer.kind == "recurrent":
        return ""
    if mixer.kind == "latent":
        return f"{count(mixer.query_heads)} heads share one latent of {count(mixer.cache_elements)}"
    if mixer.query_heads == mixer.kv_heads:
        return f"{plural(mixer.query_heads, 'head')} of {count(mixer.head_dim)}"
    return (
        f"{count(mixer.query_heads)} query heads on {plural(mixer.kv_heads, 'KV head')} "
        f"of {count(mixer.head_dim)}"
    )


def block_words(layer: Layer) -> str:
    """What follows the attention of a layer."""
    block = layer.feed_forward
    if block is None:
        return "no MLP"
    if isinstance(block, Experts):
        shared = ", a shared MLP" if block.shared else ""
        return f"{count(block.active)} of {plural(block.total, 'expert')} a token{shared}"
    is_gated = any(m.role is MatrixRole.GATE_AND_UP for m in block.matrices)
    return "gated MLP" if is_gated else "MLP"


def layer_words(run: LayerRun) -> str:
    """What kind of layers a run has."""
    return f"{mixer_words(run.layer.attention)}, {block_words(run.layer)}"


def range_words(run: LayerRun, layers: int) -> str:
    """ "Layers 1 to 32 of 32"."""
    if run.count == 1:
        return f"Layer {count(run.first + 1)} of {count(layers)}"
    return f"Layers {count(run.first + 1)} to {count(run.first + run.count)} of {count(layers)}"


def matrix_name(item: Item) -> str:
    return item.name if item.role is None else _MATRICES.get(item.role, item.name)


def shape_words(item: Item) -> str:
    return f"{count(item.inputs)} × {count(item.outputs)}"


def item_rows(item: Item, times: int, total: int) -> tuple[tuple[str, str], ...]:
    """Where a number of parameters comes from, for a card: (name, value)."""
    rows = []
    if item.inputs:
        rows.append(("shape", shape_words(item)))
    if item.is_routed:
        rows.append(("experts", f"{count(item.copies)}, {count(item.active)} for a token"))
    rows += [
        ("parameters", count(item.parameters)),
        ("bytes", f"{size(item.stored_bytes)}, {item.stored_bytes / item.parameters:.4g} B each"),
    ]
    if times > 1:
        rows.append(("in all layers like this", f"{count(times * item.parameters)} parameters"))
    rows.append(("share of the model", f"{100 * times * item.parameters / total:.3g} %"))
    return tuple(rows)
