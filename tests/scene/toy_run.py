"""A timeline of another kind than a request: passes with nothing between some of them, and a stall."""

from __future__ import annotations

import msgspec

from pdviz.scene.marks.axis import Window
from pdviz.scene.stage.timeline import PASS, STALL, Mark, nearest_s, next_edge_s


class ToyStretch(msgspec.Struct, frozen=True):
    start_s: float
    end_s: float
    words: str


class ToyRun(msgspec.Struct, frozen=True):
    """Ten seconds of something."""

    spans: tuple[tuple[float, float], ...] = ((0.0, 1.0), (1.0, 2.5), (4.0, 4.5), (4.5, 9.0))
    marks: tuple[Mark, ...] = (Mark(4.5, STALL, "stalled for 4.5 s"),)
    duration_s: float = 10.0
    least_s: float = 0.01
    kinds: tuple[str, ...] = (PASS, STALL)

    @property
    def passes(self) -> int:
        return len(self.spans)

    def pass_at(self, time_s: float) -> int:
        return max(sum(start <= time_s for start, _ in self.spans) - 1, 0)

    def pass_start_s(self, index: int) -> float:
        return self.spans[index][0]

    def pass_end_s(self, index: int) -> float:
        return self.spans[index][1]

    def next_s(self, kind: str, time_s: float, forward: bool) -> float | None:
        if kind == PASS:
            return next_edge_s(self, time_s, forward)
        return nearest_s((mark.time_s for mark in self.marks if mark.kind == kind), time_s, forward)

    def first_view(self, current: Window | None = None) -> Window:
        return Window(0.0, 5.0)

    def measure(self, one_s: float, other_s: float) -> ToyStretch:
        start_s, end_s = sorted(min(max(t, 0.0), self.duration_s) for t in (one_s, other_s))
        return ToyStretch(start_s, end_s, f"{end_s - start_s:.1f} s")

    def describe(self, time_s: float) -> str:
        return f"pass {self.pass_at(time_s)} of {self.passes}"
