"""Draws a Stage with a painter: nothing is decided here that the Stage does not say.

Each kind of row has its painter, found by its type: a view registers those of its own rows beside its
widget, and whatever else a stage does (grid, playhead, measures) is the same for all of them.
"""

from __future__ import annotations

from functools import singledispatch

import msgspec
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QPainter, QPen, QPolygonF

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Text
from pdviz.scene.marks.theme import Theme
from pdviz.scene.stage.lanes import Lane
from pdviz.scene.stage.overview import Overview
from pdviz.scene.stage.parts import Block, Grip, Row
from pdviz.scene.stage.stage import Stage
from pdviz.scene.stage.ticks import Ticks
from pdviz.scene.stage.timeline import Measured
from pdviz.units import percent
from pdviz.widgets.kit.paint import (
    ANTIALIASING,
    NO_BRUSH,
    NO_PEN,
    draw_card,
    draw_dashed,
    draw_dimension,
    draw_lines,
    draw_round_box,
    draw_scene_text,
    draw_text,
    rect,
)
from pdviz.widgets.kit.palette import colour, text_width


class Now(msgspec.Struct, frozen=True):
    """Where the playhead stands: on the axis of what is in view, and on that of the whole."""

    x: float
    whole_x: float


@singledispatch
def paint_row(row: Row, p: QPainter, theme: Theme, scale: float) -> None:
    """What stands still while time passes."""
    raise TypeError(f"no painter is registered for {type(row).__name__}")


@singledispatch
def paint_row_now(row: Row, p: QPainter, now: Now, theme: Theme) -> None:
    """What goes with the playhead: by default nothing."""


def paint_stage(p: QPainter, stage: Stage, card: Box, theme: Theme, scale: float) -> None:
    """Everything that stands still while time passes."""
    draw_card(p, card, theme, scale)
    plot = stage.plot
    lines = [QLineF(x, plot.y, x, plot.bottom) for row in stage.rows(Ticks) for x, _ in row.ticks]
    draw_lines(p, lines, theme.grid, 1.0)
    for placed in stage.placed:
        paint_row(placed.row, p, theme, scale)


def paint_now(p: QPainter, stage: Stage, time_s: float, theme: Theme, scale: float) -> None:
    """What moves: each row as it is at ``time_s``, and the playhead."""
    x = stage.axis.clipped_px(time_s) if time_s < stage.axis.end_s else stage.plot.right
    now = Now(x, stage.whole.clipped_px(time_s))
    for placed in stage.placed:
        paint_row_now(placed.row, p, now, theme)
    _paint_playhead(p, stage, time_s, theme, scale)


def draw_veil(p: QPainter, box: Box, x: float, theme: Theme) -> None:
    """Dims the part of ``box`` that the playhead has not reached."""
    if theme.veil_opacity and box.right > x:
        left = max(box.x, x)
        veil = colour(theme.surface, theme.veil_opacity)
        p.fillRect(QRectF(left, box.y, box.right - left, box.h), veil)


def draw_hatch(p: QPainter, blocks: tuple[Block, ...], theme: Theme) -> None:
    """Marks what could not run as asked."""
    brush = QBrush(colour(theme.surface, 0.55), Qt.BrushStyle.BDiagPattern)
    for block in blocks:
        p.fillRect(rect(block.box), brush)


@paint_row.register
def _paint_overview(row: Overview, p: QPainter, theme: Theme, scale: float) -> None:
    strip, view = row.strip, row.view
    name = Box(strip.x - 74 * scale, strip.y, 66 * scale, strip.h)
    draw_text(p, name, "whole", theme.faint, 12 * scale, False, "right")
    p.fillRect(rect(row.band), colour(theme.raised))
    for block in row.blocks:
        p.fillRect(rect(block.box), colour(theme.bound(block.bound)))
    p.setRenderHint(ANTIALIASING, True)
    p.setPen(QPen(colour(theme.text), 1.6 * scale))
    p.setBrush(NO_BRUSH)
    p.drawRoundedRect(rect(view).adjusted(0.8, 0.8, -0.8, -0.8), 3 * scale, 3 * scale)
    lines = [
        QLineF(view.x + 1, view.bottom, strip.x, row.wedge.bottom),
        QLineF(view.right - 1, view.bottom, strip.right, row.wedge.bottom),
    ]
    draw_lines(p, lines, theme.line, 1.0)
    p.setRenderHint(ANTIALIASING, False)
    if row.is_marked:
        draw_hatch(p, row.blocks, theme)
    draw_dimension(p, row.total, theme, scale)


@paint_row_now.register
def _veil_overview(row: Overview, p: QPainter, now: Now, theme: Theme) -> None:
    draw_veil(p, row.band, now.whole_x, theme)


