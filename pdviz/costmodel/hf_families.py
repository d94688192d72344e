"""The table of families: what their Hugging Face classes build that the config.json does not say.

Class defaults are those of transformers 5.24 and, for families that bring their own code, of the
configuration class beside the published weights. Counts were checked against published totals.
"""

from __future__ import annotations

from typing import Any

from pdviz.costmodel import hf_rules as rules
from pdviz.costmodel.hf_attention import gemma4, mimo_v2
from pdviz.costmodel.hf_recurrent import delta_net, jamba, lightning, mamba, mamba2
from pdviz.costmodel.hf_traits import (
    EXPERTS,
    Family,
    Mixture,
    after_dense,
    chunked,
    every,
    flag,
    interleaved,
    shared_count,
    shared_width,
    stepped,
    unless,
    upper_windowed,
    when,
    windowed,
)

_BIAS = flag("attention_bias", False)
_BIASED = flag("attention_bias", True)
_USE_BIAS = flag("use_bias", False)


def _llama(**traits: Any) -> Family:
    """Gated MLP, RMS norms, biases on all of attention where ``attention_bias`` says so."""
    base: dict[str, Any] = {"qkv_bias": _BIAS, "output_bias": _BIAS}
    return Family(**{**base, **traits})


def _gpt(**traits: Any) -> Family:
    """Plain MLP four times as wide, norms with scale and shift, biases everywhere."""
    base: dict[str, Any] = {
        "norm": "layer",
        "gated": False,
        "qkv_bias": True,
        "output_bias": True,
        "mlp_bias": True,
        "mlp_ratio": 4,
        "kv_as_queries": True,
    }
    return Family(**{**base, **traits})


def _gemma(**traits: Any) -> Family:
    """A tied head; classes of this line say how wide a head is."""
    return _llama(**{"tied": True, "norms": 4, **traits})


def _qwen3(**traits: Any) -> Family:
    return _llama(**{"qk_norm": "head", "mixers": upper_windowed, **traits})


def _qwen3_5(**traits: Any) -> Family:
    """Three layers with a fixed state, then one with gated attention."""
    base: dict[str, Any] = {
        "gated_output": True,
        "mixers": rules.linear_but_every_nth,
        "recurrent": delta_net,
        "defaults": {"head_dim": 256},
    }
    return _qwen3(**{**base, **traits})


def _with(default: dict[str, int], **more: int) -> dict[str, int]:
    return {**default, **more}


_HEAD_64, _HEAD_128, _HEAD_256 = {"head_dim": 64}, {"head_dim": 128}, {"head_dim": 256}
_DEEPSEEK = Mixture(shared=shared_count, sparse=after_dense)
_CORRECTED = Mixture(shared=shared_count, sparse=after_dense, correction=True)
_QWEN = Mixture(sparse=stepped)
_QWEN_SHARED = Mixture(
    sparse=stepped, shared=shared_width("shared_expert_intermediate_size"), shared_gate=True
)
_AS_WIDE = Mixture(width=("intermediate_size",))

