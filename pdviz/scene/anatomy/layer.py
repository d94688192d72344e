"""One layer's matrices as rectangles on one scale, in the order in which a token meets them."""

from __future__ import annotations

import math

import msgspec

from pdviz.costmodel.anatomy import Anatomy, Item
from pdviz.costmodel.architecture import Experts
from pdviz.costmodel.weights import pieces
from pdviz.evaluation import Result
from pdviz.scene.anatomy.strip import same_kind
from pdviz.scene.anatomy.words import (
    ROLES,
    TITLES,
    heads_words,
    layer_words,
    matrix_name,
    range_words,
    shape_words,
)
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.lettering import Lettering
from pdviz.scene.marks.parts import Text
from pdviz.scene.marks.slab import LEAST_SIDE, Slab, make_slab
from pdviz.units import count, parameters, plural, size

TWO_ROWS = 1.4
"""How much larger matrices have to be in two rows than in one to be worth it."""
_SHORTER = (1.0, 1.8, 2.5, math.inf)
"""The same for shorter labels."""
SHRINK, SCALES = 0.96, 160
"""The scales that are tried: each by that much smaller than the one before, so many."""
CELL = 7.0
"""Design pixels from one expert of the grid to the next, at most."""
NAME = 12.5


class Weights(msgspec.Struct, frozen=True):
    """A matrix of the layer. ``splits`` are the x at which fused parts of it meet."""

    slab: Slab
    role: str
    item: Item
    splits: tuple[float, ...]


class Group(msgspec.Struct, frozen=True):
    """Matrices that belong together, under one line from ``x0`` to ``x1``."""

    x0: float
    x1: float
    y: float


class Grid(msgspec.Struct, frozen=True):
    """A cell for each routed expert; the first ``read`` of them are read by a decode pass."""

    cells: tuple[Box, ...]
    read: int


class Cell(msgspec.Struct, frozen=True):
    """Room for a matrix, or for what is kept of a sequence, with its label."""

    rows: int
    columns: int
    label: tuple[str, ...]
    label_w: float
    item: Item | None = None


class Bundle(msgspec.Struct, frozen=True):
    """Cells under one title; ``experts`` is how many the grid after them shows."""

    title: str
    title_w: float
    cells: tuple[Cell, ...]
    experts: int = 0


class Plan(msgspec.Struct, frozen=True):
    """Bundles in one or two rows, at ``k`` pixels for an element."""

    rows: tuple[tuple[Bundle, ...], ...]
    k: float


class LayerDrawing(msgspec.Struct, frozen=True):
    """The card of one kind of layer.

    ``kept`` is what it keeps of a sequence, a row for each token; ``bottom`` is where the drawing ends.
    """

    card: Box
    index: int
    weights: tuple[Weights, ...]
    groups: tuple[Group, ...]
    grid: Grid | None
    kept: Slab | None
    plan: Plan
    bottom: float
    texts: tuple[Text, ...]

    def item_at(self, x: float, y: float) -> Item | None:
        """The matrix at a point."""
        for one in self.weights:
            if one.slab.box.inset(-2.0).contains(x, y):
                return one.item
        return None


def _gathered(items: tuple[Item, ...]) -> list[tuple[str, list[Item]]]:
    """(part, its matrices) in order; routers go with the experts."""
    found: dict[str, list[Item]] = {}
    for item in items:
        if item.inputs:
            part = "experts" if item.part == "router" else item.part
            found.setdefault(part, []).append(item)
    return list(found.items())


