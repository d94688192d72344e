"""The large roofline: dots that follow the cursor, accelerators that are pinned, notes on everything."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from pdviz.catalogue import default_catalogue
from pdviz.evaluation import evaluate
from pdviz.scenario import Scenario, edit
from pdviz.scene.marks.theme import DARK, LIGHT
from pdviz.scene.roofline.curves import DECODE, PREFILL
from pdviz.widgets.kit.choices import ChoicePopup
from pdviz.widgets.roofline.view import PINS_MOST, RooflineView


class Bench:
    """A view, and a store that carries its edits out at once."""

    def __init__(self, qtbot: QtBot, scenario: Scenario, size: tuple[int, int] = (1274, 720)) -> None:
        self.scenario = scenario
        self.edits: list[dict[str, int]] = []
        self.view = RooflineView(evaluate(scenario), default_catalogue())
        qtbot.addWidget(self.view)
        self.view.edited.connect(self.edit)
        self.view.resize(*size)
        self.view.show()
        settle()

    def edit(self, values: dict[str, int]) -> None:
        self.edits.append(values)
        self.scenario = edit(self.scenario, **values)
        self.view.show_result(evaluate(self.scenario), frozenset(values))

    def dot(self, phase: str) -> QPointF:
        """Where a dot is, in pixels of the plot."""
        frame = self.view.plot.frame
        assert frame is not None
        return next(QPointF(*frame.px((d.x, d.y))) for d in self.view.roofline.dots if d.phase == phase)

    def place(self, x: float, y: float) -> QPoint:
        frame = self.view.plot.frame
        assert frame is not None
        return QPointF(*frame.px((x, y))).toPoint()


def settle() -> None:
    for _ in range(4):
        QApplication.processEvents()


@pytest.fixture
def bench(qtbot: QtBot) -> Bench:
    return Bench(qtbot, Scenario())


@pytest.fixture
def benches(qtbot: QtBot) -> Callable[..., Bench]:
    return lambda scenario, *size: Bench(qtbot, scenario, *size)


# --- the chart -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.8, 1.0, 1.35])
def test_that_the_plot_fills_the_box_that_the_layout_gives_it(
    benches: Callable[..., Bench], scale: float
) -> None:
    view = benches(Scenario(), (round(1274 * scale), round(720 * scale))).view
    view.set_look(LIGHT, scale)
    settle()
    frame = view.plot.frame
    assert frame is not None
    corner = view.plot.viewport().mapTo(view, QPoint(0, 0))
    assert frame.limits == view.roofline.limits
    assert view.card.x() < corner.x() + frame.plot.x - 30 * scale
    assert corner.x() + frame.plot.right < view.card.geometry().right() - 15 * scale
    assert corner.y() + frame.plot.bottom < view.card.geometry().bottom() - 20 * scale


def test_that_handles_lie_on_their_dots(bench: Bench) -> None:
    for phase in (PREFILL, DECODE):
        handle = bench.view.handles[phase]
        assert handle.isVisible()
        off = QPointF(handle.geometry().center()) - bench.dot(phase)
        assert math.hypot(off.x(), off.y()) < 2


def test_that_a_request_for_one_token_has_no_handle_for_decode(bench: Bench) -> None:
    bench.edit({"output_tokens": 1})
    assert not bench.view.handles[DECODE].isVisible()
    bench.edit({"output_tokens": 9})
    assert bench.view.handles[DECODE].isVisible()


def test_that_the_note_follows_the_playhead(bench: Bench) -> None:
    view = bench.view
    view.show_time(0.0)
    assert view.note.note is not None
    assert view.note.note.title == "Now: prefill"
    view.show_time(0.1)
    assert view.note.note.title == "Now: decode"
    assert view.note.note.bound == "bandwidth"
    before = view.roofline
    view.show_time(0.1001)
    assert view.roofline is before


def test_that_the_theme_reaches_everything_that_is_painted(bench: Bench) -> None:
    for theme in (LIGHT, DARK):
        bench.view.set_look(theme, 1.0)
        settle()
        image = bench.view.grab().toImage()
        ratio = image.devicePixelRatio()
        dot = bench.view.plot.viewport().mapTo(bench.view, bench.dot(PREFILL).toPoint())
        assert image.pixelColor(round(dot.x() * ratio), round(dot.y() * ratio)).name() == theme.compute
        free = bench.view.plot.viewport().mapTo(bench.view, bench.place(0.3, 14.9))
        near = {image.pixelColor(free.x() + dx, free.y() + dy).name() for dx in range(12) for dy in range(12)}
        assert theme.surface in near


def test_that_there_is_no_menu_of_pyqtgraph(qtbot: QtBot, bench: Bench) -> None:
    qtbot.mouseClick(bench.view.plot.viewport(), Qt.MouseButton.RightButton, pos=QPoint(500, 300))
    settle()
    assert not [w for w in QApplication.topLevelWidgets() if isinstance(w, QMenu) and w.isVisible()]
    assert bench.view.plot.is_home


# --- dragging ------------------------------------------------------------------------------------


def drag(qtbot: QtBot, bench: Bench, phase: str, to: QPoint, steps: int = 6) -> None:
    """Presses on a dot and moves the mouse to a pixel of the plot."""
    handle = bench.view.handles[phase]
    qtbot.mousePress(handle, Qt.MouseButton.LeftButton)
    start = handle.geometry().center()
    for step in range(1, steps + 1):
        at = start + (to - start) * (step / steps)
        qtbot.mouseMove(handle, handle.mapFromParent(at))
        settle()
    qtbot.mouseRelease(handle, Qt.MouseButton.LeftButton)


@pytest.mark.parametrize("x", [1.0, 1.5, 2.2, 3.5, 4.6])
def test_that_a_dragged_prefill_dot_stays_under_the_cursor(qtbot: QtBot, bench: Bench, x: float) -> None:
    target = bench.place(x, bench.view.roofline.reach.height(x))
    drag(qtbot, bench, PREFILL, target)
    assert set(bench.edits[-1]) == {"prompt_tokens"}
    off = bench.dot(PREFILL) - QPointF(target)
    assert math.hypot(off.x(), off.y()) < 6
    off = QPointF(bench.view.handles[PREFILL].geometry().center()) - bench.dot(PREFILL)
    assert math.hypot(off.x(), off.y()) < 2


@pytest.mark.parametrize("x", [0.5, 1.2, 1.9])
def test_that_a_dragged_decode_dot_changes_the_batch(qtbot: QtBot, bench: Bench, x: float) -> None:
    target = bench.place(x, bench.view.roofline.reach.height(x))
    drag(qtbot, bench, DECODE, target)
    assert set(bench.edits[-1]) == {"others"}
    assert bench.scenario.others > 0
    off = bench.dot(DECODE) - QPointF(target)
    assert math.hypot(off.x(), off.y()) < 14  # a batch is a whole number


def test_that_a_dot_is_dragged_to_the_ends_of_its_path_and_no_further(qtbot: QtBot, bench: Bench) -> None:
    drag(qtbot, bench, PREFILL, QPoint(-400, 900))
    assert bench.scenario.prompt_tokens == 1
    drag(qtbot, bench, PREFILL, QPoint(4_000, -300))
    assert bench.scenario.prompt_tokens == 131_072


def test_that_a_press_without_a_move_changes_nothing(qtbot: QtBot, bench: Bench) -> None:
    for phase in (PREFILL, DECODE):
        handle = bench.view.handles[phase]
        qtbot.mouseClick(handle, Qt.MouseButton.LeftButton, pos=QPoint(9, 12))
    assert bench.edits == []


def test_that_a_cached_prefix_stays_cached_while_the_prompt_is_dragged(
    qtbot: QtBot, benches: Callable[..., Bench]
) -> None:
    bench = benches(Scenario(prompt_tokens=2_048, cached_tokens=1_024))
    drag(qtbot, bench, PREFILL, QPoint(-400, 900))
    assert bench.scenario.prompt_tokens == 1_025
    assert bench.scenario.cached_tokens == 1_024


def test_that_the_note_speaks_of_the_dot_that_is_dragged(qtbot: QtBot, bench: Bench) -> None:
    bench.view.show_time(0.1)
    handle = bench.view.handles[PREFILL]
    qtbot.mousePress(handle, Qt.MouseButton.LeftButton)
    assert bench.view.note.note is not None
    assert bench.view.note.note.title == "Prefill"
    qtbot.mouseRelease(handle, Qt.MouseButton.LeftButton)


# --- keyboard ------------------------------------------------------------------------------------


def test_that_keys_move_the_focused_dot(qtbot: QtBot, bench: Bench) -> None:
    handle = bench.view.handles[PREFILL]
    handle.setFocus(Qt.FocusReason.TabFocusReason)
    for key, expected in (
        (Qt.Key.Key_Right, 538),
        (Qt.Key.Key_PageUp, 1_076),
        (Qt.Key.Key_PageDown, 538),
        (Qt.Key.Key_Home, 1),
        (Qt.Key.Key_Left, 1),
        (Qt.Key.Key_Right, 2),
        (Qt.Key.Key_End, 131_072),
    ):
        qtbot.keyClick(handle, key)
        assert bench.scenario.prompt_tokens == expected
    decode = bench.view.handles[DECODE]
    decode.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(decode, Qt.Key.Key_PageUp)
    assert bench.scenario.others == 1
    qtbot.keyClick(decode, Qt.Key.Key_End)
    assert bench.scenario.others == 1_023


def test_that_handles_and_buttons_have_names_and_are_reached_by_tab(bench: Bench) -> None:
    view = bench.view
    view.set_pins(("L4",))
    for widget in (*view.handles.values(), view.pin_button, *view.pin_chips, view.note, *view.figures):
        assert widget.accessibleName()
    assert "512 tokens" in view.handles[PREFILL].accessibleDescription()
    assert "bandwidth-bound" in view.handles[DECODE].accessibleDescription()
    for widget in (*view.handles.values(), view.pin_button, *view.pin_chips):
        assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    view.say_moment()
    assert "ridge at 295" in view.accessibleDescription()
    assert "FLOPs per byte" in view.note.accessibleDescription()


# --- zoom and pan --------------------------------------------------------------------------------


def wheel(bench: Bench, at: QPoint, delta: int) -> None:
    viewport = bench.view.plot.viewport()
    event = QWheelEvent(
        QPointF(at), QPointF(viewport.mapToGlobal(at)), QPoint(), QPoint(0, delta),
        Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(viewport, event)
    settle()


def test_that_the_wheel_zooms_about_the_cursor_and_a_double_click_shows_all(
    qtbot: QtBot, bench: Bench
) -> None:
    plot = bench.view.plot
    frame = plot.frame
    assert frame is not None
    at = bench.place(2.0, 14.0)
    under = frame.place(at.x(), at.y())
    wheel(bench, at, 240)
    assert not plot.is_home
    zoomed = plot.frame
    assert zoomed is not None
    assert zoomed.px_per_x > 1.2 * frame.px_per_x
    assert zoomed.place(at.x(), at.y()) == pytest.approx(under, abs=1e-6)
    qtbot.mouseDClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(500, 300))
    settle()
    assert plot.is_home


def test_that_zooming_out_stops_at_the_whole_chart_and_in_at_half_a_decade(bench: Bench) -> None:
    plot = bench.view.plot
    wheel(bench, QPoint(500, 300), -2_400)
    assert plot.is_home
    for _ in range(30):
        wheel(bench, QPoint(500, 300), 1_200)
    frame = plot.frame
    assert frame is not None
    assert frame.limits.x_high - frame.limits.x_low >= 0.5 - 1e-9
    bench.view.fit()
    assert plot.is_home


def test_that_a_zoomed_part_stays_in_view_until_a_fresh_result(bench: Bench) -> None:
    view = bench.view
    view.zoom(2.0)
    settle()
    zoomed = view.plot.frame
    assert zoomed is not None
    view.show_result(evaluate(Scenario(prompt_tokens=640)), frozenset())
    assert view.plot.frame is not None
    assert view.plot.frame.limits == zoomed.limits
    view.show_result(evaluate(Scenario(prompt_tokens=640)), frozenset(), fresh=True)
    assert view.plot.is_home


def test_that_another_accelerator_brings_its_own_limits(bench: Bench) -> None:
    bench.edit({"accelerator": "L4"})
    frame = bench.view.plot.frame
    assert frame is not None
    assert frame.limits == bench.view.roofline.limits
    assert bench.view.plot.is_home


# --- pointing ------------------------------------------------------------------------------------


def hover(bench: Bench, at: QPoint) -> None:
    """The mouse at a pixel of the plot, wherever it was before."""
    viewport = bench.view.plot.viewport()
    event = QMouseEvent(
        QEvent.Type.MouseMove, QPointF(at), QPointF(viewport.mapToGlobal(at)),
        Qt.MouseButton.NoButton, Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    QApplication.sendEvent(viewport, event)
    settle()


def test_that_pointing_at_a_line_explains_it(bench: Bench) -> None:
    view = bench.view
    view.set_pins(("L4",))
    settle()
    roofline = view.roofline
    pin = roofline.pins[0].roof
    assert pin is not None
    x = roofline.limits.x_high - 0.8
    for at, title in (
        ((roofline.peak.corner[0], roofline.limits.y_low + 0.6), "Ridge"),
        ((roofline.reach.corner[0], roofline.limits.y_low + 0.6), "Ridge of real kernels"),
        ((x, pin.height(x)), "L4"),
        ((0.3, 14.6), "Now: prefill"),
    ):
        hover(bench, bench.place(*at))
        assert view.note.note is not None
        assert view.note.note.title == title


# --- pins ----------------------------------------------------------------------------------------


def test_that_an_accelerator_is_pinned_from_the_list(qtbot: QtBot, bench: Bench) -> None:
    view = bench.view
    qtbot.mouseClick(view.pin_button, Qt.MouseButton.LeftButton)
    popup = view.findChild(ChoicePopup)
    assert popup is not None
    popup.search.setText("l40s")
    qtbot.keyClick(popup.search, Qt.Key.Key_Return)
    assert view.pins == ("L40S",)
    assert [pin.name for pin in view.roofline.pins] == ["L40S"]
    assert [chip.text() for chip in view.pin_chips] == ["L40S"]


def test_that_the_list_offers_what_can_be_pinned_and_is_not_yet(bench: Bench) -> None:
    bench.view.set_pins(("L4",))
    offered = {choice.key for choice in bench.view.pin_choices()}
    assert "H100 SXM" not in offered
    assert "L4" not in offered
    assert {"H200", "B200"} <= offered


@pytest.mark.parametrize("key", [Qt.Key.Key_Delete, Qt.Key.Key_Backspace, Qt.Key.Key_Return])
def test_that_a_pin_is_taken_out_by_click_and_by_key(qtbot: QtBot, bench: Bench, key: Qt.Key) -> None:
    view = bench.view
    view.set_pins(("L4", "H200"))
    with qtbot.waitSignal(view.pinned, timeout=500) as caught:
        qtbot.mouseClick(view.pin_chips[0], Qt.MouseButton.LeftButton)
    assert caught.args == [("H200",)]
    view.pin_chips[0].setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(view.pin_chips[0], key)
    assert view.pins == ()
    assert view.pin_button.hasFocus()


def test_that_pins_stay_few_distinct_and_known(bench: Bench) -> None:
    view = bench.view
    view.set_pins(("L4", "l4", "no such thing", "H200", "B200", "A100 80GB SXM", "L40S"))
    assert view.pins == ("L4", "H200", "B200", "A100 80GB SXM")
    assert len(view.pins) == PINS_MOST
    assert not view.pin_button.isEnabled()
    view.unpin("L4")
    assert view.pin_button.isEnabled()


def test_that_pins_survive_an_edit_and_count_as_many_accelerators(bench: Bench) -> None:
    bench.view.set_pins(("L4",))
    bench.edit({"accelerators": 2})
    assert [pin.name for pin in bench.view.roofline.pins] == ["2 × L4"]
    assert bench.view.pins == ("L4",)


def test_that_a_chip_under_the_mouse_explains_its_roof(qtbot: QtBot, bench: Bench) -> None:
    view = bench.view
    view.set_pins(("L4", "L40S"))
    bench.edit({"accelerators": 2})
    view.pin_chips[0].noticed.emit("L4")
    assert view.note.note is not None
    assert view.note.note.title == "2 × L4"
    view.pin_chips[0].noticed.emit("")
    assert view.note.note.title == "Now: prefill"


# --- layout --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(819, 544), (1024, 612), (1536, 918)])
def test_that_nothing_in_the_view_lies_on_anything_else(
    benches: Callable[..., Bench], size: tuple[int, int]
) -> None:
    view = benches(msgspec.structs.replace(Scenario(), others=3), size).view
    view.set_look(DARK, max(0.8, size[0] / 1280))
    view.set_pins(("L4", "H200"))
    settle()
    parts = [*view.figures, view.note, view.plot, view.pin_button, *view.pin_chips]
    for index, one in enumerate(parts):
        assert view.rect().contains(one.geometry()), one
        for other in parts[index + 1 :]:
            assert not one.geometry().intersects(other.geometry()), (one, other)
    assert view.card.geometry().contains(view.plot.geometry())
