"""What to notice now: a card with a headline or two, why, and what to try next."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QMouseEvent, QPainter, QPen, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Text
from pdviz.scene.marks.suggestion import Suggestion
from pdviz.scene.marks.theme import Theme
from pdviz.scene.request.notice import Notice, notices
from pdviz.scene.request.suggestion import suggestion
from pdviz.widgets.kit.fields import by_keyboard
from pdviz.widgets.kit.paint import ANTIALIASING, NO_BRUSH, draw_card, draw_scene_text, elided
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.press import KeyPress
from pdviz.widgets.kit.view import PaintedView

TITLE = "Notice"
TITLE_SIZE, HEADLINE_SIZE, DETAIL_SIZE, LINK_SIZE = 15.5, 14.0, 13.0, 13.0
LINE = 1.4  # height of a line, in type sizes
PAD = 16.0
ARROW = "→ "

_SENTENCE = re.compile(r"(?<=\.) (?=[A-Z])")
_Lines = list[tuple[str, bool]]
"""Lines of text, each a headline or not."""


class NoticeLayout(msgspec.Struct, frozen=True):
    """Where the texts of the card stand; ``link`` is what can be pressed."""

    texts: tuple[Text, ...]
    links: tuple[Text, ...]
    link: Box | None


def lay_out_notice(
    box: Box, notices: Sequence[Notice], suggested: Suggestion | None, scale: float
) -> NoticeLayout:
    """The card in ``box``: as much as has room, whole sentences, the most telling first."""
    s = scale
    pad = PAD * s
    width = max(box.w - 2 * pad, 1.0)
    bottom = box.bottom - 12 * s
    texts: list[Text] = []
    y = box.y + 12 * s
    title_height = LINE * TITLE_SIZE * s
    if box.h >= title_height + 24 * s + LINE * HEADLINE_SIZE * s:
        texts.append(_text(Box(box.x + pad, y, width, title_height), TITLE, "text", TITLE_SIZE * s, True))
        y += title_height + 5 * s
    room = max(bottom - y, LINE * HEADLINE_SIZE * s)
    links: list[str] = _link_lines(suggested, width, s) if suggested is not None else []
    link_height = len(links) * LINE * LINK_SIZE * s
    least = len(_wrapped(notices[0].headline, HEADLINE_SIZE * s, True, width)) if notices else 0
    if least * LINE * HEADLINE_SIZE * s + link_height + 6 * s > room:
        links, link_height = [], 0.0
    gap = 6 * s if links else 0.0
    for line, is_headline, height in _placed(notices, width, room - link_height - gap, s):
        size = (HEADLINE_SIZE if is_headline else DETAIL_SIZE) * s
        row = Box(box.x + pad, y, width, height)
        if line:
            text = elided(line, size, is_headline, width)
            texts.append(_text(row, text, "text" if is_headline else "muted", size, is_headline))
        y += height
    if not links:
        return NoticeLayout(tuple(texts), (), None)
    top = bottom - link_height
    made = []
    for number, line in enumerate(links):
        row = Box(box.x + pad, top + number * LINE * LINK_SIZE * s, width, LINE * LINK_SIZE * s)
        made.append(_text(row, line, "text", LINK_SIZE * s, True))
    widest = max(text_width(line, LINK_SIZE * s, True) for line in links)
    link = Box(box.x + pad - 4 * s, top - 2 * s, min(widest, width) + 8 * s, link_height + 4 * s)
    return NoticeLayout(tuple(texts), tuple(made), link)


def _text(box: Box, text: str, role: str, size: float, bold: bool) -> Text:
    return Text(box, text, role, size, bold)


def _link_lines(suggested: Suggestion, width: float, s: float) -> list[str]:
    """The suggestion in a line, or in two where it is long."""
    lines = _wrapped(ARROW + suggested.text, LINK_SIZE * s, True, width)
    if len(lines) > 2:
        lines = [lines[0], " ".join(lines[1:])]
    return [elided(line, LINK_SIZE * s, True, width) for line in lines]


def _placed(
    notices: Sequence[Notice], width: float, room: float, s: float
) -> Iterator[tuple[str, bool, float]]:
    """(line, is headline, height) of the fullest form that has room; an empty line is a gap."""
    for form in _forms(notices):
        rows: list[tuple[str, bool, float]] = []
        for text, is_headline in form:
            if rows:
                rows.append(("", False, (7 if is_headline else 1.5) * s))
            size = (HEADLINE_SIZE if is_headline else DETAIL_SIZE) * s
            rows += [(line, is_headline, LINE * size) for line in _wrapped(text, size, is_headline, width)]
        if sum(height for _, _, height in rows) <= room + 1e-6:
            yield from rows
            return
    if notices:  # not even the headline has room: what there is of it
        size = HEADLINE_SIZE * s
        lines = _wrapped(notices[0].headline, size, True, width)
        fit = max(int(room / (LINE * size)), 1)
        kept = [*lines[: fit - 1], " ".join(lines[fit - 1 :])]
        yield from ((line, True, LINE * size) for line in kept)


def _forms(notices: Sequence[Notice]) -> Iterator[_Lines]:
    """What could be shown, the fullest first."""
    if not notices:
        return
    first = notices[0]
    whole: _Lines = [(first.headline, True), *((d, False) for d in first.details)]
    for second in notices[1:2]:
        yield [*whole, (second.headline, True), *((d, False) for d in second.details)]
        yield [*whole, (second.headline, True)]
    yield whole
    sentences = [part for detail in first.details for part in _SENTENCE.split(detail)]
    for some in range(len(sentences) - 1, 0, -1):
        yield [(first.headline, True), (" ".join(sentences[:some]), False)]
    yield [(first.headline, True)]


def _wrapped(text: str, size: float, bold: bool, width: float) -> list[str]:
    """``text`` in lines no wider than ``width``; a number stays with its unit."""
    lines: list[str] = []
    line = ""
    glued = re.sub(r"(?<=\d) (?=(?:%|[µm]?s|min|[kMGTP]?B|tok/s)(?:\W|$))", "\u00a0", text)
    for word in glued.split(" "):
        longer = f"{line} {word}" if line else word
        if line and text_width(longer, size, bold) > width:
            lines.append(line)
            line = word
        else:
            line = longer
    return [*lines, line]


def paint_notice_panel(
    p: QPainter,
    box: Box,
    notices: Sequence[Notice],
    theme: Theme,
    scale: float,
    suggested: Suggestion | None = None,
    *,
    is_hovered: bool = False,
    is_focused: bool = False,
) -> None:
    """The card; a suggestion is underlined while the pointer is on it."""
    draw_card(p, box, theme, scale)
    layout = lay_out_notice(box, notices, suggested, scale)
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
        return lay_out_notice(box, self._notices, self._suggestion, self.scale)

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        p.fillRect(self.rect(), colour(self.theme.window))
        paint_notice_panel(
            p,
            Box(0, 0, self.width(), self.height()),
            self._notices,
            self.theme,
            self.scale,
            self._suggestion,
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
