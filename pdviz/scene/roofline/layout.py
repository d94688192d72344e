"""Lays a roofline out on a plot.

Labels look for a place in order of their weight: dots, ridges, axes, roofs, pinned names, then the
sizes along the two paths. What finds none is left out, so that no text stands on another or outside
the plot.
"""

from __future__ import annotations

import math

from pdviz.costmodel.bounds import BANDWIDTH, COMPUTE
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.labels import CROSSING, LabelPlacer, Point, clipped
from pdviz.scene.marks.parts import MeasureText, Text
from pdviz.scene.roofline.chart import (
    DOT_RADIUS,
    Chart,
    DotMark,
    Frame,
    Shade,
    Stroke,
    TurnedText,
    fine_places,
    log_ticks,
    roof_curves,
)
from pdviz.scene.roofline.curves import GrowthPath, Limits, PassDot, PathPoint, Roof, Roofline
from pdviz.scene.roofline.words import REACH, RIDGE, dot_words, intensity, size_words, tokens_short
from pdviz.units import si

RAIL = 12.0  # design pixels between a roof and the ruler along it
TICK, SMALL_TICK = 6.0, 3.0
SLOPE_SHARES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)


def lay_out_chart(
    roofline: Roofline,
    plot: Box,
    scale: float,
    measure: MeasureText,
    *,
    detailed: bool = True,
    limits: Limits | None = None,
) -> Chart:
    """The chart on ``plot``, between ``limits`` (else its own). Without detail: roofs, dots, one ridge."""
    frame = Frame(plot, limits or roofline.limits)
    maker = _Maker(roofline, frame, scale, measure, detailed)
    dots = maker.dots()
    guides = maker.ridges()
    rails: list[Stroke] = []
    turned = None
    if detailed:
        maker.name_axes()
        rails = maker.rails()
        maker.name_roofs()
        maker.name_pins()
        maker.name_marks()
        turned = maker.slope_text()
        maker.name_shades()
    return Chart(
        frame=frame,
        x_ticks=maker.x_ticks(),
        fine=maker.fine_grid() if detailed else (),
        y_ticks=maker.y_ticks(),
        shades=maker.shades(),
        roofs=maker.roofs,
        guides=tuple(guides),
        rails=tuple(rails),
        grounds=tuple(t.box for t in maker.labels if not maker.placer.is_clear(t.box)),
        labels=tuple(maker.labels),
        turned=turned,
        dots=tuple(dots),
    )


