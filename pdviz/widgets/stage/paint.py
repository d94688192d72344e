"""Draws a Stage with a painter: nothing is decided here that the Stage does not say."""

from __future__ import annotations

import itertools

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QPainter, QPen, QPolygonF

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.scene.request.measure import Measure
from pdviz.scene.stage.builder import LOW_PX
from pdviz.scene.stage.stage import Block, Lane, Stage
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

ROUND_FROM_PX = 6.0


def paint_stage(p: QPainter, stage: Stage, card: Box, theme: Theme, scale: float) -> None:
    """Everything that stands still while the request plays."""
    layout = stage.layout
    draw_card(p, card, theme, scale)
    _paint_header(p, stage, theme, scale)
    _paint_overview(p, stage, theme, scale)
    _paint_grid(p, stage, theme, scale)
    for block in stage.blocks:
        _paint_block(p, block, theme, 3 * scale)
    if stage.is_marked:
        _paint_hatch(p, [*stage.blocks, *stage.overview], theme)
    _paint_ghosts(p, stage, theme, scale)
    plot = layout.plot
    draw_lines(p, [QLineF(plot.x, plot.bottom + 0.5, plot.right, plot.bottom + 0.5)], theme.line, 1.0)
    for lane in stage.lanes:
        _paint_lane(p, lane, theme, scale)
    for dimension in stage.dimensions:
        draw_dimension(p, dimension, theme, scale)
    for text in stage.texts:
        draw_scene_text(p, text, theme)


def _paint_header(p: QPainter, stage: Stage, theme: Theme, scale: float) -> None:
    box = stage.layout.header
    draw_text(p, box, "One request, to scale", theme.text, 15.5 * scale, True)
    size, x = 13 * scale, box.right
    title_right = box.x + text_width("One request, to scale", 15.5 * scale, True) + 20 * scale
    legend = [("memory bandwidth", theme.bandwidth), ("compute", theme.compute)]
    meaning = "colour = what limits the pass"
    swatch = 36 * scale
    needed = sum(text_width(words, size) + swatch for words, _ in legend)
    ghost = "dashed: speed of light"
    if not stage.is_ideal and x - needed - text_width(ghost, size) > title_right:
        width = text_width(ghost, size)
        draw_text(p, Box(x - width, box.y, width, box.h), ghost, theme.muted, size)
        x -= width + 18 * scale
    if x - needed - text_width(meaning, size) > title_right:
        width = text_width(meaning, size)
        draw_text(p, Box(x - width, box.y, width, box.h), meaning, theme.muted, size)
        x -= width + 18 * scale
    for words, code in legend:
        width, side = text_width(words, size), 11 * scale
        draw_text(p, Box(x - width, box.y, width, box.h), words, theme.muted, size)
        x -= width + side + 7 * scale
        draw_round_box(p, Box(x, box.y + (box.h - side) / 2, side, side), code, 2.5 * scale)
        x -= 18 * scale
    if stage.is_marked:
        words = "does not fit in memory: what it would take"
        width = text_width(words, size, True) + 20 * scale
        left = box.x + text_width("One request, to scale", 15.5 * scale, True) + 16 * scale
        if left + width < x:
            tag = Box(left, box.y + 1 * scale, width, box.h - 2 * scale)
            draw_round_box(p, tag, theme.warning_soft, 4 * scale)
            draw_text(p, tag, words, theme.warning, size, True, "center")


def _paint_overview(p: QPainter, stage: Stage, theme: Theme, scale: float) -> None:
    layout = stage.layout
    strip = layout.overview
    name = Box(strip.x - 74 * scale, strip.y, 66 * scale, strip.h)
    draw_text(p, name, "whole", theme.faint, 12 * scale, False, "right")
    p.fillRect(rect(strip.inset(0, 4 * scale)), colour(theme.raised))
    for block in stage.overview:
        p.fillRect(rect(block.box), colour(theme.bound(block.bound)))
    view, plot = stage.view, layout.plot
    p.setRenderHint(ANTIALIASING, True)
    p.setPen(QPen(colour(theme.text), 1.6 * scale))
    p.setBrush(NO_BRUSH)
    p.drawRoundedRect(rect(view).adjusted(0.8, 0.8, -0.8, -0.8), 3 * scale, 3 * scale)
    lines = [
        QLineF(view.x + 1, view.bottom, plot.x, layout.wedge.bottom),
        QLineF(view.right - 1, view.bottom, plot.right, layout.wedge.bottom),
    ]
    draw_lines(p, lines, theme.line, 1.0)
    p.setRenderHint(ANTIALIASING, False)


