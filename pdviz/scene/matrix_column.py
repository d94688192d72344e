"""The list of a model's matrices, and below it what the page is about: the matrix, the sweep, the scale."""

from __future__ import annotations

import math

import msgspec

from pdviz.evaluation import Result
from pdviz.scene.geometry import Box
from pdviz.scene.lettering import Lettering
from pdviz.scene.matrices import WeightMatrix, size_words, weight_bytes
from pdviz.scene.stage import Text
from pdviz.units import binary_size, count, percent, plural

ENTRY_HEIGHT = 42.0


class Entry(msgspec.Struct, frozen=True):
    """A matrix in the list."""

    box: Box
    title: str
    detail: str
    share: str


def _column_head(column: Box, pen: Lettering) -> list[Text]:
    s = pen.scale
    return [
        pen.line(column.x + 16 * s, column.y + 14 * s, "Weight matrix", "text", 15.5, True),
        pen.line(column.right - 16 * s, column.y + 16.5 * s, "share of model", "faint", 12, False, "right"),
    ]


def _entries(
    matrices: tuple[WeightMatrix, ...], result: Result, column: Box, pen: Lettering
) -> tuple[Entry, ...]:
    s = pen.scale
    found = []
    for number, matrix in enumerate(matrices):
        box = Box(
            column.x + 8 * s, column.y + (48 + ENTRY_HEIGHT * number) * s, column.w - 16 * s, ENTRY_HEIGHT * s
        )
        detail = f"{size_words(matrix)}, {binary_size(weight_bytes(matrix, result))}"
        found.append(Entry(box, matrix.name, detail, percent(matrix.share)))
    return tuple(found)


def _matrix_words(matrix: WeightMatrix) -> str:
    share = f"{percent(matrix.share)} of the parameters"
    if not matrix.layers:
        return f"The model has one of these: {share}."
    layers = plural(matrix.layers, "layer")
    have = "has" if matrix.layers == 1 else "have"
    if matrix.experts:
        return (
            f"{layers} {have} {count(matrix.experts)} of these, {count(matrix.active)} meet a token: {share}."
        )
    return f"{layers} {have} one of these: {share}."


def _sweep_words(slowdown: float) -> str:
    speed = f"{count(slowdown)} × slower than the playhead" if slowdown > 1 else "on the playhead's clock"
    return (
        f"Filled: the weights read so far, {speed}; the three are true to each other. "
        "Where compute is the limit, the read waits for it."
    )


def _foot(
    page: _Page, column: Box, top: float, pen: Lettering
) -> tuple[list[Text], tuple[float, float, float]]:
    """What the column says below the list: about the matrix, the sweep, the scale; what fits, bottom up."""
    s = pen.scale
    x, room = column.x + 16 * s, column.w - 32 * s
    elements = 2.0 ** math.floor(math.log2(90 * s / k))
    y = column.bottom - 30 * s
    bar = (x, x + elements * k, y + pen.height(12) / 2)
    words = pen.fitted(f"{count(elements)} elements", room - elements * k - 8 * s, 12)
    texts = [pen.line(bar[1] + 8 * s, y, words, "muted", 12)]
    for paragraph in (
        "One scale for all rectangles:",
        _sweep_words(slowdown),
        _matrix_words(matrix),
    ):
        lines = pen.wrapped(paragraph, room, 12)
        height = len(lines) * pen.height(12) + 10 * s
        is_caption = paragraph.endswith(":")
        start = y - height + (6 * s if is_caption else 0)
        if start < top:
            break
        texts += [pen.line(x, start + i * pen.height(12), line, "muted", 12) for i, line in enumerate(lines)]
        y = start
    return texts, bar


