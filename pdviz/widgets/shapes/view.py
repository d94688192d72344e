"""The shapes view: pick a weight matrix, see what a prompt, a token and a batch make of it."""

from __future__ import annotations

from PySide6.QtCore import (
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QRectF,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPen, QRegion
from PySide6.QtWidgets import (
    QFrame,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import DARK, Theme
from pdviz.scene.shapes.column import Entry
from pdviz.scene.shapes.page import (
    Shapes,
    build_shapes,
    default_matrix,
    page_scale,
    sweep_share,
    weight_matrices,
)
from pdviz.scene.shapes.words import sweep_words
from pdviz.units import percent
from pdviz.widgets.kit.canvas import CachedCanvas
from pdviz.widgets.kit.fields import by_keyboard
from pdviz.widgets.kit.page_view import PageView
from pdviz.widgets.kit.paint import ANTIALIASING, NO_BRUSH, rect
from pdviz.widgets.kit.palette import colour, qt_palette, text_width
from pdviz.widgets.kit.scroll_bars import dress
from pdviz.widgets.shapes.paint import paint_entry, paint_shapes, paint_sweep, sweep_front

LIST_KEYS = (
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
    Qt.Key.Key_Home,
    Qt.Key.Key_End,
    Qt.Key.Key_PageUp,
    Qt.Key.Key_PageDown,
)


class ShapesCanvas(CachedCanvas):
    """The page but for the list: a cached picture, and over it what the sweep moves."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Shapes of one weight matrix, to scale")
        self.shapes: Shapes | None = None
        self.time_s = 0.0

    def show_shapes(self, shapes: Shapes) -> None:
        """Another page."""
        self.shapes = shapes
        self.say(shapes.spoken)
        self.forget()

    def show_time(self, time_s: float) -> None:
        """Moves the sweeps; only what they cover and uncover is painted."""
        if time_s == self.time_s:
            return
        old, self.time_s = self.time_s, time_s
        if self.shapes is None or not self.is_painted:
            return
        for row in self.shapes.rows:
            before, after = sweep_share(row, old), sweep_share(row, time_s)
            if before != after:
                self.update(rect(sweep_front(row, before, after, self.scale)).toAlignedRect())

    def paint_still(self, p: QPainter) -> None:
        if self.shapes is not None:
            paint_shapes(p, self.shapes, self.theme, self.scale)

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        super().paint(p, dirty)
        for row in self.shapes.rows if self.shapes is not None else ():
            if dirty.intersects(rect(row.weights.box).toAlignedRect()):
                paint_sweep(p, row, self.time_s, self.theme, self.scale)


class _EntryRow(QStyledItemDelegate):
    """Paints the entries of the list as an export does."""

    def __init__(self, parent: MatrixList) -> None:
        super().__init__(parent)
        self._list = parent

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(100, self._list.pitch)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        area: QRectF = QRectF(option.rect)
        state = option.state
        chosen = bool(state & QStyle.StateFlag.State_Selected)
        hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        theme, s = self._list.theme, self._list.scale
        box = Box(area.x(), area.y(), area.width(), area.height())
        paint_entry(painter, self._list.entries[index.row()], box, chosen, hovered, theme, s)
        if chosen and self._list.hasFocus() and self._list.shows_focus:
            painter.setRenderHint(ANTIALIASING, True)
            painter.setPen(QPen(colour(theme.text), 1.4 * s, Qt.PenStyle.DotLine))
            painter.setBrush(NO_BRUSH)
            painter.drawRoundedRect(area.adjusted(2, 3, -2, -3), 5 * s, 5 * s)
            painter.setRenderHint(ANTIALIASING, False)


class MatrixList(QListWidget):
    """The weight matrices of the model. ``chosen(index)``: the user took another."""

    chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme: Theme = DARK
        self.scale = 1.0
        self.pitch = 42
        self.entries: tuple[Entry, ...] = ()
        self.shows_focus = False
        self.setAccessibleName("Weight matrix")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.setMouseTracking(True)
        self.setItemDelegate(_EntryRow(self))
        self.currentRowChanged.connect(self._chose)

    def show_entries(self, entries: tuple[Entry, ...], index: int, theme: Theme, scale: float) -> None:
        """What is to choose from and what is chosen; emits nothing."""
        pitch = int(entries[0].box.h)  # whole pixels, and never more than the list has
        if theme is not self.theme or not self.testAttribute(Qt.WidgetAttribute.WA_SetPalette):
            palette = qt_palette(theme)
            palette.setColor(palette.ColorRole.Base, colour(theme.surface))
            self.setPalette(palette)
        look, self.theme, self.scale = (self.theme, self.scale, self.pitch), theme, scale
        blocked = self.blockSignals(True)
        if entries != self.entries:
            self.entries = entries
            while self.count() > len(entries):
                self.takeItem(self.count() - 1)
            for number, entry in enumerate(entries):
                item = self.item(number) or QListWidgetItem("", self)
                words = f"{entry.title}, {entry.detail}, {percent(entry.share)} of the model"
                if item.text() != words:
                    item.setText(words)
        dress(self, theme, scale)
        if (theme, scale, pitch) != look:
            self.pitch = pitch
            self.scheduleDelayedItemsLayout()
        self.setCurrentRow(index, QItemSelectionModel.SelectionFlag.ClearAndSelect)
        self.blockSignals(blocked)
        self.viewport().update()

    @Slot(int)
    def _chose(self, row: int) -> None:
        if row >= 0:
            self.chosen.emit(row)

    def event(self, event: QEvent) -> bool:
        # These keys belong to the list that has the focus, before any shortcut of the window.
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
            if plain and event.key() in LIST_KEYS:
                event.accept()
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in LIST_KEYS:
            self.shows_focus = True
            super().keyPressEvent(event)
        else:  # letters are commands of the window, not a search
            event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.shows_focus = by_keyboard(event)
        super().focusInEvent(event)


class ShapesView(PageView):
    """``matrix_chosen(index)``: the user took another matrix."""

    matrix_chosen = Signal(int)

    def __init__(self, result: Result, parent: QWidget | None = None) -> None:
        super().__init__("Shapes", result, parent)
        self._index = default_matrix(weight_matrices(result.architecture))
        self.canvas = ShapesCanvas(self)
        self.list = MatrixList(self)
        self.list.chosen.connect(self.choose)

    @property
    def index(self) -> int:
        """Which of the model's matrices is shown."""
        return self._index

    def show_result(self, result: Result, changed: frozenset[str], fresh: bool = False) -> None:
        """Another result. The matrix stays while the model has one of that name; ``fresh`` forgets it."""
        if result.architecture is not self._result.architecture or fresh:
            matrices = weight_matrices(result.architecture)
            before = weight_matrices(self._result.architecture)[self._index].name
            same = [i for i, matrix in enumerate(matrices) if matrix.name == before and not fresh]
            self._index = same[0] if same else default_matrix(matrices)
        self._result = result
        self.rebuild()

    def show_time(self, time_s: float) -> None:
        """Moves the playhead."""
        self.canvas.show_time(time_s)

    @Slot(int)
    def choose(self, index: int) -> None:
        """Shows another matrix of the model."""
        count = len(weight_matrices(self._result.architecture))
        index = min(max(index, 0), count - 1)
        if index != self._index:
            self._index = index
            self.rebuild()
            self.matrix_chosen.emit(index)

    def moment_in_words(self) -> str:
        shapes = self.canvas.shapes
        return sweep_words(shapes.rows, self.canvas.time_s) if shapes is not None else ""

    def build(self) -> None:
        """The page for what there is now."""
        width, height = self.width(), self.height()
        scale = page_scale(width, height, self.scale)
        shapes = build_shapes(self._result, self._index, width, height, scale, text_width)
        self.canvas.setGeometry(self.rect())
        self.canvas.set_look(self.theme, scale)
        self.list.setGeometry(rect(shapes.column.list_box).toAlignedRect())
        self.list.show_entries(shapes.column.entries, self._index, self.theme, scale)
        self.canvas.show_shapes(shapes)
