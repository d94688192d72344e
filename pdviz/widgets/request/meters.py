"""Draws the two meters that move with the playhead, and answers for the figures on them."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtGui import QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.costmodel.fidelities import PassCost
from pdviz.costmodel.roofline import Machine
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.scene.request.meters import MetersCard, lay_out_meters, meters_spoken
from pdviz.widgets.kit.accessibility import Role
from pdviz.widgets.kit.paint import draw_card, draw_dashed, draw_round_box, draw_scene_text, rect
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.pointed import Pointed, pointed_at
from pdviz.widgets.kit.view import PaintedView


def paint_meters(p: QPainter, card: MetersCard, theme: Theme, scale: float) -> None:
    """The card with both meters."""
    draw_card(p, card.box, theme, scale)
    for meter in card.meters:
        draw_round_box(p, meter.well, theme.window, 6 * scale)
        on, off = colour(theme.bound(meter.bound)), colour(theme.bound_soft(meter.bound), 0.6)
        for cell in meter.cells:
            p.fillRect(rect(cell), off)
        for cell in meter.lit:
            p.fillRect(rect(cell), on)
        draw_dashed(p, meter.well.x, meter.well.right, meter.reached_y, theme.text, 1.4 * scale, 3)
    for text in card.texts:
        draw_scene_text(p, text, theme)


class MetersView(PaintedView):
    """Shows the cost of the pass under the playhead."""

    accessible_role = Role.ProgressBar

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Utilisation meters")
        self._shown: tuple[PassCost, Machine, int] | None = None

    def show_pass(self, cost: PassCost, machine: Machine, index: int) -> None:
        shown = (cost, machine, index)
        if shown != self._shown:
            self._shown = shown
            self.update()

    def layout_now(self) -> MetersCard | None:
        """The geometry that is drawn and hit."""
        if self._shown is None:
            return None
        card = Box(0, 0, self.width(), self.height())
        return lay_out_meters(card, *self._shown, self.scale, text_width)

    def explain_at(self, at: QPoint) -> Pointed | None:
        """The figure at a point."""
        card = self.layout_now()
        return pointed_at(card.places, at, self._shown[2]) if card is not None and self._shown else None

    def spoken(self) -> str:
        """Both values in words."""
        return meters_spoken(*self._shown) if self._shown is not None else ""

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        p.fillRect(self.rect(), colour(self.theme.window))
        card = self.layout_now()
        if card is not None:
            paint_meters(p, card, self.theme, self.scale)
