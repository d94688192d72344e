"""The head of the window: name, views, scenario in words, assumptions, undo, theme, menu."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.scene.marks.figures import machine_words, scenario_words, workload_words
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import DARK, Theme
from pdviz.widgets.kit.buttons import Chip, IconButton, PaintedButton
from pdviz.widgets.kit.paint import draw_round_box, draw_text, elided
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.pointed import Explained, always
from pdviz.widgets.views import VIEW_BY_NAME, VIEWS

TOP_HEIGHT = 52.0
NAME = "Prefill and decode"


class Tab(PaintedButton):
    """A view, with the key that opens it."""

    def __init__(self, name: str, key: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._key = key
        self.is_on = False
        self.setToolTip(f"{name} ({key})")

    def show_on(self, is_on: bool) -> None:
        if is_on != self.is_on:
            self.is_on = is_on
            self.setAccessibleDescription("shown" if is_on else "")
            self.update()

    def needed_width(self) -> float:
        return text_width(self.text(), 14 * self.scale, True) + 38 * self.scale

    def paint(self, p: QPainter) -> None:
        theme, s = self.theme, self.scale
        box = Box(0, 0, self.width(), self.height())
        if self.is_on or self.underMouse():
            draw_round_box(p, box, theme.raised, 6 * s)
        code = theme.text if self.is_on else theme.muted
        width = text_width(self.text(), 14 * s, True)
        name = Box(14 * s, 0, width, box.h)
        draw_text(p, name, self.text(), code, 14 * s, True)
        draw_text(p, Box(name.right + 4 * s, -5 * s, 12 * s, box.h), self._key, theme.faint, 10.5 * s)


class AssumptionsButton(PaintedButton):
    """Says what the cost model assumes; a click opens it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Assumptions", parent)
        self._long, self._short = "", ""
        self.setToolTip("What the cost model assumes, to be changed")

    def show_words(self, long: str, short: str) -> None:
        if (long, short) != (self._long, self._short):
            self._long, self._short = long, short
            self.setAccessibleDescription(long)
            self.update()

    def widths(self) -> tuple[float, float]:
        """Widths that the long and the short words need."""
        room = 24 * self.scale
        return text_width(self._long, 13 * self.scale) + room, text_width(self._short, 13 * self.scale) + room

    def paint(self, p: QPainter) -> None:
        theme, s = self.theme, self.scale
        box = Box(0, 0, self.width(), self.height())
        if self.underMouse() or self.isDown():
            draw_round_box(p, box, theme.raised, 6 * s)
        words = self._long if self.widths()[0] <= self.width() + 1 else self._short
        draw_text(p, box, elided(words, 13 * s, False, box.w - 12 * s), theme.muted, 13 * s, False, "center")


class TopBar(QWidget):
    """Painted title with a few buttons.

    ``asked(command)``: a tab or a button was pressed; ``menu_asked(button)``: the one for all commands.
    """

    asked = Signal(str)
    menu_asked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme: Theme = DARK
        self.scale = 1.0
        self._words = ""
        self._view = VIEWS[0].name
        self._result: Result | None = None
        self._words_box = Box(0, 0, 0, 0)
        self.tabs: dict[str, Tab] = {}
        for row in VIEWS:
            tab = Tab(row.title, row.key, self)
            tab.clicked.connect(partial(self._ask, f"view.{row.key}"))
            self.tabs[row.name] = tab
        self.assumptions = AssumptionsButton(self)
        self.undo = IconButton("Undo (Ctrl+Z)", "undo", self)
        self.redo = IconButton("Redo (Ctrl+Shift+Z)", "redo", self)
        self.look = IconButton("Dark or light (Ctrl+T)", "theme", self)
        self.menu = Chip("Menu", self)
        for button, command in (
            (self.assumptions, "help.assumptions"),
            (self.undo, "edit.undo"),
            (self.redo, "edit.redo"),
            (self.look, "view.theme"),
        ):
            button.clicked.connect(partial(self._ask, command))
        self.menu.clicked.connect(partial(self.menu_asked.emit, self.menu))

    def _ask(self, command: str, *_: object) -> None:
        self.asked.emit(command)

    def assumptions_right(self) -> int:
        """Where the button of the assumptions ends, and the list below it."""
        return self.assumptions.geometry().right()

    def explained(self) -> tuple[Explained, ...]:
        """The figures of the bar."""
        return (Explained(self.assumptions, always("assumptions"), is_clickable=False),)

    def show_view(self, view: str) -> None:
        """The tab of the view that is shown."""
        for key, tab in self.tabs.items():
            tab.show_on(key == view)
        self._view = view
        self._say_scenario()

    @property
    def words(self) -> str:
        """The scenario as the bar says it, as far as there is room."""
        return self._words

    def show_result(self, result: Result, can_undo: bool, can_redo: bool) -> None:
        self.undo.setEnabled(can_undo)
        self.redo.setEnabled(can_redo)
        self.assumptions.show_words(*result.fidelity.labels(result.machine))
        self._result = result
        self._say_scenario()

    def _say_scenario(self) -> None:
        """The scenario in the words of the view that is shown."""
        if self._result is None:
            return
        words = scenario_words(self._result)
        if VIEW_BY_NAME[self._view].group == "server":
            words = machine_words(words, workload_words(self._result.scenario.workload))
        if words != self._words:
            self._words = words
            self.update()
        self._lay_out()

    def set_look(self, theme: Theme, scale: float) -> None:
        self.theme, self.scale = theme, scale
        for child in (*self.tabs.values(), self.assumptions, self.undo, self.redo, self.look, self.menu):
            child.set_look(theme, scale)
        self._lay_out()
        self.update()

    def resizeEvent(self, event: object) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        s, height = self.scale, self.height()

        def row(x: float, width: float, high: float) -> Box:
            return Box(x, (height - high) / 2, width, high)

        left = max(18 * s + text_width(NAME, 17 * s, True) + 28 * s, 298 * s)
        for tab in self.tabs.values():
            tab.place(row(left, tab.needed_width(), 32 * s))
            left += tab.needed_width() + 4 * s
        right = self.width() - 16 * s - self.menu.needed_width()
        self.menu.place(row(right, self.menu.needed_width(), 30 * s))
        for button in (self.look, self.redo, self.undo):
            right -= 38 * s
            button.place(row(right, 32 * s, 32 * s))
        right -= 8 * s
        left += 18 * s
        long, short = self.assumptions.widths()
        words = text_width(self._words, 13.5 * s)
        width = long if left + words + 20 * s + long <= right else short
        self.assumptions.place(row(right - width, width, 30 * s))
        box = Box(left, 0, max(right - width - 12 * s - left, 0), height)
        if box != self._words_box:
            self._words_box = box
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, s, height = self.theme, self.scale, self.height()
        with QPainter(self) as p:
            p.fillRect(self.rect(), colour(theme.surface))
            p.fillRect(0, height - 1, self.width(), 1, colour(theme.line))
            draw_text(p, Box(18 * s, 0, 280 * s, height), NAME, theme.text, 17 * s, True)
            words = elided(self._words, 13.5 * s, False, self._words_box.w)
            draw_text(p, self._words_box, words, theme.muted, 13.5 * s)
