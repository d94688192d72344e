"""Same weights, different shapes: one matrix multiplied by a prompt, by a token, by a batch, to scale.

Three cards, one below the other: activations x weights = outputs, all rectangles of the page at one
scale, with the figures that follow; a list of the model's matrices; intensities on a logarithmic bar.

The sweep over the weights is the share of them that has been read while the multiplication runs. A
multiplication takes microseconds and the playhead moves milliseconds at a time, so the sweep is slowed by
a round factor that the page states; between the three cards speeds are true. Where arithmetic is the
limit the read is drawn as slow as the arithmetic: it waits for it.
"""

from __future__ import annotations

import math

import msgspec

from pdviz.costmodel.passes import IDEAL
from pdviz.costmodel.roofline import PassCost
from pdviz.evaluation import Result
from pdviz.scene.geometry import Box
from pdviz.scene.intensity import IntensityBar, build_intensity_bar
from pdviz.scene.lettering import Lettering
from pdviz.scene.matrices import (
    WeightMatrix,
    default_matrix,
    experts_hit,
    matmul_cost,
    matrix_rows,
    weight_matrices,
)
from pdviz.scene.stage import MeasureText, Text
from pdviz.units import count, plural

__all__ = [
    "Entry",
    "Shapes",
    "ShapesRow",
    "Slab",
    "WeightMatrix",
    "build_shapes",
    "default_matrix",
    "matmul_cost",
    "sweep_share",
    "weight_matrices",
]

EXAMPLE_SEQUENCES = 64
LEAST_SIDE = 2.0
"""Design pixels that a side takes at least, however few rows or columns it stands for."""
LEAST_WEIGHTS_HEIGHT = 34.0
"""Design pixels below which the weights are not made smaller to show all of a very wide matrix."""
SWEEP_S = 0.5
"""The longest that a round of the sweep may take on the playhead's clock."""
REST = 1.25
"""A round of the sweep over its longest read: at the end everything stays read for a moment."""


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


class ShapesRow(msgspec.Struct, frozen=True):
    """One card: what is multiplied, what it costs, where it is drawn.

    ``sweep_s`` is how long the read takes on the playhead's clock, ``round_s`` when all start again.
    """

    name: str
    title: str
    rows: float
    cost: PassCost
    card: Box
    activations: Slab
    weights: Slab
    outputs: Slab
    operators: tuple[Text, Text]
    inside: tuple[Text, ...]
    texts: tuple[Text, ...]
    sweep_s: float
    round_s: float


class Entry(msgspec.Struct, frozen=True):
    """A matrix in the list."""

    box: Box
    title: str
    detail: str
    share: str


class Shapes(msgspec.Struct, frozen=True):
    """The page. ``inside`` texts of the rows stand on the weights, over the sweep."""

    matrices: tuple[WeightMatrix, ...]
    index: int
    column: Box
    list_box: Box
    entries: tuple[Entry, ...]
    texts: tuple[Text, ...]
    scale_bar: tuple[float, float, float]
    rows: tuple[ShapesRow, ...]
    bar: IntensityBar
    px_per_element: float
    slowdown: float
    spoken: str

    @property
    def matrix(self) -> WeightMatrix:
        return self.matrices[self.index]


def sweep_share(row: ShapesRow, time_s: float) -> float:
    """The share of the weights that has been read when the playhead stands at ``time_s``.

    All rows of a page start together every ``round_s``; one that is done waits for the slowest.
    """
    return min(time_s % row.round_s / row.sweep_s, 1.0)


def slab(
    x: float, y: float, rows: float, columns: int, k: float, room: tuple[float, float], least: float
) -> Slab:
    """A matrix at ``k`` pixels for an element, no larger than ``room``, no side shorter than ``least``."""
    true_w, true_h = columns * k, rows * k
    w, h = min(max(true_w, least), room[0]), min(max(true_h, least), room[1])
    return Slab(Box(x, y, w, h), rows, columns, true_w, true_h)


def rows_text(rows: float) -> str:
    """A number of rows, which is a mean where experts share the tokens."""
    return count(rows) if abs(rows - round(rows)) < 0.05 or rows >= 100 else f"{rows:.1f}"


def rows_words(rows: float) -> str:
    text = rows_text(rows)
    return f"{text} row" if text == "1" else f"{text} rows"


def size_words(matrix: WeightMatrix) -> str:
    return f"{count(matrix.inputs)} × {count(matrix.outputs)}"


