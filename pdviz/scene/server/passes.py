"""The passes of a run as blocks: width their duration, height their tokens (log2), colour what limits them.

Never more marks than pixels: where passes are too thin to be told apart, each pixel shows the longest.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from pdviz.scene.marks.axis import TimeAxis
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Hover, Text
from pdviz.scene.server.columns import stretches
from pdviz.scene.server.course import Course
from pdviz.scene.server.engine import Engine, bound_name
from pdviz.scene.server.words import pass_hover
from pdviz.scene.stage.parts import Block, Row, Space, Wish
from pdviz.serving.records import Numbers

LEAST_PASS_PX = 3.0
FOOT_SHARE = 0.14
"""Of the height: a pass of one token."""
MOST_ENGINES = 8
LEVELS = 48
"""Heights that are told apart where passes are too thin to be drawn one by one."""


class PassBlock(msgspec.Struct, frozen=True):
    """Passes as one rectangle. From ``hatched_to`` (a height on the screen) up it is prompts."""

    box: Box
    bound: str
    hatched_to: float | None


class PassLane(Row, frozen=True):
    """Blocks of each engine in its strip of ``grounds``."""

    name: Text
    grounds: tuple[Box, ...]
    blocks: tuple[PassBlock, ...]

    @property
    def plot(self) -> Box:
        return self.box


class PassLaneTrack(msgspec.Struct, frozen=True):
    """The passes of ``course``; a block of ``top_tokens`` tokens fills the height of its strip."""

    course: Course
    top_tokens: float
    is_alone: bool = False

    @property
    def wish(self) -> Wish:
        high = 40.0 + 14.0 * (min(len(self.course.engines), MOST_ENGINES) - 1)
        return Wish(high, share=0.16 if self.is_alone else 0.0, gap=4.0)

    def build(self, space: Space) -> PassLane:
        engines = self.course.engines[:MOST_ENGINES]
        high = space.box.h / len(engines)
        gap = 0.0 if len(engines) == 1 else 2 * space.scale
        grounds = tuple(
            Box(space.box.x, space.box.y + n * high, space.box.w, high - gap) for n in range(len(engines))
        )
        blocks = [
            block
            for engine, ground in zip(engines, grounds, strict=True)
            for block in pass_blocks(engine, space.axis, ground, self.top_tokens, space.scale)
        ]
        words = "passes" if len(engines) == len(self.course.engines) else f"{len(engines)} engines"
        size = space.line_height(11.5)
        name = space.text(
            space.box.x - 8 * space.scale, space.box.bottom - size, words, "muted", 11.5, False, "right"
        )
        return PassLane(space.box, name, grounds, tuple(blocks))

    def hover(self, row: PassLane, time_s: float, y: float) -> Hover | None:
        for engine, ground in zip(self.course.engines, row.grounds, strict=False):
            if ground.y <= y < ground.bottom:
                found = self.course.pass_now(engine, time_s)
                return pass_hover(self.course, engine, found) if found is not None else None
        return None


def pass_height(tokens: float, top_tokens: float, room: float) -> float:
    """Height of a pass over ``tokens`` tokens: a foot, then equal steps for each doubling."""
    top = math.log2(max(top_tokens, 2.0))
    return room * (FOOT_SHARE + (1 - FOOT_SHARE) * min(math.log2(max(tokens, 1.0)) / top, 1.0))


def pass_blocks(
    engine: Engine, axis: TimeAxis, ground: Box, top_tokens: float, scale: float
) -> list[PassBlock]:
    """What is in view of an engine's passes, the longest on top."""
    first = int(np.searchsorted(engine.end_s, axis.start_s, "right"))
    end = int(np.searchsorted(engine.start_s, axis.end_s, "left"))
    if end <= first:
        return []
    builder = _Builder(engine, axis, ground, top_tokens, scale)
    if end - first <= ground.w / 2:
        records = np.arange(first, end)
        for record in records[np.argsort(engine.longest_s[first:end], kind="stable")].tolist():
            builder.add_record(record)
    else:
        builder.add_columns(first, end)
    return builder.blocks


