"""The rows of controls that the table of fields asks for: each kind knows its widgets, height and places."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.field import Field
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.widgets.controls import words
from pdviz.widgets.kit.buttons import Chip, PickerButton
from pdviz.widgets.kit.fields import LogSlider, ValueEdit
from pdviz.widgets.kit.paint import draw_text, elided
from pdviz.widgets.kit.palette import text_width
from pdviz.widgets.kit.pointed import Pointed

Editor = ValueEdit | LogSlider | PickerButton | Chip
BETWEEN = 8.0  # design pixels between two controls of a row


class Label(msgspec.Struct, frozen=True):
    """Words beside a control; ``size`` in pixels."""

    box: Box
    text: str
    role: str
    size: float

    def paint(self, p: QPainter, theme: Theme) -> None:
        text = elided(self.text, self.size, False, self.box.w)
        draw_text(p, self.box, text, getattr(theme, self.role), self.size)


class Control:
    """A field as it is edited. ``widgets`` are in the order of Tab; lengths in design pixels.

    ``heights`` are those of its parts, from the label down.

    ``width`` is None for an equal share of the row. ``closes_up`` by a little where there is no room.
    ``is_part``: belongs to the row above, without a gap.
    """

    width: float | None = None
    closes_up = False
    is_part = False
    is_framed = False

    def __init__(self, field: Field, heights: tuple[float, ...], *widgets: Editor) -> None:
        self.field, self.heights, self.widgets = field, heights, widgets
        self.labels: tuple[Label, ...] = ()

    def show(self, result: Result) -> None:
        """The field as ``result`` has it."""

    def place(self, box: Box, rest: float, s: float) -> None:
        """Into ``box``, where ``rest`` is the width from its left edge to the end of the row."""


def entry(field: Field, parent: QWidget, help_text: str) -> ValueEdit:
    edit = ValueEdit(field.label, parent)
    edit.setToolTip(help_text)
    return edit


def _count_entry(field: Field, parent: QWidget) -> ValueEdit:
    edit = entry(field, parent, f"{field.help} Type {field.expectation}; K means 1,024.")
    edit.setAcceptDrops(False)  # a drop is for the window, wherever it falls
    return edit


def _label_and_entry(field: Field, edit: ValueEdit, box: Box, down: float, s: float) -> tuple[Label]:
    """The label ``down`` from the top of ``box``, the entry in what it leaves."""
    left = box.x + text_width(field.label, 13 * s) + 8 * s
    put(edit, Box(left, box.y + (down - 4) * s, box.x + box.w - left, 25 * s))
    return (Label(Box(box.x, box.y + down * s, box.w, 18 * s), field.label, "muted", 13 * s),)


def put(widget: QWidget, box: Box) -> None:
    widget.setGeometry(round(box.x), round(box.y), round(box.w), round(box.h))


class Picker(Control):
    """A label, a button that opens a list, and for some a line of figures below."""

    def __init__(self, field: Field, parent: QWidget) -> None:
        self._panel = parent
        self.button = PickerButton(field.label, parent)
        self.button.setToolTip(field.help)
        self.hint = words.HINTS.get(field.name)
        self._hint_words = ""
        self.closes_up = self.hint is not None
        super().__init__(field, (80,) if self.hint else (62,), self.button)

    def show(self, result: Result) -> None:
        self.button.show_choice(words.choice_words(self.field, result))
        said = self.hint.words(result) if self.hint else ""
        if said != self._hint_words:
            self._hint_words = said
            below = (msgspec.structs.replace(line, text=said) for line in self.labels[1:])
            self.labels = (*self.labels[:1], *below)
            self._panel.update()

    def place(self, box: Box, rest: float, s: float) -> None:
        self.button.place(Box(box.x, box.y + 21 * s, box.w, 32 * s))
        label = Label(Box(box.x, box.y, rest, 18 * s), self.field.label, "muted", 13 * s)
        below = Label(Box(box.x, box.y + 56 * s, rest, 18 * s), self._hint_words, "faint", 12 * s)
        self.labels = (label, below) if self.hint else (label,)

    def explain_at(self, at: QPoint) -> Pointed | None:
        """A figure in the line below, word group by word group."""
        for line in self.labels[1:]:
            left = line.box.x
            if self.hint is None or not line.box.contains(at.x(), at.y()):
                continue
            for key, figure in zip(self.hint.keys, line.text.split(" · "), strict=True):
                width = text_width(f"{figure} · ", line.size, False)
                if left <= at.x() < left + width:
                    area = QRect(round(left), round(line.box.y), round(width), round(line.box.h))
                    return Pointed(key, None, area)
                left += width
        return None


class Times(Control):
    """How many of what stands before it: a narrow framed count."""

    width = 54.0
    is_framed = True

    def __init__(self, field: Field, parent: QWidget) -> None:
        self.edit = _count_entry(field, parent)
        super().__init__(field, (53,), self.edit)

    def show(self, result: Result) -> None:
        value = getattr(result.scenario, self.field.name)
        self.edit.show_value(f"{value} ×", str(value))

    def place(self, box: Box, rest: float, s: float) -> None:
        put(self.edit, Box(box.x + 1 * s, box.y + 23 * s, 48 * s, 28 * s))


class Entry(Control):
    """A label and a count to type."""

    is_part = True

    def __init__(self, field: Field, parent: QWidget) -> None:
        self.edit = _count_entry(field, parent)
        super().__init__(field, (24,), self.edit)

    def show(self, result: Result) -> None:
        self.edit.show_value(*words.entry_words(self.field, getattr(result.scenario, self.field.name)))

    def place(self, box: Box, rest: float, s: float) -> None:
        self.labels = _label_and_entry(self.field, self.edit, box, -3, s)


class Slider(Control):
    """A label, a count to type, and below both a slider, taller where a tick on it has words."""

    closes_up = True

    def __init__(self, field: Field, parent: QWidget) -> None:
        self.edit = _count_entry(field, parent)
        self.slider = LogSlider(field.label, parent)
        self.slider.setToolTip(field.help)
        self.mark = words.MARKS.get(field.name)
        super().__init__(field, (22, 34, 4) if self.mark else (22, 20, 8), self.edit, self.slider)

    def show(self, result: Result) -> None:
        value = getattr(result.scenario, self.field.name)
        self.edit.show_value(*words.entry_words(self.field, value))
        mark = self.mark(result) if self.mark else (None, "")
        self.slider.show_value(value, *words.slider_range(self.field, result), *mark)

    def place(self, box: Box, rest: float, s: float) -> None:
        self.labels = _label_and_entry(self.field, self.edit, box, 1, s)
        self.slider.place(Box(box.x - 2 * s, box.y + 21 * s, box.w + 4 * s, (34 if self.mark else 20) * s))


class Chips(Control):
    """A chip for each choice of the field."""

    def __init__(self, field: Field, parent: QWidget) -> None:
        self.chips = {choice: Chip(words.TITLES.get(choice, choice), parent) for choice in field.choices}
        super().__init__(field, (44,), *self.chips.values())

    def show(self, result: Result) -> None:
        for choice, chip in self.chips.items():
            chip.show_on(choice == getattr(result.scenario, self.field.name))

    def place(self, box: Box, rest: float, s: float) -> None:
        gap = BETWEEN * s
        each = (box.w - gap * (len(self.chips) - 1)) / len(self.chips)
        for number, chip in enumerate(self.chips.values()):
            chip.place(Box(box.x + number * (each + gap), box.y, each, 30 * s))


class Share(Control):
    """A label, and a percentage to type where the fidelity has one."""

    def __init__(self, field: Field, parent: QWidget) -> None:
        self.edit = entry(field, parent, field.help)
        super().__init__(field, (34,), self.edit)

    def show(self, result: Result) -> None:
        edit = self.edit
        if result.fidelity.uses_efficiencies != edit.isEnabled():
            edit.setEnabled(not edit.isEnabled())
            edit.accept()
        shown = getattr(result.scenario, self.field.name) if edit.isEnabled() else 1.0
        edit.show_value(f"{shown * 100:g} %", f"{shown * 100:g}%")

    def place(self, box: Box, rest: float, s: float) -> None:
        put(self.edit, Box(box.x + box.w - 110 * s, box.y, 110 * s, 26 * s))
        self.labels = (Label(Box(box.x, box.y + 2 * s, box.w, 22 * s), self.field.label, "muted", 14 * s),)


_KINDS: dict[str, type[Picker | Times | Entry | Slider | Chips | Share]] = {
    "picker": Picker,
    "times": Times,
    "slider": Slider,
    "entry": Entry,
    "chips": Chips,
    "share": Share,
}


class Row:
    """Controls side by side."""

    def __init__(self) -> None:
        self.controls: list[Control] = []

    @property
    def is_part(self) -> bool:
        return self.controls[0].is_part

    @property
    def closes_up(self) -> bool:
        return self.controls[0].closes_up

    @property
    def heights(self) -> tuple[float, ...]:
        return max((control.heights for control in self.controls), key=sum)

    def place(self, x: float, y: float, width: float, s: float) -> None:
        """Puts its controls where they belong, those of a set width and an equal share for the others."""
        gap, fixed = BETWEEN * s, [c.width for c in self.controls if c.width is not None]
        room = width - sum(fixed) * s - gap * (len(self.controls) - 1)
        left = x
        for control in self.controls:
            wide = room / (len(self.controls) - len(fixed)) if control.width is None else control.width * s
            control.place(Box(left, y, wide, sum(control.heights) * s), x + width - left, s)
            left += wide + gap


def rows_of(fields: Iterable[Field], group: str, parent: QWidget) -> list[Row]:
    """The rows of a group of the table of fields, their widgets made."""
    rows: list[Row] = []
    for field in fields:
        if field.group == group:
            if not field.beside:
                rows.append(Row())
            rows[-1].controls.append(_KINDS[field.control](field, parent))
    return rows
