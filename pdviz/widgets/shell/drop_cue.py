"""What is shown while something is dragged over the window: that it may be dropped, and what may be."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPen, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.scene.marks.geometry import Box
from pdviz.widgets.kit.paint import ANTIALIASING, NO_BRUSH, draw_card, draw_text, rect
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.view import PaintedView

TITLE = "Drop a model, an accelerator or a scenario"
KINDS = "config.json or its folder · GGUF · TOML · PNG or SVG saved by pdviz · a scenario line"


class DropCue(PaintedView):
    """A border and a card over the whole window; the mouse goes through it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent, False)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName("Drop target")
        self.say(f"{TITLE}: {KINDS}")
        self.hide()

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        theme, s = self.theme, self.scale
        whole = Box(0, 0, self.width(), self.height())
        p.fillRect(self.rect(), colour(theme.window, 0.72))
        p.setRenderHint(ANTIALIASING, True)
        pen = QPen(colour(theme.muted), 2 * s)
        pen.setDashPattern([5, 4])
        p.setPen(pen)
        p.setBrush(NO_BRUSH)
        p.drawRoundedRect(rect(whole.inset(5 * s, 5 * s)), 12 * s, 12 * s)
        room = max(text_width(TITLE, 20 * s, True), text_width(KINDS, 13.5 * s))
        width, height = room + 56 * s, 96 * s
        card = Box((whole.w - width) / 2, (whole.h - height) / 2, width, height)
        draw_card(p, card, theme, s, theme.raised)
        draw_text(p, Box(card.x, card.y + 18 * s, width, 30 * s), TITLE, theme.text, 20 * s, True, "center")
        line = Box(card.x, card.y + 53 * s, width, 22 * s)
        draw_text(p, line, KINDS, theme.muted, 13.5 * s, False, "center")
