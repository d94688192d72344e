"""What damaged files have in common: how they are made, and what may come of one."""

from __future__ import annotations

import math
import random
from typing import Any

import gguf_files as gguf
from costmodel_shapes import bytes_of, flops_of

from pdviz.costmodel.architecture import Architecture
from pdviz.costmodel.dtypes import PUBLISHED
from pdviz.costmodel.passes import ModelCost
from pdviz.costmodel.request import Request, request_memory
from pdviz.costmodel.terms import Slice
from pdviz.errors import InputError
from pdviz.readers.hf.config import read_config


def is_sound(found: Architecture) -> None:
    """Every figure that follows is finite and has the right sign."""
    assert 0 < found.active_parameters <= found.parameters
    assert found.layers > 0
    said = (found.name, *found.notes, *found.left_out)
    assert all(text and text.isprintable() and len(text) < 600 for text in said)
    for weights in ("bf16", PUBLISHED):
        try:
            model = ModelCost(found, weights, "bf16")
            stored = model.stored_weights_bytes
        except InputError as error:  # a dtype that is not known
            is_sentence(error)
            continue
        assert math.isfinite(stored)
        assert 0 < model.weights_read_bytes(1) <= stored * (1 + 1e-9)
        for slices in ((Slice.prompt(512),), (Slice.decode(1000, 8),)):
            assert math.isfinite(float(flops_of(model, slices)))
            assert math.isfinite(float(bytes_of(model, slices)))
        memory = request_memory(model, 80e9, Request(prompt_tokens=512, output_tokens=128), 3)
        assert math.isfinite(memory.used_bytes)


def is_sentence(error: InputError) -> None:
    said = str(error)
    assert said.isprintable()
    assert 0 < len(said) < 600


def damaged(data: bytes, chance: random.Random) -> bytes:
    """``data`` with a few bytes changed, taken out, doubled or cut off."""
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
        at = chance.randrange(len(made) + 1)
        kind = chance.randrange(7)
        if kind == 0:
            del made[at:]
        elif kind == 1:
            made[at : at + 1] = bytes((chance.randrange(256),))
        elif kind == 2:
            del made[at : at + chance.choice((1, 2, 8, 100))]
        elif kind == 3:
            made[at:at] = made[at : at + chance.choice((1, 8, 100))]
        elif kind == 4:
            made[at : at + 8] = chance.choice((2**64 - 1, 2**63, 2**32, 2**20, 0, 1)).to_bytes(8, "little")
        elif kind == 5 and at < len(made):
            made[at] ^= 1 << chance.randrange(8)
        else:
            made[at:at] = chance.choice(
                (b"0", b"-", b'"', b"[", b"{", b"}", b"\0", b"e999", b"null", b"\xff")
            )
    return bytes(made)


def tiny_gguf(family: str) -> tuple[bytes, int]:
    """(header, size) of a small file, with experts and a latent cache where the family has them."""
    config: dict[str, Any] = {
        "model_type": family,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "intermediate_size": 64,
        "vocab_size": 40,
        "max_position_embeddings": 128,
        "sliding_window": 32,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
    }
    if family == "deepseek_v3":
        config |= {"kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 32, "v_head_dim": 32}
        config |= {"n_routed_experts": 4, "n_shared_experts": 1, "moe_intermediate_size": 32}
        config |= {"first_k_dense_replace": 1, "q_lora_rank": 32}
        del config["num_local_experts"]
    return gguf.header(*gguf.model(read_config(config, "Tiny"), config))
