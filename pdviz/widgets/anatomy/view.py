"""The anatomy view: what a model is made of, layer by layer, and what it leaves of the memory."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRect, Qt, Signal, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.scene.anatomy.page import (
    FIGURE_KEYS,
    AnatomyPage,
    build_anatomy,
    item_hover,
    layer_hover,
    outside_hover,
    page_scale,
)
from pdviz.scene.anatomy.side import Row
from pdviz.scene.marks.geometry import Box
from pdviz.widgets.anatomy.paint import paint_anatomy
from pdviz.widgets.kit.buttons import Chip
from pdviz.widgets.kit.fields import by_keyboard
from pdviz.widgets.kit.figures_view import FigureView
from pdviz.widgets.kit.hover_card import HoverCard
from pdviz.widgets.kit.page_view import PageView
from pdviz.widgets.kit.paint import draw_round_box, rect
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.pointed import Explained, Pointed, always
from pdviz.widgets.kit.view import PaintedView

Key = Qt.Key
LIGHT = 0.16
"""Opacity of what lights up a layer or a line."""
LAYER_KEYS = {Key.Key_Left: -1, Key.Key_Right: 1, Key.Key_Home: -(10**9), Key.Key_End: 10**9}
ROW_KEYS = {Key.Key_Up: -1, Key.Key_Down: 1}


class AnatomyCanvas(PaintedView):
    """The page but for the tiles. ``layer_chosen(run)``: the user took another kind of layer.

    Left and Right go through the layers, Up and Down through the lines at the right, which F2 explains.
    """

    layer_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Anatomy of the model, to scale")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.page: AnatomyPage | None = None
        self.result: Result | None = None
        self._row = -1
        self._pointed_layer: int | None = None
        self._shows_focus = False
        self.card = HoverCard(parent or self)  # over the tiles too

    def show_page(self, page: AnatomyPage, result: Result) -> None:
        """Another page."""
        self._row = min(self._row, len(page.rows) - 1)
        self.page, self.result = page, result
        self.card.show_hover(None, 0, 0)
        self.say(page.spoken)
        self.update()

    def look_changed(self) -> None:
        self.card.set_look(self.theme, self.scale)

    def explain_at(self, at: QPoint) -> Pointed | None:
        """The explained figure at a point; for keys, which ask for the middle, the chosen line."""
        if self.page is None:
            return None
        if self._shows_focus and self._row >= 0 and at == self.rect().center():
            return self._pointed_row(self.page.rows[self._row])
        row = self.page.row_at(at.x(), at.y())
        return self._pointed_row(row) if row is not None else None

    @staticmethod
    def _pointed_row(row: Row) -> Pointed:
        area: QRect = rect(row.box).toAlignedRect()
        return Pointed(row.key, None, area)

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        p.fillRect(self.rect(), colour(self.theme.window))
        if self.page is None:
            return
        paint_anatomy(p, self.page, self.theme, self.scale)
        boxes = self.page.strip.layer_boxes(self._pointed_layer) if self._pointed_layer is not None else None
        for box in boxes or ():
            draw_round_box(p, box, self.theme.text, 0.0, LIGHT)
        if self._shows_focus and 0 <= self._row < len(self.page.rows):
            box = self.page.rows[self._row].box.inset(8 * self.scale, self.scale)
            draw_round_box(p, box, self.theme.text, 4 * self.scale, LIGHT)

    # --- the mouse -----------------------------------------------------------------------------

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        x, y = event.position().x(), event.position().y()
        found = None
        if self.page is not None and self.result is not None:
            layer = self.page.strip.layer_at(x, y)
            if layer is not None:
                found = layer_hover(self.page, self.result, *layer)
            elif (is_before := self.page.strip.outside_at(x, y)) is not None:
                found = outside_hover(self.page, self.result, is_before)
            else:
                found = item_hover(self.page, self.result, x, y)
            self._light(layer[1] if layer is not None else None)
            over = Qt.CursorShape.PointingHandCursor if layer else Qt.CursorShape.ArrowCursor
            self.setCursor(over)
        self.card.show_hover(found, x, y)
        super().mouseMoveEvent(event)

    def _light(self, layer: int | None) -> None:
        """Lights up the layer that is pointed at."""
        if layer != self._pointed_layer:
            self._pointed_layer = layer
            self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self._light(None)
        self.card.show_hover(None, 0, 0)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self.page is None or event.button() != Qt.MouseButton.LeftButton:
            return
        layer = self.page.strip.layer_at(event.position().x(), event.position().y())
        if layer is not None:
            self.layer_chosen.emit(layer[0])

    # --- keys ----------------------------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        # These keys belong to the page that has the focus, before any shortcut of the window.
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
            if plain and (event.key() in LAYER_KEYS or event.key() in ROW_KEYS):
                event.accept()
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self.card.show_hover(None, 0, 0)  # what the mouse rests on is not what the keys are about
        if self.page is None:
            event.ignore()
        elif event.key() in LAYER_KEYS:
            last = len(self.page.parts.runs) - 1
            self.layer_chosen.emit(min(max(self.page.index + LAYER_KEYS[Key(event.key())], 0), last))
        elif event.key() in ROW_KEYS:
            rows = self.page.rows
            self._shows_focus = True
            self._row = min(max(self._row + ROW_KEYS[Key(event.key())], 0), len(rows) - 1)
            self.say(", ".join(rows[self._row].words))
            self.update()
        else:
            event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._shows_focus = by_keyboard(event)
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._shows_focus = False
        super().focusOutEvent(event)
        self.update()


class AnatomyView(PageView):
    """What the memory card offers is suggested."""

    def __init__(self, result: Result, parent: QWidget | None = None) -> None:
        super().__init__("Anatomy", result, parent)
        self._index: int | None = None
        self.figures = [FigureView(self) for _ in FIGURE_KEYS]
        self.canvas = AnatomyCanvas(self)
        self.canvas.layer_chosen.connect(self.choose)
        self.button = Chip("", self)
        self.button.clicked.connect(self._act)
        self.setFocusProxy(self.canvas)

    def explained(self) -> tuple[Explained, ...]:
        figures = zip(self.figures, FIGURE_KEYS, strict=True)
        return (
            *(Explained(view, always(key)) for view, key in figures),
            Explained(self.canvas, self.canvas.explain_at),
        )

    def show_result(self, result: Result, changed: frozenset[str], fresh: bool = False) -> None:
        """Another result; another model starts with its largest run of layers."""
        if result.architecture is not self._result.architecture or fresh:
            self._index = None
        self._result = result
        self.rebuild()

    @Slot(int)
    def choose(self, index: int) -> None:
        """Draws another run of layers."""
        if index != self._index:
            self._index = index
            self.rebuild()

    @Slot()
    def _act(self) -> None:
        page = self.canvas.page
        if page is not None and page.memory.action is not None:
            self.suggested.emit(page.memory.action)

    def build(self) -> None:
        """The page for what there is now."""
        width, height = self.width(), self.height()
        scale = page_scale(width, height, self.scale)
        page = build_anatomy(self._result, self._index, width, height, scale, text_width)
        for view, figure, tile in zip(self.figures, page.figures, page.tiles, strict=True):
            view.set_look(self.theme, scale)
            view.place(tile)
            view.show_figure(figure)
        self.canvas.set_look(self.theme, scale)
        self.canvas.setGeometry(self.rect())
        self.canvas.lower()
        self.canvas.show_page(page, self._result)
        action = page.memory.action
        self.button.setVisible(action is not None)
        if action is not None:
            self.button.set_look(self.theme, scale)
            self.button.setText(action.text)
            self.button.setAccessibleName(action.text)
            box = page.memory.button
            self.button.place(Box(box.x, box.y, min(self.button.needed_width(), box.w), box.h))
