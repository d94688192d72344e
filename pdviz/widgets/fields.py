"""Editors that know a value and its text, nothing of scenarios: slider, value, chip, icon, picker button."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QRegion
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QWidget

from pdviz.errors import InputError
from pdviz.scene.geometry import Box
from pdviz.scene.theme import DARK, Theme
from pdviz.widgets.accessibility import Role
from pdviz.widgets.paint import ANTIALIASING, NO_BRUSH, NO_PEN, draw_icon, draw_text, elided
from pdviz.widgets.palette import colour, font, text_width
from pdviz.widgets.view import PaintedView

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
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(name)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def show_value(self, value: int, low: int, high: int, mark: int | None = None, words: str = "") -> None:
        """The state to draw; emits nothing."""
        state = (value, low, max(high, low + 1), mark, words)
        if state != (self.value, self.low, self.high, self.mark, self.mark_words):
            self.value, self.low, self.high, self.mark, self.mark_words = state
            self.say(f"{value:,}, from {low:,} to {self.high:,}" + (f", {words}" if words else ""))
            self.update()

    def _share(self, value: float) -> float:
        shift = 1 - self.low
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
        value = self.value
        fine = max(1, snapped(0.05 * value))
        return {
            Key.Key_Left: value - fine,
            Key.Key_Down: value - fine,
            Key.Key_Right: value + fine,
            Key.Key_Up: value + fine,
            Key.Key_PageDown: value // 2,
            Key.Key_PageUp: max(value * 2, value + 1),
            Key.Key_Home: self.low,
            Key.Key_End: self.high,
        }

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
        """The value as it is; a refused text is replaced."""
        self._shown, self._typed = shown, typed
        self._is_refused = False
        self.setText(typed if self.hasFocus() else shown)
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
        palette.setColor(
            palette.ColorRole.Text, colour(self.theme.warning if self._is_refused else self.theme.text)
        )
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
        if event.key() == Key.Key_Escape:
            self._is_refused = False
            self.setText(self._typed)
            self.clearFocus()
        else:
            super().keyPressEvent(event)


class PaintedButton(QAbstractButton):
    """The base of painted buttons: themed, focused by Tab only, Space and Enter press it."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme: Theme = DARK
        self.scale = 1.0
        self.setText(name)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.shows_focus = False

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.shows_focus = by_keyboard(event)
        super().focusInEvent(event)

    def set_look(self, theme: Theme, scale: float) -> None:
        self.theme, self.scale = theme, scale
        self.update()

    def place(self, box: Box) -> None:
        self.setGeometry(round(box.x), round(box.y), round(box.w), round(box.h))

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            presses = event.key() in (Key.Key_Space, Key.Key_Return, Key.Key_Enter)
            if presses and not event.modifiers():
                event.accept()
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Key.Key_Return, Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        return QSize(round(self.needed_width()), round(30 * self.scale))

    def needed_width(self) -> float:
        """Width that the text needs."""
        return text_width(self.text(), 13 * self.scale, True) + 26 * self.scale

    def paint(self, p: QPainter) -> None:
        """Draws the button."""

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as p:
            p.setRenderHint(ANTIALIASING, True)
            self.paint(p)
            if self.hasFocus() and self.shows_focus:
                p.setRenderHint(ANTIALIASING, True)
                p.setPen(QPen(colour(self.theme.text), 1.4 * self.scale, Qt.PenStyle.DotLine))
                p.setBrush(NO_BRUSH)
                p.drawRoundedRect(QRectF(self.rect()).adjusted(2, 2, -2, -2), 5 * self.scale, 5 * self.scale)


