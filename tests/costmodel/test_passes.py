"""FLOPs and bytes of a pass, against closed forms, brute force and the published counts of real models."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from costmodel_shapes import (
    attention_of,
    bytes_of,
    deepseek_v3,
    flops_of,
    gemma_like,
    grouped,
    hybrid,
    ideal,
    kept_of,
    llama_8b,
    mistral_7b,
    mixtral_8x7b,
    mlp,
    models,
    passes,
    per_token,
    slices,
    stack,
    textbook,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from pdviz.costmodel.architecture import FeedForward, Layer, Run
from pdviz.costmodel.passes import ModelCost
from pdviz.costmodel.terms import Slice, attention_pairs, distinct_experts, new_tokens

tokens = st.integers(0, 300)
windows = st.none() | st.integers(1, 200)


def seen_keys(new: int, past: int, window: int | None) -> list[int]:
    """How many keys each new token sees, one by one."""
    return [min(past + j, window or past + j) for j in range(1, new + 1)]


# --- pairs -----------------------------------------------------------------------------------------


@given(tokens, tokens, windows)
def test_that_pairs_are_the_sum_of_the_keys_that_each_new_token_sees(
    new: int, past: int, window: int | None
) -> None:
    assert attention_pairs(new, past, window) == sum(seen_keys(new, past, window))


@given(st.lists(st.integers(1, 120), min_size=1, max_size=8), tokens, windows)
def test_that_the_chunks_of_a_prompt_have_the_pairs_of_the_whole(
    chunks: list[int], past: int, window: int | None
) -> None:
    whole = attention_pairs(sum(chunks), past, window)
    starts = [past + sum(chunks[:i]) for i in range(len(chunks))]
    assert sum(attention_pairs(n, p, window) for n, p in zip(chunks, starts, strict=True)) == whole


@given(st.integers(1, 2**25), windows)
def test_that_a_decode_step_pairs_its_token_with_its_whole_context(context: int, window: int | None) -> None:
    piece = Slice.decode(context)
    assert attention_pairs(piece.new, piece.past, window) == min(context, window or context)


def test_that_a_prompt_pays_for_the_causal_half_only() -> None:
    n = 8192
    assert attention_pairs(n, 0) == n * (n + 1) / 2
    assert 0.5 < attention_pairs(n, 0) / n**2 < 0.5001


@given(st.lists(st.tuples(tokens, tokens), min_size=1, max_size=20), windows)
def test_that_pairs_of_arrays_are_the_pairs_of_their_elements(
    pieces: list[tuple[int, int]], window: int | None
) -> None:
    new, past = np.array(pieces, dtype=float).T
    expected = [attention_pairs(n, p, window) for n, p in pieces]
    assert attention_pairs(new, past, window).tolist() == expected


# --- experts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tokens", "expected"), [(1, 8), (32, 163), (64, 222)])
def test_that_tokens_hit_as_many_of_256_experts_as_published(tokens: int, expected: int) -> None:
    assert round(distinct_experts(256, 8, tokens)) == expected


@given(st.integers(1, 512), st.data())
def test_that_a_pass_hits_the_active_experts_at_least_and_all_at_most(
    total: int, data: st.DataObject
) -> None:
    active = data.draw(st.integers(1, total))
    few = data.draw(st.integers(1, 5000))
    more = few + data.draw(st.integers(1, 5000))
    a, b = distinct_experts(total, active, few), distinct_experts(total, active, more)
    assert active * (1 - 1e-12) <= a <= b <= total
    assert b - a <= active * (more - few) * (1 + 1e-9)


def test_that_one_token_hits_exactly_its_active_experts() -> None:
    assert distinct_experts(256, 8, 1) == pytest.approx(8, rel=1e-12)
    assert distinct_experts(8, 8, 1) == 8


# --- a dense model, number by number -----------------------------------------------------------------


def test_that_llama_8b_has_its_published_parameters_weight_bytes_and_cache() -> None:
    model = textbook(llama_8b())
    assert model.architecture.parameters == model.architecture.active_parameters == 8_030_261_248
    assert model.weights_read_bytes(1) == model.stored_weights_bytes == 16_060_522_496
    assert model.kv_bytes_per_token == 131_072
    assert textbook(llama_8b(), kv="fp8").kv_bytes_per_token == 65_536


@pytest.mark.parametrize(
    ("prompt", "flops"),
    [
        (50, 8.03694592e11),
        (128, 2.060075401216e12),
        (216, 3.481360072704e12),
        (512, 8.291841212416e12),
        (4000, 6.84374425600e13),
        (32768, 8.07754767794176e14),
    ],
)
def test_that_a_textbook_prompt_costs_the_published_flops(prompt: int, flops: float) -> None:
    assert flops_of(textbook(llama_8b()), (Slice.prompt(prompt),)) == pytest.approx(flops, rel=1e-12)


def test_that_a_textbook_prompt_reads_weights_only() -> None:
    assert bytes_of(textbook(llama_8b()), (Slice.prompt(4000),)) == 16_060_522_496


def test_that_a_textbook_prompt_reads_the_cache_of_its_cached_prefix() -> None:
    model = textbook(llama_8b())
    piece = Slice.prompt(1024, cached=15_360)
    assert bytes_of(model, (piece,)) == 16_060_522_496 + 131_072 * 15_360
    pairs = 1024 * 15_360 + 1024 * 1025 / 2
    assert flops_of(model, (piece,)) == 2 * 8_030_261_248 * 1024 + 4 * 32 * 4096 * pairs


def test_that_a_textbook_decode_step_reads_every_cache_and_the_weights_once() -> None:
    model = textbook(llama_8b())
    assert bytes_of(model, (Slice.decode(513),)) == 16_060_522_496 + 131_072 * 513
    assert bytes_of(model, (Slice.decode(513, 64),)) == 16_060_522_496 + 131_072 * 513 * 64
    assert flops_of(model, (Slice.decode(513, 64),)) == 64 * (2 * 8_030_261_248 + 4 * 32 * 4096 * 513)


def test_that_an_ideal_pass_skips_the_embedding_table_and_all_logits_but_the_sampled() -> None:
    table = 128_256 * 4096
    matrices = 8_030_261_248 - 2 * table - 65 * 4096  # 65 norms
    model = ideal(llama_8b())
    whole = flops_of(model, (Slice.prompt(2048),))
    pairs = 4 * 32 * 4096 * (2048 * 2049 / 2)
    assert whole == 2 * matrices * 2048 + 2 * table + pairs
    assert 2 * table == pytest.approx(1.05e9, rel=1e-2)
    assert whole - flops_of(model, (Slice.prompt(2048, last=False),)) == 2 * table
    assert flops_of(model, (Slice.decode(100, 7),)) == 7 * (2 * matrices + 2 * table + 4 * 32 * 4096 * 100)


def test_that_an_ideal_pass_reads_and_writes_the_cache_but_not_the_embedding_table() -> None:
    weights = 16_060_522_496 - 2 * 128_256 * 4096
    model = ideal(llama_8b())
    assert bytes_of(model, (Slice.prompt(2048),)) == weights + 131_072 * 2048
    assert bytes_of(model, (Slice.prompt(48, 2000),)) == weights + 131_072 * 2048
    assert bytes_of(model, (Slice.decode(2048, 3),)) == weights + 3 * 131_072 * (2048 + 1)


def test_that_a_tied_table_is_stored_once_and_read_as_the_head() -> None:
    model = gemma_like()
    assert model.table_weights == 262_144 * 2560
    assert ideal(model).weights_read_bytes(1) == ideal(model).stored_weights_bytes
    sample = flops_of(ideal(model), (Slice.prompt(9),)) - flops_of(
        ideal(model), (Slice.prompt(9, last=False),)
    )
    assert sample == 2 * 262_144 * 2560


# --- mixtures, latents, windows, states ----------------------------------------------------------------


def test_that_mixtral_multiplies_two_experts_of_eight_and_holds_all() -> None:
    model = mixtral_8x7b()
    assert model.parameters == 46_702_792_704
    assert model.active_parameters == pytest.approx(12.88e9, rel=1e-3)
    assert flops_of(ideal(model), (Slice.decode(1),)) == pytest.approx(25.5e9, rel=2e-3)
    assert per_token(textbook(model)) == 2 * model.active_parameters
    assert textbook(model).stored_weights_bytes == 2 * 46_702_792_704


def test_that_a_mixture_reads_the_experts_that_its_tokens_hit() -> None:
    model = textbook(mixtral_8x7b())
    experts = 2 * 46_702_792_704 - model.always_read_bytes
    assert experts == 2 * 32 * 8 * 3 * 4096 * 14336
    for tokens in (1, 3, 64):
        read = bytes_of(model, (Slice.decode(1, tokens),)) - kept_of(model, (Slice.decode(1, tokens),))
        assert read == pytest.approx(model.always_read_bytes + experts * (1 - 0.75**tokens), rel=1e-12)
    assert model.weights_read_bytes(1) == pytest.approx(2 * model.architecture.active_parameters, rel=1e-12)
    assert model.weights_read_bytes(10_000) == pytest.approx(2 * 46_702_792_704, rel=1e-12)


def test_that_layers_of_experts_apart_from_each_other_cost_as_much_as_in_a_row() -> None:
    together = mixtral_8x7b()
    run = together.runs[0]
    apart = msgspec.structs.replace(together, runs=tuple(Run(1, run.layer) for _ in range(run.count)))
    piece = (Slice.decode(100, 9),)
    assert bytes_of(textbook(apart), piece) == pytest.approx(bytes_of(textbook(together), piece), rel=1e-12)


def test_that_deepseek_caches_one_latent_a_layer() -> None:
    model = deepseek_v3()
    assert model.parameters == 671_026_419_200
    assert textbook(model).kv_bytes_per_token == 61 * (512 + 64) * 2 == 70_272


def test_that_latent_attention_scores_with_its_wide_keys_and_weighs_its_narrow_values() -> None:
    model = textbook(deepseek_v3())
    assert attention_of(model, (Slice.decode(1000),)) == 61 * 2 * 128 * (192 + 128) * 1000


def test_that_a_latent_is_held_on_every_accelerator_and_grouped_heads_are_not() -> None:
    assert textbook(deepseek_v3()).stored_kv_bytes(1000, 8) == 8 * 1000 * 70_272
    llama = textbook(llama_8b())
    assert llama.stored_kv_bytes(1000, 1) == llama.stored_kv_bytes(1000, 8) == 1000 * 131_072
    assert llama.stored_kv_bytes(1000, 16) == 2 * 1000 * 131_072
    assert llama.stored_kv_bytes(1000, 3) == pytest.approx(9 / 8 * 1000 * 131_072)  # 3 + 3 + 3 heads of 8


def test_that_windows_bound_what_each_accelerator_holds_too() -> None:
    mistral = textbook(mistral_7b())
    assert mistral.stored_kv_bytes(32_768, 16) == 2 * mistral.kv_bytes(32_768)


def test_that_a_window_bounds_the_cache_of_mistral() -> None:
    model = textbook(mistral_7b())
    assert model.kv_bytes(32_768) == 4096 * 131_072 == pytest.approx(0.537e9, rel=1e-3)
    assert model.kv_bytes(4095) == 4095 * 131_072
    assert model.windows == (4096,)


def test_that_layers_with_and_without_windows_each_keep_their_own() -> None:
    model = textbook(gemma_like())
    layer = 2 * 4 * 256 * 2
    assert model.kv_bytes_per_token == 12 * layer
    assert model.kv_bytes(5000) == 10 * layer * 1024 + 2 * layer * 5000


def test_that_a_window_counts_even_where_the_layer_keeps_no_cache_of_its_own() -> None:
    local = msgspec.structs.replace(grouped(512, 8, 2, 64, window=64), cache_elements=0)
    layers = (Layer(part, FeedForward(mlp(512, 2048)), 1024) for part in (local, grouped(512, 8, 2, 64)))
    model = textbook(stack("Shared cache", 512, 1000, *(Run(2, layer) for layer in layers)))
    assert model.windows == (64,)


def test_that_a_fresh_prompt_finds_no_state_to_read() -> None:
    model = textbook(hybrid())
    assert bytes_of(model, (Slice.prompt(100),)) == model.stored_weights_bytes
    state = 3 * (1 << 19) * 2
    assert model.kv_bytes(7) == state + 7 * 2 * 2 * 128 * 2
    assert bytes_of(model, (Slice.prompt(100, 7),)) == model.stored_weights_bytes + model.kv_bytes(7)
    assert model.kv_bytes(np.array([0.0, 7.0])).tolist() == [0.0, model.kv_bytes(7)]


def test_that_a_state_does_not_grow_and_its_layers_pair_no_keys() -> None:
    model = textbook(hybrid())
    assert model.kv_bytes(2000) - model.kv_bytes(1000) == 1000 * 2 * 2 * 128 * 2
    assert attention_of(model, (Slice.decode(1000),)) == 4 * 16 * 128 * 1000


# --- formats -----------------------------------------------------------------------------------------


def test_that_four_bit_weights_leave_embedding_head_and_norms_at_sixteen() -> None:
    table, norms = 2 * 128_256 * 4096, 65 * 4096
    matrices = 8_030_261_248 - table - norms
    model = textbook(llama_8b(), "int4")
    assert model.stored_weights_bytes == matrices * (0.5 + 2 / 128) + 2 * (table + norms)
    assert 5.6 <= round(model.stored_weights_bytes / 1e9, 1) <= 5.7  # not the 4.0e9 of half a byte for each


def test_that_weight_bytes_follow_the_format() -> None:
    table, norms = 2 * 128_256 * 4096, 65 * 4096
    matrices = 8_030_261_248 - table - norms
    expected = {
        "fp32": 4 * 8_030_261_248,
        "fp16": 2 * 8_030_261_248,
        "fp8": matrices + 2 * (table + norms),
        "int8": matrices + 2 * (table + norms),
        "fp4": matrices * 0.5625 + 2 * (table + norms),
        "mxfp4": matrices * 0.53125 + 2 * (table + norms),
    }
    for name, count in expected.items():
        assert textbook(llama_8b(), name).stored_weights_bytes == count, name


# --- properties of any pass --------------------------------------------------------------------------


def some(value: float) -> object:
    return pytest.approx(value, rel=1e-12)


@settings(max_examples=40)
@given(models, passes)
def test_that_one_weight_read_serves_every_slice(model: ModelCost, pieces: tuple[Slice, ...]) -> None:
    tokens = sum(s.new * s.sequences for s in pieces)
    assert new_tokens(pieces) == tokens
    rest = sum(kept_of(model, (s,)) for s in pieces)
    assert bytes_of(model, pieces) == some(model.weights_read_bytes(tokens) + rest)
    assert model.weights_read_bytes(tokens) <= model.stored_weights_bytes * (1 + 1e-12)


@settings(max_examples=40)
@given(models, passes)
def test_that_flops_of_a_pass_are_those_of_its_slices(model: ModelCost, pieces: tuple[Slice, ...]) -> None:
    assert flops_of(model, pieces) == some(sum(flops_of(model, (s,)) for s in pieces))


@settings(max_examples=40)
@given(models, st.integers(1, 40_000), st.integers(1, 20))
def test_that_equal_sequences_cost_as_much_as_each_on_its_own(
    model: ModelCost, context: int, sequences: int
) -> None:
    together, apart = (Slice.decode(context, sequences),), (Slice.decode(context),) * sequences
    assert flops_of(model, together) == some(flops_of(model, apart))
    assert bytes_of(model, together) == some(bytes_of(model, apart))


@settings(max_examples=40)
@given(models, st.integers(1, 20_000), st.integers(1, 20_000))
def test_that_a_cached_prefix_saves_exactly_its_own_flops(model: ModelCost, cached: int, new: int) -> None:
    whole = flops_of(model, (Slice.prompt(cached + new),))
    saved = flops_of(model, (Slice.prompt(cached, last=False),))
    assert flops_of(model, (Slice.prompt(new, cached),)) == some(whole - saved)


@settings(max_examples=40)
@given(models, slices, st.integers(1, 1000))
def test_that_a_longer_past_is_never_cheaper(model: ModelCost, piece: Slice, more: int) -> None:
    later = msgspec.structs.replace(piece, past=piece.past + more)
    assert flops_of(model, (later,)) >= flops_of(model, (piece,)) * (1 - 1e-12)
    assert bytes_of(model, (later,)) >= bytes_of(model, (piece,)) * (1 - 1e-12)


@settings(max_examples=40)
@given(models)
def test_that_very_many_tokens_read_all_that_is_stored_but_the_input_table(model: ModelCost) -> None:
    table = model.architecture
    unread = 0.0
    if model.fidelity.is_floor and table.head is not None:
        unread = table.embedding.weights * (4.0 if model.weights_dtype == "fp32" else 2.0)
    everything = model.stored_weights_bytes - unread
    assert model.weights_read_bytes(10**7) == pytest.approx(everything, rel=1e-9)


@settings(max_examples=60)
@given(models, st.floats(0, 3e6))
def test_that_the_context_of_a_cache_size_has_that_cache_size(model: ModelCost, context: float) -> None:
    wanted = model.kv_bytes(context)
    found = model.context_of_kv_bytes(wanted)
    if model.kv_bytes_per_token == 0:
        assert found is None
    elif found is not None:
        assert found <= context * (1 + 1e-9) + 1e-6  # the first one: past its windows a cache may stand still
        again = model.kv_bytes(max(found, 1e-9))
        assert again == pytest.approx(max(wanted, model.state_bytes), rel=1e-9, abs=1)


def test_that_a_cache_that_stands_still_never_takes_more() -> None:
    model = textbook(mistral_7b())
    assert model.context_of_kv_bytes(model.kv_bytes(4096)) == 4096
    assert model.context_of_kv_bytes(model.kv_bytes(4096) + 1) is None
    assert textbook(gemma_like()).context_of_kv_bytes(10 * 4096 * 1024 + 2 * 4096 * 5000) == 5000


def test_that_a_context_is_found_before_between_and_beyond_two_windows() -> None:
    parts = [grouped(64, 4, 2, 16, window) for window in (50, 200, None)]
    layers = (Run(1, Layer(part, FeedForward(mlp(64, 64)))) for part in parts)
    model = textbook(stack("Two windows", 64, 100, *layers))
    assert model.windows == (50, 200)
    for context in (1, 49, 50, 51, 199, 200, 201, 9000):
        assert model.context_of_kv_bytes(model.kv_bytes(context)) == context
