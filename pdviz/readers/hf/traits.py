"""What tells one family of models from another: a table row's columns, and the rules that fill them.

A trait is a constant or a rule that reads the config.json. Rules state which layers have which
attention (``Mixers``), which have a mixture of experts (``Sparse``), and how wide a shared expert is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from pdviz.costmodel.architecture import Attention, Run
from pdviz.readers.hf.fields import MOST_EXPERTS, MOST_LAYERS, MOST_TOKENS, Fields, shown
from pdviz.readers.hf.modules import Module

if TYPE_CHECKING:
    from pdviz.readers.gguf.metadata import Metadata

Switch = bool | Callable[[Fields], bool]
Mixers = Callable[[Fields, int], list[str]]
Sparse = Callable[[Fields, int], list[bool]]
Recurrent = Callable[[Fields, int], Attention]
Own = Callable[[Fields, int, str], Attention]

HEADS = ("num_attention_heads", "n_head", "n_heads")
WIDTH = ("intermediate_size", "ffn_hidden_size", "ffn_dim", "n_inner", "ffn_config.ffn_hidden_size")
EXPERTS = (
    "num_local_experts",
    "num_experts",
    "n_routed_experts",
    "moe_num_experts",
    "ffn_config.moe_num_experts",
)
SHARED = ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts", "num_shared_expert")
ACTIVE = (
    "num_experts_per_tok",
    "experts_per_token",
    "num_experts_per_token",
    "top_k_experts",
    "moe_topk",
    "moe_k",
    "moe_top_k",
    "num_selected_experts",
    "ffn_config.moe_top_k",
)


class Mixture(msgspec.Struct, frozen=True, kw_only=True):
    """How a family spells its mixture of experts.

    ``width`` names the width of one routed expert, ``dense_width`` that of layers without experts.
    ``shared`` gives the width of the shared expert (0: none) from that of a routed one.
    ``correction`` is a bias of one value an expert that only ranks them, ``extra_vectors`` counts
    other parameters by hidden size. ``latent`` names the width in which routed experts work where
    that is not the hidden size (a projection before and one after them, for all experts).
    """

    width: tuple[str, ...] = ("moe_intermediate_size",)
    dense_width: tuple[str, ...] = WIDTH
    shared: Callable[[Fields, int], int] = lambda fields, width: 0
    shared_gate: Switch = False
    latent: tuple[str, ...] = ()
    extra_vectors: Callable[[Fields, int], int] = lambda fields, hidden: 0
    router_bias: Switch = False
    expert_bias: Switch = False
    correction: Switch = False
    sparse: Sparse = lambda fields, layers: [True] * layers


class Gguf(msgspec.Struct, frozen=True):
    """A family in GGUF files, where it goes by ``name`` (``general.architecture``).

    ``adapt`` completes the fields of a config.json that all families spell alike, all of them itself where
    ``common`` is false. ``varied``: keys may hold a value for each layer, of which the greatest counts.
    ``scales`` are the ends of names of tensors that hold a layer's parameters though they look like scales of
    its weights, ``aside`` of those that the family's class does not count as parameters.
    """

    name: str
    adapt: Callable[[Metadata, dict[str, Any]], None] = lambda meta, config: None
    common: bool = True
    varied: bool = False
    scales: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table of families: all that is known of one.

    ``also`` holds other names (``model_type``) of the same family, ``gguf`` those in GGUF files.
    ``modules`` are the matrices of a layer as checkpoints name them; none where these are not known here.
    ``context_tokens`` is the context length of the class, for files that leave out what equals it;
    ``is_scaled`` where files give the scaled context beside a factor, ``prefers_longest`` where
    ``model_max_length`` counts if it is longer. ``nested`` are class defaults for a language model inside
    a vision or audio model's file, which leaves out whatever equals them (LLaVA 1.5 its Llama's sizes);
    a file of its own never does. ``experts_beside``: experts stand beside the MLP that every token meets,
    not inside it.

    ``norm`` is "rms" or "scale" (one vector), "layer" (scale and shift) or "none" (no parameters);
    ``norms`` how many a layer has. ``qk_norm`` is "head" (one vector of a head's width for queries
    and one for keys), "heads" (a vector a head), "shift" (as head, with a shift) or "none".
    ``defaults`` are values that the family's Hugging Face class supplies where published files
    leave a field out; whatever is taken from it is said in the notes. ``absent`` holds notes on
    fields that are not in the file. ``kv_as_queries`` gives as many KV heads as queries where the
    file names none. ``mlp_ratio`` is the width of the MLP over ``hidden`` where the file gives none,
    ``mlp_width`` a rule for it, ``mlp_vectors`` counts parameters of its activation, ``extra_vectors``
    further ones of a layer. ``mlp_field`` is the field of that width where the class has one, ``kv_field``
    is false where it has none for KV heads, ``low_rank`` where ``q_lora_rank`` may be left out.
    ``heads`` and ``window`` are the names of those fields. ``beside`` is a
    mixer with a fixed state that runs beside attention in the same layer. ``even`` names fields that
    may list one value for each layer, all of them equal. ``check`` raises where the file asks for
    something that is not modelled. ``stack`` builds layers that have a shape of their own each.
    """

    also: tuple[str, ...] = ()
    gguf: tuple[Gguf, ...] = ()
    modules: tuple[Module, ...] = ()
    context_tokens: int | None = None
    is_scaled: bool = False
    prefers_longest: bool = False
    nested: Mapping[str, int] = {}
    experts_beside: bool = False
    tied: Switch = False
    norm: str | Callable[[Fields], str] = "rms"
    norms: int | Callable[[Fields], int] = 2
    final_norm: Switch = True
    embedding_norm: Switch = False
    qkv_bias: Switch = False
    output_bias: Switch = False
    mlp_bias: Switch = False
    head_bias: Switch = False
    gated: Switch = True
    gated_output: Switch = False
    qk_norm: str | Callable[[Fields], str] = "none"
    sinks: Switch = False
    latent: Switch = False
    kv_heads: Callable[[Fields, int], int] | None = None
    kv_as_queries: bool = False
    kv_field: bool = True
    mlp_ratio: int | None = None
    mlp_width: Callable[[Fields, int], int] | None = None
    mlp_vectors: int = 0
    extra_vectors: Callable[[Fields, int], int] = lambda fields, hidden: 0
    mlp_field: str | None = None
    low_rank: bool = True
    heads: tuple[str, ...] = HEADS
    window: tuple[str, ...] = ("sliding_window",)
    positions: Callable[[Fields], int] | None = None
    mixers: Mixers | None = None
    layers: Callable[[Fields], int] | None = None
    stack: Callable[[Fields, int], tuple[Run, ...]] | None = None
    attention: Own | None = None
    recurrent: Recurrent | None = None
    beside: Recurrent | None = None
    mixture: Mixture | Callable[[Fields], Mixture | None] | None = None
    blocks: Callable[[Fields, int], list[str]] | None = None
    even: tuple[str, ...] = ()
    check: Callable[[Fields], None] = lambda fields: None
    defaults: Mapping[str, int] | Callable[[Fields], Mapping[str, int]] = {}
    absent: Mapping[str, str] = {}
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def on(switch: Switch, fields: Fields) -> bool:
    """What a switch says of this file."""
    return switch if isinstance(switch, bool) else switch(fields)


