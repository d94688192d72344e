"""What is shown where there is no run yet: how far the simulation is, or why there is none."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.units import percent
from pdviz.widgets.kit.accessibility import Role
from pdviz.widgets.kit.paint import draw_card, draw_round_box, draw_text, wrapped
from pdviz.widgets.kit.palette import colour
from pdviz.widgets.kit.view import PaintedView

BAR_WIDTH = 240.0


def paint_wait(p: QPainter, box: Box, words: str, share: float | None, theme: Theme, scale: float) -> None:
    """A sentence in the middle of a card, with a bar where a share is done."""
    draw_card(p, box, theme, scale)
    size, line = 15 * scale, 22 * scale
    lines = wrapped(words, size, False, box.w - 60 * scale)
    y = box.y + (box.h - len(lines) * line) / 2
    for text in lines:
        draw_text(p, Box(box.x, y, box.w, line), text, theme.muted, size, False, "center")
        y += line
    if share is not None:
        well = Box(box.x + (box.w - BAR_WIDTH * scale) / 2, y + 10 * scale, BAR_WIDTH * scale, 6 * scale)
        draw_round_box(p, well, theme.raised, 3 * scale)
        if share > 0:
            draw_round_box(
                p, Box(well.x, well.y, max(well.w * share, 6 * scale), well.h), theme.muted, 3 * scale
            )


class WaitView(PaintedView):
    """Says that the simulation is under way, or a sentence."""

    accessible_role = Role.ProgressBar
    announces = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("The simulation")
        self._words, self._share = "Simulating the server", 0.0

    def show_share(self, share: float, words: str) -> None:
        """How far it is."""
        self._words, self._share = words or "Simulating the server", share
        self.setAccessibleDescription(f"{self._words}, {percent(share)}")
        self.update()

    def show_words(self, words: str) -> None:
        """A sentence instead."""
        self._words, self._share = words, -1.0
        self.say(words)
        self.update()

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        p.fillRect(self.rect(), colour(self.theme.window))
        share = self._share if self._share >= 0 else None
        paint_wait(p, Box(0, 0, self.width(), self.height()), self._words, share, self.theme, self.scale)
