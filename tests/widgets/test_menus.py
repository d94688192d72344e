"""Menu, palette and sheet of keys, as they are opened by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from pdviz.scenario import Scenario, to_line
from pdviz.widgets.kit.choices import ChoicePopup
from pdviz.widgets.shell.actions import COMMANDS
from pdviz.widgets.shell.help_sheet import MOUSE
from pdviz.widgets.shell.window import MainWindow

KEY, CLICK = "key", "click"


def opened_menu(window: MainWindow, title: str = "") -> QMenu:
    """The open menu, or the one of that title within it."""
    window.open_menu(window.top.menu)
    return next(menu for menu in window.findChildren(QMenu) if menu.title() == title)


def close_menus(window: MainWindow) -> None:
    for menu in window.findChildren(QMenu):
        menu.close()


def test_that_the_menu_holds_every_command_once_in_the_order_of_the_table(window: MainWindow) -> None:
    menu = opened_menu(window)
    groups = list(dict.fromkeys(command.menu for command in COMMANDS))
    assert [action.text() for action in menu.actions()] == groups
    for action in menu.actions():
        held = [a for a in action.menu().actions() if a.menu() is None]
        mine = [window.actions_by_id[c.id] for c in COMMANDS if c.menu == action.text()]
        assert held == mine
    close_menus(window)


def test_that_the_menu_opens_below_its_button_inside_the_window(window: MainWindow) -> None:
    menu = opened_menu(window)
    button = window.top.menu
    corner = button.mapToGlobal(QPoint(button.width(), button.height()))
    assert menu.isVisible()
    assert menu.y() >= corner.y()
    assert menu.x() + menu.width() <= corner.x() + 1
    close_menus(window)


def test_that_without_recent_scenarios_there_is_nothing_to_choose(window: MainWindow) -> None:
    assert not opened_menu(window, "Open recent").isEnabled()
    close_menus(window)


def test_that_a_recent_scenario_is_offered_in_words_and_opened(window: MainWindow, qtbot: QtBot) -> None:
    old = Scenario(prompt_tokens=77, output_tokens=33)
    window.sharing.recent = (to_line(old), "this is no scenario")
    recent = opened_menu(window, "Open recent")
    (action,) = recent.actions()  # what cannot be read is left out
    assert "77" in action.text()
    assert "33" in action.text()
    action.trigger()
    qtbot.waitUntil(lambda: window.store.scenario == old, timeout=5_000)
    close_menus(window)


def test_that_the_palette_runs_what_is_chosen(window: MainWindow) -> None:
    window.open_palette()
    (palette,) = window.findChildren(ChoicePopup)
    assert palette.isVisible()
    middle = palette.x() + palette.width() / 2
    assert abs(middle - window.mapToGlobal(QPoint(window.width() // 2, 0)).x()) <= 1
    before = window.theme
    QTest.keyClicks(palette.focusWidget() or palette, "dark or light")
    QTest.keyClick(palette.focusWidget() or palette, Qt.Key.Key_Return)
    assert window.theme is not before


def test_that_every_key_and_gesture_is_on_the_sheet_once(window: MainWindow) -> None:
    window.open_help()
    columns = window.help.columns()
    assert 2 <= len(columns) <= 3
    rows = [row for column in columns for row in column if row and not isinstance(row, str)]
    heads = [row for column in columns for row in column if row and isinstance(row, str)]
    assert sorted(rows) == sorted([(" or ".join(c.keys), c.title) for c in COMMANDS if c.keys] + list(MOUSE))
    assert len(heads) == len(set(heads)) == len({c.menu for c in COMMANDS if c.keys}) + 1
    assert max(map(len, columns)) <= 1.5 * min(map(len, columns))
    spoken = window.help.accessibleDescription()
    assert all(f"{c.title}: {', '.join(c.keys)}" in spoken for c in COMMANDS if c.keys)


@pytest.mark.parametrize("way", [KEY, CLICK])
def test_that_the_sheet_covers_the_window_until_a_key_or_a_click(window: MainWindow, way: str) -> None:
    field = window.panel.edits["prompt_tokens"]
    field.setFocus()
    window.actions_by_id["help.keys"].trigger()
    sheet = window.help
    assert sheet.isVisible()
    assert sheet.hasFocus()
    assert sheet.geometry() == window.rect()
    window.resize(window.width() - 60, window.height() - 40)
    assert sheet.geometry() == window.rect()
    if way == KEY:
        QTest.keyClick(sheet, Qt.Key.Key_Escape)
    else:
        QTest.mouseClick(sheet, Qt.MouseButton.LeftButton)
    assert not sheet.isVisible()
    assert field.hasFocus()
    window.open_help()
    assert window.help is sheet
    assert sheet.isVisible()


@pytest.mark.parametrize(("width", "height"), [(960, 560), (1440, 900), (2560, 1440)])
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_that_the_sheet_keeps_a_margin_at_any_size(
    open_window: Callable[..., MainWindow], width: int, height: int, theme: str
) -> None:
    window = open_window(None, width, height, theme)
    window.open_help()
    image = window.help.grab().toImage()
    around = window.theme.window
    edges = [(x, y) for x in range(0, image.width(), 7) for y in (0, 3, image.height() - 4)]
    edges += [(x, y) for y in range(0, image.height(), 7) for x in (0, 3, image.width() - 4)]
    assert {image.pixelColor(*at).name() for at in edges} == {around}
    colours = {
        image.pixelColor(x, y).name() for x in range(0, image.width(), 3) for y in range(0, image.height(), 3)
    }
    assert {window.theme.surface} < colours
