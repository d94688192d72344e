"""The shapes view as a page, with a painter alone."""

from __future__ import annotations

from PySide6.QtGui import QPainter

from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.scene.shapes.page import build_shapes, default_matrix, page_scale, weight_matrices
from pdviz.widgets.kit.palette import text_width
from pdviz.widgets.shapes.paint import paint_shapes_page


def paint_shapes_view(
    p: QPainter, result: Result, time_s: float, theme: Theme, width: float, height: float, s: float
) -> None:
    """The shapes of the matrix that the view shows first."""
    s = page_scale(width, height, s)
    index = default_matrix(weight_matrices(result.architecture))
    shapes = build_shapes(result, index, width, height, s, text_width)
    paint_shapes_page(p, Box(0, 0, width, height), shapes, theme, s, time_s)
