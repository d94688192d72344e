"""One sentence to the user that does not stop the work: over the picture, gone after a while."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QMouseEvent, QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.scene.marks.geometry import Box
from pdviz.widgets.kit.accessibility import Role
from pdviz.widgets.kit.paint import draw_card, draw_text, wrapped
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.view import PaintedView

SECONDS = 12
SIZE = 13.5
MOST = 3  # sentences at once


class Toast(PaintedView):
    """Shows sentences; a click or Escape takes them away."""

    accessible_role = Role.AlertMessage
    announces = True

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName("Message")
        self._sentences: tuple[str, ...] = ()
        self._lines: tuple[str, ...] = ()
        self._is_problem, self._may_settle = True, True
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.dismiss)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.hide()

    @property
    def sentences(self) -> tuple[str, ...]:
        return self._sentences

    def inform(self, sentence: str) -> None:
        """Says what has been done."""
        self.tell(sentence)
        self._is_problem = False

    @Slot(str)
    def wait(self, sentence: str) -> None:
        """Says what is being done, until there is something else to say."""
        self.tell(sentence, stays=True)
        self._is_problem = False
        self._timer.stop()

    def settle(self) -> None:
        """A problem that was told is over: something else has been done since."""
        if self._is_problem and self._may_settle:
            self.dismiss()

    def tell(self, *sentences: str, stays: bool = False) -> None:
        """Shows sentences about a problem; with ``stays`` they outlast the next edit."""
        self._is_problem, self._may_settle = True, not stays
        more = len(sentences) - MOST
        if more > 0:
            sentences = (*sentences[:MOST], f"… and {more} more like these.")
        self._sentences = tuple(sentences)
        self.say(" ".join(sentences))
        self.lay_out()
        self.show()
        self.raise_()
        self._timer.start(SECONDS * 1000)
        self.update()

    @Slot()
    def dismiss(self) -> None:
        self._timer.stop()
        self._sentences = ()
        self.hide()

    def lay_out(self) -> None:
        """Places it above the foot of its parent."""
        parent = self.parentWidget()
        if parent is None or not self._sentences:
            return
        s = self.scale
        room = min(parent.width() - 60 * s, 900 * s)
        self._lines = tuple(
            line for sentence in self._sentences for line in wrapped(sentence, SIZE * s, True, room - 52 * s)
        )
        width = max(text_width(line, SIZE * s, True) for line in self._lines) + 56 * s
        height = (len(self._lines) * 18 + 22) * s
        self.place(Box((parent.width() - width) / 2, parent.height() - height - 84 * s, width, height))

    def look_changed(self) -> None:
        self.lay_out()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.dismiss()

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        theme, s = self.theme, self.scale
        p.fillRect(self.rect(), colour(theme.window))
        draw_card(p, Box(0, 0, self.width(), self.height()), theme, s, theme.raised)
        good = "✓" if self._timer.isActive() else "…"
        sign, code = ("!", theme.warning) if self._is_problem else (good, theme.muted)
        draw_text(p, Box(14 * s, 0, 16 * s, self.height()), sign, code, 17 * s, True, "center")
        for number, line in enumerate(self._lines):
            row = Box(38 * s, (11 + 18 * number) * s, self.width() - 50 * s, 18 * s)
            draw_text(p, row, line, theme.text, SIZE * s, True)
