"""Same weights, different shapes, small: a prompt and a decode pass beside the matrix they both read."""

from __future__ import annotations

import msgspec

from pdviz.costmodel.fidelities import PassCost
from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.lettering import Lettering
from pdviz.scene.marks.matrices import (
    WeightMatrix,
    default_matrix,
    matmul_cost,
    matrix_rows,
    size_words,
    weight_bytes,
    weight_matrices,
)
from pdviz.scene.marks.parts import MeasureText, Text
from pdviz.scene.marks.slab import LEAST_SIDE, Slab, make_slab, rows_text, rows_words
from pdviz.units import binary_size, significant

TITLE = "Same weights, different shapes"


class SmallShapes(msgspec.Struct, frozen=True):
    """What the panel draws. ``bounds`` are what limits prefill and decode."""

    prefill: Slab
    decode: Slab
    weights: Slab
    bounds: tuple[str, str]
    texts: tuple[Text, ...]


class SmallCase(msgspec.Struct, frozen=True):
    """The matrix of the panel, and what a prompt and a decode pass make of it."""

    matrix: WeightMatrix
    size_text: str
    prefill: PassCost
    decode: PassCost
    prefill_rows: float
    decode_rows: float

    @property
    def spoken(self) -> str:
        """The lesson in words."""
        parts = []
        for name, rows, cost in (
            ("prefill", self.prefill_rows, self.prefill),
            ("decode", self.decode_rows, self.decode),
        ):
            intensity = significant(cost.intensity_flops_per_byte)
            parts.append(f"{name}, {rows_words(rows)}: {intensity} FLOPs per byte, {cost.bound}-bound")
        size = f"{self.matrix.name}, {size_words(self.matrix)}, {self.size_text} read once"
        return f"{size}; {'; '.join(parts)}"


def small_case(result: Result) -> SmallCase:
    """The attention output of ``result``'s model, or what comes nearest to it."""
    matrices = weight_matrices(result.architecture)
    matrix = matrices[default_matrix(matrices)]
    fidelity = result.fidelity
    prefill_rows = matrix_rows(matrix, result.prefill.tokens, 1, fidelity)
    decode_rows = matrix_rows(matrix, result.streams, result.streams, fidelity)
    return SmallCase(
        matrix=matrix,
        size_text=binary_size(weight_bytes(matrix, result)),
        prefill=matmul_cost(matrix, prefill_rows, result),
        decode=matmul_cost(matrix, decode_rows, result),
        prefill_rows=prefill_rows,
        decode_rows=decode_rows,
    )


class _Room(msgspec.Struct, frozen=True):
    """The scale, the blocks' column, gaps before and after it, and whether the weights can be named."""

    k: float
    column: float
    gap: float
    operator_w: float
    has_caption: bool


