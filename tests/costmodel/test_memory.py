"""Memory: what is kept adds up, and it fits exactly when something is left."""

from __future__ import annotations

import pytest
from costmodel_shapes import deepseek_v3, llama_8b, models, textbook
from hypothesis import given, settings
from hypothesis import strategies as st

from pdviz.costmodel.memory import RESERVE_SHARE, RESERVE_SOURCE, Memory
from pdviz.costmodel.passes import ModelCost
from pdviz.costmodel.request import request_memory

sizes = st.floats(0, 1e13)


@given(sizes, sizes, st.floats(1e8, 1e13))
def test_that_weights_cache_reserve_and_what_is_free_add_up_to_the_capacity(
    weights: float, kv: float, capacity: float
) -> None:
    memory = Memory(weights, kv, capacity, 1, 100)
    assert memory.used_bytes == weights + kv
    parts = memory.used_bytes + memory.reserve_bytes + memory.free_bytes
    assert parts == pytest.approx(capacity, abs=1e-9 * (capacity + weights + kv))
    assert memory.fits == (memory.free_bytes >= 0)
    assert memory.weights_fit or not memory.fits


def test_that_a_tenth_is_reserved_and_its_reason_says_so() -> None:
    memory = Memory(70e9, 2e9, 80e9, 1, 100)
    assert memory.reserve_bytes == pytest.approx(8e9)
    assert memory.free_bytes == pytest.approx(0, abs=1)
    assert f"{RESERVE_SHARE:.0%}".removesuffix("%") in RESERVE_SOURCE
    assert Memory(72e9 - 1, 0, 80e9, 1, 1).weights_fit
    assert not Memory(72e9 + 1, 0, 80e9, 1, 1).weights_fit
    assert not Memory(70e9, 2.1e9, 80e9, 1, 1).fits


def test_that_the_newest_token_of_a_request_is_not_in_the_cache() -> None:
    memory = request_memory(textbook(llama_8b()), 80e9, prompt_tokens=512, output_tokens=128)
    assert memory.longest_context_tokens == 512 + 127
    assert memory.kv_bytes == 131_072 * 639
    assert memory.weights_bytes == 16_060_522_496
    alone = request_memory(textbook(llama_8b()), 80e9, prompt_tokens=512, output_tokens=1)
    assert alone.kv_bytes == 131_072 * 512


def test_that_the_others_hold_this_context_unless_theirs_is_given() -> None:
    model = textbook(llama_8b())
    same = request_memory(model, 80e9, prompt_tokens=512, output_tokens=128, others=63)
    assert (same.kv_bytes, same.sequences) == (64 * 131_072 * 639, 64)
    own = request_memory(
        model, 80e9, prompt_tokens=512, output_tokens=128, others=63, others_context_tokens=2000
    )
    assert own.kv_bytes == 131_072 * (639 + 63 * 2000)
    assert own.longest_context_tokens == 2000


def test_that_the_context_of_nobody_is_no_context() -> None:
    memory = request_memory(
        textbook(llama_8b()), 80e9, prompt_tokens=512, output_tokens=128, others_context_tokens=9000
    )
    assert (memory.kv_bytes, memory.longest_context_tokens) == (131_072 * 639, 639)


def test_that_a_latent_fills_the_memory_of_all_accelerators() -> None:
    model = textbook(deepseek_v3(), "fp8")
    request = {"prompt_tokens": 4000, "output_tokens": 1001, "others": 9}
    one = request_memory(model, 8 * 141e9, **request)
    eight = request_memory(model, 8 * 141e9, accelerators=8, **request)
    assert one.kv_bytes == 10 * 5000 * 70_272
    assert eight.kv_bytes == 8 * one.kv_bytes
    assert eight.weights_bytes == one.weights_bytes


@settings(max_examples=40)
@given(models, st.integers(1, 10_000), st.integers(1, 10_000), st.integers(0, 100), st.integers(1, 16))
def test_that_memory_grows_with_every_part_of_a_request(
    model: ModelCost, prompt: int, output: int, others: int, accelerators: int
) -> None:
    def held(prompt: int, output: int, others: int, accelerators: int) -> float:
        return request_memory(
            model, 1e12, prompt_tokens=prompt, output_tokens=output, others=others, accelerators=accelerators
        ).kv_bytes

    here = held(prompt, output, others, accelerators) * (1 - 1e-12)
    assert held(prompt + 1, output, others, accelerators) >= here
    assert held(prompt, output + 1, others, accelerators) >= here
    assert held(prompt, output, others + 1, accelerators) >= here
    assert held(prompt, output, others, 1) <= here * (1 + 1e-9)
    assert here <= accelerators * held(prompt, output, others, 1)
