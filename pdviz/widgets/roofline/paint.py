"""Draws a roofline Chart and what is said beside it: on a widget, in a plot, on a page alike."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QPointF, Qt
from PySide6.QtGui import QPainter, QPen, QPolygonF

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.scene.roofline.chart import DOT_RADIUS, Chart, DotMark, Stroke
from pdviz.scene.roofline.curves import Roofline
from pdviz.scene.roofline.words import ChartNote, machine_words
from pdviz.units import duration
from pdviz.widgets.kit.paint import (
    ANTIALIASING,
    NO_BRUSH,
    NO_PEN,
    draw_card,
    draw_lines,
    draw_round_box,
    draw_scene_text,
    draw_text,
    elided,
    rect,
    wrapped,
)
from pdviz.widgets.kit.palette import colour, text_width

RING_RADIUS = 11.0
LABEL_GROUND = 0.82
SHADE = 0.28


def stroke_pen(role: str, width: float, dash: float, theme: Theme) -> QPen:
    """The pen of a line of the chart; ``dash`` is in line widths."""
    pen = QPen(colour(getattr(theme, role)), width)
    if dash:
        pen.setDashPattern([dash, 0.75 * dash])
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    return pen


def paint_grid(p: QPainter, chart: Chart, theme: Theme) -> None:
    """The ground under the roof, a line for each decade, and the two axes."""
    plot = chart.frame.plot
    p.setPen(NO_PEN)
    for shade in chart.shades:
        p.setBrush(colour(theme.bound_soft(shade.bound), SHADE))
        p.drawPolygon(QPolygonF([QPointF(x, y) for x, y in shade.points]))
    fine = [QLineF(*(round(v) + 0.5 for point in stroke.points for v in point)) for stroke in chart.fine]
    p.setPen(QPen(colour(theme.grid, 0.5), 1.0))
    p.drawLines(fine)
    lines = [QLineF(round(x) + 0.5, plot.y, round(x) + 0.5, plot.bottom) for x, _ in chart.x_ticks]
    lines += [QLineF(plot.x, round(y) + 0.5, plot.right, round(y) + 0.5) for y, _ in chart.y_ticks]
    draw_lines(p, lines, theme.grid, 1.0)
    x, y = round(plot.x) + 0.5, round(plot.bottom) - 0.5
    draw_lines(p, [QLineF(x, plot.y, x, y), QLineF(x, y, plot.right, y)], theme.line, 1.0)


def paint_axis_labels(p: QPainter, chart: Chart, theme: Theme) -> None:
    for _, text in (*chart.x_ticks, *chart.y_ticks):
        if text is not None:
            draw_scene_text(p, text, theme)


def paint_strokes(p: QPainter, strokes: tuple[Stroke, ...], theme: Theme) -> None:
    p.setRenderHint(ANTIALIASING, True)
    p.setBrush(NO_BRUSH)
    for stroke in strokes:
        p.setPen(stroke_pen(stroke.role, stroke.width, stroke.dash, theme))
        p.drawPolyline(QPolygonF([QPointF(x, y) for x, y in stroke.points]))
    p.setRenderHint(ANTIALIASING, False)


def paint_marks(p: QPainter, chart: Chart, theme: Theme, scale: float) -> None:
    """Ridges, rulers, labels and dots: all that stands on the roofs."""
    paint_strokes(p, chart.guides, theme)
    paint_strokes(p, chart.rails, theme)
    ground = colour(theme.surface, LABEL_GROUND)
    for box in chart.grounds:
        p.fillRect(rect(box.inset(-2 * scale, 0)), ground)
    for text in chart.labels:
        draw_scene_text(p, text, theme)
    turned = chart.turned
    if turned is not None:
        p.save()
        p.translate(turned.x, turned.y)
        p.rotate(turned.degrees)
        draw_text(p, Box(0, 0, 0, 0), turned.text, getattr(theme, turned.role), turned.size, False, "center")
        p.restore()
    for dot in chart.dots:
        paint_dot(p, dot, theme, scale)


def paint_dot(p: QPainter, dot: DotMark, theme: Theme, scale: float) -> None:
    """A disc in the colour of its bound, cut out from what it stands on."""
    p.setRenderHint(ANTIALIASING, True)
    p.setPen(NO_PEN)
    for reach, code in ((DOT_RADIUS + 2, theme.surface), (DOT_RADIUS, theme.bound(dot.bound))):
        p.setBrush(colour(code))
        p.drawEllipse(QPointF(dot.x, dot.y), reach * scale, reach * scale)
    p.setRenderHint(ANTIALIASING, False)


def now_mark(roofline: Roofline, chart: Chart) -> DotMark | None:
    """Where the playhead is on the chart; None where that is out of view."""
    now = roofline.now
    if not chart.frame.shows((now.x, now.y)):
        return None
    x, y = chart.frame.px((now.x, now.y))
    return DotMark(now.phase, x, y, now.cost.bound)


def now_box(mark: DotMark, scale: float) -> Box:
    """What the mark of the playhead covers."""
    reach = (RING_RADIUS + 2.5) * scale
    return Box(mark.x - reach, mark.y - reach, 2 * reach, 2 * reach)


def paint_now(p: QPainter, mark: DotMark, theme: Theme, scale: float) -> None:
    """A ring about the pass under the playhead, and the pass itself where it has moved on."""
    paint_dot(p, mark, theme, scale)
    p.setRenderHint(ANTIALIASING, True)
    p.setBrush(NO_BRUSH)
    p.setPen(QPen(colour(theme.text), 2 * scale))
    p.drawEllipse(QPointF(mark.x, mark.y), RING_RADIUS * scale, RING_RADIUS * scale)
    p.setRenderHint(ANTIALIASING, False)


def paint_chart(p: QPainter, chart: Chart, theme: Theme, scale: float) -> None:
    """The whole chart but the playhead."""
    paint_grid(p, chart, theme)
    paint_strokes(p, chart.roofs, theme)
    paint_marks(p, chart, theme, scale)
    paint_axis_labels(p, chart, theme)


def paint_chart_header(
    p: QPainter, card: Box, header: Box, roofline: Roofline, theme: Theme, scale: float
) -> None:
    """The card of the chart, its title and the key."""
    draw_card(p, card, theme, scale)
    draw_text(p, header, "Roofline", theme.text, 15.5 * scale, True)
    left = header.x + text_width("Roofline", 15.5 * scale, True) + 14 * scale
    size, x = 13 * scale, header.right
    key = [("compute", theme.compute), ("memory bandwidth", theme.bandwidth)]
    if roofline.reach != roofline.peak:
        key.append(("dashed: what kernels reach", ""))
    while key and sum(_key_width(words, code, size, scale) for words, code in key) > x - left:
        key.pop()
    for words, code in reversed(key):
        width = _key_width(words, code, size, scale)
        draw_text(p, Box(x - width, header.y, width, header.h), words, theme.muted, size, False, "right")
        if code:
            swatch = Box(
                x - width + 16 * scale, header.y + header.h / 2 - 5.5 * scale, 11 * scale, 11 * scale
            )
            draw_round_box(p, swatch, code, 2.5 * scale)
        x -= width
    words = elided(machine_words(roofline.machine), size, False, max(x - left, 0.0))
    draw_text(p, Box(left, header.y, 0, header.h), words, theme.faint, size)


def _key_width(words: str, code: str, size: float, scale: float) -> float:
    """What an entry of the key takes, with the space before it and its swatch."""
    return text_width(words, size) + (34 if code else 16) * scale


def paint_note(p: QPainter, card: Box, e: ChartNote, theme: Theme, scale: float) -> None:
    """The card beside the chart. Parts that have no room are left out, the last ones first."""
    s = scale
    draw_card(p, card, theme, s)
    inner = card.inset(16 * s, 14 * s)
    y = inner.y
    draw_text(
        p,
        Box(inner.x, y, inner.w, 24 * s),
        elided(e.title, 15.5 * s, True, inner.w),
        theme.text,
        15.5 * s,
        True,
    )
    y += 24 * s
    if e.lead:
        code = theme.bound_text(e.bound) if e.bound else theme.muted
        for line in wrapped(e.lead, 13 * s, e.bound is not None, inner.w):
            draw_text(p, Box(inner.x, y, inner.w, 19 * s), line, code, 13 * s, e.bound is not None)
            y += 19 * s
    y += 8 * s
    for name, value in e.rows:
        row = Box(inner.x, y, inner.w, 23 * s)
        if row.bottom > inner.bottom:
            return
        draw_text(p, row, name, theme.muted, 13 * s)
        draw_text(p, row, value, theme.text, 13.5 * s, True, "right")
        y = row.bottom
    if e.bars:
        y = _paint_bars(p, Box(inner.x, y + 10 * s, inner.w, inner.bottom - y - 10 * s), e, theme, s)
    for heading, sentence in e.advice:
        lines = wrapped(sentence[:1].upper() + sentence[1:], 13 * s, False, inner.w)
        if y + (20 + 20 + 18 * len(lines)) * s > inner.bottom:
            return
        y += 20 * s
        draw_text(p, Box(inner.x, y, inner.w, 20 * s), heading, theme.text, 13 * s, True)
        y += 20 * s
        for line in lines:
            draw_text(p, Box(inner.x, y, inner.w, 18 * s), line, theme.muted, 13 * s)
            y += 18 * s


def _paint_bars(p: QPainter, box: Box, e: ChartNote, theme: Theme, s: float) -> float:
    """The times of a pass to scale: it takes the longer of them. Returns where they end."""
    if (len(e.bars) * 34 + 22) * s > box.h:
        return box.y
    draw_lines(p, [QLineF(box.x, box.y, box.right, box.y)], theme.line, 1.0)
    y = box.y + 10 * s
    longest = max(seconds for _, _, seconds in e.bars)
    for bound, name, seconds in e.bars:
        row = Box(box.x, y, box.w, 18 * s)
        is_limit = bound == e.bound
        draw_text(p, row, name, theme.bound_text(bound), 12.5 * s, is_limit)
        draw_text(
            p, row, duration(seconds), theme.text if is_limit else theme.muted, 12.5 * s, is_limit, "right"
        )
        track = Box(box.x, row.bottom + 3 * s, box.w, 6 * s)
        draw_round_box(p, track, theme.raised, 3 * s)
        length = max(box.w * seconds / longest, 2 * s)
        draw_round_box(p, Box(track.x, track.y, length, track.h), theme.bound(bound), min(3 * s, length / 2))
        y += 34 * s
    note = Box(box.x, y, box.w, 16 * s)
    draw_text(p, note, "the pass takes the longer of the two", theme.faint, 12 * s)
    return note.bottom
