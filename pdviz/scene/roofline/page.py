"""The layout of the roofline view: figures on top, the chart, the explanation beside it."""

from __future__ import annotations

import msgspec

from pdviz.scene.marks.geometry import Box

FIGURES = 5
GUTTER = 48.0  # design pixels for the labels of the upward axis
PAD, EDGE = 18.0, 15.0  # inside the card, and of it what the widget of the plot may cover
TICK_ROW = 26.0  # and below the plot for those of the other


class RooflineLayout(msgspec.Struct, frozen=True):
    """Where the parts of the view are. ``tools`` is the row for the pins above the plot."""

    figures: tuple[Box, ...]
    chart: Box
    header: Box
    tools: Box
    plot: Box
    explanation: Box


def roofline_layout(box: Box, scale: float, tools: bool = True) -> RooflineLayout:
    """The view in ``box``; without ``tools`` the plot takes their row."""
    gap, pad = 12 * scale, PAD * scale
    tile = (box.w - gap * (FIGURES - 1)) / FIGURES
    figures = tuple(Box(box.x + i * (tile + gap), box.y, tile, 92 * scale) for i in range(FIGURES))
    top = box.y + 92 * scale + gap
    beside = 278 * scale
    chart = Box(box.x, top, box.w - beside - gap, max(box.bottom - top, 0.0))
    explanation = Box(chart.right + gap, top, beside, chart.h)
    header = Box(chart.x + pad, chart.y + 14 * scale, chart.w - 2 * pad, 24 * scale)
    row = Box(header.x, header.bottom + 8 * scale, header.w, (28 if tools else 0) * scale)
    upper = row.bottom + (12 if tools else 6) * scale
    left = header.x + GUTTER * scale
    plot = Box(
        left, upper, max(header.right - left, 1.0), max(chart.bottom - (TICK_ROW + 12) * scale - upper, 1.0)
    )
    return RooflineLayout(figures, chart, header, row, plot, explanation)


def panel_plot(box: Box, scale: float) -> Box:
    """The plot in the card of the small panel."""
    left, upper = box.x + 52 * scale, box.y + 42 * scale
    return Box(
        left, upper, max(box.right - 16 * scale - left, 1.0), max(box.bottom - 32 * scale - upper, 1.0)
    )
