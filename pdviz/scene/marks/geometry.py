"""Rectangles in logical pixels, and how large type is drawn."""

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
SMALL_WIDTH, SMALL_HEIGHT, SCALE_SMALL = 1024.0, 640.0, 0.5
"""Smaller windows are those of dense screens, whose pixels make up for it."""


def interface_scale(width: float, height: float, text_size: float = 1.0) -> float:
    """How large type and spacing are drawn in a window of that size, in steps of 5 %.

    The interface keeps its composition and fills the window, as a slide does; it stops shrinking
    where type would become illegible.
    """
    is_small = width < SMALL_WIDTH or height < SMALL_HEIGHT
    low = SCALE_SMALL if is_small else SCALE_LOW
    fit = max(min(width / DESIGN_WIDTH, height / DESIGN_HEIGHT), low) * text_size
    return max(low * min(text_size, 1.0), min(SCALE_HIGH, round(fit * 20) / 20))


TEXT_SIZES = (0.8, 0.9, 1.0, 1.1, 1.25, 1.4)


def next_text_size(text_size: float, step: int) -> float:
    """The next larger or smaller one of the text sizes; for 0 the usual one."""
    nearest = min(range(len(TEXT_SIZES)), key=lambda i: abs(TEXT_SIZES[i] - text_size))
    return TEXT_SIZES[min(max(nearest + step, 0), len(TEXT_SIZES) - 1)] if step else 1.0


def page_type_scale(width: float, height: float) -> float:
    """How large type is drawn on a page of that size: as on a slide, however small."""
    return min(width / DESIGN_WIDTH, height / DESIGN_HEIGHT)
