"""Any view as PNG, SVG or PDF, from a scenario alone: no display, no window, the same pixels everywhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pdviz.errors import InputError
from pdviz.scenario import Scenario, to_line

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from pdviz.evaluation import Result
    from pdviz.scene.theme import Theme

VIEWS = ("request",)
SUFFIXES = (".png", ".svg", ".pdf")
LARGEST_SIDE_PX = 16_384


def render(
    view: str,
    scenario: Scenario,
    out: str,
    *,
    width: int = 1920,
    height: int = 1080,
    scale: float = 1.0,
    theme: str = "dark",
    time_s: float | None = None,
) -> None:
    """Draws ``view`` of ``scenario`` at ``time_s`` into the file ``out``.

    ``width`` x ``height`` are logical pixels, ``scale`` device pixels for each of them. Without a
    time the moment is one in which both phases can be seen. The file carries its scenario as text.
    Raises InputError for a view, suffix, size or place that cannot be had.
    """
    suffix = os.path.splitext(out)[1].lower()
    if view not in VIEWS:
        raise InputError(f'--view must be one of {", ".join(VIEWS)}, got "{view}"')
    if suffix not in SUFFIXES:
        raise InputError(f'--out must end in {", ".join(SUFFIXES)}, got "{out}"')
    if max(width, height) * scale > LARGEST_SIDE_PX:
        raise InputError(f"--size times --scale must stay within {LARGEST_SIDE_PX:,} pixels a side")
    _make_headless_application()
    from pdviz.catalogue import default_catalogue
    from pdviz.evaluation import evaluate, with_names
    from pdviz.scene.theme import THEMES

    result = evaluate(with_names(scenario, default_catalogue()))
    moment = default_moment(result) if time_s is None else time_s
    if moment > result.e2e_s:
        raise InputError(
            f"--at must be within the request, 0 to {result.e2e_s:.6g} seconds, got {moment:.6g}"
        )
    look = THEMES[theme]
    {".png": _png, ".svg": _svg, ".pdf": _pdf}[suffix](out, result, moment, look, width, height, scale)


def default_moment(result: Result) -> float:
    """A telling moment: some decode steps in, the automatic view about half played."""
    from pdviz.scene.axis import automatic_window

    window = automatic_window(result.ttft_s, result.itl_s, result.e2e_s)
    return 0.48 * window.span_s


def paint_page(p: QPainter, result: Result, time_s: float, theme: Theme, width: float, height: float) -> None:
    """The request view as a page of that size, with the scenario as its title."""
    from pdviz.scene.axis import automatic_window
    from pdviz.scene.figures import headline_figures, scenario_words
    from pdviz.scene.geometry import Box, interface_scale, request_layout
    from pdviz.scene.stage import build_stage
    from pdviz.widgets.answer_view import page_for, paint_answer
    from pdviz.widgets.figures_view import paint_figure
    from pdviz.widgets.memory_view import paint_memory
    from pdviz.widgets.meters_view import paint_meters
    from pdviz.widgets.paint import draw_text, elided, rect
    from pdviz.widgets.palette import colour, text_width
    from pdviz.widgets.stage_paint import paint_playhead, paint_stage, paint_veil
    from pdviz.widgets.warning_view import paint_warning, wrapped

    s = interface_scale(width, height)
    margin, head = 24 * s, 86 * s
    inner_width, inner_height = width - 2 * margin, height - head - margin
    p.fillRect(rect(Box(0, 0, width, height)), colour(theme.window))
    memory = Box(width - margin - 300 * s, 12 * s, 300 * s, 72 * s)
    room = memory.x - margin - 30 * s
    draw_text(p, Box(margin, 16 * s, room, 28 * s), "Prefill and decode, to scale", theme.text, 20 * s, True)
    words = elided(scenario_words(result.scenario), 15 * s, False, room)
    draw_text(p, Box(margin, 46 * s, room, 22 * s), words, theme.muted, 15 * s)
    paint_memory(p, memory, result.memory, theme, s)
    figures = headline_figures(result)
    lines = wrapped(result.warnings, inner_width, s)
    layout = request_layout(inner_width, inner_height, s, len(figures), len(lines))
    p.translate(margin, head)
    for figure, box in zip(figures, layout.figures, strict=True):
        paint_figure(p, box, figure, theme, s)
    paint_warning(p, layout.warning, lines, theme, s)
    number = result.request.pass_at(time_s)
    paint_meters(p, layout.meters, result.request.pass_cost(number), result.machine, number, theme, s)
    shown = result.request.tokens_out_at(time_s)
    page = page_for(layout.tokens, shown, result.request.passes, s)
    paint_answer(p, layout.tokens, page, shown, result, theme, s)
    window = automatic_window(result.ttft_s, result.itl_s, result.e2e_s).showing(time_s, result.e2e_s)
    box = layout.stage
    stage = build_stage(result, window, box.w, box.h, s, text_width)
    p.translate(box.x, box.y)
    paint_stage(p, stage, Box(0, 0, box.w, box.h), theme, s)
    paint_veil(p, stage, time_s, theme)
    paint_playhead(p, stage, time_s, theme, s)
    p.translate(-box.x - margin, -box.y - head)


def _make_headless_application() -> None:
    from pdviz.binding import binding_problem

    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    problem = binding_problem()
    if problem is not None:
        raise InputError(problem)
    from PySide6.QtWidgets import QApplication

    if QApplication.instance() is None:
        from pdviz.app import make_application

        global _application
        _application = make_application()
    from pdviz.widgets.palette import load_font

    load_font()


_application: object = None


def _png(
    out: str, result: Result, time_s: float, theme: Theme, width: int, height: int, scale: float
) -> None:
    from PySide6.QtGui import QImage, QPainter

    image = QImage(round(width * scale), round(height * scale), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    image.setText("Title", "pdviz")
    image.setText("pdviz-scenario", to_line(result.scenario))
    with QPainter(image) as p:
        paint_page(p, result, time_s, theme, width, height)
    if not image.save(out, "PNG"):  # type: ignore[call-overload]
        raise InputError(f'--out: "{out}" cannot be written')


def _svg(
    out: str, result: Result, time_s: float, theme: Theme, width: int, height: int, scale: float
) -> None:
    from PySide6.QtCore import QRectF, QSize
    from PySide6.QtGui import QPainter
    from PySide6.QtSvg import QSvgGenerator

    device = QSvgGenerator()
    device.setFileName(out)
    device.setSize(QSize(round(width * scale), round(height * scale)))
    device.setViewBox(QRectF(0, 0, width, height))
    device.setResolution(96)
    device.setTitle("pdviz")
    device.setDescription(to_line(result.scenario))
    painter = QPainter()
    with painter as p:
        if not p.begin(device):
            raise InputError(f'--out: "{out}" cannot be written')
        paint_page(p, result, time_s, theme, width, height)


def _pdf(
    out: str, result: Result, time_s: float, theme: Theme, width: int, height: int, scale: float
) -> None:
    from PySide6.QtCore import QMarginsF, QSizeF
    from PySide6.QtGui import QPageLayout, QPageSize, QPainter, QPdfWriter

    device = QPdfWriter(out)
    points = 72 / 96
    device.setPageSize(QPageSize(QSizeF(width * points, height * points), QPageSize.Unit.Point))
    device.setPageMargins(QMarginsF(0, 0, 0, 0), QPageLayout.Unit.Point)
    device.setResolution(round(96 * max(scale, 1.0) * 4))
    device.setTitle("pdviz")
    device.setCreator(f"pdviz {to_line(result.scenario)}")
    painter = QPainter()
    with painter as p:
        if not p.begin(device):
            raise InputError(f'--out: "{out}" cannot be written')
        factor = device.width() / width
        p.scale(factor, factor)
        paint_page(p, result, time_s, theme, width, height)