def _paint_grid(p: QPainter, stage: Stage, theme: Theme, scale: float) -> None:
    layout = stage.layout
    plot = layout.plot
    lines = [QLineF(x, plot.y, x, layout.bandwidth.bottom) for x, _ in stage.ticks]
    lines += [QLineF(plot.x, y, plot.right, y) for y, _ in stage.levels]
    draw_lines(p, lines, theme.grid, 1.0)
    for _, text in (*stage.ticks, *stage.levels):
        draw_scene_text(p, text, theme)
    caption = Box(plot.x - 84 * scale, layout.measures.y + 2 * scale, 76 * scale, 16 * scale)
    draw_text(p, caption, "tokens (log)", theme.faint, 12 * scale, False, "right")


def _paint_block(p: QPainter, block: Block, theme: Theme, radius: float) -> None:
    box = block.box
    code = theme.bound(block.bound)
    if box.w < ROUND_FROM_PX or block.passes > 1:
        p.fillRect(rect(box), colour(code))
    else:
        draw_round_box(p, box, code, min(radius, box.w / 4, box.h / 3))


def _paint_ghosts(p: QPainter, stage: Stage, theme: Theme, scale: float) -> None:
    """The blocks at the speed of light, on them in the colour that texts have there.

    A dashed outline where there is room for one, else the edge where the pass would end; open where it
    would strike a text through.
    """
    inset, pad = 2.0 * scale, 4.0 * scale
    texts = [text.box for text in (stage.inside, stage.inside_detail) if text is not None]
    for ghost in stage.ghosts:
        box, right = ghost.box, ghost.box.right
        top, bottom = box.y + inset, box.bottom - inset
        lines = []
        if box.h >= LOW_PX * scale:
            left = box.x + inset
            sides = (QPointF(right, top), QPointF(left, top), QPointF(left, bottom), QPointF(right, bottom))
            lines += [QLineF(one, other) for one, other in itertools.pairwise(sides)]
        crossed = [t for t in texts if ghost.first == 0 and t.x - pad < right < t.right + pad]
        ends = [top, bottom]
        if crossed:
            ends = [top, min(t.y for t in crossed), max(t.bottom for t in crossed), bottom]
        lines += [
            QLineF(right, y0, right, y1) for y0, y1 in zip(ends[::2], ends[1::2], strict=True) if y1 > y0
        ]
        pen = QPen(colour(theme.on_bound(ghost.bound), 0.85), 1.3 * scale)
        pen.setDashPattern([3.0, 2.0])
        p.setPen(pen)
        p.drawLines(lines)


def _paint_hatch(p: QPainter, blocks: list[Block], theme: Theme) -> None:
    """Marks what could not run as asked."""
    brush = QBrush(colour(theme.surface, 0.55), Qt.BrushStyle.BDiagPattern)
    for block in blocks:
        p.fillRect(rect(block.box), brush)


def _paint_lane(p: QPainter, lane: Lane, theme: Theme, scale: float) -> None:
    box = lane.box
    code, soft = theme.bound(lane.bound), theme.bound_soft(lane.bound)
    top = box.y + box.h * (1 - lane.ceiling)
    draw_dashed(p, box.x, box.right, top, theme.faint, 1.0, 4)
    line = [QPointF(x, box.y + box.h * (1 - min(share, 1.0))) for x, share in lane.points]
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
    draw_text(p, gutter, percent(lane.ceiling).replace(".0", ""), theme.faint, 11.5 * scale, False, "right")
    name = gutter.moved(0, min(box.y - 2 * scale, gutter.y - line_height) - gutter.y)
    draw_text(p, name, lane.name, theme.bound_text(lane.bound), 12.5 * scale, True, "right")
    draw_text(p, Box(gutter.x, box.bottom - 12 * scale, gutter.w, 15 * scale), "0", theme.faint,
              11.5 * scale, False, "right")  # fmt: skip


