"""One request as something that can be played."""

from __future__ import annotations

import msgspec

from pdviz.costmodel.request import RequestCost
from pdviz.scene.marks.axis import Window, automatic_window
from pdviz.scene.request.measure import Measure, measure
from pdviz.scene.stage.timeline import FIRST_TOKEN, PASS, TOKEN, Mark, nearest_s, next_edge_s
from pdviz.units import count, duration, percent

LEAST_VIEW = 0.02
"""Of a pass: nearer than that there is nothing to see."""


class RequestTimeline(msgspec.Struct, frozen=True):
    """A request as a Timeline. Its tokens appear where its passes end."""

    request: RequestCost

    @property
    def duration_s(self) -> float:
        return self.request.e2e_s

    @property
    def least_s(self) -> float:
        ttft_s = self.request.ttft_s
        return LEAST_VIEW * min(self.request.itl_s or ttft_s, ttft_s)

    @property
    def passes(self) -> int:
        return self.request.passes

    @property
    def kinds(self) -> tuple[str, ...]:
        return PASS, TOKEN, FIRST_TOKEN

    @property
    def marks(self) -> tuple[Mark, ...]:
        return ()  # the stage names all there is

    def pass_at(self, time_s: float) -> int:
        return self.request.pass_at(time_s)

    def pass_start_s(self, index: int) -> float:
        return self.request.pass_start_s(index)

    def pass_end_s(self, index: int) -> float:
        return self.request.pass_end_s(index)

    def next_s(self, kind: str, time_s: float, forward: bool) -> float | None:
        slack_s = 1e-9 * self.duration_s
        if kind == FIRST_TOKEN:
            return nearest_s((self.request.ttft_s,), time_s, forward, slack_s)
        found = next_edge_s(self, time_s, forward)
        is_start = kind == TOKEN and found is not None and found < self.request.ttft_s - slack_s
        return None if is_start else found  # nothing has come out where prefill starts

    def first_view(self, current: Window | None = None) -> Window:
        return automatic_window(self.request.ttft_s, self.request.itl_s, self.duration_s, current)

    def measure(self, one_s: float, other_s: float) -> Measure:
        return measure(self.request, one_s, other_s)

    def describe(self, time_s: float) -> str:
        number = self.pass_at(time_s)
        cost = self.request.pass_cost(number)
        steps = self.request.train.steps
        phase = "prefill" if number == 0 else f"decode pass {count(number)} of {count(steps)}"
        return (
            f"{duration(time_s)} of {duration(self.duration_s)}: {phase}, {cost.bound}-bound, "
            f"compute {percent(cost.compute_utilisation)}, bandwidth {percent(cost.bandwidth_utilisation)}"
        )