class Chip(PaintedButton):
    """A pill that is on or off; being on is shown, not remembered."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self.is_on = False

    def show_on(self, is_on: bool) -> None:
        if is_on != self.is_on:
            self.is_on = is_on
            self.setAccessibleDescription("on" if is_on else "")
            self.update()

    def paint(self, p: QPainter) -> None:
        theme, s = self.theme, self.scale
        box = QRectF(self.rect()).adjusted(0.8, 0.8, -0.8, -0.8)
        p.setPen(QPen(colour(theme.text if self.is_on else theme.line), 1.5 * s if self.is_on else 1.0))
        hovered = self.underMouse() or self.isDown()
        p.setBrush(colour(theme.raised if hovered or self.is_on else theme.surface))
        p.drawRoundedRect(box, box.height() / 2, box.height() / 2)
        whole = Box(0, 0, self.width(), self.height())
        text = elided(self.text(), 12.5 * s, True, self.width() - 6 * s)
        draw_text(p, whole, text, theme.text if self.is_on else theme.muted, 12.5 * s, True, "center")


class IconButton(PaintedButton):
    """A symbol; ``filled`` draws it on a disc."""

    def __init__(self, name: str, icon: str, parent: QWidget | None = None, filled: bool = False) -> None:
        super().__init__(name, parent)
        self.icon_name, self._filled = icon, filled
        self.is_on = False
        self.setToolTip(name)

    def show_icon(self, icon: str, name: str) -> None:
        if icon != self.icon_name:
            self.icon_name = icon
            self.setAccessibleName(name)
            self.setToolTip(name)
            self.update()

    def show_on(self, is_on: bool) -> None:
        if is_on != self.is_on:
            self.is_on = is_on
            self.setAccessibleDescription("on" if is_on else "off")
            self.update()

    def paint(self, p: QPainter) -> None:
        theme = self.theme
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        code = theme.text if self.isEnabled() else theme.line
        p.setPen(NO_PEN)
        if self._filled:
            p.setBrush(colour(theme.accent))
            p.drawEllipse(box)
            code = theme.on_accent
        elif self.is_on or ((self.underMouse() or self.isDown()) and self.isEnabled()):
            p.setBrush(colour(theme.raised))
            p.drawRoundedRect(box, 6 * self.scale, 6 * self.scale)
        side = 0.5 * min(box.width(), box.height())
        centre = box.center()
        draw_icon(p, self.icon_name, Box(centre.x() - side / 2, centre.y() - side / 2, side, side), code)


class PickerButton(PaintedButton):
    """Shows a choice and opens a list of them."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._choice = ""
        self._framed = True

    def show_choice(self, choice: str) -> None:
        if choice != self._choice:
            self._choice = choice
            self.setAccessibleDescription(choice)
            self.update()

    @property
    def choice(self) -> str:
        return self._choice

    def set_framed(self, framed: bool) -> None:
        """Without a frame it reads as text with a chevron."""
        self._framed = framed

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Key.Key_Down, Key.Key_F4):
            self.click()
        else:
            super().keyPressEvent(event)

    def needed_width(self) -> float:
        return text_width(self._choice, 14.5 * self.scale, True) + 44 * self.scale

    def paint(self, p: QPainter) -> None:
        theme, s = self.theme, self.scale
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        hovered = self.underMouse() or self.isDown()
        if self._framed or hovered:
            p.setPen(QPen(colour(theme.line), 1.0) if self._framed else NO_PEN)
            p.setBrush(colour(theme.raised if hovered else theme.window))
            p.drawRoundedRect(box, 6 * s, 6 * s)
        inner = Box(11 * s, 0, self.width() - 36 * s, self.height())
        size, bold = 14.5 * s, self._framed
        draw_text(p, inner, elided(self._choice, size, bold, inner.w), theme.text, size, bold)
        draw_icon(
            p, "chevron", Box(self.width() - 25 * s, self.height() / 2 - 7 * s, 14 * s, 14 * s), theme.muted
        )


def attempt(action: Callable[[], None]) -> str | None:
    """Runs an edit; the sentence of its InputError where it was refused."""
    try:
        action()
    except InputError as error:
        return str(error)
    return None
