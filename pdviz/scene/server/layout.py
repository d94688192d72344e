"""Where the parts of the server view are."""

from __future__ import annotations

import msgspec

from pdviz.scene.marks.geometry import Box

SIDE_WIDTH, GAP = 214.0, 12.0


class ServerLayout(msgspec.Struct, frozen=True):
    """The stage, and a card for each run beside it."""

    stage: Box
    halves: tuple[Box, ...]


def server_layout(width: float, height: float, scale: float, runs: int) -> ServerLayout:
    """The server view with so many runs in a space of that size."""
    gap, side = GAP * scale, SIDE_WIDTH * scale
    stage = Box(0.0, 0.0, max(width - side - gap, 10.0), height)
    high = (height - gap * (runs - 1)) / max(runs, 1)
    halves = tuple(Box(stage.right + gap, n * (high + gap), side, high) for n in range(runs))
    return ServerLayout(stage, halves)
