"""Rows of the table of families: mixtures of experts, attention with a growing cache in every layer."""

from __future__ import annotations

from typing import Any

from pdviz.readers.hf import patterns, rules
from pdviz.readers.hf.attention import laguna, mimo_v2, step
from pdviz.readers.hf.bases import (
    AS_WIDE,
    BIAS,
    BIASED,
    CORRECTED,
    DEEPSEEK,
    HEAD_64,
    HEAD_128,
    MLP_BIAS,
    QWEN,
    QWEN_SHARED,
    both,
    latent,
    llama,
    plain_llama,
    qwen3,
    unsaid,
)
from pdviz.readers.hf.traits import (
    EXPERTS,
    Family,
    Mixture,
    after_dense,
    chunked,
    every,
    first_of,
    flag,
    full,
    interleaved,
    shared_count,
    shared_if_said,
    shared_width,
    stepped_if_said,
    upper_windowed,
    when,
    windowed,
)

_USE_BIAS = flag("use_bias", False)


_DEEPSEEK_V2 = Mixture(shared=shared_count, sparse=after_dense, correction=rules.noaux)
_GRANITE_SHARED = Mixture(width=("intermediate_size",), shared=shared_width("shared_intermediate_size"))
_SOLAR = Mixture(shared=shared_count, sparse=patterns.after_dense_if_said, correction=True)


def _granite(**traits: Any) -> Family:
    return llama(**{"kv_as_queries": True, "mixture": AS_WIDE, **traits})


def _bailing(**traits: Any) -> Family:
    base: dict[str, Any] = {
        "kv_as_queries": True,
        "qkv_bias": lambda fields: fields.flag("use_qkv_bias", False) or fields.flag("use_bias", False),
        "output_bias": _USE_BIAS,
        "mlp_bias": _USE_BIAS,
        "mixture": DEEPSEEK,
    }
    return Family(**{**base, **traits})


