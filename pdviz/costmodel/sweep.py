"""Many passes at once, for curves: the arithmetic of ``passes`` and ``roofline`` over numpy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pdviz.costmodel.passes import ModelCost, Slice
from pdviz.costmodel.roofline import Machine

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


class Sweep(msgspec.Struct, frozen=True, eq=False):
    """What each of some passes costs; the arrays have the shape that the arguments broadcast to.

    Fields are those of ``PassCost``. Utilisations are shares of the *peak*.
    """

    flops: NDArray[np.float64]
    bytes: NDArray[np.float64]
    compute_s: NDArray[np.float64]
    bandwidth_s: NDArray[np.float64]
    time_s: NDArray[np.float64]
    is_compute_bound: NDArray[np.bool_]
    compute_utilisation: NDArray[np.float64]
    bandwidth_utilisation: NDArray[np.float64]
    intensity_flops_per_byte: NDArray[np.float64]


def prefill_sweep(
    model: ModelCost, machine: Machine, prompt_tokens: ArrayLike, cached_tokens: ArrayLike = 0
) -> Sweep:
    """A prompt pass for each of ``prompt_tokens``, of which ``cached_tokens`` are in the KV cache already."""
    prompt, cached = _floats(prompt_tokens, cached_tokens)
    return _sweep(model, machine, Slice.prompt(prompt - cached, cached))


def decode_sweep(
    model: ModelCost, machine: Machine, context_tokens: ArrayLike, sequences: ArrayLike = 1
) -> Sweep:
    """A decode pass of ``sequences`` sequences for each of ``context_tokens``, the new token included."""
    return _sweep(model, machine, Slice.decode(*_floats(context_tokens, sequences)))


def _floats(*arguments: ArrayLike) -> Any:
    """The arguments as arrays of one shape; floats, since whole numbers of 64 bit could overflow."""
    import numpy as np

    return np.broadcast_arrays(*(np.asarray(argument, dtype=np.float64) for argument in arguments))


def _sweep(model: ModelCost, machine: Machine, piece: Slice) -> Sweep:
    import numpy as np

    flops: Any = model.flops((piece,))
    moved: Any = model.bytes((piece,))
    compute_s: Any = machine.compute_s(flops)
    bandwidth_s: Any = machine.bandwidth_s(moved)
    time_s = np.maximum(compute_s, bandwidth_s)
    return Sweep(
        flops=flops,
        bytes=moved,
        compute_s=compute_s,
        bandwidth_s=bandwidth_s,
        time_s=time_s,
        is_compute_bound=compute_s >= bandwidth_s,
        compute_utilisation=flops / (time_s * machine.peak_flops_per_s),
        bandwidth_utilisation=moved / (time_s * machine.bandwidth_bytes_per_s),
        intensity_flops_per_byte=flops / moved,
    )