class _Builder:
    def __init__(self, engine: Engine, axis: TimeAxis, ground: Box, top_tokens: float, scale: float) -> None:
        self.engine, self.axis, self.ground, self.scale = engine, axis, ground, scale
        self.top_tokens = top_tokens
        self.blocks: list[PassBlock] = []

    def _add(self, record: int, x0: float, x1: float) -> None:
        e, ground = self.engine, self.ground
        width = max(x1 - x0, 1.0)
        left = min(x0, ground.right - width)
        prompts, decoders = int(e.prompt_tokens[record]), int(e.decoders[record])
        high = pass_height(prompts + decoders, self.top_tokens, ground.h)
        hatched = None
        if prompts and decoders:
            hatched = ground.bottom - pass_height(decoders, self.top_tokens, ground.h)
        bound = bound_name(bool(e.is_compute[record]))
        self.blocks.append(PassBlock(Box(left, ground.bottom - high, width, high), bound, hatched))

    def add_record(self, record: int) -> None:
        """A record: each pass where they are wide enough, else one band."""
        e, axis = self.engine, self.axis
        start_s, end_s, passes = float(e.start_s[record]), float(e.end_s[record]), int(e.counts[record])
        pitch = float(e.records.first_s[record]) * axis.px_per_s
        if pitch < LEAST_PASS_PX * self.scale:
            self._add(record, axis.clipped_px(start_s), axis.clipped_px(end_s))
            return
        gap = min(1.5 * self.scale, 0.2 * pitch)
        before = int(e.before[record])
        low = e.pass_at(axis.start_s) if start_s < axis.start_s else before
        high = e.pass_at(axis.end_s) if end_s > axis.end_s else before + passes - 1
        for index in range(max(low, before), min(high, before + passes - 1) + 1):
            x0, x1 = (axis.clipped_px(t) for t in (e.pass_start_s(index), e.pass_end_s(index)))
            if x1 > x0:
                self._add(record, x0, max(x1 - gap, x0))

    def add_columns(self, first: int, end: int) -> None:
        """By the pixel: the record with the longest pass in each, equal neighbours as one."""
        shown = columns(self.engine, self.axis, first, end)
        tokens = np.maximum(self.engine.tokens[np.maximum(shown, 0)], 1)
        steps = LEVELS * np.log2(tokens) / math.log2(max(self.top_tokens, 2.0))
        mixed = (self.engine.prompt_tokens[shown] > 0) & (self.engine.decoders[shown] > 0)
        keys = np.where(
            shown < 0, -1, np.rint(steps).astype(np.int64) * 4 + 2 * self.engine.is_compute[shown] + mixed
        )
        pixel = self.axis.width_px / len(shown)
        for low, high_ in stretches(keys):
            if shown[low] >= 0:
                left = self.axis.left_px + low * pixel
                self._add(int(shown[low]), left, self.axis.left_px + high_ * pixel)


def columns(engine: Engine, axis: TimeAxis, first: int, end: int) -> Numbers:
    """For each pixel the record with the longest pass that starts in it, or goes on in it; -1: nothing."""
    width = max(round(axis.width_px), 1)
    edges_s = np.linspace(axis.start_s, axis.end_s, width + 1)
    edges = np.clip(np.searchsorted(engine.start_s, edges_s, "left"), first, end)
    found = engine.peaks.largest(edges)
    going_on = np.flatnonzero(found < 0)
    before = edges[:-1][going_on] - 1
    under_way = (before >= 0) & (engine.end_s[np.maximum(before, 0)] > edges_s[:-1][going_on])
    found[going_on[under_way]] = before[under_way]
    # a long one that goes on into a pixel in which short ones start
    started = np.flatnonzero(found >= 0)
    earlier = edges[:-1][started] - 1
    longer = (earlier >= 0) & (engine.end_s[np.maximum(earlier, 0)] > edges_s[:-1][started])
    longer &= engine.longest_s[np.maximum(earlier, 0)] > engine.longest_s[found[started]]
    found[started[longer]] = earlier[longer]
    return found


def overview_blocks(engine: Engine, axis: TimeAxis, box: Box) -> tuple[Block, ...]:
    """What limits the passes of an engine, as few bands."""
    shown = columns(engine, axis, 0, len(engine.start_s))
    keys = np.where(shown < 0, -1, engine.is_compute[shown].astype(np.int64))
    pixel = axis.width_px / len(shown)
    return tuple(
        Block(
            Box(axis.left_px + low * pixel, box.y, (high - low) * pixel, box.h),
            bound_name(bool(keys[low])),
            int(engine.before[shown[low]]),
            max(int(engine.before[shown[high - 1] + 1] - engine.before[shown[low]]), 1),
        )
        for low, high in stretches(keys)
        if keys[low] >= 0
    )
