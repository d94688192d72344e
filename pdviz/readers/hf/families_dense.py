"""Rows of the table of families: gated MLPs in every layer, attention with a growing cache in every one."""

from __future__ import annotations

import msgspec

from pdviz.readers.hf import rules, stacks
from pdviz.readers.hf.attention import gemma4
from pdviz.readers.hf.bases import (
    AS_WIDE,
    BIAS,
    BIASED,
    HEAD_128,
    HEAD_256,
    MLP_BIAS,
    both,
    gemma,
    llama,
    plain_llama,
    qwen2,
    qwen3,
    unsaid,
)
from pdviz.readers.hf.traits import (
    Family,
    Mixture,
    every,
    first_of,
    flag,
    upper_windowed,
    when,
    windowed,
    windowed_if_on,
)

_USE_BIAS = flag("use_bias", False)
_ERNIE = Family(tied=True, qkv_bias=_USE_BIAS, output_bias=_USE_BIAS, mlp_bias=_USE_BIAS, defaults=HEAD_128)
_GLM4 = Family(norms=4, qkv_bias=BIASED, defaults=HEAD_128)
_INTERNLM2 = Family(kv_as_queries=True, qkv_bias=flag("bias", True), output_bias=flag("bias", True))
_INTERNLM = msgspec.structs.replace(_INTERNLM2, kv_field=False)
_MISTRAL = Family(
    mixers=windowed,
    absent={
        "sliding_window": "sliding_window is not in the file: read as full attention, though the class "
        "default is the 4,096 of the first Mistral 7B."
    },
)
_PHI3 = Family(kv_as_queries=True, mixers=windowed)
_GEMMA4_EXPERTS = Mixture(
    shared=lambda fields, width: fields.count("intermediate_size"), extra_vectors=rules.gemma4_router
)

