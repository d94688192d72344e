"""The stage under the hand: zoom, pan, seek, measure and hover as in a trace viewer."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QCoreApplication, QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from stage_parts import RequestParts

import pdviz
from pdviz.evaluation import Result, evaluate
from pdviz.scenario import Scenario
from pdviz.scene.marks.axis import Window, automatic_window
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import DARK, LIGHT
from pdviz.widgets.request.stage import RequestStage
from pdviz.widgets.stage.paint import open_stretches

Key = Qt.Key
LEFT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton
CONTROL, SHIFT, PLAIN = (
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.NoModifier,
)


class Held:
    """A stage in a window of its own, and the moments that it asked for."""

    def __init__(self, bot: QtBot, scenario: Scenario | None = None) -> None:
        self.bot = bot
        self.result: Result = evaluate(scenario or Scenario())
        self.view = RequestStage(self.result)
        self.view.set_look(DARK, 1.0)
        self.asked: list[float] = []
        self.view.seeked.connect(self.asked.append)
        self.view.seeked.connect(self.view.set_time)  # as the window does, through the player
        bot.addWidget(self.view)
        self.view.resize(1_100, 560)
        self.view.show()
        self.view.activateWindow()
        bot.waitUntil(lambda: QApplication.activeWindow() is self.view, timeout=2_000)
        QCoreApplication.processEvents()

    @property
    def window(self) -> Window:
        return self.view.window_in_view

    @property
    def parts(self) -> RequestParts:
        return RequestParts(self.view.stage)

    @property
    def plot(self) -> Box:
        return self.parts.layout.plot

    def settle(self) -> None:
        """Lets a jump of the view come to its end."""
        seen: list[Window] = []

        def is_still() -> bool:
            seen.append(self.view.window_in_view)
            return len(seen) >= 3 and seen[-1] == seen[-2] == seen[-3]

        self.bot.wait(170)
        self.bot.waitUntil(is_still, timeout=2_000)

    def at(self, time_s: float, y: float | None = None) -> QPoint:
        """The point of a moment, above the blocks unless ``y`` says otherwise."""
        return QPoint(round(self.view.stage.axis.to_px(time_s)), round(self.plot.y + 8 if y is None else y))

    def time_at(self, point: QPoint) -> float:
        return self.view.stage.axis.to_s(point.x())

    def wheel(
        self, at: QPoint, x: int = 0, y: int = 0, modifiers: Qt.KeyboardModifier = PLAIN, pixels: bool = False
    ) -> None:
        delta, none = QPoint(x, y), QPoint()
        event = QWheelEvent(
            QPointF(at),
            QPointF(self.view.mapToGlobal(at)),
            delta if pixels else none,
            none if pixels else delta,
            Qt.MouseButton.NoButton,
            modifiers,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(self.view, event)

    def drag(
        self,
        start: QPoint,
        end: QPoint,
        button: Qt.MouseButton = LEFT,
        modifiers: Qt.KeyboardModifier = PLAIN,
    ) -> None:
        self.bot.mousePress(self.view, button, modifiers, start)
        for share in (0.25, 0.5, 0.75, 1.0):
            step = (QPointF(start) * (1 - share) + QPointF(end) * share).toPoint()
            self.bot.mouseMove(self.view, step)
        self.bot.mouseRelease(self.view, button, modifiers, end)


@pytest.fixture
def held(qtbot: QtBot) -> Held:
    return Held(qtbot)


def is_inside(window: Window, whole_s: float) -> bool:
    return -1e-12 <= window.start_s < window.end_s <= whole_s * (1 + 1e-12)


# --- zoom ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("notches", [1, -1, 2, -3])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.9])
def test_that_the_wheel_zooms_about_the_cursor(held: Held, notches: int, share: float) -> None:
    held.view.show_window(Window(0.3, 0.5))
    at = QPoint(round(held.plot.x + share * held.plot.w), round(held.plot.y + 20))
    under, span = held.time_at(at), held.window.span_s
    held.wheel(at, y=120 * notches, modifiers=CONTROL)
    assert held.time_at(at) == pytest.approx(under, abs=1e-6)
    assert (held.window.span_s < span) == (notches > 0)
    assert held.window.span_s != span


def test_that_half_a_notch_zooms_half_as_far(held: Held) -> None:
    held.view.show_window(Window(0.3, 0.5))
    at = held.at(0.4)
    held.wheel(at, y=60, modifiers=CONTROL)
    held.wheel(at, y=60, modifiers=CONTROL)
    twice = held.window.span_s
    held.view.show_window(Window(0.3, 0.5))
    held.wheel(at, y=120, modifiers=CONTROL)
    assert held.window.span_s == pytest.approx(twice)


def test_that_one_event_never_zooms_out_of_sight(held: Held) -> None:
    held.view.show_window(Window(0.3, 0.5))
    held.wheel(held.at(0.4), y=12_000, modifiers=CONTROL)
    assert held.window.span_s > 0.1 * 0.2


@given(
    st.lists(
        st.tuples(st.integers(-2_000, 2_000), st.integers(-2_000, 2_000), st.booleans(), st.booleans()),
        max_size=12,
    )
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_that_no_wheel_leads_out_of_the_request(held: Held, turns: list[tuple[int, int, bool, bool]]) -> None:
    for x, y, zooms, pixels in turns:
        held.wheel(QPoint(600, 200), x, y, CONTROL if zooms else PLAIN, pixels)
        assert is_inside(held.window, held.result.e2e_s)
        assert held.window.span_s >= 1e-3 * (held.result.itl_s or 0.0)


def test_that_zooming_by_keys_keeps_the_playhead_where_it_stands(held: Held) -> None:
    held.view.set_time(0.05)
    before = held.view.stage.axis.to_px(0.05)
    held.view.zoom(1.5, animate=False)
    assert held.view.stage.axis.to_px(0.05) == pytest.approx(before, abs=0.5)
    held.view.zoom(1.5)
    held.settle()
    assert held.view.stage.axis.to_px(0.05) == pytest.approx(before, abs=0.5)


def test_that_zooming_twice_quickly_goes_as_far_as_twice_slowly(held: Held) -> None:
    held.view.show_window(Window(0.3, 0.5))
    held.view.zoom(1.5)
    held.view.zoom(1.5)
    held.settle()
    assert held.window.span_s == pytest.approx(0.2 / 2.25)


# --- pan -----------------------------------------------------------------------------------------


def test_that_the_wheel_pans_across(held: Held) -> None:
    held.view.show_window(Window(0.3, 0.5))
    held.wheel(held.at(0.4), x=-120)
    assert held.window.start_s > 0.3
    assert held.window.span_s == pytest.approx(0.2)
    held.wheel(held.at(0.4), x=120)
    assert held.window.start_s == pytest.approx(0.3)


def test_that_a_touchpad_pans_by_as_much_as_the_fingers_move(held: Held) -> None:
    held.view.show_window(Window(0.3, 0.5))
    at = held.at(0.4)
    held.wheel(at, x=-50, pixels=True)
    assert held.time_at(QPoint(at.x() - 50, at.y())) == pytest.approx(0.4, abs=2e-4)


@pytest.mark.parametrize(("button", "modifiers"), [(LEFT, SHIFT), (MIDDLE, PLAIN)])
def test_that_a_drag_with_shift_or_the_middle_button_takes_the_time_along(
    held: Held, button: Qt.MouseButton, modifiers: Qt.KeyboardModifier
) -> None:
    held.view.show_window(Window(0.3, 0.5))
    start, end = held.at(0.42), held.at(0.36)
    under = held.time_at(start)
    held.drag(start, end, button, modifiers)
    assert held.time_at(end) == pytest.approx(under, abs=1e-6)
    assert held.window.span_s == pytest.approx(0.2)
    assert held.asked == []
    held.drag(held.at(0.4), QPoint(10_000, 200), button, modifiers)
    assert held.window.start_s == 0.0


def test_that_panning_by_keys_moves_a_share_and_stops_at_the_ends(held: Held) -> None:
    held.view.show_window(Window(0.3, 0.5))
    held.view.pan(0.25)
    held.settle()
    assert held.window.start_s == pytest.approx(0.35)
    for _ in range(30):
        held.view.pan(0.25)
    held.settle()
    assert held.window.end_s == pytest.approx(held.result.e2e_s)


# --- overview ------------------------------------------------------------------------------------


def test_that_the_frame_on_the_overview_can_be_dragged(held: Held) -> None:
    held.view.show_window(Window(0.3, 0.5))
    stage = held.parts
    strip = stage.layout.overview
    y = round(strip.y + strip.h / 2)
    middle = round(stage.view.x + stage.view.w / 2)
    held.drag(QPoint(middle, y), QPoint(middle + 100, y))
    moved = 100 / stage.overview_axis.px_per_s
    assert held.window.start_s == pytest.approx(0.3 + moved, abs=1e-6)
    assert held.window.span_s == pytest.approx(0.2)
    held.drag(QPoint(middle + 100, y), QPoint(5_000, y))
    assert held.window.end_s == pytest.approx(held.result.e2e_s)
    assert held.asked == []


def test_that_a_click_on_the_overview_brings_that_place_into_view(held: Held) -> None:
    held.view.show_window(Window(0.0, 0.1))
    strip = held.parts.layout.overview
    at = QPoint(round(held.parts.overview_axis.to_px(0.6)), round(strip.y + strip.h / 2))
    held.bot.mouseClick(held.view, LEFT, PLAIN, at)
    assert (held.window.start_s + held.window.end_s) / 2 == pytest.approx(0.6, abs=2e-3)
    assert held.window.span_s == pytest.approx(0.1)


def test_that_a_double_click_on_the_overview_shows_everything(held: Held) -> None:
    strip = held.parts.layout.overview
    held.bot.mouseDClick(held.view, LEFT, PLAIN, QPoint(round(strip.right - 20), round(strip.y + 10)))
    held.settle()
    assert held.window == Window(0.0, held.result.e2e_s)


# --- fit -----------------------------------------------------------------------------------------


def first_view(result: Result) -> Window:
    return automatic_window(result.ttft_s, result.itl_s, result.e2e_s)


def test_that_fit_shows_both_phases_and_again_everything_and_again_both(held: Held) -> None:
    held.view.show_window(Window(0.3, 0.31))
    held.view.zoom(1.1, animate=False)
    whole = Window(0.0, held.result.e2e_s)
    for expected in (first_view(held.result), whole, first_view(held.result)):
        held.view.fit()
        held.settle()
        assert held.window == expected


def test_that_fitting_twice_quickly_shows_everything(held: Held) -> None:
    held.view.zoom(3.0, animate=False)
    held.view.fit()
    held.view.fit()
    held.settle()
    assert held.window == Window(0.0, held.result.e2e_s)


# --- playhead ------------------------------------------------------------------------------------


def test_that_a_click_puts_the_playhead_there(held: Held) -> None:
    at = held.at(0.06)
    held.bot.mouseClick(held.view, LEFT, PLAIN, at)
    assert held.asked == [pytest.approx(held.time_at(at))]


def test_that_dragging_along_the_axis_takes_the_playhead_along_and_never_out_of_view(held: Held) -> None:
    y = held.parts.layout.ticks.y + 8
    held.drag(held.at(0.02, y), held.at(0.08, y))
    assert len(held.asked) >= 4
    assert held.asked == sorted(held.asked)
    assert held.asked[-1] == pytest.approx(0.08, abs=1e-3)
    held.drag(held.at(0.08, y), QPoint(5_000, round(y)))
    assert held.asked[-1] == held.window.end_s
    held.drag(held.at(0.08, y), QPoint(-5_000, round(y)))
    assert held.asked[-1] == held.window.start_s


def test_that_the_view_turns_like_a_page_when_the_playhead_leaves_it(held: Held) -> None:
    before = held.window
    held.view.set_time(before.end_s + 0.01)
    held.settle()
    assert held.window.span_s == pytest.approx(before.span_s)
    assert held.window.start_s < before.end_s + 0.01 < held.window.end_s


def test_that_a_view_which_the_user_has_moved_away_stays_where_it_is(held: Held) -> None:
    held.view.set_time(0.05)
    held.view.pan(3.0)
    held.settle()
    away = held.window
    assert away.start_s > 0.05
    for time_s in (0.06, 0.07, 0.08):
        held.view.set_time(time_s)
    held.settle()
    assert held.window == away


def test_that_the_present_moment_is_said(held: Held) -> None:
    held.view.set_time(0.0)
    assert "prefill" in held.view.spoken()
    held.view.set_time(0.5)
    assert "decode pass" in held.view.spoken()
    assert held.view.accessibleName()


# --- measure and hover ---------------------------------------------------------------------------


@pytest.mark.parametrize("backwards", [False, True])
def test_that_a_drag_measures_and_escape_clears(held: Held, backwards: bool) -> None:
    ends = [held.at(0.03), held.at(0.09)]
    start, end = reversed(ends) if backwards else ends
    held.drag(start, end)
    assert held.asked == []
    found = held.view.measured
    assert found is not None
    assert found.start_s == pytest.approx(held.time_at(ends[0]), abs=1e-6)
    assert found.end_s == pytest.approx(held.time_at(ends[1]), abs=1e-6)
    request = held.result.request
    assert found.tokens == request.tokens_out_at(found.end_s) - request.tokens_out_at(found.start_s)
    assert held.view.accessibleDescription() == found.words
    held.bot.keyClick(held.view, Key.Key_Escape)
    assert held.view.measured is None


def test_that_the_edges_of_a_measure_can_be_dragged(held: Held) -> None:
    held.drag(held.at(0.03), held.at(0.09))
    before = held.view.measured
    assert before is not None
    held.drag(held.at(0.09), held.at(0.11))
    after = held.view.measured
    assert after is not None
    assert after.start_s == pytest.approx(before.start_s, abs=1e-6)
    assert after.end_s == pytest.approx(0.11, abs=1e-3)
    held.drag(held.at(0.03), held.at(0.05))
    last = held.view.measured
    assert last is not None
    assert (last.start_s, last.end_s) == (pytest.approx(0.05, abs=1e-3), pytest.approx(after.end_s, abs=1e-6))


def test_that_a_measured_stretch_can_be_zoomed_to(held: Held) -> None:
    held.drag(held.at(0.03), held.at(0.05))
    held.view.zoom_to_measure()
    held.settle()
    found = held.view.measured
    assert found is not None
    assert held.window.start_s <= found.start_s < found.end_s <= held.window.end_s
    assert held.window.span_s <= 1.2 * (found.end_s - found.start_s)


def cards(held: Held) -> list[QWidget]:
    """What lies over the stage."""
    return [widget for widget in held.view.findChildren(QWidget) if widget.isVisible()]


def test_that_the_card_beside_the_cursor_is_about_the_block_under_it(held: Held) -> None:
    for block in held.parts.blocks[:4]:
        middle = QPoint(round(block.box.x + block.box.w / 2), round(block.box.bottom - 3))
        held.bot.mouseMove(held.view, middle)
        expected = "Prefill" if block.first == 0 else f"Decode pass {block.first} of 127"
        assert [card.accessibleDescription().startswith(expected) for card in cards(held)] == [True]
    held.bot.mouseMove(held.view, QPoint(round(held.plot.right - 5), round(held.plot.y + 3)))
    assert cards(held) == []


def test_that_the_card_stays_inside_the_stage(held: Held) -> None:
    held.view.fit_all()
    held.settle()
    layout = held.parts.layout
    ends = (layout.plot.x + 1, layout.plot.right - 2)
    for x, lane in itertools.product(ends, (layout.compute, layout.bandwidth)):
        held.bot.mouseMove(held.view, QPoint(round(x), round(lane.bottom - 2)))
        assert len(cards(held)) == 1
        assert held.view.rect().contains(cards(held)[0].geometry())


# --- another request -----------------------------------------------------------------------------


def test_that_a_view_at_first_follows_the_request_and_one_chosen_by_the_user_stays(held: Held) -> None:
    long = evaluate(Scenario(prompt_tokens=32_768))
    held.view.set_result(long)
    assert held.window == automatic_window(long.ttft_s, long.itl_s, long.e2e_s, first_view(held.result))
    held.view.zoom(2.0, animate=False)
    chosen = held.window
    held.view.set_result(evaluate(Scenario(prompt_tokens=32_000)))
    assert held.window == chosen
    held.view.set_result(held.result)
    assert is_inside(held.window, held.result.e2e_s)


def test_that_a_preset_puts_the_whole_lesson_back_in_view(held: Held) -> None:
    held.view.zoom(20.0, animate=False)
    short = evaluate(Scenario(prompt_tokens=128))
    held.view.set_result(short, fresh=True)
    held.settle()
    assert held.window == first_view(short)


@pytest.mark.parametrize(
    "scenario",
    [Scenario(output_tokens=1), Scenario(prompt_tokens=1, output_tokens=2), Scenario(output_tokens=10**7)],
    ids=["no decode", "two passes", "endless"],
)
def test_that_extreme_requests_can_be_handled_as_any_other(qtbot: QtBot, scenario: Scenario) -> None:
    held = Held(qtbot, scenario)
    whole = held.result.e2e_s
    middle = QPoint(round(held.plot.x + held.plot.w / 2), round(held.plot.y + 10))
    for turn in (120, 1_200, -120, -12_000):
        held.wheel(middle, y=turn, modifiers=CONTROL)
    held.view.zoom(1e9, animate=False)
    assert is_inside(held.window, whole)
    held.view.fit()
    held.view.fit()
    held.settle()
    held.drag(middle, middle + QPoint(120, 0))
    held.bot.mouseClick(held.view, LEFT, PLAIN, middle)
    held.view.set_time(whole)
    held.view.grab()


# --- picture -------------------------------------------------------------------------------------


def picture(held: Held) -> QImage:
    return held.view.grab().toImage()


def on_screen(held: Held) -> QImage:
    """What has really been painted, piece by piece."""
    QCoreApplication.processEvents()
    found = held.view.screen().grabWindow(held.view.winId()).toImage()
    return found.convertToFormat(QImage.Format.Format_RGB32)


def test_that_a_moving_playhead_leaves_no_trace(held: Held) -> None:
    on_screen(held)
    for time_s in (0.01, 0.011, 0.03, 0.0301, 0.09, 0.02, 0.1):
        held.view.set_time(time_s)
        assert on_screen(held) == picture(held).convertToFormat(QImage.Format.Format_RGB32)


TRACE = """
import sys
from PySide6.QtGui import QImage
from pdviz.app import load_look, make_application
from pdviz.evaluation import evaluate
from pdviz.scenario import Scenario
from pdviz.widgets.request.stage import RequestStage

