"""Memory: what is kept adds up, and it fits exactly when something is left."""

from __future__ import annotations

import pytest
from costmodel_shapes import deepseek_v3, llama_8b, memory_of, models, textbook
from hypothesis import given, settings
from hypothesis import strategies as st

from pdviz.costmodel.memory import RESERVE_SHARE, RESERVE_SOURCE, Memory
from pdviz.costmodel.passes import ModelCost
from pdviz.costmodel.request import Request, fewest_accelerators

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
    memory = memory_of(textbook(llama_8b()), 80e9, prompt_tokens=512, output_tokens=128)
    assert memory.longest_context_tokens == 512 + 127
    assert memory.kv_bytes == 131_072 * 639
    assert memory.weights_bytes == 16_060_522_496
    alone = memory_of(textbook(llama_8b()), 80e9, prompt_tokens=512, output_tokens=1)
    assert alone.kv_bytes == 131_072 * 512


def test_that_the_others_hold_this_context_unless_theirs_is_given() -> None:
    model = textbook(llama_8b())
    same = memory_of(model, 80e9, prompt_tokens=512, output_tokens=128, others=63)
    assert (same.kv_bytes, same.sequences) == (64 * 131_072 * 639, 64)
    own = memory_of(model, 80e9, prompt_tokens=512, output_tokens=128, others=63, others_context_tokens=2000)
    assert own.kv_bytes == 131_072 * (639 + 63 * 2000)
    assert own.longest_context_tokens == 2000


def test_that_the_context_of_nobody_is_no_context() -> None:
    memory = memory_of(
        textbook(llama_8b()), 80e9, prompt_tokens=512, output_tokens=128, others_context_tokens=9000
    )
    assert (memory.kv_bytes, memory.longest_context_tokens) == (131_072 * 639, 639)


@pytest.mark.parametrize("theirs", [None, 100_000])
def test_that_the_largest_batch_is_the_same_before_the_first_other_comes(theirs: int | None) -> None:
    model = textbook(llama_8b())
    request = {"prompt_tokens": 512, "output_tokens": 128, "others_context_tokens": theirs}
    alone, two = (memory_of(model, 85e9, others=others, **request) for others in (0, 1))
    assert alone.largest_batch == two.largest_batch
    assert alone.free_sequences == two.free_sequences + 1
    assert memory_of(model, 85e9, others=alone.largest_batch - 1, **request).fits
    assert not memory_of(model, 85e9, others=alone.largest_batch, **request).fits


def test_that_a_latent_fills_the_memory_of_all_accelerators() -> None:
    model = textbook(deepseek_v3(), "fp8")
    request = {"prompt_tokens": 4000, "output_tokens": 1001, "others": 9}
    one = memory_of(model, 8 * 141e9, **request)
    eight = memory_of(model, 8 * 141e9, accelerators=8, **request)
    assert one.kv_bytes == 10 * 5000 * 70_272
    assert eight.kv_bytes == 8 * one.kv_bytes
    assert eight.weights_bytes == one.weights_bytes


@settings(max_examples=40)
@given(models, st.integers(1, 10_000), st.integers(1, 10_000), st.integers(0, 100), st.integers(1, 16))
def test_that_memory_grows_with_every_part_of_a_request(
    model: ModelCost, prompt: int, output: int, others: int, accelerators: int
) -> None:
    def held(prompt: int, output: int, others: int, accelerators: int) -> float:
        return memory_of(
            model, 1e12, prompt_tokens=prompt, output_tokens=output, others=others, accelerators=accelerators
        ).kv_bytes

    here = held(prompt, output, others, accelerators) * (1 - 1e-12)
    assert held(prompt + 1, output, others, accelerators) >= here
    assert held(prompt, output + 1, others, accelerators) >= here
    assert held(prompt, output, others + 1, accelerators) >= here
    assert held(prompt, output, others, 1) <= here * (1 + 1e-9)
    assert here <= accelerators * held(prompt, output, others, 1)


# --- each accelerator, and how much more would fit


