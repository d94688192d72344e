"""The control panel: every field of the scenario, presets, memory. Built from the table of fields."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, QRect, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from pdviz.costmodel.dtypes import DTYPES
from pdviz.evaluation import Result
from pdviz.scenario import BY_NAME, PRESETS, Scenario
from pdviz.scene.marks.figures import accelerator_name, model_name
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import DARK, Theme
from pdviz.store import ScenarioStore
from pdviz.units import binary_size, count, parameters, plural, si, significant
from pdviz.widgets.controls.memory_view import MemoryView
from pdviz.widgets.kit.buttons import CHIP_SIZE, Chip, PickerButton
from pdviz.widgets.kit.fields import LogSlider, ValueEdit, attempt
from pdviz.widgets.kit.paint import draw_card, draw_text, elided
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.pointed import Explained, Pointed, always

if TYPE_CHECKING:
    from pdviz.widgets.kit.choices import Choice

PANEL_WIDTH = 284.0
LEAST_PANEL_HEIGHT = 655.0
NEEDED_HEIGHT = 716.0  # design pixels; in less, rows close up
OUTPUT_SLIDER_HIGH = 8_192
OTHERS_SLIDER_HIGH = 1_023
SLIDERS = ("prompt_tokens", "output_tokens", "others", "cached_tokens")


def accelerator_words(result: Result) -> str:
    """What the accelerators together offer."""
    machine = result.machine
    return (
        f"{si(machine.peak_flops_per_s, 'FLOP/s')} · {si(machine.bandwidth_bytes_per_s, 'B/s')} · "
        f"ridge {significant(machine.ridge_flops_per_byte)}"
    )


def model_words(result: Result) -> str:
    model = result.architecture
    kv = f"{binary_size(result.model.kv_bytes_per_token)} KV/token"
    if model.is_mixture:
        return f"{parameters(model.parameters)} ({parameters(model.active_parameters)} active) · {kv}"
    return f"{parameters(model.parameters)} parameters · {kv}"


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
        self._texts: list[tuple[Box, str, str, float, bool, str]] = []
        self._hints: dict[str, str] = {}
        self.pickers: dict[str, PickerButton] = {}
        for name in ("model", "accelerator", "weights_dtype", "kv_dtype"):
            picker = PickerButton(BY_NAME[name].label, self)
            picker.setToolTip(BY_NAME[name].help)
            picker.clicked.connect(partial(self.open_choices, name))
            self.pickers[name] = picker
        self.sliders: dict[str, LogSlider] = {}
        self.edits: dict[str, ValueEdit] = {}
        for name in ("accelerators", *SLIDERS, "others_context_tokens"):
            field = BY_NAME[name]
            edit = ValueEdit(field.label, self)
            edit.setToolTip(f"{field.help} Type {field.expectation}; K means 1,024.")
            edit.setAcceptDrops(False)  # a drop is for the window, wherever it falls
            edit.entered.connect(partial(self._typed, name))
            self.edits[name] = edit
            if name in SLIDERS:
                slider = LogSlider(field.label, self)
                slider.setToolTip(field.help)
                slider.moved.connect(partial(self._slid, name))
                self.sliders[name] = slider
        self.chips: list[Chip] = []
        for preset in PRESETS:
            chip = Chip(preset.title, self)
            chip.clicked.connect(partial(self.apply_preset, len(self.chips)))
            self.chips.append(chip)
        self.memory = MemoryView(self)
        store.changed.connect(self.show_result)
        self.show_result(store.result, frozenset())
        self._order_focus()

    def _order_focus(self) -> None:
        order: list[QWidget] = [
            self.pickers["model"],
            self.pickers["accelerator"],
            self.edits["accelerators"],
        ]
        order += [self.pickers["weights_dtype"], self.pickers["kv_dtype"]]
        for name in ("prompt_tokens", "output_tokens", "others"):
            order += [self.edits[name], self.sliders[name]]
        order += [
            self.edits["others_context_tokens"],
            self.edits["cached_tokens"],
            self.sliders["cached_tokens"],
        ]
        order += self.chips
        for one, following in itertools.pairwise(order):
            QWidget.setTabOrder(one, following)

    # --- edits ---------------------------------------------------------------------------------

    def _slid(self, name: str, value: int) -> None:
        self._report(attempt(partial(self._store.edit, **{name: value})))

    def _typed(self, name: str, text: str) -> None:
        sentence = attempt(partial(self._store.edit, **{name: text.split("×")[0].replace("tokens", "")}))
        if sentence is not None:
            self.edits[name].refuse()
            field = BY_NAME[name]
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
        s = result.scenario
        self.pickers["model"].show_choice(model_name(result))
        self.pickers["accelerator"].show_choice(accelerator_name(result))
        self.pickers["weights_dtype"].show_choice(DTYPES[s.weights_dtype].title)
        self.pickers["kv_dtype"].show_choice(DTYPES[s.kv_dtype].title)
        self.edits["accelerators"].show_value(f"{s.accelerators} ×", str(s.accelerators))
        for name in SLIDERS:
            value = getattr(s, name)
            shown = count(value) if name == "others" else plural(value, "token")
            self.edits[name].show_value(shown, str(value))
            low, high = self._range(name, s, result)
            self.sliders[name].show_value(value, low, high, *self._mark(name, result))
        own = s.others_context_tokens
        self.edits["others_context_tokens"].show_value(
            "same as this" if own is None else plural(own, "token"), "same" if own is None else str(own)
        )
        for chip, preset in zip(self.chips, PRESETS, strict=True):
            chip.show_on(preset.matches(s))
        self.memory.show_memory(result)
        hints = {"model": model_words(result), "accelerator": accelerator_words(result)}
        if hints != self._hints:
            self._hints = hints
            self._lay_out()
            self.update()

    def _range(self, name: str, s: Scenario, result: Result) -> tuple[int, int]:
        value = getattr(s, name)
        if name == "prompt_tokens":
            return 1, max(result.architecture.max_context_tokens or 131_072, value)
        if name == "output_tokens":
            return 1, max(OUTPUT_SLIDER_HIGH, value)
        if name == "others":
            return 0, max(OTHERS_SLIDER_HIGH, value)
        return 0, s.prompt_tokens - 1

    def _mark(self, name: str, result: Result) -> tuple[int | None, str]:
        crossover = result.crossover_prompt_tokens
        if name != "prompt_tokens" or crossover is None:
            return None, ""
        return crossover, f"compute-bound from {count(crossover)}"

    # --- layout --------------------------------------------------------------------------------

    def set_look(self, theme: Theme, scale: float) -> None:
        self.theme, self.scale = theme, scale
        parts: list[Any] = [*self.pickers.values(), *self.sliders.values(), *self.edits.values(), *self.chips]
        for child in (*parts, self.memory):
            child.set_look(theme, scale)
        self._lay_out()
        self.update()

    def explained(self) -> tuple[Explained, ...]:
        """The figures of the panel."""
        return (
            Explained(self.memory, self.memory.explain_at),
            Explained(self, self.explain_at, is_clickable=False, is_focusable=False),
            Explained(self.sliders["prompt_tokens"], always("crossover"), is_clickable=False),
            Explained(self.sliders["others"], always("half_speed_context"), is_clickable=False),
        )

    def explain_at(self, at: QPoint) -> Pointed | None:
        """A figure in the lines below model and accelerator, word group by word group."""
        keys = {
            "model": ("parameters", "kv_bytes_per_token"),
            "accelerator": ("peak", "bandwidth", "ridge"),
        }
        for box, text, _, size, bold, _ in self._texts:
            for name, found in keys.items():
                if text != self._hints[name] or not box.contains(at.x(), at.y()):
                    continue
                left = box.x
                for key, words in zip(found, text.split(" · "), strict=True):
                    width = text_width(f"{words} · ", size, bold)
                    if left <= at.x() < left + width:
                        area = QRect(round(left), round(box.y), round(width), round(box.h))
                        return Pointed(key, None, area)
                    left += width
        return None

    def resizeEvent(self, event: object) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        s = self.scale
        x, width = 16 * s, self.width() - 32 * s
        y = 13 * s
        self._texts = []
        spare = self.height() - NEEDED_HEIGHT * s
        tight = spare < 0
        gap = min(max(spare / 9, 0.0), 9 * s)
        close = 3 * s if tight else 0.0

        def label(text: str, at: float, role: str = "muted", size: float = 13, align: str = "left") -> None:
            self._texts.append((Box(x, at, width, 18 * s), text, role, size * s, False, align))

        label(BY_NAME["model"].label, y)
        self.pickers["model"].place(Box(x, y + 21 * s, width, 32 * s))
        label(self._hints["model"], y + 56 * s, "faint", 12)
        y += 80 * s + gap - close
        label(BY_NAME["accelerator"].label, y)
        self.pickers["accelerator"].place(Box(x, y + 21 * s, width - 62 * s, 32 * s))
        self._place(self.edits["accelerators"], Box(x + width - 53 * s, y + 23 * s, 48 * s, 28 * s))
        label(self._hints["accelerator"], y + 56 * s, "faint", 12)
        y += 80 * s + gap - close
        half = (width - 8 * s) / 2
        label(BY_NAME["weights_dtype"].label, y)
        self.pickers["weights_dtype"].place(Box(x, y + 21 * s, half, 32 * s))
        self._texts.append(
            (
                Box(x + half + 8 * s, y, half, 18 * s),
                BY_NAME["kv_dtype"].label,
                "muted",
                13 * s,
                False,
                "left",
            )
        )
        self.pickers["kv_dtype"].place(Box(x + half + 8 * s, y + 21 * s, half, 32 * s))
        y += 62 * s + gap
        for name in SLIDERS:
            title = BY_NAME[name].label
            label(title, y + 1 * s)
            left = x + text_width(title, 13 * s) + 8 * s
            self._place(self.edits[name], Box(left, y - 3 * s, x + width - left, 25 * s))
            slider_height = 34 * s if name == "prompt_tokens" else 20 * s
            self.sliders[name].place(Box(x - 2 * s, y + 21 * s, width + 4 * s, slider_height))
            y += 22 * s + slider_height + (4 * s if name == "prompt_tokens" else 8 * s) - close
            if name == "others":
                title = BY_NAME["others_context_tokens"].label
                label(title, y - 3 * s)
                left = x + text_width(title, 13 * s) + 8 * s
                self._place(
                    self.edits["others_context_tokens"], Box(left, y - 7 * s, x + width - left, 25 * s)
                )
                y += 24 * s
            y += gap
        if not tight:
            label("Try", y)
            y += 23 * s
        y = self._lay_out_chips(x, y, width, s)
        memory_height = (58 if tight else 74) * s
        self.memory.place(Box(x, self.height() - memory_height - 10 * s, width, memory_height))

    def _lay_out_chips(self, x: float, y: float, width: float, s: float) -> float:
        gap = 6 * s
        half = (width - gap) / 2
        for number, chip in enumerate(self.chips):
            title = PRESETS[number].title
            fits = text_width(title, CHIP_SIZE * s, True) <= half - 8 * s
            chip.setText(title if fits else title.rpartition(" ")[0])
            row, column = divmod(number, 2)
            chip.place(Box(x + column * (half + gap), y + row * 34 * s, half, 28 * s))
        return y + 34 * s * ((len(self.chips) + 1) // 2)

    def _place(self, edit: ValueEdit, box: Box) -> None:
        edit.setGeometry(round(box.x), round(box.y), round(box.w), round(box.h))

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as p:
            p.fillRect(self.rect(), colour(self.theme.window))
            draw_card(p, Box(0, 0, self.width(), self.height()), self.theme, self.scale)
            frame = self.edits["accelerators"].geometry()
            box = Box(
                frame.x() - 3 * self.scale,
                frame.y() - 2 * self.scale,
                frame.width() + 6 * self.scale,
                frame.height() + 4 * self.scale,
            )
            draw_card(p, box, self.theme, self.scale * 0.75)
            for box, text, role, size, bold, align in self._texts:
                draw_text(
                    p, box, elided(text, size, bold, box.w), getattr(self.theme, role), size, bold, align
                )