@paint_row.register
def _paint_lane(row: Lane, p: QPainter, theme: Theme, scale: float) -> None:
    box = row.box
    code, soft = theme.bound(row.bound), theme.bound_soft(row.bound)
    top = row.y(row.ceiling)
    draw_dashed(p, box.x, box.right, top, theme.faint, 1.0, 4)
    line = [QPointF(x, row.y(share)) for x, share in row.points]
    if line:
        p.setPen(NO_PEN)
        p.setBrush(colour(soft))
        p.drawPolygon(QPolygonF([QPointF(line[0].x(), box.bottom), *line, QPointF(line[-1].x(), box.bottom)]))
        p.setPen(QPen(colour(code), 1.6 * scale))
        p.setBrush(NO_BRUSH)
        p.drawPolyline(QPolygonF(line))
    draw_lines(p, [QLineF(box.x, box.bottom + 0.5, box.right, box.bottom + 0.5)], theme.line, 1.0)
    line_height = 15 * scale
    gutter = Box(box.x - 84 * scale, top - line_height / 2, 76 * scale, line_height)
    draw_text(p, gutter, percent(row.ceiling).replace(".0", ""), theme.faint, 11.5 * scale, False, "right")
    name = gutter.moved(0, min(box.y - 2 * scale, gutter.y - line_height) - gutter.y)
    draw_text(p, name, row.name, theme.bound_text(row.bound), 12.5 * scale, True, "right")
    draw_text(p, Box(gutter.x, box.bottom - 12 * scale, gutter.w, 15 * scale), "0", theme.faint,
              11.5 * scale, False, "right")  # fmt: skip


@paint_row_now.register
def _veil_lane(row: Lane, p: QPainter, now: Now, theme: Theme) -> None:
    draw_veil(p, Box(row.box.x, row.box.y - 2, row.box.w, row.box.h + 1), now.x, theme)


@paint_row.register
def _paint_ticks(row: Ticks, p: QPainter, theme: Theme, scale: float) -> None:
    for _, text in row.ticks:
        draw_scene_text(p, text, theme)


# --- the playhead --------------------------------------------------------------------------------


def playhead_boxes(stage: Stage, time_s: float, scale: float) -> list[Box]:
    """What the playhead covers: on what is in view, and on each strip of the whole."""
    half, top = 9 * scale, stage.head_y - 11 * scale
    x, whole = stage.axis.clipped_px(time_s), stage.whole.clipped_px(time_s)
    boxes = [Box(x - half, top, 2 * half, stage.plot.bottom - top + 2)]
    return boxes + [Box(whole - half, b.y, 2 * half, b.h + 2) for b in stage.grips(Grip.WHOLE)]


def open_stretches(
    texts: tuple[Text, ...], x: float, top: float, bottom: float, scale: float
) -> list[tuple[float, float]]:
    """A vertical line from ``top`` to ``bottom``, open where it would strike a text through."""
    pad = 3 * scale
    boxes = sorted(
        (text.box for text in texts if text.box.x - pad < x < text.box.right + pad), key=lambda box: box.y
    )
    found = []
    for box in boxes:
        if box.y > top:
            found.append((top, min(box.y, bottom)))
        top = max(top, box.bottom)
    if top < bottom:
        found.append((top, bottom))
    return found


def _paint_playhead(p: QPainter, stage: Stage, time_s: float, theme: Theme, scale: float) -> None:
    """The line at the present moment, with a handle, and its place in the whole."""
    whole = stage.whole.clipped_px(time_s)
    for strip in stage.grips(Grip.WHOLE):
        draw_lines(p, [QLineF(whole, strip.y + 2, whole, strip.bottom - 2)], theme.text, 1.4 * scale)
    if not stage.axis.contains(time_s):
        return
    x, top = stage.axis.clipped_px(time_s), stage.head_y
    p.setRenderHint(ANTIALIASING, True)
    stretches = open_stretches(stage.texts, x, top, stage.plot.bottom, scale)
    draw_lines(p, [QLineF(x, y0, x, y1) for y0, y1 in stretches], theme.text, 1.6 * scale)
    half = 6.5 * scale
    p.setPen(NO_PEN)
    p.setBrush(colour(theme.text))
    p.drawPolygon(
        QPolygonF(
            [QPointF(x - half, top - half), QPointF(x + half, top - half), QPointF(x, top + half * 0.7)]
        )
    )
    p.setRenderHint(ANTIALIASING, False)


def paint_measure(p: QPainter, stage: Stage, measured: Measured, theme: Theme, scale: float) -> None:
    """The marked stretch: a light, its edges and what is in it."""
    plot, axis = stage.plot, stage.axis
    if measured.end_s < axis.start_s or measured.start_s > axis.end_s:
        return
    x0, x1 = axis.clipped_px(measured.start_s), axis.clipped_px(measured.end_s)
    top, bottom = plot.y, plot.bottom
    p.fillRect(QRectF(x0, top, x1 - x0, bottom - top), colour(theme.text, 0.09))
    edges = [x for x, t in ((x0, measured.start_s), (x1, measured.end_s)) if axis.contains(t)]
    draw_lines(p, [QLineF(x, top, x, bottom) for x in edges], theme.text, 1.2 * scale)
    size = 13 * scale
    width = text_width(measured.words, size, True) + 20 * scale
    left = min(max((x0 + x1 - width) / 2, plot.x), plot.right - width)
    pill = Box(left, top + 2 * scale, width, 24 * scale)
    draw_round_box(p, pill, theme.accent, 5 * scale)
    draw_text(p, pill, measured.words, theme.on_accent, size, True, "center")
