"""Painted buttons: chip, icon, picker. They know a name and a state, nothing of scenarios."""

from __future__ import annotations

import logging

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import DARK, Theme
from pdviz.widgets.kit.fields import Key, by_keyboard
from pdviz.widgets.kit.paint import ANTIALIASING, NO_BRUSH, NO_PEN, draw_icon, draw_text, elided
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.press import KeyPress

log = logging.getLogger(__name__)


CHIP_SIZE = 12.5


class PaintedButton(KeyPress, QAbstractButton):
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
        self._has_failed = False

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.shows_focus = by_keyboard(event)
        super().focusInEvent(event)

    def set_look(self, theme: Theme, scale: float) -> None:
        self.theme, self.scale = theme, scale
        self.update()

    def place(self, box: Box) -> None:
        self.setGeometry(round(box.x), round(box.y), round(box.w), round(box.h))

    def press(self) -> None:
        self.click()

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
            try:
                self.paint(p)
            except Exception:
                # As for views: a mistake in drawing takes nothing down, and is logged once.
                if not self._has_failed:
                    self._has_failed = True
                    log.exception("%s could not be drawn", type(self).__name__)
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
        hovered = (self.underMouse() or self.isDown()) and self.isEnabled()
        p.setBrush(colour(theme.raised if hovered or self.is_on else theme.surface))
        p.drawRoundedRect(box, box.height() / 2, box.height() / 2)
        whole = Box(0, 0, self.width(), self.height())
        text = elided(self.text(), CHIP_SIZE * s, True, self.width() - 6 * s)
        code = theme.text if self.is_on else theme.muted if self.isEnabled() else theme.line
        draw_text(p, whole, text, code, CHIP_SIZE * s, True, "center")


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
