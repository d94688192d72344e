"""The passes of a request as blocks, with their names and measures.

A pass is a block: width its duration, height the tokens it carries (log2), colour what limits it. No more
marks than pixels: where passes are too thin to be told apart they are one band for each segment of the
train, so the cost does not grow with the tokens.
"""

from __future__ import annotations

import math

import msgspec

from pdviz.costmodel.request import RequestCost
from pdviz.evaluation import Result
from pdviz.scene.marks.axis import TimeAxis
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Dimension, Hover, Text
from pdviz.scene.request.hover import hover
from pdviz.scene.stage.parts import Block, Row, Space, Wish
from pdviz.units import count, plural, written

LEAST_BLOCK_PX = 3.0
LEAST_GHOST_PX, DECODE_GHOST_PX = 12.0, 60.0
"""Design pixels: how wide prefill and a decode pass are where their speed of light is worth drawing."""
LOW_PX = 18.0
"""Design pixels: lower passes have no room for an outline."""
MEASURES = 24.0
"""Design pixels above the blocks, for the measures of them."""


def block_height(tokens: float, top_tokens: float, plot: Box, scale: float) -> float:
    """Height of a pass over ``tokens`` tokens: a foot, then equal steps for each doubling."""
    foot = 9 * scale
    room = max(plot.h - 40 * scale - foot, 1.0)
    return foot + room * math.log2(max(tokens, 1)) / math.log2(top_tokens)


class Passes(Row, frozen=True):
    """Blocks in ``ground``, measures above it. ``ghosts`` are the blocks as no engine could beat them."""

    ground: Box
    blocks: tuple[Block, ...]
    ghosts: tuple[Block, ...]
    dimensions: tuple[Dimension, ...]
    names: tuple[Text, ...]
    inside: tuple[Text, ...]
    levels: tuple[tuple[float, Text], ...]
    is_marked: bool

    @property
    def plot(self) -> Box:
        return self.ground

    @property
    def texts(self) -> tuple[Text, ...]:
        return (*self.names, *(dimension.text for dimension in self.dimensions), *self.inside)


class PassesTrack(msgspec.Struct, frozen=True):
    """The passes of ``result``; a block of ``top_tokens`` tokens fills the height."""

    result: Result
    top_tokens: float

    @property
    def wish(self) -> Wish:
        return Wish(34.0, grow=1.0)

    def build(self, space: Space) -> Passes:
        builder = _Builder(self.result, space, self.top_tokens)
        blocks = builder.blocks()
        inside = builder.name_passes()
        builder.measure_ttft()
        builder.measure_itl()
        return Passes(
            box=space.box,
            ground=builder.plot,
            blocks=blocks,
            ghosts=builder.ghosts(blocks),
            dimensions=tuple(builder.dimensions),
            names=tuple(builder.texts),
            inside=inside,
            levels=builder.levels(),
            is_marked=not self.result.memory.fits,
        )

    def hover(self, row: Passes, time_s: float, y: float) -> Hover | None:
        request = self.result.request
        if not 0 <= time_s <= request.e2e_s:
            return None
        index = request.pass_at(time_s)
        top = next((b.box.y for b in row.blocks if (b.first == 0) == (index == 0)), row.ground.bottom)
        return hover(self.result, index) if y >= top else None


