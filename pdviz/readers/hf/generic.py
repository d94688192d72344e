"""Families that no table row describes: read as Llama-like where the fields allow it, else refused.

A guess is only made from fields that say what they mean, and it is said in the notes. Fields that
speak of layers of another kind are a reason to refuse, never to guess.
"""

from __future__ import annotations

import re

from pdviz.readers.hf.attention import KV_HEADS
from pdviz.readers.hf.fields import MOST_HEADS, Fields, plain, shown
from pdviz.readers.hf.rules import noaux
from pdviz.readers.hf.traits import (
    EXPERTS,
    HEADS,
    WIDTH,
    Family,
    Mixture,
    after_dense,
    flag,
    shared_if_said,
    shared_width,
    stepped,
    window_tokens,
)

_OTHER_LAYERS = (
    r"mamba|ssm|rwkv|linear_(attn|attention|key|value|num|conv)|lightning|(^|_)conv(_|$)|hybrid|swa_|"
    r"(^|_)index_(topk|head|n_heads)|kv_shared|share_kv|per_layer|block_configs|latent_size|"
    r"share_expert|shared_intermediate|dense_intermediate|global_head_dim|compress|recurrent|"
    r"altup|laurel|cross_attention_(layers|freq)|zero_expert"
)
_HARMLESS = (
    r"token|_id$|_ids$|eps|rope|rotary|theta|std|range|drop|version|temperature|scal|max_|min_|top_k|top_p|"
    r"beam|loss|coef|norm_topk|factor|n_group|topk_group|pretraining|label|hash|base|length|size_per|"
    r"architectures|act|cap|multiplier|init|cache|^output_|^return_|^tie_|^is_decoder|remote|^torchscript"
)
#: Activations of MLPs that have no gate as a rule.
_UNGATED = ("relu", "relu2", "squared_relu", "gelu_new", "gelu_fast", "quick_gelu")
_ACTIVATIONS = ("hidden_act", "hidden_activation", "activation_function", "mlp_hidden_act")


def _windows(fields: Fields, layers: int) -> list[str]:
    if window_tokens(fields) is None or fields.switch("use_sliding_window", False) is False:
        return ["full"] * layers
    return ["sliding"] * layers


def _sparse(fields: Fields, layers: int) -> list[bool]:
    if fields.has("first_k_dense_replace", "moe_layer_freq", "mlp_layer_types"):
        return after_dense(fields, layers)
    return [True] * layers


def _mixture(fields: Fields) -> Mixture | None:
    if not fields.has(*EXPERTS):
        return None
    own = fields.has("shared_expert_intermediate_size")
    return Mixture(
        width=("moe_intermediate_size",) if fields.has("moe_intermediate_size") else WIDTH,
        shared=shared_width("shared_expert_intermediate_size") if own else shared_if_said,
        sparse=stepped if fields.has("decoder_sparse_step") else _sparse,
        correction=noaux,
    )


def llama_like(fields: Fields, kind: str, tying_is_said: bool) -> Family:
    """A row for an unknown family, from what its fields say; ``tying_is_said`` if the file does."""
    strange = sorted(n for n in fields.names() if re.search(_OTHER_LAYERS, n) and fields.raw(n))
    if strange:
        raise fields.error(
            f"family {shown(kind)} is not known, and {fields.label(plain(strange[0]))} speaks of parts "
            "that a Llama-like model has not"
        )
    for name in _ACTIVATIONS:
        if fields.raw(name) in _UNGATED:
            raise fields.error(
                f"family {shown(kind)} is not known, and {fields.label(name)} {shown(fields.raw(name))} "
                "leaves open whether its MLP has a gate"
            )
    fields.count(*HEADS, most=MOST_HEADS)
    if not fields.has("kv_lora_rank"):
        fields.count(*KV_HEADS, most=MOST_HEADS)
    biases = [n for n in ("attention_bias", "qkv_bias", "use_qkv_bias", "add_qkv_bias") if fields.has(n)]
    bias = biases[0] if biases else "attention_bias"
    norms = [n for n in ("use_qk_norm", "qk_norm", "qk_layernorm") if fields.raw(n) is True]
    shifts = [n for n in fields.names() if re.search(r"layer_?norm_?eps", n)]
    rms = not shifts or any("rms" in n for n in fields.names())
    said = ["RMS norms" if rms else f"norms with scale and shift as {plain(shifts[0])} suggests"]
    said.append(f"QK norms as {norms[0]} says" if norms else "no QK norms")
    said.append(f"attention biases as {bias} says" if biases else "no attention biases")
    if not tying_is_said:
        said.append("head tied to the embedding, as Hugging Face assumes where a file does not say")
    if fields.has(*EXPERTS) and not fields.has("moe_intermediate_size"):
        said.append("experts as wide as intermediate_size")
    if window_tokens(fields) is not None and not fields.has("use_sliding_window", "layer_types"):
        said.append("sliding_window left aside")
    return Family(
        tied=True,
        norm="rms" if rms else "layer",
        qkv_bias=flag(bias, False),
        output_bias=flag("attention_bias", False),
        mlp_bias=flag("mlp_bias", False),
        qk_norm="head" if norms else "none",
        latent=fields.has("kv_lora_rank"),
        mixers=_windows,
        mixture=_mixture,
        notes=(
            f"Family {shown(kind)} is not known: read as a Llama-like model (gated MLP, {', '.join(said)}).",
        ),
    )


def strange(fields: Fields, family: Family) -> list[str]:
    """Fields that speak of layers of another kind than a known family has and were not asked for."""
    if family.recurrent is not None or family.beside is not None:
        return []
    return sorted(
        plain(name)
        for name in fields.names()
        if name not in fields.asked and re.search(_OTHER_LAYERS, name) and fields.raw(name)
    )


def contradicted(fields: Fields, family: Family) -> list[str]:
    """Sentences about experts or latents in the file that layers of a family do not have."""
    found = []
    if family.mixture is None and family.blocks is None:
        found += [(name, "experts") for name in EXPERTS if _more_than(fields.raw(name), 1)]
    if family.latent is False and _more_than(fields.raw("kv_lora_rank"), 0):
        found.append(("kv_lora_rank", "latents"))
    return [
        f"{fields.label(name)} is left aside: layers of this family have no {what}." for name, what in found
    ]


def _more_than(value: object, least: int) -> bool:
    return isinstance(value, int) and value > least


def not_understood(fields: Fields) -> list[str]:
    """Numbers, lists and switches that are on, in the file but not asked for, that may matter."""
    return sorted(
        plain(name)
        for name in fields.names()
        if name not in fields.asked
        and not re.search(_HARMLESS, name)
        and not name.startswith("_")
        and (type(fields.raw(name)) in (int, list) or fields.raw(name) is True)
    )
