"""Editors that know a value and its text, nothing of scenarios: slider, value, chip, icon, picker button."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QEvent, QRectF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPen, QRegion
from PySide6.QtWidgets import QLineEdit, QWidget

from pdviz.errors import InputError
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import DARK, Theme
from pdviz.widgets.kit.accessibility import Role
from pdviz.widgets.kit.paint import ANTIALIASING, NO_BRUSH, NO_PEN, draw_text
from pdviz.widgets.kit.palette import colour, font, text_width
from pdviz.widgets.kit.view import PaintedView

Key = Qt.Key


def snapped(value: float) -> int:
    """A round value near ``value``: a power of two where one is within 2 %, else three digits."""
    if value < 1:
        return round(value)
    power = 2 ** round(math.log2(value))
    if abs(value - power) <= 0.02 * power:
        return int(power)
    digits = max(math.floor(math.log10(value)) - 2, 0)
    return int(round(value / 10**digits) * 10**digits)


def by_keyboard(event: QFocusEvent) -> bool:
    """True where the focus came by a key, so that it has to be shown."""
    return event.reason() in (
        Qt.FocusReason.TabFocusReason,
        Qt.FocusReason.BacktabFocusReason,
        Qt.FocusReason.ShortcutFocusReason,
    )


def key_steps(value: int, low: int, high: int) -> dict[Key, int]:
    """Where each key takes a count on a logarithmic scale."""
    fine = max(1, snapped(0.05 * value))
    return {
        Key.Key_Left: value - fine,
        Key.Key_Down: value - fine,
        Key.Key_Right: value + fine,
        Key.Key_Up: value + fine,
        Key.Key_PageDown: value // 2,
        Key.Key_PageUp: max(value * 2, value + 1),
        Key.Key_Home: low,
        Key.Key_End: high,
    }


class LogSlider(PaintedView):
    """A slider over whole numbers on a logarithmic scale; 0 may be its lowest value.

    ``moved(value)``: the user chose a value. ``mark`` is a value worth a tick, with a few words.
    """

    moved = Signal(int)
    accessible_role = Role.Slider

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.low, self.high, self.value = 0, 1, 0
        self.mark: int | None = None
        self.mark_words = ""
        self.shows_focus = False
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(name)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def show_value(self, value: int, low: int, high: int, mark: int | None = None, words: str = "") -> None:
        """The state to draw; emits nothing."""
        state = (value, low, high, mark, words)
        if state != (self.value, self.low, self.high, self.mark, self.mark_words):
            self.value, self.low, self.high, self.mark, self.mark_words = state
            self.say(f"{value:,}, from {low:,} to {self.high:,}" + (f", {words}" if words else ""))
            self.update()

    def _share(self, value: float) -> float:
        shift = 1 - self.low
        if self.high <= self.low:
            return 0.0
        return math.log(max(value + shift, 1.0)) / math.log(self.high + shift)

    def _value(self, share: float) -> int:
        shift = 1 - self.low
        value = (self.high + shift) ** min(max(share, 0.0), 1.0) - shift
        return min(max(snapped(value), self.low), self.high)

    def _track(self) -> tuple[float, float]:
        radius = 8 * self.scale
        return radius, self.width() - radius

    def _x(self, value: float) -> float:
        left, right = self._track()
        return left + (right - left) * self._share(value)

    def choose(self, value: int) -> None:
        """As if the user had chosen ``value``."""
        value = min(max(value, self.low), self.high)
        if value != self.value:
            self.moved.emit(value)

    def _from_mouse(self, event: QMouseEvent) -> None:
        left, right = self._track()
        self.choose(self._value((event.position().x() - left) / max(right - left, 1.0)))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._from_mouse(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._from_mouse(event)

    def event(self, event: QEvent) -> bool:
        # Arrow keys belong to the slider that has the focus, before any shortcut of the window.
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
            if plain and event.key() in self._steps():
                event.accept()
                return True
        return super().event(event)

    def _steps(self) -> dict[Key, int]:
        return key_steps(self.value, self.low, self.high)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        target = self._steps().get(Key(event.key()))
        if target is None:
            super().keyPressEvent(event)
        else:
            self.choose(target)

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        theme, s = self.theme, self.scale
        p.fillRect(self.rect(), colour(theme.surface))
        y = 9 * s
        left, right = self._track()
        x = self._x(self.value)
        p.setRenderHint(ANTIALIASING, True)
        p.setPen(NO_PEN)
        p.setBrush(colour(theme.line))
        p.drawRoundedRect(QRectF(left, y - 2 * s, right - left, 4 * s), 2 * s, 2 * s)
        p.setBrush(colour(theme.accent))
        p.drawRoundedRect(QRectF(left, y - 2 * s, x - left, 4 * s), 2 * s, 2 * s)
        if self.mark is not None and self.low <= self.mark <= self.high:
            self._paint_mark(p, y)
        p.setPen(QPen(colour(theme.surface), 2 * s))
        p.setBrush(colour(theme.accent))
        p.drawEllipse(QRectF(x - 7.5 * s, y - 7.5 * s, 15 * s, 15 * s))
        if self.hasFocus() and self.shows_focus:
            p.setPen(QPen(colour(theme.muted), 1.5 * s))
            p.setBrush(NO_BRUSH)
            p.drawEllipse(QRectF(x - 8.5 * s, y - 8.5 * s, 17 * s, 17 * s).intersected(QRectF(self.rect())))

    def _paint_mark(self, p: QPainter, y: float) -> None:
        theme, s = self.theme, self.scale
        x = self._x(self.mark or 0)
        p.setPen(QPen(colour(theme.muted), 1.5 * s))
        p.drawLine(QRectF(x, y - 7 * s, 0, 0).topLeft(), QRectF(x, y + 8 * s, 0, 0).topLeft())
        p.setRenderHint(ANTIALIASING, False)
        width = text_width(self.mark_words, 11.5 * s)
        box = Box(min(max(x - width / 2, 0), self.width() - width), y + 9 * s, width, 14 * s)
        draw_text(p, box, self.mark_words, theme.faint, 11.5 * s)
        p.setRenderHint(ANTIALIASING, True)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.shows_focus = by_keyboard(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.update()


class ValueEdit(QLineEdit):
    """A value that can be typed exactly. Shows ``shown`` at rest and ``typed`` while being edited.

    ``entered(text)`` asks for the value; where that fails ``refuse`` keeps the text and marks it.
    """

    entered = Signal(str)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setFrame(False)
        self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setTextMargins(0, 0, 0, 0)
        self._shown = self._typed = ""
        self._is_refused = False
        self.theme: Theme = DARK
        self.returnPressed.connect(self._enter)

    def show_value(self, shown: str, typed: str) -> None:
        """The value as it is. A text that is refused or half typed stays until the value changes."""
        is_own = self._is_refused or (self.hasFocus() and self.text() != self._typed)
        is_same = typed == self._typed
        self._shown, self._typed = shown, typed
        if is_own and is_same:
            return
        self._is_refused = False
        self.setText(typed if self.hasFocus() else shown)
        self._colour()

    def accept(self) -> None:
        """The text was taken, even where it says what was there before."""
        self._is_refused = False
        self.setText(self._typed if self.hasFocus() else self._shown)
        self._colour()

    def refuse(self) -> None:
        """Marks the text as not acceptable, keeping it."""
        self._is_refused = True
        self._colour()

    @property
    def is_refused(self) -> bool:
        return self._is_refused

    def set_look(self, theme: Theme, scale: float) -> None:
        self.theme = theme
        self.setFont(font(15 * scale, True))
        self._colour()

    def _colour(self) -> None:
        palette = self.palette()
        usual = self.theme.text if self.isEnabled() else self.theme.faint
        palette.setColor(palette.ColorRole.Text, colour(self.theme.warning if self._is_refused else usual))
        palette.setColor(
            palette.ColorRole.Base, colour(self.theme.raised if self.hasFocus() else self.theme.surface)
        )
        self.setPalette(palette)

    def _enter(self) -> None:
        if self.text() != (self._typed if self.hasFocus() else self._shown) or self._is_refused:
            self.entered.emit(self.text())

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if not self._is_refused:
            self.setText(self._typed)
            self.selectAll()
        self._colour()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if self.text() != self._typed and not self._is_refused:
            self.entered.emit(self.text())
        if not self._is_refused:
            self.setText(self._shown)
        self._colour()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_changed = self._is_refused or self.text() != self._typed
        if event.key() == Key.Key_Escape and not is_changed:
            self.clearFocus()
            event.ignore()
        elif event.key() == Key.Key_Escape:
            self._is_refused = False
            self.setText(self._typed)
            self.clearFocus()
        else:
            super().keyPressEvent(event)


def attempt(action: Callable[[], None]) -> str | None:
    """Runs an edit; the sentence of its InputError where it was refused."""
    try:
        action()
    except InputError as error:
        return str(error)
    return None
