"""All weights of a model as one rectangle: every area is its bytes, every column a layer.

Below it what each layer keeps of a sequence, on the same columns.
"""

from __future__ import annotations

import math

import msgspec

from pdviz.costmodel.anatomy import Anatomy, Item, LayerRun
from pdviz.evaluation import Result
from pdviz.scene.anatomy.words import ROLES
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.lettering import Lettering
from pdviz.scene.marks.parts import Dimension, Text
from pdviz.units import count, plural, size

_NUMBERS = (1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 40, 50, 64, 100, 128, 200, 250, 500, 1000)
LEAST_LAYER_PX = 3.0
"""Layers narrower than this are not told apart by a line."""


REACH_PX = 5.0
"""Narrower runs are pointed at by what is within half of this."""
LEAST_MARK_PX = 1.5
"""Design pixels that what a run keeps is wide at least, however narrow its layers are."""


class Piece(msgspec.Struct, frozen=True):
    """Weights as an area. ``is_read`` tells what a decode pass reads from what it leaves alone."""

    box: Box
    role: str
    is_read: bool = True


class Column(msgspec.Struct, frozen=True):
    """Layers of a run side by side from ``x`` on, each ``layer_w`` wide."""

    run: int
    x: float
    layer_w: float
    count: int

    @property
    def right(self) -> float:
        return self.x + self.layer_w * self.count


class Kept(msgspec.Struct, frozen=True):
    """What layers keep of a sequence. ``is_fixed``: a state that does not grow."""

    box: Box
    is_fixed: bool


class Strip(msgspec.Struct, frozen=True):
    """The card. ``legend`` is (swatch, role, whether it is read) beside its text among ``texts``.

    ``magnification`` is how much larger areas of the lane are drawn than those of the weights;
    ``outside`` is (from, to, whether before the layers) of what is in no layer.
    """

    card: Box
    area: Box
    lane: Box
    pieces: tuple[Piece, ...]
    columns: tuple[Column, ...]
    separators: tuple[float, ...]
    kept: tuple[Kept, ...]
    magnification: float
    outside: tuple[tuple[float, float, bool], ...]
    dimensions: tuple[Dimension, ...]
    legend: tuple[tuple[Box, str, bool], ...]
    texts: tuple[Text, ...]

    def layer_at(self, x: float, y: float) -> tuple[int, int] | None:
        """(run, layer of the model from 0 on) at a point of the weights or of the lane below them."""
        if not (self.area.y <= y < self.area.bottom or self.lane.y <= y < self.lane.bottom):
            return None
        before, found, nearest = 0, None, REACH_PX / 2
        for column in self.columns:
            number = before + min(max(int((x - column.x) / column.layer_w), 0), column.count - 1)
            away = abs(x - (column.x + column.right) / 2)
            if column.right - column.x < REACH_PX:  # a hairline is taken by what is near it
                if away < nearest:
                    found, nearest = (column.run, number), away
            elif column.x <= x < column.right and found is None:
                found = column.run, number
            before += column.count
        return found

    def layer_boxes(self, layer: int) -> tuple[Box, Box] | None:
        """What stands for a layer of the model: among the weights, and in the lane below them."""
        before = 0
        for column in self.columns:
            if layer < before + column.count:
                x = column.x + (layer - before) * column.layer_w
                wide = max(column.layer_w, 2.0)
                return (
                    Box(x, self.area.y, wide, self.area.h),
                    Box(x, self.lane.y, wide, self.lane.h),
                )
            before += column.count
        return None

    def outside_at(self, x: float, y: float) -> bool | None:
        """True before the layers, false behind them, None elsewhere."""
        if not self.area.y <= y < self.area.bottom:
            return None
        return next((is_before for x0, x1, is_before in self.outside if x0 <= x < x1), None)


def _sum(items: tuple[Item, ...]) -> float:
    return sum(item.stored_bytes for item in items)


