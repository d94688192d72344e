"""Numeric formats: what they take in memory, and in which format the multiplication then runs.

Weights, KV cache and arithmetic are three separate matters. ``bytes_per_weight`` holds the scales
of block formats; formats below 16 bit leave embedding, head and vectors at 16 bit, as published
quantised checkpoints do. "published" stands for the form in which a model's file stores its weights:
its bytes are counted by `pdviz.costmodel.weights`, and `math` here is only what most such files need.
"""

from __future__ import annotations

import msgspec

from pdviz.errors import InputError


class Dtype(msgspec.Struct, frozen=True):
    """A numeric format.

    ``bytes_per_weight`` is the mean over a weight matrix, block scales included;
    ``bytes_per_element`` is that of a plain array such as the KV cache.
    ``math`` lists the formats in which kernels multiply such weights, best first.
    """

    name: str
    title: str
    bytes_per_weight: float
    bytes_per_element: float
    math: tuple[str, ...]
    note: str

    @property
    def is_quantised(self) -> bool:
        """True where embedding, head and vectors stay at 16 bit."""
        return self.bytes_per_weight < 2.0


_SIXTEEN = ("bf16", "fp16", "fp32")
PUBLISHED = "published"

DTYPES: dict[str, Dtype] = {
    d.name: d
    for d in (
        Dtype("fp32", "FP32", 4.0, 4.0, ("fp32",), "32-bit float"),
        Dtype("bf16", "BF16", 2.0, 2.0, _SIXTEEN, "16-bit brain float"),
        Dtype("fp16", "FP16", 2.0, 2.0, ("fp16", "bf16", "fp32"), "16-bit IEEE float"),
        Dtype("fp8", "FP8", 1.0, 1.0, ("fp8", *_SIXTEEN), "8-bit float, one scale a tensor"),
        Dtype("int8", "INT8", 1.0, 1.0, ("int8", *_SIXTEEN), "8-bit integer, one scale a row"),
        Dtype(
            "int4",
            "INT4",
            0.5 + 2.0 / 128,
            0.5,
            _SIXTEEN,
            "4-bit integer, a 16-bit scale for each 128 weights; kernels widen to 16 bit to multiply",
        ),
        Dtype(
            "fp4",
            "FP4",
            0.5 + 1.0 / 16,
            0.5,
            ("fp4", *_SIXTEEN),
            "4-bit float (NVFP4), an 8-bit scale for each 16 weights",
        ),
        Dtype(
            "mxfp4",
            "MXFP4",
            0.5 + 1.0 / 32,
            0.5,
            ("fp4", *_SIXTEEN),
            "4-bit float (OCP MX), an 8-bit scale for each 32 weights",
        ),
        Dtype(
            PUBLISHED,
            "Published",
            2.0,
            2.0,
            _SIXTEEN,
            "the form in which the model's file stores them: its quantisation, else its own dtype",
        ),
    )
}

WEIGHT_DTYPES = tuple(DTYPES)
KV_DTYPES = ("bf16", "fp16", "fp8", "int8", "int4", "fp32")
PEAK_DTYPES = ("fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4")


def math_dtype(weights: str, peak_flops_per_s: dict[str, float], accelerator: str) -> str:
    """The format in which ``accelerator`` multiplies weights stored as ``weights``.

    Raises InputError where no format of the chain has a peak rate.
    """
    chain = DTYPES[weights].math
    for name in chain:
        if name in peak_flops_per_s:
            return name
    raise InputError(
        f"{accelerator} has no published rate for {DTYPES[weights].title} weights "
        f"(looked for {', '.join(DTYPES[n].title for n in chain)}); choose another weight format"
    )
