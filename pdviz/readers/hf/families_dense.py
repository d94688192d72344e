"""Rows of the table of families: gated MLPs in every layer, attention with a growing cache in every one."""

from __future__ import annotations

from typing import Any

from pdviz.readers.hf import gguf_keys, modules, rules, stacks
from pdviz.readers.hf.attention import gemma4
from pdviz.readers.hf.bases import (
    AS_WIDE,
    BIAS,
    BIASED,
    HEAD_128,
    HEAD_256,
    MLP_BIAS,
    TOWER,
    both,
    gemma,
    llama,
    plain_llama,
    qwen2,
    qwen3,
    sizes,
    unsaid,
)
from pdviz.readers.hf.traits import (
    Family,
    Gguf,
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
_BIAS = flag("bias", True)
_LIKE_YI = "Yi aquila xverse skywork iquestcoder emu3 emu3_text_model granite4_vision_text"
_GEMMA4_EXPERTS = Mixture(
    shared=lambda fields, width: fields.count("intermediate_size"), extra_vectors=rules.gemma4_router
)


def _mistral(**traits: Any) -> Family:
    silent = (
        "sliding_window is not in the file: read as full attention, though the class "
        "default is the 4,096 of the first Mistral 7B."
    )
    return Family(mixers=windowed, absent={"sliding_window": silent}, **traits)


def _ernie(**traits: Any) -> Family:
    return Family(
        tied=True, qkv_bias=_USE_BIAS, output_bias=_USE_BIAS, mlp_bias=_USE_BIAS, defaults=HEAD_128, **traits
    )


DENSE: dict[str, Family] = {
    # Llama and those that follow its class closely
    "llama": plain_llama(
        gguf=(Gguf("llama", gguf_keys.llama),),
        modules=modules.LLAMA,
        context_tokens=2048,
        nested=sizes(4096, 11_008, 32, 32, None, 32_000),
    ),
    "granite": plain_llama(gguf=(Gguf("granite"),), modules=modules.LLAMA, context_tokens=2048),
    "yi": plain_llama(also=tuple(_LIKE_YI.split())),
    "llava_llama": plain_llama(left_out=TOWER),
    "minicpm": llama(
        gguf=(Gguf("minicpm"),),
        kv_as_queries=True,
        tied=True,
        mixture=lambda fields: AS_WIDE if fields.number("num_experts", default=0) else None,
    ),
    "arcee": plain_llama(gguf=(Gguf("arcee"),), context_tokens=4096, gated=False),
    "smollm3": llama(
        gguf=(Gguf("smollm3"),),
        modules=modules.LLAMA,
        context_tokens=32_768,
        tied=True,
        mixers=windowed_if_on,
        mlp_bias=MLP_BIAS,
    ),
    "helium": llama(
        context_tokens=4096,
        output_bias=False,
        mlp_bias=MLP_BIAS,
        defaults=HEAD_128,
        check=rules.head_as_hidden_over_heads,
    ),
    "apertus": llama(
        also=("apertus1p5_text",), kv_as_queries=True, gated=False, mlp_vectors=2, qk_norm="head"
    ),
    "hunyuan_v1_dense": llama(
        also=("hunyuan_vl_text",),
        gguf=(Gguf("hunyuan-dense"),),
        kv_as_queries=True,
        qk_norm=when("use_qk_norm", True, "head"),
    ),
    "seed_oss": llama(
        gguf=(Gguf("seed_oss"),),
        modules=modules.LLAMA,
        context_tokens=524_288,
        qkv_bias=BIASED,
        output_bias=flag("attention_out_bias", False),
        mlp_bias=MLP_BIAS,
        defaults=HEAD_128,
    ),
    "exaone": plain_llama(),
    "exaone4": Family(
        gguf=(Gguf("exaone4"),),
        context_tokens=2048,
        qk_norm="head",
        mixers=every(4),
        defaults={"sliding_window": 4096},
    ),
    "ernie4_5": _ernie(gguf=(Gguf("ernie4_5"),), context_tokens=131_072),
    "paddleocr_vl_text": _ernie(),
    "cwm": llama(
        context_tokens=131_072,
        mlp_bias=MLP_BIAS,
        mixers=first_of(4),
        defaults=both(HEAD_128, sliding_window=8192),
    ),
    "granite_swa": plain_llama(tied=True, sinks=True, mixers=first_of(4), defaults={"sliding_window": 128}),
    "hyperclovax": plain_llama(norms=lambda fields: 4 if fields.flag("use_post_norm", True) else 2),
    "bitnet": llama(context_tokens=2048, kv_as_queries=True, extra_vectors=rules.bitnet_norms),
    "youtu": llama(latent=True, tied=True, mlp_bias=MLP_BIAS),
    "minicpm3": llama(latent=True, tied=True, mlp_bias=MLP_BIAS, defaults=rules.value_as_hidden_over_heads),
    # Mistral
    "mistral": _mistral(
        modules=modules.LLAMA, context_tokens=131_072, nested=sizes(4096, 14_336, 32, 32, 8, 32_000)
    ),
    "ministral": _mistral(modules=modules.LLAMA, context_tokens=131_072),
    "llava_mistral": _mistral(left_out=TOWER),
    "ministral3": Family(
        gguf=(Gguf("mistral3"),),
        modules=modules.LLAMA,
        context_tokens=262_144,
        mixers=windowed,
        defaults=HEAD_128,
    ),
    # Qwen, MiMo
    "qwen": Family(qkv_bias=True, kv_as_queries=True, kv_field=False, mlp_width=rules.half_width),
    "qwen2": qwen2(
        gguf=(Gguf("qwen2", gguf_keys.no_window),),
        modules=modules.LLAMA,
        context_tokens=32_768,
        nested=sizes(4096, 22_016, 32, 32, 32, 151_936),
    ),
    "qwen2_vl": qwen2(also=("qwen2_5_vl",), modules=modules.LLAMA),
    "qwen2_vl_text": qwen2(
        also=("qwen2_5_vl_text",),
        gguf=(Gguf("qwen2vl", gguf_keys.no_window),),
        modules=modules.LLAMA,
        context_tokens=32_768,
    ),
    "qwen2_5_omni_text": qwen2(),
    "llava_qwen": qwen2(left_out=TOWER),
    "qwen3": qwen3(
        gguf=(Gguf("qwen3", gguf_keys.no_window),),
        modules=modules.LLAMA,
        context_tokens=32_768,
        defaults=HEAD_128,
    ),
    "qwen3_vl_text": qwen3(
        also=("qwen3_vl",),
        gguf=(Gguf("qwen3vl", gguf_keys.no_window),),
        modules=modules.LLAMA,
        defaults=HEAD_128,
    ),
    "mimo": Family(qkv_bias=BIAS, mixers=upper_windowed),
    # Gemma
    "gemma": gemma(
        gguf=(Gguf("gemma"),),
        modules=modules.LLAMA,
        context_tokens=8192,
        nested=sizes(3072, 24_576, 28, 16, 16, 256_000),
        norms=2,
        defaults=HEAD_256,
    ),
    "gemma2": gemma(
        gguf=(Gguf("gemma2"),),
        modules=modules.LLAMA,
        context_tokens=8192,
        nested=sizes(2304, 9216, 26, 8, 4, 256_000),
        mixers=every(2),
        defaults=both(HEAD_256, sliding_window=4096),
    ),
    "gemma3_text": gemma(
        also=("gemma3",),
        gguf=(Gguf("gemma3"),),
        modules=modules.LLAMA,
        is_scaled=True,
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
    "gemma4_text": gemma(
        also=("gemma4",),
        gguf=(
            Gguf(
                "gemma4",
                gguf_keys.gemma4,
                varied=True,
                scales=("ffn_gate_inp.scale", "ffn_down_exps.scale"),
                aside=(".layer_output_scale.weight",),
            ),
        ),
        experts_beside=True,
        norms=rules.gemma4_norms,
        attention=gemma4,
        mixers=every(6),
        mixture=lambda fields: _GEMMA4_EXPERTS if fields.flag("enable_moe_block", False) else None,
    ),
    "vaultgemma": gemma(norms=2, mixers=every(2), defaults=both(HEAD_256, sliding_window=4096)),
    # Phi
    "phi3": Family(gguf=(Gguf("phi3"),), context_tokens=4096, kv_as_queries=True, mixers=windowed),
    "phi3_v": Family(kv_as_queries=True, mixers=windowed, left_out=TOWER),
    "phi4mm": Family(
        also=("phi4_multimodal",),
        kv_as_queries=True,
        tied=True,
        mixers=windowed,
        left_out=("vision and audio towers with adapters of their own",),
    ),
    # GLM, DeepSeek's first
    "glm": Family(context_tokens=131_072, qkv_bias=BIASED, defaults=HEAD_128),
    "glm4": Family(gguf=(Gguf("glm4"),), context_tokens=131_072, norms=4, qkv_bias=BIASED, defaults=HEAD_128),
    "glm4v": Family(also=("glm4v_text",), norms=4, qkv_bias=BIASED),
    "glm_ocr": Family(also=("glm_ocr_text",), norms=4),
    "chatglm": Family(
        gguf=(Gguf("chatglm", gguf_keys.chatglm),),
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
    "olmo": llama(gguf=(Gguf("olmo"),), context_tokens=2048, kv_as_queries=True, norm="none"),
    "olmo2": llama(
        gguf=(Gguf("olmo2", gguf_keys.olmo2),),
        modules=modules.LLAMA,
        context_tokens=2048,
        kv_as_queries=True,
        qk_norm="heads",
    ),
    "olmo3": llama(
        modules=modules.LLAMA,
        context_tokens=2048,
        kv_as_queries=True,
        qk_norm="heads",
        mixers=every(4),
        defaults={"sliding_window": 4096},
    ),
    "cohere": llama(
        gguf=(Gguf("command-r"),),
        modules=modules.LLAMA,
        context_tokens=8192,
        prefers_longest=True,
        kv_as_queries=True,
        tied=True,
        norm="scale",
        norms=1,
        qk_norm=when("use_qk_norm", False, "heads"),
        absent=unsaid(use_qk_norm="Command R+ has"),
    ),
    "cohere2": llama(
        gguf=(Gguf("cohere2"),),
        modules=modules.LLAMA,
        context_tokens=8192,
        kv_as_queries=True,
        tied=True,
        norm="scale",
        norms=1,
        mixers=every(4),
        defaults={"sliding_window": 4096},
    ),
    "internlm": Family(kv_as_queries=True, kv_field=False, qkv_bias=_BIAS, output_bias=_BIAS),
    "internlm2": Family(gguf=(Gguf("internlm2"),), kv_as_queries=True, qkv_bias=_BIAS, output_bias=_BIAS),
    "internlm3": Family(
        context_tokens=32_768,
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
