"""A stage: tracks one below the other over one time window, as a value that painting and hands read.

Time runs left to right and is one axis for all of them. Which tracks there are is the business of the
view that shows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from pdviz.scene.marks.axis import TimeAxis, Window
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Hover, MeasureText, Text
from pdviz.scene.stage.parts import Grip, Row, Space, Track, Wish

PAD, GUTTER, TOP, FOOT = 18.0, 74.0, 12.0, 6.0
"""Design pixels round the tracks; the gutter holds their names, left of the axis."""

R = TypeVar("R", bound=Row)


class Placed(msgspec.Struct, frozen=True):
    """A track with what it has drawn."""

    track: Track
    row: Row


class Stage(msgspec.Struct, frozen=True):
    """Everything on a stage except the playhead. ``plot`` is where time is read, from top to bottom."""

    axis: TimeAxis
    whole: TimeAxis
    placed: tuple[Placed, ...]
    plot: Box

    def rows(self, kind: type[R]) -> tuple[R, ...]:
        """The rows of one kind, from the top."""
        return tuple(placed.row for placed in self.placed if isinstance(placed.row, kind))

    @property
    def texts(self) -> tuple[Text, ...]:
        """What the playhead must not strike through."""
        return tuple(text for placed in self.placed for text in placed.row.texts)

    @property
    def head_y(self) -> float:
        """Where the playhead has its handle: above the first track in which time is read."""
        return next((placed.row.box.y for placed in self.placed if placed.row.plot), self.plot.y)

    def grips(self, grip: Grip) -> tuple[Box, ...]:
        """Where one can take hold of the stage in that way."""
        return tuple(box for placed in self.placed for kind, box in placed.row.grips if kind is grip)

    def reads_time_at(self, y: float) -> bool:
        """True on a track in which time is read, and in the gap below it."""
        below = [*(placed.row.box.y for placed in self.placed[1:]), self.plot.bottom]
        return any(
            placed.row.plot is not None and placed.row.box.y <= y < max(end, placed.row.box.bottom)
            for placed, end in zip(self.placed, below, strict=True)
        )

    def hover(self, x: float, y: float) -> Hover | None:
        """What is drawn at a point."""
        if self.plot.x <= x < self.plot.right:
            for placed in self.placed:
                if placed.row.box.contains(x, y):
                    return placed.track.hover(placed.row, self.axis.to_s(x), y)
        return None


def lay_out(wishes: Sequence[Wish], width: float, height: float, scale: float) -> tuple[Box, ...]:
    """The boxes of tracks, one below the other, in a card of that size."""
    heights = [max(wish.height * scale, wish.share * height) for wish in wishes]
    growing = [number for number, wish in enumerate(wishes) if wish.grow]
    first, last = (growing[0], growing[-1]) if growing else (len(wishes), len(wishes))
    tops, low = [0.0] * len(wishes), height - FOOT * scale
    for number in range(len(wishes) - 1, last, -1):
        tops[number] = low - heights[number]
        low = tops[number] - wishes[number].gap * scale
    y = TOP * scale
    for number in range(first):
        tops[number] = y + wishes[number].gap * scale
        y = tops[number] + heights[number]
    between = range(first, last + 1) if growing else range(0)
    taken = sum(wishes[k].gap * scale + (0.0 if wishes[k].grow else heights[k]) for k in between)
    free, weight = low - y - taken, sum(wishes[k].grow for k in between)
    for number in between:
        tops[number] = y + wishes[number].gap * scale
        if wishes[number].grow:
            rest = low - tops[number] if number == last else free * wishes[number].grow / weight
            heights[number] = max(rest, heights[number], 0.0)
        y = tops[number] + heights[number]
    pad, (left, inner) = PAD * scale, time_extent(width, scale)
    return tuple(
        Box(pad, top, width - 2 * pad, high) if wish.spans else Box(left, top, inner, high)
        for wish, top, high in zip(wishes, tops, heights, strict=True)
    )


def time_extent(width: float, scale: float) -> tuple[float, float]:
    """Where the time axis begins in a card of that width, and how wide it is."""
    pad, gutter = PAD * scale, GUTTER * scale
    return pad + gutter, max(width - 2 * pad - gutter, 10.0)


def build_stage(
    tracks: Sequence[Track],
    window: Window,
    whole_s: float,
    width: float,
    height: float,
    scale: float,
    measure: MeasureText,
) -> Stage:
    """The tracks with ``window`` of ``whole_s`` in view, in a card of ``width`` x ``height``."""
    boxes = lay_out([track.wish for track in tracks], width, height, scale)
    left, inner = time_extent(width, scale)
    axis = TimeAxis(window.start_s, window.end_s, left, inner)
    whole = TimeAxis(0.0, whole_s, left, inner)
    placed = tuple(
        Placed(track, track.build(Space(box, axis, whole, scale, measure)))
        for track, box in zip(tracks, boxes, strict=True)
    )
    plots = [one.row.plot for one in placed if one.row.plot is not None]
    top, bottom = (plots[0].y, plots[-1].bottom) if plots else (0.0, 0.0)
    return Stage(axis, whole, placed, Box(left, top, inner, bottom - top))
