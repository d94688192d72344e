"""Rules that single families need: which of their layers have what."""

from __future__ import annotations

from pdviz.readers.hf.fields import MOST_LAYERS, Fields, shown
from pdviz.readers.hf.traits import after_dense, dense_layers


def _period(fields: Fields, name: str) -> tuple[int, int]:
    """(every how many layers, from which on)."""
    period = fields.count(f"{name}_period", most=MOST_LAYERS)
    fields.require(f"{name}_offset")
    offset = fields.number(f"{name}_offset", default=0, most=MOST_LAYERS)
    if offset >= period:
        raise fields.error(
            f"{fields.label(name + '_offset')} must be below {name}_period {period}, got {offset}"
        )
    return period, offset


def jamba_mixers(fields: Fields, layers: int) -> list[str]:
    """One layer in a period has attention, the others a Mamba mixer."""
    period, offset = _period(fields, "attn_layer")
    return ["full" if n % period == offset else "recurrent" for n in range(layers)]


def jamba_sparse(fields: Fields, layers: int) -> list[bool]:
    """One layer in a period has experts."""
    period, offset = _period(fields, "expert_layer")
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


_NEMOTRON = {
    "mamba": "M",
    "linear_attention": "M",
    "attention": "*",
    "full_attention": "*",
    "moe": "E",
    "mlp": "-",
}


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


def recurrent_if_not_said(fields: Fields, layers: int) -> list[str]:
    """Every layer has a fixed state, where ``layer_types`` does not say."""
    fields.take("layer_types", "none full")
    return ["recurrent"] * layers


def minimax_mixers(fields: Fields, layers: int) -> list[str]:
    """Lightning attention and softmax attention in turn, where ``layer_types`` does not say."""
    fields.take("layer_types", "1 full in 2")
    return ["full" if layer % 2 else "recurrent" for layer in range(layers)]


def ernie_sparse(fields: Fields, layers: int) -> list[bool]:
    """Every n-th layer from one to another has experts."""
    n = fields.count("moe_layer_interval", most=MOST_LAYERS)
    fields.require("moe_layer_start_index")
    first = fields.number("moe_layer_start_index", default=0, most=MOST_LAYERS)
    last = layers - 1
    if not fields.present("moe_layer_end_index"):
        fields.take("moe_layer_end_index", last)
    if fields.raw("moe_layer_end_index") != -1:
        last = fields.number("moe_layer_end_index", default=last, most=MOST_LAYERS)
    return [(layer + 1) % n == 0 and first <= layer <= last for layer in range(layers)]


def mimo_v2_mixers(fields: Fields, layers: int) -> list[str]:
    """1 in ``hybrid_layer_pattern`` is a windowed layer."""
    pattern = fields.bits_of_layers("hybrid_layer_pattern", layers)
    if pattern is None:
        raise fields.error("hybrid_layer_pattern is missing, expected one 0 or 1 for each layer")
    return ["sliding" if windowed else "full" for windowed in pattern]


def gpt_neo_mixers(fields: Fields, layers: int) -> list[str]:
    """``attention_layers`` lists "global" or "local"; ``attention_types`` has such a list and how often."""
    words: list[object] = list(fields.entries("attention_layers", layers) or [])
    for entry in () if words else (fields.entries("attention_types") or ()):
        kinds, times = entry if isinstance(entry, list) and len(entry) == 2 else (None, None)
        if not isinstance(kinds, list) or type(times) is not int or not 0 <= times <= layers:
            raise fields.error(
                f"{fields.label('attention_types')} must hold pairs of a list and a number, "
                f"got {shown(entry)}"
            )
        words += kinds * times
    if len(words) != layers or any(word not in ("global", "local") for word in words):
        raise fields.error(
            f"{fields.label('attention_types')} must say global or local for each of the {layers} layers"
        )
    return ["full" if word == "global" else "sliding" for word in words]


