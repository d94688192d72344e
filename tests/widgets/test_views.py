"""The table of views: what each can do, that a command acts on the one that is shown, that all are spoken."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot
from toy_run import ToyRun

import pdviz
from pdviz.evaluation import Result
from pdviz.scenario import Scenario
from pdviz.scene.marks.theme import Theme
from pdviz.scene.stage.timeline import Timeline
from pdviz.store import ScenarioStore
from pdviz.widgets.kit import main_view, view
from pdviz.widgets.kit.choices import KEY, ChoicePopup
from pdviz.widgets.kit.main_view import MainView, Verb
from pdviz.widgets.shell.actions import COMMANDS
from pdviz.widgets.shell.window import MainWindow
from pdviz.widgets.views import VIEW_BY_NAME, VIEW_NAMES, VIEWS

CAN: dict[str, set[str]] = {
    "request": {"zoom", "pan", "fit", "fit_all", "zoom_to_range", "undo_view", "redo_view"},
    "roofline": {"zoom", "pan", "fit", "fit_all"},
    "shapes": set(),
    "server": {
        *("zoom", "pan", "fit", "fit_all", "zoom_to_range", "undo_view", "redo_view"),
        *("to_stall", "drop_prompt"),
    },
    "anatomy": set(),
}
KEYS = "WSADFZ0"
each_view = pytest.mark.parametrize("name", VIEW_NAMES)


def press(qtbot: QtBot, key: str) -> None:
    focused = QApplication.focusWidget() or QApplication.activeWindow()
    assert focused is not None
    qtbot.keyClicks(focused, key.lower())
    QCoreApplication.processEvents()


# --- the table -----------------------------------------------------------------------------------


def test_that_names_keys_and_titles_are_those_that_users_know() -> None:
    assert [(row.name, row.key, row.title) for row in VIEWS] == [
        ("request", "1", "Request"),
        ("roofline", "2", "Roofline"),
        ("shapes", "3", "Shapes"),
        ("server", "4", "Server"),
        ("anatomy", "7", "Anatomy"),
    ]


def test_that_the_table_is_read_without_qt() -> None:
    code = "import sys, pdviz.widgets.views, pdviz.options; assert 'PySide6' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(pdviz.__file__).parents[1])


@each_view
def test_that_a_view_has_a_tab_a_key_and_two_packages_of_its_name(
    window: MainWindow, qtbot: QtBot, name: str
) -> None:
    row = VIEW_BY_NAME[name]
    others = [other for other in VIEW_NAMES if other != name]
    for way in (
        lambda: qtbot.mouseClick(window.top.tabs[name], Qt.MouseButton.LeftButton),
        lambda: press(qtbot, row.key),
        window.actions_by_id[f"view.{row.key}"].trigger,
    ):
        window.show_view(others[0])
        way()
        assert window.view == name
        assert window.current is window.views[name]
        assert window.current.isVisible()
        assert not window.views[others[0]].isVisible()
    assert window.current.accessibleName() == row.title == window.top.tabs[name].text()
    root = Path(pdviz.__file__).parent
    for room in ("scene", "widgets"):
        assert (root / room / name / "__init__.py").exists()


# --- a command acts on the view that is shown, or is greyed ----------------------------------------


@each_view
@pytest.mark.parametrize("verb", get_args(Verb))
def test_that_a_command_is_live_where_the_view_can_and_greyed_where_it_cannot(
    window: MainWindow, name: str, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.show_view(name)
    done: list[str] = []
    for view_name, made in window.views.items():
        monkeypatch.setattr(made, verb, lambda *_, view_name=view_name: done.append(view_name))
    commands = [command for command in COMMANDS if command.verb == verb]
    assert commands
    for command in commands:
        action = window.actions_by_id[command.id]
        assert action.isEnabled() == (verb in CAN[name])
        action.trigger()
    assert done == ([name] * len(commands) if verb in CAN[name] else [])


@pytest.mark.parametrize("name", ["roofline", "shapes", "anatomy"])
def test_that_keys_leave_a_stage_alone_that_nobody_sees(window: MainWindow, qtbot: QtBot, name: str) -> None:
    window.set_reduced_motion(True)
    stage = window.views["request"].stage
    stage.set_measure(0.02, 0.03)
    before = stage.window_in_view
    window.show_view(name)
    for key in KEYS:
        press(qtbot, key)
        assert stage.window_in_view == before, key
    window.transport.fit.click()
    assert stage.window_in_view == before


def test_that_keys_lead_back_to_the_part_that_was_in_view_before(window: MainWindow, qtbot: QtBot) -> None:
    window.set_reduced_motion(True)
    stage = window.views["request"].stage
    views = [stage.window_in_view]
    for key in "WWD":
        press(qtbot, key)
        views.append(stage.window_in_view)
    assert len(set(views)) == 4
    alt = Qt.KeyboardModifier.AltModifier
    for expected in views[2::-1]:
        qtbot.keyClick(stage, Qt.Key.Key_Left, alt)
        assert stage.window_in_view == expected
    for expected in views[1:]:
        qtbot.keyClick(stage, Qt.Key.Key_Right, alt)
        assert stage.window_in_view == expected
    assert window.store.result.scenario == Scenario()  # the scenario has an undo of its own


def test_that_keys_zoom_pan_and_fit_the_roofline(window: MainWindow, qtbot: QtBot) -> None:
    window.show_view("roofline")
    plot = window.views["roofline"].plot

    def across() -> tuple[float, float]:
        (low, high), _ = plot.box.viewRange()
        return low, high

    assert plot.is_home
    press(qtbot, "W")
    low, high = across()
    assert not plot.is_home
    press(qtbot, "D")
    assert across() == pytest.approx((low + 0.25 * (high - low), high + 0.25 * (high - low)), abs=0.2)
    assert across()[0] > low
    press(qtbot, "A")
    assert across()[1] - across()[0] == pytest.approx(high - low)
    for key in "F0":
        press(qtbot, "W")
        press(qtbot, "W")
        press(qtbot, key)
        assert plot.is_home
    home = across()
    press(qtbot, "D")
    assert across() == home  # there is no more chart


@each_view
def test_that_menu_palette_and_bar_grey_the_same(window: MainWindow, name: str) -> None:
    window.show_view(name)
    greyed = {c.id for c in COMMANDS if c.verb is not None and c.verb not in CAN[name]}
    window.open_palette()
    (popup,) = [w for w in QApplication.topLevelWidgets() if isinstance(w, ChoicePopup) and w.isVisible()]
    items = [popup.list.item(row) for row in range(popup.list.count())]
    assert {i.data(KEY) for i in items if not i.flags() & Qt.ItemFlag.ItemIsEnabled} == greyed
    chosen: list[str] = []
    popup.chosen.connect(chosen.append)
    for item in items:
        if item.data(KEY) in greyed:
            popup.list.itemClicked.emit(item)
    assert chosen == []
    popup.close()
    window.open_menu(window.top.menu)
    menus = [menu for menu in window.findChildren(QMenu) if menu.title() in ("View", "Playback")]
    assert {a.text() for menu in menus for a in menu.actions() if not a.isEnabled()} == {
        c.title for c in COMMANDS if c.id in greyed
    }
    for menu in window.findChildren(QMenu):
        menu.close()
    assert window.transport.fit.isEnabled() == ("fit" in CAN[name])


# --- spoken --------------------------------------------------------------------------------------


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What assistive technology is told."""
    words: list[str] = []
    for module in (main_view, view):
        monkeypatch.setattr(module, "announce", lambda widget, said: words.append(said))
    return words


