"""The head of the window: name, scenario in words, undo, theme, menu."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.scene.figures import scenario_words
from pdviz.scene.geometry import Box
from pdviz.scene.theme import DARK, Theme
from pdviz.widgets.fields import Chip, IconButton
from pdviz.widgets.paint import draw_text, elided
from pdviz.widgets.palette import colour, text_width

TOP_HEIGHT = 52.0
FIDELITY_WORDS = {"textbook": "Textbook model", "ideal": "Speed of light"}


class TopBar(QWidget):
    """Painted title with a few buttons."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme: Theme = DARK
        self.scale = 1.0
        self._words = ("", "")
        self.undo = IconButton("Undo (Ctrl+Z)", "undo", self)
        self.redo = IconButton("Redo (Ctrl+Shift+Z)", "redo", self)
        self.look = IconButton("Dark or light (Ctrl+T)", "theme", self)
        self.menu = Chip("Menu", self)

    def show_result(self, result: Result, can_undo: bool, can_redo: bool) -> None:
        self.undo.setEnabled(can_undo)
        self.redo.setEnabled(can_redo)
        s, machine = result.scenario, result.machine
        assumed = (
            f"{FIDELITY_WORDS[s.fidelity]}: kernels reach {machine.compute_efficiency:.0%} of peak, "
            f"{machine.bandwidth_efficiency:.0%} of bandwidth"
        )
        words = (scenario_words(s), assumed)
        if words != self._words:
            self._words = words
            self.update()

    def set_look(self, theme: Theme, scale: float) -> None:
        self.theme, self.scale = theme, scale
        for child in (self.undo, self.redo, self.look, self.menu):
            child.set_look(theme, scale)
        self._lay_out()
        self.update()

    def resizeEvent(self, event: object) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        s, height = self.scale, self.height()
        right = self.width() - 16 * s
        right -= self.menu.needed_width()
        self.menu.place(Box(right, (height - 30 * s) / 2, self.menu.needed_width(), 30 * s))
        for button in (self.look, self.redo, self.undo):
            right -= 38 * s
            button.place(Box(right, (height - 32 * s) / 2, 32 * s, 32 * s))
        self._right = right - 12 * s

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, s, height = self.theme, self.scale, self.height()
        with QPainter(self) as p:
            p.fillRect(self.rect(), colour(theme.surface))
            p.fillRect(0, height - 1, self.width(), 1, colour(theme.line))
            x = 18 * s
            draw_text(p, Box(x, 0, 300 * s, height), "Prefill and decode", theme.text, 17 * s, True)
            x += text_width("Prefill and decode", 17 * s, True) + 28 * s
            left, assumed = max(x, 296 * s), self._words[1]
            size = 13 * s
            width = text_width(assumed, size)
            words_width = text_width(self._words[0], 14 * s)
            if left + words_width + 30 * s + width < self._right:
                draw_text(p, Box(self._right - width, 0, width, height), assumed, theme.faint, size)
                room = self._right - width - 30 * s - left
            else:
                room = self._right - left
            draw_text(
                p,
                Box(left, 0, room, height),
                elided(self._words[0], 14 * s, False, room),
                theme.muted,
                14 * s,
            )
