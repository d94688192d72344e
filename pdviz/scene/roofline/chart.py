"""A roofline on a plot of some size, as a value that painting, hit-testing and tests read.

Places are log10 of what the axes measure; pixels are those of the plot's box. `roofline_layout` makes it.
"""

from __future__ import annotations

import math
from itertools import pairwise

import msgspec

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.labels import Point
from pdviz.scene.marks.parts import Text
from pdviz.scene.roofline.curves import Limits, Roofline
from pdviz.scene.roofline.words import PIN, REACH, RIDGE
from pdviz.units import si, significant

DOT_RADIUS = 6.5
PIN_DASHES = (0.0, 6.0, 2.5, 10.0)


class Curve(msgspec.Struct, frozen=True):
    """A line of the chart in its own coordinates. ``dash`` is in line widths, 0 for a solid line.

    ``what`` is what it explains when pointed at.
    """

    points: tuple[Point, ...]
    role: str
    width: float
    dash: float = 0.0
    what: str = ""


class Stroke(msgspec.Struct, frozen=True):
    """A Curve in pixels."""

    points: tuple[Point, ...]
    role: str
    width: float
    dash: float = 0.0
    what: str = ""


class Shade(msgspec.Struct, frozen=True):
    """The ground under a roof where one thing limits: a polygon in pixels."""

    points: tuple[Point, ...]
    bound: str


class DotMark(msgspec.Struct, frozen=True):
    """A dot in pixels, coloured by what limits its pass."""

    phase: str
    x: float
    y: float
    bound: str


class TurnedText(msgspec.Struct, frozen=True):
    """A text centred on a point and turned by ``degrees``, clockwise."""

    text: str
    x: float
    y: float
    degrees: float
    role: str
    size: float


class Frame(msgspec.Struct, frozen=True):
    """Log-log axes on a plot."""

    plot: Box
    limits: Limits

    @property
    def px_per_x(self) -> float:
        """Pixels for a decade of intensity."""
        return self.plot.w / (self.limits.x_high - self.limits.x_low)

    @property
    def px_per_y(self) -> float:
        return self.plot.h / (self.limits.y_high - self.limits.y_low)

    def px(self, point: Point) -> Point:
        return (
            self.plot.x + (point[0] - self.limits.x_low) * self.px_per_x,
            self.plot.bottom - (point[1] - self.limits.y_low) * self.px_per_y,
        )

    def place(self, x_px: float, y_px: float) -> Point:
        """The place under a pixel."""
        return (
            self.limits.x_low + (x_px - self.plot.x) / self.px_per_x,
            self.limits.y_low + (self.plot.bottom - y_px) / self.px_per_y,
        )

    def shows(self, point: Point) -> bool:
        x, y = self.px(point)
        plot = self.plot
        return plot.x - 1e-6 <= x <= plot.right + 1e-6 and plot.y - 1e-6 <= y <= plot.bottom + 1e-6


class Chart(msgspec.Struct, frozen=True):
    """Everything drawn on the plot, and the labels of its axes, in the order of painting."""

    frame: Frame
    x_ticks: tuple[tuple[float, Text | None], ...]
    y_ticks: tuple[tuple[float, Text | None], ...]
    fine: tuple[Stroke, ...]
    shades: tuple[Shade, ...]
    roofs: tuple[Stroke, ...]
    guides: tuple[Stroke, ...]
    rails: tuple[Stroke, ...]
    grounds: tuple[Box, ...]
    labels: tuple[Text, ...]
    turned: TurnedText | None
    dots: tuple[DotMark, ...]

    def line_at(self, x: float, y: float, reach_px: float) -> str:
        """What the nearest line within ``reach_px`` stands for; nothing where there is none."""
        best, found = reach_px, ""
        for stroke in (*self.roofs, *self.guides):
            for (x0, y0), (x1, y1) in pairwise(stroke.points) if stroke.what else ():
                dx, dy = x1 - x0, y1 - y0
                along = ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy) if dx or dy else 0.0
                share = min(max(along, 0.0), 1.0)
                distance = math.hypot(x - x0 - share * dx, y - y0 - share * dy)
                if distance <= best:
                    best, found = distance, stroke.what
        return found


def log_label(value: float) -> str:
    """A round value as an axis writes it.

    >>> log_label(0.1), log_label(1), log_label(500), log_label(1e4), log_label(2e14), log_label(1e15)
    ('0.1', '1', '500', '10k', '200T', '1P')
    """
    if value < 1:
        return significant(value, 1)
    return si(value, "", 1 + math.floor(math.log10(value) + 1e-9) % 3).replace(" ", "")


def log_ticks(low: float, high: float, length_px: float, least_px: float) -> tuple[tuple[float, str], ...]:
    """Decades between two places (log10), 2 and 5 where they have room; labels as often as they fit."""
    per_decade = length_px / (high - low)
    stride = max(1, math.ceil(least_px / per_decade))
    within = (1, 2, 5) if per_decade * 0.301 >= 2 * least_px else (1,)
    found = []
    for exponent in range(math.floor(low), math.ceil(high) + 1):
        for mantissa in within:
            place = exponent + math.log10(mantissa)
            if low <= place <= high:
                label = log_label(mantissa * 10.0**exponent) if exponent % stride == 0 else ""
                found.append((place, label))
    return tuple(found)


def roof_curves(roofline: Roofline, limits: Limits) -> tuple[Curve, ...]:
    """Pinned roofs, what kernels reach, the peak: from the back to the front."""
    low, high = limits.x_low, limits.x_high
    curves = []
    for number, pin in enumerate(roofline.pins):
        if pin.roof is not None:
            slope, flat = pin.roof.slope(low, high), pin.roof.flat(low, high)
            points = (*slope, *flat[1:]) if slope else flat
            curves.append(Curve(points, "faint", 1.3, PIN_DASHES[number % len(PIN_DASHES)], PIN + pin.name))
    shown = [(roofline.reach, 1.5, 3.5, REACH)] if roofline.reach != roofline.peak else []
    for roof, width, dash, what in (*shown, (roofline.peak, 2.4, 0.0, RIDGE)):
        curves += [
            Curve(points, role, width, dash, what)
            for points, role in ((roof.slope(low, high), "bandwidth"), (roof.flat(low, high), "compute"))
            if points
        ]
    return tuple(curves)


def fine_places(low: float, high: float) -> list[float]:
    """The eight places between each two decades."""
    decades = range(math.floor(low), math.ceil(high))
    places = [decade + math.log10(k) for decade in decades for k in range(2, 10)]
    return [place for place in places if low < place < high]