_LLAMA = _llama(kv_as_queries=True, mlp_bias=flag("mlp_bias", False))
_LLAMA4 = _llama(
    mixers=chunked,
    defaults=_with(_HEAD_128, attention_chunk_size=8192),
    mixture=Mixture(
        width=("intermediate_size",),
        dense_width=("intermediate_size_mlp",),
        shared=lambda fields, width: width,
        sparse=interleaved,
    ),
)
_QWEN2 = Family(qkv_bias=True, mixers=upper_windowed)
_QWEN3_VL = _qwen3(defaults=_HEAD_128)
_QWEN3_MOE = _qwen3(mixture=_QWEN)
_QWEN3_5 = _qwen3_5()
_QWEN3_5_MOE = _qwen3_5(mixture=_QWEN_SHARED)
_GEMMA3 = _gemma(
    qk_norm="head",
    mixers=every(6),
    defaults=_with(
        _HEAD_256, vocab_size=262_208, num_attention_heads=8, num_key_value_heads=4, sliding_window=4096
    ),
)
_GEMMA4_EXPERTS = Mixture(
    shared=lambda fields, width: fields.count("intermediate_size"), extra_vectors=rules.gemma4_router
)
_GEMMA4 = _gemma(
    norms=rules.gemma4_norms,
    attention=gemma4,
    mixers=every(6),
    mixture=lambda fields: _GEMMA4_EXPERTS if fields.flag("enable_moe_block", False) else None,
)
_MISTRAL = Family(
    mixers=windowed,
    absent={
        "sliding_window": "sliding_window is not in the file: read as full attention, though the class "
        "default is the 4,096 of the first Mistral 7B."
    },
)
_PHI = _gpt(norms=1, head_bias=True, qk_norm=when("qk_layernorm", False, "shift"))
_LATENT = _llama(latent=True, mixture=_CORRECTED)
_INTERNLM = Family(kv_as_queries=True, qkv_bias=flag("bias", True), output_bias=flag("bias", True))

