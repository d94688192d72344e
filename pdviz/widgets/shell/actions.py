"""Commands as a table: menus, shortcuts and help come from it, so that each exists once."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from pdviz.scenario import PRESETS
from pdviz.widgets.kit.main_view import MainView, Verb
from pdviz.widgets.views import VIEWS

if TYPE_CHECKING:
    from pdviz.widgets.shell.protocol import Shell


class Command(msgspec.Struct, frozen=True):
    """``keys`` are shortcuts as Qt writes them; the first is shown in menus.

    ``verb`` is what it asks of the view that is shown: where the view cannot, the command is greyed.
    """

    id: str
    title: str
    menu: str
    keys: tuple[str, ...]
    run: Callable[[Shell], object]
    verb: Verb | None = None


def _apply_preset(index: int, shell: Shell) -> None:
    shell.panel.apply_preset(index)


def _presets() -> tuple[Command, ...]:
    return tuple(
        Command(f"preset.{n}", preset.title, "Presets", (f"Alt+{n}",), partial(_apply_preset, n - 1))
        for n, preset in enumerate(PRESETS, start=1)
    )


def _show_view(name: str, shell: Shell) -> None:
    shell.show_view(name)


def _views() -> tuple[Command, ...]:
    return tuple(
        Command(f"view.{row.key}", row.title, "View", (row.key,), partial(_show_view, row.name))
        for row in VIEWS
    )


def _save_picture(shell: Shell) -> None:
    shell.sharing.save_picture(shell.view, shell.player.time_s, shell.theme)


def _copy_picture(shell: Shell) -> None:
    shell.sharing.copy_picture(shell.view, shell.player.time_s, shell.theme)


RANGE: Verb = "zoom_to_range"
STALL: Verb = "to_stall"
DROP: Verb = "drop_prompt"

COMMANDS: tuple[Command, ...] = (
    Command("file.open", "Open…", "File", ("Ctrl+O",), lambda w: w.sharing.open_dialog()),
    Command("file.save", "Save scenario…", "File", ("Ctrl+S",), lambda w: w.sharing.save_scenario()),
    Command("file.picture", "Save picture…", "File", ("Ctrl+E",), _save_picture),
    Command("file.quit", "Quit", "File", ("Ctrl+Q",), lambda w: w.close()),
    Command("edit.undo", "Undo", "Edit", ("Ctrl+Z",), lambda w: w.store.undo()),
    Command("edit.redo", "Redo", "Edit", ("Ctrl+Shift+Z", "Ctrl+Y"), lambda w: w.store.redo()),
    Command("edit.copy", "Copy scenario", "Edit", ("Ctrl+C",), lambda w: w.sharing.copy_line()),
    Command("edit.picture", "Copy picture", "Edit", ("Ctrl+Shift+C",), _copy_picture),
    Command("edit.figures", "Copy figures", "Edit", ("Ctrl+Alt+C",), lambda w: w.sharing.copy_figures()),
    Command("edit.paste", "Paste scenario", "Edit", ("Ctrl+V",), lambda w: w.sharing.paste()),
    Command("edit.model", "Find model", "Edit", ("Ctrl+F",), lambda w: w.panel.open_choices("model")),
    Command("play.toggle", "Play or pause", "Playback", ("Space",), lambda w: w.player.toggle()),
    Command("play.back", "One pass back", "Playback", (",", "Left"), lambda w: w.player.step(-1)),
    Command("play.ahead", "One pass on", "Playback", (".", "Right"), lambda w: w.player.step(1)),
    Command("play.back10", "Ten passes back", "Playback", ("<", "Shift+Left"), lambda w: w.player.step(-10)),
    Command("play.ahead10", "Ten passes on", "Playback", (">", "Shift+Right"), lambda w: w.player.step(10)),
    Command("play.start", "To the start", "Playback", ("Home",), lambda w: w.player.seek(0.0)),
    Command("play.end", "To the end", "Playback", ("End",), lambda w: w.player.seek(math.inf)),
    Command("play.slower", "Slower", "Playback", ("[",), lambda w: w.player.change_rate(False)),
    Command("play.faster", "Faster", "Playback", ("]",), lambda w: w.player.change_rate(True)),
    Command("play.real", "Real time", "Playback", ("\\",), lambda w: w.transport.toggle_real_time()),
    Command("play.loop", "Loop", "Playback", ("Ctrl+L",), lambda w: w.transport.toggle_loop()),
    Command("view.in", "Zoom in", "View", ("W", "+", "="), lambda w: w.current.zoom(1.5), "zoom"),
    Command("view.out", "Zoom out", "View", ("S", "-"), lambda w: w.current.zoom(1 / 1.5), "zoom"),
    Command("view.left", "Pan left", "View", ("A",), lambda w: w.current.pan(-0.25), "pan"),
    Command("view.right", "Pan right", "View", ("D",), lambda w: w.current.pan(0.25), "pan"),
    Command("view.fit", "Fit; again: everything", "View", ("F",), lambda w: w.current.fit(), "fit"),
    Command("view.range", "Zoom to the range", "View", ("Z",), lambda w: w.current.zoom_to_range(), RANGE),
    Command("view.undo", "Zoom back", "View", ("Alt+Left",), lambda w: w.current.undo_view(), "undo_view"),
    Command("view.redo", "Zoom on", "View", ("Alt+Right",), lambda w: w.current.redo_view(), "redo_view"),
    Command("server.long", "Drop a long prompt", "Playback", ("L",), lambda w: w.current.drop_prompt(), DROP),
    Command("view.stall", "Next stall", "View", ("N",), lambda w: w.current.to_stall(True), STALL),
    Command("view.unstall", "Stall before", "View", ("Shift+N",), lambda w: w.current.to_stall(False), STALL),
    Command("view.all", "Everything", "View", ("0",), lambda w: w.current.fit_all(), "fit_all"),
    *_views(),
    Command("view.next", "Next view", "View", ("Ctrl+Tab",), lambda w: w.next_view(1)),
    Command("view.previous", "Previous view", "View", ("Ctrl+Shift+Tab",), lambda w: w.next_view(-1)),
    Command("view.larger", "Larger text", "View", ("Ctrl++", "Ctrl+="), lambda w: w.change_text_size(1)),
    Command("view.smaller", "Smaller text", "View", ("Ctrl+-",), lambda w: w.change_text_size(-1)),
    Command("view.usual", "Usual text", "View", ("Ctrl+0",), lambda w: w.change_text_size(0)),
    Command("view.motion", "Reduce motion", "View", (), lambda w: w.toggle_motion()),
    Command("view.theme", "Dark or light", "View", ("Ctrl+T",), lambda w: w.toggle_theme()),
    Command("view.system", "Theme of the system", "View", (), lambda w: w.set_theme_choice("system")),
    Command("view.full", "Full screen", "View", ("F11",), lambda w: w.toggle_full_screen()),
    *_presets(),
    Command("help.assumptions", "Assumptions", "Help", (), lambda w: w.open_assumptions()),
    Command("help.palette", "All commands", "Help", ("Ctrl+Shift+P",), lambda w: w.open_palette()),
    Command("help.keys", "Keys", "Help", ("?", "F1"), lambda w: w.open_help()),
)  # fmt: skip


def make_actions(shell: Shell, window: QWidget) -> dict[str, QAction]:
    """A QAction for each command, its shortcuts live in the window."""
    made = {}
    for command in COMMANDS:
        action = QAction(command.title, window)
        action.setShortcuts([QKeySequence(key) for key in command.keys])
        action.triggered.connect(partial(_run, command, shell))
        window.addAction(action)
        made[command.id] = action
    return made


def enable_actions(actions: dict[str, QAction], view: MainView) -> None:
    """Greys what the view that is shown cannot do."""
    for command in COMMANDS:
        actions[command.id].setEnabled(command.verb is None or view.can(command.verb))


def _run(command: Command, shell: Shell, *_: object) -> None:
    command.run(shell)
