"""What an architecture counts from its parts: parameters, active parameters, KV cache."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdviz.costmodel.architecture import (
    Architecture,
    Attention,
    Experts,
    FeedForward,
    Layer,
    Matrix,
    MatrixRole,
    Run,
)

ATTENTION = Attention(
    kind="full",
    query_heads=4,
    kv_heads=2,
    head_dim=8,
    value_head_dim=8,
    matrices=(Matrix(MatrixRole.QKV, 32, 64, bias=True), Matrix(MatrixRole.ATTENTION_OUTPUT, 32, 32)),
    cache_elements=32,
    vectors=16,
)
MLP = FeedForward((Matrix(MatrixRole.GATE_AND_UP, 32, 128), Matrix(MatrixRole.DOWN, 64, 32)))
EXPERTS = Experts(
    total=8,
    active=2,
    expert=(Matrix(MatrixRole.GATE_AND_UP, 32, 16, bias=True), Matrix(MatrixRole.DOWN, 8, 32)),
    shared=(Matrix(MatrixRole.GATE_AND_UP, 32, 16), Matrix(MatrixRole.DOWN, 8, 32)),
    router=(Matrix(MatrixRole.ROUTER, 32, 8),),
    vectors=8,
)
WINDOWED = msgspec.structs.replace(ATTENTION, kind="sliding", window_tokens=100)


def small(*runs: Run, positions: int = 0) -> Architecture:
    return Architecture(
        name="Small",
        family="llama",
        hidden=32,
        vocabulary=1000,
        max_context_tokens=4096,
        runs=runs,
        embedding=Matrix(MatrixRole.EMBEDDING, 1000, 32),
        head=Matrix(MatrixRole.HEAD, 32, 1000),
        positions=positions,
        vectors=32,
    )


def test_that_a_matrix_counts_its_bias_apart_from_its_weights():
    assert Matrix(MatrixRole.UP, 3, 5).parameters == 15
    assert Matrix(MatrixRole.UP, 3, 5, bias=True).parameters == 20
    assert Matrix(MatrixRole.UP, 3, 5, bias=True).weights == 15


def test_that_dense_parameters_are_the_sum_of_their_parts():
    layer = 32 * 64 + 64 + 32 * 32 + 16 + 32 * 128 + 64 * 32 + 64
    found = small(Run(3, Layer(ATTENTION, MLP, vectors=64)))
    assert found.parameters == 2 * 32_000 + 32 + 3 * layer
    assert found.active_parameters == found.parameters
    assert not found.is_mixture
    assert found.layers == 3


def test_that_all_experts_are_counted_and_only_some_are_active():
    one = 32 * 16 + 16 + 8 * 32
    found = small(Run(2, Layer(ATTENTION, EXPERTS)))
    assert found.expert_parameters(EXPERTS) == one
    assert found.parameters - found.active_parameters == 2 * (8 - 2) * one
    assert found.is_mixture


def test_that_the_parts_of_a_count_add_up_to_it():
    found = small(Run(1, Layer(ATTENTION, MLP, 64)), Run(2, Layer(WINDOWED, EXPERTS, 64)), positions=77)
    routed = 2 * 8 * found.expert_parameters(EXPERTS)
    parts = found.table_weights + found.dense_weights + found.vector_parameters + routed
    assert parts == found.parameters


def test_that_a_tied_head_adds_no_table():
    untied = small(Run(1, Layer(ATTENTION, MLP)))
    tied = msgspec.structs.replace(untied, head=None)
    assert (untied.tied, tied.tied) == (False, True)
    assert untied.parameters - tied.parameters == 32_000


def test_that_a_biased_head_counts_its_bias():
    plain = small(Run(1, Layer(ATTENTION, MLP)))
    biased = msgspec.structs.replace(plain, head=Matrix(MatrixRole.HEAD, 32, 1000, bias=True))
    assert biased.parameters - plain.parameters == 1000


def test_that_a_layer_may_have_either_part_or_neither():
    found = small(Run(1, Layer(ATTENTION, None)), Run(1, Layer(None, MLP)), Run(1, Layer(None, None, 5)))
    assert found.parameters == 64_000 + 32 + 5 + (32 * 64 + 64 + 32 * 32 + 16) + (32 * 128 + 64 * 32)
    assert found.cache_elements(10) == 320


@given(st.integers(0, 1 << 40), st.integers(1, 50), st.integers(1, 50))
def test_that_a_window_bounds_what_its_layers_cache(context: int, full: int, windowed: int):
    found = small(Run(full, Layer(ATTENTION, MLP)), Run(windowed, Layer(WINDOWED, MLP)))
    assert found.cache_elements(context) == 32 * (full * context + windowed * min(context, 100))


def test_that_a_recurrent_layer_caches_nothing_that_grows():
    state = msgspec.structs.replace(ATTENTION, kind="recurrent", cache_elements=0, state_elements=512)
    assert small(Run(4, Layer(state, MLP))).cache_elements(10**6) == 0


def test_that_runs_are_walked_in_order_with_their_counts():
    found = small(
        Run(1, Layer(ATTENTION, MLP)), Run(2, Layer(None, EXPERTS)), Run(3, Layer(WINDOWED, EXPERTS))
    )
    assert [(count, a.kind) for count, a in found.attentions()] == [(1, "full"), (3, "sliding")]
    assert [count for count, _ in found.experts()] == [2, 3]


def test_that_an_architecture_is_a_value():
    first, second = small(Run(1, Layer(ATTENTION, MLP))), small(Run(1, Layer(ATTENTION, MLP)))
    assert first == second
    assert hash(first) == hash(second)
    with pytest.raises(AttributeError):
        first.hidden = 1
