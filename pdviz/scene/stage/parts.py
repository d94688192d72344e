"""What a stage is made of: rows, blocks, dimensions, lanes, texts. Values only."""

from __future__ import annotations

import msgspec

from pdviz.scene.marks.axis import TimeAxis
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Dimension, Text


class Block(msgspec.Struct, frozen=True):
    """``passes`` passes from number ``first`` on, as one rectangle."""

    box: Box
    bound: str
    first: int
    passes: int


class Lane(msgspec.Struct, frozen=True):
    """A utilisation over time: ``points`` are (x, share of peak), ``ceiling`` what is achievable."""

    box: Box
    name: str
    bound: str
    points: tuple[tuple[float, float], ...]
    ceiling: float


class StageLayout(msgspec.Struct, frozen=True):
    """Where the rows of the stage are."""

    header: Box
    total: Box
    overview: Box
    wedge: Box
    measures: Box
    plot: Box
    compute: Box
    bandwidth: Box
    ticks: Box


class Stage(msgspec.Struct, frozen=True):
    """Everything on the stage except the playhead. ``ghosts`` are the blocks as no engine could beat them."""

    layout: StageLayout
    axis: TimeAxis
    overview_axis: TimeAxis
    blocks: tuple[Block, ...]
    ghosts: tuple[Block, ...]
    overview: tuple[Block, ...]
    view: Box
    lanes: tuple[Lane, ...]
    dimensions: tuple[Dimension, ...]
    texts: tuple[Text, ...]
    inside: Text | None
    inside_detail: Text | None
    levels: tuple[tuple[float, Text], ...]
    ticks: tuple[tuple[float, Text], ...]
    is_marked: bool
    is_ideal: bool


LANE_GAP, HIGH_LANE_GAP = 19.0, 27.0
"""Design pixels above a lane: more where its ceiling, and so its name, is near the top."""


def stage_layout(width: float, height: float, scale: float, ceiling: float = 0.0) -> StageLayout:
    """Rows of the stage in a card of that size; ``ceiling`` is the higher of what lanes can reach."""
    pad, gutter = 18 * scale, 74 * scale
    left, inner = pad + gutter, max(width - 2 * pad - gutter, 10.0)
    y = 12 * scale
    header = Box(pad, y, width - 2 * pad, 24 * scale)
    total = Box(left, header.bottom + 4 * scale, inner, 18 * scale)
    overview = Box(left, total.bottom + 2 * scale, inner, 22 * scale)
    wedge = Box(left, overview.bottom + 2 * scale, inner, 11 * scale)
    measures = Box(left, wedge.bottom, inner, 24 * scale)
    bottom = height - 6 * scale
    axis_row = Box(left, bottom - 24 * scale, inner, 24 * scale)
    lane_height = max(29 * scale, 0.095 * height)
    lane_gap = (HIGH_LANE_GAP if ceiling > 0.85 else LANE_GAP) * scale
    bandwidth = Box(left, axis_row.y - 4 * scale - lane_height, inner, lane_height)
    compute = Box(left, bandwidth.y - lane_gap - lane_height, inner, lane_height)
    plot = Box(left, measures.bottom, inner, max(compute.y - lane_gap - measures.bottom, 10.0))
    return StageLayout(header, total, overview, wedge, measures, plot, compute, bandwidth, axis_row)
