"""The request view as a page, with a painter alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtGui import QPainter

from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.scene.request.answer import lay_out_answer, page_for
from pdviz.scene.request.figures import headline_figures
from pdviz.scene.request.layout import request_layout
from pdviz.scene.request.meters import lay_out_meters
from pdviz.scene.request.notice import notices
from pdviz.scene.request.notice_card import lay_out_notice
from pdviz.scene.request.remarks import lay_out_remarks, remarks
from pdviz.widgets.kit.figures_view import paint_figure
from pdviz.widgets.kit.palette import text_width
from pdviz.widgets.request.answer import paint_answer
from pdviz.widgets.request.meters import paint_meters
from pdviz.widgets.request.notice import paint_notice_panel
from pdviz.widgets.request.stage import paint_request_stage
from pdviz.widgets.request.warning import paint_remarks


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
    page = page_for(layout.tokens, shown, result.request.passes, s, text_width)
    paint_answer(p, lay_out_answer(layout.tokens, page, shown, result, s), shown, result, theme, s)
    *boxes, notice_box = layout.panels
    if notice_box.h > 0:
        for paint_panel, box in zip(panels, boxes, strict=True):
            paint_panel(p, box, result, time_s, theme, s)
        notice = lay_out_notice(notice_box, notices(result), None, s, text_width)
        paint_notice_panel(p, notice, theme, s)
    paint_request_stage(p, layout.stage, result, time_s, theme, s)