def flag(name: str, default: bool) -> Callable[[Fields], bool]:
    """A switch that is a field; ``default`` is its published class default."""
    return lambda fields: fields.flag(name, default)


def unless(name: str, default: bool) -> Callable[[Fields], bool]:
    """A switch that is the opposite of a field."""
    return lambda fields: not fields.flag(name, default)


def when(name: str, default: bool, yes: str, no: str = "none") -> Callable[[Fields], str]:
    """``yes`` where a field is true, else ``no``."""
    return lambda fields: yes if fields.flag(name, default) else no


# -- which layers have which attention ---------------------------------------------------------


def window_tokens(fields: Fields) -> int | None:
    """The sliding window in tokens; None where it is absent or switched off."""
    if not fields.switch("use_sliding_window", True):
        return None
    return fields.count_or_none("sliding_window", most=MOST_TOKENS)


def full(fields: Fields, layers: int) -> list[str]:
    """Every layer sees the whole context."""
    return ["full"] * layers


def windowed(fields: Fields, layers: int) -> list[str]:
    """Every layer has the window that the file gives, if it gives one (Mistral, Phi-3, StarCoder2)."""
    return ["full" if window_tokens(fields) is None else "sliding"] * layers


def _window_is_on(fields: Fields) -> bool:
    """Whether a window is switched on, in families where silence means that it is not."""
    if fields.switch("use_sliding_window", False) and not fields.has("sliding_window"):
        how = fields.how("sliding_window")
        raise fields.error(
            f"{fields.label('sliding_window')} is {how}, though use_sliding_window is true; "
            "expected a positive whole number"
        )
    return window_tokens(fields) is not None and fields.flag("use_sliding_window", False)


def windowed_if_on(fields: Fields, layers: int) -> list[str]:
    """As ``windowed``, where a switch has to be on (SmolLM3)."""
    return ["sliding" if _window_is_on(fields) else "full"] * layers


def upper_windowed(fields: Fields, layers: int) -> list[str]:
    """Layers from ``max_window_layers`` on have the window, and only if it is switched on (Qwen)."""
    if not _window_is_on(fields):
        return ["full"] * layers
    fields.require("max_window_layers")
    first = fields.number("max_window_layers", default=0, most=MOST_LAYERS)
    return ["sliding" if layer >= first else "full" for layer in range(layers)]


