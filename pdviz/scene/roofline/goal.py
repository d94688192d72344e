"""How many sequences have to decode together before arithmetic is the limit, and whether they can."""

from __future__ import annotations

import math

import msgspec

from pdviz.costmodel.passes import Slice
from pdviz.costmodel.roofline import COMPUTE, PassCost
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


def pass_cost(result: Result, tokens: int, slices: tuple[Slice, ...]) -> PassCost:
    """What a pass of ``slices`` over ``tokens`` new tokens costs."""
    flops, moved = float(result.model.flops(slices)), float(result.model.bytes(slices))
    return result.machine.cost(tokens, flops, moved)


def decode_slices(result: Result, sequences: int) -> tuple[Slice, ...]:
    """The first decode step of this request with ``sequences`` - 1 others, as the request counts it."""
    context = result.scenario.prompt_tokens + 1
    elsewhere = result.scenario.others_context_tokens
    if elsewhere is None or sequences == 1:
        return (Slice.decode(context, sequences),)
    return Slice.decode(context), Slice.decode(elsewhere, sequences - 1)


def batch_goal(result: Result) -> BatchGoal:
    """The smallest batch whose first decode step is limited by compute.

    FLOPs grow with the batch in a straight line and bytes at most so, hence there is one crossing.
    """

    def is_compute(sequences: int) -> bool:
        return pass_cost(result, sequences, decode_slices(result, sequences)).bound == COMPUTE

    model, slices = result.model, decode_slices(result, 3)
    more, less = slices, decode_slices(result, 2)
    flops = float(model.flops(more) - model.flops(less))
    moved = float(model.kv_traffic_bytes(more) - model.kv_traffic_bytes(less))
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
