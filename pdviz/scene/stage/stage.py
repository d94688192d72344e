"""The stage: one request to scale, as a value that painting, hit-testing and tests read.

Time runs left to right. A pass is a block: width its duration, height the tokens it carries (log2),
colour what limits it. Above it the whole request with the view on it; below it the two utilisations
on the same axis. No more marks than pixels: where passes are too thin to be told apart they are one
band for each segment of the train, so the cost does not grow with the tokens.
"""

from __future__ import annotations

from pdviz.evaluation import Result
from pdviz.scene.marks.axis import TimeAxis, Window, ticks
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Dimension, MeasureText, Text
from pdviz.scene.stage.builder import (
    LANE_SAMPLES,
    LEAST_BLOCK_PX,
    StageBuilder,
    bands,
    block_height,
    lanes,
    tick_texts,
)
from pdviz.scene.stage.parts import Block, Lane, Stage, StageLayout, stage_layout

__all__ = [
    "LANE_SAMPLES",
    "LEAST_BLOCK_PX",
    "Block",
    "Dimension",
    "Lane",
    "MeasureText",
    "Stage",
    "StageLayout",
    "Text",
    "block_height",
    "build_stage",
    "stage_layout",
]


def build_stage(
    result: Result, window: Window, width: float, height: float, scale: float, measure: MeasureText
) -> Stage:
    """The stage for ``result`` with ``window`` in view, in a card of ``width`` x ``height``."""
    machine = result.machine
    ceiling = max(machine.compute_efficiency, machine.bandwidth_efficiency)
    layout = stage_layout(width, height, scale, ceiling)
    request = result.request
    axis = TimeAxis(window.start_s, window.end_s, layout.plot.x, layout.plot.w)
    whole = TimeAxis(0.0, request.e2e_s, layout.overview.x, layout.overview.w)
    top_tokens = float(
        max(result.architecture.max_context_tokens or 131_072, request.prefill.tokens, request.train.tokens)
    )
    builder = StageBuilder(result, layout, axis, top_tokens, scale, measure)
    blocks = builder.blocks()
    inside, inside_detail = builder.name_passes()
    builder.measure_ttft()
    builder.measure_itl()
    builder.measure_total(whole)
    view_left, view_right = whole.clipped_px(window.start_s), whole.clipped_px(window.end_s)
    least = 8 * scale
    if view_right - view_left < least:
        middle = (view_left + view_right) / 2
        view_left = min(max(middle - least / 2, layout.overview.x), layout.overview.right - least)
        view_right = view_left + least
    return Stage(
        layout=layout,
        axis=axis,
        overview_axis=whole,
        blocks=blocks,
        ghosts=builder.ghosts(blocks),
        overview=bands(request, whole, layout.overview.inset(0, 4 * scale)),
        view=Box(view_left, layout.overview.y, view_right - view_left, layout.overview.h),
        lanes=lanes(request, machine, axis, layout),
        dimensions=tuple(builder.dimensions),
        texts=tuple(builder.texts),
        inside=inside,
        inside_detail=inside_detail,
        levels=builder.levels(),
        ticks=tick_texts(ticks(window, int(layout.plot.w / (96 * scale))), axis, layout, scale, measure),
        is_marked=not result.memory.fits,
        is_ideal=result.fidelity.is_floor,
    )
