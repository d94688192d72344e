"""Rows that many families share: what a Llama, a GPT, a Gemma or a Qwen is, before its own traits.

Each function gives a row of the table of families with a few traits changed.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pdviz.readers.hf import patterns, rules
from pdviz.readers.hf.recurrent import delta_net
from pdviz.readers.hf.traits import (
    Family,
    Mixture,
    after_dense,
    flag,
    shared_count,
    shared_width,
    stepped,
    stepped_if_said,
    upper_windowed,
)

BIAS = flag("attention_bias", False)
BIASED = flag("attention_bias", True)
MLP_BIAS = flag("mlp_bias", False)
HEAD_64, HEAD_128, HEAD_256 = {"head_dim": 64}, {"head_dim": 128}, {"head_dim": 256}

#: Mixtures: as wide as ``intermediate_size``; those of DeepSeek, without and with a bias that ranks
#: experts; those of Qwen, without and with a shared expert.
AS_WIDE = Mixture(width=("intermediate_size",))
DEEPSEEK = Mixture(shared=shared_count, sparse=after_dense)
CORRECTED = Mixture(shared=shared_count, sparse=after_dense, correction=rules.corrected)
QWEN = Mixture(sparse=stepped)
QWEN_SHARED = Mixture(
    sparse=stepped, shared=shared_width("shared_expert_intermediate_size"), shared_gate=True
)
QWEN_3_5 = msgspec.structs.replace(QWEN_SHARED, sparse=stepped_if_said)
#: What a file for language model and tower holds beside the language model.
TOWER = ("a vision tower and its projector",)


def llama(**traits: Any) -> Family:
    """Gated MLP, RMS norms, biases on all of attention where ``attention_bias`` says so."""
    base: dict[str, Any] = {"qkv_bias": BIAS, "output_bias": BIAS}
    return Family(**{**base, **traits})


def plain_llama(**traits: Any) -> Family:
    """A Llama to the letter: as many KV heads as queries where the file is silent, MLP biases too."""
    return llama(**{"kv_as_queries": True, "mlp_bias": MLP_BIAS, **traits})


def gpt(**traits: Any) -> Family:
    """Plain MLP four times as wide, norms with scale and shift, biases everywhere."""
    base: dict[str, Any] = {
        "norm": "layer",
        "gated": False,
        "qkv_bias": True,
        "output_bias": True,
        "mlp_bias": True,
        "mlp_ratio": 4,
        "kv_as_queries": True,
        "kv_field": False,
    }
    return Family(**{**base, **traits})


def gemma(**traits: Any) -> Family:
    """A tied head; classes of this line say how wide a head is."""
    return llama(**{"tied": True, "norms": 4, **traits})


def qwen2(**traits: Any) -> Family:
    """Biases on queries, keys and values, none on the output."""
    return Family(**{"qkv_bias": True, "mixers": upper_windowed, **traits})


def qwen3(**traits: Any) -> Family:
    """Norms on queries and keys instead of biases."""
    return llama(**{"qk_norm": "head", "mixers": upper_windowed, **traits})


def qwen3_5(**traits: Any) -> Family:
    """Three layers with a fixed state, then one with gated attention."""
    base: dict[str, Any] = {
        "gated_output": True,
        "mixers": patterns.linear_but_every_nth,
        "recurrent": delta_net,
        "defaults": HEAD_256,
    }
    return qwen3(**{**base, **traits})


def latent(**traits: Any) -> Family:
    """Multi-head latent attention with DeepSeek-V3's experts."""
    return llama(**{"latent": True, "mixture": CORRECTED, **traits})


def sizes(
    hidden: int, width: int, layers: int, heads: int, kv_heads: int | None, words: int
) -> dict[str, int]:
    """Class defaults of a language model that a vision or audio model's file leaves out."""
    found = {
        "hidden_size": hidden,
        "intermediate_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "vocab_size": words,
    }
    return found if kv_heads is None else {**found, "num_key_value_heads": kv_heads}


def unsaid(**others: str) -> dict[str, str]:
    """Notes on switches that are off where the file is silent, while some published models have them on."""
    return {
        name: f"{name} is not in the file: read as false, the default of its class, though {models} it true."
        for name, models in others.items()
    }


def both(default: dict[str, int], **more: int) -> dict[str, int]:
    """Class defaults, joined."""
    return {**default, **more}
