"""What would not work as asked, in whole sentences, above the picture that is drawn all the same."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.scene.geometry import Box
from pdviz.scene.theme import Theme
from pdviz.widgets.accessibility import Role
from pdviz.widgets.paint import draw_round_box, draw_text, elided
from pdviz.widgets.palette import colour, text_width
from pdviz.widgets.view import PaintedView

SIZE = 13.5


def wrapped(sentences: tuple[str, ...], width: float, scale: float) -> tuple[str, ...]:
    """The sentences in lines no wider than a warning box of ``width``."""
    room, size = width - 52 * scale, SIZE * scale
    lines: list[str] = []
    for sentence in sentences:
        line = ""
        for word in sentence.split(" "):
            longer = f"{line} {word}".strip()
            if line and text_width(longer, size, True) > room:
                lines.append(line)
                line = word
            else:
                line = longer
        lines.append(line)
    return tuple(lines)


def paint_warning(p: QPainter, box: Box, lines: tuple[str, ...], theme: Theme, scale: float) -> None:
    """Lines of warning on their ground, with a sign."""
    if not lines:
        return
    draw_round_box(p, box, theme.warning_soft, 8 * scale)
    sign = Box(box.x + 14 * scale, box.y, 16 * scale, 32 * scale)
    draw_text(p, sign, "!", theme.warning, 18 * scale, True, "center")
    for number, line in enumerate(lines):
        row = Box(box.x + 38 * scale, box.y + (7 + 18 * number) * scale, box.w - 52 * scale, 18 * scale)
        draw_text(p, row, elided(line, SIZE * scale, True, row.w), theme.warning, SIZE * scale, True)


class WarningView(PaintedView):
    """Shows the warnings of a result."""

    accessible_role = Role.AlertMessage
    announces = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Warnings")
        self._lines: tuple[str, ...] = ()

    def show_lines(self, lines: tuple[str, ...]) -> None:
        if lines != self._lines:
            self._lines = lines
            self.say(" ".join(lines))
            self.update()

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        p.fillRect(self.rect(), colour(self.theme.window))
        paint_warning(p, Box(0, 0, self.width(), self.height()), self._lines, self.theme, self.scale)
