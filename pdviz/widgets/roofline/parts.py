"""Parts of the roofline view: handles on the dots, chips of pinned accelerators, the note beside them."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QEnterEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QRegion,
)
from PySide6.QtWidgets import QWidget

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import DARK, Theme
from pdviz.scene.roofline.curves import PREFILL, GrowthPath, Roofline
from pdviz.scene.roofline.words import ChartNote, dot_words
from pdviz.widgets.kit.buttons import PaintedButton
from pdviz.widgets.kit.fields import by_keyboard, key_steps
from pdviz.widgets.kit.paint import ANTIALIASING, NO_BRUSH, draw_card, draw_text, elided
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.view import PaintedView
from pdviz.widgets.roofline.paint import paint_chart_header, paint_note

Key = Qt.Key
HANDLE = 34.0


class DotHandle(QWidget):
    """Lies on a dot: hovered, focused and dragged in its place.

    ``dragged(x, y)`` in pixels of the parent where the dot is wanted; ``stepped(size)`` the size of the
    pass that a key asks for; ``noticed(phase)`` while the dot is pointed at or focused, else "".
    """

    dragged = Signal(float, float)
    stepped = Signal(int)
    noticed = Signal(str)

    def __init__(self, phase: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.phase = phase
        self.theme: Theme = DARK
        self.scale = 1.0
        self.is_dragged = False
        self._path: GrowthPath | None = None
        self._grip = QPointF()
        self._shows_focus = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        self.setAccessibleName(
            "Prefill: prompt" if phase == PREFILL else "Decode: sequences decoding together"
        )
        self.setToolTip(
            "Drag along the roof: a longer or shorter prompt"
            if phase == PREFILL
            else "Drag along the roof: more or fewer sequences decoding together"
        )

    def show_dot(self, roofline: Roofline) -> None:
        """The path along which the dot moves, and its words."""
        self._path = roofline.path_of(self.phase)
        for dot in roofline.dots:
            if dot.phase == self.phase:
                words = ", ".join((*dot_words(roofline, dot), f"{dot.cost.bound}-bound"))
                if words != self.accessibleDescription():
                    self.setAccessibleDescription(words)

    def put(self, x: float, y: float) -> None:
        """Moves the handle to its dot."""
        side = round(HANDLE * self.scale)
        self.setGeometry(round(x - side / 2), round(y - side / 2), side, side)

    def set_look(self, theme: Theme, scale: float) -> None:
        self.theme, self.scale = theme, scale
        self.update()

    # --- mouse ---------------------------------------------------------------------------------

    def _centre(self) -> QPointF:
        return QRectF(self.geometry()).center()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.is_dragged = True
            self._grip = self.mapToParent(event.position()) - self._centre()
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.noticed.emit(self.phase)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.is_dragged:
            at = self.mapToParent(event.position()) - self._grip
            self.dragged.emit(at.x(), at.y())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.is_dragged = False
        self.setCursor(Qt.CursorShape.OpenHandCursor)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.mousePressEvent(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        self.noticed.emit(self.phase)

    def leaveEvent(self, event: QEvent) -> None:
        self.noticed.emit(self.phase if self.hasFocus() and self._shows_focus else "")

    # --- keyboard ------------------------------------------------------------------------------

    def _steps(self, path: GrowthPath) -> dict[Key, int]:
        return key_steps(path.size, path.lowest, path.highest)

    def event(self, event: QEvent) -> bool:
        # Keys of the dot that has the focus come before shortcuts of the window.
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
            if plain and self._path is not None and event.key() in self._steps(self._path):
                event.accept()
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {} if self._path is None else self._steps(self._path)
        size = steps.get(Key(event.key()))
        if size is None or self._path is None:
            super().keyPressEvent(event)
            return
        size = min(max(size, self._path.lowest), self._path.highest)
        if size != self._path.size:
            self.stepped.emit(size)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._shows_focus = by_keyboard(event)
        if self._shows_focus:
            self.noticed.emit(self.phase)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.noticed.emit("")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not (self.hasFocus() and self._shows_focus):
            return
        with QPainter(self) as p:
            p.setRenderHint(ANTIALIASING, True)
            p.setBrush(NO_BRUSH)
            p.setPen(QPen(colour(self.theme.text), 1.4 * self.scale, Qt.PenStyle.DotLine))
            p.drawEllipse(QRectF(self.rect()).adjusted(2, 2, -2, -2))


class PinChip(PaintedButton):
    """The name of a pinned accelerator; pressing it, or Delete, takes the pin out. ``noticed(name)``."""

    noticed = Signal(str)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self.setAccessibleName(f"Unpin {name}")
        self.problem = ""

    def show_problem(self, problem: str) -> None:
        """Why its roof is not drawn, if it is not."""
        self.problem = problem
        self.setToolTip(f"{self.text()}: {problem}" if problem else f"Unpin {self.text()}")
        self.update()

    def needed_width(self) -> float:
        return text_width(self.text(), 12.5 * self.scale, True) + 42 * self.scale

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Key.Key_Delete, Key.Key_Backspace):
            self.click()
        else:
            super().keyPressEvent(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.noticed.emit(self.text())

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.noticed.emit("")

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if self.shows_focus:
            self.noticed.emit(self.text())

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.noticed.emit("")

    def paint(self, p: QPainter) -> None:
        theme, s = self.theme, self.scale
        hovered = self.underMouse() or self.isDown()
        p.setPen(QPen(colour(theme.line), 1.0))
        p.setBrush(colour(theme.raised if hovered else theme.surface))
        box = QRectF(self.rect()).adjusted(0.8, 0.8, -0.8, -0.8)
        p.drawRoundedRect(box, box.height() / 2, box.height() / 2)
        inner = Box(13 * s, 0, self.width() - 38 * s, self.height())
        code = theme.faint if self.problem else theme.text
        draw_text(p, inner, elided(self.text(), 12.5 * s, True, inner.w), code, 12.5 * s, True)
        x, y, arm = self.width() - 16 * s, self.height() / 2, 3.6 * s
        p.setPen(QPen(colour(theme.text if hovered else theme.muted), 1.5 * s))
        p.drawLine(QPointF(x - arm, y - arm), QPointF(x + arm, y + arm))
        p.drawLine(QPointF(x - arm, y + arm), QPointF(x + arm, y - arm))


class ChartCard(PaintedView):
    """The ground of the chart: card, title, key, and a line on what can be done."""

    HINT = "Drag a dot along the roof; the wheel zooms, a double click shows all"

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Roofline chart")
        self._roofline: Roofline | None = None
        self._header = self._hint = Box(0, 0, 0, 0)

    def show_roofline(self, roofline: Roofline) -> None:
        if self._roofline is None or roofline.machine != self._roofline.machine:
            self.update()
        self._roofline = roofline

    def lay_out(self, header: Box, hint: Box) -> None:
        """Boxes of the header and of the hint, in the card."""
        if (header, hint) != (self._header, self._hint):
            self._header, self._hint = header, hint
            self.update()

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        theme, s = self.theme, self.scale
        p.fillRect(self.rect(), colour(theme.window))
        card = Box(0, 0, self.width(), self.height())
        if self._roofline is None:
            draw_card(p, card, theme, s)
            return
        paint_chart_header(p, card, self._header, self._roofline, theme, s)
        words = elided(self.HINT, 12.5 * s, False, self._hint.w)
        draw_text(p, self._hint, words, theme.faint, 12.5 * s, False, "right")


class NoteView(PaintedView):
    """Shows a ChartNote."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("What this is")
        self.note: ChartNote | None = None

    def show_note(self, note: ChartNote) -> None:
        if note != self.note:
            self.note = note
            self.update()

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        p.fillRect(self.rect(), colour(self.theme.window))
        if self.note is not None:
            card = Box(0, 0, self.width(), self.height())
            paint_note(p, card, self.note, self.theme, self.scale)
