"""The small live panel of the request view: the same weights met by a prompt and by a decode pass."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtGui import QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.scene.shapes.panel import SmallCase, SmallShapes, build_shapes_panel, small_case
from pdviz.widgets.kit.live_panel import LivePanel
from pdviz.widgets.kit.paint import draw_card, draw_scene_text
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.slab import draw_outline, draw_slab


def _paint(p: QPainter, small: SmallShapes, theme: Theme, scale: float) -> None:
    prefill, decode = small.bounds
    draw_slab(p, small.prefill, theme.bound(prefill), scale)
    draw_slab(p, small.decode, theme.bound(decode), scale)
    draw_slab(p, small.weights, theme.raised, scale)
    draw_outline(p, small.weights, theme.faint, scale)
    for text in small.texts:
        draw_scene_text(p, text, theme)


def paint_shapes_panel(p: QPainter, box: Box, result: Result, theme: Theme, scale: float) -> None:
    """The panel in ``box``; made for 300 x 130 design pixels and more."""
    draw_card(p, box, theme, scale)
    small = build_shapes_panel(small_case(result), box.w, box.h, scale, text_width)
    p.save()
    p.translate(box.x, box.y)
    _paint(p, small, theme, scale)
    p.restore()


class ShapesPanel(LivePanel):
    """Shows the shapes of a result, the same at any moment."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Same weights, different shapes", "Open the shapes of every weight matrix", parent)
        self._case: SmallCase | None = None
        self._shapes: SmallShapes | None = None

    def show_result(self, result: Result, time_s: float) -> None:
        """Another result; repaints only where it changes the panel."""
        case = small_case(result)
        if case != self._case:
            self._case = case
            self._forget()
            self.say(case.spoken)

    def _forget(self) -> None:
        self._shapes = None
        self.update()

    def look_changed(self) -> None:
        self._forget()

    def resizeEvent(self, event: QEvent) -> None:
        self._forget()

    @property
    def shapes(self) -> SmallShapes | None:
        """The geometry that is drawn."""
        if self._shapes is None and self._case is not None:
            self._shapes = build_shapes_panel(self._case, self.width(), self.height(), self.scale, text_width)
        return self._shapes

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        theme, s = self.theme, self.scale
        p.fillRect(self.rect(), colour(theme.window))
        draw_card(p, Box(0, 0, self.width(), self.height()), theme, s)
        if self.shapes is not None:
            _paint(p, self.shapes, theme, s)
        self.paint_frame(p)
