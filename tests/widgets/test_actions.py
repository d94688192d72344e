"""Commands: each key does one thing, does it everywhere but where text is typed, and is named once."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from pdviz.scenario import PRESETS, Scenario
from pdviz.scene.marks.axis import Window, automatic_window
from pdviz.widgets.kit.choices import ChoicePopup
from pdviz.widgets.shell.actions import COMMANDS
from pdviz.widgets.shell.window import MainWindow

Key = Qt.Key
CONTROL, SHIFT, ALT, PLAIN = (
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.NoModifier,
)
LEFT = Qt.MouseButton.LeftButton


def keys_of(command: object) -> list[str]:
    return [QKeySequence(key).toString() for key in command.keys]


# --- the table -----------------------------------------------------------------------------------


def test_that_no_key_has_two_commands() -> None:
    held = Counter(itertools.chain.from_iterable(keys_of(command) for command in COMMANDS))
    assert [key for key, times in held.items() if times > 1] == []


def test_that_every_key_is_one_that_qt_knows() -> None:
    for command in COMMANDS:
        assert all(keys_of(command)), command.id
        for key in command.keys:
            assert QKeySequence(key).count() == 1, command.id


def test_that_commands_are_named_once_and_in_words() -> None:
    assert max(Counter(command.id for command in COMMANDS).values()) == 1
    assert max(Counter(command.title for command in COMMANDS).values()) == 1
    assert all(command.title and command.menu for command in COMMANDS)


@pytest.mark.parametrize(
    ("promised", "keys"),
    [
        ("play or pause", "Space"),
        ("speed", "[ ] \\"),
        ("step", ", . Home End Left Right"),
        ("zoom", "W S + -"),
        ("pan", "A D"),
        ("fit", "F 0"),
        ("theme", "Ctrl+T"),
        ("undo", "Ctrl+Z Ctrl+Shift+Z"),
        ("find model", "Ctrl+F"),
        ("presets", "Alt+1 Alt+2 Alt+3 Alt+4 Alt+5 Alt+6"),
    ],
)
def test_that_promised_keys_exist(promised: str, keys: str) -> None:
    held = set(itertools.chain.from_iterable(keys_of(command) for command in COMMANDS))
    assert {QKeySequence(key).toString() for key in keys.split()} <= held


def test_that_every_command_is_an_action_of_the_window_with_all_its_keys(window: MainWindow) -> None:
    assert set(window.actions_by_id) == {command.id for command in COMMANDS}
    for command in COMMANDS:
        action = window.actions_by_id[command.id]
        assert [key.toString() for key in action.shortcuts()] == keys_of(command)
        assert action in window.actions()


# --- keys in the window --------------------------------------------------------------------------


def press(qtbot: QtBot, key: Qt.Key, modifiers: Qt.KeyboardModifier = PLAIN) -> None:
    """A key, to whatever has the keyboard."""
    qtbot.keyClick(QApplication.focusWidget() or QApplication.activeWindow(), key, modifiers)
    QCoreApplication.processEvents()


def in_view(window: MainWindow) -> Window:
    return window.views["request"].stage.window_in_view


@pytest.fixture
def window(open_window: Callable[..., MainWindow]) -> MainWindow:
    """A window in which the view jumps at once."""
    made = open_window()
    made.set_reduced_motion(True)
    return made


def test_that_space_plays_and_pauses(window: MainWindow, qtbot: QtBot) -> None:
    press(qtbot, Key.Key_Space)
    assert window.player.clock.is_playing
    press(qtbot, Key.Key_Space)
    assert not window.player.clock.is_playing


def test_that_space_plays_even_after_a_chip_a_slider_a_figure_or_the_stage_was_clicked(
    window: MainWindow, qtbot: QtBot
) -> None:
    widgets: list[QWidget] = [
        *window.panel.chips,
        window.panel.sliders["others"],
        window.top.look,
        window.transport.loop,
        window.transport.fit,
        window.transport.scrubber,
        window.views["request"].figures[0],
        window.views["request"].stage,
        window.panel.memory,
    ]
    for widget in widgets:
        qtbot.mouseClick(widget, LEFT)
        QCoreApplication.processEvents()
        before = window.player.clock.is_playing
        press(qtbot, Key.Key_Space)
        assert window.player.clock.is_playing is not before, widget.accessibleName()
    window.player.set_playing(False)


def test_that_keys_step_through_the_passes(window: MainWindow, qtbot: QtBot) -> None:
    request = window.store.result.request
    for key, modifiers, start, passes in (
        (Key.Key_Period, PLAIN, 5, 6),
        (Key.Key_Comma, PLAIN, 5, 4),
        (Key.Key_Right, PLAIN, 5, 6),
        (Key.Key_Left, PLAIN, 5, 4),
        (Key.Key_Right, SHIFT, 5, 15),
        (Key.Key_Left, SHIFT, 25, 15),
        (Key.Key_Greater, PLAIN, 5, 15),
        (Key.Key_Less, PLAIN, 25, 15),
        (Key.Key_Home, PLAIN, 25, 0),
        (Key.Key_End, PLAIN, 25, 128),
    ):
        window.player.seek(request.pass_start_s(start))
        press(qtbot, key, modifiers)
        assert window.player.time_s == pytest.approx(request.pass_start_s(passes)), key


def test_that_keys_change_the_speed(window: MainWindow, qtbot: QtBot) -> None:
    rate = window.player.clock.rate
    press(qtbot, Key.Key_BracketRight)
    assert window.player.clock.rate > rate
    press(qtbot, Key.Key_BracketLeft)
    assert window.player.clock.rate == rate
    press(qtbot, Key.Key_Backslash)
    assert window.player.clock.rate == 1.0
    press(qtbot, Key.Key_Backslash)
    assert window.player.clock.rate == rate


def test_that_keys_zoom(window: MainWindow, qtbot: QtBot) -> None:
    window.player.seek(0.05)
    before = in_view(window).span_s
    for closer, further in itertools.product(
        (Key.Key_W, Key.Key_Plus, Key.Key_Equal), (Key.Key_S, Key.Key_Minus)
    ):
        press(qtbot, closer)
        assert in_view(window).span_s == pytest.approx(before / 1.5)
        press(qtbot, further)
        assert in_view(window).span_s == pytest.approx(before)


def test_that_keys_pan_and_fit(window: MainWindow, qtbot: QtBot) -> None:
    result = window.store.result
    first = automatic_window(result.ttft_s, result.itl_s, result.e2e_s)
    press(qtbot, Key.Key_D)
    assert in_view(window).start_s == pytest.approx(0.25 * first.span_s)
    press(qtbot, Key.Key_A)
    assert in_view(window).start_s == pytest.approx(0.0)
    press(qtbot, Key.Key_0)
    assert in_view(window) == Window(0.0, result.e2e_s)
    press(qtbot, Key.Key_F)
    assert in_view(window) == first
    press(qtbot, Key.Key_F)
    assert in_view(window) == Window(0.0, result.e2e_s)


def test_that_alt_and_a_number_choose_a_preset(window: MainWindow, qtbot: QtBot) -> None:
    for number, preset in enumerate(PRESETS, start=1):
        press(qtbot, Qt.Key(Key.Key_0 + number), ALT)
        window.store.flush()
        assert window.store.scenario == preset.apply(Scenario())


def test_that_keys_undo_and_redo(window: MainWindow, qtbot: QtBot) -> None:
    window.store.edit(prompt_tokens=128)
    window.store.flush()
    press(qtbot, Key.Key_Z, CONTROL)
    window.store.flush()
    assert window.store.scenario == Scenario()
    press(qtbot, Key.Key_Z, CONTROL | SHIFT)
    window.store.flush()
    assert window.store.scenario == Scenario(prompt_tokens=128)


def test_that_a_key_toggles_the_theme(window: MainWindow, qtbot: QtBot) -> None:
    assert window.theme.is_dark
    press(qtbot, Key.Key_T, CONTROL)
    assert not window.theme.is_dark
    press(qtbot, Key.Key_T, CONTROL)
    assert window.theme.is_dark


def test_that_a_key_opens_the_search_for_a_model(window: MainWindow, qtbot: QtBot) -> None:
    press(qtbot, Key.Key_F, CONTROL)
    (popup,) = [w for w in QApplication.topLevelWidgets() if isinstance(w, ChoicePopup) and w.isVisible()]
    assert popup.focusWidget() is popup.search
    popup.close()


@pytest.mark.parametrize("menu", ["Playback", "View", "Presets"])
def test_that_every_command_runs_and_runs_again(window: MainWindow, menu: str) -> None:
    for command in COMMANDS:
        if command.menu == menu:
            window.actions_by_id[command.id].trigger()
            window.actions_by_id[command.id].trigger()
            QCoreApplication.processEvents()
    window.player.set_playing(False)
    window.showNormal()


# --- where text is typed -------------------------------------------------------------------------


def state(window: MainWindow) -> tuple[object, ...]:
    window.store.flush()
    return (
        window.store.scenario,
        window.player.clock.is_playing,
        window.player.clock.rate,
        window.player.time_s,
        window.views["request"].stage.window_in_view,
        window.theme.name,
        [w for w in QApplication.topLevelWidgets() if w.isVisible()],
        window.views["request"].isVisible(),
    )


def test_that_printable_keys_type_text_where_text_is_typed_and_do_nothing_else(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.player.seek(0.05)
    edit = window.panel.edits["prompt_tokens"]
    edit.setFocus()
    edit.clear()
    before = state(window)
    letters = {key for command in COMMANDS for key in command.keys if len(key) == 1} | {" "}
    assert len(letters) >= 12
    for letter in letters:
        edit.clear()
        qtbot.keyClicks(edit, letter.lower())
        QCoreApplication.processEvents()
        assert edit.text() == letter.lower()
        assert state(window) == before, letter
    qtbot.keyClick(edit, Key.Key_Escape)


def test_that_keys_of_the_cursor_move_in_the_text_while_it_is_typed(window: MainWindow, qtbot: QtBot) -> None:
    window.player.seek(0.05)
    edit = window.panel.edits["prompt_tokens"]
    edit.setFocus()
    before = state(window)
    for key in (Key.Key_Home, Key.Key_End, Key.Key_Left, Key.Key_Right):
        qtbot.keyClick(edit, key)
        assert state(window) == before
        assert edit.hasFocus()


@pytest.mark.parametrize("field", ["model", "weights_dtype"])
def test_that_keys_do_not_reach_through_an_open_list(window: MainWindow, qtbot: QtBot, field: str) -> None:
    window.player.seek(0.05)
    window.panel.open_choices(field)
    QCoreApplication.processEvents()
    (popup,) = [w for w in QApplication.topLevelWidgets() if isinstance(w, ChoicePopup) and w.isVisible()]
    before = state(window)
    for key in (Key.Key_W, Key.Key_D, Key.Key_0, Key.Key_Period, Key.Key_Space, Key.Key_BracketLeft):
        qtbot.keyClick(popup.focusWidget(), key)
        QCoreApplication.processEvents()
        assert state(window) == before
    popup.close()


def test_that_arrows_belong_to_the_slider_that_has_the_keyboard(window: MainWindow, qtbot: QtBot) -> None:
    window.player.seek(0.05)
    share = window.player.time_s / window.player.clock.whole_s
    slider = window.panel.sliders["prompt_tokens"]
    slider.setFocus()
    press(qtbot, Key.Key_PageUp)
    press(qtbot, Key.Key_Right)
    press(qtbot, Key.Key_Home)
    window.store.flush()
    assert window.store.scenario.prompt_tokens == 1
    assert window.player.time_s / window.player.clock.whole_s == pytest.approx(share)


@pytest.mark.parametrize("key", [Key.Key_Space, Key.Key_Return])
def test_that_a_button_reached_by_tab_is_pressed_by_its_keys(
    window: MainWindow, qtbot: QtBot, key: Qt.Key
) -> None:
    chip = window.panel.chips[1]
    chip.setFocus(Qt.FocusReason.TabFocusReason)
    press(qtbot, key)
    window.store.flush()
    assert window.store.scenario == PRESETS[1].apply(Scenario())
    assert not window.player.clock.is_playing


def test_that_each_key_runs_its_command_once(window: MainWindow, qtbot: QtBot) -> None:
    counted: Counter[str] = Counter()

    def counter(name: str) -> Callable[[], None]:
        return lambda: counted.update([name])

    wanted = [c for c in COMMANDS if c.id.startswith(("play.", "view.in", "view.left", "view.all"))]
    for command in wanted:
        window.actions_by_id[command.id].triggered.connect(counter(command.id))
    for command in wanted:
        for key in command.keys:
            combination = QKeySequence(key)[0]
            press(qtbot, combination.key(), combination.keyboardModifiers())
    window.player.set_playing(False)
    assert dict(counted) == {command.id: len(command.keys) for command in wanted}
