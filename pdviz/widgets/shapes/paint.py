"""Draws the shapes page with a painter: nothing is decided here that the Shapes do not say."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QPointF, QRectF
from PySide6.QtGui import QPainter, QPen

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.scene.shapes.column import Entry, MatrixColumn
from pdviz.scene.shapes.intensity import IntensityBar
from pdviz.scene.shapes.page import Shapes, ShapesRow, sweep_share
from pdviz.units import percent
from pdviz.widgets.kit.paint import (
    ANTIALIASING,
    NO_PEN,
    draw_card,
    draw_lines,
    draw_round_box,
    draw_scene_text,
    draw_text,
    elided,
    rect,
)
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.slab import draw_outline, draw_slab, slab_outline


def sweep_front(row: ShapesRow, before: float, after: float, scale: float) -> Box:
    """What changes when the sweep goes from one share to another, line and open text included."""
    box, low, high = row.weights.box, min(before, after), max(before, after)
    top = box.y + box.h * low - 3 * scale
    return Box(box.x - 1, top, box.w + 2, box.h * (high - low) + 6 * scale)


def paint_sweep(p: QPainter, row: ShapesRow, time_s: float, theme: Theme, scale: float) -> None:
    """The weights read so far, the line that is being read, and the texts that stand on the weights."""
    weights = row.weights
    share = sweep_share(row, time_s)
    if share > 0:
        if weights.cut_right:
            p.setRenderHint(ANTIALIASING, True)
            p.setPen(NO_PEN)
            p.setBrush(colour(theme.bandwidth_soft))
            p.drawPolygon(slab_outline(weights, scale, share))
            p.setRenderHint(ANTIALIASING, False)
        else:
            box = Box(weights.box.x, weights.box.y, weights.box.w, weights.box.h * share)
            p.fillRect(rect(box), colour(theme.bandwidth_soft))
    draw_outline(p, weights, theme.faint, scale)
    if 0 < share < 1:
        _paint_front(p, row, share, theme, scale)
    for text in row.inside:
        draw_scene_text(p, text, theme)


def _paint_front(p: QPainter, row: ShapesRow, share: float, theme: Theme, scale: float) -> None:
    """The line that is being read, open where it would strike a text through."""
    box, thick = row.weights.box, max(2 * scale, 1.0)
    y = box.y + box.h * share
    top = max(y - thick, box.y)
    stretches = [(box.x, box.right)]
    for text in row.inside:
        if text.box.y < y and top < text.box.bottom:
            stretches = [(box.x, text.box.x - 5 * scale), (text.box.right + 5 * scale, box.right)]
    for x0, x1 in stretches:
        if x1 > x0:
            p.fillRect(QRectF(x0, top, x1 - x0, y - top), colour(theme.bandwidth))


def paint_row(p: QPainter, row: ShapesRow, theme: Theme, scale: float) -> None:
    """A card without its sweep."""
    draw_card(p, row.card, theme, scale)
    draw_slab(p, row.weights, theme.raised, scale)
    draw_slab(p, row.activations, theme.bound(row.cost.bound), scale)
    draw_slab(p, row.outputs, theme.memory_weights, scale)
    for text in row.texts:
        draw_scene_text(p, text, theme)


def paint_intensity_bar(p: QPainter, bar: IntensityBar, theme: Theme, scale: float) -> None:
    """The logarithmic bar with its dots."""
    draw_card(p, bar.card, theme, scale)
    track, turn = bar.track, bar.turn_x
    p.fillRect(rect(Box(track.x, track.y, turn - track.x, track.h)), colour(theme.bandwidth_soft))
    p.fillRect(rect(Box(turn, track.y, track.right - turn, track.h)), colour(theme.compute_soft))
    draw_lines(
        p, [QLineF(x, track.bottom - 4 * scale, x, track.bottom) for x, _ in bar.ticks], theme.muted, 1.0
    )
    for _, text in bar.ticks:
        draw_scene_text(p, text, theme)
    p.setRenderHint(ANTIALIASING, True)
    if abs(bar.ridge_x - turn) > 1:
        pen = QPen(colour(theme.text), 1.2 * scale)
        pen.setDashPattern([2, 2])
        p.setPen(pen)
        p.drawLine(QLineF(bar.ridge_x, track.y - 4 * scale, bar.ridge_x, track.bottom + 4 * scale))
    draw_lines(
        p, [QLineF(turn, track.y - 6 * scale, turn, track.bottom + 19 * scale)], theme.text, 1.6 * scale
    )
    radius = 6.5 * scale
    middle = track.y + track.h / 2
    for dot in bar.dots:
        if abs(dot.leader - dot.x) > 2:
            draw_lines(p, [QLineF(dot.leader, dot.name.box.bottom, dot.x, middle)], theme.muted, 1.0 * scale)
    for dot in bar.dots:
        p.setPen(QPen(colour(theme.surface), 2 * scale))
        p.setBrush(colour(theme.bound(dot.bound)))
        p.drawEllipse(QPointF(dot.x, middle), radius, radius)
    p.setRenderHint(ANTIALIASING, False)
    for text in (*bar.texts, *(dot.name for dot in bar.dots)):
        draw_scene_text(p, text, theme)


def paint_entry(
    p: QPainter, entry: Entry, box: Box, chosen: bool, hovered: bool, theme: Theme, scale: float
) -> None:
    """One matrix of the list in ``box``."""
    s = scale
    if chosen or hovered:
        draw_round_box(p, box.inset(0, 1 * s), theme.line if chosen else theme.raised, 6 * s)
    inner = box.inset(8 * s, 0)
    top = inner.y + (inner.h - 38 * s) / 2
    title = Box(inner.x, top, inner.w, 18 * s)
    draw_text(p, title, elided(entry.title, 13.5 * s, True, title.w), theme.text, 13.5 * s, True)
    share, role = percent(entry.share), theme.text if chosen else theme.muted
    detail = Box(inner.x, title.bottom - 1 * s, inner.w - text_width(share, 12 * s) - 8 * s, 16 * s)
    draw_text(p, detail, elided(entry.detail, 12 * s, False, detail.w), role, 12 * s)
    draw_text(p, Box(inner.x, detail.y, inner.w, detail.h), share, role, 12 * s, False, "right")
    bar = Box(inner.x, detail.bottom + 2 * s, inner.w, 2.5 * s)
    p.fillRect(rect(bar), colour(theme.grid))
    p.fillRect(rect(Box(bar.x, bar.y, max(bar.w * entry.share, 1.0), bar.h)), colour(theme.memory_weights))


def paint_column(p: QPainter, column: MatrixColumn, theme: Theme, scale: float) -> None:
    """The card of the list, without its entries."""
    draw_card(p, column.box, theme, scale)
    for text in column.texts:
        draw_scene_text(p, text, theme)
    x0, x1, y = column.scale_bar
    tick = 4 * scale
    lines = [QLineF(x0, y, x1, y), QLineF(x0, y - tick, x0, y + tick), QLineF(x1, y - tick, x1, y + tick)]
    draw_lines(p, lines, theme.muted, 1.2 * scale)


def paint_shapes(p: QPainter, shapes: Shapes, theme: Theme, scale: float) -> None:
    """Everything that stands still, the list's entries apart."""
    paint_column(p, shapes.column, theme, scale)
    for row in shapes.rows:
        paint_row(p, row, theme, scale)
    paint_intensity_bar(p, shapes.bar, theme, scale)


def paint_shapes_page(
    p: QPainter, box: Box, shapes: Shapes, theme: Theme, scale: float, time_s: float
) -> None:
    """All of the page with its top left corner at that of ``box``, the playhead at ``time_s``."""
    p.save()
    p.translate(box.x, box.y)
    paint_shapes(p, shapes, theme, scale)
    column = shapes.column
    for number, entry in enumerate(column.entries):
        if entry.box.bottom <= column.list_box.bottom + 1:
            paint_entry(p, entry, entry.box, number == column.index, False, theme, scale)
    for row in shapes.rows:
        paint_sweep(p, row, time_s, theme, scale)
    p.restore()
