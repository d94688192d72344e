"""The roofline of some accelerators working as one: peaks, bandwidths and the shares that are reached.

Source of the model: Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009.
"""

from __future__ import annotations

import msgspec

from pdviz.costmodel.accelerator import Accelerator


class Machine(msgspec.Struct, frozen=True):
    """``accelerators`` equal accelerators, their peaks and bandwidths added, nothing lost between them.

    ``peak_flops_per_s`` is dense and in ``math_dtype``; the efficiencies are the shares of peak
    and of bandwidth that kernels reach.
    """

    name: str
    accelerators: int
    math_dtype: str
    peak_flops_per_s: float
    bandwidth_bytes_per_s: float
    compute_efficiency: float
    bandwidth_efficiency: float

    @classmethod
    def of(
        cls,
        accelerator: Accelerator,
        accelerators: int,
        math_dtype: str,
        compute_efficiency: float,
        bandwidth_efficiency: float,
    ) -> Machine:
        """``accelerators`` of one kind, multiplying in ``math_dtype``."""
        return cls(
            accelerator.name,
            accelerators,
            math_dtype,
            accelerators * accelerator.peak_flops_per_s[math_dtype],
            accelerators * accelerator.memory_bandwidth_bytes_per_s,
            compute_efficiency,
            bandwidth_efficiency,
        )

    @property
    def ridge_flops_per_byte(self) -> float:
        """Arithmetic intensity at which peak compute and peak bandwidth take equally long."""
        return self.peak_flops_per_s / self.bandwidth_bytes_per_s

    @property
    def achievable_ridge_flops_per_byte(self) -> float:
        """The same with both efficiencies: where a pass really changes its bound."""
        return (self.peak_flops_per_s * self.compute_efficiency) / (
            self.bandwidth_bytes_per_s * self.bandwidth_efficiency
        )

    def compute_s(self, flops: float) -> float:
        """Seconds that the multiplications take; works on arrays too."""
        return flops / (self.compute_efficiency * self.peak_flops_per_s)

    def bandwidth_s(self, bytes_moved: float) -> float:
        """Seconds that the memory traffic takes; works on arrays too."""
        return bytes_moved / (self.bandwidth_efficiency * self.bandwidth_bytes_per_s)
