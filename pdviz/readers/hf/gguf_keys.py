"""Fields of a config.json that the keys and tensors of a GGUF file stand for, family by family.

Each function completes the fields that all families spell alike, for the rows that name it. Keys are
those of llama.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdviz.readers.hf.fields import MOST_EXPERTS, MOST_HEADS, MOST_WIDTH

if TYPE_CHECKING:
    from pdviz.readers.gguf.metadata import Metadata


def llama(meta: Metadata, config: dict[str, Any]) -> None:
    if "num_experts" in config:
        config["model_type"] = "mixtral"
        if meta.raw("expert_feed_forward_length") is None:  # the plain key is that of the experts
            config["moe_intermediate_size"] = config["intermediate_size"]
        as_wide(meta, config)
    elif config["sliding_window"] is not None:
        config["model_type"] = "mistral"


def as_wide(meta: Metadata, config: dict[str, Any]) -> None:
    """Families whose routed experts have the plain field's width."""
    config["intermediate_size"] = config.get("moe_intermediate_size", config["intermediate_size"])


def _need_experts(meta: Metadata) -> None:
    meta.whole("expert_count", most=MOST_EXPERTS)


def llama4(meta: Metadata, config: dict[str, Any]) -> None:
    _need_experts(meta)
    config["intermediate_size_mlp"] = config["intermediate_size"]
    config["moe_layers"] = [n for n, kind in enumerate(config.pop("mlp_layer_types")) if kind == "sparse"]
    as_wide(meta, config)
    if meta.raw("attention.sliding_window") == 0:
        config["attention_chunk_size"] = None


def granite_moe(meta: Metadata, config: dict[str, Any]) -> None:
    _need_experts(meta)
    as_wide(meta, config)
    if config["shared_expert_intermediate_size"]:
        config["model_type"] = "granitemoeshared"
        config["shared_intermediate_size"] = config["shared_expert_intermediate_size"]


def olmo2(meta: Metadata, config: dict[str, Any]) -> None:
    if config["sliding_window"] is not None:
        config["model_type"] = "olmo3"


def no_window(meta: Metadata, config: dict[str, Any]) -> None:
    config["use_sliding_window"] = False


def qwen3_next(meta: Metadata, config: dict[str, Any]) -> None:
    config["use_sliding_window"] = False
    values = meta.whole("ssm.time_step_rank", most=MOST_HEADS)
    inner = meta.whole("ssm.inner_size", most=MOST_WIDTH)
    if inner % values:
        raise meta.error(f"{meta.family}.ssm.inner_size {inner:,} is no multiple of its {values:,} heads")
    config |= {
        "linear_num_value_heads": values,
        "linear_value_head_dim": inner // values,
        "linear_num_key_heads": meta.whole("ssm.group_count", most=MOST_HEADS),
        "linear_key_head_dim": meta.whole("ssm.state_size", most=MOST_WIDTH),
        "linear_conv_kernel_dim": meta.whole("ssm.conv_kernel", most=1024),
        "full_attention_interval": meta.whole("full_attention_interval", default=4, most=4096),
    }


def deepseek2(meta: Metadata, config: dict[str, Any]) -> None:
    """The keys with _mla are of newer files, in which the plain ones describe the latent cache."""
    rotary = meta.whole("rope.dimension_count", most=MOST_WIDTH)
    plain = meta.whole("attention.key_length", most=MOST_WIDTH)
    key = meta.whole("attention.key_length_mla", default=plain, most=MOST_WIDTH)
    if key <= rotary:
        raise meta.error(f"{meta.family}.attention.key_length must be above the {rotary:,} rotary dimensions")
    value = meta.whole("attention.value_length", most=MOST_WIDTH)
    config |= {
        "kv_lora_rank": meta.whole("attention.kv_lora_rank", most=MOST_WIDTH),
        "q_lora_rank": meta.whole("attention.q_lora_rank", default=0, least=0, most=MOST_WIDTH) or None,
        "qk_rope_head_dim": rotary,
        "qk_nope_head_dim": key - rotary,
        "v_head_dim": meta.whole("attention.value_length_mla", default=value, most=MOST_WIDTH),
    }
    if meta.anywhere("exp_probs_b.bias") is not None:
        config["model_type"] = "deepseek_v3"


