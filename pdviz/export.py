"""Any view as PNG, SVG or PDF, from a scenario alone: no display, no window, the same pixels everywhere."""

from __future__ import annotations

import os
from functools import partial

from pdviz.errors import InputError
from pdviz.scenario import Scenario, to_line
from pdviz.widgets.views import VIEW_BY_NAME, VIEW_NAMES

THEME_NAMES = ("dark", "light", "print")
SUFFIXES = (".png", ".svg", ".pdf")
LARGEST_SIDE_PX = 16_384
SMALLEST_PX = (320, 180)


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
    if view not in VIEW_NAMES:
        raise InputError(f'--view must be one of {", ".join(VIEW_NAMES)}, got "{view}"')
    if suffix not in SUFFIXES:
        raise InputError(f'--out must end in {", ".join(SUFFIXES)}, got "{out}"')
    if theme not in THEME_NAMES:
        raise InputError(f'--theme must be one of {", ".join(THEME_NAMES)}, got "{theme}"')
    if width < SMALLEST_PX[0] or height < SMALLEST_PX[1]:
        least = "x".join(map(str, SMALLEST_PX))
        raise InputError(f"--size must be at least {least} to be legible, got {width}x{height}")
    if max(width, height) * scale > LARGEST_SIDE_PX:
        raise InputError(f"--size times --scale must stay within {LARGEST_SIDE_PX:,} pixels a side")
    if not 0 < scale <= 8:
        raise InputError(f"--scale must be above 0 and up to 8, got {scale}")
    _make_headless_application()
    from pdviz.catalogue import default_catalogue
    from pdviz.evaluation import evaluate, with_names
    from pdviz.scene.marks.theme import THEMES
    from pdviz.widgets.shell.pages import default_moment, paint_page
    from pdviz.widgets.shell.pictures import write_picture

    result = evaluate(with_names(scenario, default_catalogue()))
    moment = default_moment(view, result) if time_s is None else time_s
    end_s = VIEW_BY_NAME[view].end_s(result)
    if not 0 <= moment <= end_s:
        whole = f"0 to {end_s:.6g} seconds"
        raise InputError(f"--at must be within the request, {whole}, got {moment:.6g}")
    paint = partial(paint_page, view, result, moment, THEMES[theme], width, height)
    write_picture(out, paint, width, height, scale, to_line(result.scenario))


_application: object = None


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
    from pdviz.widgets.kit.palette import load_font

    load_font()
