"""What a widget says of the figures in it, for whoever explains them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QWidget

from pdviz.scene.marks.parts import Place, place_at
from pdviz.widgets.kit.paint import rect


class Pointed(msgspec.Struct, frozen=True):
    """A figure at a point of a widget: its key, its pass where it is one of a pass, its own rectangle."""

    key: str
    pass_index: int | None = None
    box: QRect | None = None


Provider = Callable[[QPoint], Pointed | None]
"""What is at a point of a widget. Keys ask for its middle."""


def always(key: str) -> Provider:
    """The provider of a widget that is one figure."""
    return lambda at: Pointed(key)


def pointed_at(places: Iterable[Place], at: QPoint, pass_index: int | None = None) -> Pointed | None:
    """The figure of a layout that is at a point of its widget."""
    place = place_at(places, at.x(), at.y())
    return Pointed(place.key, pass_index, rect(place.box).toAlignedRect()) if place is not None else None


class Explained(msgspec.Struct, frozen=True):
    """A widget whose figures are explained. With ``is_clickable`` a click pins the card.

    With ``is_focusable`` a widget that takes no focus can be reached by Tab from then on.
    """

    widget: QWidget
    provider: Provider
    is_clickable: bool = True
    is_focusable: bool = True
