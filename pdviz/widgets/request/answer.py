"""Draws what the user sees: tokens of the answer appearing at their true moments."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.scene.request.answer import WORD_SIZE, AnswerCard, Page, lay_out_answer, page_for, status_words
from pdviz.widgets.kit.accessibility import Role
from pdviz.widgets.kit.paint import draw_card, draw_round_box, draw_scene_text, draw_text, rect
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.view import PaintedView


def paint_answer(
    p: QPainter,
    card: AnswerCard,
    shown: int,
    result: Result,
    theme: Theme,
    scale: float,
    dirty: QRegion | None = None,
) -> None:
    """The page with ``shown`` tokens of the answer written (the words inside ``dirty``)."""
    draw_card(p, card.box, theme, scale)
    for text in card.texts:
        draw_scene_text(p, text, theme)
    size = WORD_SIZE * scale
    for word in card.words:
        if dirty is not None and not dirty.intersects(rect(word.box).toAlignedRect()):
            continue
        is_there = word.index < shown
        if is_there:
            bound = result.request.bound(word.index)
            draw_round_box(p, word.box, theme.bound_soft(bound), 4 * scale)
        draw_text(p, word.box, word.text, theme.text if is_there else theme.line, size, False, "center")


class AnswerView(PaintedView):
    """Shows the tokens that have appeared."""

    accessible_role = Role.StaticText

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("What the user sees")
        self._result: Result | None = None
        self._shown = -1
        self._page: Page | None = None

    def show_tokens(self, result: Result, shown: int) -> None:
        """``shown`` tokens of the answer to ``result``'s request."""
        if result is self._result and shown == self._shown:
            return
        same = result is self._result
        before, page = self._shown, self._page
        self._result, self._shown = result, shown
        if page is not None and not page.first < max(shown, 1) <= page.first + page.tokens:
            page = None
        self._page = page if same or (page is not None and page.total == result.request.passes) else None
        if not same or self._page is None:
            self.update()
            return
        card = lay_out_answer(self._box(), self._page, shown, result, self.scale)
        first, last = sorted((before, shown))
        for box in (card.head, *(word.box for word in card.words if first <= word.index < last)):
            self.update(rect(box).toAlignedRect().adjusted(-1, -1, 1, 1))

    def spoken(self) -> str:
        return status_words(self._result, self._shown) if self._result is not None else ""

    def look_changed(self) -> None:
        self._page = None

    def resizeEvent(self, event: object) -> None:
        self._page = None

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        p.fillRect(self.rect(), colour(self.theme.window))
        if self._result is None:
            return
        if self._page is None:
            total = self._result.request.passes
            self._page = page_for(self._box(), self._shown, total, self.scale, text_width)
        card = lay_out_answer(self._box(), self._page, self._shown, self._result, self.scale)
        paint_answer(p, card, self._shown, self._result, self.theme, self.scale, dirty)

    def _box(self) -> Box:
        return Box(0, 0, self.width(), self.height())
