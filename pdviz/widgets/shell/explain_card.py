"""Where a figure comes from, on a card beside it: text that can be selected, copied and followed."""

from __future__ import annotations

import math
import re

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, QUrl, Signal, Slot
from PySide6.QtGui import (
    QEnterEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextOption,
)
from PySide6.QtWidgets import QFrame, QHBoxLayout, QTextBrowser, QVBoxLayout, QWidget

from pdviz.explain import KEYS, Explanation, explanation_text
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import DARK, Theme
from pdviz.widgets.kit.buttons import Chip
from pdviz.widgets.kit.paint import draw_card
from pdviz.widgets.kit.palette import colour, font, qt_palette
from pdviz.widgets.kit.scroll_bars import dress

WIDTH, MARGIN = 470.0, 16.0
APART = 8  # between card and figure
NEAR = 160.0  # no further from its figure, in design pixels, where there is room nearer
SCHEME = "figure:"
COPIED = "Copied"
FLAGS = (
    Qt.TextInteractionFlag.TextSelectableByMouse
    | Qt.TextInteractionFlag.TextSelectableByKeyboard
    | Qt.TextInteractionFlag.LinksAccessibleByMouse
    | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
)


def placed(size: QSize, box: QRect, area: QRect) -> QPoint:
    """Where a card of that size stands inside ``area``: beside ``box``, and off it if that can be had."""
    w, h = size.width(), size.height()
    left, right = box.left() - APART - w, box.right() + 1 + APART
    above, below = box.top() - APART - h, box.bottom() + 1 + APART
    best, least = QPoint(area.left(), area.top()), None
    for rank, (x, y) in enumerate(
        ((right, box.top()), (left, box.top()), (box.left(), below), (box.left(), above))
    ):
        x = max(min(x, area.right() + 1 - w), area.left())
        y = max(min(y, area.bottom() + 1 - h), area.top())
        covered = QRect(x, y, w, h).intersected(box)
        cost = (covered.width() * covered.height() if covered.isValid() else 0, rank)
        if least is None or cost < least:
            best, least = QPoint(x, y), cost
    return best


def distance(one: QRect, other: QRect) -> int:
    """The gap between two rectangles, across or down, whichever is wider; 0 where they touch."""
    across = max(one.left() - other.right(), other.left() - one.right()) - 1
    down = max(one.top() - other.bottom(), other.top() - one.bottom()) - 1
    return max(across, down, 0)


