"""What the cost model assumes, to be read and changed: fidelity and the two efficiencies."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QWidget

from pdviz.costmodel.memory import RESERVE_SOURCE
from pdviz.evaluation import Result
from pdviz.fields import FIELDS
from pdviz.scenario import Scenario
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.store import ScenarioStore
from pdviz.units import written
from pdviz.widgets.controls.rows import Chips, Control, rows_of
from pdviz.widgets.kit.buttons import Chip
from pdviz.widgets.kit.fields import ValueEdit, attempt
from pdviz.widgets.kit.paint import draw_card, draw_text, wrapped
from pdviz.widgets.kit.palette import colour, font, qt_palette

WIDTH = 460.0
TOP = 46.0  # design pixels to the first row


class Assumptions(QFrame):
    """A popup over the window. Edits go to the store at once."""

    refused = Signal(str)

    def __init__(self, store: ScenarioStore, theme: Theme, scale: float, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAccessibleName("Assumptions")
        self.setPalette(qt_palette(theme))
        self.setFont(font(13 * scale))
        self._store, self._theme, self._scale = store, theme, scale
        self._rows = rows_of(FIELDS, "assumptions", self)
        self._controls = [control for row in self._rows for control in row.controls]
        self.edits: dict[str, ValueEdit] = {}
        self.chips: dict[str, Chip] = {}
        for control in self._controls:
            self._connect(control)
        self.usual = Chip("As the textbook has it", self)
        self.usual.set_look(theme, scale)
        self.usual.clicked.connect(self._reset)
        store.changed.connect(self._show)
        self._show(store.result, frozenset())

    def _connect(self, control: Control) -> None:
        """Edits of a control go to the store."""
        name = control.field.name
        for widget in control.widgets:
            widget.set_look(self._theme, self._scale)
            if isinstance(widget, ValueEdit):
                widget.entered.connect(partial(self._typed, name))
                self.edits[name] = widget
        if isinstance(control, Chips):
            for choice, chip in control.chips.items():
                chip.clicked.connect(partial(self._edit, name, choice))
                self.chips[choice] = chip

    def open_below(self, anchor: QWidget, right: int, bottom: int) -> None:
        """Shows it with its right edge at ``right`` below ``bottom``, in the anchor's coordinates."""
        corner = anchor.mapToGlobal(QPoint(right - self.width(), bottom + 4))
        self.move(max(corner.x(), 0), corner.y())
        self.show()
        self.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def _typed(self, name: str, text: str) -> None:
        """The fields show percentages, so a number above 1 is one."""
        clean = text.strip()
        is_percentage = clean.replace(".", "", 1).isdigit() and float(clean) > 1
        self._edit(name, f"{clean}%" if is_percentage else text)

    def _edit(self, name: str, value: object, *_: object) -> None:
        sentence = attempt(partial(self._store.edit, **{name: value}))
        if sentence is not None:
            if name in self.edits:
                self.edits[name].refuse()
            self.refused.emit(sentence[0].upper() + sentence[1:] + ".")
        elif name in self.edits:
            self.edits[name].accept()

    def _reset(self) -> None:
        usual = Scenario()
        for control in reversed(self._controls):
            self._edit(control.field.name, getattr(usual, control.field.name))

    def _show(self, result: Result, names: object) -> None:
        for control in self._controls:
            control.show(result)
        self._lay_out()
        self.update()

    def _lay_out(self) -> None:
        s = self._scale
        x, width = 20 * s, (WIDTH - 40) * s
        y = TOP
        for row in self._rows:
            row.place(x, y * s, width, s)
            y += sum(row.heights)
        foot = self._lines()[-1][0] + 30 * s
        self.usual.place(Box(x, foot, 190 * s, 30 * s))
        self.resize(round(WIDTH * s), round(foot + 46 * s))

    def paintEvent(self, event: QPaintEvent) -> None:
        s, theme = self._scale, self._theme
        with QPainter(self) as p:
            p.fillRect(self.rect(), colour(theme.surface))
            draw_card(p, Box(0, 0, self.width(), self.height()), theme, s)
            x, width = 20 * s, (WIDTH - 40) * s
            draw_text(p, Box(x, 14 * s, width, 24 * s), "Assumptions", theme.text, 15.5 * s, True)
            for control in self._controls:
                for label in control.labels:
                    label.paint(p, theme)
            for y, line, role in self._lines():
                draw_text(p, Box(x, y, width, 19 * s), line, getattr(theme, role), 13 * s)

    def _lines(self) -> list[tuple[float, str, str]]:
        """(y, text, colour role) of the words below the fields."""
        s, result = self._scale, self._store.result
        itl = f", ITL {written(result.itl)}" if result.itl else ""
        effect = (
            f"With them: TTFT {written(result.ttft)}{itl}; a pass is compute-bound from "
            f"{result.machine.achievable_ridge_flops_per_byte:,.0f} FLOPs per byte on."
        )
        found, y = [], (TOP + sum(sum(row.heights) for row in self._rows) + 6) * s
        for sentence in (effect, result.fidelity.about, RESERVE_SOURCE + "."):
            role = "text" if sentence is effect else "muted"
            for line in wrapped(sentence, 13.5 * s, True, (WIDTH - 48) * s):
                found.append((y, line, role))
                y += 19 * s
            y += 8 * s
        return found