def build_shapes_panel(
    case: SmallCase, width: float, height: float, scale: float, measure: MeasureText
) -> SmallShapes:
    """The panel in a card of that size; made for 300 x 130 design pixels and more."""
    s, pen, matrix = scale, Lettering(scale, measure), case.matrix
    pad = 16 * s
    body = Box(pad, 46 * s, max(width - 2 * pad, 1.0), max(height - 58 * s, 1.0))
    is_high = body.h >= 112 * s
    band = body.bottom - (48 if is_high else 33) * s
    texts = [
        pen.line(pad, 13 * s, pen.fitted(TITLE, body.w, 15.5, True), "text", 15.5, True),
        pen.line(pad, body.y - 2 * s, "matrix FLOPs/B", "faint", 12),
    ]
    words = []
    for cost, y in ((case.prefill, body.y + 13 * s), (case.decode, band)):
        role, value = f"{cost.bound}_text", significant(cost.intensity_flops_per_byte)
        texts.append(pen.line(pad, y, value, role, 24, True))
        x, drop = (pad, 31 * s) if is_high else (texts[-1].box.right + 7 * s, 12 * s)
        words.append(pen.line(x, y + drop, cost.bound, role, 12))
    left = max(text.box.right for text in texts[1:])
    named = max(left, *(text.box.right for text in words))

    names = [f"prefill: {rows_words(case.prefill_rows)}", f"decode: {rows_words(case.decode_rows)}"]
    room = _divide(case, names, body.right - left, body.h, pen)
    if room.k * matrix.inputs < min(64 * s, body.h):  # where it is narrow, only what tells them apart
        names = [f"prefill {rows_text(case.prefill_rows)}", f"decode {rows_text(case.decode_rows)}"]
        room = _divide(case, names, body.right - left, body.h, pen)
    less = _divide(case, names, body.right - named, body.h, pen)
    if less.k >= 0.9 * room.k and less.has_caption >= room.has_caption:
        left, room = named, less
        texts += words
    x, least = left + room.gap, LEAST_SIDE * s
    slabs = []
    for y, rows, high in (
        (body.y, case.prefill_rows, band - 26 * s - body.y),
        (band + 6 * s, case.decode_rows, body.bottom - band - 24 * s),
    ):
        limits = (room.column, max(high, least))
        slabs.append(make_slab(x, y, rows, matrix.inputs, room.k, limits, least))
        name = f"{names[len(slabs) - 1]}, cut" if slabs[-1].cut_bottom else names[len(slabs) - 1]
        texts.append(pen.line(x, slabs[-1].box.bottom + 3 * s, name, "text", 12.5))
    weights_x = x + room.column + room.operator_w
    limits = (max(body.right - weights_x, least), body.h)
    weights = make_slab(weights_x, body.y, matrix.inputs, matrix.outputs, room.k, limits, least)
    middle = body.y + weights.box.h / 2 - pen.height(17) / 2
    texts.append(pen.line(weights_x - room.operator_w / 2, middle, "×", "muted", 17, True, "center"))
    texts += _caption(case, weights.box, body, pen)
    return SmallShapes(slabs[0], slabs[1], weights, (case.prefill.bound, case.decode.bound), tuple(texts))


def _divide(case: SmallCase, names: list[str], width: float, height: float, pen: Lettering) -> _Room:
    """The largest scale at which blocks, no narrower than their labels, and weights stand side by side."""
    matrix, s = case.matrix, pen.scale
    label_w = max(pen.width(f"{name}, cut", 12.5) for name in names)
    gap, operator_w = 18 * s, 28 * s
    room = width - gap - operator_w
    words = [pen.width(w, 12.5, True) for w in _caption_words(case)]
    aside = max(words[1:]) + 12 * s

    def largest(space: float) -> float:
        k = space / (matrix.inputs + matrix.outputs)
        if matrix.inputs * k < label_w:
            k = (space - label_w) / matrix.outputs
        return max(min(k, height / matrix.inputs), 1e-6)

    k = largest(room)
    has_caption = matrix.outputs * k >= aside
    if not has_caption and largest(room - aside) > 0.7 * k:
        k = largest(room - aside)  # a little smaller, so that what the weights are can stand beside them
        has_caption = True
    column = max(matrix.inputs * k, label_w)
    beside = matrix.outputs * k + (aside if matrix.outputs * k < aside else 0.0)
    spare = max(room - column - beside, 0.0)
    more = min(spare / 3, 40 * s)
    return _Room(k, column, gap + more, operator_w + more, has_caption)


def _caption_words(case: SmallCase) -> tuple[str, str, str]:
    return size_words(case.matrix), case.size_text, "read once"


def _caption(case: SmallCase, box: Box, body: Box, pen: Lettering) -> list[Text]:
    """What the weights are, on them where that fits, else beside them, else as much of it as fits."""
    words, line, pad = _caption_words(case), pen.height(12.5), 5 * pen.scale
    rows, columns = words[0].split(" × ")
    for lines in (words, (rows, f"× {columns}", *words[1:]), words[1:], words[1:2]):
        width, high = max(pen.width(w, 12.5, True) for w in lines), len(lines) * line
        y = box.y + max(box.h - high, 0.0) / 2
        if width + pad <= box.w and high + pad <= box.h:
            x, align = box.x + box.w / 2, "center"
        elif box.right + pad + width <= body.right and y + high <= body.bottom:
            x, align = box.right + pad, "left"
        elif box.bottom + pad + high <= body.bottom and box.right - width >= box.x - 2 * pad:
            x, y, align = box.right, box.bottom + pad, "right"
        else:
            continue
        return [pen.line(x, y + i * line, w, "text", 12.5, True, align) for i, w in enumerate(lines)]
    return []
