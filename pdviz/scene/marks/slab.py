"""Matrices as rectangles to scale: no side too short to be seen, none longer than its room."""

from __future__ import annotations

import math

import msgspec

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.matrices import WeightMatrix
from pdviz.units import count, significant

LEAST_SIDE = 2.0
"""Design pixels that a side takes at least, however few rows or columns it stands for."""
LEAST_WEIGHTS_HEIGHT, CUT_WEIGHTS_HEIGHT = 26.0, 60.0
"""Design pixels: weights that would be flatter than the first in order to show all of their width are
drawn with the second, and cut."""


class Slab(msgspec.Struct, frozen=True):
    """A matrix as a rectangle. ``true_w`` and ``true_h`` are its sides to scale, ``box`` what is drawn."""

    box: Box
    rows: float
    columns: int
    true_w: float
    true_h: float

    @property
    def cut_right(self) -> bool:
        return self.true_w > self.box.w * (1 + 1e-9)

    @property
    def cut_bottom(self) -> bool:
        return self.true_h > self.box.h * (1 + 1e-9)

    @property
    def is_to_scale(self) -> bool:
        return math.isclose(self.true_w, self.box.w) and math.isclose(self.true_h, self.box.h)


def make_slab(
    x: float, y: float, rows: float, columns: int, k: float, room: tuple[float, float], least: float
) -> Slab:
    """A matrix at ``k`` pixels for an element, no larger than ``room``, no side shorter than ``least``."""
    true_w, true_h = columns * k, rows * k
    w, h = min(max(true_w, least), room[0]), min(max(true_h, least), room[1])
    return Slab(Box(x, y, w, h), rows, columns, true_w, true_h)


class Columns(msgspec.Struct, frozen=True):
    """A common scale (``k`` pixels for an element) and the widths of the three columns."""

    k: float
    activations: float
    weights: float
    outputs: float


def fit_columns(
    matrix: WeightMatrix, labels: tuple[float, float, float], width: float, height: float, scale: float
) -> Columns:
    """The largest scale at which everything but long prompts fits, columns no narrower than ``labels``.

    Where all of a very wide matrix would leave it too flat, its width is cut.
    """

    def widths(k: float) -> tuple[float, float, float]:
        sides = (matrix.inputs * k, matrix.outputs * k, matrix.outputs * k)
        one, two, three = (max(side, label) for side, label in zip(sides, labels, strict=True))
        return one, two, three

    k = height / matrix.inputs
    if sum(widths(k)) > width:
        low, high = 0.0, k
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if sum(widths(middle)) <= width else (low, middle)
        k = low
        if k * matrix.inputs < min(LEAST_WEIGHTS_HEIGHT * scale, height):
            k = min(CUT_WEIGHTS_HEIGHT * scale, height / 2) / matrix.inputs
    first, second, third = widths(k)
    if first + second + third > width:
        second = third = max((width - first) / 2, 1.0)
    return Columns(k, first, second, third)


def rows_text(rows: float) -> str:
    """A number of rows; a mean where experts share the tokens."""
    return count(rows) if abs(rows - round(rows)) < 0.05 or rows >= 100 else f"{rows:.1f}"


def rows_words(rows: float, noun: str = "row") -> str:
    text = rows_text(rows)
    return f"{text} {noun}" if text == "1" else f"{text} {noun}s"


def _pixels(value: float) -> str:
    return f"{significant(value, 2 if value < 100 else 3)}\u00a0px"


def _side_words(what: str, true: float, drawn: float) -> str:
    if math.isclose(true, drawn):
        return ""
    return f"{'not to scale' if true < drawn else 'cut'}: {what} would be {_pixels(true)}"


def rows_note(slab: Slab) -> str:
    """What is not true about a slab's height, if anything."""
    return _side_words(rows_words(slab.rows), slab.true_h, slab.box.h)


def columns_note(slab: Slab) -> str:
    """What is not true about a slab's width, if anything."""
    return _side_words(rows_words(slab.columns, "column"), slab.true_w, slab.box.w)
