"""What a stage is made of: tracks, each with the row that it draws in its box. Values only."""

from __future__ import annotations

import enum
import math
from typing import Any, Protocol

import msgspec

from pdviz.scene.marks.axis import TimeAxis
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Dimension, Hover, MeasureText, Text


class Grip(enum.Enum):
    """What a part of a stage does under the hand: move the playhead, or the view on the whole."""

    SEEK = enum.auto()
    WHOLE = enum.auto()


class Wish(msgspec.Struct, frozen=True):
    """How high a track wants to be: design pixels, or a share of the card where that is more.

    ``gap`` design pixels stay free above it. Tracks that ``grow`` share what is left. One that
    ``spans`` has no time axis and takes the gutter for labels too.
    """

    height: float = 0.0
    share: float = 0.0
    gap: float = 0.0
    grow: float = 0.0
    spans: bool = False


class Space(msgspec.Struct, frozen=True):
    """What a track draws its row in: a box, the time in view across it, and the whole time across it."""

    box: Box
    axis: TimeAxis
    whole: TimeAxis
    scale: float
    measure: MeasureText

    def text(
        self, x: float, y: float, text: str, role: str, size: float, bold: bool, align: str = "left"
    ) -> Text:
        """A text whose box starts at ``x`` (left) or ends there (right)."""
        width = math.ceil(self.measure(text, size * self.scale, bold)) + 2
        left = x if align == "left" else x - width if align == "right" else x - width / 2
        box = Box(left, y, width, self.line_height(size))
        return Text(box, text, role, size * self.scale, bold, align)

    def line_height(self, size: float) -> float:
        return 1.35 * size * self.scale

    def dimension(
        self,
        axis: TimeAxis,
        span_s: tuple[float, float],
        y: float,
        foot: float,
        label: str,
        room: Box,
        *,
        aside: bool = False,
    ) -> Dimension:
        """A stretch of time with its length: in its middle where there is room, else beside it."""
        start_s, end_s = span_s
        x0, x1 = axis.clipped_px(start_s), axis.clipped_px(end_s)
        half = self.line_height(13) / 2
        text = self.text((x0 + x1) / 2, y - half, label, "text", 13, True, "center")
        splits = not aside and x1 - x0 > text.box.w + 44 * self.scale
        if not splits:
            text = self.text(x1 + 9 * self.scale, y - half, label, "text", 13, True)
            if text.box.right > room.right:
                text = self.text(x0 - 9 * self.scale, y - half, label, "text", 13, True, "right")
        return Dimension(
            x0, x1, y, foot, text, splits,
            opens_left=start_s < axis.start_s - 1e-12,
            opens_right=end_s > axis.end_s * (1 + 1e-12),
        )  # fmt: skip


class Row(msgspec.Struct, frozen=True):
    """What a track draws in ``box``. Painters are found by its type."""

    box: Box

    @property
    def plot(self) -> Box | None:
        """The part in which time is read: grid lines, measures and the playhead cross it."""
        return None

    @property
    def texts(self) -> tuple[Text, ...]:
        """What the playhead must not strike through."""
        return ()

    @property
    def grips(self) -> tuple[tuple[Grip, Box], ...]:
        """The parts that can be taken hold of; a plot is one without saying so."""
        return ()


class Track(Protocol):
    """Something that goes on in time, one row of a stage."""

    @property
    def wish(self) -> Wish: ...

    def build(self, space: Space) -> Row: ...

    def hover(self, row: Any, time_s: float, y: float) -> Hover | None:
        """What there is at a moment and a height of its row."""


class Block(msgspec.Struct, frozen=True):
    """``passes`` passes from number ``first`` on, as one rectangle."""

    box: Box
    bound: str
    first: int
    passes: int
