"""Rows of the table of families: the GPT line, with plain MLPs and norms that have scale and shift."""

from __future__ import annotations

from typing import Any

from pdviz.readers.hf import gguf_keys, patterns, rules
from pdviz.readers.hf.bases import BIASED, MLP_BIAS, TOWER, gpt, llama, unsaid
from pdviz.readers.hf.traits import Family, Gguf, flag, unless, when, windowed

_FALCON_BIAS = flag("bias", False)


def _falcon(**traits: Any) -> Family:
    base: dict[str, Any] = {
        "tied": True,
        "norms": rules.falcon_norms,
        "qkv_bias": _FALCON_BIAS,
        "output_bias": _FALCON_BIAS,
        "mlp_bias": _FALCON_BIAS,
        "mlp_field": "ffn_hidden_size",
        "defaults": {"max_position_embeddings": 2048},
        "kv_heads": rules.falcon_kv_heads,
    }
    return gpt(**{**base, **traits})


def _persimmon(**traits: Any) -> Family:
    return gpt(mlp_ratio=None, qk_norm=when("qk_layernorm", True, "shift"), **traits)


def _phi(**traits: Any) -> Family:
    return gpt(
        norms=1,
        kv_field=True,
        mlp_field="intermediate_size",
        head_bias=True,
        qk_norm=when("qk_layernorm", False, "shift"),
        **traits,
    )


def _stablelm(**traits: Any) -> Family:
    return Family(
        norm="layer",
        norms=lambda fields: 1 if fields.flag("use_parallel_residual", False) else 2,
        qkv_bias=flag("use_qkv_bias", False),
        qk_norm=when("qk_layernorm", False, "heads"),
        absent=unsaid(use_qkv_bias="StableLM 2 1.6B has"),
        **traits,
    )


GPT: dict[str, Family] = {
    "gpt2": gpt(
        also=("gpt-sw3",),
        gguf=(Gguf("gpt2", gguf_keys.gpt2),),
        tied=True,
        mlp_field="n_inner",
        positions=rules.gpt2_positions,
    ),
    "openai-gpt": gpt(tied=True, final_norm=False, positions=rules.gpt2_positions),
    "ctrl": gpt(tied=True, head_bias=True, mlp_width=lambda fields, hidden: fields.count("dff")),
    "gpt_bigcode": gpt(
        gguf=(Gguf("starcoder", gguf_keys.gpt2),),
        tied=True,
        mlp_field="n_inner",
        positions=rules.gpt2_positions,
        kv_heads=lambda fields, heads: 1 if fields.flag("multi_query", True) else heads,
    ),
    "jais": gpt(
        tied=True,
        mlp_field="n_inner",
        gated=lambda fields: fields.text("activation_function") == "swiglu",
        positions=rules.jais_positions,
    ),
    "jais2": gpt(
        kv_field=True, mlp_ratio=None, qkv_bias=BIASED, output_bias=BIASED, mlp_bias=flag("mlp_bias", True)
    ),
    "gpt_neo": gpt(
        tied=True,
        mlp_field="intermediate_size",
        qkv_bias=False,
        heads=("num_heads", "num_attention_heads"),
        mixers=patterns.gpt_neo_mixers,
        window=("window_size",),
        positions=rules.learned_positions,
    ),
    "gpt_neox": gpt(
        gguf=(Gguf("gptneox"),), context_tokens=2048, mlp_ratio=None, qkv_bias=BIASED, output_bias=BIASED
    ),
    "gptj": gpt(norms=1, mlp_field="n_inner", qkv_bias=False, output_bias=False, head_bias=True),
    "codegen": gpt(norms=1, mlp_field="n_inner", qkv_bias=False, output_bias=False, head_bias=True),
    "bloom": gpt(gguf=(Gguf("bloom"),), tied=True, embedding_norm=True),
    "opt": gpt(
        tied=True,
        mlp_ratio=None,
        norm=when("layer_norm_elementwise_affine", True, "layer"),
        final_norm=lambda fields: (
            fields.flag("do_layer_norm_before", True) and not fields.flag("_remove_final_layer_norm", False)
        ),
        qkv_bias=flag("enable_bias", True),
        output_bias=flag("enable_bias", True),
        mlp_bias=flag("enable_bias", True),
        positions=rules.opt_positions,
    ),
    "biogpt": gpt(tied=True, mlp_ratio=None, positions=rules.opt_positions),
    "xglm": gpt(tied=True, mlp_ratio=None, heads=("attention_heads", "num_attention_heads")),
    "mpt": gpt(
        tied=True,
        norm=when("no_bias", True, "scale", "layer"),
        qkv_bias=unless("no_bias", True),
        output_bias=unless("no_bias", True),
        mlp_bias=unless("no_bias", True),
        kv_heads=rules.mpt_kv_heads,
        positions=rules.mpt_positions,
        check=rules.four_times_as_wide,
    ),
    "falcon": _falcon(gguf=(Gguf("falcon", gguf_keys.falcon),)),
    "RefinedWebModel": _falcon(),
    "RefinedWeb": _falcon(norms=2, kv_heads=rules.named_kv_heads),
    "persimmon": _persimmon(context_tokens=16_384),
    "fuyu": _persimmon(left_out=TOWER),
    "phi": _phi(gguf=(Gguf("phi2"),), context_tokens=2048),
    "phi-msft": _phi(),
    "llava_phi": _phi(left_out=TOWER),
    "starcoder2": Family(
        gguf=(Gguf("starcoder2"),),
        context_tokens=4096,
        tied=True,
        norm="layer",
        gated=False,
        qkv_bias=flag("use_bias", True),
        output_bias=flag("use_bias", True),
        mlp_bias=flag("use_bias", True),
        mixers=windowed,
    ),
    "stablelm": _stablelm(gguf=(Gguf("stablelm", gguf_keys.stablelm),), context_tokens=4096),
    "stablelm_epoch": _stablelm(),
    "nemotron": llama(
        gguf=(Gguf("nemotron"),),
        context_tokens=4096,
        kv_as_queries=True,
        norm="layer",
        gated=False,
        mlp_bias=MLP_BIAS,
    ),
}
