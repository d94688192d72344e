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

from pdviz.costmodel.bounds import BANDWIDTH, COMPUTE
from pdviz.costmodel.fidelities import PassCost
from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.lettering import Lettering
from pdviz.scene.marks.matrices import (
    WeightMatrix,
    default_matrix,
    experts_hit,
    matmul_cost,
    matrix_rows,
    size_words,
    weight_bytes,
    weight_matrices,
)
from pdviz.scene.marks.parts import MeasureText, Text
from pdviz.scene.marks.slab import (
    LEAST_SIDE,
    Slab,
    columns_note,
    fit_columns,
    make_slab,
    rows_note,
    rows_text,
    rows_words,
)
from pdviz.scene.shapes.column import MatrixColumn, build_column
from pdviz.scene.shapes.intensity import IntensityBar, build_intensity_bar
from pdviz.units import binary_size, count, duration, si, significant, size, written

__all__ = [
    "Shapes",
    "ShapesRow",
    "build_shapes",
    "default_matrix",
    "matmul_cost",
    "page_scale",
    "sweep_share",
    "weight_matrices",
]

BOUNDS = (COMPUTE, BANDWIDTH)
EXAMPLE_SEQUENCES = 64
LEAST_WIDTH, LEAST_HEIGHT = 800.0, 560.0
"""Design pixels that a page needs to be read."""
NOTE, NOTE_WIDTH = 12.0, 80.0
"""Design pixels: the type of notes about the scale, and the least width that they need."""
SWEEP_S = 0.5
"""The longest that a round of the sweep may take on the playhead's clock."""
REST = 1.25
"""A round of the sweep over its longest read: at the end everything stays read for a moment."""


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
    inside: tuple[Text, ...]
    texts: tuple[Text, ...]
    sweep_s: float
    round_s: float


class Shapes(msgspec.Struct, frozen=True):
    """The page. ``inside`` texts of the rows stand on the weights, over the sweep."""

    matrices: tuple[WeightMatrix, ...]
    index: int
    column: MatrixColumn
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


def limit_words(cost: PassCost) -> str:
    return cost.bound.words


class _Case(msgspec.Struct, frozen=True):
    """One of the three: ``tokens`` new tokens in a pass, of which ``sampled`` give a token."""

    name: str
    title: str
    tokens: int
    rows: float
    why: str


def _cases(matrix: WeightMatrix, result: Result) -> tuple[_Case, ...]:
    sequences = result.streams if result.scenario.others else EXAMPLE_SEQUENCES
    of_prompt = "new token of the prompt" if result.scenario.cached_tokens else "token of the prompt"
    batch = f"Decode, batch of {count(sequences)}"
    if not result.scenario.others:
        batch += " (example)"
    alone = "the newest token" if result.request.train.steps else "a token; this request needs no decode pass"
    found = []
    for name, title, tokens, sampled, why in (
        ("prefill", "Prefill", result.prefill.tokens, 1, f"one for each {of_prompt}"),
        ("decode", "Decode", 1, 1, alone),
        (f"decode × {count(sequences)}", batch, sequences, sequences, "one for each sequence"),
    ):
        rows = matrix_rows(matrix, tokens, sampled, result.fidelity)
        if matrix.experts:
            goes = "1 token goes to" if tokens == 1 else f"{count(tokens)} tokens spread over"
            why = f"{goes} {rows_text(experts_hit(matrix, tokens))} of {count(matrix.experts)} experts"
        elif matrix.samples_only and tokens > sampled:
            why = (
                "the last token only"
                if result.fidelity.samples_logits
                else f"{why}; engines need the last only"
            )
        found.append(_Case(name, title, tokens, rows, f"{rows_words(rows)}: {why}"))
    return tuple(found)


def _slowdown(longest_s: float, whole_s: float) -> float:
    """A round factor that makes a round of the sweep last up to half a second of the playhead's clock."""
    wanted = min(SWEEP_S, whole_s) / (REST * longest_s)
    if wanted <= 1:
        return 1.0
    power = 10.0 ** math.floor(math.log10(wanted))
    return power * max(step for step in (1, 2, 5) if step * power <= wanted * (1 + 1e-9))


