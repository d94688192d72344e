"""Formats: bytes of a weight, and the format in which an accelerator multiplies it."""

from __future__ import annotations

import pytest

from pdviz.costmodel.dtypes import DTYPES, KV_DTYPES, PEAK_DTYPES, WEIGHT_DTYPES, math_dtype
from pdviz.errors import InputError

A100 = {"fp32": 19.5e12, "tf32": 156e12, "fp16": 312e12, "bf16": 312e12, "int8": 624e12}
H100 = {"fp32": 67e12, "tf32": 495e12, "fp16": 989e12, "bf16": 989e12, "fp8": 1979e12, "int8": 1979e12}
B200 = {**H100, "fp4": 9000e12}
V100 = {"fp32": 15.7e12, "fp16": 125e12}
OLD = {"fp32": 10e12}


@pytest.mark.parametrize(
    ("weights", "chip", "expected"),
    [
        ("bf16", H100, "bf16"),
        ("fp16", H100, "fp16"),
        ("fp8", H100, "fp8"),
        ("int8", H100, "int8"),
        ("fp4", B200, "fp4"),
        ("mxfp4", B200, "fp4"),
        ("fp32", H100, "fp32"),
        ("bf16", V100, "fp16"),
        ("fp16", V100, "fp16"),
        ("fp8", A100, "bf16"),
        ("int4", A100, "bf16"),
        ("int4", B200, "bf16"),
        ("fp4", H100, "bf16"),
        ("int4", V100, "fp16"),
        ("int8", A100, "int8"),
        ("int8", V100, "fp16"),
        ("bf16", OLD, "fp32"),
        ("int4", OLD, "fp32"),
        ("fp16", {"bf16": 197e12, "int8": 394e12}, "bf16"),
    ],
)
def test_that_weights_without_a_rate_of_their_own_are_multiplied_in_a_wider_format(
    weights: str, chip: dict[str, float], expected: str
) -> None:
    assert math_dtype(weights, chip, "Chip") == expected


@pytest.mark.parametrize("weights", WEIGHT_DTYPES)
def test_that_math_is_never_narrower_than_the_weights(weights: str) -> None:
    for name in DTYPES[weights].math:
        assert name in PEAK_DTYPES
        assert DTYPES[name].bytes_per_element >= DTYPES[weights].bytes_per_element


def test_that_an_accelerator_without_any_fitting_rate_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"^Chip X has no published rate for FP32 weights .*FP32.*choose"):
        math_dtype("fp32", {"bf16": 1e14}, "Chip X")


def test_that_a_format_is_filed_under_its_own_name() -> None:
    assert [d.name for d in DTYPES.values()] == list(DTYPES)
    assert set(KV_DTYPES) <= set(DTYPES)


@pytest.mark.parametrize(
    ("name", "weight", "element"),
    [
        ("fp32", 4, 4),
        ("bf16", 2, 2),
        ("fp16", 2, 2),
        ("fp8", 1, 1),
        ("int8", 1, 1),
        ("int4", (128 * 4 + 16) / 8 / 128, 0.5),
        ("fp4", (16 * 4 + 8) / 8 / 16, 0.5),
        ("mxfp4", (32 * 4 + 8) / 8 / 32, 0.5),
    ],
)
def test_that_block_formats_count_their_scales(name: str, weight: float, element: float) -> None:
    assert DTYPES[name].bytes_per_weight == weight
    assert DTYPES[name].bytes_per_element == element
    assert DTYPES[name].is_quantised == (weight < 2)
