"""Places for labels on a crowded plot: inside it, never over one another, off the lines if possible.

A chart is laid out anew for each move of a drag, so this asks thousands of times whether a box is free:
edges are kept as plain numbers, and most lines are told off by their bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from pdviz.scene.marks.geometry import Box

Point = tuple[float, float]
Edges = tuple[float, float, float, float]

CROSSING = 2.5


class LabelPlacer:
    """Hands out room, ``gap`` apart sideways. ``lines`` are polylines that labels keep off if they can."""

    def __init__(self, room: Box, lines: Sequence[tuple[Point, ...]] = (), gap: float = 0.0) -> None:
        self.room = room
        self.gap = gap
        self._taken: list[Edges] = []
        self._segments: list[tuple[Edges, Point, Point]] = []
        for line in lines:
            self.add_line(line)

    def add_line(self, line: tuple[Point, ...]) -> None:
        """A further line to keep off."""
        for one, other in pairwise(line):
            (x0, y0), (x1, y1) = one, other
            bounds = (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
            self._segments.append((bounds, one, other))

    def take(self, box: Box) -> None:
        """Keeps a box free of labels."""
        self._taken.append((box.x - self.gap, box.y, box.x + box.w + self.gap, box.y + box.h))

    def is_free(self, box: Box, lines: bool = False) -> bool:
        """True where a label may stand without touching another (or, with ``lines``, a line)."""
        room, right, bottom = self.room, box.x + box.w, box.y + box.h
        if box.x < room.x or box.y < room.y or right > room.x + room.w or bottom > room.y + room.h:
            return False
        for x0, y0, x1, y1 in self._taken:
            if box.x < x1 and x0 < right and box.y < y1 and y0 < bottom:
                return False
        return not (lines and self._crossings(box))

    def is_clear(self, box: Box) -> bool:
        """True where no line goes through a box."""
        return not self._crossings(box)

    def place(
        self, boxes: Sequence[Box], *, required: bool = False, crossing: float = CROSSING
    ) -> Box | None:
        """The best of some boxes, the earlier the better, and takes it; None where none has room.

        A ``required`` label is moved inside the room and found a place in any case. ``crossing`` is how
        many places further down the list a label goes to keep off a line.
        """
        best: Box | None = None
        least = math.inf
        for rank, wanted in enumerate(boxes):
            if rank >= least:
                break
            box = self._held(wanted) if required else wanted
            if not required and not self.is_free(box):
                continue
            cost = rank + crossing * self._crossings(box) + (1e3 * self._overlap(box) if required else 0)
            if cost < least:
                best, least = box, cost
        if best is not None and required and least >= 1e3:
            best = self._nearest_free(best) or best
        if best is not None:
            self.take(best)
        return best

    def _nearest_free(self, wanted: Box) -> Box | None:
        """The nearest free place in the room, looked for in steps of half a label."""
        room = self.room
        found: list[tuple[float, float, float]] = []
        for row in range(int(2 * (room.h - wanted.h) / wanted.h) + 1):
            for column in range(int(4 * (room.w - wanted.w) / wanted.w) + 1):
                x, y = room.x + column * wanted.w / 4, room.y + row * wanted.h / 2
                if self.is_free(Box(x, y, wanted.w, wanted.h)):
                    found.append((math.hypot(x - wanted.x, y - wanted.y), x, y))
        if not found:
            return None
        _, x, y = min(found)
        return Box(x, y, wanted.w, wanted.h)

    def _held(self, box: Box) -> Box:
        room = self.room
        x = max(min(box.x, room.right - box.w), room.x)
        y = max(min(box.y, room.bottom - box.h), room.y)
        return Box(x, y, box.w, box.h)

    def _overlap(self, box: Box) -> float:
        total = 0.0
        for x0, y0, x1, y1 in self._taken:
            w = min(box.x + box.w, x1) - max(box.x, x0)
            h = min(box.y + box.h, y1) - max(box.y, y0)
            if w > 0 and h > 0:
                total += 1 + w * h
        return total

    def _crossings(self, box: Box) -> int:
        left, top, right, bottom = box.x, box.y, box.x + box.w, box.y + box.h
        found = 0
        for (x0, y0, x1, y1), one, other in self._segments:
            if x1 >= left and x0 <= right and y1 >= top and y0 <= bottom and crosses(one, other, box):
                found += 1
        return found


def crosses(one: Point, other: Point, box: Box) -> bool:
    """True where the straight line between two points meets the box."""
    return _inside(one, other, box) is not None


def clipped(line: tuple[Point, ...], box: Box) -> tuple[Point, ...]:
    """What of a polyline lies in a box that it enters and leaves once; not every paint device can clip."""
    found: list[Point] = []
    for one, other in pairwise(line):
        shares = _inside(one, other, box)
        if shares is not None:
            for share in shares:
                point = one[0] + share * (other[0] - one[0]), one[1] + share * (other[1] - one[1])
                if not found or point != found[-1]:
                    found.append(point)
    return tuple(found) if len(found) > 1 else ()


def _inside(one: Point, other: Point, box: Box) -> tuple[float, float] | None:
    """Between which shares of the way from one point to another the line is in the box."""
    (x0, y0), (x1, y1) = one, other
    low, high = 0.0, 1.0
    for start, end, near, far in ((x0, x1, box.x, box.right), (y0, y1, box.y, box.bottom)):
        if start == end:
            if not near <= start <= far:
                return None
            continue
        a, b = (near - start) / (end - start), (far - start) / (end - start)
        low, high = max(low, min(a, b)), min(high, max(a, b))
        if low > high:
            return None
    return low, high