@pytest.mark.parametrize(
    ("name", "part"),
    [("request", "decode pass"), ("roofline", "FLOPs per byte"), ("shapes", "Weights read")],
)
def test_that_every_view_with_a_playhead_speaks_its_moment(
    window: MainWindow, qtbot: QtBot, heard: list[str], name: str, part: str
) -> None:
    window.show_view(name)
    said = []
    for share in (0.203, 0.503):
        heard.clear()
        window.player.seek(share * window.store.result.e2e_s)
        qtbot.waitUntil(lambda: window.current.moment_in_words() in heard, timeout=2_000)
        said.append(window.current.moment_in_words())
    assert said[0] != said[1]
    assert part in said[1]


def test_that_a_view_is_silent_where_nothing_moves(
    window: MainWindow, qtbot: QtBot, heard: list[str]
) -> None:
    window.show_view("anatomy")
    window.player.seek(0.5 * window.store.result.e2e_s)
    qtbot.wait(700)
    assert heard == []


@each_view
def test_that_what_has_a_playhead_has_words_for_it(window: MainWindow, name: str) -> None:
    window.show_view(name)
    kind = type(window.current)
    moves = kind.show_time is not MainView.show_time
    assert moves == (kind.moment_in_words is not MainView.moment_in_words)


# --- a further view ------------------------------------------------------------------------------


class ToyView(MainView):
    """Has a timeline of its own, and can only fit."""

    def __init__(self, result: Result, parent: QWidget) -> None:
        super().__init__("Toy", result, parent)
        self.told: list[object] = []

    def timeline(self, result: Result) -> Timeline:
        return ToyRun()

    def show_result(self, result: Result, changed: frozenset[str], fresh: bool = False) -> None:
        self.told.append((result.scenario.prompt_tokens, sorted(changed), fresh))

    def show_time(self, time_s: float) -> None:
        self.told.append(time_s)

    def set_look(self, theme: Theme, scale: float) -> None:
        self.theme, self.scale = theme, scale

    def fit(self) -> None:
        self.told.append("fit")


def make_toy(store: ScenarioStore, parent: QWidget) -> ToyView:
    return ToyView(store.result, parent)


def test_that_a_further_view_brings_its_own_timeline_and_its_own_commands(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = msgspec.structs.replace(VIEW_BY_NAME["request"], name="toy", make=make_toy)
    monkeypatch.setitem(VIEW_BY_NAME, "toy", row)
    window.player.seek(0.5 * window.store.result.e2e_s)
    window.show_view("toy")
    toy = window.current
    assert isinstance(toy, ToyView)
    whole_s = ToyRun().duration_s
    assert window.player.timeline.duration_s == window.player.clock.whole_s == whole_s
    assert toy.told == [(512, [], False), pytest.approx(0.5 * whole_s)]
    toy.told.clear()
    window.store.edit(prompt_tokens=640)
    window.store.flush()
    assert toy.told == [(640, ["prompt_tokens"], False), pytest.approx(0.5 * whole_s)]
    toy.told.clear()
    window.transport.fit.click()
    assert toy.told == ["fit"]
    assert not window.actions_by_id["view.in"].isEnabled()
    toy.seeked.emit(0.25 * whole_s)
    assert window.player.time_s == pytest.approx(0.25 * whole_s)
    window.show_view("request")
    assert window.player.clock.whole_s == window.store.result.e2e_s
    assert window.player.time_s == pytest.approx(0.25 * window.store.result.e2e_s)
