"""Draws the memory bar, and answers for the figures on it."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QBrush, QMouseEvent, QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.memory import MemoryBar, lay_out_memory, memory_words
from pdviz.scene.marks.theme import Theme
from pdviz.widgets.kit.accessibility import Role
from pdviz.widgets.kit.paint import draw_round_box, draw_scene_text, rect
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.pointed import Pointed, pointed_at
from pdviz.widgets.kit.view import PaintedView


def paint_memory(p: QPainter, memory: MemoryBar, theme: Theme, scale: float) -> None:
    """Title, bar and legend."""
    draw_round_box(p, memory.bar, theme.raised, 3 * scale)
    for part in memory.parts:
        p.fillRect(rect(part.box), colour(getattr(theme, part.role)))
    p.fillRect(rect(memory.reserve), QBrush(colour(theme.faint), Qt.BrushStyle.BDiagPattern))
    if memory.limit is not None:
        p.fillRect(rect(memory.limit), colour(theme.warning))
    for swatch in memory.swatches:
        draw_round_box(p, swatch.box, getattr(theme, swatch.role), 2 * scale)
    for text in memory.texts:
        draw_scene_text(p, text, theme)


class MemoryView(PaintedView):
    """Shows the memory of a scenario."""

    accessible_role = Role.ProgressBar

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("GPU memory")
        self._result: Result | None = None
        self._words: tuple[str, ...] = ()

    def show_memory(self, result: Result) -> None:
        words = memory_words(result)
        if self._result is None or (result.memory, words) != (self._result.memory, self._words):
            used, weights, kv, room = self._words = words
            self.say(f"{used}, {weights} · {kv}, {room}")
            self.update()
        self._result = result

    def layout_now(self) -> MemoryBar | None:
        """The geometry that is drawn and hit."""
        if self._result is None:
            return None
        return lay_out_memory(Box(0, 0, self.width(), self.height()), self._result, self.scale, text_width)

    def explain_at(self, at: QPoint) -> Pointed | None:
        """The figure at a point."""
        memory = self.layout_now()
        return pointed_at(memory.places, at) if memory is not None else None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        event.accept()  # what is explained here is not the panel's below

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        p.fillRect(self.rect(), colour(self.theme.surface))
        memory = self.layout_now()
        if memory is not None:
            paint_memory(p, memory, self.theme, self.scale)
