"""Draws matrices to scale: rectangles, torn where a side is cut."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF
from PySide6.QtGui import QPainter, QPen, QPolygonF

from pdviz.scene.marks.slab import Slab
from pdviz.widgets.kit.paint import ANTIALIASING, NO_BRUSH, NO_PEN, rect
from pdviz.widgets.kit.palette import colour

TOOTH = 4.0
"""Design pixels that a torn edge reaches into what is drawn."""


def _wave(at: float, tooth: float) -> float:
    """0 to ``tooth`` and back over twice its length: how far a torn edge lies inside."""
    return tooth - abs(at % (2 * tooth) - tooth)


def _torn_points(length: float, tooth: float) -> list[float]:
    return [*(i * tooth for i in range(math.ceil(length / tooth))), length]


def slab_outline(slab: Slab, scale: float, share: float = 1.0) -> QPolygonF:
    """The outline of a slab down to ``share`` of its height, with teeth where a side is cut."""
    box = slab.box
    tooth = min(TOOTH * scale, box.w / 4, box.h / 4)
    height = box.h * share
    right = [QPointF(box.right, box.y), QPointF(box.right, box.y + height)]
    if slab.cut_right:
        right = [QPointF(box.right - _wave(at, tooth), box.y + at) for at in _torn_points(height, tooth)]
    bottom = [QPointF(box.x, box.y + height)]
    if slab.cut_bottom and share >= 1.0:
        bottom = [QPointF(box.right - at, box.bottom - _wave(at, tooth)) for at in _torn_points(box.w, tooth)]
    return QPolygonF([QPointF(box.x, box.y), *right, *bottom])


def draw_slab(p: QPainter, slab: Slab, fill: str, scale: float) -> None:
    """A matrix, filled; torn where a side is cut."""
    if slab.cut_right or slab.cut_bottom:
        p.setRenderHint(ANTIALIASING, True)
        p.setPen(NO_PEN)
        p.setBrush(colour(fill))
        p.drawPolygon(slab_outline(slab, scale))
        p.setRenderHint(ANTIALIASING, False)
    else:
        p.fillRect(rect(slab.box), colour(fill))


def draw_outline(p: QPainter, slab: Slab, line: str, scale: float) -> None:
    """A hairline round a matrix that is large enough for one."""
    p.setPen(QPen(colour(line), 1.0))
    p.setBrush(NO_BRUSH)
    if slab.cut_right or slab.cut_bottom:
        p.setRenderHint(ANTIALIASING, True)
        p.drawPolygon(slab_outline(slab, scale))
        p.setRenderHint(ANTIALIASING, False)
    elif min(slab.box.w, slab.box.h) > 3 * scale:
        p.drawRect(rect(slab.box).adjusted(0.5, 0.5, -0.5, -0.5))
