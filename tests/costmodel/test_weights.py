"""The bytes of stored weights: matrices and what is none, pieces and scales, and what they are called."""

from __future__ import annotations

import msgspec
import pytest
from costmodel_shapes import llama_8b
from hypothesis import given
from hypothesis import strategies as st

from pdviz.costmodel.architecture import Architecture, Matrix, MatrixRole
from pdviz.costmodel.dtypes import PUBLISHED
from pdviz.costmodel.quantisation import Kept, Quantisation
from pdviz.costmodel.stored import PLAIN_BYTES, Census
from pdviz.costmodel.weights import matrix_bytes, pieces, stored_bytes, uneven_inputs, weights_title

ATTENTION = llama_8b().runs[0].layer.attention
AWQ = Quantisation("awq", 4, 128, zero_bits=4)


def with_types(*types: tuple[str, int]) -> Architecture:
    return msgspec.structs.replace(llama_8b(), census=Census((), (), types))


@given(
    st.sampled_from(sorted(PLAIN_BYTES)),
    st.integers(0, 9000),
    st.integers(0, 9000),
    st.lists(st.tuples(st.integers(1, 99), st.integers(1, 99), st.booleans()), max_size=3),
)
def test_that_without_a_format_of_its_own_every_parameter_takes_its_dtype(
    dtype: str, positions: int, vectors: int, extra: list[tuple[int, int, bool]]
) -> None:
    found = msgspec.structs.replace(
        llama_8b(),
        published_dtype=dtype,
        positions=positions,
        vectors=vectors,
        extra=tuple(Matrix(MatrixRole.EMBEDDING_PROJECTION, *sides) for sides in extra),
    )
    stored = stored_bytes(found)
    assert stored.total == found.parameters * PLAIN_BYTES[dtype]
    assert stored.embedding == found.embedding.parameters * PLAIN_BYTES[dtype]


@given(st.integers(1, 1 << 20))
def test_that_pieces_make_up_their_matrix(queries: int) -> None:
    assert ATTENTION is not None
    keys, values = ATTENTION.kv_heads * ATTENTION.head_dim, ATTENTION.kv_heads * ATTENTION.value_head_dim
    assert pieces(MatrixRole.QKV, queries + keys + values, ATTENTION) == [queries, keys, values]
    assert pieces(MatrixRole.QKV, keys + values, ATTENTION) == [keys + values]
    assert pieces(MatrixRole.QKV, queries, None) == [queries]
    assert pieces(MatrixRole.GATE_AND_UP, 2 * queries, ATTENTION) == [queries, queries]
    assert pieces(MatrixRole.DOWN, queries, ATTENTION) == [queries]


@pytest.mark.parametrize(
    ("stored", "scales"),
    [
        (Quantisation("fp8", 8, rows=0, scale_bits=32), 4),  # one for the matrix
        (Quantisation("fbgemm_fp8", 8, scale_bits=32), 4 * 48),  # one for each row
        (Quantisation("fp8", 8, 32, 32, scale_bits=32), 4 * 2 * 3),  # blocks over the edge are whole ones
        (Quantisation("m", 8, 80, zero_bits=8), 3 * 48),
        (Quantisation("m", 8, 80, scale_bits=8, second=10), 48 + 4 * 5),  # scales of scales
        (Quantisation("m", 8, 80, scale_bits=8, index_bits=32, module_bits=64), 48 + 4 * 80 + 8),
    ],
)
def test_that_scales_are_counted_beside_the_weights(stored: Quantisation, scales: int) -> None:
    assert matrix_bytes(Matrix(MatrixRole.Q, 80, 48), stored) == 80 * 48 + scales


@pytest.mark.parametrize(("layer", "uneven"), [(0, None), (1, 4000)])
def test_that_only_what_is_quantised_must_be_divided_by_the_groups(layer: int, uneven: int | None) -> None:
    plain = llama_8b()
    run = msgspec.structs.replace(plain.runs[0], count=1)
    block = msgspec.structs.replace(
        run.layer.feed_forward, matrices=(Matrix(MatrixRole.DOWN, 4000, plain.hidden),)
    )
    run = msgspec.structs.replace(run, layer=msgspec.structs.replace(run.layer, feed_forward=block))
    stored = msgspec.structs.replace(AWQ, kept=(Kept("dense", layer),))
    assert uneven_inputs(msgspec.structs.replace(plain, runs=(run,), quantisation=stored)) == uneven


@pytest.mark.parametrize(
    ("types", "title"),
    [
        ((("Q8_0", 7),), "Q8_0"),
        ((("Q4_K", 650), ("F16", 350)), "65.0 % Q4_K, 35.0 % F16"),
        ((("Q4_K", 980), ("F16", 10), ("F32", 9)), "98.1 % Q4_K, 1.0 % F16"),
        (
            (("Q4_K", 400), ("Q5_K", 300), ("Q6_K", 200), ("F16", 100)),
            "40.0 % Q4_K, 30.0 % Q5_K, 20.0 % Q6_K",
        ),
    ],
)
def test_that_a_file_is_named_by_its_three_largest_types(
    types: tuple[tuple[str, int], ...], title: str
) -> None:
    assert weights_title(with_types(*types), PUBLISHED) == title
