"""What commands, menus and lists know of the window: no more than this."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtGui import QAction

from pdviz.scene.marks.theme import Theme
from pdviz.store import ScenarioStore
from pdviz.widgets.controls.panel import ControlPanel
from pdviz.widgets.kit.main_view import MainView
from pdviz.widgets.shell.player import Player
from pdviz.widgets.shell.sharing import Sharing
from pdviz.widgets.shell.transport import Transport


class Shell(Protocol):
    """The scenario, what plays it, the view that is shown, and what a command may ask of the window."""

    store: ScenarioStore
    player: Player
    transport: Transport
    panel: ControlPanel
    sharing: Sharing
    actions_by_id: dict[str, QAction]
    theme: Theme
    scale: float
    view: str

    @property
    def current(self) -> MainView:
        """The view that is shown; ``view`` is its name."""

    def show_view(self, name: str) -> None: ...
    def next_view(self, step: int) -> None: ...
    def change_text_size(self, step: int) -> None: ...
    def toggle_motion(self) -> None: ...
    def toggle_theme(self) -> None: ...
    def set_theme_choice(self, choice: str) -> None: ...
    def toggle_full_screen(self) -> None: ...
    def open_assumptions(self) -> None: ...
    def open_palette(self) -> None: ...
    def open_help(self) -> None: ...
    def close(self) -> bool: ...