def gemma4(meta: Metadata, config: dict[str, Any]) -> None:
    """Layers with the window have key widths and KV heads of their own."""
    kinds = config.get("layer_types")
    if kinds is None:
        raise meta.error("gemma4.attention.sliding_window_pattern must be one value for each layer")
    heads = dict(zip(kinds, meta.each("attention.head_count_kv"), strict=True))
    full = config["head_dim"]
    narrow = meta.whole("attention.key_length_swa", default=full, most=MOST_WIDTH)
    same = meta.has("attn_k.weight") and all(
        f"blk.{layer}.attn_v.weight" not in meta.tensors
        for layer, kind in enumerate(kinds)
        if kind == "full_attention"
    )
    config |= {
        "head_dim": narrow,
        "global_head_dim": full,
        "attention_k_eq_v": same,
        "num_key_value_heads": heads.get("sliding_attention", config["num_key_value_heads"]),
        "num_global_key_value_heads": heads.get("full_attention", config["num_key_value_heads"]),
        "enable_moe_block": "num_experts" in config,
        "top_k_experts": config.get("num_experts_per_tok"),
        "num_kv_shared_layers": meta.whole("attention.shared_kv_layers", default=0, least=0, most=4096),
        "hidden_size_per_layer_input": meta.whole(
            "embedding_length_per_layer_input", default=0, least=0, most=MOST_WIDTH
        ),
    }


def _selective(meta: Metadata, hidden: int, prefix: str = "") -> dict[str, Any]:
    """Fields of a first-generation Mamba mixer, under Jamba's names or its own."""
    inner = meta.whole("ssm.inner_size", most=MOST_WIDTH)
    if inner % hidden:
        raise meta.error(f"{meta.family}.ssm.inner_size {inner:,} is no multiple of the {hidden:,} hidden")
    names = ("d_state", "d_conv", "dt_rank") if prefix else ("state_size", "conv_kernel", "time_step_rank")
    return {
        prefix + "expand": inner // hidden,
        prefix + names[0]: meta.whole("ssm.state_size", most=MOST_WIDTH),
        prefix + names[1]: meta.whole("ssm.conv_kernel", most=1024),
        prefix + names[2]: meta.whole("ssm.time_step_rank", most=MOST_WIDTH),
        "mamba_conv_bias" if prefix else "use_conv_bias": meta.anywhere("ssm_conv1d.bias") is not None,
        "mamba_proj_bias" if prefix else "use_bias": meta.anywhere("ssm_in.bias") is not None,
    }


def mamba(meta: Metadata, config: dict[str, Any]) -> None:
    hidden = meta.whole("embedding_length", most=MOST_WIDTH)
    config |= {
        "hidden_size": hidden,
        "num_hidden_layers": meta.layers,
        "vocab_size": meta.vocabulary(),
        "tie_word_embeddings": "output.weight" not in meta.tensors,
        **_selective(meta, hidden),
    }


def _stride(meta: Metadata, name: str) -> tuple[int, int]:
    """(every how many layers, from which on) layers have such a tensor."""
    found = [layer for layer in range(meta.layers) if f"blk.{layer}.{name}" in meta.tensors]
    if not found:
        raise meta.error(f"no layer has a tensor {name}")
    period = found[1] - found[0] if len(found) > 1 else meta.layers
    if found != list(range(found[0], meta.layers, period)) or found[0] >= period:
        raise meta.error(f"its layers with {name} do not follow each other at one distance, as jamba's do")
    return period, found[0]


def jamba(meta: Metadata, config: dict[str, Any]) -> None:
    as_wide(meta, config)
    config["attn_layer_period"], config["attn_layer_offset"] = _stride(meta, "attn_q.weight")
    if "num_experts" in config:
        config["expert_layer_period"], config["expert_layer_offset"] = _stride(meta, "ffn_gate_inp.weight")
    config |= _selective(meta, config["hidden_size"], "mamba_")