def test_that_each_accelerator_keeps_its_share_and_whole_heads() -> None:
    model = textbook(llama_8b())
    for count, heads in ((1, 8), (2, 4), (8, 1), (16, 1), (3, 3)):
        memory = memory_of(model, count * 80e9, count, prompt_tokens=900, output_tokens=101)
        assert memory.kv_bytes_each == pytest.approx(1000 * 131_072 * heads / 8)
        kept_again = 32 * 4096 * 2 * 128 * 8 * (heads / 8 - 1 / count) * 2  # keys' and values' projections
        assert memory.weights_bytes_each == pytest.approx(16_060_522_496 / count + kept_again, abs=1)
        assert memory.capacity_bytes_each == 80e9
        parts = memory.weights_bytes_each + memory.kv_bytes_each + memory.reserve_bytes_each
        assert parts + memory.free_bytes_each == pytest.approx(80e9, abs=2)


def test_that_every_accelerator_keeps_the_whole_latent() -> None:
    model = textbook(deepseek_v3(), "fp8")
    request = {"prompt_tokens": 1000, "output_tokens": 1}
    for count in (1, 8, 16):
        memory = memory_of(model, count * 141e9, accelerators=count, **request)
        assert memory.kv_bytes_each == pytest.approx(1000 * 70_272)


def test_that_the_room_is_counted_in_sequences_and_tokens() -> None:
    model = textbook(llama_8b())
    memory = memory_of(model, 80e9, prompt_tokens=512, output_tokens=489, others=9)
    room = 72e9 - 16_060_522_496
    each = 1000 * 131_072
    assert memory.largest_batch == room // each == 426
    assert memory.free_sequences == 426 - 10
    assert memory.free_tokens == int((room - 10 * each) / 131_072)


def test_that_the_largest_batch_fits_and_one_more_does_not() -> None:
    model = textbook(deepseek_v3(), "fp8")
    request = {"prompt_tokens": 4000, "output_tokens": 97, "others_context_tokens": 9000, "accelerators": 8}
    batch = memory_of(model, 8 * 141e9, others=1, **request).largest_batch
    assert batch is not None
    assert batch > 1
    assert memory_of(model, 8 * 141e9, others=batch - 1, **request).fits
    assert not memory_of(model, 8 * 141e9, others=batch, **request).fits


def test_that_nothing_more_fits_where_the_weights_do_not() -> None:
    memory = memory_of(textbook(llama_8b()), 16e9, prompt_tokens=512, output_tokens=128)
    assert (memory.largest_batch, memory.free_sequences, memory.free_tokens) == (0, 0, 0)
    nobody = Memory(1e9, 0, 80e9, 1, 100)
    assert (nobody.largest_batch, nobody.free_sequences, nobody.free_tokens) == (None, None, None)