def every(default: int) -> Mixers:
    """Every n-th layer sees the whole context, the others a window (Gemma 2 and 3, Command R7B)."""

    def rule(fields: Fields, layers: int) -> list[str]:
        if window_tokens(fields) is None:
            return ["full"] * layers
        pattern = fields.raw("sliding_window_pattern")
        if isinstance(pattern, str):
            if not pattern or set(pattern) - {"L", "G"}:
                raise fields.error(
                    f"{fields.label('sliding_window_pattern')} must be a number or a word of L and G"
                )
            return ["sliding" if pattern[n % len(pattern)] == "L" else "full" for n in range(layers)]
        names = ("sliding_window_pattern", "_sliding_window_pattern")
        n = fields.count_or_none(*names, most=MOST_LAYERS)
        if n is None:
            n = default
            fields.take(names[0], n)
        return ["full" if (layer + 1) % n == 0 else "sliding" for layer in range(layers)]

    return rule


def first_of(n: int) -> Mixers:
    """The first of every n layers sees the whole context, the others a window (CWM)."""

    def rule(fields: Fields, layers: int) -> list[str]:
        if window_tokens(fields) is None:
            return ["full"] * layers
        fields.take("layer_types", f"1 full in {n}")
        return ["sliding" if layer % n else "full" for layer in range(layers)]

    return rule


def chunked(fields: Fields, layers: int) -> list[str]:
    """Layers with rotary positions attend within chunks, the others see everything (Llama 4)."""
    if fields.count_or_none("attention_chunk_size", most=MOST_TOKENS) is None:
        return ["full"] * layers
    rotary = fields.bits_of_layers("no_rope_layers", layers) if fields.raw("no_rope_layers") else None
    if rotary is None:
        n = fields.count_or_none("no_rope_layer_interval", most=MOST_LAYERS)
        if n is None:
            n = 4
            fields.take("no_rope_layer_interval", n)
        rotary = [(layer + 1) % n != 0 for layer in range(layers)]
    return ["chunked" if here else "full" for here in rotary]


# -- which layers have experts -----------------------------------------------------------------


def _listed(fields: Fields, layers: int) -> list[bool] | None:
    words = fields.names_of_layers("mlp_layer_types", layers)
    if words is None:
        return None
    for word in sorted(set(words) - {"dense", "sparse"}):
        raise fields.error(f"{fields.label('mlp_layer_types')} has {shown(word)}, expected dense or sparse")
    return [word == "sparse" for word in words]


def dense_layers(fields: Fields, name: str, layers: int) -> int:
    """How many layers come before those with experts; none where that is null."""
    fields.require(name)
    first = fields.number(name, default=0, most=MOST_LAYERS)
    if first > layers:
        raise fields.error(f"{fields.label(name)} must be at most the {layers} layers, got {first}")
    return first


def after_dense(fields: Fields, layers: int) -> list[bool]:
    """The first k layers are dense, of the others every n-th has experts (DeepSeek, GLM, Kimi)."""
    listed = _listed(fields, layers)
    if listed is not None:
        return listed
    if isinstance(fields.raw("moe_layer_freq"), list):
        return fields.bits_of_layers("moe_layer_freq", layers) or []
    first = dense_layers(fields, "first_k_dense_replace", layers)
    n = fields.count_or_none("moe_layer_freq", most=MOST_LAYERS) or 1
    return [layer >= first and layer % n == 0 for layer in range(layers)]


def stepped(fields: Fields, layers: int) -> list[bool]:
    """Every n-th layer has experts, save those listed as dense (Qwen)."""
    if not fields.has("decoder_sparse_step", "mlp_layer_types"):
        fields.take("decoder_sparse_step", 1)
    return stepped_if_said(fields, layers)


def stepped_if_said(fields: Fields, layers: int) -> list[bool]:
    """As ``stepped``, for classes without a field for the step."""
    listed = _listed(fields, layers)
    if listed is not None:
        return listed
    n = fields.count_or_none("decoder_sparse_step", most=MOST_LAYERS) or 1
    dense = fields.layer_numbers("mlp_only_layers", layers)
    return [(layer + 1) % n == 0 and layer not in dense for layer in range(layers)]


def interleaved(fields: Fields, layers: int) -> list[bool]:
    """Every n-th layer has experts, or those listed (Llama 4)."""
    if fields.has("moe_layers"):
        chosen = fields.layer_numbers("moe_layers", layers)
        return [layer in chosen for layer in range(layers)]
    n = fields.count("interleave_moe_layer_step", most=MOST_LAYERS)
    return [(layer + 1) % n == 0 for layer in range(layers)]


def shared_count(fields: Fields, width: int) -> int:
    """Shared experts as wide as routed ones, fused into one (DeepSeek)."""
    fields.require(*SHARED)
    return width * fields.number(*SHARED, default=0, most=MOST_EXPERTS)


def shared_if_said(fields: Fields, width: int) -> int:
    """Shared experts as in ``shared_count``; none where the file is silent."""
    return shared_count(fields, width) if fields.has(*SHARED) else 0


def shared_width(name: str) -> Callable[[Fields, int], int]:
    """A shared expert of its own width; none where the field is 0."""

    def rule(fields: Fields, width: int) -> int:
        fields.require(name)
        return fields.number(name, default=0)

    return rule
