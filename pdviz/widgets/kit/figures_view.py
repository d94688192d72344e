"""A headline figure: title, large value, what limits it."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.scene.marks.figures import Figure, lay_out_figure
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.widgets.kit.accessibility import Role
from pdviz.widgets.kit.paint import draw_card, draw_scene_text
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.view import PaintedView


def paint_figure(p: QPainter, box: Box, figure: Figure, theme: Theme, scale: float) -> None:
    """The tile of one figure."""
    draw_card(p, box, theme, scale)
    for text in lay_out_figure(box, figure, scale, text_width):
        draw_scene_text(p, text, theme)


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
