"""The server view in the window: it simulates, plays, jumps, scrolls, answers and speaks."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from pdviz.evaluation import Result
from pdviz.export import render
from pdviz.jobs import Job
from pdviz.scenario import Scenario
from pdviz.scene.marks.theme import LIGHT
from pdviz.scene.request.timeline import RequestTimeline
from pdviz.scene.server.crowd import Crowd
from pdviz.scene.server.lanes import Lanes
from pdviz.scene.server.streams import Streams
from pdviz.scene.server.timeline import ServerTimeline
from pdviz.widgets.server import view as server_view
from pdviz.widgets.server.stage import ServerStage
from pdviz.widgets.server.view import ServerView
from pdviz.widgets.shell.window import MainWindow

STALL_S = 0.651078


def open_server(window: MainWindow, qtbot: QtBot) -> ServerView:
    window.set_reduced_motion(True)
    window.show_view("server")
    view = window.current
    assert isinstance(view, ServerView)
    qtbot.waitUntil(lambda: view.stage is not None, timeout=10_000)
    return view


def stage_of(view: ServerView) -> ServerStage:
    assert view.stage is not None
    return view.stage


@pytest.fixture
def view(window: MainWindow, qtbot: QtBot) -> ServerView:
    return open_server(window, qtbot)


@pytest.fixture
def busy(open_window: Callable[..., MainWindow], qtbot: QtBot) -> ServerView:
    """Four hundred chats."""
    return open_server(open_window(Scenario(workload="chat")), qtbot)


def edit(window: MainWindow, view: ServerView, qtbot: QtBot, **values: object) -> None:
    window.store.edit(**values)
    window.store.flush()
    qtbot.waitUntil(lambda: not view.is_waiting, timeout=10_000)


def turn(stage: ServerStage, notches: int) -> None:
    box = stage.stage.rows(Streams)[0].box
    at, still = QPointF(box.x + box.w / 2, box.y + box.h / 2), QPoint(0, 0)
    event = QWheelEvent(
        at, QPointF(stage.mapToGlobal(at.toPoint())), still, QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(stage, event)


# --- simulated, then played ----------------------------------------------------------------------


def test_that_the_first_thing_shown_is_how_far_the_simulation_is(window: MainWindow) -> None:
    window.show_view("server")
    view = window.current
    assert isinstance(view, ServerView)
    assert view.wait.isVisible()
    assert isinstance(window.player.timeline, RequestTimeline)
    view.wait.show_share(0.25, "Simulating the server")
    assert view.wait.accessibleDescription() == "Simulating the server, 25.0 %"


def test_that_both_policies_are_shown_and_played_on_the_time_of_the_longer(
    window: MainWindow, view: ServerView
) -> None:
    line = window.player.timeline
    assert isinstance(line, ServerTimeline)
    assert window.player.clock.whole_s == line.duration_s == pytest.approx(1.605536, abs=1e-5)
    assert line.passes == 138
    assert [half.accessibleName() for half in view.halves] == ["Whole prompts first", "Chunked prefill"]
    assert all(half.isVisible() for half in view.halves)
    assert not view.wait.isVisible()


def test_that_meters_follow_the_pass_of_each_server(window: MainWindow, view: ServerView) -> None:
    window.seek(0.5)
    said = [half.spoken() for half in view.halves]
    assert "Longest gap 651 ms" in said[0]
    assert "16,384 prompt tokens, compute-bound: compute 55.0 %" in said[0]
    assert "Longest gap 22.9 ms" in said[1]
    assert "506 prompt tokens and 6 streams decoding" in said[1]
    window.seek(1.5)
    assert "bandwidth-bound: compute" in view.halves[0].spoken()


def test_that_the_moment_is_told_of_both_servers(window: MainWindow, view: ServerView) -> None:
    window.seek(0.5)
    words = view.moment_in_words()
    assert words.startswith("500 ms of 1.61 s. Whole prompts first: 16,384 prompt tokens")
    assert "6 stalled, for up to 651 ms" in words
    view.say_moment()
    assert stage_of(view).accessibleDescription() == words


def test_that_another_policy_is_simulated_and_undone(
    window: MainWindow, view: ServerView, qtbot: QtBot
) -> None:
    window.seek(0.8)
    edit(window, view, qtbot, against="none")
    assert not view.halves[1].isVisible()
    assert len(stage_of(view).stage.rows(Streams)) == 1
    edit(window, view, qtbot, policy="static")
    assert window.player.clock.whole_s == pytest.approx(2.108834, abs=1e-5)
    assert view.halves[0].accessibleName() == "Static"
    window.store.undo()
    window.store.undo()
    window.store.flush()
    qtbot.waitUntil(lambda: view.halves[1].isVisible(), timeout=10_000)
    assert window.player.clock.whole_s == pytest.approx(1.605536, abs=1e-5)


def test_that_what_is_of_the_single_request_alone_simulates_nothing(
    window: MainWindow, view: ServerView
) -> None:
    stage = stage_of(view).stage
    window.store.edit(prompt_tokens=640)
    window.store.flush()
    assert not view.is_waiting
    assert stage_of(view).stage is stage


def test_that_a_workload_that_cannot_be_is_one_sentence_and_the_way_back_works(
    window: MainWindow, view: ServerView, qtbot: QtBot
) -> None:
    edit(window, view, qtbot, workload="no such thing")
    assert view.wait.isVisible()
    assert "is no preset" in view.wait.accessibleDescription()
    assert not stage_of(view).isVisible()
    assert isinstance(window.player.timeline, RequestTimeline)
    assert view.moment_in_words() == ""
    edit(window, view, qtbot, workload="0:512>20")
    assert not view.wait.isVisible()
    assert isinstance(window.player.timeline, ServerTimeline)


def test_that_what_no_memory_holds_is_said(window: MainWindow, view: ServerView, qtbot: QtBot) -> None:
    edit(window, view, qtbot, workload="0:512>20", capacity_tokens=100)
    assert view.wait.accessibleDescription() == "No request of this workload fits the server's KV cache."


def test_that_the_stage_has_the_keyboard_once_it_is_there(window: MainWindow, qtbot: QtBot) -> None:
    qtbot.keyClick(window.current, Qt.Key.Key_4)
    view = open_server(window, qtbot)
    assert QApplication.focusWidget() is stage_of(view)


def test_that_a_simulation_that_takes_long_says_so_and_is_stopped_by_escape(
    window: MainWindow, view: ServerView, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = window.player.timeline

    def forever(result: Result, job: Job) -> None:
        while True:
            job.report(0.5, "Simulating the server")
            time.sleep(0.002)

    monkeypatch.setattr(server_view, "make_ready", forever)
    window.store.edit(token_budget=256)
    window.store.flush()
    qtbot.waitUntil(view.wait.isVisible, timeout=5_000)
    assert view.wait.accessibleDescription() == "Simulating the server, 50.0 %"
    assert view.wait.height() < 0.2 * view.height()
    assert stage_of(view).isVisible()
    qtbot.keyClick(stage_of(view), Qt.Key.Key_Escape)
    assert not view.is_waiting
    assert not view.wait.isVisible()
    assert window.player.timeline is line


# --- handled -------------------------------------------------------------------------------------


def test_that_n_jumps_to_the_next_stall_and_back(window: MainWindow, view: ServerView, qtbot: QtBot) -> None:
    qtbot.keyClick(stage_of(view), Qt.Key.Key_N)
    start_s = window.player.time_s
    assert start_s == pytest.approx(0.2915, abs=2e-3)
    qtbot.keyClick(stage_of(view), Qt.Key.Key_N)
    assert window.player.time_s == start_s
    window.seek(1.0)
    qtbot.keyClick(stage_of(view), Qt.Key.Key_N, Qt.KeyboardModifier.ShiftModifier)
    assert window.player.time_s == start_s


def test_that_a_pass_is_stepped_over_and_measured(window: MainWindow, view: ServerView) -> None:
    window.seek(0.4)
    window.player.step(1)
    assert window.player.time_s == pytest.approx(0.9056, abs=1e-3)
    stage_of(view).set_measure(0.3, 0.9)
    measured = stage_of(view).measured
    assert measured is not None
    assert measured.words == "600 ms · 1 pass above · 0 tokens above, 186 tokens below"


def test_that_keys_zoom_and_lead_back(window: MainWindow, view: ServerView, qtbot: QtBot) -> None:
    stage = stage_of(view)
    whole = stage.window_in_view
    qtbot.keyClick(stage, Qt.Key.Key_W)
    assert stage.window_in_view.span_s < whole.span_s
    qtbot.keyClick(stage, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert stage.window_in_view == whole
    qtbot.keyClick(stage, Qt.Key.Key_W)
    qtbot.keyClick(stage, Qt.Key.Key_0)
    assert stage.window_in_view == whole


def test_that_the_mouse_over_a_lane_tells_what_the_stream_waits_for(view: ServerView, qtbot: QtBot) -> None:
    stage = stage_of(view)
    lanes = stage.stage.rows(Streams)[0].content
    assert isinstance(lanes, Lanes)
    box = lanes.lanes[0].box
    at = QPoint(round(stage.stage.axis.to_px(0.6)), round(box.y + box.h / 2))
    qtbot.mouseMove(stage, at)
    assert stage._card is not None
    shown = stage._card.shown
    assert shown is not None
    assert ("now", "stalled for 651 ms, 33 of 100 next") in shown.rows


def test_that_a_click_on_any_figure_is_answered_or_left_alone(view: ServerView, qtbot: QtBot) -> None:
    half = view.halves[0]
    card = half.layout_now()
    assert card is not None
    for place in card.places:
        at = QPoint(round(place.box.x + place.box.w / 2), round(place.box.y + place.box.h / 2))
        found = half.explain_at(at)
        assert found is None or found.key == place.key
        qtbot.mouseClick(half, Qt.MouseButton.LeftButton, pos=at)


def test_that_the_wheel_turns_a_map_into_lanes_and_goes_down_them(busy: ServerView) -> None:
    stage = stage_of(busy)
    assert isinstance(stage.stage.rows(Streams)[0].content, Crowd)
    turn(stage, -1)
    first = stage.stage.rows(Streams)[0].content
    assert isinstance(first, Lanes)
    assert first.lanes[0].request == 0
    turn(stage, -2)
    assert stage.scrolled_to == 6
    turn(stage, 1)
    assert stage.scrolled_to == 3
    stage.fit()
    assert isinstance(stage.stage.rows(Streams)[0].content, Crowd)


def test_that_the_wheel_moves_time_where_all_lanes_are_there(view: ServerView) -> None:
    stage = stage_of(view)
    stage.zoom(4.0, 0.8)
    before = stage.window_in_view
    turn(stage, -1)
    assert stage.scrolled_to is None
    assert stage.window_in_view.start_s > before.start_s


def test_that_a_low_window_has_fewer_lanes_below_the_streams(
    open_window: Callable[..., MainWindow], qtbot: QtBot
) -> None:
    window = open_window(width=1280, height=720)
    view = open_server(window, qtbot)
    rows = len(stage_of(view).stage.placed)
    for _ in range(4):
        window.change_text_size(1)
    stage = stage_of(view).stage
    assert len(stage.placed) < rows
    boxes = [placed.row.box for placed in stage.placed]
    assert all(above.bottom <= below.y + 1e-6 for above, below in itertools.pairwise(boxes))


# --- pages ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["dark", "light", "print"])
def test_that_a_page_is_painted_at_any_moment_of_the_runs(tmp_path: Path, theme: str) -> None:
    path = str(tmp_path / "server.png")
    pictures = []
    for time_s in (0.0, 1.6, None):
        render("server", Scenario(), path, width=960, height=540, theme=theme, time_s=time_s)
        pictures.append(QImage(path))
    assert pictures[0] != pictures[1]
    assert not pictures[2].isNull()


def test_that_a_page_without_a_run_says_why(tmp_path: Path) -> None:
    path = str(tmp_path / "server.svg")
    render("server", Scenario(workload="nothing of the kind"), path, width=960, height=540)
    assert "is no preset" in Path(path).read_text(encoding="utf-8")


def test_that_the_picture_that_is_copied_is_of_the_moment(window: MainWindow, view: ServerView) -> None:
    window.seek(1.2)
    window.sharing.copy_picture("server", window.player.time_s, LIGHT)
    assert not QApplication.clipboard().image().isNull()