FAMILIES: dict[str, Family] = {
    # Llama and those that follow its class closely
    "llama": _LLAMA,
    "granite": _LLAMA,
    "granitemoe": _llama(kv_as_queries=True, mixture=_AS_WIDE),
    "granitemoeshared": _llama(
        kv_as_queries=True,
        mixture=Mixture(width=("intermediate_size",), shared=shared_width("shared_intermediate_size")),
    ),
    "minicpm": _llama(kv_as_queries=True, tied=True),
    "arcee": _llama(kv_as_queries=True, gated=False, mlp_bias=flag("mlp_bias", False)),
    "smollm3": _llama(tied=True, mixers=windowed, mlp_bias=flag("mlp_bias", False)),
    "helium": _llama(output_bias=False, mlp_bias=flag("mlp_bias", False), defaults=_HEAD_128),
    "apertus": _llama(kv_as_queries=True, gated=False, mlp_vectors=2, qk_norm="head"),
    "hunyuan_v1_dense": _llama(kv_as_queries=True, qk_norm=when("use_qk_norm", True, "head")),
    "seed_oss": _llama(
        qkv_bias=_BIASED,
        output_bias=flag("attention_out_bias", False),
        mlp_bias=flag("mlp_bias", False),
        defaults=_HEAD_128,
    ),
    "exaone4": Family(qk_norm="head", mixers=every(4), defaults={"sliding_window": 4096}),
    "ernie4_5": Family(
        tied=True, qkv_bias=_USE_BIAS, output_bias=_USE_BIAS, mlp_bias=_USE_BIAS, defaults=_HEAD_128
    ),
    "ernie4_5_moe": Family(
        tied=True,
        qkv_bias=_USE_BIAS,
        output_bias=_USE_BIAS,
        mlp_bias=_USE_BIAS,
        head_bias=_USE_BIAS,
        mixture=Mixture(shared=shared_count, sparse=rules.ernie_sparse, correction=True),
    ),
    "llama4": _LLAMA4,
    "llama4_text": _LLAMA4,
    # Mistral
    "mistral": _MISTRAL,
    "ministral": _MISTRAL,
    "ministral3": Family(mixers=windowed, defaults=_HEAD_128),
    "mixtral": Family(mixers=windowed, mixture=_AS_WIDE),
    # Qwen, MiMo
    "qwen2": _QWEN2,
    "qwen2_vl": _QWEN2,
    "qwen2_vl_text": _QWEN2,
    "qwen2_5_vl": _QWEN2,
    "qwen2_5_vl_text": _QWEN2,
    "qwen2_moe": Family(qkv_bias=flag("qkv_bias", True), mixers=upper_windowed, mixture=_QWEN_SHARED),
    "qwen3": _qwen3(defaults=_HEAD_128),
    "qwen3_moe": _QWEN3_MOE,
    "qwen3_vl": _QWEN3_VL,
    "qwen3_vl_text": _QWEN3_VL,
    "qwen3_vl_moe": _QWEN3_MOE,
    "qwen3_vl_moe_text": _QWEN3_MOE,
    "qwen3_next": _qwen3_5(mixture=_QWEN_SHARED, left_out=("a multi-token prediction module",)),
    "qwen3_5": _QWEN3_5,
    "qwen3_5_text": _QWEN3_5,
    "qwen3_5_moe": _QWEN3_5_MOE,
    "qwen3_5_moe_text": _QWEN3_5_MOE,
    "mimo": Family(qkv_bias=_BIAS, mixers=upper_windowed),
    "mimo_v2_flash": Family(
        mixers=rules.mimo_v2_mixers,
        attention=mimo_v2,
        mixture=_CORRECTED,
        left_out=("multi-token prediction modules",),
    ),
    # Gemma
    "gemma": _gemma(norms=2, defaults=_HEAD_256),
    "gemma2": _gemma(mixers=every(2), defaults=_with(_HEAD_256, sliding_window=4096)),
    "gemma3": _GEMMA3,
    "gemma3_text": _GEMMA3,
    "gemma4": _GEMMA4,
    "gemma4_text": _GEMMA4,
    # Phi
    "phi": _PHI,
    "phi-msft": _PHI,
    "phi3": Family(kv_as_queries=True, mixers=windowed),
    "phimoe": _llama(norm="layer", head_bias=flag("lm_head_bias", False), mixers=windowed, mixture=_AS_WIDE),
    # DeepSeek, Kimi, GLM
    "deepseek": _llama(kv_as_queries=True, mixture=_DEEPSEEK),
    "deepseek_v2": _llama(
        latent=True,
        mlp_bias=flag("mlp_bias", False),
        mixture=lambda fields: _DEEPSEEK if fields.has(*EXPERTS) else None,
    ),
    "deepseek_v3": _LATENT,
    "kimi_k2": _LATENT,
    "dots1": _qwen3(mixture=_CORRECTED),
    "glm": Family(qkv_bias=_BIASED, defaults=_HEAD_128),
    "glm4": Family(norms=4, qkv_bias=_BIASED, defaults=_HEAD_128),
    "glm4_moe": Family(qkv_bias=_BIAS, qk_norm=when("use_qk_norm", False, "head"), mixture=_CORRECTED),
    "glm4_moe_lite": _LATENT,
    "chatglm": Family(
        norm=when("rmsnorm", True, "rms", "layer"),
        final_norm=flag("post_layer_norm", True),
        qkv_bias=lambda fields: fields.flag("add_qkv_bias", False) or fields.flag("add_bias_linear", False),
        output_bias=flag("add_bias_linear", False),
        mlp_bias=flag("add_bias_linear", False),
        kv_heads=rules.chatglm_kv_heads,
    ),
    # Mixtures and hybrids of their own
    "gpt_oss": _llama(
        qkv_bias=_BIASED,
        output_bias=_BIASED,
        sinks=True,
        mixers=every(2),
        mixture=Mixture(width=("intermediate_size",), router_bias=True, expert_bias=True),
        defaults=_with(_HEAD_64, sliding_window=128),
    ),
    "minimax_m2": Family(
        qk_norm=when("use_qk_norm", True, "heads"),
        mixture=Mixture(width=("intermediate_size",), correction=True),
        defaults=_HEAD_128,
    ),
    "minimax": Family(mixers=rules.minimax_mixers, recurrent=lightning, mixture=_AS_WIDE),
    "minimax_text_01": Family(
        mixers=rules.lightning_mixers,
        recurrent=lightning,
        mixture=Mixture(width=("intermediate_size",), shared=rules.minimax_shared),
    ),
    "dbrx": Family(norm="scale", mixture=Mixture(width=("ffn_config.ffn_hidden_size",))),
    "nemotron": _llama(kv_as_queries=True, norm="layer", gated=False, mlp_bias=flag("mlp_bias", False)),
    "nemotron_h": _llama(
        norms=1,
        gated=False,
        mlp_bias=flag("mlp_bias", False),
        layers=rules.nemotron_layers,
        mixers=rules.nemotron_mixers,
        blocks=rules.nemotron_blocks,
        recurrent=mamba2,
        mixture=Mixture(
            latent=("moe_latent_size",),
            shared=shared_width("moe_shared_expert_intermediate_size"),
            correction=True,
        ),
        defaults=_HEAD_128,
    ),
    "jamba": Family(
        mixers=rules.jamba_mixers,
        recurrent=jamba,
        mixture=Mixture(width=("intermediate_size",), sparse=rules.jamba_sparse),
    ),
    "mamba": Family(tied=True, norms=1, mixers=rules.all_recurrent, blocks=rules.bare, recurrent=mamba),
    # OLMo, Command, InternLM, StableLM, StarCoder2
    "olmo": _llama(kv_as_queries=True, norm="none"),
    "olmo2": _llama(kv_as_queries=True, qk_norm="heads"),
    "olmo3": _llama(kv_as_queries=True, qk_norm="heads", mixers=every(4), defaults={"sliding_window": 4096}),
    "olmoe": _llama(kv_as_queries=True, qk_norm="heads", mixture=_AS_WIDE),
    "cohere": _llama(
        kv_as_queries=True, tied=True, norm="scale", norms=1, qk_norm=when("use_qk_norm", False, "heads")
    ),
    "cohere2": _llama(
        kv_as_queries=True,
        tied=True,
        norm="scale",
        norms=1,
        mixers=every(4),
        defaults={"sliding_window": 4096},
    ),
    "internlm": _INTERNLM,
    "internlm2": _INTERNLM,
    "stablelm": Family(
        norm="layer",
        norms=lambda fields: 1 if fields.flag("use_parallel_residual", False) else 2,
        qkv_bias=flag("use_qkv_bias", False),
        qk_norm=when("qk_layernorm", False, "heads"),
    ),
    "starcoder2": Family(
        tied=True,
        norm="layer",
        gated=False,
        qkv_bias=flag("use_bias", True),
        output_bias=flag("use_bias", True),
        mlp_bias=flag("use_bias", True),
        mixers=windowed,
    ),
    # The GPT line
    "gpt2": _gpt(tied=True, positions=rules.gpt2_positions),
    "gpt_bigcode": _gpt(
        tied=True,
        positions=rules.gpt2_positions,
        kv_heads=lambda fields, heads: 1 if fields.flag("multi_query", True) else heads,
    ),
    "gpt_neox": _gpt(mlp_ratio=None, qkv_bias=_BIASED, output_bias=_BIASED),
    "gptj": _gpt(norms=1, qkv_bias=False, output_bias=False, head_bias=True),
    "bloom": _gpt(tied=True, embedding_norm=True),
    "opt": _gpt(
        tied=True,
        mlp_ratio=None,
        norm=when("layer_norm_elementwise_affine", True, "layer"),
        final_norm=flag("do_layer_norm_before", True),
        qkv_bias=flag("enable_bias", True),
        output_bias=flag("enable_bias", True),
        mlp_bias=flag("enable_bias", True),
        positions=rules.opt_positions,
    ),
    "mpt": _gpt(
        tied=True,
        norm=when("no_bias", True, "scale", "layer"),
        qkv_bias=unless("no_bias", True),
        output_bias=unless("no_bias", True),
        mlp_bias=unless("no_bias", True),
        kv_heads=rules.mpt_kv_heads,
        positions=rules.mpt_positions,
    ),
    "falcon": _gpt(
        tied=True,
        norms=rules.falcon_norms,
        qkv_bias=flag("bias", False),
        output_bias=flag("bias", False),
        mlp_bias=flag("bias", False),
        kv_heads=rules.falcon_kv_heads,
    ),
}
