"""The roofline view as a page, with a painter alone: the same picture without a display."""

from __future__ import annotations

from PySide6.QtGui import QPainter

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.scene.roofline.curves import Roofline
from pdviz.scene.roofline.layout import lay_out_chart
from pdviz.scene.roofline.page import roofline_layout
from pdviz.scene.roofline.words import explain, roofline_figures
from pdviz.widgets.kit.figures_view import paint_figure
from pdviz.widgets.kit.palette import text_width
from pdviz.widgets.roofline.paint import (
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
