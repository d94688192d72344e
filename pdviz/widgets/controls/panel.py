"""The control panel: every field of the scenario, presets, memory. Built from the table of fields."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, QRect, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.fields import BY_NAME, FIELDS
from pdviz.scenario import PRESETS
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import DARK, Theme
from pdviz.store import ScenarioStore
from pdviz.widgets.controls.memory_view import MemoryView
from pdviz.widgets.controls.rows import Control, Label, Picker, Row, rows_of
from pdviz.widgets.controls.words import EXPLAINED, WORKLOADS, is_used
from pdviz.widgets.kit.buttons import CHIP_SIZE, Chip, PickerButton
from pdviz.widgets.kit.fields import LogSlider, ValueEdit, attempt
from pdviz.widgets.kit.paint import draw_card
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.pointed import Explained, Pointed, always

if TYPE_CHECKING:
    from pdviz.widgets.kit.choices import Choice

PANEL_WIDTH = 284.0
TOP, BOTTOM = 13.0, 10.0  # design pixels, as all that follow
HEADING = 23.0
MEMORY, LOW_MEMORY = 74.0, 58.0
CHIP_PITCH = 34.0
AIR, LEAST_AIR = 38.0, 34.0
MOST_GAP = 9.0
CLOSE = 3.0  # what rows close up by where there is too little room


class ControlPanel(QWidget):
    """Edits the scenario of a store. ``refused(sentence)`` where an entry cannot be used."""

    refused = Signal(str)
    preset_chosen = Signal()

    def __init__(self, store: ScenarioStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Scenario")
        self.theme: Theme = DARK
        self.scale = 1.0
        self._store = store
        self.group = "request"
        self._groups: dict[str, list[Row]] = {}
        self._controls: list[Control] = []
        self._heading: Label | None = None
        self.pickers: dict[str, PickerButton] = {}
        self.sliders: dict[str, LogSlider] = {}
        self.edits: dict[str, ValueEdit] = {}
        self._make("model")
        self._make("request")
        self.chips: list[Chip] = []
        for preset in PRESETS:
            chip = Chip(preset.title, self)
            chip.clicked.connect(partial(self.apply_preset, len(self.chips)))
            self.chips.append(chip)
        self.memory = MemoryView(self)
        self.workloads: dict[str, Chip] = {}
        store.changed.connect(self.show_result)
        self.show_result(store.result, frozenset())
        for one, following in itertools.pairwise(self._parts()):
            QWidget.setTabOrder(one, following)

    def _make(self, group: str) -> None:
        """The controls of a group of fields."""
        rows = self._groups[group] = rows_of(FIELDS, group, self)
        for control in itertools.chain(*(row.controls for row in rows)):
            self._controls.append(control)
            self._connect(control)

    def _make_server(self) -> None:
        """The controls of a server, when they are first wanted."""
        before = self._parts()
        self._make("server")
        for key, title in WORKLOADS.items():
            chip = self.workloads[key] = Chip(title, self)
            chip.clicked.connect(partial(self._chosen, "workload", key))
        made = [part for part in self._parts() if part not in before]
        for part in made:
            part.set_look(self.theme, self.scale)
        for one, following in itertools.pairwise((before[-1], *made)):
            QWidget.setTabOrder(one, following)
        self.show_result(self._store.result, frozenset())

    def _connect(self, control: Control) -> None:
        """Edits of a control go to the store."""
        name = control.field.name
        for widget in control.widgets:
            if isinstance(widget, PickerButton):
                widget.clicked.connect(partial(self.open_choices, name))
                self.pickers[name] = widget
            elif isinstance(widget, LogSlider):
                widget.moved.connect(partial(self._slid, name))
                self.sliders[name] = widget
            elif isinstance(widget, ValueEdit):
                widget.entered.connect(partial(self._typed, name))
                self.edits[name] = widget

    def _parts(self) -> list[Any]:
        """All that is edited or clicked, in the order of Tab."""
        server = [control for row in self._groups.get("server", ()) for control in row.controls]
        first = (control for control in self._controls if control not in server)
        return [
            *(widget for control in first for widget in control.widgets),
            *self.chips,
            *(widget for control in server for widget in control.widgets),
            *self.workloads.values(),
        ]

    @property
    def _rows(self) -> list[Row]:
        """What is shown: the model, and the request or the server, without knobs that no policy uses."""
        rows = [*self._groups["model"], *self._groups[self.group]]
        return [row for row in rows if is_used(row.controls[0].field, self._store.result)]

    @property
    def _chips(self) -> list[Chip]:
        return list(self.workloads.values()) if self.group == "server" else self.chips

    def show_group(self, name: str) -> None:
        """The fields of a request, or of a server of many."""
        if name != self.group:
            self.group = name
            if name not in self._groups:
                self._make_server()
            self._show_group()
            self._lay_out()
            self.update()

    def _show_group(self) -> None:
        shown = [control for row in self._rows for control in row.controls]
        for control in self._controls:
            for widget in control.widgets:
                widget.setVisible(control in shown)
        for chip in (*self.chips, *self.workloads.values()):
            chip.setVisible(chip in self._chips)

    # --- edits ---------------------------------------------------------------------------------

    def _slid(self, name: str, value: int) -> None:
        self._report(attempt(partial(self._store.edit, **{name: value})))

    def _typed(self, name: str, text: str) -> None:
        field = BY_NAME[name]
        bare = text.split("×")[0].replace(f"{field.unit}s", "") if field.unit else text.split("×")[0]
        sentence = attempt(partial(self._store.edit, **{name: bare}))
        if sentence is not None:
            self.edits[name].refuse()
            self._report(sentence.replace(f"{field.key} must", f"{field.label} must", 1))
        else:
            self.edits[name].accept()
            self.show_result(self._store.result, frozenset())

    def _report(self, sentence: str | None) -> None:
        if sentence is not None:
            self.refused.emit(sentence[0].upper() + sentence[1:] + ".")

    def edit(self, **values: object) -> None:
        """Edits the scenario; a refusal is reported."""
        self._report(attempt(partial(self._store.edit, **values)))

    def apply_preset(self, index: int) -> None:
        """Sets the request of preset ``index``."""
        if index < len(PRESETS):
            self._store.put(PRESETS[index].apply(self._store.scenario))
            self.preset_chosen.emit()

    def choices(self, name: str) -> tuple[Choice, ...]:
        """What the picker of a field offers."""
        from pdviz.widgets.controls.offers import offers

        return offers(name, self._store)

    def open_choices(self, name: str) -> None:
        """Opens the list of a picker."""
        from pdviz.widgets.kit.choices import ChoicePopup

        catalogue = self._store.catalogue
        nearest = {"model": catalogue.nearest_models, "accelerator": catalogue.nearest_accelerators}.get(name)
        current = getattr(self._store.scenario, name)
        popup = ChoicePopup(
            self.choices(name), current, self.theme, self.scale, self,
            (lambda text: list(nearest(text))) if nearest else None,
        )  # fmt: skip
        popup.chosen.connect(partial(self._chosen, name))
        popup.open_below(self.pickers[name])

    def _chosen(self, name: str, key: str) -> None:
        self._report(attempt(partial(self._store.edit, **{name: key})))

    # --- what is shown -------------------------------------------------------------------------

    @Slot(object, object)
    def show_result(self, result: Result, names: frozenset[str]) -> None:
        """All controls as ``result`` has them."""
        for control in self._controls:
            control.show(result)
        for chip, preset in zip(self.chips, PRESETS, strict=True):
            chip.show_on(preset.matches(result.scenario))
        for key, chip in self.workloads.items():
            chip.show_on(result.scenario.workload == key)
        if names & {"policy", "against"}:
            self._show_group()
            self._lay_out()
            self.update()
        self.memory.show_memory(result)

    # --- layout --------------------------------------------------------------------------------

    def set_look(self, theme: Theme, scale: float) -> None:
        self.theme, self.scale = theme, scale
        for child in (*self._parts(), self.memory):
            child.set_look(theme, scale)
        self._lay_out()
        self.update()

    def explained(self) -> tuple[Explained, ...]:
        """The figures of the panel."""
        return (
            Explained(self.memory, self.memory.explain_at),
            Explained(self, self.explain_at, is_clickable=False, is_focusable=False),
            *(
                Explained(self.sliders[name], always(key), is_clickable=False)
                for name, key in EXPLAINED.items()
            ),
        )

    def explain_at(self, at: QPoint) -> Pointed | None:
        """A figure in the lines below model and accelerator."""
        pickers = (control for control in self._controls if isinstance(control, Picker))
        return next(filter(None, (picker.explain_at(at) for picker in pickers)), None)

    def resizeEvent(self, event: object) -> None:
        self._lay_out()

    def _height(self, low: bool) -> float:
        """Design pixels that everything takes; with ``low`` closed up."""
        rows = sum(sum(row.heights) - CLOSE * (low and row.closes_up) for row in self._rows)
        chips = CHIP_PITCH * ((len(self._chips) + 1) // 2)
        rest = LOW_MEMORY + LEAST_AIR if low else HEADING + MEMORY + AIR
        return TOP + rows + chips + rest + BOTTOM

    @property
    def least_height(self) -> float:
        """Design pixels that it cannot do without."""
        return self._height(low=True)

    def _lay_out(self) -> None:
        s = self.scale
        x, y, width = 16 * s, TOP * s, self.width() - 32 * s
        spare = self.height() - self._height(low=False) * s
        low = spare < 0
        starts = sum(not row.is_part for row in self._rows)
        gap = min(max(spare / (starts + 2), 0.0), MOST_GAP * s)
        for row, following in itertools.zip_longest(self._rows, self._rows[1:]):
            row.place(x, y, width, s)
            y += sum(part * s for part in row.heights) - (CLOSE * s if low and row.closes_up else 0.0)
            y += 0.0 if following is not None and following.is_part else gap
        self._heading = None if low else Label(Box(x, y, width, 18 * s), "Try", "muted", 13 * s)
        self._lay_out_chips(x, y if low else y + HEADING * s, width, s)
        memory = (LOW_MEMORY if low else MEMORY) * s
        self.memory.place(Box(x, self.height() - memory - BOTTOM * s, width, memory))

    def _lay_out_chips(self, x: float, y: float, width: float, s: float) -> None:
        gap = 6 * s
        half = (width - gap) / 2
        titles = list(WORKLOADS.values()) if self.group == "server" else [preset.title for preset in PRESETS]
        for number, (chip, title) in enumerate(zip(self._chips, titles, strict=True)):
            fits = text_width(title, CHIP_SIZE * s, True) <= half - 8 * s
            chip.setText(title if fits else title.rpartition(" ")[0])
            row, column = divmod(number, 2)
            chip.place(Box(x + column * (half + gap), y + row * CHIP_PITCH * s, half, 28 * s))

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as p:
            p.fillRect(self.rect(), colour(self.theme.window))
            draw_card(p, Box(0, 0, self.width(), self.height()), self.theme, self.scale)
            for control in (control for row in self._rows for control in row.controls):
                if control.is_framed:
                    self._paint_frame(p, control.widgets[0].geometry())
                for label in control.labels:
                    label.paint(p, self.theme)
            if self._heading is not None:
                self._heading.paint(p, self.theme)

    def _paint_frame(self, p: QPainter, inside: QRect) -> None:
        s = self.scale
        box = Box(inside.x() - 3 * s, inside.y() - 2 * s, inside.width() + 6 * s, inside.height() + 4 * s)
        draw_card(p, box, self.theme, s * 0.75)
