"""What every picture is made of: texts, dimension lines, and what is said of a place."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from pdviz.scene.marks.geometry import Box

MeasureText = Callable[[str, float, bool], float]
"""Width of a text at a type size (both in logical pixels), bold or not."""


class Text(msgspec.Struct, frozen=True):
    """A text in its box. ``role`` is a colour role of the theme, ``align`` left, center or right."""

    box: Box
    text: str
    role: str
    size: float
    bold: bool = False
    align: str = "left"


class Dimension(msgspec.Struct, frozen=True):
    """A measure drawn as on an engineering drawing: a line between two ends, extension lines, a text.

    ``opens_right`` and ``opens_left`` tell that the measured length goes on outside the view.
    ``foot`` is how far down the extension lines reach at either end.
    """

    x0: float
    x1: float
    y: float
    foot: float
    text: Text
    splits: bool
    opens_left: bool = False
    opens_right: bool = False


class Hover(msgspec.Struct, frozen=True):
    """What is under the cursor in words: a title and rows of (name, value).

    ``index`` is the number of a pass or of a layer, ``bound`` what limits a pass ("" for what is none).
    """

    index: int
    title: str
    bound: str
    rows: tuple[tuple[str, str], ...]


class Place(msgspec.Struct, frozen=True):
    """Where a figure is shown; ``key`` is that of its explanation."""

    key: str
    box: Box


def place_at(places: Iterable[Place], x: float, y: float) -> Place | None:
    """The first of ``places`` that is at a point."""
    return next((place for place in places if place.box.contains(x, y)), None)
