"""The base of painted views that move something over what stands still."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize
from PySide6.QtGui import QPainter, QPixmap, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.widgets.kit.palette import colour
from pdviz.widgets.kit.view import PaintedView, rectangles


class CachedCanvas(PaintedView):
    """Keeps a picture of ``paint_still`` until ``forget`` is called, size, theme or scale change."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._picture = QPixmap()
        self._is_current = False

    @property
    def is_painted(self) -> bool:
        """True once the present state has been drawn."""
        return self._is_current

    def forget(self) -> None:
        """What stands still is out of date."""
        self._is_current = False
        self.update()

    def look_changed(self) -> None:
        self.forget()

    def resizeEvent(self, event: QEvent) -> None:
        self.forget()

    def paint_still(self, p: QPainter) -> None:
        """Draws what stands still on the window's ground."""

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        ratio = self.devicePixelRatioF()
        if not self._is_current or self._picture.devicePixelRatio() != ratio:
            self._redraw(ratio)
        for part in rectangles(dirty):
            x, y, w, h = part.x(), part.y(), part.width(), part.height()
            p.drawPixmap(QRectF(part), self._picture, QRectF(x * ratio, y * ratio, w * ratio, h * ratio))

    def _redraw(self, ratio: float) -> None:
        size = QSize(round(self.width() * ratio), round(self.height() * ratio))
        if self._picture.size() != size:
            self._picture = QPixmap(size)
        self._picture.setDevicePixelRatio(ratio)
        with QPainter(self._picture) as p:
            p.fillRect(self.rect(), colour(self.theme.window))
            self.paint_still(p)
        self._is_current = True
