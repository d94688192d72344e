"""The player: moments from an arithmetic clock, frames only while somebody can see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from pdviz.evaluation import evaluate
from pdviz.scenario import Scenario
from pdviz.scene.request.timeline import RequestTimeline
from pdviz.scene.stage.playback import RATES
from pdviz.widgets.shell import player as player_module
from pdviz.widgets.shell.player import FRAME_MS, Player


class WallClock:
    """A wall clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> WallClock:
    found = WallClock()
    monkeypatch.setattr(player_module, "perf_counter", found)
    return found


def request_of(**values: object) -> RequestTimeline:
    return RequestTimeline(evaluate(Scenario(**values)).request)


@pytest.fixture
def player(qapp: QApplication, wall: WallClock) -> Iterator[Player]:
    made = Player(request_of())
    yield made
    made.set_playing(False)


@pytest.fixture
def moments(player: Player) -> list[float]:
    found: list[float] = []
    player.moved.connect(found.append)
    return found


def timer(player: Player) -> QTimer:
    (found,) = player.findChildren(QTimer)
    return found


# --- playing -------------------------------------------------------------------------------------


def test_that_time_moves_while_playing_and_not_before_or_after(player: Player, wall: WallClock) -> None:
    wall.now += 3
    assert player.time_s == 0.0
    player.set_playing(True)
    wall.now += 2.5
    assert player.time_s == pytest.approx(2.5 * player.clock.rate)
    player.set_playing(False)
    stood = player.time_s
    wall.now += 9
    assert player.time_s == stood == pytest.approx(0.25)


def test_that_frames_come_by_themselves_while_playing(qtbot: QtBot) -> None:
    player = Player(request_of())
    found: list[float] = []
    player.moved.connect(found.append)
    player.set_playing(True)
    qtbot.waitUntil(lambda: len(found) > 4, timeout=2_000)
    assert found == sorted(found)
    assert found[-1] > 0
    assert timer(player).interval() == FRAME_MS <= 17
    player.set_playing(False)
    assert not timer(player).isActive()
    seen = len(found)
    qtbot.wait(5 * FRAME_MS)
    assert len(found) == seen


def test_that_no_frames_are_made_while_nobody_sees_them_and_the_clock_runs_on(
    player: Player, wall: WallClock
) -> None:
    player.set_playing(True)
    assert timer(player).isActive()
    player.set_seen(False)
    assert not timer(player).isActive()
    wall.now += 1
    player.set_rate(0.5)
    assert not timer(player).isActive()
    player.set_seen(True)
    assert timer(player).isActive()
    assert player.time_s == pytest.approx(0.1)


def test_that_being_seen_alone_starts_nothing(player: Player) -> None:
    player.set_seen(False)
    player.set_seen(True)
    assert not timer(player).isActive()
    assert not player.clock.is_playing


def test_that_playing_ends_at_the_end_and_says_so(
    player: Player, wall: WallClock, moments: list[float]
) -> None:
    player.set_loop(False)
    player.set_playing(True)
    states: list[bool] = []
    player.state_changed.connect(lambda: states.append(player.clock.is_playing))
    wall.now += 1e6
    player.tick()
    assert not player.clock.is_playing
    assert not timer(player).isActive()
    assert states == [False]
    assert moments[-1] == player.time_s == player.clock.whole_s
    player.toggle()
    assert player.clock.is_playing
    assert player.time_s == 0.0


def test_that_a_loop_goes_on(player: Player, wall: WallClock) -> None:
    player.set_playing(True)
    wall.now += 1.25 * player.clock.whole_s / player.clock.rate
    player.tick()
    assert player.clock.is_playing
    assert player.time_s == pytest.approx(0.25 * player.clock.whole_s)


# --- no jumps ------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_playing", [False, True])
def test_that_another_request_keeps_the_relative_place(
    player: Player, wall: WallClock, moments: list[float], is_playing: bool
) -> None:
    player.seek(0.4 * player.clock.whole_s)
    player.set_playing(is_playing)
    other = request_of(prompt_tokens=32_768)
    told = len(moments)
    player.set_timeline(other)
    assert player.time_s == pytest.approx(0.4 * other.duration_s)
    assert len(moments) == told  # nobody shows the new request yet
    assert player.clock.is_playing == is_playing


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("set_rate"), st.sampled_from(RATES)),
            st.tuples(st.just("set_loop"), st.booleans()),
            st.tuples(st.just("change_rate"), st.booleans()),
        ),
        max_size=8,
    ),
    st.floats(0.0, 0.9),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_that_no_change_of_speed_or_loop_moves_the_playhead(
    player: Player, wall: WallClock, changes: list[tuple[str, object]], share: float
) -> None:
    player.seek(share * player.clock.whole_s)
    player.set_playing(True)
    for name, value in changes:
        wall.now += 0.001 * player.clock.whole_s
        before = player.time_s
        getattr(player, name)(value)
        assert player.time_s == before
    player.set_playing(False)


# --- steps ---------------------------------------------------------------------------------------


def test_that_steps_go_from_pass_to_pass_and_stop_the_playing(player: Player, moments: list[float]) -> None:
    request = request_of()
    player.set_playing(True)
    for number in range(1, 5):
        player.step(1)
        assert not player.clock.is_playing
        assert player.time_s == request.pass_start_s(number)
        assert moments[-1] == player.time_s
    player.step(-1)
    assert player.time_s == request.pass_start_s(3)
    player.step(10)
    assert player.time_s == request.pass_start_s(13)
    player.step(-10)
    assert player.time_s == request.pass_start_s(3)


def test_that_a_step_back_from_within_a_pass_goes_to_its_start(player: Player) -> None:
    request = request_of()
    player.seek(0.5 * (request.pass_start_s(7) + request.pass_end_s(7)))
    player.step(-1)
    assert player.time_s == request.pass_start_s(7)
    player.step(-1)
    assert player.time_s == request.pass_start_s(6)


def test_that_steps_end_at_both_ends(player: Player) -> None:
    player.step(-1)
    assert player.time_s == 0.0
    player.step(10**6)
    assert player.time_s == player.clock.whole_s
    player.step(1)
    assert player.time_s == player.clock.whole_s
    player.step(-1)
    assert player.time_s == request_of().pass_start_s(127)


@pytest.mark.parametrize("output", [1, 2, 10**7])
def test_that_requests_of_any_length_can_be_stepped_through(
    qapp: QApplication, wall: WallClock, output: int
) -> None:
    request = request_of(output_tokens=output)
    player = Player(request)
    for passes in (1, 1, -1, 10, -10, 10**9, -1):
        player.step(passes)
        assert 0.0 <= player.time_s <= request.duration_s
    assert player.time_s == request.pass_start_s(request.passes - 1)


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (lambda player: player.seek(-3.0), 0.0),
        (lambda player: player.seek(1e9), 1.0),
        (lambda player: player.seek(float("inf")), 1.0),
        (lambda player: player.seek(0.25 * player.clock.whole_s), 0.25),
    ],
)
def test_that_the_playhead_stays_inside_the_request(
    player: Player, moments: list[float], act: Callable[[Player], None], expected: float
) -> None:
    act(player)
    assert player.time_s == pytest.approx(expected * player.clock.whole_s)
    assert moments == [player.time_s]