def paint_veil(p: QPainter, stage: Stage, time_s: float, theme: Theme) -> None:
    """Dims what the playhead has not reached, then names the prefill block on top."""
    x = stage.axis.clipped_px(time_s) if time_s < stage.axis.end_s else stage.layout.plot.right
    veil = colour(theme.surface, theme.veil_opacity)
    if theme.veil_opacity:
        for block in _tall_boxes(stage):
            if block.right > x:
                left = max(block.x, x)
                p.fillRect(QRectF(left, block.y, block.right - left, block.h), veil)
        for lane in stage.lanes:
            box = lane.box
            if box.right > x:
                p.fillRect(QRectF(max(x, box.x), box.y - 2, box.right - max(x, box.x), box.h + 1), veil)
        done = stage.overview_axis.clipped_px(time_s)
        strip = stage.overview[0].box
        left = max(done, strip.x)
        p.fillRect(QRectF(left, strip.y, stage.layout.overview.right - left, strip.h), veil)
        p.setRenderHint(ANTIALIASING, False)
    for text in (stage.inside, stage.inside_detail):
        if text is not None:
            is_lit = not theme.veil_opacity or x > text.box.x + text.box.w / 2
            code = theme.on_bound(stage.blocks[0].bound) if is_lit else theme.text
            draw_text(p, text.box, text.text, code, text.size, text.bold)


def _tall_boxes(stage: Stage) -> list[Box]:
    """The prefill block and the train as one box each."""
    blocks = stage.blocks
    found = []
    if blocks and blocks[0].first == 0:
        found.append(blocks[0].box)
        blocks = blocks[1:]
    if blocks:
        first, last = blocks[0].box, blocks[-1].box
        found.append(Box(first.x, first.y, last.right - first.x, first.h))
    return found


def playhead_boxes(stage: Stage, time_s: float, scale: float) -> tuple[Box, Box]:
    """What the playhead covers on the plot and on the overview."""
    layout = stage.layout
    half = 9 * scale
    boxes = []
    for axis, top, bottom in (
        (stage.axis, layout.wedge.y, layout.bandwidth.bottom),
        (stage.overview_axis, layout.overview.y, layout.overview.bottom),
    ):
        x = axis.clipped_px(time_s)
        boxes.append(Box(x - half, top, 2 * half, bottom - top + 2))
    return boxes[0], boxes[1]


def open_stretches(
    stage: Stage, x: float, top: float, bottom: float, scale: float
) -> list[tuple[float, float]]:
    """A vertical line from ``top`` to ``bottom``, open where it would strike a text through."""
    pad = 3 * scale
    texts = [*stage.texts, *(dimension.text for dimension in stage.dimensions)]
    texts += [text for text in (stage.inside, stage.inside_detail) if text is not None]
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


def paint_playhead(p: QPainter, stage: Stage, time_s: float, theme: Theme, scale: float) -> None:
    """The line at the present moment, with a handle, and its place in the whole."""
    layout = stage.layout
    whole = stage.overview_axis.clipped_px(time_s)
    draw_lines(
        p, [QLineF(whole, layout.overview.y + 2, whole, layout.overview.bottom - 2)], theme.text, 1.4 * scale
    )
    if not stage.axis.contains(time_s):
        return
    x = stage.axis.clipped_px(time_s)
    top = layout.wedge.bottom
    p.setRenderHint(ANTIALIASING, True)
    stretches = open_stretches(stage, x, top, layout.bandwidth.bottom, scale)
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


def paint_measure(p: QPainter, stage: Stage, measured: Measure, theme: Theme, scale: float) -> None:
    """The marked stretch: a light, its edges and what is in it."""
    layout, axis = stage.layout, stage.axis
    if measured.end_s < axis.start_s or measured.start_s > axis.end_s:
        return
    x0, x1 = axis.clipped_px(measured.start_s), axis.clipped_px(measured.end_s)
    top, bottom = layout.plot.y, layout.bandwidth.bottom
    p.fillRect(QRectF(x0, top, x1 - x0, bottom - top), colour(theme.text, 0.09))
    edges = [x for x, t in ((x0, measured.start_s), (x1, measured.end_s)) if axis.contains(t)]
    draw_lines(p, [QLineF(x, top, x, bottom) for x in edges], theme.text, 1.2 * scale)
    size = 13 * scale
    width = text_width(measured.words, size, True) + 20 * scale
    left = min(max((x0 + x1 - width) / 2, layout.plot.x), layout.plot.right - width)
    pill = Box(left, top + 2 * scale, width, 24 * scale)
    draw_round_box(p, pill, theme.accent, 5 * scale)
    draw_text(p, pill, measured.words, theme.on_accent, size, True, "center")
