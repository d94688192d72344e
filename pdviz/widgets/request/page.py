"""The request view as a page, with a painter alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtGui import QPainter

from pdviz.evaluation import Result
from pdviz.scene.marks.axis import automatic_window
from pdviz.scene.marks.geometry import Box, request_layout
from pdviz.scene.marks.theme import Theme
from pdviz.scene.request.figures import headline_figures
from pdviz.scene.request.meters import lay_out_meters
from pdviz.scene.request.notice import notices
from pdviz.scene.request.remarks import lay_out_remarks, remarks
from pdviz.scene.stage.stage import build_stage
from pdviz.widgets.kit.figures_view import paint_figure
from pdviz.widgets.kit.palette import text_width
from pdviz.widgets.request.answer import page_for, paint_answer
from pdviz.widgets.request.meters import paint_meters
from pdviz.widgets.request.notice import paint_notice_panel
from pdviz.widgets.request.warning import paint_remarks
from pdviz.widgets.stage.paint import paint_playhead, paint_stage, paint_veil


def paint_request_page(
    p: QPainter,
    panels: Sequence[Callable[[QPainter, Box, Result, float, Theme, float], None]],
    result: Result,
    time_s: float,
    theme: Theme,
    width: float,
    height: float,
    s: float,
) -> None:
    """All of the view, with the small live forms of others that ``panels`` paint."""
    figures = headline_figures(result)
    lines = remarks(result, width, s, text_width)
    layout = request_layout(width, height, s, len(figures), len(lines))
    for figure, box in zip(figures, layout.figures, strict=True):
        paint_figure(p, box, figure, theme, s)
    paint_remarks(p, lay_out_remarks(layout.warning, lines, s, text_width), theme, s)
    number = result.request.pass_at(time_s)
    cost = result.request.pass_cost(number)
    meters = lay_out_meters(layout.meters, cost, result.machine, number, s, text_width)
    paint_meters(p, meters, theme, s)
    shown = result.request.tokens_out_at(time_s)
    page = page_for(layout.tokens, shown, result.request.passes, s)
    paint_answer(p, layout.tokens, page, shown, result, theme, s)
    *boxes, notice_box = layout.panels
    if notice_box.h > 0:
        for paint_panel, box in zip(panels, boxes, strict=True):
            paint_panel(p, box, result, time_s, theme, s)
        paint_notice_panel(p, notice_box, notices(result), theme, s)
    window = automatic_window(result.ttft_s, result.itl_s, result.e2e_s).showing(time_s, result.e2e_s)
    box = layout.stage
    stage = build_stage(result, window, box.w, box.h, s, text_width)
    p.translate(box.x, box.y)
    paint_stage(p, stage, Box(0, 0, box.w, box.h), theme, s)
    paint_veil(p, stage, time_s, theme)
    paint_playhead(p, stage, time_s, theme, s)
    p.translate(-box.x, -box.y)
