"""The axis of a stage: round moments with their labels."""

from __future__ import annotations

import math

import msgspec

from pdviz.scene.marks.axis import Window, ticks
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Hover, Text
from pdviz.scene.stage.parts import Grip, Row, Space, Wish

APART_PX = 96.0


class Ticks(Row, frozen=True):
    """Where the ticks are, each with its label (empty where there is no room for one)."""

    ticks: tuple[tuple[float, Text], ...]

    @property
    def grips(self) -> tuple[tuple[Grip, Box], ...]:
        return ((Grip.SEEK, self.box),)


class TickTrack(msgspec.Struct, frozen=True):
    @property
    def wish(self) -> Wish:
        return Wish(24.0, gap=4.0)

    def build(self, space: Space) -> Ticks:
        """Labels are kept inside the row and apart from each other."""
        found: list[tuple[float, Text]] = []
        row, scale, axis = space.box, space.scale, space.axis
        size, edge = 12 * scale, -math.inf
        for mark in ticks(Window(axis.start_s, axis.end_s), int(row.w / (APART_PX * scale))):
            x = axis.to_px(mark.time_s)
            width = math.ceil(space.measure(mark.label, size, False)) + 2
            left = min(max(x - width / 2, row.x - 10 * scale), row.right - width + 12 * scale)
            if left > edge + 6 * scale:
                box = Box(left, row.y + 4 * scale, width, 1.35 * size)
                found.append((x, Text(box, mark.label, "faint", size)))
                edge = left + width
            else:
                found.append((x, Text(Box(x, row.y, 0, 0), "", "faint", size)))
        return Ticks(row, tuple(found))

    def hover(self, row: Ticks, time_s: float, y: float) -> Hover | None:
        return None
