"""The whole timeline as a strip, with the view on it and its length above it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pdviz.scene.marks.axis import TimeAxis
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Dimension, Hover, Text
from pdviz.scene.stage.parts import Block, Grip, Row, Space, Wish

LEAST_VIEW_PX = 8.0


class Overview(Row, frozen=True):
    """``view`` is the part of ``strip`` that the tracks below it show; ``wedge`` leads down to them."""

    strip: Box
    band: Box
    wedge: Box
    blocks: tuple[Block, ...]
    view: Box
    total: Dimension
    is_marked: bool

    @property
    def texts(self) -> tuple[Text, ...]:
        return (self.total.text,)

    @property
    def grips(self) -> tuple[tuple[Grip, Box], ...]:
        return (Grip.WHOLE, self.strip), (Grip.SEEK, self.wedge)


class OverviewTrack(msgspec.Struct, frozen=True):
    """``blocks(axis, box)`` are few bands, however much happens; ``label`` names the ``duration_s``."""

    duration_s: float
    label: str
    blocks: Callable[[TimeAxis, Box], tuple[Block, ...]]
    is_marked: bool = False

    @property
    def wish(self) -> Wish:
        return Wish(55.0, gap=4.0)

    def build(self, space: Space) -> Overview:
        box, whole, s = space.box, space.whole, space.scale
        total = Box(box.x, box.y, box.w, 18 * s)
        strip = Box(box.x, total.bottom + 2 * s, box.w, 22 * s)
        wedge = Box(box.x, strip.bottom + 2 * s, box.w, 11 * s)
        band = strip.inset(0, 4 * s)
        middle = total.y + total.h / 2
        return Overview(
            box=box,
            strip=strip,
            band=band,
            wedge=wedge,
            blocks=self.blocks(whole, band),
            view=_view(space, strip),
            total=space.dimension(whole, (0.0, self.duration_s), middle, total.bottom, self.label, total),
            is_marked=self.is_marked,
        )

    def hover(self, row: Overview, time_s: float, y: float) -> Hover | None:
        return None


def _view(space: Space, strip: Box) -> Box:
    """The window on the strip, wide enough to be seen and taken hold of."""
    left, right = (space.whole.clipped_px(t) for t in (space.axis.start_s, space.axis.end_s))
    least = LEAST_VIEW_PX * space.scale
    if right - left < least:
        middle = (left + right) / 2
        left = min(max(middle - least / 2, strip.x), strip.right - least)
        right = left + least
    return Box(left, strip.y, right - left, strip.h)
