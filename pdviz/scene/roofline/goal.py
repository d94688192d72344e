"""How many sequences have to decode together before arithmetic is the limit, and whether they can."""

from __future__ import annotations

import math

import msgspec

from pdviz.costmodel.bounds import COMPUTE
from pdviz.costmodel.fidelities import PassCost
from pdviz.costmodel.terms import sequence_bytes
from pdviz.evaluation import Result

GOAL_LIMIT = 2**30


class BatchGoal(msgspec.Struct, frozen=True):
    """How many sequences a decode step needs to be limited by compute.

    ``sequences`` is None where no number suffices, since KV reads grow with the batch: however many
    decode together, the step stays below ``limit_flops_per_byte``. ``fitting`` sequences fit in
    memory to the end of the request; None where they take no memory.
    """

    sequences: int | None
    limit_flops_per_byte: float
    fitting: int | None

    @property
    def fits(self) -> bool:
        return self.sequences is not None and (self.fitting is None or self.sequences <= self.fitting)


def decode_cost(result: Result, sequences: int) -> PassCost:
    """What the first decode step of this request costs with ``sequences`` - 1 others."""
    request = msgspec.structs.replace(result.scenario, others=sequences - 1)
    return result.model.cost(result.machine, request.slices(1))


def batch_goal(result: Result) -> BatchGoal:
    """The smallest batch whose first decode step is limited by compute.

    FLOPs grow with the batch in a straight line and bytes at most so, hence there is one crossing.
    """

    def is_compute(sequences: int) -> bool:
        return decode_cost(result, sequences).bound is COMPUTE

    more, less = decode_cost(result, 3), decode_cost(result, 2)
    flops = more.flops - less.flops
    moved = sequence_bytes(more.terms) - sequence_bytes(less.terms)
    limit = flops / moved if moved > 0 else math.inf
    sequences: int | None = None
    if is_compute(1):
        sequences = 1
    elif limit > result.machine.achievable_ridge_flops_per_byte:
        low, high = 1, 2
        while not is_compute(high) and high < GOAL_LIMIT:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if is_compute(middle) else (middle, high)
        sequences = high if is_compute(high) else None
    return BatchGoal(sequences, limit, result.memory.largest_batch)
