"""GGUF files for tests: a writer of headers, and models laid out as llama.cpp's converter lays them out."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from pdviz.costmodel.architecture import Architecture, Attention, Experts, FeedForward, Matrix
from pdviz.readers.gguf.types import TENSOR_TYPES

F32, F16, Q8_0, Q4_K, Q6_K = 0, 1, 8, 12, 14
Shape = tuple[int, ...]
Tensors = dict[str, tuple[Shape, int]]

_NUMBERS = {int: (4, "<I"), float: (6, "<f"), bool: (7, "<?")}


def text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def value(content: object) -> bytes:
    """A metadata value with its type before it."""
    if isinstance(content, str):
        return struct.pack("<I", 8) + text(content)
    if isinstance(content, (list, tuple)):
        first = content[0] if content else 0
        if isinstance(first, str):
            return struct.pack("<IIQ", 9, 8, len(content)) + b"".join(text(t) for t in content)
        kind, layout = _NUMBERS[type(first)]
        return struct.pack("<IIQ", 9, kind, len(content)) + b"".join(struct.pack(layout, n) for n in content)
    if type(content) is int and content >= 2**32:
        return struct.pack("<IQ", 10, content)
    kind, layout = _NUMBERS[type(content)]
    return struct.pack("<I", kind) + struct.pack(layout, content)


def size_of(shape: Shape, kind: int) -> int:
    elements = 1
    for side in shape:
        elements *= side
    _, weights, size = TENSOR_TYPES[kind]
    assert shape[0] % weights == 0, (shape, kind)
    return elements // weights * size


def header(metadata: Mapping[str, object], tensors: Tensors, version: int = 3) -> tuple[bytes, int]:
    """(the header of a file, the size of the file)."""
    parts = [b"GGUF", struct.pack("<IQQ", version, len(tensors), len(metadata))]
    parts += [text(key) + value(content) for key, content in metadata.items()]
    at = 0
    for name, (shape, kind) in tensors.items():
        parts += [
            text(name),
            struct.pack(f"<I{len(shape)}Q", len(shape), *shape),
            struct.pack("<IQ", kind, at),
        ]
        at += -(-size_of(shape, kind) // 32) * 32
    made = b"".join(parts)
    return made, -(-len(made) // 32) * 32 + at


def file(metadata: Mapping[str, object], tensors: Tensors) -> bytes:
    """A whole file, its weights all zero."""
    made, size = header(metadata, tensors)
    return made.ljust(size, b"\0")


# --- models as llama.cpp writes them ------------------------------------------------------------------

#: ``model_type`` -> ``general.architecture``.
FAMILIES = {
    "llama": "llama",
    "mistral": "llama",
    "mixtral": "llama",
    "llama4": "llama4",
    "qwen2": "qwen2",
    "qwen2_moe": "qwen2moe",
    "qwen3": "qwen3",
    "qwen3_moe": "qwen3moe",
    "qwen3_vl": "qwen3vl",
    "qwen3_next": "qwen3next",
    "qwen3_5": "qwen35",
    "qwen3_5_moe": "qwen35moe",
    "gemma": "gemma",
    "gemma2": "gemma2",
    "gemma3": "gemma3",
    "gemma4": "gemma4",
    "phi": "phi2",
    "phi3": "phi3",
    "deepseek": "deepseek",
    "deepseek_v2": "deepseek2",
    "deepseek_v3": "deepseek2",
    "kimi_k2": "deepseek2",
    "glm4_moe_lite": "deepseek2",
    "glm4": "glm4",
    "glm4_moe": "glm4moe",
    "chatglm": "chatglm",
    "gpt_oss": "gpt-oss",
    "minimax_m2": "minimax-m2",
    "olmo": "olmo",
    "olmo2": "olmo2",
    "olmoe": "olmoe",
    "granite": "granite",
    "cohere": "command-r",
    "seed_oss": "seed_oss",
    "ernie4_5_moe": "ernie4_5-moe",
    "smollm3": "smollm3",
    "minicpm": "minicpm",
    "internlm2": "internlm2",
    "stablelm": "stablelm",
    "nemotron": "nemotron",
    "dbrx": "dbrx",
    "starcoder2": "starcoder2",
    "falcon": "falcon",
    "gpt2": "gpt2",
    "gpt_neox": "gptneox",
    "bloom": "bloom",
    "cohere2": "cohere2",
    "phimoe": "phimoe",
    "granitemoe": "granitemoe",
    "granitemoeshared": "granitemoe",
    "dots1": "dots1",
    "exaone4": "exaone4",
    "hunyuan_v1_dense": "hunyuan-dense",
    "qwen2_vl": "qwen2vl",
    "qwen3_vl_moe": "qwen3vlmoe",
    "gpt_bigcode": "starcoder",
    "ministral3": "mistral3",
    "arcee": "arcee",
    "ernie4_5": "ernie4_5",
    "mamba": "mamba",
    "jamba": "jamba",
    "nemotron_h": "nemotron_h_moe",
}
_FUSED_QKV = {"phi2", "phi3", "gpt2", "falcon", "gptneox", "bloom", "chatglm", "dbrx", "starcoder"}
_SHIFTED = {
    "phi2",
    "phimoe",
    "starcoder",
    "gpt2",
    "falcon",
    "gptneox",
    "bloom",
    "starcoder2",
    "stablelm",
    "nemotron",
}
_FUSED_GATE = {"phi3", "glm4", "chatglm"}


def family_of(found: Architecture) -> str:
    """``general.architecture`` of a model; empty where GGUF files of it are not read."""
    return FAMILIES.get(found.family) or FAMILIES.get(found.family.removesuffix("_text"), "")


def matrix_type(inputs: int) -> int:
    return Q4_K if inputs % 256 == 0 else Q8_0 if inputs % 32 == 0 else F16


def model(
    found: Architecture, config: Mapping[str, Any], old: bool = False
) -> tuple[dict[str, Any], Tensors]:
    """(metadata, tensors) of a model read from ``config``; ``old``: before latent heads were split."""
    config = config.get("text_config") or config
    family = family_of(found)
    tensors: Tensors = {}

    def put(name: str, *shape: int) -> None:
        tensors[name] = shape, F32 if len(shape) == 1 else matrix_type(shape[0])

    def put_matrix(name: str, matrix: Matrix, outputs: int | None = None) -> None:
        put(f"{name}.weight", matrix.inputs, outputs or matrix.outputs)
        if matrix.bias:
            put(f"{name}.bias", outputs or matrix.outputs)

    put("token_embd.weight", found.hidden, found.vocabulary)
    shifted = family in _SHIFTED
    _vectors(put, found.vectors, found.hidden, ("output_norm", "token_embd_norm"), shifted)
    if found.head is not None:
        put_matrix("output", found.head)
    if found.positions:
        put("position_embd.weight", found.hidden, found.positions // found.hidden)
    layer = 0
    for run in found.runs:
        for _ in range(run.count):
            block = f"blk.{layer}."
            norms = ("attn_norm", "ffn_norm", "post_attention_norm", "post_ffw_norm")
            norms += ("pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2")
            if family == "falcon":
                norms = ("attn_norm", "attn_norm_2")
            names = tuple(block + norm for norm in norms)
            _vectors(put, run.layer.vectors, found.hidden, names, shifted)
            if run.layer.attention is not None:
                _attention(put, put_matrix, block, run.layer.attention, family, old)
            _feed_forward(put, put_matrix, block, run.layer.feed_forward, family)
            if family == "gemma4":
                put(f"{block}layer_output_scale.weight", 1)
            layer += 1
    return _metadata(found, config, family, old), tensors


def _vectors(put: Any, count: int, hidden: int, names: tuple[str, ...], shifted: bool) -> None:
    """Norms of ``count`` parameters in all, with a shift beside each scale where they have one."""
    kinds = ("weight", "bias") if shifted else ("weight",)
    norms = count // (hidden * len(kinds))
    assert norms * hidden * len(kinds) == count
    for name in names[:norms]:
        for kind in kinds:
            put(f"{name}.{kind}", hidden)


def _attention(put: Any, put_matrix: Any, block: str, a: Attention, family: str, old: bool) -> None:
    by_name = {matrix.role.value: matrix for matrix in a.matrices}
    if a.kind == "latent":
        names = {"q": "attn_q", "q_down": "attn_q_a", "q_up": "attn_q_b", "kv_down": "attn_kv_a_mqa"}
        for name, theirs in names.items():
            if name in by_name:
                put_matrix(block + theirs, by_name[name])
        up = by_name["kv_up"]
        plain = up.outputs // a.query_heads - a.value_head_dim
        if old:
            put(f"{block}attn_kv_b.weight", up.inputs, up.outputs)
        else:
            put(f"{block}attn_k_b.weight", plain, up.inputs, a.query_heads)
            put(f"{block}attn_v_b.weight", up.inputs, a.value_head_dim, a.query_heads)
        put(f"{block}attn_kv_a_norm.weight", up.inputs)
        if "q_up" in by_name:
            put(f"{block}attn_q_a_norm.weight", by_name["q_up"].inputs)
        put_matrix(f"{block}attn_output", by_name["attention output"])
        return
    if a.kind == "recurrent" and "input projection" in by_name:
        _state_space(put, put_matrix, block, a, by_name)
        return
    if a.kind == "recurrent":
        gate = a.kv_heads * a.value_head_dim
        both = by_name["qkv and gate"]
        put(f"{block}attn_qkv.weight", both.inputs, both.outputs - gate)
        put(f"{block}attn_gate.weight", both.inputs, gate)
        put_matrix(f"{block}ssm_ba", by_name["decay and beta"])
        put_matrix(f"{block}ssm_out", by_name["attention output"])
        rest = a.vectors - 2 * a.kv_heads - a.value_head_dim
        kernel = rest // (both.outputs - gate)
        put(f"{block}ssm_conv1d.weight", kernel, both.outputs - gate)
        put(f"{block}ssm_a", a.kv_heads)
        put(f"{block}ssm_dt.bias", a.kv_heads)
        put(f"{block}ssm_norm.weight", a.value_head_dim)
        return
    qkv = by_name["qkv"]
    keys, values = a.kv_heads * a.head_dim, a.kv_heads * a.value_head_dim
    if family == "gemma4" and qkv.outputs == (a.query_heads + a.kv_heads) * a.head_dim:
        put_matrix(f"{block}attn_q", qkv, a.query_heads * a.head_dim)  # values are keys
        put_matrix(f"{block}attn_k", qkv, keys)
    elif family in _FUSED_QKV:
        put_matrix(f"{block}attn_qkv", qkv)
    else:
        put_matrix(f"{block}attn_q", qkv, qkv.outputs - keys - values)
        put_matrix(f"{block}attn_k", qkv, keys)
        put_matrix(f"{block}attn_v", qkv, values)
    put_matrix(f"{block}attn_output", by_name["attention output"])
    if a.vectors == a.query_heads:
        put(f"{block}attn_sinks.weight", a.query_heads)
    elif a.vectors == 2 * a.head_dim:
        put(f"{block}attn_q_norm.weight", a.head_dim)
        put(f"{block}attn_k_norm.weight", a.head_dim)
    elif a.vectors:
        assert a.vectors == (a.query_heads + a.kv_heads) * a.head_dim
        put(f"{block}attn_q_norm.weight", a.query_heads * a.head_dim)
        put(f"{block}attn_k_norm.weight", a.kv_heads * a.head_dim)


def _state_space(put: Any, put_matrix: Any, block: str, a: Attention, by_name: dict[str, Matrix]) -> None:
    """A Mamba mixer of the first generation or of the second."""
    inner = by_name["attention output"].inputs
    put_matrix(f"{block}ssm_in", by_name["input projection"])
    put_matrix(f"{block}ssm_out", by_name["attention output"])
    if "state projection" in by_name:
        state, rank = a.head_dim, by_name["time step"].inputs
        put_matrix(f"{block}ssm_x", by_name["state projection"])
        put_matrix(f"{block}ssm_dt", by_name["time step"])
        put(f"{block}ssm_a", state, inner)
        put(f"{block}ssm_d", inner)
        channels, rest = inner, a.vectors - inner * (state + 1)
        if rest % inner:
            put(f"{block}ssm_dt_norm.weight", rank)
            put(f"{block}ssm_b_norm.weight", state)
            put(f"{block}ssm_c_norm.weight", state)
            rest -= rank + 2 * state
    else:
        heads = a.kv_heads
        channels, rest = by_name["input projection"].outputs - inner - heads, a.vectors - 3 * heads - inner
        put(f"{block}ssm_a", 1, heads)
        put(f"{block}ssm_d", 1, heads)
        put(f"{block}ssm_dt.bias", heads)
        put(f"{block}ssm_norm.weight", inner // 8, 8)
    put(f"{block}ssm_conv1d.weight", rest // channels - 1, channels)
    put(f"{block}ssm_conv1d.bias", channels)
    assert rest % channels == 0


def _feed_forward(
    put: Any, put_matrix: Any, block: str, part: FeedForward | Experts | None, family: str
) -> None:
    def mlp(matrices: tuple[Matrix, ...], suffix: str, *more: int) -> None:
        for matrix in matrices:
            if matrix.role.value == "shared gate":
                put(f"{block}ffn_gate_inp_shexp.weight", matrix.inputs)
            elif matrix.role.value in ("to experts", "from experts"):
                put_matrix(f"{block}ffn_latent_{'down' if matrix.role.value[0] == 't' else 'up'}", matrix)
            elif matrix.role.value == "gate and up" and family == "gemma4" and more:
                put(f"{block}ffn_gate_up_exps.weight", matrix.inputs, matrix.outputs, *more)
            elif matrix.role.value == "gate and up" and (family not in _FUSED_GATE or more):
                for name in ("gate", "up"):
                    put(f"{block}ffn_{name}{suffix}.weight", matrix.inputs, matrix.outputs // 2, *more)
                    if matrix.bias:
                        put(f"{block}ffn_{name}{suffix}.bias", matrix.outputs // 2, *more)
            else:
                name = "down" if matrix.role.value == "down" else "up"
                put(f"{block}ffn_{name}{suffix}.weight", matrix.inputs, matrix.outputs, *more)
                if matrix.bias:
                    put(f"{block}ffn_{name}{suffix}.bias", matrix.outputs, *more)

    if isinstance(part, FeedForward):
        mlp(part.matrices, "")
    elif isinstance(part, Experts):
        put_matrix(f"{block}ffn_gate_inp", part.router[0])
        mlp(part.expert, "_exps", part.total)
        mlp(part.shared, "" if family == "gemma4" else "_shexp")
        if family == "gemma4":
            put(f"{block}ffn_gate_inp.scale", part.router[0].inputs)
            put(f"{block}ffn_down_exps.scale", part.total)
            assert part.vectors == part.router[0].inputs + part.total
        elif part.vectors:
            put(f"{block}exp_probs_b.bias", part.vectors)


def _metadata(found: Architecture, config: Mapping[str, Any], family: str, old: bool) -> dict[str, Any]:
    """Keys as the converter writes them."""
    if family == "mamba":
        return _mamba_metadata(found, config)
    attention = next(a for _, a in found.attentions() if a.kind != "recurrent")
    keys: dict[str, Any] = {
        "block_count": found.layers,
        "context_length": found.max_context_tokens or 2048,
        "embedding_length": found.hidden,
        "attention.head_count": attention.query_heads,
        "attention.head_count_kv": attention.kv_heads,
    }
    dense = [run.layer.feed_forward for run in found.runs if isinstance(run.layer.feed_forward, FeedForward)]
    if dense:
        keys["feed_forward_length"] = dense[0].matrices[-1].inputs
    if attention.head_dim * attention.query_heads != found.hidden and attention.kind != "latent":
        keys |= {"attention.key_length": attention.head_dim, "attention.value_length": attention.head_dim}
    experts = [block for _, block in found.experts()]
    if experts:
        width = experts[0].expert[-1].inputs
        keys |= {"expert_count": experts[0].total, "expert_used_count": experts[0].active}
        named = family in ("llama", "dbrx", "olmoe", "jamba")  # these have one width for all
        keys["feed_forward_length" if named else "expert_feed_forward_length"] = width
    window = [a.window_tokens for _, a in found.attentions() if a.window_tokens is not None]
    if window and family not in ("llama", "starcoder2", "llama4"):
        keys["attention.sliding_window"] = window[0]
    if attention.kind == "latent":
        rank, rotary = config["kv_lora_rank"], config["qk_rope_head_dim"]
        keys |= {"attention.kv_lora_rank": rank, "rope.dimension_count": rotary}
        if config.get("q_lora_rank"):
            keys["attention.q_lora_rank"] = config["q_lora_rank"]
        suffix = "" if old else "_mla"
        if not old:
            keys |= {"attention.key_length": rank + rotary, "attention.value_length": rank}
        keys[f"attention.key_length{suffix}"] = attention.head_dim
        keys[f"attention.value_length{suffix}"] = attention.value_head_dim
    if family in ("qwen3next", "qwen35", "qwen35moe"):
        keys |= {
            "ssm.conv_kernel": config["linear_conv_kernel_dim"],
            "ssm.state_size": config["linear_key_head_dim"],
            "ssm.group_count": config["linear_num_key_heads"],
            "ssm.time_step_rank": config["linear_num_value_heads"],
            "ssm.inner_size": config["linear_value_head_dim"] * config["linear_num_value_heads"],
            "full_attention_interval": 4,
        }
    layers = [run.layer for run in found.runs for _ in range(run.count)]
    mixers = [layer.attention for layer in layers]
    grown = [a.kv_heads if a is not None and a.cache_elements else 0 for a in mixers]
    if family == "gemma4":
        keys |= {
            "attention.head_count_kv": grown,
            "attention.sliding_window_pattern": [
                a is not None and a.window_tokens is not None for a in mixers
            ],
            "attention.shared_kv_layers": 0,
            "embedding_length_per_layer_input": 0,
            "feed_forward_length": config["intermediate_size"],
        }
        for part in ("key", "value"):
            keys[f"attention.{part}_length"] = config["global_head_dim"]
            keys[f"attention.{part}_length_swa"] = config["head_dim"]
    if family == "jamba":
        keys |= {
            "attention.head_count_kv": grown,
            "ssm.conv_kernel": config["mamba_d_conv"],
            "ssm.inner_size": config["mamba_expand"] * found.hidden,
            "ssm.state_size": config["mamba_d_state"],
            "ssm.time_step_rank": config["mamba_dt_rank"],
        }
    if family == "nemotron_h_moe":
        width = config["moe_intermediate_size"]
        keys |= {
            "attention.head_count_kv": grown,
            "feed_forward_length": [0 if layer.feed_forward is None else width for layer in layers],
            "ssm.conv_kernel": config["conv_kernel"],
            "ssm.inner_size": config["mamba_head_dim"] * config["mamba_num_heads"],
            "ssm.state_size": config["ssm_state_size"],
            "ssm.time_step_rank": config["mamba_num_heads"],
            "ssm.group_count": config["n_groups"],
        }
        if "moe_latent_size" in config:
            keys["moe_latent_size"] = config["moe_latent_size"]
    return {
        "general.architecture": family,
        "general.type": "model",
        "general.name": found.name,
        **{f"{family}.{key}": content for key, content in keys.items()},
        "tokenizer.ggml.tokens": ["<s>", "</s>", "a"],
        "general.file_type": 15,
    }


def _mamba_metadata(found: Architecture, config: Mapping[str, Any]) -> dict[str, Any]:
    keys = {
        "block_count": found.layers,
        "context_length": 2**20,
        "embedding_length": found.hidden,
        "feed_forward_length": 0,
        "attention.head_count": 0,
        "ssm.conv_kernel": config["conv_kernel"],
        "ssm.inner_size": config["expand"] * found.hidden,
        "ssm.state_size": config["state_size"],
        "ssm.time_step_rank": config["time_step_rank"],
        "ssm.dt_b_c_rms": False,
    }
    named = {"general.architecture": "mamba", "general.name": found.name}
    return {**named, **{f"mamba.{key}": content for key, content in keys.items()}}
