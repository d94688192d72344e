"""The train of decode passes in closed form: a few records for any number of tokens.

A step's FLOPs and bytes are affine in the step number between the context lengths at which a
window fills. Where its time is the largest of affine functions, a train is a short list of segments,
each with a first duration and an increment; where it is curved, of pieces short enough to be straight.
Nothing here grows with the number of tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import msgspec

from pdviz.costmodel.bounds import Bound
from pdviz.costmodel.fidelities import PassCost

STRAIGHT = 1e-4
"""How far, as a share, a curved step time may lie beside the straight line of its segment."""


class Segment(msgspec.Struct, frozen=True):
    """``count`` steps from step ``first`` on; each ``increment_s`` longer than the one before.

    ``start_s`` is when the first of them begins, from the start of the train; ``begins`` and ``ends`` are
    what the first and the last of them cost.
    """

    first: int
    count: int
    start_s: float
    first_s: float
    increment_s: float
    begins: PassCost
    ends: PassCost

    @property
    def bound(self) -> Bound:
        return self.begins.bound

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

    @property
    def total_s(self) -> float:
        return self.segments[-1].end_s if self.segments else 0.0

    @property
    def total_band_s(self) -> tuple[float, float]:
        """Between which times the whole train lies."""
        if all(s.begins.low_s == s.begins.time_s == s.begins.high_s for s in self.segments):
            return self.total_s, self.total_s
        low_s = sum(s.count * (s.begins.low_s + s.ends.low_s) / 2 for s in self.segments)
        high_s = sum(s.count * (s.begins.high_s + s.ends.high_s) / 2 for s in self.segments)
        return low_s, high_s

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

    def bound(self, step: int) -> Bound:
        """What limits step ``step``: the same all through a segment."""
        return self._segment(step).bound

    def utilisations(self, step: int) -> tuple[float, float]:
        """Shares of peak and of bandwidth that step ``step`` uses, from the ends of its segment.

        FLOPs and bytes are affine between them, so that nothing has to be counted again.
        """
        segment = self._segment(step)
        begins, ends = segment.begins, segment.ends
        along = (step - segment.first) / max(segment.count - 1, 1)
        time_s = segment.step_s(step)

        def share(first: float, last: float) -> float:
            one, other = first * begins.time_s, last * ends.time_s
            return (one + (other - one) * along) / time_s

        return (
            share(begins.compute_utilisation, ends.compute_utilisation),
            share(begins.bandwidth_utilisation, ends.bandwidth_utilisation),
        )

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
    steps: int, tokens: int, breaks: list[int], cost: Callable[[int], PassCost], *, is_affine: bool = True
) -> Train:
    """The train of ``steps`` steps, each over ``tokens`` tokens, of which step k costs ``cost(k)``.

    ``breaks`` are step numbers (ascending) at which the slope changes, that step still being on
    the earlier line. Where the cost is not ``is_affine`` between them, segments are halved until straight.
    """
    segments: list[Segment] = []
    start_s = 0.0
    edges = [0, *(b for b in breaks if 0 < b < steps), steps] if steps > 0 else []
    for before, last in pairwise(edges):
        for low, high in _pieces(before + 1, last, cost, is_affine):
            one, other = cost(low), cost(high)
            segment = Segment(
                first=low,
                count=high - low + 1,
                start_s=start_s,
                first_s=one.time_s,
                increment_s=(other.time_s - one.time_s) / max(high - low, 1),
                begins=one,
                ends=other,
            )
            segments.append(segment)
            start_s = segment.end_s
    return Train(steps, tokens, tuple(segments))


def _pieces(first: int, last: int, cost: Callable[[int], PassCost], is_affine: bool) -> list[tuple[int, int]]:
    """``first`` .. ``last`` cut where the bound changes, and where the time is no straight line."""
    one, other = cost(first), cost(last)
    if one.bound is not other.bound:
        low, high = first, last  # low has the first bound, high another
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if cost(middle).bound is one.bound else (low, middle)
        if is_affine:
            return [(first, low), (high, last)]
        return [*_pieces(first, low, cost, False), *_pieces(high, last, cost, False)]
    if is_affine or last - first < 2:
        return [(first, last)]
    middle = (first + last) // 2
    line = one.time_s + (other.time_s - one.time_s) * (middle - first) / (last - first)
    if abs(cost(middle).time_s - line) <= STRAIGHT * line:
        return [(first, last)]
    return [*_pieces(first, middle, cost, False), *_pieces(middle + 1, last, cost, False)]
