"""The card beside the cursor: what a pass costs and why, or what a part of a model is."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Hover
from pdviz.widgets.kit.paint import draw_card, draw_text
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.view import PaintedView

ROW, SIZE = 19.0, 12.5


class HoverCard(PaintedView):
    """Shows a Hover near a point of its parent, wholly inside it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName("What is under the cursor")
        self._hover: Hover | None = None
        self.hide()

    @property
    def shown(self) -> Hover | None:
        """What is on the card, None where it is hidden."""
        return self._hover if self.isVisible() else None

    def show_hover(self, hover: Hover | None, x: float, y: float) -> None:
        """The card beside (x, y), or none."""
        parent = self.parentWidget()
        if hover is None or parent is None:
            self.hide()
            return
        s = self.scale
        names = max(text_width(name, SIZE * s) for name, _ in hover.rows)
        values = max(text_width(value, SIZE * s, True) for _, value in hover.rows)
        width = max(names + values + 46 * s, text_width(hover.title, 14 * s, True) + 28 * s)
        height = (len(hover.rows) * ROW + 44) * s
        left = x + 16 * s
        if left + width > parent.width() - 4 * s:
            left = x - 16 * s - width
        top = min(max(y - height - 8 * s, 4 * s), parent.height() - height - 4 * s)
        self.place(Box(max(left, 4 * s), max(top, 0), width, height))
        if hover != self._hover or not self.isVisible():
            self._hover = hover
            self.say(hover.title + ": " + ", ".join(f"{name} {value}" for name, value in hover.rows))
            self.show()
            self.raise_()
            self.update()

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        theme, s = self.theme, self.scale
        p.fillRect(self.rect(), colour(theme.surface))
        card = Box(0, 0, self.width(), self.height())
        draw_card(p, card, theme, s, theme.raised)
        if self._hover is None:
            return
        inner = card.inset(14 * s, 10 * s)
        draw_text(
            p, Box(inner.x, inner.y, inner.w, 20 * s), self._hover.title,
            theme.bound_text(self._hover.bound) if self._hover.bound else theme.text, 14 * s, True,
        )  # fmt: skip
        y = inner.y + 24 * s
        for name, value in self._hover.rows:
            row = Box(inner.x, y, inner.w, ROW * s)
            draw_text(p, row, name, theme.muted, SIZE * s)
            draw_text(p, row, value, theme.text, SIZE * s, True, "right")
            y += ROW * s
