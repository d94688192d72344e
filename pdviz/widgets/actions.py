"""Commands as a table: menus, shortcuts and help come from it, so that each exists once."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtGui import QAction, QKeySequence

from pdviz.scenario import PRESETS

if TYPE_CHECKING:
    from pdviz.widgets.main_window import MainWindow


class Command(msgspec.Struct, frozen=True):
    """``keys`` are shortcuts as Qt writes them; the first is shown in menus. ``run`` takes the window."""

    id: str
    title: str
    menu: str
    keys: tuple[str, ...]
    run: Callable[[Any], object]


def _apply_preset(index: int, window: MainWindow) -> None:
    window.panel.apply_preset(index)


def _presets() -> tuple[Command, ...]:
    return tuple(
        Command(f"preset.{n}", preset.title, "Presets", (f"Alt+{n}",), partial(_apply_preset, n - 1))
        for n, preset in enumerate(PRESETS, start=1)
    )


COMMANDS: tuple[Command, ...] = (
    Command("edit.undo", "Undo", "Edit", ("Ctrl+Z",), lambda w: w.store.undo()),
    Command("edit.redo", "Redo", "Edit", ("Ctrl+Shift+Z", "Ctrl+Y"), lambda w: w.store.redo()),
    Command("edit.model", "Find model", "Edit", ("Ctrl+F",), lambda w: w.panel.open_choices("model")),
    Command("play.toggle", "Play or pause", "Playback", ("Space",), lambda w: w.player.toggle()),
    Command("play.back", "One pass back", "Playback", (",", "Left"), lambda w: w.step(-1)),
    Command("play.ahead", "One pass on", "Playback", (".", "Right"), lambda w: w.step(1)),
    Command("play.back10", "Ten passes back", "Playback", ("<", "Shift+Left"), lambda w: w.step(-10)),
    Command("play.ahead10", "Ten passes on", "Playback", (">", "Shift+Right"), lambda w: w.step(10)),
    Command("play.start", "To the start", "Playback", ("Home",), lambda w: w.player.seek(0.0)),
    Command("play.end", "To the end", "Playback", ("End",), lambda w: w.player.seek(math.inf)),
    Command("play.slower", "Slower", "Playback", ("[",), lambda w: w.player.change_rate(False)),
    Command("play.faster", "Faster", "Playback", ("]",), lambda w: w.player.change_rate(True)),
    Command("play.real", "Real time", "Playback", ("\\",), lambda w: w.transport.toggle_real_time()),
    Command("play.loop", "Loop", "Playback", ("Ctrl+L",), lambda w: w.transport.toggle_loop()),
    Command("view.in", "Zoom in", "View", ("W", "+", "="), lambda w: w.request.stage.zoom(1.5)),
    Command("view.out", "Zoom out", "View", ("S", "-"), lambda w: w.request.stage.zoom(1 / 1.5)),
    Command("view.left", "Pan left", "View", ("A",), lambda w: w.request.stage.pan(-0.25)),
    Command("view.right", "Pan right", "View", ("D",), lambda w: w.request.stage.pan(0.25)),
    Command("view.fit", "Fit; again: everything", "View", ("F",), lambda w: w.request.stage.fit()),
    Command("view.range", "Zoom to the range", "View", ("Z",), lambda w: w.request.stage.zoom_to_measure()),
    Command("view.all", "Whole request", "View", ("0",), lambda w: w.request.stage.fit_all()),
    Command("view.theme", "Dark or light", "View", ("Ctrl+T",), lambda w: w.toggle_theme()),
    Command("view.system", "Theme of the system", "View", (), lambda w: w.set_theme_choice("system")),
    Command("view.full", "Full screen", "View", ("F11",), lambda w: w.toggle_full_screen()),
    *_presets(),
    Command("file.quit", "Quit", "File", ("Ctrl+Q",), lambda w: w.close()),
)  # fmt: skip


def make_actions(window: MainWindow) -> dict[str, QAction]:
    """A QAction for each command, its shortcuts live in the window."""
    made = {}
    for command in COMMANDS:
        action = QAction(command.title, window)
        action.setShortcuts([QKeySequence(key) for key in command.keys])
        action.triggered.connect(partial(_run, command, window))
        window.addAction(action)
        made[command.id] = action
    return made


def _run(command: Command, window: MainWindow, *_: object) -> None:
    command.run(window)