class _Builder:
    def __init__(self, result: Result, parts: Anatomy, card: Box, pen: Lettering) -> None:
        self.result, self.parts, self.card, self.pen = result, parts, card, pen
        s = pen.scale
        inner = card.inset(16 * s, 0)
        self.kept = [self._kept_bytes(run) for run in parts.runs]
        self.most_kept = max((fixed + grown for fixed, grown in self.kept), default=0.0)
        top, foot = card.y + 66 * s, card.bottom - 14 * s
        caption = 44 * s if self.most_kept else 20 * s
        room = max(foot - top - caption, 10.0)
        high = 0.74 * room if self.most_kept else room
        self.area = Box(inner.x, top, inner.w, high)
        self.lane = Box(inner.x, foot - (room - high), inner.w, room - high)
        total = sum(n * item.stored_bytes for n, item in parts.items())
        self.px_per_byte = inner.w / total
        self.px2_per_byte = self.px_per_byte * self.area.h
        self.magnification = 1.0
        self.pieces: list[Piece] = []
        self.columns: list[Column] = []
        self.x = inner.x

    def _kept_bytes(self, run: LayerRun) -> tuple[float, float]:
        """What one layer of a run keeps of all sequences: (fixed states, what grew)."""
        m, others = self.result.memory, self.result.scenario.others
        own = self.result.scenario.final_context
        whole = run.kv_bytes(own) + others * run.kv_bytes(m.other_context_tokens)
        fixed = self.result.streams * run.state_bytes
        return fixed, whole - fixed

    def build(self) -> Strip:
        ends = [self.x]
        self._stack(self.parts.before, 1)
        ends.append(self.x)
        for number, run in enumerate(self.parts.runs):
            width = run.stored_bytes * self.px_per_byte
            self.columns.append(Column(number, self.x, width, run.count))
            self._stack(run.items, run.count)
        ends.append(self.x)
        self._stack(self.parts.after, 1)
        ends.append(self.area.right)
        legend, texts = self._legend()
        return Strip(
            card=self.card,
            area=self.area,
            lane=self.lane,
            pieces=tuple(self.pieces),
            columns=tuple(self.columns),
            separators=self._separators(ends),
            kept=self._kept(),
            magnification=self.magnification,
            outside=((ends[0], ends[1], True), (ends[2], ends[3], False)),
            dimensions=self._dimensions(ends),
            legend=legend,
            texts=(*texts, *self._numbers(), *self._lane_words()),
        )

    def _stack(self, items: tuple[Item, ...], layers: int) -> None:
        """Items of ``layers`` equal layers from ``x`` on, one above the other, the first below."""
        total = _sum(items)
        width = total * layers * self.px_per_byte
        skips = not self.result.model.reads_embedding
        stack = [
            (ROLES[item.part], item.stored_bytes, not (skips and item.part == "embedding"))
            for item in items
            if not item.is_routed
        ]
        routed = [(item, item.read_share(self.result.streams)) for item in items if item.is_routed]
        read = sum(share * item.stored_bytes for item, share in routed)
        stack.append(("part_expert", read, True))
        stack.append(("part_expert", _sum(items) - sum(b for _, b, _ in stack), False))
        y = self.area.bottom
        for role, size_bytes, is_read in stack:
            high = self.area.h * size_bytes / total if total else 0.0
            if high > 1e-6:
                y -= high
                self.pieces.append(Piece(Box(self.x, y, width, high), role, is_read))
        self.x += width

    def _separators(self, ends: list[float]) -> tuple[float, ...]:
        """Lines between layers that are wide enough for one, and at the ends of the stack."""
        found = [x for x in ends[1:3] if self.area.x < x < self.area.right]
        was_wide = True
        for column in self.columns:
            is_wide = column.layer_w >= LEAST_LAYER_PX
            if is_wide:
                found += [column.x + i * column.layer_w for i in range(1, column.count)]
            if is_wide and was_wide:
                found.append(column.x)
            was_wide = is_wide
        return tuple(sorted(set(found)))

    def _magnification(self) -> float:
        """How much larger than the weights the lane is drawn: 1, 2 or 5 times a power of ten that fits.

        Heights are bytes, on one scale for all layers; areas compare on layers as wide as the widest.
        """
        fits = self.lane.h / (self.most_kept * self.px2_per_byte / self._widest())
        power = 10.0 ** math.floor(math.log10(fits) + 1e-9)
        return power * max(step for step in (1, 2, 5) if step * power <= fits * (1 + 1e-9))

    def _widest(self) -> float:
        return max(column.layer_w for column in self.columns)

    def _kept(self) -> tuple[Kept, ...]:
        if not self.most_kept:
            return ()
        self.magnification = self._magnification()
        px_per_byte = self.px2_per_byte * self.magnification / self._widest()
        found = []
        for column, kept in zip(self.columns, self.kept, strict=True):
            bottom = self.lane.bottom
            width = max(column.right - column.x, LEAST_MARK_PX * self.pen.scale)
            for size_bytes, is_fixed in ((kept[0], True), (kept[1], False)):
                if size_bytes > 0:
                    high = max(size_bytes * px_per_byte, 1.0)
                    bottom -= high
                    found.append(Kept(Box(column.x, bottom, width, high), is_fixed))
        return tuple(found)

    def _dimensions(self, ends: list[float]) -> tuple[Dimension, ...]:
        s, pen, y = self.pen.scale, self.pen, self.area.y - 14 * self.pen.scale
        layers = sum(run.count for run in self.parts.runs)
        stack = sum(run.count * run.stored_bytes for run in self.parts.runs)
        words = (
            ("embedding", _sum(self.parts.before)),
            (plural(layers, "layer"), stack),
            ("head", _sum(self.parts.after)),
        )
        found = []
        for x0, x1, (name, size_bytes) in zip(ends, ends[1:], words, strict=False):
            for text in (f"{name} {size(size_bytes)}", size(size_bytes), name):
                width = pen.width(text, 12.5, True)
                if x1 - x0 >= width + 44 * s:
                    middle = pen.line(
                        (x0 + x1) / 2, y - pen.height(12.5) / 2, text, "text", 12.5, True, "center"
                    )
                    found.append(Dimension(x0, x1, y, self.area.y, middle, True))
                    break
        return tuple(found)

    def _legend(self) -> tuple[tuple[tuple[Box, str, bool], ...], list[Text]]:
        """Title at the left, at the right what the colours are as far as there is room."""
        s, pen, card = self.pen.scale, self.pen, self.card
        title = pen.line(card.x + 16 * s, card.y + 13 * s, "All weights: area = bytes", "text", 15.5, True)
        parts = self.parts.totals()
        drawn = {ROLES[part] for part in parts}
        entries = {(role, True): words for role, words in _LEGEND.items() if role in drawn}
        if "recurrent" in parts:
            mixers = "attention, recurrent" if "attention" in parts else "recurrent"
            entries[("part_mixer", True)] = mixers
        if any(not piece.is_read for piece in self.pieces):
            entries[("part_expert", False)] = f"not read for {plural(self.result.streams, 'token')}"
        boxes, texts, x = [], [title], card.right - 16 * s
        for (role, is_read), words in reversed(entries.items()):
            text = pen.line(x, card.y + 15 * s, words, "muted", 12.5, False, "right")
            swatch = Box(text.box.x - 15 * s, card.y + 18.5 * s, 10 * s, 10 * s)
            if swatch.x < title.box.right + 20 * s:
                break
            boxes.append((swatch, role, is_read))
            texts.append(text)
            x = swatch.x - 16 * s
        return tuple(boxes), texts

    def _numbers(self) -> list[Text]:
        """Numbers of layers below their columns, as many as there is room for."""
        s, pen, y = self.pen.scale, self.pen, self.area.bottom + 2 * self.pen.scale
        layers = sum(run.count for run in self.parts.runs)
        middles = [
            column.x + (i + 0.5) * column.layer_w for column in self.columns for i in range(column.count)
        ]
        if not middles:
            return []
        first = pen.line(max(middles[0] - 6 * s, self.area.x), y, "layer 1", "faint", 12)
        usual = (middles[-1] - middles[0]) / max(layers - 1, 1)
        step = next((n for n in _NUMBERS if n * usual >= 44 * s), _NUMBERS[-1])
        found = [first]
        for number in range(step, layers + 1, step):
            if number == 1:
                continue
            text = pen.line(middles[number - 1], y, count(number), "faint", 12, False, "center")
            if text.box.x > found[-1].box.right + 8 * s and text.box.right <= self.area.right:
                found.append(text)
        return found

    def _lane_words(self) -> list[Text]:
        if not self.most_kept:
            return []
        s, pen, m = self.pen.scale, self.pen, self.result.memory
        whole = sum(
            run.count * (fixed + grown)
            for run, (fixed, grown) in zip(self.parts.runs, self.kept, strict=True)
        )
        grows = any(run.cache_bytes for run in self.parts.runs)
        up_to = "up to " if m.sequences > 1 and m.other_kv_bytes != m.own_kv_bytes else ""
        title = (
            f"{'KV cache' if grows else 'State'} of {plural(m.sequences, 'sequence')} "
            f"of {up_to}{plural(m.longest_context_tokens, 'token')}: {size(whole)}"
        )
        states = any(run.state_bytes for run in self.parts.runs)
        what = ", it does not grow" if not grows else ", pale: a state that does not grow" if states else ""
        y = self.lane.y - 21 * s
        head = pen.line(self.area.x, y, title, "text", 12.5, True)
        room = self.area.right - head.box.right - 12 * s
        scale_words = magnified_words(self.magnification)
        words = pen.fitted(f"{scale_words}{what}", room, 12.5)
        return [head, pen.line(self.area.right, y, words, "muted", 12.5, False, "right")] if words else [head]


def magnified_words(factor: float) -> str:
    """How the lane's areas compare with those of the weights."""
    if abs(factor - 1) < 1e-9:
        return "drawn on the scale of the weights"
    if factor > 1:
        return f"drawn {count(factor)} × larger than the weights"
    return f"drawn {count(1 / factor)} × smaller than the weights"


_LEGEND = {
    "part_table": "tables",
    "part_mixer": "attention",
    "part_mlp": "MLP",
    "part_expert": "experts",
}


def build_strip(result: Result, parts: Anatomy, card: Box, pen: Lettering) -> Strip:
    """The card for ``result``, whose weights are ``parts``."""
    return _Builder(result, parts, card, pen).build()


def default_run(parts: Anatomy) -> int:
    """The run to show first: the one with most bytes."""
    sizes = [run.count * run.stored_bytes for run in parts.runs]
    return sizes.index(max(sizes)) if sizes else 0


def same_kind(runs: tuple[LayerRun, ...], index: int) -> int:
    """Layers in all runs that are like those of run ``index``."""
    wanted = runs[index]
    return sum(run.count for run in runs if (run.layer, run.items) == (wanted.layer, wanted.items))
