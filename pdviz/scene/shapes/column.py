"""The list of a model's matrices, and below it what the page is about: the matrix, the sweep, the scale."""

from __future__ import annotations

import math

import msgspec

from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.lettering import Lettering
from pdviz.scene.marks.matrices import WeightMatrix, size_words, weight_bytes
from pdviz.scene.marks.parts import Text
from pdviz.units import binary_size, count, percent, plural

ENTRY_LOW, ENTRY_HIGH = 40.0, 58.0
"""Design pixels that an entry takes in a long list and in a short one."""


class Entry(msgspec.Struct, frozen=True):
    """A matrix in the list."""

    box: Box
    title: str
    detail: str
    share: float


class MatrixColumn(msgspec.Struct, frozen=True):
    """The column at the left: ``entries`` in ``list_box``, which may show fewer, and texts about them.

    ``scale_bar`` is (left, right, y) of a length on the page's scale.
    """

    box: Box
    list_box: Box
    entries: tuple[Entry, ...]
    index: int
    texts: tuple[Text, ...]
    scale_bar: tuple[float, float, float]


def build_column(
    result: Result,
    matrices: tuple[WeightMatrix, ...],
    index: int,
    box: Box,
    px_per_element: float,
    slowdown: float,
    pen: Lettering,
) -> MatrixColumn:
    """The column for the matrix ``index`` of ``matrices``."""
    s = pen.scale
    first = box.y + 46 * s
    pitch = min(max((box.h - 220 * s) / len(matrices), ENTRY_LOW * s), ENTRY_HIGH * s)
    entries = tuple(
        Entry(
            Box(box.x + 8 * s, first + i * pitch, box.w - 16 * s, pitch),
            matrix.name,
            f"{size_words(matrix)}, {binary_size(weight_bytes(matrix, result))}",
            matrix.share,
        )
        for i, matrix in enumerate(matrices)
    )
    paragraphs = (_sweep_words(slowdown), _matrix_words(matrices[index]))
    foot, bar = _foot(paragraphs, px_per_element, box, entries[-1].box.bottom + 6 * s, pen)
    top, bottom = entries[0].box.y, min(text.box.y for text in foot) - 8 * s
    head = [
        pen.line(box.x + 16 * s, box.y + 13 * s, "Weight matrix", "text", 15.5, True),
        pen.line(box.right - 16 * s, box.y + 16 * s, "share of model", "faint", 12, False, "right"),
    ]
    if head[0].box.overlaps(head[1].box):
        head.pop()
    list_box = Box(entries[0].box.x, top, entries[0].box.w, max(bottom - top, 0.0))
    return MatrixColumn(box, list_box, entries, index, (*head, *foot), bar)


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
    speed = (
        f"{count(slowdown)}\u00a0× slower than the playhead" if slowdown > 1 else "on the playhead's clock"
    )
    return (
        f"Filled: the weights read so far, {speed}, true to each other. "
        "Where compute is the limit, the read waits."
    )


def _foot(
    paragraphs: tuple[str, ...], k: float, column: Box, top: float, pen: Lettering
) -> tuple[list[Text], tuple[float, float, float]]:
    """A length to scale at the bottom, and above it the paragraphs that fit below ``top``."""
    s = pen.scale
    x, room, line = column.x + 16 * s, column.w - 32 * s, pen.height(12)
    elements = 2.0 ** math.floor(math.log2(90 * s / k))
    y = column.bottom - 28 * s
    bar = (x, x + elements * k, y + line / 2)
    words = pen.fitted(f"{count(elements)} elements", room - elements * k - 9 * s, 12)
    texts = [pen.line(bar[1] + 9 * s, y, words, "muted", 12)]
    paragraphs = ("One scale for all rectangles:", *paragraphs)
    for paragraph in paragraphs:
        lines = pen.wrapped(paragraph, room, 12)
        start = y - len(lines) * line - (12 if len(texts) > 1 else 2) * s
        if start < top:
            break
        texts += [pen.line(x, start + i * line, text, "muted", 12) for i, text in enumerate(lines)]
        y = start
    return texts, bar
