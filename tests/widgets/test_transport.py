"""The bar at the foot: its buttons do what they say, and the slow-motion factor is always there."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from toy_run import ToyRun

from pdviz.evaluation import evaluate
from pdviz.scenario import Scenario
from pdviz.scene.marks.axis import slow_motion
from pdviz.scene.marks.theme import DARK, LIGHT
from pdviz.scene.request.timeline import RequestTimeline
from pdviz.scene.stage.playback import RATES
from pdviz.scene.stage.timeline import STALL, Mark
from pdviz.widgets.kit.choices import KEY, ChoicePopup
from pdviz.widgets.shell.player import Player
from pdviz.widgets.shell.transport import Transport, steady_time
from pdviz.widgets.shell.window import MainWindow

LEFT = Qt.MouseButton.LeftButton


class Bar:
    """A transport on a player."""

    def __init__(self, bot: QtBot, scenario: Scenario | None = None) -> None:
        self.bot = bot
        self.result = evaluate(scenario or Scenario())
        self.player = Player(RequestTimeline(self.result.request))
        self.transport = Transport(self.player)
        self.player.moved.connect(self.transport.show_time)
        bot.addWidget(self.transport)
        self.transport.resize(1_200, 64)
        self.transport.set_look(DARK, 1.0)
        self.transport.show_timeline(self.player.timeline)
        self.transport.show()
        bot.waitExposed(self.transport)

    def click(self, name: str) -> None:
        self.bot.mouseClick(getattr(self.transport, name), LEFT)


@pytest.fixture
def bar(qtbot: QtBot) -> Iterator[Bar]:
    made = Bar(qtbot)
    yield made
    made.player.set_playing(False)


def test_that_the_play_button_plays_and_pauses_and_says_which(bar: Bar) -> None:
    assert "Play" in bar.transport.play.accessibleName()
    bar.click("play")
    assert bar.player.clock.is_playing
    assert "Pause" in bar.transport.play.accessibleName()
    bar.click("play")
    assert not bar.player.clock.is_playing
    assert "Play" in bar.transport.play.accessibleName()


def test_that_the_buttons_step_and_go_to_the_start(bar: Bar) -> None:
    request = bar.result.request
    bar.click("ahead")
    bar.click("ahead")
    assert bar.player.time_s == request.pass_start_s(2)
    bar.click("back")
    assert bar.player.time_s == request.pass_start_s(1)
    bar.click("start")
    assert bar.player.time_s == 0.0


def test_that_the_loop_button_shows_whether_it_loops(bar: Bar) -> None:
    assert bar.transport.loop.is_on is bar.player.clock.loops is True
    bar.click("loop")
    assert bar.transport.loop.is_on is bar.player.clock.loops is False
    assert bar.transport.loop.accessibleDescription() == "off"


@pytest.mark.parametrize("rate", RATES)
def test_that_the_slow_motion_factor_is_always_on_screen(bar: Bar, rate: float) -> None:
    bar.player.set_rate(rate)
    assert bar.transport.rate.choice == slow_motion(rate)
    assert bar.transport.real_time.is_on == (rate == 1.0)


def test_that_real_time_can_be_left_for_the_slow_motion_before_it(bar: Bar) -> None:
    bar.player.set_rate(0.02)
    bar.click("real_time")
    assert bar.player.clock.rate == 1.0
    bar.click("real_time")
    assert bar.player.clock.rate == 0.02


def test_that_a_speed_is_chosen_from_a_list_that_holds_the_present_one(bar: Bar) -> None:
    bar.player.set_rate(0.07)
    bar.click("rate")
    (popup,) = [w for w in QApplication.topLevelWidgets() if isinstance(w, ChoicePopup)]
    rates = [float(popup.list.item(row).data(KEY)) for row in range(popup.list.count())]
    assert rates == sorted({*RATES, 0.07})
    assert float(popup.list.currentItem().data(KEY)) == 0.07
    popup.list.setCurrentRow(rates.index(0.5))
    bar.bot.keyClick(popup.focusWidget(), Qt.Key.Key_Return)
    assert bar.player.clock.rate == 0.5


def test_that_the_fit_button_asks_to_fit(bar: Bar) -> None:
    with bar.bot.waitSignal(bar.transport.fit_asked, timeout=1_000):
        bar.click("fit")


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_that_the_scrubber_moves_the_playhead_through_the_whole_request(bar: Bar, share: float) -> None:
    scrubber = bar.transport.scrubber
    whole, middle = bar.result.e2e_s, scrubber.height() // 2
    bar.bot.mousePress(scrubber, LEFT, pos=QPoint(scrubber.width() // 3, middle))
    assert bar.player.time_s == pytest.approx(whole / 3, rel=0.05)
    bar.bot.mouseMove(scrubber, QPoint(round(share * scrubber.width()), middle))
    assert bar.player.time_s == pytest.approx(share * whole, abs=0.02 * whole)
    bar.bot.mouseRelease(scrubber, LEFT, pos=QPoint(scrubber.width(), middle))
    bar.bot.mouseMove(scrubber, QPoint(5, middle))
    assert bar.player.time_s == pytest.approx(share * whole, abs=0.02 * whole)


def test_that_the_scrubber_shows_the_marks_of_any_timeline(bar: Bar) -> None:
    scrubber = bar.transport.scrubber
    scrubber.show_timeline(ToyRun(marks=()))
    plain = scrubber.grab().toImage()
    scrubber.show_timeline(ToyRun(marks=(Mark(7.5, STALL, "stalled"),)))
    marked = scrubber.grab().toImage()
    columns = [x for x in range(plain.width()) if plain.pixelColor(x, 12) != marked.pixelColor(x, 12)]
    margin = 9 * scrubber.scale
    expected = margin + 0.75 * (scrubber.width() - 2 * margin)
    assert columns
    assert all(abs(x + 0.5 - expected) <= 2 for x in columns)


def test_that_what_is_shown_changes_with_time_and_theme(bar: Bar) -> None:
    pictures = [bar.transport.grab().toImage()]
    bar.player.seek(0.3)
    pictures.append(bar.transport.grab().toImage())
    bar.transport.set_look(LIGHT, 1.0)
    pictures.append(bar.transport.grab().toImage())
    for one, other in itertools.pairwise(pictures):
        assert one != other


@pytest.mark.parametrize(
    ("time_s", "whole_s", "text"),
    [
        (0.0, 0.83, "0.0 ms"),
        (0.05, 0.83, "50.0 ms"),
        (0.05, 2.5, "0.050 s"),
        (1.5, 25.0, "1.50 s"),
        (3e-6, 5e-4, "3.0 µs"),
        (30.0, 100.0, "30.0 s"),
        (75.0, 100.0, "1 min 15 s"),
    ],
)
def test_that_a_moment_is_written_in_the_unit_of_the_whole(time_s: float, whole_s: float, text: str) -> None:
    assert steady_time(time_s, whole_s) == text


@pytest.mark.parametrize("whole_s", [0.0007, 0.0312, 0.83, 2.5, 25.0])
def test_that_the_time_does_not_dance(whole_s: float) -> None:
    unit = {steady_time(share * whole_s, whole_s).split()[1] for share in (0.0, 0.1, 0.5, 1.0)}
    decimals = {
        len(steady_time(share * whole_s, whole_s).split()[0].partition(".")[2]) for share in (0.0, 0.13, 0.5)
    }
    assert len(unit) == len(decimals) == 1


@pytest.mark.parametrize(("width", "height"), [(1024, 640), (1280, 720), (1920, 1080), (3840, 2160)])
@pytest.mark.parametrize("output", [1, 128, 10**6], ids=["short", "usual", "hours"])
def test_that_nothing_on_the_bar_lies_on_another_at_any_size(
    open_window: object, width: int, height: int, output: int
) -> None:
    scenario = Scenario(model="Llama 3.1 405B", accelerators=8, output_tokens=output)
    window: MainWindow = open_window(scenario, width, height)
    bar = window.transport
    children = [c for c in bar.children() if isinstance(c, QWidget) and c.isVisible()]
    assert len(children) == 10
    for child in children:
        assert bar.rect().contains(child.geometry()), child.accessibleName()
        assert child.accessibleName()
    for one, other in itertools.combinations(children, 2):
        names = (one.accessibleName(), other.accessibleName())
        assert not one.geometry().intersects(other.geometry()), names
    assert bar.scrubber.width() >= 100 * window.scale
