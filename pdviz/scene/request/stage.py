"""The tracks of one request: its whole, its passes, what of the machine they use, and the axis.

What a block of a height and the gap above a lane mean is handed in, so that two requests can be drawn to
one scale.
"""

from __future__ import annotations

from functools import partial

import msgspec

from pdviz.costmodel.bounds import BANDWIDTH, COMPUTE
from pdviz.costmodel.request import RequestCost
from pdviz.evaluation import Result
from pdviz.scene.marks.axis import TimeAxis
from pdviz.scene.marks.parts import Hover
from pdviz.scene.request.hover import hover
from pdviz.scene.request.passes import PassesTrack, bands
from pdviz.scene.stage.lanes import LaneTrack, Points, straight
from pdviz.scene.stage.overview import OverviewTrack
from pdviz.scene.stage.parts import Row, Space, Track, Wish
from pdviz.scene.stage.ticks import TickTrack
from pdviz.units import written

LANE_SAMPLES = 48
LANE_GAP, HIGH_LANE_GAP = 19.0, 27.0
"""Design pixels above a lane: more where its ceiling, and so its name, is near the top."""


class Scales(msgspec.Struct, frozen=True):
    """What the axes of a request's stage reach to, time apart: tokens of a pass, and shares of a peak."""

    top_tokens: float
    ceiling: float
    top_share: float = 1.0

    def with_room_for(self, other: Scales) -> Scales:
        """Scales on which both can be drawn."""
        return Scales(
            max(self.top_tokens, other.top_tokens),
            max(self.ceiling, other.ceiling),
            max(self.top_share, other.top_share),
        )


def scales_of(result: Result) -> Scales:
    """Scales on which ``result`` fills the stage: any context of its model keeps its height on them."""
    request, machine = result.request, result.machine
    longest = result.architecture.max_context_tokens or 131_072
    return Scales(
        float(max(longest, request.prefill.tokens, request.train.tokens)),
        max(machine.compute_efficiency, machine.bandwidth_efficiency),
    )


class Header(Row, frozen=True):
    """The title with the meaning of the colours."""

    is_marked: bool
    is_ideal: bool


class HeaderTrack(msgspec.Struct, frozen=True):
    is_marked: bool
    is_ideal: bool

    @property
    def wish(self) -> Wish:
        return Wish(24.0, spans=True)

    def build(self, space: Space) -> Header:
        return Header(space.box, self.is_marked, self.is_ideal)

    def hover(self, row: Header, time_s: float, y: float) -> Hover | None:
        return None


def request_tracks(result: Result, scales: Scales | None = None) -> tuple[Track, ...]:
    """What the stage shows of one request, from the top; on its own scales unless others are given."""
    scales = scales or scales_of(result)
    request, machine = result.request, result.machine
    is_marked, is_ideal = not result.memory.fits, result.fidelity.is_floor
    used = _Utilisation(request)
    gap = HIGH_LANE_GAP if scales.ceiling > 0.85 else LANE_GAP
    whole = f"E2E {written(request.e2e)}"
    about = partial(_hover_at, result)
    compute, bandwidth = machine.compute_efficiency, machine.bandwidth_efficiency
    return (
        HeaderTrack(is_marked, is_ideal),
        OverviewTrack(request.e2e_s, whole, partial(bands, request), is_marked),
        PassesTrack(result, scales.top_tokens),
        LaneTrack("compute", COMPUTE, compute, used.compute, about, gap, scales.top_share),
        LaneTrack("bandwidth", BANDWIDTH, bandwidth, used.bandwidth, about, gap, scales.top_share),
        TickTrack(),
    )


def _hover_at(result: Result, time_s: float) -> Hover | None:
    request = result.request
    return hover(result, request.pass_at(time_s)) if 0 <= time_s <= request.e2e_s else None


class _Utilisation:
    """Both utilisations of the passes in view, sampled once for both lanes."""

    def __init__(self, request: RequestCost) -> None:
        self._request = request
        self._axis: TimeAxis | None = None
        self._lines: tuple[Points, Points] = ((), ())

    def compute(self, axis: TimeAxis) -> Points:
        return self._at(axis)[0]

    def bandwidth(self, axis: TimeAxis) -> Points:
        return self._at(axis)[1]

    def _at(self, axis: TimeAxis) -> tuple[Points, Points]:
        if axis != self._axis:
            self._axis, self._lines = axis, utilisations(self._request, axis)
        return self._lines


def utilisations(request: RequestCost, axis: TimeAxis) -> tuple[Points, Points]:
    """Compute and bandwidth: a step for each pass, or a line through samples where there are many passes."""
    compute: list[tuple[float, float]] = []
    bandwidth: list[tuple[float, float]] = []
    end_s = min(axis.end_s, request.e2e_s)
    first, last = request.pass_at(axis.start_s), request.pass_at(end_s)
    stride = max(1, -(-(last - first + 1) // LANE_SAMPLES))
    marks = [*range(max(first, 1), last + 1, stride)]
    if marks and marks[-1] != last:
        marks.append(last)
    if first == 0:
        marks.insert(0, 0)
    for number in marks:
        if number == 0:
            shares = request.prefill.compute_utilisation, request.prefill.bandwidth_utilisation
        else:
            shares = request.train.utilisations(number)
        edges = [request.pass_start_s(number)]
        if stride == 1 or number in (0, last):
            edges.append(request.pass_end_s(number))
        for x in map(axis.clipped_px, edges):
            compute.append((x, shares[0]))
            bandwidth.append((x, shares[1]))
    return straight(compute), straight(bandwidth)
