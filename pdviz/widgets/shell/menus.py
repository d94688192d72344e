"""The menu and the command palette, both made from the table of commands when they are asked for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMenu

from pdviz.errors import InputError
from pdviz.scenario import from_line
from pdviz.scene.marks.figures import scenario_words
from pdviz.widgets.kit.choices import Choice, ChoicePopup
from pdviz.widgets.kit.palette import font
from pdviz.widgets.shell.actions import COMMANDS

if TYPE_CHECKING:
    from pdviz.widgets.shell.window import MainWindow


def open_menu(window: MainWindow) -> None:
    """All commands by group, below the menu button."""
    menu = QMenu(window)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.setFont(font(13.5 * window.scale))
    groups: dict[str, QMenu] = {}
    for command in COMMANDS:
        if command.menu not in groups:
            groups[command.menu] = menu.addMenu(command.menu)
            groups[command.menu].setFont(menu.font())
        groups[command.menu].addAction(window.actions_by_id[command.id])
        if command.id == "file.open":
            _add_recent(groups[command.menu].addMenu("Open recent"), window)
    button = window.top.menu
    menu.adjustSize()
    menu.popup(button.mapToGlobal(QPoint(button.width() - menu.sizeHint().width(), button.height() + 4)))


def _add_recent(menu: QMenu, window: MainWindow) -> None:
    menu.setFont(font(13.5 * window.scale))
    for line in window.sharing.recent:
        try:
            words = scenario_words(from_line(line))
        except InputError:
            continue
        menu.addAction(words.replace("&", "&&")).triggered.connect(partial(_open_line, window, line))
    menu.setEnabled(bool(menu.actions()))


def _open_line(window: MainWindow, line: str, *_: object) -> None:
    window.sharing.open_text(line)


def open_palette(window: MainWindow) -> None:
    """A searchable list of all commands in the middle of the window."""
    choices = tuple(Choice(c.id, c.title, ", ".join(c.keys) or c.menu, c.menu) for c in COMMANDS)
    popup = ChoicePopup(choices, "", window.theme, window.scale, window)
    popup.chosen.connect(partial(_run_command, window))
    popup.open_below(window.top, round(560 * window.scale))
    popup.move(window.mapToGlobal(QPoint((window.width() - popup.width()) // 2, window.top.height() + 20)))


def _run_command(window: MainWindow, command_id: str) -> None:
    window.actions_by_id[command_id].trigger()
