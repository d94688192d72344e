"""Painted widgets for assistive technology: a role, a name and a value in words; changes are announced."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QAccessibleInterface
from PySide6.QtWidgets import QAccessibleWidget, QWidget

Role = QAccessible.Role


class PaintedAccessible(QAccessibleWidget):
    """What a screen reader learns of a painted widget: its ``role``, and its description as the value."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget, getattr(widget, "accessible_role", Role.Graphic), widget.accessibleName())
        self._widget = widget

    def text(self, kind: QAccessible.Text) -> str:
        if kind == QAccessible.Text.Value:
            return self._widget.accessibleDescription()
        return str(super().text(kind))


_kept: dict[int, PaintedAccessible] = {}


def _make(key: str, thing: QObject) -> QAccessibleInterface | None:
    if not isinstance(thing, QWidget) or not hasattr(thing, "accessible_role"):
        return None
    made = PaintedAccessible(thing)
    _kept[id(thing)] = made  # Qt owns the object, Python must not forget its methods meanwhile
    thing.destroyed.connect(_Forget(id(thing)))
    return made


class _Forget:
    """Drops what was kept for a widget that is gone."""

    def __init__(self, key: int) -> None:
        self._key = key

    def __call__(self, *_: object) -> None:
        _kept.pop(self._key, None)


_is_installed = False


def install() -> None:
    """Makes painted widgets known to assistive technology; costs nothing while none asks."""
    global _is_installed
    if not _is_installed:
        _is_installed = True
        QAccessible.installFactory(_make)


def announce(widget: QWidget, words: str) -> None:
    """Has a screen reader say ``words``; nothing where none is running."""
    if QAccessible.isActive():
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, words))
