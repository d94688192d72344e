"""The memory bar: weights, KV cache, reserve, what is left or missing, and what that has room for."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QBrush, QMouseEvent, QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.costmodel.memory import RESERVE_SHARE
from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.units import count, percent, size
from pdviz.widgets.kit.accessibility import Role
from pdviz.widgets.kit.paint import draw_round_box, draw_text, elided, rect
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.pointed import Pointed
from pdviz.widgets.kit.view import PaintedView


def memory_words(result: Result) -> tuple[str, str, str]:
    """(how much of how much, what it is made of, what more there is room for)."""
    memory = result.memory
    used = f"{size(memory.used_bytes)} of {size(memory.capacity_bytes)}"
    if not memory.fits:
        used = f"{size(-memory.free_bytes)} missing"
    made_of = f"weights {size(memory.weights_bytes)} · KV {size(memory.kv_bytes)}"
    if memory.fits:
        more = memory.free_sequences
        room = "any number fits" if more is None else f"room for {count(more)} more"
    else:
        fewest = result.fewest_accelerators
        room = "fits on no number of them" if fewest is None else f"fits on {count(fewest)} of them"
    return used, made_of, room


def paint_memory(p: QPainter, box: Box, result: Result, theme: Theme, scale: float) -> None:
    """Title, bar, legend in a box about 72 design pixels high."""
    memory = result.memory
    used, parts, room = memory_words(result)
    head = Box(box.x, box.y, box.w, 20 * scale)
    draw_text(p, head, "GPU memory", theme.muted, 13 * scale)
    draw_text(p, head, used, theme.text if memory.fits else theme.warning, 14 * scale, True, "right")
    bar = Box(box.x, head.bottom + 4 * scale, box.w, 11 * scale)
    draw_round_box(p, bar, theme.raised, 3 * scale)
    total = max(memory.capacity_bytes, memory.used_bytes + memory.reserve_bytes)
    weights = max(bar.w * memory.weights_bytes / total, 2 * scale)
    kv = max(bar.w * memory.kv_bytes / total, min(2 * scale, bar.w - weights))
    reserve = bar.w * memory.reserve_bytes / total
    p.fillRect(rect(Box(bar.x, bar.y, weights, bar.h)), colour(theme.memory_weights))
    p.fillRect(rect(Box(bar.x + weights, bar.y, kv, bar.h)), colour(theme.memory_kv))
    edge = bar.x + bar.w * memory.capacity_bytes / total
    hatch = QBrush(colour(theme.faint), Qt.BrushStyle.BDiagPattern)
    p.fillRect(rect(Box(edge - reserve, bar.y, reserve, bar.h)), hatch)
    if not memory.fits:
        p.fillRect(rect(Box(edge - reserve - scale, bar.y - 3 * scale, 2 * scale, bar.h + 6 * scale)),
                   colour(theme.warning))  # fmt: skip
    line = Box(box.x, bar.bottom + 5 * scale, box.w, 16 * scale)
    x = line.x
    for code, words in (
        (theme.memory_weights, parts.split(" · ")[0]),
        (theme.memory_kv, parts.split(" · ")[1]),
    ):
        draw_round_box(p, Box(x, line.y + 4 * scale, 8 * scale, 8 * scale), code, 2 * scale)
        draw_text(p, Box(x + 13 * scale, line.y, line.w, line.h), words, theme.muted, 12 * scale)
        x += 0.54 * line.w
    if line.bottom + 16 * scale > box.bottom + 1:
        return
    below = line.moved(0, 16 * scale)
    share = percent(RESERVE_SHARE)[:-4]
    draw_text(p, below, elided(room, 12 * scale, False, line.w), theme.muted, 12 * scale)
    left = line.w - text_width(room, 12 * scale) - 8 * scale
    for kept in (f"hatched: {share} % reserve", f"hatched: {share} %", "hatched: reserve"):
        if text_width(kept, 12 * scale) <= left:
            draw_text(p, below, kept, theme.faint, 12 * scale, False, "right")
            break


class MemoryView(PaintedView):
    """Shows the memory of a scenario."""

    accessible_role = Role.ProgressBar

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("GPU memory")
        self._result: Result | None = None
        self._words: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether what is shown fits."""
        return self._result is None or self._result.memory.fits

    def explain_at(self, at: QPoint) -> Pointed | None:
        """The head, the bar, and each part of the legend."""
        s, half = self.scale, self.width() // 2
        if at.y() < 22 * s:
            return Pointed("memory.fits", None, QRect(0, 0, self.width(), round(22 * s)))
        if 22 * s <= at.y() < 38 * s and at.x() > 0.9 * self.width():
            return Pointed("memory.capacity", None, QRect(0, round(22 * s), self.width(), round(16 * s)))
        if at.y() < 38 * s:
            return Pointed("memory.used", None, QRect(0, round(22 * s), self.width(), round(16 * s)))
        if at.y() < 57 * s:
            key, left = ("memory.weights", 0) if at.x() < half else ("memory.kv", half)
            return Pointed(key, None, QRect(left, round(38 * s), half, round(19 * s)))
        left = half
        if at.x() >= left:
            return Pointed(
                "memory.reserve", None, QRect(left, round(57 * s), self.width() - left, round(17 * s))
            )
        key = "memory.largest_batch" if self.fits else "memory.fewest"
        return Pointed(key, None, QRect(0, round(57 * s), left, round(17 * s)))

    def show_memory(self, result: Result) -> None:
        words = memory_words(result)
        if self._result is None or (result.memory, words) != (self._result.memory, self._words):
            self._words = words
            self.say(", ".join(words))
            self.update()
        self._result = result

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        event.accept()  # what is explained here is not the panel's below

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        p.fillRect(self.rect(), colour(self.theme.surface))
        if self._result is not None:
            paint_memory(p, Box(0, 0, self.width(), self.height()), self._result, self.theme, self.scale)
