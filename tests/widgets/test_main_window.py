"""The window as a whole: the lesson in it, room for everything, and nothing that takes it down."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QRect, Qt, QTimer
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from stage_parts import RequestParts

from pdviz.evaluation import evaluate
from pdviz.scenario import PRESETS, Scenario
from pdviz.scene.marks.theme import DARK, LIGHT
from pdviz.widgets.kit.buttons import PaintedButton
from pdviz.widgets.kit.view import PaintedView
from pdviz.widgets.request.meters import MetersView
from pdviz.widgets.shell.window import LEAST_HEIGHT, LEAST_WIDTH, MainWindow

Key, LEFT = Qt.Key, Qt.MouseButton.LeftButton
Open = Callable[..., MainWindow]
SIZES = [(1024, 640), (1280, 720), (1366, 768), (1920, 1080), (2560, 1440), (3840, 2160), (1024, 1400)]
each_size = pytest.mark.parametrize(("width", "height"), SIZES, ids=str)
WARNED = Scenario(model="Llama 3.1 405B", prompt_tokens=200_000, others=512)


def shown(window: QWidget) -> Iterator[QWidget]:
    """Every widget of the window that can be seen."""
    for widget in window.findChildren(QWidget):
        if widget.isVisibleTo(window) and not widget.isWindow():
            yield widget


def show(window: MainWindow, scenario: Scenario) -> None:
    window.store.put(scenario)
    window.store.flush()
    QCoreApplication.processEvents()


def picture(widget: QWidget) -> QImage:
    return widget.grab().toImage()


# --- the lesson ----------------------------------------------------------------------------------


def test_that_a_prompt_of_128_tokens_turns_the_block_blue_and_the_compute_meter_falls(
    window: MainWindow, qtbot: QtBot
) -> None:
    request = window.views["request"]
    window.player.seek(0.0)
    assert request.figures[0].accessibleDescription().endswith("compute-bound prefill")
    assert RequestParts(request.stage.stage).blocks[0].bound == "compute"
    request.say_moment()
    before = request.meters.accessibleDescription()
    assert "compute 55.0 %" in before
    edit = window.panel.edits["prompt_tokens"]
    edit.setFocus()
    qtbot.keyClicks(edit, "128")
    qtbot.keyClick(edit, Key.Key_Return)
    qtbot.waitUntil(lambda: window.store.result.scenario.prompt_tokens == 128, timeout=1_000)
    assert request.figures[0].accessibleDescription().endswith("bandwidth-bound prefill")
    block = RequestParts(request.stage.stage).blocks[0]
    assert (block.first, block.bound) == (0, "bandwidth")
    request.say_moment()
    after = request.meters.accessibleDescription()
    assert "compute 32.6 %" in after
    assert "bandwidth-bound" in after


def test_that_63_others_make_the_train_taller_and_itl_29_percent_longer(window: MainWindow) -> None:
    def train_height() -> float:
        blocks = RequestParts(window.views["request"].stage.stage).blocks
        return next(block.box.h for block in blocks if block.first > 0)

    alone, low = window.store.result, train_height()
    show(window, Scenario(others=63))
    busy = window.store.result
    step = 9.0 * window.scale  # the foot that a single token stands on
    assert train_height() > low + step
    assert alone.itl_s is not None
    assert busy.itl_s is not None
    assert busy.itl_s / alone.itl_s == pytest.approx(1.29, abs=0.01)
    assert "8.32 ms" in window.views["request"].figures[1].accessibleDescription()
    assert "64 streams" in window.views["request"].figures[4].accessibleDescription()


def test_that_the_meters_move_with_the_playhead(window: MainWindow) -> None:
    looks = []
    for time_s in (0.0, 0.1):
        window.player.seek(time_s)
        window.views["request"].say_moment()
        looks.append(picture(window.views["request"].meters))
    assert looks[0] != looks[1]
    assert window.views["request"].meters.accessibleDescription().startswith("Now: decode")


def test_that_tokens_appear_at_their_moments(window: MainWindow) -> None:
    request = window.store.result.request
    for number in (0, 1, 5, 60):
        window.player.seek(request.pass_end_s(number) - 1e-6)
        window.views["request"].say_moment()
        words = window.views["request"].answer.accessibleDescription()
        assert f"{number} of 128" in words if number else "waiting" in words
        window.player.seek(request.pass_end_s(number) + 1e-9)
        window.views["request"].say_moment()
        assert f"{number + 1} of 128" in window.views["request"].answer.accessibleDescription()


def test_that_what_does_not_fit_is_said_above_the_picture_that_is_drawn_all_the_same(
    window: MainWindow,
) -> None:
    assert not window.views["request"].warning.isVisible()
    show(window, WARNED)
    assert window.views["request"].warning.isVisible()
    assert "Does not fit" in window.views["request"].warning.accessibleDescription()
    assert "missing" in window.panel.memory.accessibleDescription()
    assert RequestParts(window.views["request"].stage.stage).is_marked
    assert RequestParts(window.views["request"].stage.stage).blocks
    show(window, Scenario())
    assert not window.views["request"].warning.isVisible()


# --- an edit and everything that follows it ------------------------------------------------------


def test_that_one_edit_shows_everywhere_at_once(window: MainWindow) -> None:
    views = [
        window.panel,
        *window.views["request"].figures[:3],
        window.views["request"].stage,
        window.transport.clock,
        window.top,
    ]
    before = [picture(view) for view in views]
    show(window, Scenario(prompt_tokens=4_096, weights_dtype="fp8"))
    for view, old in zip(views, before, strict=True):
        assert picture(view) != old, view.accessibleName()


def test_that_the_playhead_keeps_its_relative_place_while_a_control_is_dragged(window: MainWindow) -> None:
    window.player.seek(0.25 * window.store.result.e2e_s)
    for prompt in (600, 2_000, 32_768, 1, 512):
        window.store.edit(prompt_tokens=prompt)
        window.store.flush()
        assert window.player.time_s == pytest.approx(0.25 * window.store.result.e2e_s)


def test_that_undo_brings_back_every_pixel(window: MainWindow) -> None:
    window.player.seek(0.05)
    QCoreApplication.processEvents()
    before = {id(view): picture(view) for view in shown(window) if isinstance(view, PaintedView)}
    in_view = window.views["request"].stage.window_in_view
    show(window, PRESETS[1].apply(Scenario(weights_dtype="fp8", accelerator="L4")))
    window.store.undo()
    window.store.flush()
    window.player.seek(0.05)
    window.views["request"].stage.show_window(in_view)
    QCoreApplication.processEvents()
    for view in shown(window):
        if isinstance(view, PaintedView) and id(view) in before and view.accessibleName() != "Notice":
            assert picture(view) == before[id(view)], view.accessibleName()  # a notice is of the last edit


def test_that_the_buttons_for_undo_and_redo_are_live_when_there_is_something(
    window: MainWindow, qtbot: QtBot
) -> None:
    top = window.top
    assert (top.undo.isEnabled(), top.redo.isEnabled()) == (False, False)
    show(window, Scenario(others=63))
    assert (top.undo.isEnabled(), top.redo.isEnabled()) == (True, False)
    qtbot.mouseClick(top.undo, LEFT)
    qtbot.waitUntil(lambda: window.store.result.scenario == Scenario(), timeout=1_000)
    assert (top.undo.isEnabled(), top.redo.isEnabled()) == (False, True)
    qtbot.mouseClick(top.redo, LEFT)
    qtbot.waitUntil(lambda: window.store.result.scenario == Scenario(others=63), timeout=1_000)
    assert (top.undo.isEnabled(), top.redo.isEnabled()) == (True, False)


# --- sentences -----------------------------------------------------------------------------------


def test_that_a_refused_value_is_one_sentence_over_the_picture_that_goes_away(
    window: MainWindow, qtbot: QtBot
) -> None:
    edit = window.panel.edits["prompt_tokens"]
    for dismiss in (
        lambda: qtbot.mouseClick(window.toast, LEFT),
        lambda: qtbot.keyClick(window, Key.Key_Escape),
    ):
        edit.setFocus()
        edit.clear()
        qtbot.keyClicks(edit, "abc")
        qtbot.keyClick(edit, Key.Key_Return)
        assert window.toast.isVisible()
        assert len(window.toast.sentences) == 1
        assert "rompt must be a whole number" in window.toast.sentences[0]
        assert window.toast.accessibleDescription() == window.toast.sentences[0]
        assert window.rect().contains(window.toast.geometry())
        dismiss()
        assert not window.toast.isVisible()
    assert window.store.scenario == Scenario()


def test_that_a_message_about_a_mistake_goes_once_it_is_mended(window: MainWindow) -> None:
    window.panel.edit(prompt_tokens="abc")
    assert len(window.toast.sentences) == 1
    window.panel.edit(prompt_tokens="128")
    window.store.flush()
    assert window.toast.sentences == ()


def test_that_an_edit_that_fails_is_one_sentence_and_nothing_else_changes(window: MainWindow) -> None:
    show(window, Scenario(accelerator="TPU v5e"))
    before = picture(window.panel)
    window.panel.edit(weights_dtype="fp32")
    window.store.flush()
    QCoreApplication.processEvents()
    assert len(window.toast.sentences) == 1
    assert "TPU v5e" in window.toast.sentences[0]
    assert window.store.scenario == Scenario(accelerator="TPU v5e")
    assert picture(window.panel) == before


@each_size
def test_that_a_long_message_stays_inside_the_window(open_window: Open, width: int, height: int) -> None:
    window = open_window(width=width, height=height)
    window.toast.tell("Something that nobody expected has been said. " * 12, "And more.")
    assert window.rect().contains(window.toast.geometry())
    window.toast.dismiss()


# --- theme ---------------------------------------------------------------------------------------


def colour_at(widget: QWidget, x: int, y: int) -> QColor:
    return picture(widget).pixelColor(x, y)


def test_that_dark_and_light_repaint_everything_and_back_again_is_the_same(
    window: MainWindow, qtbot: QtBot
) -> None:
    views = [view for view in shown(window) if isinstance(view, (PaintedView, PaintedButton))]
    dark = {id(view): picture(view) for view in views}
    assert window.theme is DARK
    qtbot.mouseClick(window.top.look, LEFT)
    assert window.theme is LIGHT
    QCoreApplication.processEvents()
    for view in views:
        if view.width() and view.height():
            assert picture(view) != dark[id(view)], view.accessibleName()
    assert colour_at(window, 2, window.height() // 2).name() == LIGHT.window
    qtbot.mouseClick(window.top.look, LEFT)
    window.setFocus()
    QCoreApplication.processEvents()
    assert window.theme is DARK
    for view in views:
        if view is not window.top.look:  # the cursor stands on it
            assert picture(view) == dark[id(view)], view.accessibleName()


# --- room ----------------------------------------------------------------------------------------


def is_inside_its_parent(widget: QWidget) -> bool:
    parent = widget.parentWidget()
    return parent is None or parent.rect().contains(widget.geometry()) or widget.size().isEmpty()


@each_size
@pytest.mark.parametrize("scenario", [Scenario(), WARNED], ids=["calm", "warned"])
def test_that_nothing_leaves_its_parent_and_no_neighbours_overlap(
    open_window: Open, width: int, height: int, scenario: Scenario
) -> None:
    window = open_window(scenario, width, height)
    inside = [window.panel, *window.panel.findChildren(QWidget)]  # has a test of its own, it may scroll
    for widget in shown(window):
        if widget not in inside:
            assert is_inside_its_parent(widget), (type(widget).__name__, widget.accessibleName())
    for parent in (window, window.top, window.views["request"]):
        children = [
            c for c in parent.children() if isinstance(c, QWidget) and c.isVisible() and not c.isWindow()
        ]
        children = [c for c in children if not c.size().isEmpty()]
        for one, other in itertools.combinations(children, 2):
            names = (
                one.accessibleName() or type(one).__name__,
                other.accessibleName() or type(other).__name__,
            )
            assert not one.geometry().intersects(other.geometry()), names


@each_size
def test_that_the_stage_has_the_largest_part_of_the_view(open_window: Open, width: int, height: int) -> None:
    window = open_window(width=width, height=height)
    stage, view = window.views["request"].stage, window.views["request"]
    assert stage.width() > 0.6 * view.width()
    assert stage.height() > 0.3 * view.height()
    assert RequestParts(stage.stage).layout.plot.h > 60 * window.scale


def test_that_the_window_cannot_be_made_too_small(window: MainWindow) -> None:
    assert (window.minimumWidth(), window.minimumHeight()) == (LEAST_WIDTH, LEAST_HEIGHT) == (800, 450)


@pytest.mark.parametrize(
    "kept", [(-5_000, -5_000, 1200, 800), (50_000, 90_000, 1200, 800), (0, 0, 9_000, 9_000)]
)
def test_that_a_window_remembered_from_another_screen_opens_on_this_one(
    open_window: Open, folder: str, kept: tuple[int, int, int, int]
) -> None:
    Path(folder).mkdir()
    (Path(folder) / "settings.json").write_text(json.dumps({"window": kept}))
    window = open_window()
    window.restore_geometry()
    screen = QApplication.primaryScreen().availableGeometry()
    assert screen.intersects(window.geometry())
    assert screen.contains(window.geometry().topLeft()) or window.geometry().topLeft() == screen.topLeft()


# --- assistive technology ------------------------------------------------------------------------


@pytest.mark.parametrize("view", ["request", "roofline", "shapes"])
def test_that_every_painted_widget_has_a_name(window: MainWindow, view: str) -> None:
    window.show_view(view)
    show(window, WARNED)
    window.toast.tell("A message.")
    named = [w for w in shown(window) if isinstance(w, (PaintedView, PaintedButton))]
    assert len(named) > 30
    for widget in named:
        assert widget.accessibleName().strip(), (type(widget), widget.geometry())
    window.toast.dismiss()


def test_that_figures_meters_memory_and_stage_say_their_values(window: MainWindow) -> None:
    window.player.seek(0.1)
    window.views["request"].say_moment()
    for widget in (
        *window.views["request"].figures,
        window.views["request"].meters,
        window.views["request"].stage,
        window.views["request"].answer,
        window.panel.memory,
        *window.panel.sliders.values(),
    ):
        assert any(letter.isdigit() for letter in widget.accessibleDescription()), widget.accessibleName()


def test_that_the_moment_is_said_once_the_playhead_rests(window: MainWindow, qtbot: QtBot) -> None:
    window.player.seek(0.3)
    stage = window.views["request"].stage
    qtbot.waitUntil(lambda: "decode pass" in stage.accessibleDescription(), timeout=2_000)


# --- playing -------------------------------------------------------------------------------------


def running(window: MainWindow) -> bool:
    return any(timer.isActive() for timer in window.player.findChildren(QTimer))


def test_that_time_moves_while_playing_and_frames_stop_when_nobody_can_see_them(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.player.set_playing(True)
    before = window.player.time_s
    qtbot.waitUntil(lambda: window.player.time_s > before, timeout=1_000)
    assert running(window)
    window.hide()
    assert not running(window)
    window.show()
    assert running(window)
    window.showMinimized()
    QCoreApplication.processEvents()
    assert not running(window)
    window.showNormal()
    QCoreApplication.processEvents()
    assert running(window)
    window.close()
    assert not running(window)
    assert not window.player.clock.is_playing


def test_that_a_frame_repaints_only_what_has_moved(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.player.seek(0.05)
    QCoreApplication.processEvents()
    painted: list[str] = []
    for kind in {type(view) for view in shown(window) if isinstance(view, PaintedView)}:
        real = kind.paint

        def counted(self: PaintedView, p: object, dirty: object, real: Callable[..., None] = real) -> None:
            painted.append(type(self).__name__)
            real(self, p, dirty)

        monkeypatch.setattr(kind, "paint", counted)
    window.player.seek(0.0505)
    QCoreApplication.processEvents()
    assert "RequestStage" in painted
    assert not {"FigureView", "MemoryView", "LogSlider", "AnswerView", "MetersView"} & set(painted)


# --- mistakes in drawing -------------------------------------------------------------------------


def break_(*_: object, **__: object) -> None:
    raise ZeroDivisionError("a mistake in drawing")


def test_that_a_mistake_in_drawing_takes_nothing_down_and_is_logged_once(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(MetersView, "paint", break_)
    with caplog.at_level(logging.ERROR):
        for _ in range(5):
            picture(window)
    assert len(caplog.records) == 1
    assert "MetersView" in caplog.records[0].message
    assert caplog.records[0].exc_info
    spot = window.views["request"].meters.geometry().center()
    where = window.views["request"].mapTo(window, spot)
    assert colour_at(window, where.x(), where.y()).name() == window.theme.surface


def test_that_a_mistake_in_every_view_still_leaves_a_window_that_works(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot, caplog: pytest.LogCaptureFixture
) -> None:
    views = [view for view in shown(window) if isinstance(view, PaintedView)]
    for kind in {type(view) for view in views}:
        monkeypatch.setattr(kind, "paint", break_)
    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            picture(window)
    assert len(caplog.records) == len([view for view in views if not view.size().isEmpty()])
    qtbot.mouseClick(window.panel.chips[1], LEFT)
    window.store.flush()
    assert window.store.scenario == PRESETS[1].apply(Scenario())


def test_that_a_mistake_in_drawing_a_button_takes_nothing_down(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot, caplog: pytest.LogCaptureFixture
) -> None:
    for kind in {type(button) for button in shown(window) if isinstance(button, PaintedButton)}:
        monkeypatch.setattr(kind, "paint", break_)
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            picture(window)
    buttons = [button for button in shown(window) if isinstance(button, PaintedButton)]
    assert len(caplog.records) == len(buttons)
    qtbot.mouseClick(window.panel.chips[1], LEFT)
    window.store.flush()
    assert window.store.scenario == PRESETS[1].apply(Scenario())


# --- closing -------------------------------------------------------------------------------------


def test_that_closing_remembers_the_window_the_theme_the_speed_and_the_scenario(
    open_window: Open, folder: str
) -> None:
    window = open_window()
    show(window, Scenario(prompt_tokens=128, others=7))
    window.set_theme_choice("light")
    window.player.set_rate(0.02)
    window.player.set_loop(False)
    window.setGeometry(30, 40, 1100, 700)
    window.close()
    kept = json.loads((Path(folder) / "settings.json").read_text())
    assert kept["theme"] == "light"
    assert kept["rate"] == 0.02
    assert kept["loops"] is False
    assert kept["window"] == [30, 40, 1100, 700]
    assert kept["scenario"]["prompt"] == 128
    again = open_window(theme=None)
    again.restore_geometry()
    assert again.store.scenario == Scenario(prompt_tokens=128, others=7)
    assert again.theme is LIGHT
    assert (again.player.clock.rate, again.player.clock.loops) == (0.02, False)
    screen = QApplication.primaryScreen().availableGeometry()
    assert again.geometry() == QRect(30, 40, 1100, 700) or not screen.contains(QRect(30, 40, 1100, 700))


def test_that_the_result_shown_is_the_one_of_the_scenario(window: MainWindow) -> None:
    for scenario in (
        Scenario(others=63),
        Scenario(model="Phi-4 14B", accelerator="L4"),
        Scenario(output_tokens=1),
    ):
        show(window, scenario)
        expected = evaluate(scenario)
        assert window.store.result.request == expected.request
        assert window.player.clock.whole_s == expected.e2e_s
        stage = RequestParts(window.views["request"].stage.stage)
        end = stage.overview_axis.to_px(expected.e2e_s)
        assert end == pytest.approx(stage.layout.overview.right, abs=1)


def test_that_a_click_on_the_notes_shows_all_of_them(qtbot: QtBot, window: MainWindow) -> None:
    window.resize(1280, 720)
    window.store.edit(model="DeepSeek V3", accelerators="8", weights_dtype="published")
    window.store.flush()
    QApplication.processEvents()
    warning = window.views["request"].warning
    assert warning.isVisible()
    qtbot.mouseClick(warning, Qt.MouseButton.LeftButton)
    shown = window.explainer.shown
    assert shown is not None
    assert shown.key == "remarks"
    result = window.store.result
    assert all(sentence in shown.summary for sentence in (*result.warnings, *result.notes))
