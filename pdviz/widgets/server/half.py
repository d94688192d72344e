"""Draws the card beside a run."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QPoint
from PySide6.QtGui import QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.explain import KEYS
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.scene.server.course import Course
from pdviz.scene.server.engine import Pass
from pdviz.scene.server.half import HalfCard, HalfFigures, lay_out_half, meters_spoken, spoken
from pdviz.widgets.kit.accessibility import Role
from pdviz.widgets.kit.paint import draw_card, draw_lines, draw_round_box, draw_scene_text
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.pointed import Pointed, pointed_at
from pdviz.widgets.kit.view import PaintedView


def paint_half(p: QPainter, card: HalfCard, theme: Theme, scale: float) -> None:
    """The card of one run."""
    draw_card(p, card.box, theme, scale)
    for bar in card.bars:
        draw_round_box(p, bar.well, theme.bound_soft(bar.bound), 3 * scale, 0.6)
        if bar.lit.w >= 1.0:
            draw_round_box(p, bar.lit, theme.bound(bar.bound), min(3 * scale, bar.lit.w / 2))
        edge = bar.ceiling_x
        line = QLineF(edge, bar.well.y - 2 * scale, edge, bar.well.bottom + 2 * scale)
        draw_lines(p, [line], theme.text, 1.4 * scale)
    for text in card.texts:
        draw_scene_text(p, text, theme)


class HalfView(PaintedView):
    """Shows the figures of one run, and the pass under the playhead."""

    accessible_role = Role.Grouping

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[HalfFigures, Course] | None = None
        self._now: Pass | None = None

    def show_run(self, figures: HalfFigures, course: Course) -> None:
        self._shown = figures, course
        self.setAccessibleName(figures.title)
        self.update()

    def show_pass(self, now: Pass | None) -> None:
        if now != self._now:
            self._now = now
            self.update()

    def layout_now(self) -> HalfCard | None:
        """The geometry that is drawn and hit."""
        if self._shown is None:
            return None
        figures, course = self._shown
        card = Box(0, 0, self.width(), self.height())
        return lay_out_half(card, figures, course, self._now, self.scale, text_width)

    def explain_at(self, at: QPoint) -> Pointed | None:
        """The figure at a point, where there is an explanation of it."""
        card = self.layout_now()
        found = pointed_at(card.places, at) if card is not None else None
        return found if found is not None and found.key in KEYS else None

    def spoken(self) -> str:
        """Figures and moment in words."""
        return f"{spoken(self._shown[0])}. Now {meters_spoken(self._now)}" if self._shown is not None else ""

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        p.fillRect(self.rect(), colour(self.theme.window))
        card = self.layout_now()
        if card is not None:
            paint_half(p, card, self.theme, self.scale)
