"""The anatomy view as a page, with a painter alone."""

from __future__ import annotations

from PySide6.QtGui import QPainter

from pdviz.evaluation import Result
from pdviz.scene.anatomy.page import build_anatomy, page_scale
from pdviz.scene.marks.theme import Theme
from pdviz.widgets.anatomy.paint import paint_anatomy_page
from pdviz.widgets.kit.palette import text_width


def paint_anatomy_view(
    p: QPainter, result: Result, theme: Theme, width: float, height: float, s: float
) -> None:
    """The model's parts; the same at any time."""
    s = page_scale(width, height, s)
    paint_anatomy_page(p, build_anatomy(result, None, width, height, s, text_width), theme, s)
