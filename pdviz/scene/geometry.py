"""Rectangles and the layout of pages, in logical pixels."""

from __future__ import annotations

import msgspec


class Box(msgspec.Struct, frozen=True):
    """A rectangle: ``x``, ``y`` of its top left corner, width ``w``, height ``h``."""

    x: float
    y: float
    w: float
    h: float

    @property
    def right(self) -> float:
        return self.x + self.w

    @property
    def bottom(self) -> float:
        return self.y + self.h

    def inset(self, dx: float, dy: float | None = None) -> Box:
        """The box with a margin taken off each side."""
        dy = dx if dy is None else dy
        return Box(self.x + dx, self.y + dy, max(self.w - 2 * dx, 0.0), max(self.h - 2 * dy, 0.0))

    def moved(self, dx: float, dy: float) -> Box:
        return Box(self.x + dx, self.y + dy, self.w, self.h)

    def contains(self, x: float, y: float) -> bool:
        return self.x <= x < self.right and self.y <= y < self.bottom

    def overlaps(self, other: Box) -> bool:
        return (
            self.x < other.right and other.x < self.right and self.y < other.bottom and other.y < self.bottom
        )


DESIGN_WIDTH, DESIGN_HEIGHT = 1600.0, 900.0
SCALE_LOW, SCALE_HIGH = 0.8, 4.0


def interface_scale(width: float, height: float, text_size: float = 1.0) -> float:
    """How large type and spacing are drawn in a window of that size, in steps of 5 %.

    The interface keeps its composition and fills the window, as a slide does; it stops shrinking
    where type would become illegible.
    """
    fit = min(width / DESIGN_WIDTH, height / DESIGN_HEIGHT) * text_size
    return max(SCALE_LOW, min(SCALE_HIGH, round(fit * 20) / 20))


class PageLayout(msgspec.Struct, frozen=True):
    """Where the parts of the request view are. Absent parts have no height."""

    figures: tuple[Box, ...]
    warning: Box
    stage: Box
    meters: Box
    tokens: Box


def request_layout(width: float, height: float, scale: float, figures: int, warning_lines: int) -> PageLayout:
    """The request view in ``width`` x ``height``: figures, a warning if any, stage and meters, tokens."""
    gap = 12 * scale
    top = 0.0
    tile = (width - gap * (figures - 1)) / figures
    tile_height = 92 * scale
    tiles = tuple(Box(i * (tile + gap), top, tile, tile_height) for i in range(figures))
    top += tile_height + gap
    warning_height = (14 + 18 * warning_lines) * scale if warning_lines else 0.0
    warning = Box(0, top, width, warning_height)
    top += warning_height + (gap if warning_lines else 0)
    tokens_height = 116 * scale
    stage_height = max(height - top - gap - tokens_height, 0.0)
    meters_width = 226 * scale
    stage = Box(0, top, width - meters_width - gap, stage_height)
    meters = Box(stage.right + gap, top, meters_width, stage_height)
    tokens = Box(0, top + stage_height + gap, width, tokens_height)
    return PageLayout(tiles, warning, stage, meters, tokens)
