"""The roofline view: figures, the chart with its dots to drag, accelerators to pin, a note on each thing.

Importing this module imports pyqtgraph: the window does so when the view is first shown.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from pdviz.catalogue import Catalogue
from pdviz.costmodel.accelerator import Accelerator
from pdviz.costmodel.dtypes import DTYPES
from pdviz.errors import InputError
from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import DARK, Theme
from pdviz.scene.roofline.curves import DECODE, PREFILL, Roofline, build_roofline
from pdviz.scene.roofline.page import FIGURES, roofline_layout
from pdviz.scene.roofline.words import NOW, PIN, describe_roofline, explain, roofline_figures
from pdviz.units import si, significant
from pdviz.widgets.kit.buttons import Chip
from pdviz.widgets.kit.choices import Choice, ChoicePopup
from pdviz.widgets.kit.fields import snapped
from pdviz.widgets.kit.figures_view import FigureView
from pdviz.widgets.kit.main_view import MainView
from pdviz.widgets.kit.palette import colour
from pdviz.widgets.roofline.parts import ChartCard, DotHandle, NoteView, PinChip
from pdviz.widgets.roofline.plot import RooflinePlot, outer_box

PINS_MOST = 4


class RooflineView(MainView):
    """Shows a result as a roofline.

    Dragging a dot, or moving it by key, edits the prompt or the others.
    ``pinned(names)``: other accelerators are on the chart now.
    """

    pinned = Signal(object)

    def __init__(self, result: Result, catalogue: Catalogue, parent: QWidget | None = None) -> None:
        super().__init__("Roofline", result, parent)
        self._catalogue = catalogue
        self._time_s = 0.0
        self._pins: tuple[Accelerator, ...] = ()
        self._noticed = NOW
        self.roofline: Roofline = build_roofline(result, 0.0)
        self.figures = [FigureView(self) for _ in range(FIGURES)]
        self.card = ChartCard(self)
        self.pin_button = Chip("Pin an accelerator", self)
        self.pin_button.setToolTip("Draw the roof of another accelerator behind this one")
        self.pin_button.clicked.connect(self.open_pins)
        self.pin_chips: list[PinChip] = []
        self.plot = RooflinePlot(self)
        self.note = NoteView(self)
        self.handles = {phase: DotHandle(phase, self.plot.viewport()) for phase in (PREFILL, DECODE)}
        for phase, handle in self.handles.items():
            handle.dragged.connect(partial(self._drag, phase))
            handle.stepped.connect(partial(self._edit, phase))
            handle.noticed.connect(self._notice)
        self.plot.laid_out.connect(self._put_handles)
        self.plot.pointed.connect(self._notice)
        self.set_look(DARK, 1.0)
        self.show_result(result, frozenset(), fresh=True)

    # --- what is shown -------------------------------------------------------------------------

    def show_result(self, result: Result, changed: frozenset[str], fresh: bool = False) -> None:
        """Another result; ``fresh`` also puts the whole chart back in view."""
        self._result = result
        self._time_s = min(self._time_s, result.e2e_s)
        self._build(fresh)

    def show_time(self, time_s: float) -> None:
        """Moves the playhead."""
        self._time_s = time_s
        moved = self.roofline.at_time(self._result, time_s)
        if moved is not self.roofline:
            self.roofline = moved
            self.plot.show_now(moved)
            self._explain()

    def _build(self, fresh: bool = False) -> None:
        self.roofline = build_roofline(self._result, self._time_s, self._pins)
        for view, figure in zip(self.figures, roofline_figures(self.roofline), strict=True):
            view.show_figure(figure)
        self.card.show_roofline(self.roofline)
        for handle in self.handles.values():
            handle.show_dot(self.roofline)
        for chip, pin in zip(self.pin_chips, self.roofline.pins, strict=True):
            chip.show_problem(pin.problem)
        self.plot.show_roofline(self.roofline, fresh)
        self._explain()

    def moment_in_words(self) -> str:
        return f"{explain(self.roofline, NOW).spoken} {describe_roofline(self.roofline)}"

    def say_moment(self) -> None:
        super().say_moment()
        self.note.say(explain(self.roofline, self._noticed).spoken)

    def fit(self) -> None:
        self.plot.fit()

    def fit_all(self) -> None:
        self.plot.fit()

    def zoom(self, factor: float) -> None:
        self.plot.zoom(factor)

    def pan(self, share: float) -> None:
        self.plot.pan(share)

    @Slot(str)
    def _notice(self, what: str) -> None:
        dragged = [phase for phase, handle in self.handles.items() if handle.is_dragged]
        focused = [phase for phase, handle in self.handles.items() if handle.hasFocus() and not what]
        self._noticed = (dragged or ([what] if what else focused) or [NOW])[0]
        self._explain()

    def _explain(self) -> None:
        self.note.show_note(explain(self.roofline, self._noticed))

    # --- dots ----------------------------------------------------------------------------------

    @Slot()
    def _put_handles(self) -> None:
        frame = self.plot.frame
        places = {dot.phase: (dot.x, dot.y) for dot in self.roofline.dots}
        for phase, handle in self.handles.items():
            place = places.get(phase)
            is_shown = frame is not None and place is not None and frame.shows(place)
            if is_shown and frame is not None and place is not None:
                handle.put(*frame.px(place))
            handle.setVisible(is_shown or handle.is_dragged)

    def _drag(self, phase: str, x_px: float, y_px: float) -> None:
        frame = self.plot.frame
        if frame is not None:
            path = self.roofline.path_of(phase)
            size = path.nearest(*frame.place(x_px, y_px), frame.px_per_x, frame.px_per_y)
            self._edit(phase, snapped(size))

    def _edit(self, phase: str, size: int) -> None:
        path = self.roofline.path_of(phase)
        size = min(max(size, path.lowest), path.highest)
        if size != path.size:
            self.edited.emit(path.edit(size))

    # --- pins ----------------------------------------------------------------------------------

    @property
    def pins(self) -> tuple[str, ...]:
        """The names of the pinned accelerators."""
        return tuple(pin.name for pin in self._pins)

    def set_pins(self, names: tuple[str, ...]) -> None:
        """Pins these accelerators and no others; unknown names are left out."""
        found: list[Accelerator] = []
        for name in names:
            try:
                accelerator = self._catalogue.accelerator(name)
            except InputError:
                continue
            if accelerator not in found:
                found.append(accelerator)
        self._pins = tuple(found[:PINS_MOST])
        for chip in self.pin_chips:
            chip.hide()
            chip.deleteLater()
        self.pin_chips = []
        previous: QWidget = self.pin_button
        for name in self.pins:
            chip = PinChip(name, self)
            chip.set_look(self.theme, self.scale)
            chip.clicked.connect(partial(self.unpin, name))
            chip.noticed.connect(self._notice_pin)
            chip.show()
            QWidget.setTabOrder(previous, chip)
            previous = chip
            self.pin_chips.append(chip)
        self.pin_button.setEnabled(len(self._pins) < PINS_MOST)
        self._noticed = NOW
        self._build()
        self._lay_out()
        self.pinned.emit(self.pins)

    @Slot(str)
    def pin(self, name: str) -> None:
        """Adds an accelerator."""
        self.set_pins((*self.pins, name))

    def unpin(self, name: str, *_: object) -> None:
        """Takes an accelerator out."""
        was_focused = any(chip.hasFocus() for chip in self.pin_chips)
        self.set_pins(tuple(pin for pin in self.pins if pin != name))
        if was_focused:
            (self.pin_chips[-1] if self.pin_chips else self.pin_button).setFocus()

    def _notice_pin(self, name: str) -> None:
        full = [pin.name for pin in self.roofline.pins if name and pin.name.endswith(name)]
        self._notice(PIN + full[0] if full else "")

    def pin_choices(self) -> tuple[Choice, ...]:
        """The accelerators that can be pinned: all but the one at work and those that are."""
        weights = self._result.model.kernel_dtype
        shown = {self._result.accelerator.name, *self.pins}
        found = []
        for a in self._catalogue.accelerators:
            math = next((name for name in DTYPES[weights].math if name in a.peak_flops_per_s), None)
            if math is not None and a.name not in shown:
                detail = (
                    f"{DTYPES[math].title} {si(a.peak_flops_per_s[math], 'FLOP/s')} · "
                    f"{si(a.memory_bandwidth_bytes_per_s, 'B/s')} · "
                    f"ridge {significant(a.ridge_flops_per_byte(math))}"
                )
                found.append(Choice(a.name, a.name, detail, " ".join((a.vendor, *a.aliases))))
        return tuple(found)

    @Slot()
    def open_pins(self) -> None:
        """Opens the list of accelerators to pin."""
        popup = ChoicePopup(self.pin_choices(), "", self.theme, self.scale, self, self._near)
        popup.chosen.connect(self.pin)
        popup.open_below(self.pin_button)

    def _near(self, text: str) -> list[str]:
        return list(self._catalogue.nearest_accelerators(text))

    # --- look and layout -----------------------------------------------------------------------

    def set_look(self, theme: Theme, scale: float) -> None:
        """Another theme or scale."""
        self.theme, self.scale = theme, scale
        self._lay_out()
        for view in (*self.figures, self.card, self.note):
            view.set_look(theme, scale)
        for button in (self.pin_button, *self.pin_chips):
            button.set_look(theme, scale)
        for handle in self.handles.values():
            handle.set_look(theme, scale)
        self.plot.set_look(theme, scale)
        self._lay_out()
        self.update()

    def resizeEvent(self, event: QEvent) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        s = self.scale
        layout = roofline_layout(Box(0, 0, self.width(), self.height()), s)
        for view, box in zip(self.figures, layout.figures, strict=True):
            view.place(box)
        card, tools = layout.chart, layout.tools
        self.card.place(card)
        self.note.place(layout.explanation)
        outer = outer_box(layout.plot, s)
        self.plot.setGeometry(round(outer.x), round(outer.y), round(outer.w), round(outer.h))
        x = tools.x
        for button in (self.pin_button, *self.pin_chips):
            width = button.needed_width()
            button.place(Box(x, tools.y, width, tools.h))
            x += width + 8 * s
        hint = Box(x + 8 * s, tools.y, max(tools.right - x - 8 * s, 0.0), tools.h)
        self.card.lay_out(layout.header.moved(-card.x, -card.y), hint.moved(-card.x, -card.y))

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as p:
            p.fillRect(event.rect(), colour(self.theme.window))