class _Builder:
    """Collects what stands in the row; holds what its parts have in common."""

    def __init__(self, result: Result, space: Space, top_tokens: float) -> None:
        self.result, self.request = result, result.request
        self.space, self.axis, self.scale, self.top_tokens = space, space.axis, space.scale, top_tokens
        axis, scale, box = self.axis, self.scale, space.box
        self.measures = Box(box.x, box.y, box.w, MEASURES * scale)
        below = self.measures.bottom
        plot = self.plot = Box(box.x, below, box.w, max(box.bottom - below, 10.0))
        self.dimensions: list[Dimension] = []
        self.texts: list[Text] = []
        ttft = self.request.ttft_s
        prefill_height = block_height(self.request.prefill.tokens, top_tokens, plot, scale)
        train_height = block_height(self.request.train.tokens, top_tokens, plot, scale)
        x0, x1 = axis.clipped_px(0.0), axis.clipped_px(ttft)
        self.prefill = Box(x0, plot.bottom - prefill_height, x1 - x0, prefill_height)
        self.train = Box(
            x1, plot.bottom - train_height, axis.clipped_px(self.request.e2e_s) - x1, train_height
        )
        self.sees_prefill = ttft > axis.start_s
        self.sees_train = (
            self.request.train.steps > 0 and self.request.e2e_s > axis.start_s and ttft < axis.end_s
        )
        self.first, self.last = _steps_in_view(self.request, axis) if self.sees_train else (1, 0)
        self.pitch = self._least_step_s() * axis.px_per_s if self.sees_train else 0.0
        self.label_right = plot.x

    def _least_step_s(self) -> float:
        train = self.request.train
        return min(train.step_s(self.first), train.step_s(self.last))

    @property
    def is_fine(self) -> bool:
        """True where decode passes are wide enough to be drawn one by one."""
        return self.pitch >= LEAST_BLOCK_PX

    def blocks(self) -> tuple[Block, ...]:
        """Prefill and every decode pass in view, or bands where passes are too thin."""
        request, axis = self.request, self.axis
        found: list[Block] = []
        if self.sees_prefill:
            box = self.prefill
            width = max(box.w, 1.0)
            left = min(box.x, self.plot.right - width)
            found.append(Block(Box(left, box.y, width, box.h), request.prefill.bound, 0, 1))
        if not self.sees_train:
            return tuple(found)
        if not self.is_fine:
            return (*found, *bands(request, axis, self.train, decode_only=True))
        gap = min(2.0 * self.scale, 0.2 * self.pitch)
        left = axis.clipped_px(request.pass_start_s(self.first))
        for step in range(self.first, self.last + 1):
            end_s = request.pass_end_s(step)
            right = axis.clipped_px(end_s)
            width = max(right - left - (gap if end_s <= axis.end_s else 0.0), 1.0)
            box = Box(min(left, self.plot.right - width), self.train.y, width, self.train.h)
            found.append(Block(box, request.train.bound(step), step, 1))
            left = right
        return tuple(found)

    def ghosts(self, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        """The same passes at the speed of light, from where each starts; none where that is what is shown."""
        if self.result.fidelity.is_floor:
            return ()
        ideal, found = self.result.speed_of_light, []
        for block in blocks:
            least = LEAST_GHOST_PX if block.first == 0 else DECODE_GHOST_PX
            if block.passes > 1 or block.box.w < least * self.scale:
                continue
            start_s = self.request.pass_start_s(block.first)
            end_s = start_s + ideal.pass_cost(block.first).time_s
            x0, x1 = self.axis.clipped_px(start_s), self.axis.clipped_px(end_s)
            if x1 > x0 and end_s <= self.axis.end_s:  # an end outside the view has no edge in it
                found.append(Block(Box(x0, block.box.y, x1 - x0, block.box.h), block.bound, block.first, 1))
        return tuple(found)

    def name_passes(self) -> tuple[Text, ...]:
        """Names of the two phases: inside the prefill block where there is room, else above it."""
        inside: tuple[Text, ...] = ()
        above = Box(0, 0, 0, 0)
        lines = self.space.line_height(14) + self.space.line_height(12.5)
        tokens = self.request.prefill.tokens
        detail = f"{plural(tokens, 'token')} in one pass"
        if self.result.scenario.cached_tokens:
            detail = f"{plural(tokens, 'new token')} in one pass"
        if self.sees_prefill and self.axis.to_px(0.0) > self.plot.x - 1.0:
            box, pad = self.prefill, 9 * self.scale
            name = self.space.text(box.x + pad, box.y + pad, "Prefill", "on_bound", 14, True)
            more = self.space.text(box.x + pad, name.box.bottom, detail, "on_bound", 12.5, False)
            if box.w > max(name.box.w, more.box.w) + 2 * pad and box.h > lines + 2 * pad:
                inside = (name, more)
            else:
                top = box.y
                if self.sees_train and box.x + max(name.box.w, more.box.w) > self.train.x:
                    top = min(top, self.train.y)  # many others make decode the taller one
                y = top - lines - 4 * self.scale
                if y < self.plot.y:  # no room above a low plot: the name alone, else nothing
                    detail, lines = "", self.space.line_height(14)
                    y = top - lines - 2 * self.scale
                if y >= self.plot.y - 2 * self.scale:
                    found = [self.space.text(box.x, y, "Prefill", "text", 14, True)]
                    if detail:
                        below = y + self.space.line_height(14)
                        found.append(self.space.text(box.x, below, detail, "muted", 12.5, False))
                    self.texts += found
                    above = Box(box.x, y, max(t.box.w for t in found), lines)
        if self.sees_train:
            self._name_train(above)
        return inside

    def _name_train(self, taken: Box) -> None:
        lines = self.space.line_height(14) + self.space.line_height(12.5)
        streams = self.request.train.tokens
        detail = (
            "1 token per pass" if streams == 1 else f"{count(streams)} tokens per pass, 1 for each sequence"
        )
        if not self.is_fine:
            detail += f"; {plural(self.last - self.first + 1, 'pass')} in view"
        y = self.train.y - lines - 4 * self.scale
        if y < self.plot.y - 2 * self.scale:
            return  # no room above a low plot
        x = self.train.x + 6 * self.scale
        name = self.space.text(x, y, "Decode", "text", 14, True)
        more = self.space.text(x, y + self.space.line_height(14), detail, "muted", 12.5, False)
        if Box(x, y, max(name.box.w, more.box.w), lines).overlaps(taken.inset(-8 * self.scale, 0)):
            shift = taken.right + 16 * self.scale - x
            name, more = (Text(t.box.moved(shift, 0), t.text, t.role, t.size, t.bold) for t in (name, more))
        if more.box.right <= self.plot.right + 4 * self.scale:
            self.texts += [name, more]
            self.label_right = more.box.right
        elif name.box.right <= self.plot.right + 4 * self.scale:
            self.texts.append(name)
            self.label_right = name.box.right

    def measure_ttft(self) -> None:
        """TTFT over the prefill block."""
        if self.sees_prefill:
            label = f"TTFT {written(self.request.ttft)}"
            row = self.measures
            self._dimension(0.0, self.request.ttft_s, row.y + row.h / 2, self.prefill.y, label)

    def measure_itl(self) -> None:
        """The mean inter-token latency, to scale, from the start of a step that is in view."""
        figure = self.request.itl
        if figure is None or not self.sees_train:
            return
        itl, label = figure.value, f"ITL {written(figure)}"
        y = self.train.y - 14 * self.scale
        if y - self.space.line_height(13) / 2 < self.plot.y - 2 * self.scale:
            return  # no room above a low plot
        width = self.space.measure(label, 13 * self.scale, True) + 24 * self.scale
        clear = self.axis.to_s(self.label_right + 28 * self.scale) - self.request.ttft_s
        step = self.request.train.step_at(max(clear, 0.0))
        for candidate in (step + 1, step):
            start = self.request.pass_start_s(candidate)
            fits = self.axis.clipped_px(start + itl) + width < self.plot.right
            is_clear = self.axis.to_px(start) >= self.label_right + 8 * self.scale
            exists = 1 <= candidate <= self.request.train.steps and start >= self.axis.start_s
            if exists and fits and is_clear:
                self._dimension(start, start + itl, y, self.train.y, label, aside=True)
                return

    def _dimension(
        self, start_s: float, end_s: float, y: float, foot: float, label: str, aside: bool = False
    ) -> None:
        span = (start_s, end_s)
        self.dimensions.append(self.space.dimension(self.axis, span, y, foot, label, self.plot, aside=aside))

    def levels(self) -> tuple[tuple[float, Text], ...]:
        """Heights worth a name on the token scale, nearest to the point first, none overlapping."""
        plot = self.plot
        wanted = (self.request.prefill.tokens, self.request.train.tokens, self.top_tokens, 1)
        taken: list[float] = []
        found: list[tuple[float, Text]] = []
        for tokens in wanted:
            y = plot.bottom - block_height(tokens, self.top_tokens, plot, self.scale)
            if all(abs(y - other) >= 15 * self.scale for other in taken):
                taken.append(y)
                name = "1 token" if tokens == 1 else count(tokens)
                label = self.space.text(
                    plot.x - 8 * self.scale,
                    y - self.space.line_height(12) / 2,
                    name,
                    "faint",
                    12,
                    False,
                    "right",
                )
                found.append((y, label))
        return tuple(found)


def _steps_in_view(request: RequestCost, axis: TimeAxis) -> tuple[int, int]:
    """First and last decode pass of which anything is in view."""
    last = request.pass_at(axis.end_s)
    if last > 1 and request.pass_start_s(last) >= axis.end_s:
        last -= 1
    return max(request.pass_at(axis.start_s), 1), max(last, 1)


def bands(request: RequestCost, axis: TimeAxis, box: Box, decode_only: bool = False) -> tuple[Block, ...]:
    """Prefill and what is in view of each segment of the train, as rectangles over the height of ``box``."""
    found = []
    first_step, last_step = _steps_in_view(request, axis)
    if not decode_only:
        x0, x1 = axis.clipped_px(0.0), axis.clipped_px(request.ttft_s)
        found.append(Block(Box(x0, box.y, max(x1 - x0, 1.0), box.h), request.prefill.bound, 0, 1))
    for segment in request.train.segments:
        start = request.ttft_s + segment.start_s
        x0, x1 = axis.clipped_px(start), axis.clipped_px(request.ttft_s + segment.end_s)
        first = max(segment.first, first_step)
        passes = min(segment.first + segment.count - 1, last_step) - first + 1
        if passes > 0:
            found.append(Block(Box(x0, box.y, max(x1 - x0, 0.0), box.h), segment.bound, first, passes))
    return tuple(found)
