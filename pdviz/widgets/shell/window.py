"""The window: assembles bar, panel, views and transport, and binds them to store and player."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import QEvent, QMimeData, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QCloseEvent, QKeyEvent, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QToolTip, QWidget

from pdviz.evaluation import Result
from pdviz.scenario import Scenario
from pdviz.scene.marks.geometry import Box, interface_scale, next_text_size
from pdviz.scene.marks.theme import DARK, LIGHT, Theme
from pdviz.settings import Settings
from pdviz.store import ScenarioStore
from pdviz.widgets.controls.area import PanelArea
from pdviz.widgets.controls.panel import PANEL_WIDTH, ControlPanel
from pdviz.widgets.kit.main_view import MainView
from pdviz.widgets.kit.palette import colour, font, qt_palette, system_is_dark
from pdviz.widgets.shell.actions import enable_actions, make_actions
from pdviz.widgets.shell.drop_area import DropArea
from pdviz.widgets.shell.explainer import Explainer
from pdviz.widgets.shell.player import Player
from pdviz.widgets.shell.sharing import Sharing
from pdviz.widgets.shell.toast import Toast
from pdviz.widgets.shell.top_bar import TOP_HEIGHT, TopBar
from pdviz.widgets.shell.transport import TRANSPORT_HEIGHT, Transport
from pdviz.widgets.shell.window_place import place_window
from pdviz.widgets.views import VIEW_BY_NAME, VIEW_NAMES

LEAST_WIDTH, LEAST_HEIGHT = 800, 450  # a 1080p screen at 200 % has 960 x 540
SPOKEN_MS = 500


class MainWindow(DropArea):
    """``closing(settings)`` is emitted once, with what is to be remembered."""

    closing = Signal(object)

    def __init__(self, store: ScenarioStore, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("pdviz")
        self.setWindowTitle("pdviz: prefill and decode, to scale")
        self.setMinimumSize(LEAST_WIDTH, LEAST_HEIGHT)
        self.store = store
        self.text_size = settings.text_size
        self._choice = settings.theme
        self._settings = settings
        self._shown: Result | None = None
        self._changed: frozenset[str] = frozenset()
        self._fresh: Scenario | None = None  # what is shown from its beginning, once it has come
        self._has_palette = False
        self.reduces_motion = settings.reduced_motion
        self.sharing = Sharing(store, self, settings.recent)
        self.explainer = Explainer(
            lambda: store.result, self, rate=lambda: self.player.clock.rate, catalogue=store.catalogue
        )
        self.top = TopBar(self)
        self.panel = ControlPanel(store)
        self.panel_area = PanelArea(self.panel, self)
        self.views: dict[str, MainView] = {}
        self.view = VIEW_NAMES[0]
        self.player = Player(self._made(self.view).timeline(store.result), self)
        self.player.set_rate(settings.rate)
        self.player.set_loop(settings.loops)
        self.transport = Transport(self.player, self)
        self.toast = Toast(self)
        self.help: Any = None
        self.actions_by_id = make_actions(self, self)
        self._bind()
        self._speaker = QTimer(self, singleShot=True, interval=SPOKEN_MS)
        self._speaker.timeout.connect(self._say_moment)
        for part in (self.panel, self.transport, self.top):
            self.explainer.add(part.explained())
        self._name_view()
        self._show_result(store.result, frozenset())
        self._choose_theme()

    def _bind(self) -> None:
        self.store.changed.connect(self._show_result)
        self.store.failed.connect(self.complain)
        self.panel.refused.connect(self.complain)
        self.panel.preset_chosen.connect(self._want_fresh)
        self.sharing.told.connect(self.toast.inform)
        self.sharing.failed.connect(self.complain)
        self.sharing.warned.connect(partial(self.toast.tell, stays=True))
        self.sharing.reading.connect(self.toast.wait)
        self.sharing.view_wanted.connect(self.show_view)
        self.player.moved.connect(self._show_time)
        self.player.rate_changed.connect(self._suit_rate)
        self.transport.fit_asked.connect(partial(self._run, "view.fit"))
        self.top.asked.connect(self._run)
        self.top.menu_asked.connect(self.open_menu)
        QApplication.styleHints().colorSchemeChanged.connect(self._system_changed)

    # --- views ---------------------------------------------------------------------------------

    @property
    def current(self) -> MainView:
        """The view that is shown."""
        return self.views[self.view]

    def _made(self, name: str) -> MainView:
        """A view, bound to the window; it is made when it is first wanted."""
        if name not in self.views:
            view = self.views[name] = VIEW_BY_NAME[name].make(self.store, self)
            view.set_reduced_motion(self.reduces_motion)
            view.seeked.connect(self.seek)
            view.edited.connect(self.edit)
            view.suggested.connect(self.take_suggestion)
            view.view_asked.connect(self.show_view)
            view.retimed.connect(partial(self._show_current, False))
            self.explainer.add(view.explained())
        return self.views[name]

    @Slot(str)
    def show_view(self, name: str) -> None:
        """Brings a view to the front."""
        view = self._made(name)
        self.view = name
        self.panel.show_group(VIEW_BY_NAME[name].group)
        self._name_view()
        view.set_look(self.theme, self.scale)
        self._show_current()
        self._lay_out()
        for key, other in self.views.items():
            other.setVisible(key == name)
        view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _name_view(self) -> None:
        """Tab and commands as the view that is shown has them."""
        self.top.show_view(self.view)
        enable_actions(self.actions_by_id, self.current)
        self.transport.allow_fit(self.current.can("fit"))

    def next_view(self, step: int) -> None:
        """The view beside the present one."""
        self.show_view(VIEW_NAMES[(VIEW_NAMES.index(self.view) + step) % len(VIEW_NAMES)])

    @Slot(str)
    def _run(self, command: str, *_: object) -> None:
        self.actions_by_id[command].trigger()

    @Slot(object)
    def take_suggestion(self, suggestion: Any) -> None:
        """Sets what a suggestion says."""
        self.panel.edit(**dict(suggestion.edits))
        self._want_fresh()

    @Slot(dict)
    def edit(self, values: dict[str, Any]) -> None:
        """Edits the scenario; a refusal is reported."""
        self.panel.edit(**values)

    # --- what is shown -------------------------------------------------------------------------

    @Slot()
    def _want_fresh(self) -> None:
        self._fresh = self.store.scenario

    @Slot(object, object)
    def _show_result(self, result: Result, names: frozenset[str]) -> None:
        """First the player takes the new timeline, then all take the result, then the moment in it."""
        if names:
            self.toast.settle()
        is_new = result is not self._shown
        fresh = is_new and result.scenario == self._fresh
        self._shown, self._fresh = result, None
        if is_new:
            self._changed = names
        self._show_current(fresh)
        self.top.show_result(result, self.store.can_undo, self.store.can_redo)

    def _show_current(self, fresh: bool = False) -> None:
        result, view = self.store.result, self.current
        self.player.set_timeline(view.timeline(result))
        view.show_result(result, self._changed, fresh)
        self.transport.show_timeline(self.player.timeline)
        self._show_time(self.player.time_s)

    @Slot(float)
    def seek(self, time_s: float) -> None:
        """Puts the playhead somewhere."""
        self.player.seek(time_s)

    @Slot(float)
    def _suit_rate(self, rate: float) -> None:
        for view in self.views.values():
            view.suit_rate(rate)

    @Slot(float)
    def _show_time(self, time_s: float) -> None:
        self.current.show_time(time_s)
        self.transport.show_time(time_s)
        self.explainer.refresh()
        if not self.player.clock.is_playing:
            self._speaker.start()

    @Slot()
    def _say_moment(self) -> None:
        self.current.say_moment()

    @Slot(str)
    def complain(self, sentence: str) -> None:
        """One sentence to the user."""
        self.toast.tell(sentence)

    # --- theme and scale -----------------------------------------------------------------------

    @Slot()
    def _system_changed(self) -> None:
        if self._choice == "system":
            self._choose_theme()

    def set_theme_choice(self, choice: str) -> None:
        """ "system", "dark" or "light"."""
        self._choice = choice
        self._choose_theme()

    @Slot()
    def toggle_theme(self) -> None:
        """From dark to light and back."""
        self.set_theme_choice("light" if self.theme.is_dark else "dark")

    def _choose_theme(self) -> None:
        dark = system_is_dark() if self._choice == "system" else self._choice == "dark"
        self._set_look(DARK if dark else LIGHT, self.scale)

    def _set_look(self, theme: Theme, scale: float) -> None:
        if theme is not self.theme or not self._has_palette:
            self._has_palette = True
            QApplication.setPalette(qt_palette(theme))
            QToolTip.setPalette(qt_palette(theme))
        self.theme, self.scale = theme, scale
        self.setFont(font(13 * scale))
        parts: tuple[Any, ...] = (self.top, self.panel, self.transport, self.toast, self.current)
        for part in parts:
            part.set_look(theme, scale)
        self.explainer.set_look(theme, scale)
        if self.help is not None:
            self.help.set_look(theme, scale)
        self._lay_out()
        self.update()

    def resizeEvent(self, event: object) -> None:
        scale = interface_scale(self.width(), self.height(), self.text_size)
        if scale != self.scale:
            self._set_look(self.theme, scale)
        else:
            self._lay_out()

    def _lay_out(self) -> None:
        s, width, height = self.scale, self.width(), self.height()
        top, foot, gap = round(TOP_HEIGHT * s), round(TRANSPORT_HEIGHT * s), 14 * s
        panel = Box(gap, top + gap, PANEL_WIDTH * s, height - top - foot - 2 * gap)
        left = panel.right + gap
        boxes = (
            (self.top, Box(0, 0, width, top)),
            (self.panel_area, panel),
            (self.current, Box(left, panel.y, width - left - gap, panel.h)),
            (self.transport, Box(0, height - foot, width, foot)),
        )
        for part, box in boxes:
            x, y = round(box.x), round(box.y)
            part.setGeometry(x, y, round(box.right) - x, round(box.bottom) - y)
        self.panel_area.fit(self.theme, s)
        self.toast.lay_out()
        if self.help is not None:
            self.help.setGeometry(self.rect())
        self.fit_cue()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as p:
            p.fillRect(event.rect(), colour(self.theme.window))

    # --- the window itself ---------------------------------------------------------------------

    def restore_geometry(self) -> None:
        """Size and place as remembered, held on a screen that exists; else a good first size."""
        place_window(self, self._settings, LEAST_WIDTH, LEAST_HEIGHT)

    def toggle_full_screen(self) -> None:
        """Full screen and back."""
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    @Slot(object)
    def open_menu(self, button: QWidget) -> None:
        """The menu of all commands."""
        from pdviz.widgets.shell.menus import open_menu

        open_menu(self, button)

    def open_palette(self) -> None:
        """Every command by name."""
        from pdviz.widgets.shell.menus import open_palette

        open_palette(self, self.top)

    def open_help(self) -> None:
        """The sheet of keys."""
        if self.help is None:
            from pdviz.widgets.shell.help_sheet import HelpSheet

            self.help = HelpSheet(self)
        self.help.set_look(self.theme, self.scale)
        self.help.open()

    @Slot()
    def open_assumptions(self) -> None:
        """What the cost model assumes."""
        from pdviz.widgets.controls.assumptions import Assumptions

        popup = Assumptions(self.store, self.theme, self.scale, self)
        popup.refused.connect(self.complain)
        popup.open_below(self, self.top.assumptions_right(), self.top.height())

    def change_text_size(self, step: int) -> None:
        """Larger or smaller type and spacing; 0 goes back to the usual size."""
        self.text_size = next_text_size(self.text_size, step)
        self._set_look(self.theme, interface_scale(self.width(), self.height(), self.text_size))

    def set_reduced_motion(self, reduced: bool) -> None:
        """Jumps of the view are not animated, nothing plays by itself."""
        self.reduces_motion = reduced
        for view in self.views.values():
            view.set_reduced_motion(reduced)

    def toggle_motion(self) -> None:
        """Reduced motion, or as usual."""
        self.set_reduced_motion(not self.reduces_motion)
        self.toast.inform("Motion is reduced." if self.reduces_motion else "Motion is as usual.")

    def drop(self, data: QMimeData) -> bool:
        return self.sharing.open_mime(data)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            if self.end_drag():
                return
            was_reading = self.sharing.stop_reading()
            if self.toast.isVisible():
                self.toast.dismiss()
            elif self.isFullScreen() and not was_reading:
                self.showNormal()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QEvent) -> None:
        focused = self.focusWidget()
        if focused is not None:
            focused.clearFocus()

    def _follow_visibility(self) -> None:
        self.player.set_seen(self.isVisible() and not self.isMinimized())

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.WindowStateChange:
            self._follow_visibility()
        super().changeEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        self._follow_visibility()
        self.current.setFocus(Qt.FocusReason.OtherFocusReason)

    def hideEvent(self, event: QEvent) -> None:
        self.player.set_seen(False)

    def start_playing(self, delay_ms: int = 0) -> None:
        """Plays from the start once the first frame is up."""
        if not self.reduces_motion:
            QTimer.singleShot(delay_ms, self, partial(self.player.set_playing, True))

    def current_settings(self) -> Settings:
        """What is to be remembered."""
        box = self.normalGeometry() if (self.isMaximized() or self.isFullScreen()) else self.geometry()
        return Settings(
            theme=self._choice,
            rate=self.player.clock.rate,
            loops=self.player.clock.loops,
            window=(box.x(), box.y(), max(box.width(), 1), max(box.height(), 1)),
            maximised=self.isMaximized(),
            scenario=self.store.scenario,
            text_size=self.text_size,
            reduced_motion=self.reduces_motion,
            recent=self.sharing.recent,
        )

    def closeEvent(self, event: QCloseEvent) -> None:
        self.player.set_playing(False)
        self.explainer.close()
        self.sharing.close()
        for view in self.views.values():
            view.close()
        self.toast.dismiss()
        self._speaker.stop()
        self.closing.emit(self.current_settings())
        super().closeEvent(event)
