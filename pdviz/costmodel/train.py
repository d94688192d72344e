"""The train of decode passes in closed form: a few records for any number of tokens.

A step's FLOPs and bytes are affine in the step number between the context lengths at which a
window fills, and its time is the larger of two affine functions, so a train is a short list of
segments, each with a first duration and an increment. Nothing here grows with the number of tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import msgspec

from pdviz.costmodel.roofline import Machine, PassCost


class Segment(msgspec.Struct, frozen=True):
    """``count`` steps from step ``first`` on; each ``increment_s`` longer than the one before.

    ``start_s`` is when the first of them begins, from the start of the train.
    """

    first: int
    count: int
    start_s: float
    first_s: float
    increment_s: float
    flops: float
    flops_increment: float
    bytes: float
    bytes_increment: float
    bound: str

    def elapsed_s(self, steps: float) -> float:
        """Time that the first ``steps`` steps of the segment take."""
        return steps * self.first_s + self.increment_s * steps * (steps - 1) / 2

    def step_s(self, step: int) -> float:
        """Duration of step ``step`` (numbered over the whole train)."""
        return self.first_s + self.increment_s * (step - self.first)

    @property
    def end_s(self) -> float:
        return self.start_s + self.elapsed_s(self.count)


class Train(msgspec.Struct, frozen=True):
    """Decode steps 1 .. ``steps``, each over ``tokens`` tokens (one for each sequence)."""

    steps: int
    tokens: int
    segments: tuple[Segment, ...]
    machine: Machine

    @property
    def total_s(self) -> float:
        return self.segments[-1].end_s if self.segments else 0.0

    def _segment(self, step: int) -> Segment:
        for segment in self.segments:
            if step < segment.first + segment.count:
                return segment
        return self.segments[-1]

    def start_s(self, step: int) -> float:
        """When step ``step`` begins; ``steps + 1`` gives the end of the train."""
        segment = self._segment(step)
        return segment.start_s + segment.elapsed_s(step - segment.first)

    def step_s(self, step: int) -> float:
        """Duration of step ``step``."""
        return self._segment(step).step_s(step)

    def cost(self, step: int) -> PassCost:
        """What step ``step`` costs."""
        s = self._segment(step)
        k = step - s.first
        flops, moved = s.flops + s.flops_increment * k, s.bytes + s.bytes_increment * k
        return self.machine.cost(self.tokens, flops, moved)

    def step_at(self, time_s: float) -> int:
        """The step under way ``time_s`` after the train began; its last one from the end on."""
        for segment in self.segments:
            if time_s < segment.end_s:
                break
        else:
            return self.steps
        wanted = time_s - segment.start_s
        half = segment.increment_s / 2
        linear = segment.first_s - half
        # half n^2 + linear n = wanted, in the form that does not cancel when half is tiny
        n = 2 * wanted / (linear + math.sqrt(max(linear * linear + 4 * half * wanted, 0.0)))
        step = segment.first + min(max(int(n), 0), segment.count - 1)
        # the clock of start_s has the last word, so that a step is under way at its own start
        while step > segment.first and self.start_s(step) > time_s:
            step -= 1
        while step < segment.first + segment.count - 1 and self.start_s(step + 1) <= time_s:
            step += 1
        return step


def build_train(
    steps: int,
    tokens: int,
    breaks: list[int],
    flops: Callable[[int], float],
    bytes_moved: Callable[[int], float],
    machine: Machine,
) -> Train:
    """The train of ``steps`` steps whose FLOPs and bytes are affine between ``breaks``.

    ``breaks`` are step numbers (ascending) at which the slope changes, that step still being on
    the earlier line.
    """
    segments: list[Segment] = []
    start_s = 0.0
    edges = [0, *(b for b in breaks if 0 < b < steps), steps] if steps > 0 else []
    for before, last in pairwise(edges):
        first = before + 1
        for low, high in _split(first, last, flops, bytes_moved, machine):
            f0, f1, b0, b1 = flops(low), flops(high), bytes_moved(low), bytes_moved(high)
            cost0, cost1 = machine.cost(tokens, f0, b0), machine.cost(tokens, f1, b1)
            span = max(high - low, 1)
            segment = Segment(
                first=low,
                count=high - low + 1,
                start_s=start_s,
                first_s=cost0.time_s,
                increment_s=(cost1.time_s - cost0.time_s) / span,
                flops=f0,
                flops_increment=(f1 - f0) / span,
                bytes=b0,
                bytes_increment=(b1 - b0) / span,
                bound=cost0.bound,
            )
            segments.append(segment)
            start_s = segment.end_s
    return Train(steps, tokens, tuple(segments), machine)


def _split(
    first: int,
    last: int,
    flops: Callable[[int], float],
    bytes_moved: Callable[[int], float],
    machine: Machine,
) -> list[tuple[int, int]]:
    """``first`` .. ``last`` cut where the bound changes (at most once between two breaks)."""

    def is_compute(step: int) -> bool:
        return machine.compute_s(flops(step)) >= machine.bandwidth_s(bytes_moved(step))

    start = is_compute(first)
    if is_compute(last) == start:
        return [(first, last)]
    low, high = first, last  # low has the first bound, high the other
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_compute(middle) == start else (low, middle)
    return [(first, low), (high, last)]
