"""A share of something over time, as a line with the ground under it filled."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pdviz.scene.marks.axis import TimeAxis
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Hover
from pdviz.scene.stage.parts import Row, Space, Wish

Points = tuple[tuple[float, float], ...]


class Lane(Row, frozen=True):
    """``points`` are (x, share of the peak), ``ceiling`` what is achievable, ``top`` the share at the top."""

    name: str
    bound: str
    points: Points
    ceiling: float
    top: float = 1.0

    @property
    def plot(self) -> Box:
        return self.box

    def y(self, share: float) -> float:
        """The height at which a share is drawn."""
        return self.box.y + self.box.h * (1 - min(share / self.top, 1.0))


class LaneTrack(msgspec.Struct, frozen=True):
    """``points(axis)`` is the line between both ends of what is in view; ``about(time_s)`` is said of it."""

    name: str
    bound: str
    ceiling: float
    points: Callable[[TimeAxis], Points]
    about: Callable[[float], Hover | None]
    gap: float
    top: float = 1.0

    @property
    def wish(self) -> Wish:
        return Wish(29.0, share=0.095, gap=self.gap)

    def build(self, space: Space) -> Lane:
        return Lane(space.box, self.name, self.bound, self.points(space.axis), self.ceiling, self.top)

    def hover(self, row: Lane, time_s: float, y: float) -> Hover | None:
        return self.about(time_s)


def straight(points: list[tuple[float, float]]) -> Points:
    """The points without those in the middle of a level stretch."""
    kept = [
        point
        for before, point, after in zip(points, points[1:], points[2:], strict=False)
        if not abs(before[1] - point[1]) < 1e-9 > abs(point[1] - after[1])
    ]
    return (*points[:1], *kept, *points[-1:]) if len(points) > 1 else tuple(points)
