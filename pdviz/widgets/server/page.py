"""The server view as a page, with a painter alone."""

from __future__ import annotations

from PySide6.QtGui import QPainter

from pdviz.errors import InputError
from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.scene.server.half import figures_of, lay_out_half
from pdviz.scene.server.layout import server_layout
from pdviz.scene.server.runs import NOTHING, Shown, shown_of, targets_of
from pdviz.scene.server.stage import server_tracks
from pdviz.scene.stage.stage import build_stage
from pdviz.widgets.kit.palette import text_width
from pdviz.widgets.server import paint  # noqa: F401 (the painters of the rows)
from pdviz.widgets.server.half import paint_half
from pdviz.widgets.server.wait import paint_wait
from pdviz.widgets.stage.paint import paint_now, paint_stage


def paint_server_page(
    p: QPainter, result: Result, time_s: float, theme: Theme, width: float, height: float, s: float
) -> None:
    """All of the view, or why there is nothing to show."""
    try:
        shown, problem = shown_of(result), NOTHING
    except InputError as error:
        shown, problem = None, str(error)
    if shown is None:
        paint_wait(p, Box(0, 0, width, height), problem, None, theme, s)
        return
    layout = server_layout(width, height, s, len(shown.courses))
    _paint_stage(p, layout.stage, shown, time_s, theme, s)
    for course, box in zip(shown.courses, layout.halves, strict=True):
        figures, now = figures_of(course, targets_of(result)), course.pass_now(course.main, time_s)
        paint_half(p, lay_out_half(box, figures, course, now, s, text_width), theme, s)


def _paint_stage(p: QPainter, box: Box, shown: Shown, time_s: float, theme: Theme, s: float) -> None:
    line = shown.timeline
    tracks = server_tracks(shown.courses, shown.scales, box.h / s)
    stage = build_stage(tracks, line.first_view(), line.duration_s, box.w, box.h, s, text_width)
    p.translate(box.x, box.y)
    paint_stage(p, stage, Box(0, 0, box.w, box.h), theme, s)
    paint_now(p, stage, time_s, theme, s)
    p.translate(-box.x, -box.y)
