"""What to notice now: a card with a headline or two, why, and what to try next."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QMouseEvent, QPainter, QPen, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.suggestion import Suggestion
from pdviz.scene.marks.theme import Theme
from pdviz.scene.request.notice import Notice, notices
from pdviz.scene.request.notice_card import ARROW, TITLE, NoticeLayout, lay_out_notice
from pdviz.scene.request.suggestion import suggestion
from pdviz.widgets.kit.fields import by_keyboard
from pdviz.widgets.kit.paint import ANTIALIASING, NO_BRUSH, draw_card, draw_scene_text
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.press import KeyPress
from pdviz.widgets.kit.view import PaintedView


def paint_notice_panel(
    p: QPainter,
    layout: NoticeLayout,
    theme: Theme,
    scale: float,
    *,
    is_hovered: bool = False,
    is_focused: bool = False,
) -> None:
    """The card; a suggestion is underlined while the pointer is on it."""
    draw_card(p, layout.box, theme, scale)
    for text in layout.texts:
        draw_scene_text(p, text, theme)
    for text in layout.links:
        draw_scene_text(p, text, theme)
        if is_hovered:
            y = text.box.y + text.box.h - 0.12 * text.size
            left = text.box.x + (text_width(ARROW, text.size, True) if text.text.startswith(ARROW) else 0)
            p.setPen(QPen(colour(theme.text), max(1.0, 1.1 * scale)))
            p.drawLine(QPointF(left, y), QPointF(text.box.x + text_width(text.text, text.size, True), y))
    if is_focused and layout.link is not None:
        p.setRenderHint(ANTIALIASING, True)
        p.setPen(QPen(colour(theme.text), 1.4 * scale, Qt.PenStyle.DotLine))
        p.setBrush(NO_BRUSH)
        ring = QRectF(layout.link.x, layout.link.y, layout.link.w, layout.link.h)
        p.drawRoundedRect(ring, 4 * scale, 4 * scale)
        p.setRenderHint(ANTIALIASING, False)


class NoticePanel(KeyPress, PaintedView):
    """Shows what is to be noticed about a result. ``suggested(Suggestion)``: the user wants to try it."""

    suggested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(TITLE)
        self.setMouseTracking(True)
        self._notices: tuple[Notice, ...] = ()
        self._suggestion: Suggestion | None = None
        self._is_hovered = False
        self._is_pressed = False
        self._shows_focus = False

    @property
    def suggestion(self) -> Suggestion | None:
        """What the link would do."""
        return self._suggestion

    def show_result(self, result: Result, changed: frozenset[str] = frozenset()) -> None:
        """What there is to notice about ``result``, first about the ``changed`` fields."""
        self.show_notices(notices(result, changed), suggestion(result))

    def show_notices(self, found: tuple[Notice, ...], suggested: Suggestion | None) -> None:
        """These notices and this suggestion."""
        if (found, suggested) == (self._notices, self._suggestion):
            return
        self._notices, self._suggestion = found, suggested
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if suggested is not None else Qt.FocusPolicy.NoFocus)
        self.say(self.spoken())
        self.update()

    def spoken(self) -> str:
        """All of it in words, whatever has room on the card."""
        words = [notice.spoken for notice in self._notices]
        if self._suggestion is not None:
            words.append(f"{self._suggestion.text[0].upper()}{self._suggestion.text[1:]}: press Enter.")
        return " ".join(words)

    def layout_now(self) -> NoticeLayout:
        """The geometry that is drawn and hit."""
        box = Box(0, 0, self.width(), self.height())
        return lay_out_notice(box, self._notices, self._suggestion, self.scale, text_width)

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        p.fillRect(self.rect(), colour(self.theme.window))
        paint_notice_panel(
            p,
            self.layout_now(),
            self.theme,
            self.scale,
            is_hovered=self._is_hovered,
            is_focused=self.hasFocus() and self._shows_focus,
        )

    # --- the link ------------------------------------------------------------------------------

    def _is_on_link(self, at: QPointF) -> bool:
        link = self.layout_now().link
        return link is not None and link.contains(at.x(), at.y())

    def _hover(self, is_hovered: bool) -> None:
        if is_hovered != self._is_hovered:
            self._is_hovered = is_hovered
            self.setCursor(Qt.CursorShape.PointingHandCursor if is_hovered else Qt.CursorShape.ArrowCursor)
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self._is_on_link(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(False)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._is_pressed = event.button() == Qt.MouseButton.LeftButton and self._is_on_link(event.position())
        if not self._is_pressed:
            super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        is_pressed, self._is_pressed = self._is_pressed, False
        if is_pressed and event.button() == Qt.MouseButton.LeftButton and self._is_on_link(event.position()):
            self.press()

    @property
    def is_pressable(self) -> bool:
        return self._suggestion is not None

    def press(self) -> None:
        """As if the user had clicked on the suggestion."""
        if self._suggestion is not None:
            self.suggested.emit(self._suggestion)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._shows_focus = by_keyboard(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.update()
