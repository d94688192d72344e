"""The roofline view as a page, with a painter alone: the same picture without a display."""

from __future__ import annotations

from PySide6.QtGui import QPainter

from pdviz.scene.geometry import Box
from pdviz.scene.roofline import Roofline
from pdviz.scene.roofline_layout import lay_out_chart
from pdviz.scene.roofline_page import roofline_layout
from pdviz.scene.roofline_words import explain, roofline_figures
from pdviz.scene.theme import Theme
from pdviz.widgets.figures_view import paint_figure
from pdviz.widgets.palette import text_width
from pdviz.widgets.roofline_paint import (
    now_mark,
    paint_chart,
    paint_chart_header,
    paint_note,
    paint_now,
)


def paint_roofline_page(p: QPainter, box: Box, roofline: Roofline, theme: Theme, scale: float) -> None:
    """Figures, chart and the pass under the playhead in ``box``."""
    layout = roofline_layout(box, scale, tools=False)
    for figure, tile in zip(roofline_figures(roofline), layout.figures, strict=True):
        paint_figure(p, tile, figure, theme, scale)
    paint_chart_header(p, layout.chart, layout.header, roofline, theme, scale)
    chart = lay_out_chart(roofline, layout.plot, scale, text_width)
    paint_chart(p, chart, theme, scale)
    mark = now_mark(roofline, chart)
    if mark is not None:
        paint_now(p, mark, theme, scale)
    paint_note(p, layout.explanation, explain(roofline, "now"), theme, scale)
