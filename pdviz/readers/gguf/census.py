"""What the tensors of a GGUF file take, by layer and part, and whether their shapes are those of its keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby

from pdviz.costmodel.architecture import Architecture, Attention, Experts, Layer, MatrixRole
from pdviz.costmodel.stored import Census, Parts
from pdviz.readers.gguf.header import Tensor
from pdviz.readers.gguf.metadata import Metadata

BLOCK = r"^blk\.(\d{1,6})\.(.+)$"
_EXPERTS = r"^ffn_\w+_exps\.(weight|bias)$|^ffn_(gate|up|down)\.\d+\.(weight|bias)$"
_VECTORS = r"norm|conv1d|conv\.weight$|^ssm_(a|d)\b|\.(bias|scale)$|sinks|output_scale"
_OUTSIDE = {"token_embd.weight": "embedding", "output.weight": "head", "position_embd.weight": "positions"}


def part_of(name: str, tensor: Tensor, layer: Layer) -> str:
    """The part of its layer that a tensor belongs to; ``name`` is that within the block."""
    if re.search(_EXPERTS, name):
        return "experts"
    if name == "ffn_gate_inp_shexp.weight":  # a gate of one output
        return "shared"
    if len(tensor.shape) == 1 or re.search(_VECTORS, name):
        return "vectors"
    if name == "ffn_gate_inp.weight":
        return "router"
    if name.startswith("ffn_"):
        return "shared" if isinstance(layer.feed_forward, Experts) else "dense"
    mixer = layer.attention
    return "recurrent" if mixer is not None and mixer.kind == "recurrent" else "attention"


def census(tensors: Mapping[str, Tensor], architecture: Architecture) -> Census:
    """Bytes of the tensors by layer and part, and by type."""
    layers = [run.layer for run in architecture.runs for _ in range(run.count)]
    inside: list[dict[str, int]] = [{} for _ in layers]
    outside: dict[str, int] = {}
    types: dict[str, int] = {}
    for name, tensor in tensors.items():
        block = re.match(BLOCK, name)
        if block is None:
            parts, part = outside, _OUTSIDE.get(name, "vectors")
        else:
            number = int(block[1])
            parts, part = inside[number], part_of(block[2], tensor, layers[number])
        parts[part] = parts.get(part, 0) + tensor.bytes
        types[tensor.type] = types.get(tensor.type, 0) + tensor.bytes
    runs = tuple((sum(1 for _ in same), parts) for parts, same in groupby(_sorted(each) for each in inside))
    return Census(runs, _sorted(outside), tuple(sorted(types.items(), key=lambda item: -item[1])))


def _sorted(parts: Mapping[str, int]) -> Parts:
    return tuple(sorted(parts.items()))


# --- shapes


#: (tensor within its block, inputs, outputs, keys that say so)
Expected = tuple[str, int, int, tuple[tuple[str, int], ...]]


def _of_attention(
    mixer: Attention, hidden: int, tensors: Mapping[str, Tensor], block: str
) -> Iterator[Expected]:
    sizes = {m.role: m for m in mixer.matrices}
    if mixer.kind == "latent":
        down, latent = sizes[MatrixRole.KV_DOWN].outputs, sizes[MatrixRole.KV_UP].inputs
        cached = ("attention.kv_lora_rank", latent), ("rope.dimension_count", down - latent)
        yield "attn_kv_a_mqa", hidden, down, cached
        q = sizes.get(MatrixRole.Q) or sizes[MatrixRole.Q_UP]
        heads = ("attention.head_count", mixer.query_heads), ("attention.key_length_mla", mixer.head_dim)
        yield "attn_q" if MatrixRole.Q in sizes else "attn_q_b", q.inputs, q.outputs, heads
    if mixer.kind in ("recurrent", "latent") or MatrixRole.QKV not in sizes:
        return
    keys = mixer.kv_heads * mixer.head_dim
    values = mixer.kv_heads * mixer.value_head_dim if f"{block}attn_v.weight" in tensors else 0
    both, queries = sizes[MatrixRole.QKV].outputs, ("attention.head_count", mixer.query_heads)
    width = ("attention.key_length", mixer.head_dim)
    yield "attn_q", hidden, both - keys - values, (queries, width)
    yield "attn_k", hidden, keys, (("attention.head_count_kv", mixer.kv_heads), width)
    yield (
        "attn_v",
        hidden,
        values,
        (
            ("attention.head_count_kv", mixer.kv_heads),
            ("attention.value_length", mixer.value_head_dim),
        ),
    )
    yield "attn_qkv", hidden, both, (queries, ("attention.head_count_kv", mixer.kv_heads), width)
    yield "attn_output", mixer.query_heads * mixer.value_head_dim, hidden, (queries, width)


def _of_block(layer: Layer, meta: Metadata, block: str) -> Iterator[Expected]:
    part, tensors = layer.feed_forward, meta.tensors
    if part is None:
        return
    if isinstance(part, Experts):
        matrices, suffix, copies = part.expert, "_exps", part.total
        count, own = ("expert_count", part.total), "expert_feed_forward_length"
        own = "feed_forward_length" if meta.raw(own) is None else own
        yield "ffn_gate_inp", part.router[0].inputs, part.router[0].outputs, (count,)
        named: tuple[tuple[str, int], ...] = (count, (own, matrices[-1].inputs))
    else:
        matrices, suffix, copies = part.matrices, "", 1
        named = (("feed_forward_length", matrices[-1].inputs),)
    up, down = matrices[0], matrices[-1]
    apart = up.role is MatrixRole.GATE_AND_UP and f"{block}ffn_gate{suffix}.weight" in tensors
    outputs = up.outputs // 2 if apart else up.outputs
    for name in ("ffn_gate", "ffn_up") if apart else ("ffn_up", "ffn_gate_up"):
        yield name + suffix, up.inputs, outputs * copies, named
    yield f"ffn_down{suffix}", down.inputs, down.outputs * copies, named


def check_shapes(tensors: Mapping[str, Tensor], architecture: Architecture, meta: Metadata) -> None:
    """Raise where a tensor has another shape than the keys say."""
    table = tensors["token_embd.weight"]
    if table.shape[0] != architecture.hidden:
        raise meta.error(
            f"{meta.family}.embedding_length is {architecture.hidden:,}, but the tensor token_embd.weight is "
            f"{_by(table.shape)}"
        )
    number = 0
    for run in architecture.runs:
        for _ in range(run.count):
            block = f"blk.{number}."
            expected = list(_of_block(run.layer, meta, block))
            if run.layer.attention is not None:
                expected[:0] = _of_attention(run.layer.attention, architecture.hidden, tensors, block)
            for name, inputs, outputs, keys in expected:
                tensor = tensors.get(f"{block}{name}.weight")
                if tensor is None or (tensor.shape[0], tensor.elements) == (inputs, inputs * outputs):
                    continue
                said = " and ".join(
                    f"{meta.family}.{key} {value:,}"
                    if meta.raw(key) is not None
                    else f"{meta.family}.{key} (missing, so {value:,})"
                    for key, value in keys
                    if meta.raw(key) is not None or key == keys[0][0]
                )
                raise meta.error(
                    f"{said}: {block}{name}.weight would be {_by((inputs, outputs))}, "
                    f"but it is {_by(tensor.shape)}"
                )
            number += 1


def _by(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{side:,}" for side in shape)
