"""A headline figure: title, large value, what limits it."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.scene.marks.figures import Figure
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.widgets.kit.accessibility import Role
from pdviz.widgets.kit.paint import draw_card, draw_text, elided
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.view import PaintedView


def paint_figure(p: QPainter, box: Box, figure: Figure, theme: Theme, scale: float) -> None:
    """The tile of one figure."""
    draw_card(p, box, theme, scale)
    x, width = box.x + 16 * scale, box.w - 28 * scale
    rows = ((0.13, 0.20), (0.34, 0.36), (0.71, 0.20))
    title, value, detail = (Box(x, box.y + box.h * top, width, box.h * high) for top, high in rows)
    draw_text(p, title, elided(figure.title, 13.5 * scale, False, width), theme.muted, 13.5 * scale)
    large = 28 * scale
    while large > 16 * scale and text_width(figure.value, large, True) > width:
        large -= 2 * scale
    draw_text(p, value, elided(figure.value, large, True, width), theme.text, large, True)
    code = theme.bound_text(figure.bound) if figure.bound else theme.muted
    bold = figure.bound is not None
    words = figure.detail
    if figure.brief and text_width(words, 13 * scale, bold) > width:
        words = figure.brief
    draw_text(p, detail, elided(words, 13 * scale, bold, width), code, 13 * scale, bold)


class FigureView(PaintedView):
    """Shows one Figure."""

    accessible_role = Role.StaticText

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._figure = Figure("", "", "")

    def show_figure(self, figure: Figure) -> None:
        if figure != self._figure:
            self._figure = figure
            self.setAccessibleName(figure.title)
            self.say(f"{figure.value}, {figure.detail}")
            self.update()

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        p.fillRect(self.rect(), colour(self.theme.window))
        paint_figure(p, Box(0, 0, self.width(), self.height()), self._figure, self.theme, self.scale)
