"""Draws what would not work as asked and what was assumed."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.scene.request.remarks import Remark, RemarksCard, lay_out_remarks
from pdviz.widgets.kit.accessibility import Role
from pdviz.widgets.kit.paint import draw_card, draw_round_box, draw_scene_text
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.view import PaintedView


def paint_remarks(p: QPainter, card: RemarksCard | None, theme: Theme, scale: float) -> None:
    """Lines of warning on their ground; notes alone on a card."""
    if card is None:
        return
    if card.is_alarm:
        draw_round_box(p, card.box, theme.warning_soft, 8 * scale)
    else:
        draw_card(p, card.box, theme, scale)
    for text in card.texts:
        draw_scene_text(p, text, theme)


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
        box = Box(0, 0, self.width(), self.height())
        paint_remarks(p, lay_out_remarks(box, self._lines, self.scale, text_width), self.theme, self.scale)