class _Case(msgspec.Struct, frozen=True):
    """One of the three: ``tokens`` new tokens in a pass, of which ``sampled`` give a token."""

    name: str
    title: str
    tokens: int
    rows: float
    why: str


def _cases(matrix: WeightMatrix, result: Result) -> tuple[_Case, ...]:
    sequences = result.streams if result.scenario.others else EXAMPLE_SEQUENCES
    is_example = not result.scenario.others
    of_prompt = "new token of the prompt" if result.scenario.cached_tokens else "token of the prompt"
    batch = f"Decode, {plural(sequences, 'sequence')}"
    fidelity = result.scenario.fidelity
    found = []
    for name, title, tokens, sampled, why in (
        ("prefill", "Prefill", result.prefill.tokens, 1, f"one for each {of_prompt}"),
        ("decode", "Decode", 1, 1, "the newest token"),
        (f"decode × {count(sequences)}", batch, sequences, sequences, "one for each sequence"),
    ):
        rows = matrix_rows(matrix, tokens, sampled, fidelity)
        words = f"{rows_words(rows)}: {why}"
        if matrix.experts:
            hit = rows_text(experts_hit(matrix, tokens))
            share = plural(tokens, "token") + (" meets" if tokens == 1 else " meet")
            words = f"{rows_words(rows)}: {share} {hit} of {count(matrix.experts)} experts"
        elif matrix.samples_only and tokens > sampled:
            engines = "the last token only" if fidelity == IDEAL else f"{why}; engines need the last only"
            words = f"{rows_words(rows)}: {engines}"
        if name.startswith("decode ×") and is_example:
            title, words = f"{batch} (example)", f"{words}; nobody decodes alongside here"
        elif name == "decode" and not result.request.train.steps:
            words += "; not in this request of one output token"
        found.append(_Case(name, title, tokens, rows, words))
    return tuple(found)


class _Columns(msgspec.Struct, frozen=True):
    """The common scale, and the widths of the columns for activations, weights and outputs."""

    k: float
    activations: float
    weights: float
    outputs: float


def _columns(matrix: WeightMatrix, labels: tuple[float, float, float], room: Box, least: float) -> _Columns:
    """The largest scale at which everything but long prompts fits into ``room``.

    Where that makes the weights of a very wide matrix too flat to be seen, their width is cut.
    """

    def widths(k: float) -> tuple[float, float, float]:
        sides = (matrix.inputs * k, matrix.outputs * k, matrix.outputs * k)
        one, two, three = (max(side, label) for side, label in zip(sides, labels, strict=True))
        return one, two, three

    low, high = 0.0, room.h / matrix.inputs
    if sum(widths(high)) > room.w:
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if sum(widths(middle)) <= room.w else (low, middle)
        high = low
    k = max(high, min(least, room.h) / matrix.inputs)
    first, second, third = widths(k)
    if first + second + third > room.w:
        second = third = max((room.w - first) / 2, 1.0)
    return _Columns(k, first, second, third)


def _slowdown(longest_s: float, whole_s: float) -> float:
    """A round factor that makes a round of the sweep last up to half a second of the playhead's clock."""
    wanted = min(SWEEP_S, whole_s) / (REST * longest_s)
    if wanted <= 1:
        return 1.0
    power = 10.0 ** math.floor(math.log10(wanted))
    return power * max(step for step in (1, 2, 5) if step * power <= wanted * (1 + 1e-9))


def build_shapes(
    result: Result, matrix_index: int, width: float, height: float, scale: float, measure: MeasureText
) -> Shapes:
    """The page for one matrix of ``result``'s model, ``width`` x ``height``."""
    matrices = weight_matrices(result.architecture)
    index = min(max(matrix_index, 0), len(matrices) - 1)
    pen = Lettering(scale, measure)
    gap = 12 * scale
    column = Box(0, 0, min(256 * scale, 0.3 * width), height)
    left, right = column.right + gap, width - column.right - gap
    bar_card = Box(left, height - 98 * scale, right, 98 * scale)
    card_h = max((bar_card.y - 3 * gap) / 3, 1.0)
    cards = [Box(left, i * (card_h + gap), right, card_h) for i in range(3)]
    page = _Page(result, matrices[index], cards, pen)
    bar = build_intensity_bar(
        bar_card, tuple((row.name, row.cost) for row in page.rows), result, pen
    )
    list_box, entries = _entries(matrices, result, column, pen)
    texts, scale_bar = _column_texts(page, matrices[index], column, entries, pen)
    return Shapes(
        matrices=matrices,
        index=index,
        column=column,
        list_box=list_box,
        entries=entries,
        texts=texts,
        scale_bar=scale_bar,
        rows=tuple(page.rows),
        bar=bar,
        px_per_element=page.columns.k,
        slowdown=page.slowdown,
        spoken=_spoken(matrices[index], page.rows),
    )