class _Maker:
    """Holds what the parts of a chart have in common: the frame, the lines to keep clear of, the labels."""

    def __init__(
        self, roofline: Roofline, frame: Frame, scale: float, measure: MeasureText, detailed: bool
    ) -> None:
        self.roofline, self.frame, self.scale, self.measure = roofline, frame, scale, measure
        self.detailed = detailed
        self.labels: list[Text] = []
        curves = [
            (c, clipped(tuple(frame.px(point) for point in c.points), frame.plot))
            for c in roof_curves(roofline, frame.limits)
        ]
        self.roofs = tuple(
            Stroke(points, c.role, c.width * scale, c.dash, c.what) for c, points in curves if points
        )
        lines = [stroke.points for stroke in self.roofs]
        self.placer = LabelPlacer(frame.plot.inset(2 * scale), lines, 4 * scale)
        self.marks: list[tuple[GrowthPath, PathPoint, Point, int, bool]] = []

    def text(self, x: float, y: float, words: str, role: str, size: float, bold: bool = False) -> Text:
        """A text with its top left corner at a point."""
        size *= self.scale
        return Text(
            Box(x, y, math.ceil(self.measure(words, size, bold)) + 1, 1.35 * size), words, role, size, bold
        )

    def put(
        self,
        words: str,
        role: str,
        size: float,
        corners: list[Point],
        bold: bool = False,
        crossing: float = CROSSING,
    ) -> Box | None:
        """A label at the first of some top left corners that has room."""
        text = self.text(0, 0, words, role, size, bold)
        box = self.placer.place([text.box.moved(*corner) for corner in corners], crossing=crossing)
        if box is not None:
            self.labels.append(Text(box, words, role, text.size, bold))
        return box

    def name_axes(self) -> None:
        """What the axes measure, in the two corners that a roof leaves free."""
        s, plot = self.scale, self.frame.plot
        up = self.text(plot.x + 8 * s, plot.y + 5 * s, "FLOP/s reached", "muted", 12.5)
        along = self.text(plot.right - 6 * s, plot.bottom - 4 * s, "FLOPs per byte", "muted", 12.5)
        for text in (up, _moved(along, -along.box.w, -along.box.h)):
            if self.placer.is_free(text.box):
                self.placer.take(text.box)
                self.labels.append(text)

    def shades(self) -> tuple[Shade, ...]:
        """The ground under the roof that kernels reach, on either side of its ridge."""
        limits, roof = self.frame.limits, self.roofline.reach
        low, high = limits.x_low, limits.x_high
        found = []
        for part, bound in ((roof.slope(low, high), BANDWIDTH), (roof.flat(low, high), COMPUTE)):
            if part:
                feet = ((part[-1][0], limits.y_low), (part[0][0], limits.y_low))
                points = [(x, max(y, limits.y_low)) for x, y in (*part, *feet)]
                found.append(Shade(tuple(self.frame.px(point) for point in points), bound))
        return tuple(found)

    def name_shades(self) -> None:
        """What limits on either side of the ridge, in the middle of what is free there."""
        s, plot = self.scale, self.frame.plot
        x, top = self.frame.px(self.roofline.reach.corner)
        if not plot.x < x < plot.right:
            return
        for words, role, left in (
            ("limited by memory bandwidth", "bandwidth_text", True),
            ("limited by compute", "compute_text", False),
        ):
            width = self.text(0, 0, words, role, 13, True).box.w
            at = x - 14 * s - width if left else (x + plot.right) / 2 - width / 2
            rows = (0.7, 0.62, 0.78, 0.54) if left else (0.5, 0.6, 0.4, 0.7, 0.3)
            corners = [(at, top + share * (plot.bottom - top)) for share in rows]
            clear = [c for c in corners if self.placer.is_free(Box(*c, width, 18 * s), lines=True)]
            self.put(words, role, 13, clear, True)

    # --- dots ----------------------------------------------------------------------------------

    def dots(self) -> list[DotMark]:
        """Dots in view, each with its label beside it."""
        found = []
        for dot in self.roofline.dots:
            if self.frame.shows((dot.x, dot.y)):
                x, y = self.frame.px((dot.x, dot.y))
                found.append(DotMark(dot.phase, x, y, dot.cost.bound))
                radius = (DOT_RADIUS + 3) * self.scale
                self.placer.take(Box(x - radius, y - radius, 2 * radius, 2 * radius))
        for mark in found:
            for named in self.roofline.dots:
                if named.phase == mark.phase:
                    self._name_dot(mark, named)
        return found

    def _name_dot(self, mark: DotMark, dot: PassDot) -> None:
        s = self.scale
        title, at = dot_words(self.roofline, dot)
        name = self.text(
            0, 0, title if self.detailed else dot.phase, "text", 14 if self.detailed else 13, True
        )
        more = self.text(0, 0, at, "muted", 12.5)
        width = max(name.box.w, more.box.w) if self.detailed else name.box.w
        height = name.box.h + (more.box.h if self.detailed else 0)
        side, rise = 14 * s, (RAIL + 10) * s if self.detailed else 9 * s
        right, left = mark.x + side, mark.x - side - width
        below, above = mark.y + rise, mark.y - rise - height
        corners = [
            (right, mark.y + 2 * s),
            (mark.x - 10 * s, below),
            (right, below),
            (left, above - (RAIL + 24) * s if self.detailed else above),
            (left, below),
            (right, above),
            (mark.x - width / 2, above),
            (left, mark.y - height / 2),
            (right, mark.y - height / 2),
        ]
        box = self.placer.place([Box(x, y, width, height) for x, y in corners], required=True)
        if box is None:
            return
        self.labels.append(
            Text(Box(box.x, box.y, name.box.w, name.box.h), name.text, "text", name.size, True)
        )
        if self.detailed:
            lower = Box(box.x, box.y + name.box.h, more.box.w, more.box.h)
            self.labels.append(Text(lower, at, "muted", more.size))

    # --- roofs ---------------------------------------------------------------------------------

    def name_roofs(self) -> None:
        """What the flat parts promise and give, at their right ends."""
        s, r = self.scale, self.roofline
        peak_y, reach_y = (self.frame.px(roof.corner)[1] for roof in (r.peak, r.reach))
        right = self.frame.plot.right - 6 * s
        names = [(f"{si(r.peak.flops_per_s, 'FLOP/s')} peak", peak_y)]
        if r.peak != r.reach:
            names.append((f"{si(r.reach.flops_per_s, 'FLOP/s')} kernels reach", reach_y))
        for words, y in names:
            box = self.text(0, 0, words, "muted", 12.5).box
            start = max(self.frame.px(r.peak.corner)[0], self.frame.plot.x) + 8 * s
            lefts = [right - box.w, *(start + share * (right - box.w - start) for share in (0.66, 0.33, 0.0))]
            corners = [(left, y + 2 * s) for left in lefts] + [(left, y - box.h - s) for left in lefts]
            corners.insert(1, (lefts[0], reach_y + 20 * s))
            self.put(words, "compute_text", 12.5, [c for c in corners if c[0] >= start])

    def slope_text(self) -> TurnedText | None:
        """The bandwidth along the slope, where a stretch beside it is free."""
        s, limits = self.scale, self.frame.limits
        slope = self.roofline.peak.slope(limits.x_low, limits.x_high)
        if not slope:
            return None
        (x0, y0), (x1, y1) = (self.frame.px(point) for point in slope)
        length = math.hypot(x1 - x0, y1 - y0)
        words = f"{si(self.roofline.peak.bytes_per_s, 'B/s')} peak bandwidth"
        text = self.text(0, 0, words, "bandwidth_text", 12.5)
        dx, dy = (x1 - x0) / length, (y1 - y0) / length
        for off, share in ((off, share) for off in (44 * s, 60 * s) for share in SLOPE_SHARES):
            x, y = x0 + share * (x1 - x0) + dy * off, y0 + share * (y1 - y0) - dx * off
            side = text.box.h
            steps = [k * side - text.box.w / 2 for k in range(math.ceil(text.box.w / side) + 1)]
            boxes = [Box(x + dx * k - side / 2, y + dy * k - side / 2, side, side) for k in steps]
            if length > 1.3 * text.box.w and all(self.placer.is_free(box, lines=True) for box in boxes):
                for box in boxes:
                    self.placer.take(box)
                return TurnedText(words, x, y, math.degrees(math.atan2(dy, dx)), "bandwidth_text", text.size)
        return None

    def ridges(self) -> list[Stroke]:
        """Dashed lines down from the ridges, named at their feet."""
        s, r, plot = self.scale, self.roofline, self.frame.plot
        found = []
        named = [(r.peak, f"ridge {intensity(r.peak.ridge_flops_per_byte)}", "muted", RIDGE)]
        if self.detailed and r.reach != r.peak:
            named.append((r.reach, f"kernels {intensity(r.reach.ridge_flops_per_byte)}", "muted", REACH))
        other_x = self.frame.px(r.reach.corner)[0]
        for roof, words, role, what in named:
            x, y = self.frame.px(roof.corner)
            if not plot.x <= x <= plot.right or y >= plot.bottom:
                continue
            found.append(Stroke(((x, max(y, plot.y)), (x, plot.bottom)), role, 1.2 * s, 3.0, what))
            self.placer.add_line(found[-1].points)
            width = self.text(0, 0, words, role, 12).box.w
            foot = plot.bottom - 20 * s
            sides = [(x + 6 * s, foot), (x - 6 * s - width, foot)]
            if (roof is r.peak) == (x < other_x) and self.detailed:
                sides.reverse()
            higher = [(left, top - 18 * s) for left, top in sides]
            self.put(words, role, 12, [*sides, *higher, (sides[0][0], foot - 36 * s)])
        return found

    def name_pins(self) -> None:
        """The names of pinned roofs on their flat parts, else on their slopes."""
        s, limits = self.scale, self.frame.limits
        for pin in self.roofline.pins:
            if pin.roof is None:
                continue
            words = f"{pin.name} {si(pin.roof.flops_per_s, 'FLOP/s')}"
            box = self.text(0, 0, words, "muted", 12).box
            corners: list[Point] = []
            for part in (
                pin.roof.flat(limits.x_low, limits.x_high),
                pin.roof.slope(limits.x_low, limits.x_high),
            ):
                for share in (0.98, 0.8, 0.62, 0.44, 0.26) if part else ():
                    x, y = self.frame.px(
                        (
                            part[0][0] + share * (part[1][0] - part[0][0]),
                            part[0][1] + share * (part[1][1] - part[0][1]),
                        )
                    )
                    corners += [(x - box.w, y - box.h - 2 * s), (x - box.w, y + 2 * s)]
            inside = [corner for corner in corners if self.frame.plot.contains(*corner)]
            self.put(words, "muted", 12, inside, crossing=4 * CROSSING)

    # --- paths ---------------------------------------------------------------------------------

    def rails(self) -> list[Stroke]:
        """Rulers along the roofs: prompt lengths above the peak, batch sizes below what kernels reach."""
        found = self._rail(self.roofline.prompt_path, -1, self.roofline.peak)
        if self.roofline.decode is not None:
            found += self._rail(self.roofline.batch_path, 1, self.roofline.reach)
        return found

    def _rail(self, path: GrowthPath, side: int, roof: Roof) -> list[Stroke]:
        """A ruler on one side of a roof (-1 above, 1 below), as far as the path goes."""
        s, limits = self.scale, self.frame.limits

        def at(x: float) -> Point:
            left, top = self.frame.px((x, roof.height(x)))
            return left, top + side * RAIL * s

        ends = sorted(min(max(path.points[k].x, limits.x_low), limits.x_high) for k in (0, -1))
        if ends[1] - ends[0] < 1e-6:
            return []
        corner = [roof.corner[0]] if ends[0] < roof.corner[0] < ends[1] else []
        strokes = [Stroke(tuple(at(x) for x in (ends[0], *corner, ends[1])), "faint", 1.0 * s)]
        last = -math.inf
        for mark in path.marks:
            x, y = at(mark.x)
            if not self.frame.shows((mark.x, roof.height(mark.x))) or abs(x - last) < 2.5 * s:
                continue
            last = x
            tick = (TICK if _is_named(path, mark) else SMALL_TICK) * s
            strokes.append(Stroke(((x, y), (x, y + side * tick)), "faint", 1.0 * s))
        self.placer.add_line(strokes[0].points)
        for mark in path.marks:
            if _is_named(path, mark) and self.frame.shows((mark.x, roof.height(mark.x))):
                self.marks.append((path, mark, at(mark.x), side, mark.x > roof.corner[0]))
        return strokes

    def name_marks(self) -> None:
        """The sizes along the rulers: the unit with the first that has room for it, then both ends."""
        for path in (self.roofline.prompt_path, self.roofline.batch_path):
            marks = [mark for mark in self.marks if mark[0] is path]
            order = sorted(marks, key=lambda m: (m[1].size == path.highest, m[1].size == path.lowest))
            named = next((mark for mark in order if self._name_mark(*mark, unit=True)), None)
            for mark in reversed(order):
                if mark is not named:
                    self._name_mark(*mark)

    def _name_mark(
        self, path: GrowthPath, mark: PathPoint, at: Point, side: int, is_flat: bool, unit: bool = False
    ) -> bool:
        s = self.scale
        words = size_words(path, mark.size, short=True) if unit else tokens_short(mark.size)
        box = self.text(0, 0, words, "faint", 12).box
        x, y = at
        y += side * (TICK + 1) * s - (box.h if side < 0 else 0)
        left = x - box.w / 2 if is_flat else x - box.w + 5 * s if side < 0 else x - 5 * s
        left = min(left, max(self.placer.room.right - box.w, x - box.w))
        return self.put(words, "faint", 12, [(left, y)]) is not None

    # --- axes ----------------------------------------------------------------------------------

    def fine_grid(self) -> tuple[Stroke, ...]:
        """The lines of logarithmic paper between the decades, where they are not too close."""
        limits, plot, frame = self.frame.limits, self.frame.plot, self.frame
        found: list[tuple[Point, ...]] = []
        if frame.px_per_x >= 90 * self.scale:
            xs = [frame.px((place, limits.y_low))[0] for place in fine_places(limits.x_low, limits.x_high)]
            found += [((x, plot.y), (x, plot.bottom)) for x in xs]
        if frame.px_per_y >= 90 * self.scale:
            ys = [frame.px((limits.x_low, place))[1] for place in fine_places(limits.y_low, limits.y_high)]
            found += [((plot.x, y), (plot.right, y)) for y in ys]
        return tuple(Stroke(points, "grid", 1.0) for points in found)

    def x_ticks(self) -> tuple[tuple[float, Text | None], ...]:
        limits, plot, s = self.frame.limits, self.frame.plot, self.scale
        found: list[tuple[float, Text | None]] = []
        for place, label in log_ticks(limits.x_low, limits.x_high, plot.w, 44 * s):
            x = self.frame.px((place, limits.y_low))[0]
            text = self.text(x, plot.bottom + 5 * s, label, "faint", 12)
            found.append((x, _moved(text, -text.box.w / 2, 0) if label else None))
        return tuple(found)

    def y_ticks(self) -> tuple[tuple[float, Text | None], ...]:
        limits, plot, s = self.frame.limits, self.frame.plot, self.scale
        found: list[tuple[float, Text | None]] = []
        for place, label in log_ticks(limits.y_low, limits.y_high, plot.h, 24 * s):
            y = self.frame.px((limits.x_low, place))[1]
            text = self.text(plot.x - 8 * s, y, label, "faint", 12)
            found.append((y, _moved(text, -text.box.w, -text.box.h / 2) if label else None))
        return tuple(found)


def _is_named(path: GrowthPath, mark: PathPoint) -> bool:
    """Both ends and the powers of eight."""
    return mark.size in (path.lowest, path.highest) or (round(math.log2(mark.size)) % 3 == 0)


def _moved(text: Text, dx: float, dy: float) -> Text:
    return Text(text.box.moved(dx, dy), text.text, text.role, text.size, text.bold)
