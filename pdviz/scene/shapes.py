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
from pdviz.costmodel.roofline import COMPUTE, PassCost
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
    weight_bytes,
    weight_matrices,
)
from pdviz.scene.slab import (
    LEAST_SIDE,
    LEAST_WEIGHTS_HEIGHT,
    Slab,
    fit_columns,
    make_slab,
    rows_text,
    rows_words,
    scale_words,
)
from pdviz.scene.stage import MeasureText, Text
from pdviz.units import binary_size, count, duration, percent, plural, si, significant, size

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
SWEEP_S = 0.5
"""The longest that a round of the sweep may take on the playhead's clock."""
REST = 1.25
"""A round of the sweep over its longest read: at the end everything stays read for a moment."""
ENTRY_HEIGHT = 42.0


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
    bar = build_intensity_bar(bar_card, tuple((row.name, row.cost) for row in page.rows), result, pen)
    return Shapes(
        matrices=matrices,
        index=index,
        column=column,
        list_box=Box(entries[0].box.x, list_top, entries[0].box.w, max(list_bottom - list_top, 0.0)),
        entries=entries,
        texts=(*_column_head(column, pen), *foot),
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
        self.pad, self.operator_w = 16 * s, 34 * s
        figures_w = (280 if self.is_wide else 184) * s
        self.figures_x = card.right - self.pad - figures_w
        room_w = self.figures_x - (30 if self.is_wide else 16) * s - card.x - self.pad
        top, foot = 61 * s, 33 * s
        self.drawing = Box(card.x + self.pad, top, room_w, max(card.h - top - foot, 8 * s))
        slabs_w = room_w - 2 * self.operator_w
        self.labels, widths = self._labels(slabs_w)
        self.columns = fit_columns(matrix, widths, slabs_w, self.drawing.h, LEAST_WEIGHTS_HEIGHT * s)
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
            one, two, three = (max(self.pen.width(row[i], 12.5) for row in found) for i in range(3))
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
        activations, weights, outputs = (
            make_slab(x, y, rows, wide, columns.k, (width, self.drawing.h), LEAST_SIDE * s)
            for x, rows, wide, width in (
                (xs[0], case.rows, m.inputs, columns.activations),
                (xs[1], float(m.inputs), m.outputs, columns.weights),
                (xs[2], case.rows, m.outputs, columns.outputs),
            )
        )
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
        words = pen.fitted(scale_words(activations, weights), self.drawing.w, 12)
        note = pen.line(self.drawing.x, card.bottom - 27 * s, words, "faint", 12)
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
            texts=(*texts, *operators, *self._head(case, card), *self._figures(cost, card), *beside, note),
            sweep_s=cost.time_s * self.slowdown,
            round_s=self.round_s,
        )

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
        limit = "compute" if cost.bound == COMPUTE else "memory bandwidth"
        rows = (
            ("FLOPs", si(cost.flops, "FLOP"), "text", cost.compute_s, cost.bound == COMPUTE),
            ("Bytes", size(cost.bytes), "text", cost.bandwidth_s, cost.bound != COMPUTE),
            ("FLOPs per byte", significant(cost.intensity_flops_per_byte), code, None, False),
            ("Time", duration(cost.time_s), "text", None, False),
            ("Limited by", limit, code, None, False),
        )
        top, room = card.y + 12 * s, card.h - 24 * s
        pitch = min(room / len(rows), 38 * s)
        top += (room - pitch * len(rows)) / 2
        found = []
        for number, (label, value, role, takes_s, is_limit) in enumerate(rows):
            y = top + (number + 0.5) * pitch
            found.append(pen.line(self.figures_x, y - pen.height(13) / 2, label, "muted", 13))
            edge = right
            if self.is_wide and takes_s is not None:
                words = f"in {duration(takes_s)}"
                own = code if is_limit else "faint"
                found.append(pen.line(right, y - pen.height(13) / 2, words, own, 13, is_limit, "right"))
                edge = right - 88 * s
            found.append(pen.line(edge, y - pen.height(15) / 2, value, role, 15, True, "right"))
        return found

    def _size_of(self, weights: Slab, room: float) -> tuple[tuple[Text, ...], tuple[Text, ...]]:
        """What one read of the weights is: (texts on the weights, texts beside them)."""
        s, pen, box = self.pen.scale, self.pen, weights.box
        bytes_text = binary_size(weight_bytes(self.matrix, self.result))
        both = (bytes_text, "read once")
        lines = [pen.height(13.5)] * 2
        pad = 6 * s
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
        limit = "compute" if row.cost.bound == COMPUTE else "memory bandwidth"
        parts.append(
            f"{row.title}, {rows_words(row.rows)}: {significant(row.cost.intensity_flops_per_byte)} FLOPs per "
            f"byte, {duration(row.cost.time_s)}, limited by {limit}"
        )
    return ". ".join(parts)
