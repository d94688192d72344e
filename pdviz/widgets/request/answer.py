"""What the user sees: tokens of the answer appearing at their true moments."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.scene.request.answer import Page, answer_page
from pdviz.units import count, written
from pdviz.widgets.kit.accessibility import Role
from pdviz.widgets.kit.paint import draw_card, draw_round_box, draw_text, rect
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.view import PaintedView

WORD_SIZE, ROW_HEIGHT = 16.0, 32.0


def answer_rows(card: Box, scale: float) -> int:
    """How many rows of words a card of that height holds."""
    return max(int((card.h - 40 * scale) / (ROW_HEIGHT * scale) + 1e-6), 1)


def page_for(card: Box, shown: int, total: int, scale: float) -> Page:
    """The page with the newest token."""
    size = WORD_SIZE * scale
    return answer_page(
        shown,
        total,
        card.w - 32 * scale,
        answer_rows(card, scale),
        6 * scale,
        6 * scale,
        lambda word: text_width(word, size),
    )


def status_words(result: Result, shown: int) -> str:
    """How far the answer is."""
    total = result.request.passes
    if shown == 0:
        return f"waiting for the first token, {written(result.ttft)} after the prompt arrives"
    return f"{count(shown)} of {count(total)} tokens"


def head_box(card: Box, scale: float) -> Box:
    """Where the title and the status stand."""
    return Box(card.x + 16 * scale, card.y + 8 * scale, card.w - 32 * scale, 20 * scale)


def word_boxes(card: Box, page: Page, scale: float) -> list[Box]:
    """Where the words of a page stand, in order."""
    head = head_box(card, scale)
    top = head.bottom + 5 * scale
    return [
        Box(head.x + x, top + row * ROW_HEIGHT * scale, width, (ROW_HEIGHT - 5) * scale)
        for row, words in enumerate(page.rows)
        for x, width, _ in words
    ]


def paint_answer(
    p: QPainter,
    card: Box,
    page: Page,
    shown: int,
    result: Result,
    theme: Theme,
    scale: float,
    dirty: QRegion | None = None,
) -> None:
    """The page with ``shown`` tokens of the answer written (the words inside ``dirty``)."""
    draw_card(p, card, theme, scale)
    head = head_box(card, scale)
    draw_text(p, head, "What the user sees", theme.muted, 13.5 * scale)
    draw_text(p, head, status_words(result, shown), theme.muted, 13 * scale, False, "right")
    size = WORD_SIZE * scale
    words = [word for row in page.rows for _, _, word in row]
    for index, (box, word) in enumerate(zip(word_boxes(card, page, scale), words, strict=True), page.first):
        if dirty is not None and not dirty.intersects(rect(box).toAlignedRect()):
            continue
        if index < shown:
            bound = result.request.pass_cost(index).bound
            draw_round_box(p, box, theme.bound_soft(bound), 4 * scale)
            draw_text(p, box, word, theme.text, size, False, "center")
        else:
            draw_text(p, box, word, theme.line, size, False, "center")


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
        card = Box(0, 0, self.width(), self.height())
        first, last = sorted((before, shown))
        boxes = word_boxes(card, self._page, self.scale)[
            max(first - self._page.first, 0) : last - self._page.first
        ]
        for box in (head_box(card, self.scale), *boxes):
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
        card = Box(0, 0, self.width(), self.height())
        if self._page is None:
            self._page = page_for(card, self._shown, self._result.request.passes, self.scale)
        paint_answer(p, card, self._page, self._shown, self._result, self.theme, self.scale, dirty)
