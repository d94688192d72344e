"""A mark on a widget that draws no focus of its own."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from pdviz.scene.marks.theme import Theme
from pdviz.widgets.kit.paint import ANTIALIASING, NO_BRUSH
from pdviz.widgets.kit.palette import colour


class FocusRing(QWidget):
    """Shows that a figure has the focus; lies over it and is not in the way of the mouse."""

    def __init__(self, parent: QWidget, theme: Theme, scale: float) -> None:
        super().__init__(parent)
        self._theme, self._scale = theme, scale
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.setGeometry(parent.rect())

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as p:
            p.setRenderHint(ANTIALIASING, True)
            p.setPen(QPen(colour(self._theme.text), 1.4 * self._scale, Qt.PenStyle.DotLine))
            p.setBrush(NO_BRUSH)
            p.drawRoundedRect(self.rect().adjusted(2, 2, -3, -3), 7 * self._scale, 7 * self._scale)
