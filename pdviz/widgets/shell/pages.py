"""Views as pages: the same painting as on screen, on any paint device, with the scenario as title."""

from __future__ import annotations

from PySide6.QtGui import QPainter

from pdviz.evaluation import Result
from pdviz.scene.anatomy.page import build_anatomy
from pdviz.scene.anatomy.page import page_scale as anatomy_scale
from pdviz.scene.marks.axis import automatic_window
from pdviz.scene.marks.figures import scenario_words
from pdviz.scene.marks.geometry import Box, page_type_scale, request_layout
from pdviz.scene.marks.memory import lay_out_memory
from pdviz.scene.marks.theme import Theme
from pdviz.scene.request.figures import headline_figures
from pdviz.scene.request.meters import lay_out_meters
from pdviz.scene.request.notice import notices
from pdviz.scene.request.remarks import lay_out_remarks, remarks
from pdviz.scene.roofline.curves import build_roofline
from pdviz.scene.shapes.page import build_shapes, default_matrix, page_scale, weight_matrices
from pdviz.scene.stage.stage import build_stage
from pdviz.widgets.anatomy.paint import paint_anatomy_page
from pdviz.widgets.controls.memory_view import paint_memory
from pdviz.widgets.kit.figures_view import paint_figure
from pdviz.widgets.kit.paint import draw_text, elided, rect
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.request.answer import page_for, paint_answer
from pdviz.widgets.request.meters import paint_meters
from pdviz.widgets.request.notice import paint_notice_panel
from pdviz.widgets.request.warning import paint_remarks
from pdviz.widgets.roofline.page import paint_roofline_page
from pdviz.widgets.roofline.panel import paint_roofline_panel
from pdviz.widgets.shapes.paint import paint_shapes_page
from pdviz.widgets.shapes.panel import paint_shapes_panel
from pdviz.widgets.stage.paint import paint_playhead, paint_stage, paint_veil


def default_moment(result: Result) -> float:
    """A telling moment: some decode steps in, the automatic view about half played."""

    window = automatic_window(result.ttft_s, result.itl_s, result.e2e_s)
    return 0.48 * window.span_s


def paint_page(
    view: str, result: Result, time_s: float, theme: Theme, width: float, height: float, p: QPainter
) -> None:
    """The page of a view: a head with scenario and memory, then the view."""
    s = page_type_scale(width, height)
    margin, head = 24 * s, (80 if view == "anatomy" else 96) * s
    p.fillRect(rect(Box(0, 0, width, height)), colour(theme.window))
    memory = Box(width - margin - 300 * s, 12 * s, 300 * s, 72 * s)
    room = memory.x - margin - 30 * s
    draw_text(p, Box(margin, 16 * s, room, 28 * s), TITLES[view], theme.text, 20 * s, True)
    words = elided(scenario_words(result), 15 * s, False, room)
    draw_text(p, Box(margin, 46 * s, room, 22 * s), words, theme.muted, 15 * s)
    if view != "anatomy":  # which has a card of its own for it
        paint_memory(p, lay_out_memory(memory, result, s, text_width), theme, s)
    p.translate(margin, head)
    PAINTERS[view](p, result, time_s, theme, width - 2 * margin, height - head - margin, s)
    p.translate(-margin, -head)


def paint_request(
    p: QPainter, result: Result, time_s: float, theme: Theme, width: float, height: float, s: float
) -> None:
    """The request view without its side panels."""
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
    roofline_box, shapes_box, notice_box = layout.panels
    if roofline_box.h > 0:
        paint_roofline_panel(p, roofline_box, build_roofline(result, time_s), theme, s)
        paint_shapes_panel(p, shapes_box, result, theme, s)
        paint_notice_panel(p, notice_box, notices(result), theme, s)
    window = automatic_window(result.ttft_s, result.itl_s, result.e2e_s).showing(time_s, result.e2e_s)
    box = layout.stage
    stage = build_stage(result, window, box.w, box.h, s, text_width)
    p.translate(box.x, box.y)
    paint_stage(p, stage, Box(0, 0, box.w, box.h), theme, s)
    paint_veil(p, stage, time_s, theme)
    paint_playhead(p, stage, time_s, theme, s)
    p.translate(-box.x, -box.y)


def paint_roofline(
    p: QPainter, result: Result, time_s: float, theme: Theme, width: float, height: float, s: float
) -> None:
    """The roofline with its figures and the pass at ``time_s``."""
    paint_roofline_page(p, Box(0, 0, width, height), build_roofline(result, time_s), theme, s)


def paint_shapes(
    p: QPainter, result: Result, time_s: float, theme: Theme, width: float, height: float, s: float
) -> None:
    """The shapes of the matrix that the view shows first."""
    s = page_scale(width, height, s)
    index = default_matrix(weight_matrices(result.architecture))
    shapes = build_shapes(result, index, width, height, s, text_width)
    paint_shapes_page(p, Box(0, 0, width, height), shapes, theme, s, time_s)


def paint_anatomy(
    p: QPainter, result: Result, time_s: float, theme: Theme, width: float, height: float, s: float
) -> None:
    """The model's parts; the same at any time."""
    s = anatomy_scale(width, height, s)
    paint_anatomy_page(p, build_anatomy(result, None, width, height, s, text_width), theme, s)


TITLES = {
    "request": "Prefill and decode, to scale",
    "roofline": "Prefill and decode on the roofline",
    "shapes": "Same weights, different shapes",
    "anatomy": "The anatomy of a model",
}
PAINTERS = {
    "request": paint_request,
    "roofline": paint_roofline,
    "shapes": paint_shapes,
    "anatomy": paint_anatomy,
}
