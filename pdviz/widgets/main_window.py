"""The window: assembles bar, panel, view and transport, and binds them to store and player."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QCloseEvent, QGuiApplication, QKeyEvent, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QMenu, QToolTip, QWidget

from pdviz.scene.geometry import Box, interface_scale
from pdviz.scene.theme import DARK, LIGHT, Theme
from pdviz.settings import Settings
from pdviz.store import ScenarioStore
from pdviz.widgets.actions import COMMANDS, make_actions
from pdviz.widgets.control_panel import PANEL_WIDTH, ControlPanel
from pdviz.widgets.palette import colour, font, qt_palette, system_is_dark
from pdviz.widgets.player import Player
from pdviz.widgets.request_view import RequestView
from pdviz.widgets.toast import Toast
from pdviz.widgets.top_bar import TOP_HEIGHT, TopBar
from pdviz.widgets.transport import TRANSPORT_HEIGHT, Transport

LEAST_WIDTH, LEAST_HEIGHT = 1024, 640
SPOKEN_MS = 500


class MainWindow(QWidget):
    """``closing(settings)`` is emitted once, with what is to be remembered."""

    closing = Signal(object)

    def __init__(self, store: ScenarioStore, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("pdviz")
        self.setWindowTitle("pdviz: prefill and decode, to scale")
        self.setMinimumSize(LEAST_WIDTH, LEAST_HEIGHT)
        self.store = store
        self.theme: Theme = DARK
        self.scale = 1.0
        self._choice = settings.theme
        self._settings = settings
        self._wants_fresh = False
        self._has_palette = False
        self.player = Player(store.result.request, self)
        self.player.set_rate(settings.rate)
        self.player.set_loop(settings.loops)
        self.top = TopBar(self)
        self.panel = ControlPanel(store, self)
        self.request = RequestView(store.result, self)
        self.transport = Transport(self.player, self)
        self.toast = Toast(self)
        self.actions_by_id = make_actions(self)
        self._bind()
        self._speaker = QTimer(self)
        self._speaker.setSingleShot(True)
        self._speaker.setInterval(SPOKEN_MS)
        self._speaker.timeout.connect(self.request.say_moment)
        self._show_result(store.result, frozenset())
        self._choose_theme()

    def _bind(self) -> None:
        self.store.changed.connect(self._show_result)
        self.store.failed.connect(self.complain)
        self.panel.refused.connect(self.complain)
        self.panel.preset_chosen.connect(self._want_fresh)
        self.player.moved.connect(self._show_time)
        self.request.seeked.connect(self.player.seek)
        self.transport.fit_asked.connect(self.request.stage.fit)
        self.top.undo.clicked.connect(self.store.undo)
        self.top.redo.clicked.connect(self.store.redo)
        self.top.look.clicked.connect(self.toggle_theme)
        self.top.menu.clicked.connect(self._open_menu)
        QApplication.styleHints().colorSchemeChanged.connect(self._system_changed)

    # --- what is shown -------------------------------------------------------------------------

    @Slot()
    def _want_fresh(self) -> None:
        self._wants_fresh = True

    @Slot(object, object)
    def _show_result(self, result: object, names: object) -> None:
        result = self.store.result
        fresh, self._wants_fresh = self._wants_fresh, False
        self.player.set_request(result.request)
        self.request.show_result(result, frozenset(), fresh)
        self.transport.show_result(result)
        self.top.show_result(result, self.store.can_undo, self.store.can_redo)

    @Slot(float)
    def _show_time(self, time_s: float) -> None:
        self.request.show_time(time_s)
        self.transport.show_time(time_s)
        if not self.player.clock.is_playing:
            self._speaker.start()

    @Slot(str)
    def complain(self, sentence: str) -> None:
        """One sentence to the user."""
        self.toast.tell(sentence)

    def step(self, passes: int) -> None:
        """Moves the playhead by whole passes."""
        self.player.step(passes)

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
        for part in (self.top, self.panel, self.request, self.transport, self.toast):
            part.set_look(theme, scale)
        self._lay_out()
        self.update()

    def resizeEvent(self, event: object) -> None:
        scale = interface_scale(self.width(), self.height())
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
            (self.panel, panel),
            (self.request, Box(left, panel.y, width - left - gap, panel.h)),
            (self.transport, Box(0, height - foot, width, foot)),
        )
        for part, box in boxes:
            x, y = round(box.x), round(box.y)
            part.setGeometry(x, y, round(box.right) - x, round(box.bottom) - y)
        self.toast.lay_out()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as p:
            p.fillRect(event.rect(), colour(self.theme.window))

    # --- the window itself ---------------------------------------------------------------------

    def restore_geometry(self) -> None:
        """Size and place as remembered, held on a screen that exists; else a good first size."""
        screen = QGuiApplication.primaryScreen().availableGeometry()
        kept = self._settings.window
        if kept is not None:
            x, y, w, h = kept
            here = QGuiApplication.screenAt(QPoint(x + w // 2, y + 20))
            screen = here.availableGeometry() if here is not None else screen
            w, h = min(w, screen.width()), min(h, screen.height())
            x = min(max(x, screen.left()), screen.right() - w + 1)
            y = min(max(y, screen.top()), screen.bottom() - h + 1)
            self.setGeometry(x, y, w, h)
        else:
            w = max(min(1600, round(screen.width() * 0.92)), LEAST_WIDTH)
            h = max(min(940, round(screen.height() * 0.9)), LEAST_HEIGHT)
            self.resize(w, h)
        if self._settings.maximised:
            self.setWindowState(Qt.WindowState.WindowMaximized)

    def toggle_full_screen(self) -> None:
        """Full screen and back."""
        if self.isFullScreen():
            self.showNormal()
        else:
            self.showFullScreen()

    @Slot()
    def _open_menu(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setFont(font(13.5 * self.scale))
        groups: dict[str, QMenu] = {}
        for command in COMMANDS:
            if command.menu == "File":
                continue
            if command.menu not in groups:
                groups[command.menu] = menu.addMenu(command.menu)
                groups[command.menu].setFont(menu.font())
            groups[command.menu].addAction(self.actions_by_id[command.id])
        menu.addSeparator()
        menu.addAction(self.actions_by_id["file.quit"])
        button = self.top.menu
        menu.adjustSize()
        menu.popup(button.mapToGlobal(QPoint(button.width() - menu.sizeHint().width(), button.height() + 4)))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            if self.toast.isVisible():
                self.toast.dismiss()
            elif self.isFullScreen():
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
        self.request.stage.setFocus(Qt.FocusReason.OtherFocusReason)

    def hideEvent(self, event: QEvent) -> None:
        self.player.set_seen(False)

    def start_playing(self, delay_ms: int = 0) -> None:
        """Plays from the start once the first frame is up."""
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
        )

    def closeEvent(self, event: QCloseEvent) -> None:
        self.player.set_playing(False)
        self.toast.dismiss()
        self._speaker.stop()
        self.closing.emit(self.current_settings())
        super().closeEvent(event)
