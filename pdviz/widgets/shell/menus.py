"""The menu and the command palette, both made from the table of commands when they are asked for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMenu, QWidget

from pdviz.errors import InputError
from pdviz.scenario import from_line
from pdviz.scene.marks.figures import scenario_words
from pdviz.widgets.kit.choices import Choice, ChoicePopup
from pdviz.widgets.kit.palette import font
from pdviz.widgets.shell.actions import COMMANDS

if TYPE_CHECKING:
    from pdviz.widgets.shell.protocol import Shell


def open_menu(shell: Shell, button: QWidget) -> None:
    """All commands by group, below the menu button."""
    menu = QMenu(button.window())
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.setFont(font(13.5 * shell.scale))
    groups: dict[str, QMenu] = {}
    for command in COMMANDS:
        if command.menu not in groups:
            groups[command.menu] = menu.addMenu(command.menu)
            groups[command.menu].setFont(menu.font())
        groups[command.menu].addAction(shell.actions_by_id[command.id])
        if command.id == "file.open":
            _add_recent(groups[command.menu].addMenu("Open recent"), shell)
    menu.adjustSize()
    menu.popup(button.mapToGlobal(QPoint(button.width() - menu.sizeHint().width(), button.height() + 4)))


def _add_recent(menu: QMenu, shell: Shell) -> None:
    menu.setFont(font(13.5 * shell.scale))
    for line in shell.sharing.recent:
        try:
            words = scenario_words(from_line(line))
        except InputError:
            continue
        menu.addAction(words.replace("&", "&&")).triggered.connect(partial(_open_line, shell, line))
    menu.setEnabled(bool(menu.actions()))


def _open_line(shell: Shell, line: str, *_: object) -> None:
    shell.sharing.open_text(line)


def open_palette(shell: Shell, bar: QWidget) -> None:
    """A searchable list of all commands below the bar, in the middle of the window."""
    window = bar.window()
    choices = tuple(
        Choice(c.id, c.title, ", ".join(c.keys) or c.menu, c.menu, shell.actions_by_id[c.id].isEnabled())
        for c in COMMANDS
    )
    popup = ChoicePopup(choices, "", shell.theme, shell.scale, window)
    popup.chosen.connect(partial(_run_command, shell))
    popup.open_below(bar, round(560 * shell.scale))
    popup.move(window.mapToGlobal(QPoint((window.width() - popup.width()) // 2, bar.height() + 20)))


def _run_command(shell: Shell, command_id: str) -> None:
    shell.actions_by_id[command_id].trigger()
