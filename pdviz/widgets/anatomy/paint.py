"""Draws the anatomy page with a painter: nothing is decided here that the page does not say."""

from __future__ import annotations

from PySide6.QtCore import QLineF, Qt
from PySide6.QtGui import QBrush, QPainter, QPen

from pdviz.scene.anatomy.layer import LayerDrawing
from pdviz.scene.anatomy.page import AnatomyPage
from pdviz.scene.anatomy.side import MemoryCard, Table
from pdviz.scene.anatomy.strip import Strip
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.widgets.kit.figures_view import paint_figure
from pdviz.widgets.kit.paint import (
    NO_BRUSH,
    NO_PEN,
    draw_card,
    draw_dimension,
    draw_lines,
    draw_round_box,
    draw_scene_text,
    rect,
)
from pdviz.widgets.kit.palette import colour
from pdviz.widgets.kit.slab import draw_slab

UNREAD_OPACITY = 0.32
FIXED_OPACITY = 0.45


def _fill(p: QPainter, boxes: list[Box], code: str, opacity: float) -> None:
    """Many rectangles of one colour."""
    if boxes:
        p.setPen(NO_PEN)
        p.setBrush(colour(code, opacity))
        p.drawRects([rect(box) for box in boxes])


def paint_strip(p: QPainter, strip: Strip, chosen: int, theme: Theme, scale: float) -> None:
    """The weights and the lane below them, the chosen run in a frame."""
    s = scale
    draw_card(p, strip.card, theme, s)
    fills: dict[tuple[str, bool], list[Box]] = {}
    for piece in strip.pieces:
        box = Box(piece.box.x, piece.box.y, max(piece.box.w, 1.0), piece.box.h)
        fills.setdefault((piece.role, piece.is_read), []).append(box)
    for (role, is_read), boxes in fills.items():
        _fill(p, boxes, getattr(theme, role), 1.0 if is_read else UNREAD_OPACITY)
    area, lane = strip.area, strip.lane
    draw_lines(p, [QLineF(x, area.y, x, area.bottom) for x in strip.separators], theme.surface, 1.0)
    if strip.kept:
        draw_lines(p, [QLineF(lane.x, lane.bottom, lane.right, lane.bottom)], theme.line, 1.0)
    for is_fixed, opacity in ((True, FIXED_OPACITY), (False, 1.0)):
        _fill(p, [k.box for k in strip.kept if k.is_fixed == is_fixed], theme.memory_kv, opacity)
    if strip.kept:
        inside = [x for x in strip.separators if strip.columns and strip.columns[0].x <= x]
        draw_lines(p, [QLineF(x, lane.y, x, lane.bottom) for x in inside], theme.surface, 1.0)
    p.setPen(QPen(colour(theme.text), 2 * s))
    p.setBrush(NO_BRUSH)
    for column in strip.columns:
        if column.run == chosen:
            frame = Box(column.x, area.y, max(column.right - column.x, 2 * s), area.h)
            p.drawRect(rect(frame))
    for dimension in strip.dimensions:
        draw_dimension(p, dimension, theme, s)
    for box, role, is_read in strip.legend:
        draw_round_box(p, box, getattr(theme, role), 2 * s, 1.0 if is_read else UNREAD_OPACITY)
    for text in strip.texts:
        draw_scene_text(p, text, theme)


def paint_layer(p: QPainter, layer: LayerDrawing, theme: Theme, scale: float) -> None:
    """The matrices of a layer and its experts."""
    s = scale
    draw_card(p, layer.card, theme, s)
    for one in layer.weights:
        box = one.slab.box
        p.fillRect(rect(box), colour(getattr(theme, one.role)))
        draw_lines(p, [QLineF(x, box.y, x, box.bottom) for x in one.splits], theme.surface, 1.5 * s)
    if layer.kept is not None:
        draw_slab(p, layer.kept, theme.memory_kv, s)
    lines = []
    for group in layer.groups:
        lines += [
            QLineF(group.x0, group.y, group.x1, group.y),
            QLineF(group.x0, group.y, group.x0, group.y + 5 * s),
            QLineF(group.x1, group.y, group.x1, group.y + 5 * s),
        ]
    draw_lines(p, lines, theme.muted, 1.2 * s)
    if layer.grid is not None:
        cells, read = list(layer.grid.cells), layer.grid.read
        _fill(p, cells[:read], theme.part_expert, 1.0)
        _fill(p, cells[read:], theme.part_expert, UNREAD_OPACITY)
    for text in layer.texts:
        draw_scene_text(p, text, theme)


def paint_table(p: QPainter, table: Table, theme: Theme, scale: float) -> None:
    """Where the parameters are."""
    s = scale
    draw_card(p, table.card, theme, s)
    inner = table.card.inset(16 * s, 0)
    draw_lines(p, [QLineF(inner.x, table.rule_y, inner.right, table.rule_y)], theme.line, 1.0)
    _paint_swatches(p, table, theme, s)
    for text in table.texts:
        draw_scene_text(p, text, theme)


def _paint_swatches(p: QPainter, card: Table | MemoryCard, theme: Theme, s: float) -> None:
    for row in card.rows:
        swatch = Box(card.card.x + 16 * s, row.box.y + (row.box.h - 10 * s) / 2, 10 * s, 10 * s)
        if row.role == "hatch":
            p.fillRect(rect(swatch), QBrush(colour(theme.faint), Qt.BrushStyle.BDiagPattern))
        elif row.role:
            draw_round_box(p, swatch, getattr(theme, row.role), 2 * s)


def paint_memory_card(p: QPainter, card: MemoryCard, theme: Theme, scale: float) -> None:
    """The memory of one accelerator, its button apart."""
    s = scale
    draw_card(p, card.card, theme, s)
    draw_round_box(p, card.bar, theme.raised, 3 * s)
    for share in card.shares:
        if share.is_hatched:
            p.fillRect(rect(share.box), QBrush(colour(theme.faint), Qt.BrushStyle.BDiagPattern))
        else:
            p.fillRect(rect(share.box), colour(getattr(theme, share.role)))
    if card.limit_x is not None:
        mark = Box(card.limit_x - s, card.bar.y - 4 * s, 2 * s, card.bar.h + 8 * s)
        p.fillRect(rect(mark), colour(theme.warning))
    _paint_swatches(p, card, theme, s)
    for text in card.texts:
        draw_scene_text(p, text, theme)


def paint_anatomy(p: QPainter, page: AnatomyPage, theme: Theme, scale: float) -> None:
    """Everything but the tiles."""
    paint_strip(p, page.strip, page.index, theme, scale)
    paint_layer(p, page.layer, theme, scale)
    paint_table(p, page.table, theme, scale)
    paint_memory_card(p, page.memory, theme, scale)


def paint_anatomy_page(p: QPainter, page: AnatomyPage, theme: Theme, scale: float) -> None:
    """All of the page."""
    for figure, tile in zip(page.figures, page.tiles, strict=True):
        paint_figure(p, tile, figure, theme, scale)
    paint_anatomy(p, page, theme, scale)
