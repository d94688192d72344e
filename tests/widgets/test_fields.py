"""Editors by themselves: what the hand does to them, and what they say."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from pdviz.errors import InputError
from pdviz.scene.marks.theme import DARK, LIGHT
from pdviz.widgets.kit.buttons import Chip, IconButton, PaintedButton, PickerButton
from pdviz.widgets.kit.fields import LogSlider, ValueEdit, attempt, snapped

Key, LEFT = Qt.Key, Qt.MouseButton.LeftButton


Show = Callable[..., QWidget]


@pytest.fixture
def shown(qtbot: QtBot) -> Show:
    """Shows widgets one below the other in a window that has the keyboard."""
    kept: list[QWidget] = []

    def show(*widgets: QWidget) -> QWidget:
        window = QWidget()
        kept.append(window)
        layout = QVBoxLayout(window)
        for widget in widgets:
            layout.addWidget(widget)
        qtbot.addWidget(window)
        window.resize(320, 60 * len(widgets))
        window.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        window.setFocus()  # none of the widgets has the keyboard yet
        window.show()
        window.activateWindow()
        qtbot.waitUntil(lambda: QApplication.activeWindow() is window, timeout=2_000)
        return window

    return show


# --- slider --------------------------------------------------------------------------------------


class Slid:
    """A slider that keeps what was chosen, as a panel does."""

    def __init__(self, shown: Show, value: int = 512, low: int = 1, high: int = 131_072) -> None:
        self.slider = LogSlider("Prompt")
        self.window = shown(self.slider)
        self.low, self.high = low, high
        self.chosen: list[int] = []
        self.slider.show_value(value, low, high)
        self.slider.moved.connect(self.keep)
        self.slider.setFocus()

    def keep(self, value: int) -> None:
        self.chosen.append(value)
        self.slider.show_value(value, self.low, self.high)

    def at(self, share: float) -> QPoint:
        return QPoint(round(share * (self.slider.width() - 1)), self.slider.height() // 4)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (Key.Key_PageUp, 512, 1_024),
        (Key.Key_PageDown, 512, 256),
        (Key.Key_Home, 512, 1),
        (Key.Key_End, 512, 131_072),
        (Key.Key_PageDown, 1, None),
        (Key.Key_Left, 1, None),
        (Key.Key_Home, 1, None),
        (Key.Key_PageUp, 131_072, None),
        (Key.Key_End, 131_072, None),
        (Key.Key_PageUp, 100_000, 131_072),
        (Key.Key_Up, 1, 2),
        (Key.Key_Down, 2, 1),
    ],
)
def test_that_keys_choose_a_value_inside_the_range_once(
    qtbot: QtBot, shown: Show, key: Qt.Key, value: int, expected: int | None
) -> None:
    held = Slid(shown, value)
    qtbot.keyClick(held.slider, key)
    assert held.chosen == ([] if expected is None else [expected])


def test_that_arrows_go_through_the_whole_range_in_small_steps(qtbot: QtBot, shown: Show) -> None:
    held = Slid(shown, 1)
    for _ in range(400):
        qtbot.keyClick(held.slider, Key.Key_Right)
    assert held.slider.value == held.high
    steps = [after - before for before, after in itertools.pairwise([1, *held.chosen])]
    assert all(step > 0 for step in steps)
    assert all(step <= max(1, 0.1 * before) for step, before in zip(steps, [1, *held.chosen], strict=False))
    for _ in range(400):
        qtbot.keyClick(held.slider, Key.Key_Left)
    assert held.slider.value == held.low


def test_that_a_slider_that_begins_at_nothing_can_be_left_and_reached_by_keys(
    qtbot: QtBot, shown: Show
) -> None:
    held = Slid(shown, 0, 0, 1_023)
    qtbot.keyClick(held.slider, Key.Key_Right)
    assert held.chosen == [1]
    qtbot.keyClick(held.slider, Key.Key_PageUp)
    assert held.chosen[-1] == 2
    qtbot.keyClick(held.slider, Key.Key_PageDown)
    qtbot.keyClick(held.slider, Key.Key_PageDown)
    assert held.chosen[-1] == 0


@pytest.mark.parametrize("code", [0x0424, 0x05D0, 0x0100_0FFF, 0, 0x0100_1250])
def test_that_keys_of_other_alphabets_and_unknown_keys_do_nothing(shown: Show, code: int) -> None:
    held = Slid(shown)
    event = QKeyEvent(QEvent.Type.KeyPress, code, Qt.KeyboardModifier.NoModifier, "ф")
    QApplication.sendEvent(held.slider, event)
    assert held.chosen == []


def test_that_the_mouse_chooses_along_the_whole_track(qtbot: QtBot, shown: Show) -> None:
    held = Slid(shown)
    qtbot.mousePress(held.slider, LEFT, pos=held.at(0.5))
    assert 200 <= held.chosen[-1] <= 700  # half way to 131,072 by doublings
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        qtbot.mouseMove(held.slider, held.at(share))
    qtbot.mouseRelease(held.slider, LEFT, pos=held.at(1.0))
    assert held.chosen[-1] == 131_072
    assert 1 in held.chosen
    far = QPoint(-500, 5)
    qtbot.mousePress(held.slider, LEFT, pos=far)
    assert held.chosen[-1] == 1
    qtbot.mouseRelease(held.slider, LEFT, pos=far)


def test_that_the_other_buttons_of_the_mouse_choose_nothing(qtbot: QtBot, shown: Show) -> None:
    held = Slid(shown)
    for button in (Qt.MouseButton.RightButton, Qt.MouseButton.MiddleButton):
        qtbot.mouseClick(held.slider, button, pos=held.at(0.9))
    qtbot.mouseMove(held.slider, held.at(0.2))
    assert held.chosen == []


def test_that_dragging_to_the_right_never_makes_the_value_smaller(qtbot: QtBot, shown: Show) -> None:
    held = Slid(shown)
    held.window.resize(1_400, 60)
    QApplication.processEvents()
    qtbot.mousePress(held.slider, LEFT, pos=QPoint(0, 8))
    held.chosen.clear()
    for x in range(held.slider.width()):
        qtbot.mouseMove(held.slider, QPoint(x, 8))
    qtbot.mouseRelease(held.slider, LEFT, pos=QPoint(held.slider.width(), 8))
    assert held.chosen == sorted(held.chosen)
    assert held.chosen[-1] == held.high


@given(st.floats(0, 2**24))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_that_snapped_values_are_near_and_whole(value: float) -> None:
    found = snapped(value)
    assert isinstance(found, int)
    assert abs(found - value) <= max(0.5, 0.05 * value)


@pytest.mark.parametrize("power", range(4, 24))
def test_that_powers_of_two_are_easy_to_hit(power: int) -> None:
    assert snapped(2**power * 1.015) == snapped(2**power * 0.985) == 2**power


def test_that_showing_a_value_is_no_choice_of_the_user_s(shown: Show) -> None:
    held = Slid(shown)
    held.slider.show_value(64, 1, 4_096, 216, "compute-bound from 216")
    assert held.chosen == []
    assert held.slider.value == 64


def test_that_a_slider_says_its_name_value_and_range(shown: Show) -> None:
    held = Slid(shown)
    held.slider.show_value(32_768, 1, 131_072, 216, "compute-bound from 216")
    assert held.slider.accessibleName() == "Prompt"
    for words in ("32,768", "131,072", "compute-bound from 216"):
        assert words in held.slider.accessibleDescription()


# --- value -----------------------------------------------------------------------------------------


class Typed:
    """A value edit beside another widget that can take the focus."""

    def __init__(self, qtbot: QtBot, shown: Show) -> None:
        self.bot = qtbot
        self.edit, self.other = ValueEdit("Prompt"), ValueEdit("Output")
        self.window = shown(self.edit, self.other)
        self.edit.show_value("512 tokens", "512")
        self.entered: list[str] = []
        self.edit.entered.connect(self.entered.append)
        self.edit.setFocus()

    def keys(self, text: str, *keys: Qt.Key) -> None:
        self.bot.keyClicks(self.edit, text)
        for key in keys:
            self.bot.keyClick(self.edit, key)


def test_that_a_value_is_shown_in_words_at_rest_and_bare_while_it_is_edited(
    qtbot: QtBot, shown: Show
) -> None:
    held = Typed(qtbot, shown)
    assert held.edit.text() == "512"
    assert held.edit.selectedText() == "512"
    held.other.setFocus()
    assert held.edit.text() == "512 tokens"


def test_that_enter_asks_for_what_was_typed_once(qtbot: QtBot, shown: Show) -> None:
    held = Typed(qtbot, shown)
    held.keys("32K", Key.Key_Return)
    assert held.entered == ["32K"]


def test_that_leaving_the_field_asks_for_what_was_typed(qtbot: QtBot, shown: Show) -> None:
    held = Typed(qtbot, shown)
    held.keys("64")
    held.other.setFocus()
    assert held.entered == ["64"]


def test_that_looking_into_a_field_asks_for_nothing(qtbot: QtBot, shown: Show) -> None:
    held = Typed(qtbot, shown)
    held.keys("", Key.Key_Return)
    held.other.setFocus()
    assert held.entered == []


def test_that_a_refused_text_is_kept_and_marked_until_it_is_mended(qtbot: QtBot, shown: Show) -> None:
    held = Typed(qtbot, shown)
    held.edit.entered.connect(lambda text: held.edit.refuse() if text == "abc" else None)
    calm = held.edit.palette().color(held.edit.foregroundRole()).name()
    held.keys("abc", Key.Key_Return)
    assert held.edit.is_refused
    assert held.edit.text() == "abc"
    assert held.edit.palette().color(held.edit.foregroundRole()).name() == DARK.warning != calm
    held.other.setFocus()
    assert held.edit.text() == "abc"
    held.edit.setFocus()
    assert held.edit.text() == "abc"
    held.edit.selectAll()
    held.keys("128", Key.Key_Return)
    assert held.entered[-1] == "128"
    held.edit.show_value("128 tokens", "128")
    assert not held.edit.is_refused
    assert held.edit.palette().color(held.edit.foregroundRole()).name() == calm


@pytest.mark.parametrize("refused", [False, True])
def test_that_escape_brings_the_value_back_and_asks_for_nothing(
    qtbot: QtBot, shown: Show, refused: bool
) -> None:
    held = Typed(qtbot, shown)
    held.keys("abc")
    if refused:
        held.edit.refuse()
    held.keys("", Key.Key_Escape)
    assert held.entered == []
    assert not held.edit.is_refused
    assert not held.edit.hasFocus()
    assert held.edit.text() == "512 tokens"


def test_that_a_value_that_changes_elsewhere_is_shown_in_the_field_being_edited(
    qtbot: QtBot, shown: Show
) -> None:
    held = Typed(qtbot, shown)
    held.edit.show_value("1,024 tokens", "1024")
    assert held.edit.text() == "1024"
    held.other.setFocus()
    assert held.edit.text() == "1,024 tokens"
    assert held.entered == []


# --- buttons -------------------------------------------------------------------------------------


def buttons() -> list[PaintedButton]:
    return [Chip("Chat"), IconButton("Play (Space)", "play"), PickerButton("Model")]


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("key", [Key.Key_Space, Key.Key_Return, Key.Key_Enter])
def test_that_a_button_is_pressed_by_keys_and_by_the_mouse(
    qtbot: QtBot, shown: Show, number: int, key: Qt.Key
) -> None:
    button = buttons()[number]
    shown(button)
    pressed: list[int] = []
    button.clicked.connect(lambda: pressed.append(1))
    button.setFocus(Qt.FocusReason.TabFocusReason)
    assert button.shows_focus
    qtbot.keyClick(button, key)
    assert len(pressed) == 1
    qtbot.mouseClick(button, LEFT)
    assert len(pressed) == 2


@pytest.mark.parametrize("number", range(3))
def test_that_a_click_does_not_take_the_keyboard_away(qtbot: QtBot, shown: Show, number: int) -> None:
    button, edit = buttons()[number], ValueEdit("Prompt")
    shown(button, edit)
    edit.setFocus()
    qtbot.mouseClick(button, LEFT)
    assert edit.hasFocus()


@pytest.mark.parametrize("number", range(3))
def test_that_a_button_has_a_name_and_looks_different_in_each_theme_and_when_focused(
    shown: Show, number: int
) -> None:
    button = buttons()[number]
    shown(button, ValueEdit("Prompt"))
    assert button.accessibleName()
    looks = []
    for theme in (DARK, LIGHT):
        button.set_look(theme, 1.0)
        looks.append(button.grab().toImage())
    button.setFocus(Qt.FocusReason.TabFocusReason)
    looks.append(button.grab().toImage())
    assert looks[0] != looks[1]
    assert looks[1] != looks[2]


def test_that_a_chip_shows_and_says_that_it_is_on(shown: Show) -> None:
    chip = Chip("Chat")
    shown(chip)
    off = chip.grab().toImage()
    chip.show_on(True)
    assert chip.grab().toImage() != off
    assert chip.accessibleDescription() == "on"
    chip.show_on(False)
    assert chip.grab().toImage() == off
    assert chip.accessibleDescription() != "on"


def test_that_a_picker_says_its_choice_and_opens_by_the_down_key(qtbot: QtBot, shown: Show) -> None:
    picker = PickerButton("Model")
    shown(picker)
    picker.show_choice("Llama 3.1 8B")
    assert picker.choice == picker.accessibleDescription() == "Llama 3.1 8B"
    with qtbot.waitSignal(picker.clicked, timeout=1_000):
        qtbot.keyClick(picker, Key.Key_Down)


def test_that_a_disabled_button_does_nothing(qtbot: QtBot, shown: Show) -> None:
    button = IconButton("Undo", "undo")
    shown(button)
    button.setEnabled(False)
    pressed: list[int] = []
    button.clicked.connect(lambda: pressed.append(1))
    qtbot.mouseClick(button, LEFT)
    assert pressed == []


def test_that_a_refused_edit_is_answered_with_its_sentence() -> None:
    def refused() -> None:
        raise InputError("prompt must be a whole number")

    assert attempt(refused) == "prompt must be a whole number"
    assert attempt(lambda: None) is None
