"""The base of the small live forms of views that stand beside the request: a card that opens its view."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFocusEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.widgets.kit.fields import by_keyboard
from pdviz.widgets.kit.paint import ANTIALIASING, NO_BRUSH, rect
from pdviz.widgets.kit.palette import colour
from pdviz.widgets.kit.press import KeyPress
from pdviz.widgets.kit.view import PaintedView


class LivePanel(KeyPress, PaintedView):
    """Shows a result at a moment. ``clicked``: the user wants to see the view (mouse, Enter, Space)."""

    clicked = Signal()

    def __init__(self, name: str, tool_tip: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setToolTip(tool_tip)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._shows_focus = False

    def show_result(self, result: Result, time_s: float) -> None:
        """Another result."""
        raise NotImplementedError

    def show_time(self, time_s: float) -> None:
        """Moves the playhead, where there is one."""

    def say_moment(self) -> None:
        """Puts the present moment into words for assistive technology, where they change with it."""

    def paint_frame(self, p: QPainter) -> None:
        """The line around the card while it is pointed at or has the focus."""
        focused = self.hasFocus() and self._shows_focus
        if focused or self.underMouse():
            theme, s = self.theme, self.scale
            p.setRenderHint(ANTIALIASING, True)
            p.setBrush(NO_BRUSH)
            p.setPen(QPen(colour(theme.text if focused else theme.faint), (1.8 if focused else 1.0) * s))
            p.drawRoundedRect(rect(Box(0, 0, self.width(), self.height()).inset(s)), 8 * s, 8 * s)

    def press(self) -> None:
        self.clicked.emit()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.press()

    def enterEvent(self, event: QEvent) -> None:
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._shows_focus = by_keyboard(event)
        self.say_moment()
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.update()
