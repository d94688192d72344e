"""The list that a picker opens: searchable where it is long, made when it is first shown."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRectF,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.widgets.kit.paint import draw_text, elided, wrapped
from pdviz.widgets.kit.palette import colour, font, qt_palette, text_width
from pdviz.widgets.kit.scroll_bars import bar_width, dress

SEARCH_FROM = 10
SHOWN_ROWS = 9
WIDEST = 620.0  # design pixels; longer details are folded
MOST_LINES = 4
DETAIL_SIZE = 12.0
DETAIL = Qt.ItemDataRole.UserRole + 1
KEY = Qt.ItemDataRole.UserRole


class Choice(msgspec.Struct, frozen=True):
    """``key`` is what is chosen; ``words`` are further texts that a search finds it by.

    One that is not enabled is greyed, and chosen by nothing.
    """

    key: str
    title: str
    detail: str = ""
    words: str = ""
    is_enabled: bool = True


def matching(choices: tuple[Choice, ...], search: str) -> list[Choice]:
    """Choices in which every word of ``search`` occurs, titles first."""
    words = search.lower().replace("-", " ").split()

    def text(choice: Choice) -> str:
        return f"{choice.title} {choice.words} {choice.detail}".lower().replace("-", " ")

    found = [c for c in choices if all(word in text(c) for word in words)]
    return sorted(found, key=lambda c: not all(word in c.title.lower() for word in words))


def folded(text: str, pixels: float, room: float) -> tuple[str, ...]:
    """``text`` in lines no wider than ``room``, as few as it takes; what is too much ends in an ellipsis."""
    lines = wrapped(text, pixels, False, room, MOST_LINES)
    return tuple(elided(line, pixels, False, room) for line in lines)


class Row(QStyledItemDelegate):
    """Title and, below it, the detail in as many lines as it needs within ``room`` pixels."""

    def __init__(self, theme: Theme, scale: float, parent: QObject) -> None:
        super().__init__(parent)
        self._theme, self._scale = theme, scale
        self.room = 0.0

    def lines(self, detail: str) -> tuple[str, ...]:
        return folded(detail, DETAIL_SIZE * self._scale, self.room) if detail else ()

    def height(self, detail: str) -> int:
        """Pixels that a row with that detail takes."""
        return round((29 + 17 * len(self.lines(detail)) if detail else 32) * self._scale)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(100, self.height(index.data(DETAIL) or ""))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        theme, s = self._theme, self._scale
        area: QRectF = QRectF(option.rect)
        state = option.state
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(area, colour(theme.line))
        box = Box(area.x() + 12 * s, area.y(), area.width() - 24 * s, area.height())
        detail = index.data(DETAIL)
        title = Box(box.x, box.y + (5 * s if detail else 0), box.w, 20 * s if detail else box.h)
        code = theme.text if state & QStyle.StateFlag.State_Enabled else theme.faint
        draw_text(painter, title, elided(index.data(), 14 * s, True, box.w), code, 14 * s, True)
        for number, text in enumerate(self.lines(detail)):
            line = Box(box.x, title.bottom + 17 * s * number, box.w, 17 * s)
            draw_text(painter, line, text, theme.muted, DETAIL_SIZE * s)


class ChoicePopup(QFrame):
    """A popup list. ``chosen(key)`` once, then it closes; Escape closes it without a choice."""

    chosen = Signal(str)

    def __init__(
        self,
        choices: tuple[Choice, ...],
        current: str,
        theme: Theme,
        scale: float,
        parent: QWidget,
        nearest: Callable[[str], list[str]] | None = None,
    ) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setPalette(qt_palette(theme))
        self._choices, self._scale, self._nearest = choices, scale, nearest
        self._rises, self._room = False, 0  # opens upwards; pixels that there are for it
        self.list = QListWidget(self)
        self.list.setAccessibleName("Choices")
        self._row = Row(theme, scale, self.list)
        self.list.setItemDelegate(self._row)
        self.list.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        dress(self.list, theme, scale)
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setMouseTracking(True)
        self.list.itemClicked.connect(self._choose)
        self.search = QLineEdit(self)
        self.search.setPlaceholderText("Search")
        self.search.setAccessibleName("Search")
        self.search.setFont(font(14 * scale))
        self.search.setFrame(False)
        self.search.setTextMargins(round(9 * scale), round(7 * scale), round(9 * scale), round(7 * scale))
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._filter)
        self.search.installEventFilter(self)
        self.list.installEventFilter(self)
        self.search.setVisible(len(choices) >= SEARCH_FROM)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.setSpacing(0)
        layout.setSizeConstraint(QVBoxLayout.SizeConstraint.SetNoConstraint)
        self.list.setMinimumHeight(1)
        layout.addWidget(self.search)
        layout.addWidget(self.list)
        self._fill(list(choices), current)

    def open_below(self, button: QWidget, width: int | None = None) -> None:
        """Shows the list under ``button``, at least as wide, or above it where there is more room."""
        area = button.screen().availableGeometry()
        wide = min(width or max(button.width(), self._needed_width()), area.width() - 4)
        self._row.room = wide - 2 - 2 * self.frameWidth() - 24 * self._scale - bar_width(self._scale)
        corner, top = (
            button.mapToGlobal(QPoint(0, button.height() + 3)),
            button.mapToGlobal(QPoint(0, -3)).y(),
        )
        below, above = area.bottom() + 1 - corner.y(), top - area.top()
        self._rises = self._height() > below and above > below
        self._room = max(above if self._rises else below, min(area.height(), self._height(1)))
        x = max(min(corner.x(), area.right() + 1 - wide), area.left())
        y = top if self._rises else min(corner.y(), area.bottom() + 1 - min(self._room, self._height()))
        self.setGeometry(x, y, wide, 1)
        self._fit()
        self.show()
        self.list.doItemsLayout()
        self.list.scrollToItem(self.list.currentItem(), QAbstractItemView.ScrollHint.PositionAtCenter)
        (self.search if self.search.isVisibleTo(self) else self.list).setFocus()

    def _needed_width(self) -> int:
        """Pixels in which most details are one line."""
        s = self._scale
        details = [text_width(c.detail, DETAIL_SIZE * s) for c in self._choices if c.detail]
        room = 28 * s + 4 + bar_width(s)
        titles = max((text_width(c.title, 14 * s, True) for c in self._choices), default=0.0)
        return round(min(max([*details, titles, 110 * s]) + room, WIDEST * s))

    def _height(self, most: int = SHOWN_ROWS) -> int:
        """Pixels for the rows that are listed, up to ``most`` of them, and the search."""
        shown = range(min(self.list.count(), most))
        rows = sum(self._row.height(self.list.item(n).data(DETAIL) or "") for n in shown)
        search = self.search.sizeHint().height() if self.search.isVisibleTo(self) else 0
        return rows + search + 2 + 2 * self.frameWidth()

    def _fit(self) -> None:
        """As high as what is listed, within the room; the edge at the button stays where it is."""
        height, frame = min(self._height(), self._room), self.geometry()
        bottom = frame.y() + frame.height() if self.isVisible() else frame.y()
        y = bottom - height if self._rises else frame.y()
        self.setGeometry(frame.x(), y, frame.width(), height)

    def _fill(self, choices: list[Choice], current: str = "") -> None:
        self.list.clear()
        for choice in choices:
            item = QListWidgetItem(choice.title)
            item.setData(KEY, choice.key)
            item.setData(DETAIL, choice.detail)
            item.setToolTip(choice.detail)
            if not choice.is_enabled:
                item.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addItem(item)
            if choice.key == current:
                self.list.setCurrentItem(item)
        if not choices:
            nothing = QListWidgetItem("Nothing matches")
            nothing.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addItem(nothing)
        if self.list.currentRow() < 0 and choices:
            self.list.setCurrentRow(0)
        if self.isVisible():
            self._fit()

    @Slot(str)
    def _filter(self, text: str) -> None:
        found = matching(self._choices, text)
        if not found and self._nearest is not None:
            near = self._nearest(text)
            found = [
                Choice(c.key, c.title, f'nothing is called "{text.strip()}"; this is near')
                for name in near
                for c in self._choices
                if c.key == name
            ]
            self._fill(found)
            self.list.setCurrentRow(-1)
            return
        self._fill(found)

    @Slot(QListWidgetItem)
    def _choose(self, item: QListWidgetItem | None) -> None:
        if item is not None and item.data(KEY) is not None and item.flags() & Qt.ItemFlag.ItemIsEnabled:
            key = str(item.data(KEY))
            self.close()
            self.chosen.emit(key)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            key = event.key()
            if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._choose(self.list.currentItem())
                return True
            if key == Qt.Key.Key_Escape:
                self.close()
                return True
            if watched is self.search and key in (
                Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown,
            ):  # fmt: skip
                step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -8, Qt.Key.Key_PageDown: 8}
                row = self.list.currentRow() + step[Qt.Key(key)]
                self.list.setCurrentRow(min(max(row, 0), self.list.count() - 1))
                return True
        return super().eventFilter(watched, event)
