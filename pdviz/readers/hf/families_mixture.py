"""Rows of the table of families: mixtures of experts, attention with a growing cache in every layer."""

from __future__ import annotations

from typing import Any

from pdviz.readers.hf import gguf_keys, modules, patterns, rules
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
    TOWER,
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
    Gguf,
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


def _deepseek_v2(**traits: Any) -> Family:
    return llama(
        latent=lambda fields: fields.switch("use_mla", True),
        mlp_bias=MLP_BIAS,
        mixture=lambda fields: _DEEPSEEK_V2 if fields.has(*EXPERTS) else None,
        **traits,
    )


MIXTURE: dict[str, Family] = {
    "mixtral": Family(modules=modules.MIXTRAL, context_tokens=131_072, mixers=windowed, mixture=AS_WIDE),
    "llava_mixtral": Family(mixers=windowed, mixture=AS_WIDE, left_out=TOWER),
    "grok-1": Family(tied=True, norms=4, mixture=AS_WIDE),
    "dbrx": Family(
        gguf=(Gguf("dbrx", gguf_keys.dbrx),),
        context_tokens=2048,
        norm="scale",
        mixture=Mixture(width=("ffn_config.ffn_hidden_size",)),
    ),
    "arctic": Family(
        mixture=Mixture(
            width=("intermediate_size",),
            shared=rules.arctic_residual,
            extra_vectors=lambda fields, hidden: hidden if rules.arctic_residual(fields, 0) else 0,
            sparse=patterns.arctic_sparse,
        )
    ),
    "phimoe": llama(
        gguf=(Gguf("phimoe", gguf_keys.as_wide),),
        context_tokens=131_072,
        norm="layer",
        head_bias=flag("lm_head_bias", False),
        mixers=windowed,
        mixture=AS_WIDE,
        absent=unsaid(attention_bias="Phi-3.5-MoE has", lm_head_bias="Phi-3.5-MoE has"),
    ),
    "olmoe": llama(
        gguf=(Gguf("olmoe", gguf_keys.as_wide),),
        context_tokens=4096,
        kv_as_queries=True,
        qk_norm="heads",
        mixture=AS_WIDE,
    ),
    "flex_olmo": llama(kv_as_queries=True, qk_norm="heads", mixture=AS_WIDE),
    "llama4_text": llama(
        also=("llama4",),
        gguf=(Gguf("llama4", gguf_keys.llama4),),
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
        gguf=(Gguf("gpt-oss", gguf_keys.as_wide),),
        context_tokens=131_072,
        qkv_bias=BIASED,
        output_bias=BIASED,
        sinks=True,
        mixers=every(2),
        mixture=Mixture(width=("intermediate_size",), router_bias=True, expert_bias=True),
        defaults=both(HEAD_64, sliding_window=128),
    ),
    # Granite, ERNIE, Qwen
    "granitemoe": _granite(gguf=(Gguf("granitemoe", gguf_keys.granite_moe),), context_tokens=2048),
    "granitemoe_swa": _granite(
        sinks=True, mixers=first_of(4), mixture=_GRANITE_SHARED, defaults={"sliding_window": 128}
    ),
    "granitemoeshared": _granite(context_tokens=2048, mixture=_GRANITE_SHARED),
    "ernie4_5_moe": Family(
        gguf=(Gguf("ernie4_5-moe", gguf_keys.ernie_moe),),
        context_tokens=131_072,
        tied=True,
        qkv_bias=_USE_BIAS,
        output_bias=_USE_BIAS,
        mlp_bias=_USE_BIAS,
        head_bias=_USE_BIAS,
        mixture=Mixture(shared=shared_count, sparse=patterns.ernie_sparse, correction=True),
    ),
    "qwen2_moe": Family(
        gguf=(Gguf("qwen2moe", gguf_keys.no_window),),
        modules=modules.QWEN,
        context_tokens=32_768,
        qkv_bias=flag("qkv_bias", True),
        mixers=upper_windowed,
        mixture=QWEN_SHARED,
    ),
    "qwen3_moe": qwen3(
        gguf=(Gguf("qwen3moe", gguf_keys.no_window),),
        modules=modules.QWEN,
        context_tokens=32_768,
        mixture=QWEN,
    ),
    "qwen3_vl_moe_text": qwen3(
        also=("qwen3_vl_moe",),
        gguf=(Gguf("qwen3vlmoe", gguf_keys.no_window),),
        modules=modules.QWEN,
        mixture=QWEN,
    ),
    "qwen3_omni_moe_text": qwen3(mixture=QWEN),
    "mellum": qwen3(mixers=full, mixture=Mixture(sparse=stepped_if_said), defaults=HEAD_128),
    # DeepSeek and those with its experts
    "deepseek": llama(gguf=(Gguf("deepseek"),), kv_as_queries=True, mixture=DEEPSEEK),
    "deepseek_v2": _deepseek_v2(gguf=(Gguf("deepseek2", gguf_keys.deepseek2),), modules=modules.DEEPSEEK),
    "deepseek_vl_v2": _deepseek_v2(),
    "deepseek_v3": latent(also=("kimi_k2", "kimi_k25", "kimi_vl"), modules=modules.DEEPSEEK),
    "glm4_moe_lite": latent(),
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
    "dots1": qwen3(gguf=(Gguf("dots1", gguf_keys.no_window),), modules=modules.DEEPSEEK, mixture=CORRECTED),
    "glm4_moe": Family(
        gguf=(Gguf("glm4moe"),),
        modules=modules.DEEPSEEK,
        context_tokens=131_072,
        qkv_bias=BIAS,
        qk_norm=when("use_qk_norm", False, "head"),
        mixture=CORRECTED,
        absent=unsaid(attention_bias="GLM-4.5 has", use_qk_norm="GLM-4.5 has"),
    ),
    "glm4v_moe": Family(also=("glm4v_moe_text",), qkv_bias=BIASED, mixture=CORRECTED),
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
        gguf=(Gguf("minimax-m2", gguf_keys.as_wide),),
        modules=modules.MIXTRAL,
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
