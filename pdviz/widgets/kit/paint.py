"""Small painting helpers shared by the views. All take an open QPainter."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QPaintEngine, QPainter, QPainterPath, QPen, QPolygonF

from pdviz.scene.marks import lettering
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Dimension, Text
from pdviz.scene.marks.theme import Theme
from pdviz.widgets.kit.palette import colour, font, metrics, text_width

ANTIALIASING = QPainter.RenderHint.Antialiasing
NO_PEN, NO_BRUSH = Qt.PenStyle.NoPen, Qt.BrushStyle.NoBrush
SVG = QPaintEngine.Type.SVG


def rect(box: Box) -> QRectF:
    return QRectF(box.x, box.y, box.w, box.h)


def draw_text(
    p: QPainter, box: Box, text: str, code: str, pixels: float, bold: bool = False, align: str = "left"
) -> None:
    """One line of text in a box, vertically centred; it may overhang sideways but is never wrapped."""
    p.setFont(font(pixels, bold))
    p.setPen(colour(code))
    sizes = metrics(pixels, bold)
    y = box.y + (box.h + sizes.ascent() - sizes.descent()) / 2
    if align == "left":
        x = box.x
    else:
        spare = box.w - text_width(text, pixels, bold)
        x = box.x + (spare if align == "right" else spare / 2)
    if p.paintEngine().type() == SVG:
        draw_outlines(p, QPointF(x, y), text, code)
    else:
        p.drawText(QPointF(x, y), text)


def draw_outlines(p: QPainter, at: QPointF, text: str, code: str) -> None:
    """A text as shapes, the same where the font is not installed, and unseen as letters, to be found."""
    path = QPainterPath()
    path.setFillRule(Qt.FillRule.WindingFill)  # the strokes of a letter overlap
    path.addText(at, p.font(), text)
    p.setPen(NO_PEN)
    p.setBrush(colour(code))
    smooth = p.testRenderHint(ANTIALIASING)
    p.setRenderHint(ANTIALIASING, True)
    p.drawPath(path)
    p.setRenderHint(ANTIALIASING, smooth)
    p.setPen(Qt.GlobalColor.transparent)
    p.drawText(at, text)


def draw_scene_text(p: QPainter, text: Text, theme: Theme) -> None:
    draw_text(p, text.box, text.text, getattr(theme, text.role), text.size, text.bold, text.align)


def elided(text: str, pixels: float, bold: bool, width: float) -> str:
    """``text``, cut with an ellipsis where it is wider than ``width``."""
    return lettering.elided(text, width, pixels, bold, text_width)


def wrapped(text: str, pixels: float, bold: bool, width: float, most: int = 0) -> list[str]:
    """``text`` in lines no wider than ``width``; the last of ``most`` takes the rest."""
    return lettering.wrapped(text, width, pixels, bold, text_width, most)


def draw_card(p: QPainter, box: Box, theme: Theme, scale: float, fill: str | None = None) -> None:
    """A rounded panel with a hairline."""
    p.setRenderHint(ANTIALIASING, True)
    p.setPen(QPen(colour(theme.line), 1.0))
    p.setBrush(colour(fill or theme.surface))
    p.drawRoundedRect(rect(box).adjusted(0.5, 0.5, -0.5, -0.5), 8 * scale, 8 * scale)
    p.setRenderHint(ANTIALIASING, False)


def draw_round_box(p: QPainter, box: Box, code: str, radius: float, opacity: float = 1.0) -> None:
    p.setRenderHint(ANTIALIASING, True)
    p.setPen(NO_PEN)
    p.setBrush(colour(code, opacity))
    p.drawRoundedRect(rect(box), radius, radius)
    p.setRenderHint(ANTIALIASING, False)


def draw_lines(p: QPainter, lines: list[QLineF], code: str, width: float = 1.0) -> None:
    p.setPen(QPen(colour(code), width))
    p.drawLines(lines)


def draw_dashed(p: QPainter, x0: float, x1: float, y: float, code: str, width: float, dash: float) -> None:
    """A horizontal dashed line."""
    pen = QPen(colour(code), width)
    pen.setDashPattern([dash, dash * 0.7])
    p.setPen(pen)
    p.drawLine(QLineF(x0, y, x1, y))


def draw_dimension(p: QPainter, d: Dimension, theme: Theme, scale: float) -> None:
    """A measure as on an engineering drawing."""
    code = theme.muted
    p.setRenderHint(ANTIALIASING, True)
    tick, gap = 5 * scale, 7 * scale
    lines: list[QLineF] = []
    if d.splits:
        lines += [
            QLineF(d.x0, d.y, d.text.box.x - gap, d.y),
            QLineF(d.text.box.right + gap, d.y, d.x1, d.y),
        ]
    else:
        lines.append(QLineF(d.x0, d.y, d.x1, d.y))
    if not d.opens_left:
        lines.append(QLineF(d.x0, d.y - tick, d.x0, d.y + tick))
    if not d.opens_right:
        lines.append(QLineF(d.x1, d.y - tick, d.x1, d.y + tick))
    draw_lines(p, lines, code, 1.2 * scale)
    if d.foot > d.y + tick:
        ends = [x for x, is_open in ((d.x0, d.opens_left), (d.x1, d.opens_right)) if not is_open]
        draw_lines(p, [QLineF(x, d.y + tick, x, d.foot - 1) for x in ends], theme.line, 1.0)
    head = 5 * scale
    if d.x1 - d.x0 > 26 * scale:
        p.setPen(NO_PEN)
        p.setBrush(colour(code))
        for x, direction, is_open in ((d.x0, 1, d.opens_left), (d.x1, -1, d.opens_right)):
            if is_open:  # the measured length goes on outside
                continue
            p.drawPolygon(
                QPolygonF(
                    [
                        QPointF(x, d.y),
                        QPointF(x + direction * head * 1.5, d.y - head * 0.55),
                        QPointF(x + direction * head * 1.5, d.y + head * 0.55),
                    ]
                )
            )
    p.setRenderHint(ANTIALIASING, False)
    draw_scene_text(p, d.text, theme)


def draw_icon(p: QPainter, name: str, box: Box, code: str) -> None:
    """A transport or tool-bar symbol, centred in ``box``, drawn so that it is sharp at any size."""
    p.setRenderHint(ANTIALIASING, True)
    side = min(box.w, box.h)
    cx, cy, u = box.x + box.w / 2, box.y + box.h / 2, side / 16
    p.setPen(NO_PEN)
    p.setBrush(colour(code))

    def shape(*points: tuple[float, float]) -> None:
        p.drawPolygon(QPolygonF([QPointF(cx + x * u, cy + y * u) for x, y in points]))

    def bar(x: float, y: float, w: float, h: float) -> None:
        p.drawRoundedRect(QRectF(cx + x * u, cy + y * u, w * u, h * u), 0.6 * u, 0.6 * u)

    if name == "play":
        shape((-4, -6), (6.5, 0), (-4, 6))
    elif name == "pause":
        bar(-5, -6, 3.6, 12)
        bar(1.4, -6, 3.6, 12)
    elif name == "next":
        shape((-5, -5), (3, 0), (-5, 5))
        bar(3.4, -5, 2, 10)
    elif name == "previous":
        shape((5, -5), (-3, 0), (5, 5))
        bar(-5.4, -5, 2, 10)
    elif name == "start":
        shape((6.5, -5), (0.5, 0), (6.5, 5))
        shape((0.5, -5), (-5, 0), (0.5, 5))
        bar(-6.8, -5, 1.8, 10)
    elif name in ("undo", "redo", "loop"):
        _draw_arrow(p, name, cx, cy, u, code)
    elif name == "chevron":
        pen = QPen(colour(code), 1.7 * u)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        p.setPen(pen)
        p.drawPolyline(
            [QPointF(cx - 4 * u, cy - 2 * u), QPointF(cx, cy + 2 * u), QPointF(cx + 4 * u, cy - 2 * u)]
        )
    elif name == "theme":
        p.setPen(QPen(colour(code), 1.4 * u))
        p.setBrush(NO_BRUSH)
        circle = QRectF(cx - 5.5 * u, cy - 5.5 * u, 11 * u, 11 * u)
        p.drawEllipse(circle)
        p.setBrush(colour(code))
        p.drawPie(circle, 90 * 16, 180 * 16)
    p.setRenderHint(ANTIALIASING, False)


def _draw_arrow(p: QPainter, name: str, cx: float, cy: float, u: float, code: str) -> None:
    pen = QPen(colour(code), 1.7 * u)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    p.setPen(pen)
    p.setBrush(NO_BRUSH)
    circle = QRectF(cx - 5 * u, cy - 4.4 * u, 10 * u, 10 * u)
    mirror = -1 if name == "undo" else 1
    if name == "loop":
        p.drawArc(circle.translated(0, -0.6 * u), 60 * 16, 300 * 16)
        tip = (cx + 2.5 * u, cy - 4.4 * u)
    else:
        start = 150 if name == "undo" else -90
        p.drawArc(circle, (start if name == "undo" else 30) * 16, (-240 if name == "undo" else 240) * 16)
        tip = (cx + mirror * 4.4 * u, cy - 2.6 * u)
    p.setPen(NO_PEN)
    p.setBrush(colour(code))
    x, y = tip
    p.drawPolygon(
        QPolygonF(
            [
                QPointF(x + mirror * 2.6 * u, y - 3.2 * u),
                QPointF(x + mirror * 2.2 * u, y + 1.6 * u),
                QPointF(x - mirror * 2.6 * u, y + 0.4 * u),
            ]
        )
    )