class _Writer:
    """Writes paragraphs into a document; sizes are design pixels, roles those of the theme."""

    def __init__(self, document: QTextDocument, theme: Theme, scale: float) -> None:
        self._cursor = QTextCursor(document)
        self._theme, self._scale = theme, scale
        self._is_empty = True

    def _format(self, role: str, size: float, bold: bool, key: str = "") -> QTextCharFormat:
        made = QTextCharFormat()
        made.setFont(font(size * self._scale, bold))
        made.setForeground(colour(getattr(self._theme, role)))
        if key:
            made.setAnchor(True)
            made.setAnchorHref(SCHEME + key)
            made.setFontUnderline(True)
        return made

    def paragraph(
        self,
        text: str,
        role: str,
        size: float,
        above: float = 0.0,
        *,
        bold: bool = False,
        hangs: bool = False,
    ) -> None:
        """A paragraph ``above`` pixels below the one before; later lines of one that hangs are set in."""
        block = QTextBlockFormat()
        block.setTopMargin(round(above * self._scale))
        block.setLineHeight(118, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        if hangs:
            block.setLeftMargin(round(12 * self._scale))
            block.setTextIndent(-round(12 * self._scale))
        if self._is_empty:
            self._cursor.setBlockFormat(block)
        else:
            self._cursor.insertBlock(block)
        self._is_empty = False
        self._cursor.insertText(text, self._format(role, size, bold))

    def add(self, text: str, role: str, size: float, key: str = "") -> None:
        """More of the same paragraph; with a ``key`` it is a link to that figure."""
        self._cursor.insertText(text, self._format(role, size, False, key))


def write_explanation(
    document: QTextDocument, one: Explanation, theme: Theme, scale: float, back: Explanation | None = None
) -> None:
    """The card's text. Figures that go into this one are links, as is the way ``back``."""
    document.clear()
    frame = document.rootFrame().frameFormat()
    frame.setRightMargin(round(8 * scale))  # text and scroll bar keep apart
    document.rootFrame().setFrameFormat(frame)
    to = _Writer(document, theme, scale)
    if back is not None:
        to.paragraph("← ", "muted", 12)
        to.add(back.title, "text", 12, back.key)
    to.paragraph(one.title, "muted", 13, 6 if back is not None else 0)
    to.paragraph(one.value, "text", 24, bold=True)
    to.paragraph(one.summary, "muted", 13, 2)
    to.paragraph(_glued(one.formula), "text", 13, 10, hangs=True)
    to.paragraph(_glued(f"= {one.worked}"), "text", 13, 3, bold=True, hangs=True)
    for number, step in enumerate(one.steps):
        to.paragraph(_glued(step), "muted", 12.5, 3 if number else 9, hangs=True)
    for number, symbol in enumerate(one.symbols):
        to.paragraph(_glued(symbol), "faint", 12, 0 if number else 8, hangs=True)
    to.paragraph(_glued(one.fidelity), "muted", 12, 9)
    for source in one.sources:
        to.paragraph(_breakable(source), "faint", 11.5, 2, hangs=True)
    for number, key in enumerate(one.inputs):
        if number == 0:
            to.paragraph("See also ", "muted", 12, 9)
        else:
            to.add(" · ", "muted", 12)
        to.add(KEYS[key], "text", 12, key)


_UNIT = re.compile(r"(?<=\d) (?=(?:[PTGMkmµ]?(?:FLOP|B|s)|%|tok)\b)|(?<=\d) (?=%)")


def _glued(text: str) -> str:
    """A number stays with its unit, and a unit in one piece."""
    return _UNIT.sub("\u00a0", text).replace("/s", "/\u2060s").replace("FLOP/B", "FLOP/\u2060B")


def _breakable(text: str) -> str:
    """Places in paths at which a line may end."""
    return text.replace("/", "/\u200b").replace("@", "\u200b@").replace("_", "_\u200b")


def _clean(text: str) -> str:
    """Text from the card as it was before it was made to wrap well."""
    return text.replace("\u00a0", " ").replace("\u200b", "").replace("\u2060", "").replace("\u2029", "\n")


class _Text(QTextBrowser):
    """What is copied from it holds no invisible signs."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        # The clipboard gets a text of its own: data made in createMimeDataFromSelection outlives Python.
        selected = self.textCursor().selectedText()
        if event.matches(QKeySequence.StandardKey.Copy) and selected:
            QGuiApplication.clipboard().setText(_clean(selected))
        else:
            super().keyPressEvent(event)


class ExplainCard(QFrame):
    """Shows an Explanation over its window. ``followed(key)``: a link to another figure was chosen.

    ``entered`` and ``left`` follow the mouse; ``closing`` tells that it is about to go.
    """

    followed = Signal(str)
    entered = Signal()
    left = Signal()
    closing = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme: Theme = DARK
        self.scale = 1.0
        self._shown: Explanation | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName("Explanation")
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.text = _Text(self)
        self.text.setFrameShape(QFrame.Shape.NoFrame)
        self.text.setOpenLinks(False)
        self.text.setAcceptDrops(False)  # a drop is for the window, wherever it falls
        self.text.setTextInteractionFlags(FLAGS)
        self.text.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.text.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.text.document().setDocumentMargin(0)
        self.text.anchorClicked.connect(self._follow)
        self.copy = Chip("Copy", self)
        self.copy.clicked.connect(self.copy_text)
        self.dismiss = Chip("Close", self)
        self.dismiss.clicked.connect(self.close_card)
        self._rows = QVBoxLayout(self)
        self._rows.setSpacing(0)
        self._rows.addWidget(self.text)
        self._foot = QHBoxLayout()
        self._foot.addStretch(1)
        self._foot.addWidget(self.copy)
        self._foot.addWidget(self.dismiss)
        self._rows.addLayout(self._foot)
        self.hide()

    @property
    def shown(self) -> Explanation | None:
        """What is on the card, None while it is hidden."""
        return self._shown if self.isVisible() else None

    @property
    def has_selection(self) -> bool:
        return self.text.textCursor().hasSelection()

    def open_for(
        self,
        explanation: Explanation,
        anchor: QWidget,
        box: QRect,
        theme: Theme,
        scale: float,
        back: Explanation | None = None,
    ) -> None:
        """Shows ``explanation`` beside ``box`` of ``anchor``, inside the window and the screen."""
        window = anchor.window()
        if self.parentWidget() is not window:
            self.setParent(window)
        if theme is not self.theme or scale != self.scale or self._shown is None:
            self._set_look(theme, scale)
        self._shown = explanation
        self.copy.setText("Copy")
        write_explanation(self.text.document(), explanation, theme, scale, back)
        self.text.moveCursor(QTextCursor.MoveOperation.Start)
        self.text.setAccessibleName(explanation.title)
        self.text.setAccessibleDescription(explanation.spoken)
        self.setAccessibleDescription(explanation.spoken)
        area = self._area(window)
        self._fit(area)
        where = QRect(anchor.mapTo(window, box.topLeft()), box.size())
        row = QRect(anchor.mapTo(window, QPoint(0, box.top())), QSize(anchor.width(), box.height()))
        at = placed(self.size(), row, area)  # beside the widget, so that its other figures stay in reach
        there = QRect(at, self.size())
        if there.intersects(row) or distance(there, where) > NEAR * self.scale:
            at = placed(self.size(), where, area)
        self.move(at)
        self.show()
        self.raise_()
        self.update()

    def _area(self, window: QWidget) -> QRect:
        """What of the window is on the screen, with a margin."""
        screen = window.screen().availableGeometry()
        seen = QRect(window.mapFromGlobal(screen.topLeft()), screen.size()).intersected(window.rect())
        gap = round(8 * self.scale)
        return (seen if seen.isValid() else window.rect()).adjusted(gap, gap, -gap, -gap)

    def _fit(self, area: QRect) -> None:
        """As high as its text needs, as far as there is room; else it scrolls."""
        width = min(round(WIDTH * self.scale), area.width())
        margins = self._rows.contentsMargins()
        document = self.text.document().clone()  # the widget's own follows its bars, shown or not
        document.setTextWidth(width - margins.left() - margins.right())
        foot = self._foot.sizeHint().height() + margins.top() + margins.bottom()
        needed = math.ceil(document.size().height()) + 2 + foot
        scrolls = needed > area.height()
        policy = Qt.ScrollBarPolicy
        # said outright: a bar that the last text left behind narrows the next one, which then needs it
        self.text.setVerticalScrollBarPolicy(
            policy.ScrollBarAlwaysOn if scrolls else policy.ScrollBarAlwaysOff
        )
        self.resize(width, min(needed, area.height()))
        self._rows.setGeometry(self.rect())  # a layout that is hidden does not follow by itself

    def _set_look(self, theme: Theme, scale: float) -> None:
        self.theme, self.scale = theme, scale
        palette = qt_palette(theme)
        palette.setColor(palette.ColorRole.Base, colour(theme.raised))
        self.setPalette(palette)
        self.text.setPalette(palette)
        dress(self.text, theme, scale)
        self.text.setFont(font(13 * scale))
        self.text.document().setDefaultFont(font(13 * scale))
        margin = round(MARGIN * scale)
        self._rows.setContentsMargins(margin, round(12 * scale), margin, round(10 * scale))
        self._foot.setContentsMargins(0, round(10 * scale), 0, 0)
        self._foot.setSpacing(round(8 * scale))
        for chip in (self.copy, self.dismiss):
            chip.set_look(theme, scale)
            chip.setFixedSize(round(74 * scale), round(28 * scale))

    # --- what the user does --------------------------------------------------------------------

    @Slot()
    def copy_text(self) -> None:
        """Puts the explanation on the clipboard, or what of it is selected."""
        if self._shown is None:
            return
        text = _clean(self.text.textCursor().selectedText())
        QGuiApplication.clipboard().setText(text or explanation_text(self._shown))
        self.copy.setText(COPIED)
        self.copy.update()

    @Slot(QUrl)
    def _follow(self, url: QUrl) -> None:
        key = url.toString().removeprefix(SCHEME)
        if key in KEYS:
            self.followed.emit(key)

    @Slot()
    def close_card(self) -> None:
        """Takes the card away."""
        if self.isVisible():
            self.closing.emit()
            self.hide()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_card()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        # Keys that select, scroll and copy belong to the card that has the focus, before any shortcut.
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if self._is_own(event):
                event.accept()
            return True
        return super().event(event)

    @staticmethod
    def _is_own(event: QKeyEvent) -> bool:
        if event.matches(QKeySequence.StandardKey.Copy) or event.matches(QKeySequence.StandardKey.SelectAll):
            return True
        others = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
        is_function = Qt.Key.Key_F1 <= event.key() <= Qt.Key.Key_F35
        return not event.modifiers() & (others | Qt.KeyboardModifier.MetaModifier) and not is_function

    def enterEvent(self, event: QEnterEvent) -> None:
        self.entered.emit()

    def leaveEvent(self, event: QEvent) -> None:
        self.left.emit()

    def mousePressEvent(self, event: QEvent) -> None:
        event.accept()  # not for the window behind it

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as p:
            p.fillRect(self.rect(), colour(self.theme.window))
            draw_card(p, Box(0, 0, self.width(), self.height()), self.theme, self.scale, self.theme.raised)
