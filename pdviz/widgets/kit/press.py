"""Pressing by key: Enter and Space press what has the focus, before any shortcut of the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

PRESSES = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
PLAIN = (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)

if TYPE_CHECKING:
    Base = QWidget
else:
    Base = object


class KeyPress(Base):
    """Stands before the QWidget among a class's bases; calls ``press`` once for each key that goes down."""

    def press(self) -> None:
        """What a click does."""
        raise NotImplementedError

    @property
    def is_pressable(self) -> bool:
        """Whether there is something to press just now."""
        return True

    def _is_press(self, event: QEvent) -> bool:
        return (
            isinstance(event, QKeyEvent)
            and event.key() in PRESSES
            and event.modifiers() in PLAIN
            and self.is_pressable
        )

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and self._is_press(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self._is_press(event):
            super().keyPressEvent(event)
        elif not event.isAutoRepeat():
            self.press()