def nemotron_h(meta: Metadata, config: dict[str, Any]) -> None:
    """Every layer is one block: a mixer, or experts, or an MLP."""
    heads = meta.whole("ssm.time_step_rank", most=MOST_HEADS)
    inner = meta.whole("ssm.inner_size", most=MOST_WIDTH)
    if inner % heads:
        raise meta.error(f"{meta.family}.ssm.inner_size {inner:,} is no multiple of its {heads:,} heads")
    marks = {"ssm_in": "M", "attn_q": "*", "ffn_gate_inp": "E", "ffn_up": "-"}
    kinds = [
        next((mark for name, mark in marks.items() if f"blk.{layer}.{name}.weight" in meta.tensors), "?")
        for layer in range(meta.layers)
    ]
    if "?" in kinds:
        raise meta.error(f"layer {kinds.index('?'):,} holds no block that {meta.family} has")
    config |= {
        "hybrid_override_pattern": "".join(kinds),
        "mamba_num_heads": heads,
        "mamba_head_dim": inner // heads,
        "n_groups": meta.whole("ssm.group_count", most=MOST_HEADS),
        "ssm_state_size": meta.whole("ssm.state_size", most=MOST_WIDTH),
        "conv_kernel": meta.whole("ssm.conv_kernel", most=1024),
        "use_bias": meta.anywhere("ssm_in.bias") is not None,
        "use_conv_bias": meta.anywhere("ssm_conv1d.bias") is not None,
        "attention_bias": meta.anywhere("attn_q.bias") is not None,
        "mlp_bias": meta.anywhere("ffn_up.bias") is not None,
    }
    if "num_experts" in config:
        config["n_routed_experts"] = config["num_experts"]
        config["moe_shared_expert_intermediate_size"] = config["shared_expert_intermediate_size"]
        latent = meta.whole("moe_latent_size", default=0, least=0, most=MOST_WIDTH)
        if latent:
            config["moe_latent_size"] = latent


def ernie_moe(meta: Metadata, config: dict[str, Any]) -> None:
    _need_experts(meta)
    sparse = [n for n, kind in enumerate(config["mlp_layer_types"]) if kind == "sparse"] or [0]
    config["moe_layer_interval"] = meta.whole("interleave_moe_layer_step", default=1, most=4096)
    config["moe_layer_start_index"], config["moe_layer_end_index"] = sparse[0], sparse[-1]


def dbrx(meta: Metadata, config: dict[str, Any]) -> None:
    _need_experts(meta)
    config["ffn_config"] = {"ffn_hidden_size": config["moe_intermediate_size"]}


def chatglm(meta: Metadata, config: dict[str, Any]) -> None:
    config |= {
        "multi_query_attention": True,
        "multi_query_group_num": config["num_key_value_heads"],
        "add_qkv_bias": config["qkv_bias"],
        "add_bias_linear": config["attention_out_bias"],
    }


def gpt2(meta: Metadata, config: dict[str, Any]) -> None:
    positions = meta.tensors.get("position_embd.weight")
    if positions is None or len(positions.shape) != 2:
        raise meta.error("the tensor position_embd.weight is missing, expected one row for each position")
    config |= {"n_positions": positions.shape[1], "multi_query": config["num_key_value_heads"] == 1}


def falcon(meta: Metadata, config: dict[str, Any]) -> None:
    several = config["num_key_value_heads"] > 1
    config |= {
        "new_decoder_architecture": several,
        "multi_query": not several,
        "num_kv_heads": config["num_key_value_heads"],
        "num_ln_in_parallel_attn": 2 if meta.has("attn_norm_2.weight") else 1,
    }


def stablelm(meta: Metadata, config: dict[str, Any]) -> None:
    config["use_parallel_residual"] = not meta.has("ffn_norm.weight")