def page_scale(width: float, height: float, scale: float) -> float:
    """The scale for a page of that size: ``scale``, but for large type in a small window less."""
    return min(scale, width / LEAST_WIDTH, height / LEAST_HEIGHT)


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
    bar = build_intensity_bar(bar_card, tuple((row.name, row.cost) for row in page.rows), result, pen)
    return Shapes(
        matrices=matrices,
        index=index,
        column=build_column(result, matrices, index, column, page.columns.k, page.slowdown, pen),
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
        self.pad, self.operator_w = 16 * s, 34 * s
        figures_w = (280 if self.is_wide else 184) * s
        self.figures_x = card.right - self.pad - figures_w
        room_w = self.figures_x - (30 if self.is_wide else 16) * s - card.x - self.pad
        top, foot = 60 * s, 15 * s
        self.drawing = Box(card.x + self.pad, top, room_w, max(card.h - top - foot, 8 * s))
        slabs_w = room_w - 2 * self.operator_w
        self.labels, widths = self._labels(slabs_w)
        if sum(widths) > slabs_w:
            self.operator_w = max((room_w - sum(widths)) / 2, 20 * s)
            slabs_w = room_w - 2 * self.operator_w
        self.columns = fit_columns(matrix, widths, slabs_w, self.drawing.h, s)
        spare = slabs_w - self.columns.activations - self.columns.weights - self.columns.outputs
        self.operator_w += min(max(spare, 0.0) / 2, 46 * s)
        longest = max(cost.time_s for cost in self.costs)
        self.slowdown = _slowdown(longest, result.e2e_s)
        self.round_s = REST * longest * self.slowdown
        self.rows = [self._row(number, card) for number, card in enumerate(cards)]

    def _labels(self, room: float) -> tuple[list[tuple[str, ...]], tuple[float, float, float]]:
        """The labels of each card and the widest of each column, without their nouns where room is short."""
        m = self.matrix
        found: list[tuple[str, ...]] = []
        widths = (0.0, 0.0, 0.0)
        for nouns in ((" activations", " weights", " outputs"), ("", "", "")):
            found = []
            for case in self.cases:
                rows = rows_text(case.rows)
                sizes = (f"{rows} × {count(m.inputs)}", size_words(m), f"{rows} × {count(m.outputs)}")
                found.append(tuple(size + noun for size, noun in zip(sizes, nouns, strict=True)))
            least = NOTE_WIDTH * self.pen.scale
            one, two, three = (max(least, *(self.pen.width(row[i], 12.5) for row in found)) for i in range(3))
            widths = (one, two, three)
            if sum(widths) <= room:
                break
        return found, widths

    def _row(self, number: int, card: Box) -> ShapesRow:
        case, cost, s, pen = self.cases[number], self.costs[number], self.pen.scale, self.pen
        columns, m, y = self.columns, self.matrix, card.y + self.drawing.y
        xs = [self.drawing.x]
        for width in (columns.activations, columns.weights):
            xs.append(xs[-1] + width + self.operator_w)
        inputs, wide = (xs[0], m.inputs, columns.activations), (xs[2], m.outputs, columns.outputs)
        room = (columns.weights, self.drawing.h)
        weights = make_slab(xs[1], y, m.inputs, m.outputs, columns.k, room, LEAST_SIDE * s)
        for less in (0, 52, 74):  # long prompts are cut anyway: a little earlier where that has to be said
            high = max(self.drawing.h - less * s, LEAST_SIDE * s)
            activations, outputs = (
                make_slab(x, y, case.rows, n, columns.k, (width, high), LEAST_SIDE * s)
                for x, n, width in (inputs, wide)
            )
            note = self._rows_note(activations, cost.bound)
            if note or activations.is_to_scale:
                break
        middle = y + weights.box.h / 2 - pen.height(17) / 2
        operators = tuple(
            pen.line(x - self.operator_w / 2, middle, sign, "muted", 17, True, "center")
            for x, sign in ((xs[1], "×"), (xs[2], "="))
        )
        texts = [
            pen.line(x, y - 21 * s, label, "muted", 12.5)
            for x, label in zip(xs, self.labels[number], strict=True)
        ]
        inside, beside = self._size_of(weights, columns.weights)
        columns_words = self._columns_note(weights, beside)
        if columns_words and columns_words[-1].box.bottom > y + self.drawing.h:
            beside, columns_words = (), self._columns_note(weights, ())
        notes = (*note, *columns_words)
        return ShapesRow(
            name=case.name,
            title=case.title,
            rows=case.rows,
            cost=cost,
            card=card,
            activations=activations,
            weights=weights,
            outputs=outputs,
            inside=inside,
            texts=(*texts, *operators, *self._head(case, card), *self._figures(cost, card), *beside, *notes),
            sweep_s=cost.time_s * self.slowdown,
            round_s=self.round_s,
        )

    def _lines(self, words: str, x: float, y: float, room: float, role: str) -> list[Text]:
        """A note in lines of at most ``room``; none where a word is wider than that."""
        pen = self.pen
        lines = pen.wrapped(words, room, NOTE)
        if not words or max(pen.width(line, NOTE) for line in lines) > room:
            return []
        return [pen.line(x, y + i * pen.height(NOTE), line, role, NOTE) for i, line in enumerate(lines)]

    def _rows_note(self, slab: Slab, bound: str) -> list[Text]:
        """What is not true about the height of the activations: below them, beside them or on them."""
        s, box, words = self.pen.scale, slab.box, rows_note(slab)
        bottom, gap = box.y + self.drawing.h, 6 * s
        room = self.columns.activations
        for x, y, width, role in (
            (box.x, box.bottom + gap, room, "faint"),
            (box.right + gap, box.y + gap, room - box.w - gap, "faint"),
            (box.x + gap, box.y + gap, box.w - 2 * gap, f"on_{bound}"),
        ):
            found = self._lines(words, x, y, width, role)
            if found and found[-1].box.bottom <= bottom:
                return found
        return []

    def _columns_note(self, slab: Slab, beside: tuple[Text, ...]) -> list[Text]:
        """The same about the width of the weights: below flat ones, beside thin ones."""
        s, box, words = self.pen.scale, slab.box, columns_note(slab)
        room = self.columns.weights
        if slab.cut_right:
            return self._lines(words, box.x, box.bottom + 6 * s, room, "faint")
        y = beside[-1].box.bottom + 4 * s if beside else box.y
        return self._lines(words, box.right + 6 * s, y, room - box.w - 6 * s, "faint")

    def _head(self, case: _Case, card: Box) -> list[Text]:
        """Title and, after it, what the rows are."""
        s, pen = self.pen.scale, self.pen
        title = pen.line(card.x + self.pad, card.y + 12 * s, case.title, "text", 15.5, True)
        left = title.box.right + 10 * s
        words = pen.fitted(case.why, self.drawing.x + self.drawing.w - left, 13)
        return [title, pen.line(left, card.y + 14.5 * s, words, "muted", 13)] if words else [title]

    def _figures(self, cost: PassCost, card: Box) -> list[Text]:
        """FLOPs and bytes with the time that each takes, and what follows."""
        s, pen = self.pen.scale, self.pen
        right = card.right - self.pad
        code = f"{cost.bound}_text"
        rows = (
            ("FLOPs", si(cost.flops, "FLOP"), "text"),
            ("Bytes", size(cost.bytes), "text"),
            ("FLOPs per byte", significant(cost.intensity_flops_per_byte), code),
            ("Time", written(cost.time), "text"),
            ("Limited by", limit_words(cost) if self.is_wide else cost.bound.short, code),
        )
        top, room = card.y + 12 * s, card.h - 24 * s
        pitch = min(room / len(rows), 38 * s)
        top += (room - pitch * len(rows)) / 2
        middles = [top + (i + 0.5) * pitch for i in range(len(rows))]
        found, edge = [], right
        if self.is_wide:  # the larger of the two times is the time
            for y, takes_s, bound in zip(middles, (cost.compute_s, cost.bandwidth_s), BOUNDS, strict=False):
                is_limit = cost.bound == bound
                words = f"in {duration(takes_s)}"
                role = code if is_limit else "faint"
                found.append(pen.line(right, y - pen.height(13) / 2, words, role, 13, is_limit, "right"))
            edge = min([right - 76 * s, *(text.box.x for text in found)]) - 12 * s
        for i, (label, value, role) in enumerate(rows):
            found.append(pen.line(self.figures_x, middles[i] - pen.height(13) / 2, label, "muted", 13))
            x, y = (edge if i < len(BOUNDS) else right), middles[i] - pen.height(15) / 2
            found.append(pen.line(x, y, value, role, 15, True, "right"))
        return found

    def _size_of(self, weights: Slab, room: float) -> tuple[tuple[Text, ...], tuple[Text, ...]]:
        """What one read of the weights is: (texts on the weights, texts beside them)."""
        s, pen, box = self.pen.scale, self.pen, weights.box
        bytes_text = binary_size(weight_bytes(self.matrix, self.result))
        both = (bytes_text, "read once")
        lines = [pen.height(13.5)] * 2
        pad = 4 * s
        beside = room - box.w - pad
        for words, is_inside in (
            (both, True),
            ((", ".join(both),), True),
            (both, False),
            ((bytes_text,), True),
            ((bytes_text,), False),
        ):
            width = max(pen.width(w, 13.5, True) for w in words)
            high = sum(lines[: len(words)])
            if is_inside and width + 2 * pad <= box.w and high + pad <= box.h:
                x, y = box.x + box.w / 2, box.y + (box.h - high) / 2
                return tuple(
                    pen.line(x, y + i * lines[0], w, "text", 13.5, True, "center")
                    for i, w in enumerate(words)
                ), ()
            if not is_inside and width <= beside:
                x = box.right + pad
                return (), tuple(
                    pen.line(x, box.y + i * lines[0], w, "text", 13.5, True) for i, w in enumerate(words)
                )
        return (), ()


def _spoken(matrix: WeightMatrix, rows: list[ShapesRow]) -> str:
    parts = [f"{matrix.name}, {size_words(matrix)}"]
    for row in rows:
        intensity = significant(row.cost.intensity_flops_per_byte)
        parts.append(
            f"{row.title}, {rows_words(row.rows)}: {intensity} FLOPs per byte, "
            f"{written(row.cost.time)}, limited by {limit_words(row.cost)}"
        )
    return ". ".join(parts)
