"""How checkpoints name the matrices of a layer, in the ways that many families share."""

from __future__ import annotations

import msgspec


class Module(msgspec.Struct, frozen=True):
    """A matrix of a layer: its part, its module, and how the module is called within the layer.

    An expert's matrix goes by one name for each of the first experts.
    """

    part: str
    module: str
    names: tuple[str, ...]


_GATED = ("gate_proj", "up_proj", "down_proj")
_LATENT = ("q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj")


def _mlp(part: str, *places: str, spellings: tuple[str, ...] = _GATED) -> tuple[Module, ...]:
    """A gated MLP, wherever a layer has it."""
    return tuple(
        Module(part, module, tuple(f"{place}.{spelling}" for place in places))
        for module, spelling in zip(_GATED, spellings, strict=True)
    )


def _attention(*more: str) -> tuple[Module, ...]:
    names = ("q_proj", "k_proj", "v_proj", "o_proj", *more)
    return tuple(Module("attention", name, (f"self_attn.{name}",)) for name in names)


def _experts(shared: str) -> tuple[Module, ...]:
    """An MLP in some layers, experts in the others."""
    routed = _mlp("experts", "mlp.experts.0", "mlp.experts.1")
    return (*_mlp("dense", "mlp"), *_mlp("shared", f"mlp.{shared}"), *routed)


_ROUTER = Module("router", "gate", ("mlp.gate",))

LLAMA = (*_attention(), *_mlp("dense", "mlp"))
DEEPSEEK = (*_attention(*_LATENT), *_experts("shared_experts"), _ROUTER)
QWEN = (
    *_attention(),
    *_experts("shared_expert"),
    Module("shared", "shared_expert_gate", ("mlp.shared_expert_gate",)),
    _ROUTER,
)
MIXTRAL = (
    *_attention(),
    *_mlp(
        "experts",
        "block_sparse_moe.experts.0",
        "block_sparse_moe.experts.1",
        spellings=("w1", "w3", "w2"),
    ),
    Module("router", "gate", ("block_sparse_moe.gate",)),
)