DENSE: dict[str, Family] = {
    # Llama and those that follow its class closely
    "llama": plain_llama(),
    "minicpm": llama(
        kv_as_queries=True,
        tied=True,
        mixture=lambda fields: AS_WIDE if fields.number("num_experts", default=0) else None,
    ),
    "arcee": plain_llama(gated=False),
    "smollm3": llama(tied=True, mixers=windowed_if_on, mlp_bias=MLP_BIAS),
    "helium": llama(
        output_bias=False, mlp_bias=MLP_BIAS, defaults=HEAD_128, check=rules.head_as_hidden_over_heads
    ),
    "apertus": llama(kv_as_queries=True, gated=False, mlp_vectors=2, qk_norm="head"),
    "hunyuan_v1_dense": llama(kv_as_queries=True, qk_norm=when("use_qk_norm", True, "head")),
    "seed_oss": llama(
        qkv_bias=BIASED,
        output_bias=flag("attention_out_bias", False),
        mlp_bias=MLP_BIAS,
        defaults=HEAD_128,
    ),
    "exaone": plain_llama(),
    "exaone4": Family(qk_norm="head", mixers=every(4), defaults={"sliding_window": 4096}),
    "ernie4_5": _ERNIE,
    "cwm": llama(mlp_bias=MLP_BIAS, mixers=first_of(4), defaults=both(HEAD_128, sliding_window=8192)),
    "granite_swa": plain_llama(tied=True, sinks=True, mixers=first_of(4), defaults={"sliding_window": 128}),
    "hyperclovax": plain_llama(norms=lambda fields: 4 if fields.flag("use_post_norm", True) else 2),
    "bitnet": llama(kv_as_queries=True, extra_vectors=rules.bitnet_norms),
    "youtu": llama(latent=True, tied=True, mlp_bias=MLP_BIAS),
    "minicpm3": llama(latent=True, tied=True, mlp_bias=MLP_BIAS, defaults=rules.value_as_hidden_over_heads),
    # Mistral
    "mistral": _MISTRAL,
    "ministral": _MISTRAL,
    "ministral3": Family(mixers=windowed, defaults=HEAD_128),
    # Qwen, MiMo
    "qwen": Family(qkv_bias=True, kv_as_queries=True, kv_field=False, mlp_width=rules.half_width),
    "qwen2": qwen2(),
    "qwen3": qwen3(defaults=HEAD_128),
    "mimo": Family(qkv_bias=BIAS, mixers=upper_windowed),
    # Gemma
    "gemma": gemma(norms=2, defaults=HEAD_256),
    "gemma2": gemma(mixers=every(2), defaults=both(HEAD_256, sliding_window=4096)),
    "gemma3": gemma(
        qk_norm="head",
        mixers=every(6),
        defaults=both(
            HEAD_256,
            vocab_size=262_208,
            num_attention_heads=8,
            num_key_value_heads=4,
            sliding_window=4096,
            max_position_embeddings=131_072,
        ),
    ),
    "gemma4": gemma(
        norms=rules.gemma4_norms,
        attention=gemma4,
        mixers=every(6),
        mixture=lambda fields: _GEMMA4_EXPERTS if fields.flag("enable_moe_block", False) else None,
    ),
    "vaultgemma": gemma(norms=2, mixers=every(2), defaults=both(HEAD_256, sliding_window=4096)),
    # Phi
    "phi3": _PHI3,
    "phi4mm": Family(
        kv_as_queries=True,
        tied=True,
        mixers=windowed,
        left_out=("vision and audio towers with adapters of their own",),
    ),
    # GLM, DeepSeek's first
    "glm": Family(qkv_bias=BIASED, defaults=HEAD_128),
    "glm4": _GLM4,
    "glm4v": Family(norms=4, qkv_bias=BIASED),
    "glm_ocr": Family(norms=4),
    "chatglm": Family(
        norm=when("rmsnorm", True, "rms", "layer"),
        final_norm=flag("post_layer_norm", True),
        qkv_bias=lambda fields: fields.flag("add_qkv_bias", False) or fields.flag("add_bias_linear", False),
        output_bias=flag("add_bias_linear", False),
        mlp_bias=flag("add_bias_linear", False),
        kv_heads=rules.chatglm_kv_heads,
        absent=unsaid(
            add_qkv_bias="all of ChatGLM2, ChatGLM3 and GLM-4 have", multi_query_attention="they have"
        ),
    ),
    # OLMo, Command, InternLM, Baichuan, Orion
    "olmo": llama(kv_as_queries=True, norm="none"),
    "olmo2": llama(kv_as_queries=True, qk_norm="heads"),
    "olmo3": llama(kv_as_queries=True, qk_norm="heads", mixers=every(4), defaults={"sliding_window": 4096}),
    "cohere": llama(
        kv_as_queries=True,
        tied=True,
        norm="scale",
        norms=1,
        qk_norm=when("use_qk_norm", False, "heads"),
        absent=unsaid(use_qk_norm="Command R+ has"),
    ),
    "cohere2": llama(
        kv_as_queries=True,
        tied=True,
        norm="scale",
        norms=1,
        mixers=every(4),
        defaults={"sliding_window": 4096},
    ),
    "internlm": _INTERNLM,
    "internlm2": _INTERNLM2,
    "internlm3": Family(
        kv_as_queries=True,
        qkv_bias=flag("qkv_bias", False),
        output_bias=flag("bias", False),
        mlp_bias=flag("bias", False),
    ),
    "baichuan": Family(kv_as_queries=True, kv_field=False),
    "orion": llama(kv_as_queries=True, norm="layer"),
    # Every layer with a shape of its own
    "nemotron-nas": Family(stack=stacks.searched),
    "deci": Family(stack=stacks.decilm),
    "openelm": Family(tied=flag("share_input_output_layers", True), stack=stacks.openelm),
    "nanochat": llama(kv_as_queries=True, norm="none", final_norm=False, gated=False),
}