class _Page:
    """The three cards of one matrix, on one scale."""

    def __init__(self, result: Result, matrix: WeightMatrix, cards: list[Box], pen: Lettering) -> None:
        self.result, self.matrix, self.pen = result, matrix, pen
        self.cases = _cases(matrix, result)
        self.costs = [matmul_cost(matrix, case.rows, result) for case in self.cases]
        s, card = pen.scale, cards[0]
        self.is_wide = card.w > 860 * s
        self.figures_w = (286 if self.is_wide else 190) * s
        self.pad, self.operator_w = 16 * s, 34 * s
        room_w = card.w - 2 * self.pad - self.figures_w - (30 if self.is_wide else 18) * s
        self.top, self.foot = 61 * s, 33 * s
        self.drawing = Box(card.x + self.pad, card.y, room_w, max(card.h - self.top - self.foot, 8 * s))
        slabs_w = room_w - 2 * self.operator_w
        self.labels, widths = self._labels(slabs_w)
        room = Box(0, 0, slabs_w, self.drawing.h)
        self.columns = _columns(matrix, widths, room, LEAST_WEIGHTS_HEIGHT * s)
        longest = max(cost.time_s for cost in self.costs)
        self.slowdown = _slowdown(longest, result.e2e_s)
        self.round_s = REST * longest * self.slowdown
        self.rows = [self._row(number, card) for number, card in enumerate(cards)]

    def _labels(self, room: float) -> tuple[list[tuple[str, str, str]], tuple[float, float, float]]:
        """The labels of each card and the widest of each column, without their nouns where room is short."""
        found: list[tuple[str, str, str]] = []
        widths = (0.0, 0.0, 0.0)
        for nouns in ((" activations", " weights", " outputs"), ("", "", "")):
            found = []
            for case in self.cases:
                rows = rows_text(case.rows)
                m = self.matrix
                found.append(
                    (
                        f"{rows} × {count(m.inputs)}{nouns[0]}",
                        f"{size_words(m)}{nouns[1]}",
                        f"{rows} × {count(m.outputs)}{nouns[2]}",
                    )
                )
            one, two, three = (max(self.pen.width(row[i], 12.5) for row in found) for i in range(3))
            widths = (one, two, three)
            if sum(widths) <= room:
                break
        return found, widths

    def _row(self, number: int, card: Box) -> ShapesRow:
        case, cost, s = self.cases[number], self.costs[number], self.pen.scale
        columns, m = self.columns, self.matrix
        y = card.y + self.top
        xs = [self.drawing.x]
        for width in (columns.activations, columns.weights):
            xs.append(xs[-1] + width + self.operator_w)
        least, height = LEAST_SIDE * s, self.drawing.h
        shapes = [
            slab(x, y, rows, wide, columns.k, (width, height), least)
            for x, rows, wide, width in (
                (xs[0], case.rows, m.inputs, columns.activations),
                (xs[1], float(m.inputs), m.outputs, columns.weights),
                (xs[2], case.rows, m.outputs, columns.outputs),
            )
        ]
        pen = self.pen
        middle = y + min(shapes[1].box.h, height) / 2 - pen.height(17) / 2
        operators = (
            pen.line(xs[1] - self.operator_w / 2, middle, "×", "muted", 17, True, "center"),
            pen.line(xs[2] - self.operator_w / 2, middle, "=", "muted", 17, True, "center"),
        )
        texts = [pen.line(x, y - 21 * s, label, "muted", 12.5) for x, label in zip(xs, self.labels[number], strict=True)]
        texts += self._head(case, card) + self._figures(cost, card)
        texts.append(self._note(shapes, card))
        inside, beside = self._size_of(shapes[1], columns.weights)
        return ShapesRow(
            name=case.name,
            title=case.title,
            rows=case.rows,
            cost=cost,
            card=card,
            activations=shapes[0],
            weights=shapes[1],
            outputs=shapes[2],
            operators=operators,
            inside=inside,
            texts=(*texts, *beside),
            sweep_s=cost.time_s * self.slowdown,
            round_s=self.round_s,
        )
