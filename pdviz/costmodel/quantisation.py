"""How the weights of a checkpoint are stored."""

from __future__ import annotations

import msgspec

#: Method -> how people write it, where that differs.
_TITLES = {
    "fp8": "FP8",
    "fbgemm_fp8": "FBGEMM FP8",
    "awq": "AWQ",
    "gptq": "GPTQ",
    "mxfp4": "MXFP4",
    "mlx": "MLX",
    "bitnet": "BitNet",
    "modelopt": "ModelOpt",
}


class Kept(msgspec.Struct, frozen=True):
    """A part that a file singles out, as a rule one left in the published 16-bit format.

    ``part`` is "attention", "dense", "shared", "experts", "router", "head" or "embedding". ``layer`` is
    None for every layer; ``module`` None for the whole part.
    """

    part: str
    layer: int | None = None
    module: str | None = None


class Quantisation(msgspec.Struct, frozen=True):
    """The stored form of weight matrices.

    ``bits`` are those of one weight. A scale of ``scale_bits`` covers ``group`` weights along the
    inputs (0: the whole row) of ``rows`` outputs (0: all of them, together with ``group`` 0 one
    scale a matrix). ``zero_bits`` are those of a zero point beside each scale, ``index_bits`` those
    of an index for each input row, ``module_bits`` those of further scales of a whole matrix.
    ``second`` scales share one of 32 bits of their own (0: none do). ``kept`` lists what stays at 16
    bit; ``only``, where it is not None, what alone is quantised. ``weight_only`` is true where
    activations stay wide, so that weights are widened to be multiplied.
    """

    method: str
    bits: int
    group: int = 0
    rows: int = 1
    scale_bits: int = 16
    zero_bits: int = 0
    index_bits: int = 0
    module_bits: int = 0
    format: str = "int"
    kept: tuple[Kept, ...] = ()
    weight_only: bool = False
    only: tuple[Kept, ...] | None = None
    second: int = 0

    @property
    def narrow(self) -> str | None:
        """The narrow format in which kernels multiply these weights; None where they widen them."""
        if self.weight_only or self.method in ("awq", "gptq"):
            return None
        if self.format == "fp":
            if self.method == "bitsandbytes":
                return None
            return "fp8" if self.bits == 8 else "mxfp4" if self.method == "mxfp4" else "fp4"
        return "int8" if self.bits == 8 else None

    @property
    def title(self) -> str:
        """For people: "FP8, blocks of 128 × 128", "AWQ INT4, groups of 128"."""
        kind = f"{self.format}{self.bits}".upper()
        method = _TITLES.get(self.method, self.method)
        name = method if method.endswith(kind) else f"{method} {kind}"
        if self.rows > 1 and self.group:
            return f"{name}, blocks of {self.rows} × {self.group}"
        if self.group:
            return f"{name}, groups of {self.group}"
        return f"{name}, one scale a {'row' if self.rows == 1 else 'matrix'}"
