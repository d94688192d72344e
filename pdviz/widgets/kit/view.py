"""The base of painted views: opaque, scaled, themed, never a segmentation fault, never silent."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import cast

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import DARK, Theme
from pdviz.widgets.kit.accessibility import Role, announce
from pdviz.widgets.kit.palette import colour

log = logging.getLogger(__name__)


class PaintedView(QWidget):
    """A widget whose picture is drawn by ``paint``. Knows its theme and the interface scale.

    ``accessible_role`` is what it is to assistive technology; ``say`` sets its value in words.
    """

    accessible_role = Role.Graphic
    announces = False

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme: Theme = DARK
        self.scale = 1.0
        self._has_failed = False
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)

    def set_look(self, theme: Theme, scale: float) -> None:
        """Another theme or scale; repaints."""
        if theme is not self.theme or scale != self.scale:
            self.theme, self.scale = theme, scale
            self.look_changed()
            self.update()

    def look_changed(self) -> None:
        """Called after the theme or the scale has changed."""

    def place(self, box: Box) -> None:
        """Moves the widget to a box of its parent's layout, on whole pixels."""
        x, y = round(box.x), round(box.y)
        self.setGeometry(x, y, round(box.right) - x, round(box.bottom) - y)

    def say(self, value: str) -> None:
        """The value that assistive technology reads."""
        if value != self.accessibleDescription():
            self.setAccessibleDescription(value)
            if self.announces:
                announce(self, value)

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        """Draws the widget (at least ``dirty``)."""

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as p:
            try:
                self.paint(p, event.region())
            except Exception:
                # A mistake in drawing must not take the program down, nor flood the log.
                if not self._has_failed:
                    self._has_failed = True
                    log.exception("%s could not be drawn", type(self).__name__)
                p.fillRect(self.rect(), colour(self.theme.surface))

    def sizeHint(self) -> QSize:
        return QSize(200, 60)


def rectangles(region: QRegion) -> Iterator[QRect]:
    """The rectangles of a region; their number is small."""
    return iter(cast("Iterable[QRect]", region))  # which it is, though its stubs do not say so