MIXTURE: dict[str, Family] = {
    "mixtral": Family(mixers=windowed, mixture=AS_WIDE),
    "grok-1": Family(tied=True, norms=4, mixture=AS_WIDE),
    "dbrx": Family(norm="scale", mixture=Mixture(width=("ffn_config.ffn_hidden_size",))),
    "arctic": Family(
        mixture=Mixture(
            width=("intermediate_size",),
            shared=rules.arctic_residual,
            extra_vectors=lambda fields, hidden: hidden if rules.arctic_residual(fields, 0) else 0,
            sparse=patterns.arctic_sparse,
        )
    ),
    "phimoe": llama(
        norm="layer",
        head_bias=flag("lm_head_bias", False),
        mixers=windowed,
        mixture=AS_WIDE,
        absent=unsaid(attention_bias="Phi-3.5-MoE has", lm_head_bias="Phi-3.5-MoE has"),
    ),
    "olmoe": llama(kv_as_queries=True, qk_norm="heads", mixture=AS_WIDE),
    "flex_olmo": llama(kv_as_queries=True, qk_norm="heads", mixture=AS_WIDE),
    "llama4": llama(
        mixers=chunked,
        defaults=both(HEAD_128, attention_chunk_size=8192),
        mixture=Mixture(
            width=("intermediate_size",),
            dense_width=("intermediate_size_mlp",),
            shared=lambda fields, width: width,
            sparse=interleaved,
        ),
    ),
    "gpt_oss": llama(
        qkv_bias=BIASED,
        output_bias=BIASED,
        sinks=True,
        mixers=every(2),
        mixture=Mixture(width=("intermediate_size",), router_bias=True, expert_bias=True),
        defaults=both(HEAD_64, sliding_window=128),
    ),
    # Granite, ERNIE, Qwen
    "granitemoe": _granite(),
    "granitemoe_swa": _granite(
        sinks=True, mixers=first_of(4), mixture=_GRANITE_SHARED, defaults={"sliding_window": 128}
    ),
    "granitemoeshared": _granite(mixture=_GRANITE_SHARED),
    "ernie4_5_moe": Family(
        tied=True,
        qkv_bias=_USE_BIAS,
        output_bias=_USE_BIAS,
        mlp_bias=_USE_BIAS,
        head_bias=_USE_BIAS,
        mixture=Mixture(shared=shared_count, sparse=patterns.ernie_sparse, correction=True),
    ),
    "qwen2_moe": Family(qkv_bias=flag("qkv_bias", True), mixers=upper_windowed, mixture=QWEN_SHARED),
    "qwen3_moe": qwen3(mixture=QWEN),
    "mellum": qwen3(mixers=full, mixture=Mixture(sparse=stepped_if_said), defaults=HEAD_128),
    # DeepSeek and those with its experts
    "deepseek": llama(kv_as_queries=True, mixture=DEEPSEEK),
    "deepseek_v2": llama(
        latent=lambda fields: fields.switch("use_mla", True),
        mlp_bias=MLP_BIAS,
        mixture=lambda fields: _DEEPSEEK_V2 if fields.has(*EXPERTS) else None,
    ),
    "deepseek_v3": latent(),
    "mistral4": latent(mixture=DEEPSEEK),
    "sarvam_mla": latent(low_rank=False),
    "axk1": latent(
        mixture=Mixture(
            shared=shared_count,
            sparse=after_dense,
            correction=True,
            extra_vectors=lambda fields, hidden: hidden,
        )
    ),
    "dots1": qwen3(mixture=CORRECTED),
    "glm4_moe": Family(
        qkv_bias=BIAS,
        qk_norm=when("use_qk_norm", False, "head"),
        mixture=CORRECTED,
        absent=unsaid(attention_bias="GLM-4.5 has", use_qk_norm="GLM-4.5 has"),
    ),
    "glm4v_moe": Family(qkv_bias=BIASED, mixture=CORRECTED),
    "solar_open": Family(qkv_bias=BIAS, mixture=_SOLAR, defaults=HEAD_128),
    "sarvam_moe": llama(output_bias=False, qk_norm=when("use_qk_norm", True, "head"), mixture=CORRECTED),
    "hy_v3": llama(qk_norm="head", mlp_bias=MLP_BIAS, mixture=CORRECTED, defaults=HEAD_128),
    "exaone_moe": Family(
        qk_norm="head", mixers=every(4), mixture=CORRECTED, defaults={"sliding_window": 4096}
    ),
    "bailing_moe": _bailing(
        qk_norm=when("use_qk_norm", False, "head"),
        mixture=Mixture(
            shared=shared_count, sparse=after_dense, correction=flag("moe_router_enable_expert_bias", False)
        ),
    ),
    "bailing_moe_v2": _bailing(qk_norm=when("use_qk_norm", True, "head"), mixture=CORRECTED),
    "afmoe": llama(
        kv_as_queries=True,
        norms=4,
        gated_output=True,
        qk_norm="head",
        mixers=patterns.afmoe_mixers,
        mixture=Mixture(shared=shared_count, sparse=patterns.dense_first, correction=True),
        defaults=both(HEAD_128, sliding_window=1024),
    ),
    "laguna": Family(
        attention=laguna,
        mixture=Mixture(
            sparse=stepped_if_said, shared=shared_width("shared_expert_intermediate_size"), correction=True
        ),
        defaults=HEAD_128,
    ),
    "step3p5": Family(
        attention=step,
        mixture=Mixture(
            sparse=patterns.step_sparse, shared=shared_width("share_expert_dim"), correction=True
        ),
    ),
    "cohere2_moe": llama(
        kv_as_queries=True,
        tied=True,
        norm="scale",
        norms=1,
        mixers=every(4),
        mixture=Mixture(
            width=("intermediate_size",),
            dense_width=("prefix_dense_intermediate_size",),
            shared=shared_count,
            sparse=after_dense,
        ),
        defaults=both(HEAD_128, sliding_window=4096),
    ),
    "kolibri1": Family(
        norms=4,
        qk_norm="head",
        mixers=every(5),
        mixture=Mixture(shared=shared_width("shared_expert_intermediate_size"), correction=True),
        defaults=both(HEAD_128, sliding_window=513),
    ),
    "aria_text": plain_llama(mixture=Mixture(width=("intermediate_size",), shared=shared_count)),
    "aria_moe_lm": plain_llama(mixture=Mixture(shared=shared_count)),
    # MiniMax, MiMo, Hunyuan
    "minimax_m2": Family(
        qk_norm=when("use_qk_norm", True, "heads"),
        mixture=Mixture(width=("intermediate_size",), correction=True),
        defaults=HEAD_128,
    ),
    "mimo_v2_flash": Family(
        mixers=patterns.mimo_v2_mixers,
        attention=mimo_v2,
        mixture=Mixture(shared=shared_if_said, sparse=after_dense, correction=True),
        left_out=("multi-token prediction modules",),
    ),
    "hunyuan_v1_moe": llama(
        kv_as_queries=True,
        qk_norm="head",
        mixture=Mixture(width=("intermediate_size",), shared=rules.hunyuan_shared),
        even=("moe_topk", "num_shared_expert", "moe_intermediate_size"),
        check=rules.no_shared_cache,
    ),
}