@pytest.mark.parametrize(
    ("memory", "others", "expected"),
    [(80e9, 0, 1), (16e9, 0, 2), (4e9, 0, 8), (80e9, 999, 2), (80e9, 4999, 8), (1e6, 0, None)],
)
def test_that_the_fewest_accelerators_that_fit_are_a_power_of_two(
    memory: float, others: int, expected: int | None
) -> None:
    model, request = textbook(llama_8b()), {"prompt_tokens": 512, "output_tokens": 128, "others": others}
    assert fewest_accelerators(model, memory, Request(**request)) == expected
    if expected is not None and expected > 1:
        half = memory_of(model, memory * expected / 2, accelerators=expected // 2, **request)
        assert not half.fits


def test_that_more_accelerators_than_kv_heads_make_no_room_for_cache() -> None:
    request = {"prompt_tokens": 512, "output_tokens": 128, "others": 65_535}
    assert fewest_accelerators(textbook(llama_8b()), 80e9, Request(**request)) is None


@settings(max_examples=40)
@given(models, st.integers(1, 10_000), st.integers(1, 1000), st.integers(0, 50), st.floats(1e8, 1e13))
def test_that_what_fits_fits_with_all_that_is_said_to_fit(
    model: ModelCost, prompt: int, output: int, others: int, capacity: float
) -> None:
    request = {"prompt_tokens": prompt, "output_tokens": output}
    memory = memory_of(model, capacity, others=others, **request)
    batch = memory.largest_batch
    if batch is None or not 0 < batch < 10**9:
        return
    assert memory.fits == (1 + others <= batch)
    assert memory_of(model, capacity * (1 + 1e-12), others=batch - 1, **request).fits
    assert not memory_of(model, capacity * (1 - 1e-12), others=batch, **request).fits
    if memory.fits:
        assert memory.free_sequences == pytest.approx(batch - 1 - others, abs=1)


# --- experts are placed whole


def test_that_the_fullest_of_eight_accelerators_holds_8_of_60_experts() -> None:
    from costmodel_shapes import grouped, mlp, stack

    from pdviz.costmodel.architecture import Experts, Layer, Matrix, MatrixRole, Run

    experts = Experts(60, 4, mlp(512, 256), router=(Matrix(MatrixRole.ROUTER, 512, 60),))
    model = textbook(stack("sixty", 512, 1000, Run(3, Layer(grouped(512, 8, 8, 64), experts, 1024))))
    routed = 2 * 3 * 60 * sum(m.weights for m in mlp(512, 256))
    rest = model.stored_weights_bytes - routed
    memory = memory_of(model, 8 * 1e9, 8, prompt_tokens=10, output_tokens=2)
    assert model.fullest_weights_bytes(8) == pytest.approx(rest / 8 + routed * 8 / 60)
    assert memory.weights_bytes_each == pytest.approx(rest / 8 + routed * 8 / 60, abs=1)
    assert memory.uneven_bytes == pytest.approx(8 * routed * (8 / 60 - 1 / 8))
    parts = memory.weights_bytes_each + memory.kv_bytes_each + memory.reserve_bytes_each
    assert parts + memory.free_bytes_each == pytest.approx(1e9, abs=2)
    even = memory_of(model, 4 * 1e9, 4, prompt_tokens=10, output_tokens=2)
    assert even.uneven_bytes == pytest.approx(0, abs=1e-3)
    many = model.stored_weights_bytes / 120 + model.copied_weights_bytes(120)
    assert model.fullest_weights_bytes(120) == pytest.approx(many)


@given(models, st.integers(1, 300))
def test_that_no_accelerator_holds_less_than_an_equal_share_nor_more_than_all(
    model: ModelCost, accelerators: int
) -> None:
    fullest, whole = model.fullest_weights_bytes(accelerators), model.stored_weights_bytes
    assert whole / accelerators * (1 - 1e-12) <= fullest <= whole * (1 + 1e-12)


def test_that_671_billion_parameters_in_8_bit_do_not_fit_on_five_of_141_gb() -> None:
    model = textbook(deepseek_v3(), "fp8")
    memory = memory_of(model, 5 * 150.75e9, 5, prompt_tokens=10, output_tokens=2)
    assert memory.weights_bytes + memory.reserve_bytes < memory.capacity_bytes
    assert model.fullest_weights_bytes(5) > 52 / 256 * 650e9  # 52 of 256 experts
    assert not memory.weights_fit


def test_that_counts_among_which_heads_divide_are_offered_first() -> None:
    from costmodel_shapes import grouped, mlp, stack

    from pdviz.costmodel.architecture import FeedForward, Layer, Run

    layer = Layer(grouped(4096, 28, 4, 128), FeedForward(mlp(4096, 16384)), 8192)
    model = textbook(stack("twenty-eight heads", 4096, 1000, Run(32, layer)))
    request = {"prompt_tokens": 10, "output_tokens": 2}
    assert model.divides_among(4)
    assert not model.divides_among(8)
    each = model.stored_weights_bytes / 0.85
    assert fewest_accelerators(model, each / 4, Request(**request)) == 4
    assert fewest_accelerators(model, each / 8, Request(**request)) == 8


def test_that_projections_to_a_kv_head_are_kept_where_the_head_is() -> None:
    model = textbook(llama_8b())
    assert model.copied_weights_bytes(8) == pytest.approx(0, abs=1e-3)
    whole = 32 * 4096 * 2 * 128 * 8 * 2
    assert model.copied_weights_bytes(16) == pytest.approx(whole * (1 / 8 - 1 / 16))


def test_that_projections_to_a_latent_are_kept_by_each() -> None:
    model = textbook(deepseek_v3(), "fp8")
    down = 61 * 7168 * (1536 + 576)
    assert model.copied_weights_bytes(8) == pytest.approx(down * 7 / 8)
