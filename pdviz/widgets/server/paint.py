"""Painters for the rows of a server's stage."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QPainter, QPen, QPolygonF

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.scene.server.crowd import Crowd
from pdviz.scene.server.lanes import Lanes, StreamLane, lane_inset, token_ink
from pdviz.scene.server.levels import Level, Points
from pdviz.scene.server.passes import PassLane
from pdviz.scene.server.stage import Head
from pdviz.scene.server.streams import Streams
from pdviz.widgets.kit.paint import (
    ANTIALIASING,
    NO_BRUSH,
    NO_PEN,
    draw_lines,
    draw_round_box,
    draw_scene_text,
    draw_text,
    rect,
)
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.stage.paint import Now, draw_veil, paint_row, paint_row_now

WAITING = 0.4
"""Opacity of what waits."""


@paint_row.register
def _paint_head(row: Head, p: QPainter, theme: Theme, scale: float) -> None:
    draw_scene_text(p, row.title, theme)
    if row.has_legend:
        _paint_legend(p, row, theme, scale)


def _paint_legend(p: QPainter, row: Head, theme: Theme, scale: float) -> None:
    """What the marks mean, from the right, as many as there is room for."""
    box, size, x = row.box, 12 * scale, row.box.right
    entries = (
        (row.stall_words, "stall"),
        ("compute-bound", "compute"),
        ("bandwidth-bound", "bandwidth"),
        ("first token", "first"),
        ("one token", "token"),
        ("waiting", "wait"),
    )
    for words, mark in entries:
        width = text_width(words, size)
        left = x - width - 22 * scale
        if left < row.title.box.right + 12 * scale:
            return
        draw_text(p, Box(x - width, box.y, width, box.h), words, theme.muted, size)
        _paint_mark(p, mark, Box(left, box.y, 16 * scale, box.h), theme, scale)
        x = left - 14 * scale


def _paint_mark(p: QPainter, mark: str, box: Box, theme: Theme, s: float) -> None:
    middle = box.y + box.h / 2
    if mark == "stall":
        draw_round_box(p, Box(box.x, middle - 5 * s, 16 * s, 10 * s), theme.compute_soft, 2 * s)
    elif mark == "wait":
        draw_round_box(p, Box(box.x, middle - 2 * s, 16 * s, 4 * s), theme.overhead, 2 * s, WAITING)
    elif mark == "token":
        lines = [
            QLineF(box.right - k * s, middle - 5 * s, box.right - k * s, middle + 5 * s) for k in (2, 6, 10)
        ]
        draw_lines(p, lines, theme.bandwidth, 1.2 * s)
    elif mark == "first":
        _paint_dots(p, [QPointF(box.right - 6 * s, middle)], 3.5 * s, theme)
    else:
        draw_round_box(
            p, Box(box.right - 11 * s, middle - 5.5 * s, 11 * s, 11 * s), theme.bound(mark), 2.5 * s
        )


@paint_row.register
def _paint_passes(row: PassLane, p: QPainter, theme: Theme, scale: float) -> None:
    hatch = QBrush(colour(theme.surface, 0.6), Qt.BrushStyle.BDiagPattern)
    for ground in row.grounds:
        p.fillRect(rect(ground), colour(theme.window))
    for block in row.blocks:
        box = block.box
        p.fillRect(rect(box), colour(theme.bound(block.bound)))
        if block.hatched_to is not None:
            p.fillRect(QRectF(box.x, box.y, box.w, block.hatched_to - box.y), hatch)
    draw_scene_text(p, row.name, theme)


@paint_row.register
def _paint_streams(row: Streams, p: QPainter, theme: Theme, scale: float) -> None:
    if isinstance(row.content, Crowd):
        _paint_crowd(p, row.box, row.content, theme, scale)
    else:
        _paint_lanes(p, row.box, row.content, theme, scale)
    if row.note:
        size = 11 * scale
        width = text_width(row.note, size) + 12 * scale
        note = Box(row.box.right - width, row.box.y, width, 18 * scale)
        draw_round_box(p, note, theme.raised, 4 * scale)
        draw_text(p, note, row.note, theme.muted, size, False, "center")


def _paint_lanes(p: QPainter, box: Box, lanes: Lanes, theme: Theme, scale: float) -> None:
    """Tokens as bars that are then cut apart, so that their number costs nothing; all else on top."""
    if not lanes.lanes:
        return
    pitch = lanes.lanes[0].box.h
    inset = lane_inset(pitch, scale)
    bar = colour(theme.bandwidth)
    for lane in lanes.lanes:
        for x0, x1 in lane.decodes:
            left, right = round(x0), min(round(x1) + token_ink(scale), box.right)
            p.fillRect(QRectF(left, lane.box.y + inset, right - left, lane.box.h - 2 * inset), bar)
    ground = colour(theme.surface)
    for silence in lanes.silences:
        for x0, x1 in silence.spans:
            p.fillRect(QRectF(x0, silence.y, x1 - x0, silence.bottom - silence.y), ground)
    foot = min(lanes.lanes[-1].box.bottom, box.bottom)
    draw_lines(p, [QLineF(x, box.y, x, foot) for x in lanes.grid], theme.grid, 1.0)
    if pitch >= 8 * scale:
        edges = [QLineF(box.x, lane.box.bottom, box.right, lane.box.bottom) for lane in lanes.lanes]
        draw_lines(p, edges, theme.grid, 1.0)
    for lane in lanes.lanes:
        _paint_waits(p, lane, theme, scale)
    for stall in lanes.stalls:
        p.fillRect(rect(stall.box), colour(theme.bound_soft(stall.bound)))
    radius = min(4 * scale, max(0.3 * pitch, 1.0))
    dots = [QPointF(lane.first_x, lane.box.y + pitch / 2) for lane in lanes.lanes if lane.first_x is not None]
    _paint_dots(p, dots, radius, theme)
    _paint_preemptions(p, lanes.lanes, theme, scale)
    for name in lanes.names:
        draw_scene_text(p, name, theme)


def _paint_waits(p: QPainter, lane: StreamLane, theme: Theme, scale: float) -> None:
    high = min(5 * scale, max(0.4 * lane.box.h, 1.0))
    y = lane.box.y + (lane.box.h - high) / 2
    for spans, ink in (
        (lane.waits, colour(theme.overhead, WAITING)),
        (lane.links, colour(theme.link)),
        (lane.prefills, colour(theme.compute)),
    ):
        for x0, x1 in spans:
            p.fillRect(QRectF(x0, y, max(x1 - x0, 1.0), high), ink)


def _paint_dots(p: QPainter, dots: list[QPointF], radius: float, theme: Theme) -> None:
    p.setRenderHint(ANTIALIASING, True)
    p.setPen(NO_PEN)
    p.setBrush(colour(theme.text))
    for dot in dots:
        p.drawEllipse(dot, radius, radius)
    p.setRenderHint(ANTIALIASING, False)


def _paint_preemptions(p: QPainter, lanes: tuple[StreamLane, ...], theme: Theme, scale: float) -> None:
    """A cross where a stream loses its place."""
    lines = []
    for lane in lanes:
        half, y = min(4 * scale, 0.35 * lane.box.h), lane.box.y + lane.box.h / 2
        for x in lane.preempted:
            lines += [
                QLineF(x - half, y - half, x + half, y + half),
                QLineF(x - half, y + half, x + half, y - half),
            ]
    p.setRenderHint(ANTIALIASING, True)
    draw_lines(p, lines, theme.warning, 1.6 * scale)
    p.setRenderHint(ANTIALIASING, False)


def _polygon(points: Points) -> list[QPointF]:
    return [QPointF(x, y) for x, y in points]


def _paint_crowd(p: QPainter, box: Box, crowd: Crowd, theme: Theme, scale: float) -> None:
    p.setPen(NO_PEN)
    for layer in crowd.layers:
        p.setBrush(colour(getattr(theme, layer.role), WAITING if layer.role == "overhead" else 1.0))
        p.drawRects([rect(column) for column in layer.columns])
    for stall in crowd.stalls:
        p.fillRect(rect(stall.box), colour(theme.bound_soft(stall.bound)))
    draw_lines(p, [QLineF(box.x, box.bottom + 0.5, box.right, box.bottom + 0.5)], theme.line, 1.0)
    for name in crowd.names:
        draw_scene_text(p, name, theme)


@paint_row.register
def _paint_level(row: Level, p: QPainter, theme: Theme, scale: float) -> None:
    box = row.box
    for line in row.lines:
        points = _polygon(line.points)
        if not points:
            continue
        code = getattr(theme, line.role)
        p.setPen(NO_PEN)
        p.setBrush(colour(code, 0.28))
        p.drawRects([rect(column) for column in line.ground])
        p.setPen(QPen(colour(code), max(round(scale), 1)))
        p.setBrush(NO_BRUSH)
        p.drawPolyline(QPolygonF(points))
    draw_lines(p, [QLineF(box.x, box.bottom + 0.5, box.right, box.bottom + 0.5)], theme.line, 1.0)
    draw_scene_text(p, row.name, theme)
    draw_scene_text(p, row.top, theme)


@paint_row_now.register
def _veil_passes(row: PassLane, p: QPainter, now: Now, theme: Theme) -> None:
    draw_veil(p, row.box, now.x, theme)


@paint_row_now.register
def _veil_streams(row: Streams, p: QPainter, now: Now, theme: Theme) -> None:
    """Dims what is still to come, then tells how long streams stall, on top."""
    draw_veil(p, row.box, now.x, theme)
    for label in row.texts:
        if isinstance(row.content, Crowd):
            draw_round_box(p, label.box.inset(-0.35 * label.size, 0), theme.compute_soft, 0.3 * label.size)
        draw_scene_text(p, label, theme)


@paint_row_now.register
def _veil_level(row: Level, p: QPainter, now: Now, theme: Theme) -> None:
    draw_veil(p, Box(row.box.x, row.box.y - 1, row.box.w, row.box.h + 1), now.x, theme)
