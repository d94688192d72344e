"""The stage of one request, and painters for what it has of its own: the head with the legend, the passes."""

from __future__ import annotations

import itertools

from PySide6.QtCore import QLineF, QPointF
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.scene.request.passes import LOW_PX, Passes
from pdviz.scene.request.stage import Header, request_tracks
from pdviz.scene.request.timeline import RequestTimeline
from pdviz.scene.stage.parts import Block
from pdviz.scene.stage.stage import build_stage
from pdviz.widgets.kit.paint import (
    draw_dimension,
    draw_lines,
    draw_round_box,
    draw_scene_text,
    draw_text,
    rect,
)
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.stage.paint import (
    Now,
    draw_hatch,
    draw_veil,
    paint_now,
    paint_row,
    paint_row_now,
    paint_stage,
)
from pdviz.widgets.stage.view import StageView

ROUND_FROM_PX = 6.0


class RequestStage(StageView):
    """One request on the time axis."""

    def __init__(self, result: Result, parent: QWidget | None = None) -> None:
        super().__init__(RequestTimeline(result.request), request_tracks(result), parent)
        self.setAccessibleName("Timeline of one request, to scale")

    def set_result(self, result: Result, *, fresh: bool = False) -> None:
        """Another request; ``fresh`` forgets the view that the user has chosen."""
        self.set_timeline(RequestTimeline(result.request), request_tracks(result), fresh=fresh)


def paint_request_stage(
    p: QPainter, box: Box, result: Result, time_s: float, theme: Theme, scale: float
) -> None:
    """The stage in ``box`` as the widget would show it at first, turned to the page of ``time_s``."""
    line = RequestTimeline(result.request)
    window = line.first_view().showing(time_s, line.duration_s)
    tracks = request_tracks(result)
    stage = build_stage(tracks, window, line.duration_s, box.w, box.h, scale, text_width)
    p.translate(box.x, box.y)
    paint_stage(p, stage, Box(0, 0, box.w, box.h), theme, scale)
    paint_now(p, stage, time_s, theme, scale)
    p.translate(-box.x, -box.y)


@paint_row.register
def _paint_header(row: Header, p: QPainter, theme: Theme, scale: float) -> None:
    box = row.box
    draw_text(p, box, "One request, to scale", theme.text, 15.5 * scale, True)
    size, x = 13 * scale, box.right
    title_right = box.x + text_width("One request, to scale", 15.5 * scale, True) + 20 * scale
    legend = [("memory bandwidth", theme.bandwidth), ("compute", theme.compute)]
    meaning = "colour = what limits the pass"
    swatch = 36 * scale
    needed = sum(text_width(words, size) + swatch for words, _ in legend)
    ghost = "dashed: speed of light"
    if not row.is_ideal and x - needed - text_width(ghost, size) > title_right:
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
    if row.is_marked:
        words = "does not fit in memory: what it would take"
        width = text_width(words, size, True) + 20 * scale
        left = box.x + text_width("One request, to scale", 15.5 * scale, True) + 16 * scale
        if left + width < x:
            tag = Box(left, box.y + 1 * scale, width, box.h - 2 * scale)
            draw_round_box(p, tag, theme.warning_soft, 4 * scale)
            draw_text(p, tag, words, theme.warning, size, True, "center")


@paint_row.register
def _paint_passes(row: Passes, p: QPainter, theme: Theme, scale: float) -> None:
    box, plot = row.box, row.ground
    draw_lines(p, [QLineF(plot.x, y, plot.right, y) for y, _ in row.levels], theme.grid, 1.0)
    for _, text in row.levels:
        draw_scene_text(p, text, theme)
    caption = Box(box.x - 84 * scale, box.y + 2 * scale, 76 * scale, 16 * scale)
    draw_text(p, caption, "tokens (log)", theme.faint, 12 * scale, False, "right")
    for block in row.blocks:
        _paint_block(p, block, theme, 3 * scale)
    if row.is_marked:
        draw_hatch(p, row.blocks, theme)
    _paint_ghosts(p, row, theme, scale)
    draw_lines(p, [QLineF(plot.x, plot.bottom + 0.5, plot.right, plot.bottom + 0.5)], theme.line, 1.0)
    for dimension in row.dimensions:
        draw_dimension(p, dimension, theme, scale)
    for text in row.names:
        draw_scene_text(p, text, theme)


def _paint_block(p: QPainter, block: Block, theme: Theme, radius: float) -> None:
    box = block.box
    code = theme.bound(block.bound)
    if box.w < ROUND_FROM_PX or block.passes > 1:
        p.fillRect(rect(box), colour(code))
    else:
        draw_round_box(p, box, code, min(radius, box.w / 4, box.h / 3))


def _paint_ghosts(p: QPainter, row: Passes, theme: Theme, scale: float) -> None:
    """The blocks at the speed of light, on them in the colour that texts have there.

    A dashed outline where there is room for one, else the edge where the pass would end; open where it
    would strike a text through.
    """
    inset, pad = 2.0 * scale, 4.0 * scale
    texts = [text.box for text in row.inside]
    for ghost in row.ghosts:
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


@paint_row_now.register
def _veil_passes(row: Passes, p: QPainter, now: Now, theme: Theme) -> None:
    """Dims what is still to come, then names the prefill block on top."""
    for box in _tall_boxes(row.blocks):
        draw_veil(p, box, now.x, theme)
    for text in row.inside:
        is_lit = not theme.veil_opacity or now.x > text.box.x + text.box.w / 2
        code = theme.on_bound(row.blocks[0].bound) if is_lit else theme.text
        draw_text(p, text.box, text.text, code, text.size, text.bold)


def _tall_boxes(blocks: tuple[Block, ...]) -> list[Box]:
    """The prefill block and the train as one box each."""
    found = []
    if blocks and blocks[0].first == 0:
        found.append(blocks[0].box)
        blocks = blocks[1:]
    if blocks:
        first, last = blocks[0].box, blocks[-1].box
        found.append(Box(first.x, first.y, last.right - first.x, first.h))
    return found