class _Builder:
    def __init__(self, result: Result, parts: Anatomy, index: int, card: Box, pen: Lettering) -> None:
        self.result, self.parts, self.index, self.card, self.pen = result, parts, index, card, pen
        self.run = parts.runs[index]
        s = pen.scale
        self.inner = card.inset(16 * s, 0)
        self.gap, self.group_gap, self.row_gap = 12 * s, 26 * s, 50 * s
        self.least = LEAST_SIDE * s
        self.top = card.y + 92 * s
        self.context = result.scenario.final_context
        self.texts: list[Text] = []
        self.weights: list[Weights] = []
        self.groups: list[Group] = []
        self.grid: Grid | None = None
        self.kept: Slab | None = None
        self.bottom = self.top

    def build(self, plan: Plan | None) -> LayerDrawing:
        self._head()
        plan = plan or self._plan()
        y = self.top
        for row in plan.rows:
            y = self._draw_row(row, y, plan.k) + self.row_gap
        return LayerDrawing(
            card=self.card,
            index=self.index,
            weights=tuple(self.weights),
            groups=tuple(self.groups),
            grid=self.grid,
            kept=self.kept,
            bottom=self.bottom,
            texts=tuple(self.texts),
            plan=plan,
        )

    def _head(self) -> None:
        s, pen, run, inner = self.pen.scale, self.pen, self.run, self.inner
        alike = same_kind(self.parts.runs, self.index)
        words = range_words(run, self.result.architecture.layers)
        title = pen.line(inner.x, self.card.y + 13 * s, words, "text", 15.5, True)
        what = layer_words(run)
        if alike > run.count:
            what += f"; {count(alike)} layers are like this"
        each = "" if run.count == 1 else " each"
        sizes = f"{parameters(run.parameters)} parameters, {size(run.stored_bytes)}{each}"
        right = pen.line(inner.right, self.card.y + 15 * s, sizes, "muted", 13, False, "right")
        words = pen.fitted(what, right.box.x - title.box.right - 24 * s, 13)
        self.texts += [title, right]
        if words:
            self.texts.append(pen.line(title.box.right + 12 * s, self.card.y + 15 * s, words, "muted", 13))
        scale_words = "one scale for all matrices: area = elements, height × width = inputs × outputs"
        heads = heads_words(run.layer.attention)
        line = pen.fitted(f"{heads} · {scale_words}" if heads else scale_words, inner.w, 12)
        self.texts.append(pen.line(inner.x, self.card.y + 37 * s, line, "faint", 12))

    # --- what there is to draw, and how large ----------------------------------------------------

    def _bundles(self, variant: int) -> list[Bundle]:
        """Matrices by part, then the KV cache, with labels from the longest (0) to none (3)."""
        found = []
        for part, items in _gathered(self.run.items):
            cells = tuple(self._matrix_cell(item, variant) for item in items)
            block = self.run.layer.feed_forward
            experts = block.total if part == "experts" and isinstance(block, Experts) else 0
            title = self._title(part, experts)
            found.append(Bundle(title, self.pen.width(title, 13, True), cells, experts))
        mixer = self.run.layer.attention
        if mixer is not None and mixer.cache_elements:
            window = mixer.window_tokens
            tokens = self.context if window is None else min(self.context, window)
            title = f"KV cache {size(self.run.kv_bytes(self.context) - self.run.state_bytes)}"
            label = (plural(tokens, "token"), f"× {count(mixer.cache_elements)}")
            cell = Cell(tokens, mixer.cache_elements, label, self._widest(label))
            found.append(Bundle(title, self.pen.width(title, 13, True), (cell,)))
        return found

    def _widest(self, lines: tuple[str, ...]) -> float:
        return max((self.pen.width(line, NAME) for line in lines), default=0.0)

    def _matrix_cell(self, item: Item, variant: int) -> Cell:
        name = matrix_name(item)
        if item.is_routed and variant == 0:
            name = f"one expert: {name}"
        narrow = (f"{count(item.inputs)} ×", count(item.outputs))
        label = ((name, shape_words(item)), (name, *narrow), (name,), ())[variant]
        return Cell(item.inputs, item.outputs, label, self._widest(label), item)

    def _title(self, part: str, experts: int) -> str:
        bytes_text = size(sum(item.stored_bytes for item in self.run.items if item.part == part))
        name = plural(experts, "routed expert") if experts else TITLES[part]
        return f"{name} {bytes_text}"

    def _plan(self) -> Plan:
        """One row or two, whichever is larger to see; the longest labels that leave it so."""
        best: Plan | None = None
        for variant in range(4):
            bundles = self._bundles(variant)
            for split in range(1, len(bundles) + 1):
                rows = tuple(tuple(row) for row in (bundles[:split], bundles[split:]) if row)
                if len(rows) > 1 and all(cell.item is None for cell in rows[1][0].cells):
                    continue  # a row for the KV cache alone
                k = self._fit(rows)
                if best is None:
                    best = Plan(rows, k) if k else None
                elif k > best.k * (TWO_ROWS if len(rows) > len(best.rows) else 1.0) * _SHORTER[variant]:
                    best = Plan(rows, k)
        return best or Plan((tuple(self._bundles(3)),), 1e-9)

    def _fit(self, rows: tuple[tuple[Bundle, ...], ...]) -> float:
        """Pixels for an element, as many as fit; 0 where not even the labels do."""
        top = max(self.card.h, 1.0) / max(sum(self._most_rows(row) for row in rows), 1)
        low, high = 0, SCALES  # the first that fits of ever smaller scales
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._fits(rows, top * SHRINK**middle) else (middle + 1, high)
        k = top * SHRINK**low
        return k if low < SCALES and self._fits(rows, k) else 0.0

    def _fits(self, rows: tuple[tuple[Bundle, ...], ...], k: float) -> bool:
        if any(self._row_width(row, k) > self.inner.w for row in rows):
            return False
        needed = sum(self._row_height(row, k) + self._label_height(row) for row in rows)
        needed += self.row_gap * (len(rows) - 1)
        return self.top + needed <= self.card.bottom - 12 * self.pen.scale

    @staticmethod
    def _most_rows(row: tuple[Bundle, ...]) -> int:
        """Inputs of the tallest matrix of a row; what is kept of a sequence is cut to that."""
        return max((c.rows for bundle in row for c in bundle.cells if c.item is not None), default=1)

    def _row_height(self, row: tuple[Bundle, ...], k: float) -> float:
        return max(self._most_rows(row) * k, 40 * self.pen.scale)

    def _label_height(self, row: tuple[Bundle, ...]) -> float:
        lines = max((len(cell.label) for bundle in row for cell in bundle.cells), default=0)
        return lines * self.pen.height(NAME) + 6 * self.pen.scale

    def _grid_shape(self, experts: int, high: float) -> tuple[float, int]:
        """(pixels from cell to cell, cells above one another) of the grid in a row of that height."""
        cell = CELL * self.pen.scale
        most = 0.24 * self.inner.w
        while True:
            rows = max(int(high / cell), 1)
            if math.ceil(experts / rows) * cell <= most or cell <= 1.0:
                return cell, rows
            cell *= 0.9

    def _bundle_width(self, bundle: Bundle, k: float, high: float) -> float:
        width = sum(max(c.columns * k, c.label_w, self.least) + self.gap for c in bundle.cells)
        if bundle.experts:
            cell, rows = self._grid_shape(bundle.experts, high)
            width += math.ceil(bundle.experts / rows) * cell + self.gap
        return max(width - self.gap, bundle.title_w)

    def _row_width(self, row: tuple[Bundle, ...], k: float) -> float:
        high = self._row_height(row, k)
        return sum(self._bundle_width(b, k, high) + self.group_gap for b in row) - self.group_gap

    # --- where it is -----------------------------------------------------------------------------

    def _draw_row(self, row: tuple[Bundle, ...], y: float, k: float) -> float:
        """Puts the bundles of a row at ``y``; where it ends."""
        s, pen, x = self.pen.scale, self.pen, self.inner.x
        high = self._row_height(row, k)
        for bundle in row:
            left = x
            for cell in bundle.cells:
                self._draw_cell(cell, x, y, k, high)
                x += max(cell.columns * k, cell.label_w, self.least) + self.gap
            if bundle.experts:
                self._draw_grid(bundle.experts, x, y, high)
            right = left + self._bundle_width(bundle, k, high)
            self.groups.append(Group(left, right, y - 10 * s))
            self.texts.append(pen.line(left, y - 32 * s, bundle.title, "text", 13, True))
            x = right + self.group_gap
        return y + high + self._label_height(row)

    def _draw_cell(self, cell: Cell, x: float, y: float, k: float, high: float) -> None:
        room = (max(cell.columns * k, self.least), high)
        slab = make_slab(x, y, cell.rows, cell.columns, k, room, self.least)
        if cell.item is None:
            self.kept = slab
        else:
            mixer = self.run.layer.attention if cell.item.part == "attention" else None
            splits, at = [], x
            for width in pieces(cell.item.role, cell.columns, mixer)[:-1]:
                at += width * k
                splits.append(at)
            self.weights.append(Weights(slab, ROLES[cell.item.part], cell.item, tuple(splits)))
        below = slab.box.bottom + 5 * self.pen.scale
        for number, line in enumerate(cell.label):
            role = "faint" if number else "muted"
            text = self.pen.line(x, below + number * self.pen.height(NAME), line, role, NAME)
            self.texts.append(text)
            self.bottom = max(self.bottom, text.box.bottom)
        self.bottom = max(self.bottom, slab.box.bottom)

    def _draw_grid(self, experts: int, x: float, y: float, high: float) -> None:
        cell, rows = self._grid_shape(experts, high)
        side = max(cell - 1.5 * self.pen.scale, 0.6 * cell)
        cells = tuple(Box(x + (i // rows) * cell, y + (i % rows) * cell, side, side) for i in range(experts))
        routed = next(item for item in self.run.items if item.is_routed)
        self.grid = Grid(cells, round(experts * routed.read_share(self.result.streams)))
        foot = cells[min(rows, experts) - 1].bottom
        room = cells[-1].right - x + self.gap
        words = (
            f"{count(self.grid.read)} of {count(experts)} read (a count)",
            f"{count(self.grid.read)} read",
        )
        said = next((w for w in words if self.pen.width(w, NAME) <= room), "")
        if said:
            text = self.pen.line(x, foot + 5 * self.pen.scale, said, "muted", NAME)
            self.texts.append(text)
            foot = text.box.bottom
        self.bottom = max(self.bottom, foot)


def build_layer(
    result: Result, parts: Anatomy, index: int, card: Box, pen: Lettering, plan: Plan | None = None
) -> LayerDrawing:
    """The card of run ``index`` of ``parts``; with ``plan`` as in another card of the same width."""
    return _Builder(result, parts, index, card, pen).build(plan)
