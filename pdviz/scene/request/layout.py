"""Where the parts of the request view are."""

from __future__ import annotations

import msgspec

from pdviz.scene.marks.geometry import Box


class PageLayout(msgspec.Struct, frozen=True):
    """Where the parts of the request view are. Parts for which there is no room have no height."""

    figures: tuple[Box, ...]
    warning: Box
    stage: Box
    meters: Box
    tokens: Box
    panels: tuple[Box, ...]


PANEL_SHARES = (0.30, 0.38, 0.32)


def request_layout(width: float, height: float, scale: float, figures: int, warning_lines: int) -> PageLayout:
    """The request view: figures, a warning if any, stage and meters, the answer, three small panels.

    The stage comes first: where the height is short the panels go, then the second row of the answer.
    """
    gap = 12 * scale
    tile = (width - gap * (figures - 1)) / figures
    tile_height = 86 * scale
    tiles = tuple(Box(i * (tile + gap), 0.0, tile, tile_height) for i in range(figures))
    top = tile_height + gap
    warning_height = (14 + 18 * warning_lines) * scale if warning_lines else 0.0
    warning = Box(0, top, width, warning_height)
    top += warning_height + (gap if warning_lines else 0)
    free = (height - top) / scale
    panel_height = min(max(0.23 * free, 152.0), 230.0) * scale if free >= 560 else 0.0
    tokens_height = (116.0 if free >= 760 else 76.0 if free >= 430 else 0.0) * scale
    foot = height
    panels: list[Box] = []
    left, usable = 0.0, width - gap * (len(PANEL_SHARES) - 1)
    for share in PANEL_SHARES:
        panels.append(Box(left, height - panel_height, share * usable, panel_height))
        left += share * usable + gap
    foot -= panel_height + gap if panel_height else 0.0
    tokens = Box(0, foot - tokens_height, width, tokens_height)
    foot -= tokens_height + gap if tokens_height else 0.0
    meters_width = 226 * scale
    stage = Box(0, top, width - meters_width - gap, max(foot - top, 0.0))
    meters = Box(stage.right + gap, top, meters_width, stage.h)
    return PageLayout(tiles, warning, stage, meters, tokens, tuple(panels))
