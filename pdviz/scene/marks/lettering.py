"""Lines of text put in their places: measured, fitted into a width, wrapped."""

from __future__ import annotations

import math

import msgspec

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import MeasureText, Text

LINE = 1.35
"""Height of a line of text, in type sizes."""


def wrapped(
    text: str, room: float, size: float, bold: bool, measure: MeasureText, most: int = 0
) -> list[str]:
    """``text`` in lines no wider than ``room``, broken between words; the last of ``most`` takes the rest."""
    lines: list[str] = []
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and (len(lines) == most or measure(longer, size, bold) <= room):
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def elided(text: str, room: float, size: float, bold: bool, measure: MeasureText) -> str:
    """``text``, cut with an ellipsis where it is wider than ``room``; empty where not even that fits."""
    if measure(text, size, bold) <= room:
        return text
    spare = room - measure("…", size, bold)
    if spare <= 0:
        return ""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if measure(text[:middle], size, bold) < spare else (low, middle - 1)
    return text[:low] + "…"


class Lettering(msgspec.Struct, frozen=True):
    """Makes texts at an interface scale; sizes are design pixels."""

    scale: float
    measure: MeasureText

    def width(self, text: str, size: float, bold: bool = False) -> float:
        """The width that a text takes in its box."""
        return math.ceil(self.measure(text, size * self.scale, bold)) + 2.0

    def height(self, size: float) -> float:
        return LINE * size * self.scale

    def line(
        self, x: float, y: float, text: str, role: str, size: float, bold: bool = False, align: str = "left"
    ) -> Text:
        """A line whose box starts at ``x`` (left), ends there (right) or is centred on it."""
        width = self.width(text, size, bold)
        left = x if align == "left" else x - width if align == "right" else x - width / 2
        return Text(Box(left, y, width, self.height(size)), text, role, size * self.scale, bold, align)

    def fitted(self, text: str, room: float, size: float, bold: bool = False) -> str:
        """``text``, cut with an ellipsis where it is wider than ``room``; empty where nothing fits."""
        if self.width(text, size, bold) <= room:
            return text
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            if self.width(text[:middle].rstrip(" ,;:·") + "…", size, bold) <= room:
                low = middle
            else:
                high = middle - 1
        return text[:low].rstrip(" ,;:·") + "…" if low else ""

    def wrapped(self, text: str, room: float, size: float) -> list[str]:
        """``text`` in lines no wider than ``room``, broken between words."""
        return wrapped(text, room, size, False, self.width)
