"""Rows of the table of families: models that have layers with a fixed state instead of a growing cache."""

from __future__ import annotations

from typing import Any

from pdviz.readers.hf import gguf_keys, patterns, recurrent, rules
from pdviz.readers.hf.bases import (
    AS_WIDE,
    CORRECTED,
    HEAD_128,
    MLP_BIAS,
    QWEN_3_5,
    QWEN_SHARED,
    gemma,
    llama,
    qwen3_5,
)
from pdviz.readers.hf.traits import Family, Gguf, Mixture, flag, shared_width

_MAMBA: dict[str, Any] = {"norms": 1, "mixers": patterns.all_recurrent, "blocks": patterns.bare}
_GRANITE_EXPERTS = Mixture(width=("intermediate_size",), shared=shared_width("shared_intermediate_size"))
_JAMBA_EXPERTS = Mixture(width=("intermediate_size",), sparse=patterns.jamba_sparse)
_LFM2_EXPERTS = Mixture(sparse=patterns.dense_first, correction=flag("use_expert_bias", True))


def _lfm2(**traits: Any) -> Family:
    base: dict[str, Any] = {
        "tied": True,
        "qk_norm": "head",
        "mixers": patterns.lfm2_mixers,
        "recurrent": recurrent.short_convolution,
    }
    return Family(**{**base, **traits})


HYBRID: dict[str, Family] = {
    "mamba": Family(
        gguf=(Gguf("mamba", gguf_keys.mamba, common=False),), tied=True, recurrent=recurrent.mamba, **_MAMBA
    ),
    "falcon_mamba": Family(tied=True, recurrent=recurrent.mamba, **_MAMBA),
    "mamba2": Family(recurrent=recurrent.mamba2_alone, **_MAMBA),
    "jamba": Family(
        gguf=(Gguf("jamba", gguf_keys.jamba, varied=True),),
        context_tokens=262_144,
        mixers=patterns.jamba_mixers,
        recurrent=recurrent.jamba,
        mixture=lambda fields: _JAMBA_EXPERTS if fields.count("num_experts") > 1 else None,
    ),
    "bamba": llama(mlp_bias=MLP_BIAS, mixers=patterns.bamba_mixers, recurrent=recurrent.mamba2_beside),
    "granitemoehybrid": llama(
        kv_as_queries=True,
        mixers=patterns.recurrent_if_not_said,
        recurrent=recurrent.mamba2_beside,
        mlp_width=lambda fields, hidden: fields.count("shared_intermediate_size"),
        check=lambda fields: fields.require("num_local_experts"),
        mixture=lambda fields: _GRANITE_EXPERTS if fields.number("num_local_experts", default=0) else None,
    ),
    "falcon_h1": llama(context_tokens=8192, mlp_bias=MLP_BIAS, beside=recurrent.falcon_h1),
    "nemotron_h": llama(
        gguf=(
            Gguf("nemotron_h", gguf_keys.nemotron_h, varied=True),
            Gguf("nemotron_h_moe", gguf_keys.nemotron_h, varied=True),
        ),
        norms=1,
        gated=False,
        mlp_bias=MLP_BIAS,
        layers=patterns.nemotron_layers,
        mixers=patterns.nemotron_mixers,
        blocks=patterns.nemotron_blocks,
        recurrent=recurrent.mamba2,
        mixture=Mixture(
            latent=("moe_latent_size",),
            shared=shared_width("moe_shared_expert_intermediate_size"),
            correction=True,
        ),
        defaults=HEAD_128,
    ),
    "qwen3_next": qwen3_5(
        gguf=(Gguf("qwen3next", gguf_keys.qwen3_next),),
        mixture=QWEN_SHARED,
        left_out=("a multi-token prediction module",),
    ),
    "qwen3_5_text": qwen3_5(also=("qwen3_5",), gguf=(Gguf("qwen35", gguf_keys.qwen3_next),)),
    "qwen3_5_moe_text": qwen3_5(
        also=("qwen3_5_moe",), gguf=(Gguf("qwen35moe", gguf_keys.qwen3_next),), mixture=QWEN_3_5
    ),
    "olmo_hybrid": llama(
        kv_as_queries=True, qk_norm="heads", mixers=patterns.last_of_four, recurrent=recurrent.delta_net
    ),
    "kimi_linear": llama(
        latent=True,
        low_rank=False,
        mixers=patterns.kimi_linear_mixers,
        recurrent=recurrent.kimi_delta,
        mixture=CORRECTED,
    ),
    "lfm2": _lfm2(mlp_width=rules.lfm2_width),
    "lfm2_moe": _lfm2(mixture=_LFM2_EXPERTS),
    "recurrent_gemma": gemma(
        norms=2,
        output_bias=True,
        mlp_bias=True,
        kv_as_queries=True,
        mlp_width=rules.half_width,
        mixers=patterns.griffin_mixers,
        recurrent=recurrent.linear_unit,
        window=("attention_window_size",),
    ),
    "minimax": Family(mixers=patterns.minimax_mixers, recurrent=recurrent.lightning, mixture=AS_WIDE),
    "minimax_text_01": Family(
        also=("minimax_m1",),
        mixers=patterns.lightning_mixers,
        recurrent=recurrent.lightning,
        mixture=Mixture(width=("intermediate_size",), shared=rules.minimax_shared),
    ),
}