def dense_first(fields: Fields, layers: int) -> list[bool]:
    """The first ``num_dense_layers`` have no experts."""
    first = dense_layers(fields, "num_dense_layers", layers)
    return [layer >= first for layer in range(layers)]


def afmoe_mixers(fields: Fields, layers: int) -> list[str]:
    """Every n-th layer sees the whole context."""
    n = fields.count("global_attn_every_n_layers", most=MOST_LAYERS)
    return ["full" if (layer + 1) % n == 0 else "sliding" for layer in range(layers)]


def arctic_sparse(fields: Fields, layers: int) -> list[bool]:
    """Every n-th layer has experts."""
    n = fields.count("moe_layer_frequency", most=MOST_LAYERS)
    return [(layer + 1) % n == 0 for layer in range(layers)]


def lfm2_mixers(fields: Fields, layers: int) -> list[str]:
    """``full_attn_idxs`` lists the layers with attention, the others have a short convolution."""
    if not fields.has("full_attn_idxs"):
        raise fields.error(f"{fields.label('full_attn_idxs')} is missing, expected a list of layers")
    chosen = fields.layer_numbers("full_attn_idxs", layers)
    return ["full" if layer in chosen else "recurrent" for layer in range(layers)]


def bamba_mixers(fields: Fields, layers: int) -> list[str]:
    """``attn_layer_indices`` lists the layers with attention."""
    chosen = fields.layer_numbers("attn_layer_indices", layers)
    return ["full" if layer in chosen else "recurrent" for layer in range(layers)]


def kimi_linear_mixers(fields: Fields, layers: int) -> list[str]:
    """``linear_attn_config`` lists the layers with attention, counted from 1."""
    inner = fields.child("linear_attn_config")
    chosen = inner.layer_numbers("full_attn_layers", layers + 1)
    others = inner.layer_numbers("kda_layers", layers + 1)
    if chosen & others or chosen | others != set(range(1, layers + 1)):
        raise fields.error(
            f"{inner.label('full_attn_layers')} and kda_layers must share the {layers} layers among them"
        )
    return ["full" if layer + 1 in chosen else "recurrent" for layer in range(layers)]


def griffin_mixers(fields: Fields, layers: int) -> list[str]:
    """``block_types`` is repeated over the layers."""
    words = fields.entries("block_types") or []
    if not words or any(word not in ("recurrent", "attention") for word in words):
        raise fields.error(
            f"{fields.label('block_types')} must list recurrent and attention, got {shown(words)}"
        )
    return ["sliding" if words[n % len(words)] == "attention" else "recurrent" for n in range(layers)]


def last_of_four(fields: Fields, layers: int) -> list[str]:
    """Three layers with a fixed state, then one with attention."""
    fields.take("layer_types", "1 full in 4")
    return ["full" if layer % 4 == 3 else "recurrent" for layer in range(layers)]


def after_dense_if_said(fields: Fields, layers: int) -> list[bool]:
    """As DeepSeek where the file speaks of dense layers, else experts in every layer."""
    if fields.has("first_k_dense_replace", "mlp_layer_types"):
        return after_dense(fields, layers)
    return [True] * layers


def step_sparse(fields: Fields, layers: int) -> list[bool]:
    """``moe_layers_enum`` lists the layers with experts, as numbers or in a text with commas."""
    words = fields.names_of_layers("mlp_layer_types", layers)
    if words is not None:
        return [word == "sparse" for word in words]
    listed = fields.raw("moe_layers_enum")
    parts = [part.strip() for part in listed.split(",")] if isinstance(listed, str) else listed
    numbers = {str(part) for part in parts} if isinstance(parts, list) else set()
    if not numbers or not all(n.isdecimal() and len(n) < 6 for n in numbers):
        raise fields.error(
            f"{fields.label('moe_layers_enum')} must list layers, such as 3,4,5, got {shown(listed)}"
        )
    return [str(layer) in numbers for layer in range(layers)]