application = make_application()
load_look()
view = RequestStage(evaluate(Scenario()))
view.resize(701, 401)
view.show()
for time_s in (0.0, 0.01, 0.011, 0.03, 0.0301, 0.05, 0.02):
    view.set_time(time_s)
    for _ in range(3):
        application.processEvents()
    painted = view.screen().grabWindow(view.winId()).toImage().convertToFormat(QImage.Format.Format_RGB32)
    whole = view.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    if painted != whole.copy(painted.rect()):
        sys.exit(f"a trace at {time_s}")
print(view.devicePixelRatioF())
"""


@pytest.mark.parametrize("factor", ["1.25", "1.75"])
def test_that_a_moving_playhead_leaves_no_trace_between_whole_scales(factor: str) -> None:
    environment = os.environ | {
        "QT_QPA_PLATFORM": "offscreen",
        "QT_SCALE_FACTOR": factor,
        "PYTHONPATH": str(Path(pdviz.__file__).parents[1]),
    }
    done = subprocess.run(
        [sys.executable, "-c", TRACE], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, factor), done.stderr


def test_that_the_picture_shows_the_theme_the_moment_and_the_request(held: Held) -> None:
    pictures = [picture(held)]
    held.view.set_time(0.06)
    pictures.append(picture(held))
    held.view.set_look(LIGHT, 1.0)
    pictures.append(picture(held))
    held.view.set_look(LIGHT, 1.2)
    pictures.append(picture(held))
    held.view.set_result(evaluate(Scenario(prompt_tokens=128)))
    pictures.append(picture(held))
    for one, other in itertools.pairwise(pictures):
        assert one != other


def test_that_the_playhead_strikes_no_text_through(held: Held) -> None:
    held.view.set_result(evaluate(Scenario(prompt_tokens=32_768)))
    stage = held.parts
    layout = stage.layout
    texts = [*stage.texts, *(d.text for d in stage.dimensions)]
    texts += stage.inside
    lengths = set()
    for i in range(200):
        x = layout.plot.x + i / 199 * layout.plot.w
        top, bottom = layout.wedge.bottom, layout.bandwidth.bottom
        stretches = open_stretches(stage.stage.texts, x, top, bottom, 1.0)
        assert top <= stretches[0][0]
        assert stretches[-1][1] == bottom
        for y0, y1 in stretches:
            assert y0 < y1
            for text in texts:
                assert not (text.box.x < x < text.box.right and y0 < text.box.bottom and text.box.y < y1)
        lengths.add(round(sum(y1 - y0 for y0, y1 in stretches)))
    assert len(lengths) > 1


def test_that_the_block_of_a_short_prompt_turns_blue(held: Held) -> None:
    held.view.set_time(held.result.e2e_s)
    colours = []
    for prompt in (512, 128):
        held.view.set_result(evaluate(Scenario(prompt_tokens=prompt)))
        held.view.show_window(first_view(held.result))
        block = held.parts.blocks[0]
        assert block.first == 0
        spot = QPoint(round(block.box.x + 0.9 * block.box.w), round(block.box.bottom - 3))
        colours.append(picture(held).pixelColor(spot).name())
    assert colours == [DARK.compute, DARK.bandwidth]
