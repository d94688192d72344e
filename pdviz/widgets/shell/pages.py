"""Views as pages: the same painting as on screen, on any paint device, with the scenario as title."""

from __future__ import annotations

from PySide6.QtGui import QPainter

from pdviz.evaluation import Result
from pdviz.scene.marks.axis import automatic_window
from pdviz.scene.marks.figures import scenario_words
from pdviz.scene.marks.geometry import Box, page_type_scale
from pdviz.scene.marks.memory import lay_out_memory
from pdviz.scene.marks.theme import Theme
from pdviz.widgets.controls.memory_view import paint_memory
from pdviz.widgets.kit.paint import draw_text, elided, rect
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.views import VIEW_BY_NAME


def default_moment(view: str, result: Result) -> float:
    """A telling moment: some decode steps in, the automatic view about half played; else the end."""
    row = VIEW_BY_NAME[view]
    if row.ends_s is not None:
        return row.ends_s(result)
    window = automatic_window(result.ttft_s, result.itl_s, result.e2e_s)
    return 0.48 * window.span_s


def paint_page(
    view: str, result: Result, time_s: float, theme: Theme, width: float, height: float, p: QPainter
) -> None:
    """The page of a view: a head with scenario and memory, then the view."""
    row = VIEW_BY_NAME[view]
    s = page_type_scale(width, height)
    margin, head = 24 * s, (80 if row.has_memory else 96) * s
    p.fillRect(rect(Box(0, 0, width, height)), colour(theme.window))
    memory = Box(width - margin - 300 * s, 12 * s, 300 * s, 72 * s)
    room = memory.x - margin - 30 * s
    draw_text(p, Box(margin, 16 * s, room, 28 * s), row.heading, theme.text, 20 * s, True)
    words = elided((row.words or scenario_words)(result), 15 * s, False, room)
    draw_text(p, Box(margin, 46 * s, room, 22 * s), words, theme.muted, 15 * s)
    if not row.has_memory:
        paint_memory(p, lay_out_memory(memory, result, s, text_width), theme, s)
    p.translate(margin, head)
    row.paint_page(p, result, time_s, theme, width - 2 * margin, height - head - margin, s)
    p.translate(-margin, -head)
