"""What would not work as asked and what was assumed, above the picture that is drawn all the same."""

from __future__ import annotations

import msgspec
from PySide6.QtGui import QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.widgets.kit.accessibility import Role
from pdviz.widgets.kit.paint import draw_card, draw_round_box, draw_text, elided
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.view import PaintedView

SIZE = 13.5
MOST_NOTES = 2


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


class Remark(msgspec.Struct, frozen=True):
    """A line above the picture: a warning, or a note on what was assumed."""

    text: str
    is_warning: bool


def remarks(result: Result, width: float, scale: float) -> tuple[Remark, ...]:
    """Warnings and notes of a result, in lines no wider than a box of ``width``; few of the notes."""
    warned = wrapped(result.warnings, width, scale)
    noted = wrapped((" ".join(result.notes),), width, scale) if result.notes else ()
    if len(noted) > MOST_NOTES:
        noted = (*noted[: MOST_NOTES - 1], noted[MOST_NOTES - 1] + " …")
    return (*(Remark(line, True) for line in warned), *(Remark(line, False) for line in noted))


def paint_remarks(p: QPainter, box: Box, lines: tuple[Remark, ...], theme: Theme, scale: float) -> None:
    """Lines of warning on their ground, with a sign; notes alone are quiet."""
    if not lines:
        return
    alarms = lines[0].is_warning
    if alarms:
        draw_round_box(p, box, theme.warning_soft, 8 * scale)
    else:
        draw_card(p, box, theme, scale)
    sign = Box(box.x + 14 * scale, box.y, 16 * scale, 32 * scale)
    code = theme.warning if alarms else theme.muted
    draw_text(p, sign, "!" if alarms else "i", code, 17 * scale, True, "center")
    for number, line in enumerate(lines):
        row = Box(box.x + 38 * scale, box.y + (7 + 18 * number) * scale, box.w - 52 * scale, 18 * scale)
        code = theme.warning if line.is_warning else theme.text if alarms else theme.muted
        words = elided(line.text, SIZE * scale, line.is_warning, row.w)
        draw_text(p, row, words, code, SIZE * scale, line.is_warning)


class WarningView(PaintedView):
    """Shows the remarks on a result."""

    accessible_role = Role.AlertMessage
    announces = True

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Warnings and notes")
        self._lines: tuple[Remark, ...] = ()

    def show_lines(self, lines: tuple[Remark, ...]) -> None:
        if lines != self._lines:
            self._lines = lines
            self.say(" ".join(line.text for line in lines))
            self.update()

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        p.fillRect(self.rect(), colour(self.theme.window))
        paint_remarks(p, Box(0, 0, self.width(), self.height()), self._lines, self.theme, self.scale)
