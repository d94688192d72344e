"""The transport: play, step, scrub, loop, and the slow-motion factor that is always on screen."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QRect, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.scene.marks.axis import slow_motion
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import DARK, Theme
from pdviz.scene.stage.playback import RATES
from pdviz.scene.stage.timeline import Timeline
from pdviz.units import duration
from pdviz.widgets.kit.accessibility import Role
from pdviz.widgets.kit.buttons import Chip, IconButton, PickerButton
from pdviz.widgets.kit.paint import ANTIALIASING, NO_PEN, draw_text
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.pointed import Explained, always
from pdviz.widgets.kit.view import PaintedView
from pdviz.widgets.shell.player import Player

TRANSPORT_HEIGHT = 64.0


class Scrubber(PaintedView):
    """The whole timeline as a line with its marks; drag to move the playhead."""

    seeked = Signal(float)
    accessible_role = Role.Slider

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Position in time")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._timeline: Timeline | None = None
        self._time_s = 0.0

    def show_timeline(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.update()

    def show_time(self, time_s: float) -> None:
        if self._timeline is None or time_s == self._time_s:
            return
        old, self._time_s = self._time_s, time_s
        reach = round(12 * self.scale)
        left, right = sorted((self._x(old), self._x(time_s)))
        self.update(QRect(int(left) - reach, 0, int(right - left) + 2 * reach + 1, self.height()))

    def _ends(self) -> tuple[float, float]:
        return 9 * self.scale, self.width() - 9 * self.scale

    def _x(self, time_s: float) -> float:
        left, right = self._ends()
        whole = self._timeline.duration_s if self._timeline is not None else 1.0
        return left + (right - left) * min(max(time_s / whole, 0.0), 1.0)

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        theme, s = self.theme, self.scale
        p.fillRect(dirty.boundingRect(), colour(theme.surface))
        if self._timeline is None:
            return
        y, x = self.height() / 2, self._x(self._time_s)
        left, right = self._ends()
        p.fillRect(QRectF(left, y - 2 * s, right - left, 4 * s), colour(theme.line))
        p.fillRect(QRectF(left, y - 2 * s, x - left, 4 * s), colour(theme.accent))
        for mark in self._timeline.marks:
            p.fillRect(QRectF(self._x(mark.time_s) - s, y - 7 * s, 2 * s, 14 * s), colour(theme.muted))
        p.setRenderHint(ANTIALIASING, True)
        p.setPen(QPen(colour(theme.surface), 2 * s))
        p.setBrush(colour(theme.accent))
        p.drawEllipse(QRectF(x - 8 * s, y - 8 * s, 16 * s, 16 * s))

    def _seek(self, event: QMouseEvent) -> None:
        left, right = self._ends()
        if self._timeline is not None:
            share = (event.position().x() - left) / max(right - left, 1.0)
            self.seeked.emit(min(max(share, 0.0), 1.0) * self._timeline.duration_s)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._seek(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._seek(event)


class Clock(PaintedView):
    """The present moment and the whole, in figures that do not dance."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Time")
        self._words = ("", "")

    def needed_width(self, whole_s: float) -> float:
        """Width for any moment of what takes ``whole_s``."""
        size = 15.5 * self.scale
        moments = (whole_s, min(whole_s, 59.9), 0.888 * whole_s)
        left = max(text_width(steady_time(t, whole_s), size, True) for t in moments)
        return left + text_width(f"/ {duration(whole_s)}", size) + 14 * self.scale

    def show_time(self, time_s: float, whole_s: float) -> None:
        words = (steady_time(time_s, whole_s), f"/ {duration(whole_s)}")
        if words != self._words:
            self._words = words
            self.update()

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        p.fillRect(self.rect(), colour(self.theme.surface))
        size = 15.5 * self.scale
        rest = text_width(self._words[1], size) + 6 * self.scale
        now = Box(0, 0, self.width() - rest, self.height())
        draw_text(p, now, self._words[0], self.theme.text, size, True, "right")
        whole = Box(now.right + 6 * self.scale, 0, rest, self.height())
        draw_text(p, whole, self._words[1], self.theme.muted, size)


def steady_time(time_s: float, whole_s: float) -> str:
    """A moment in the unit and with the decimals of the whole, so that its width keeps still."""
    if whole_s >= 59.95:
        return duration(time_s) if time_s >= 59.95 else f"{time_s:.1f} s"
    if whole_s >= 0.9995:
        return f"{time_s:.2f} s" if whole_s >= 10 else f"{time_s:.3f} s"
    if whole_s >= 0.9995e-3:
        return f"{time_s * 1e3:.1f} ms"
    return f"{time_s * 1e6:.1f} µs"


class Transport(QWidget):
    """The bar at the foot of the window, bound to a player."""

    fit_asked = Signal()

    def __init__(self, player: Player, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Playback")
        self.theme: Theme = DARK
        self.scale = 1.0
        self._player = player
        self._whole_s = player.clock.whole_s
        self.start = IconButton("Back to the start (Home)", "start", self)
        self.back = IconButton("One pass back (,)", "previous", self)
        self.play = IconButton("Play (Space)", "play", self, filled=True)
        self.ahead = IconButton("One pass on (.)", "next", self)
        self.clock = Clock(self)
        self.scrubber = Scrubber(self)
        self.rate = PickerButton("Speed", self)
        self.rate.setToolTip("Slow motion: model time against your time ( [ and ] )")
        self.rate.set_framed(False)
        self.real_time = Chip("Real time", self)
        self.real_time.setToolTip("What a user feels (\\)")
        self.loop = IconButton("Loop", "loop", self)
        self.fit = Chip("Fit", self)
        self.fit.setToolTip("Both phases in view; again: the whole request (F)")
        self.start.clicked.connect(partial(player.seek, 0.0))
        self.back.clicked.connect(partial(player.step, -1))
        self.play.clicked.connect(player.toggle)
        self.ahead.clicked.connect(partial(player.step, 1))
        self.loop.clicked.connect(self.toggle_loop)
        self.real_time.clicked.connect(self.toggle_real_time)
        self.rate.clicked.connect(self._open_rates)
        self.fit.clicked.connect(self.fit_asked)
        self.scrubber.seeked.connect(player.seek)
        player.state_changed.connect(self.show_state)
        self._slow_rate = player.clock.rate if player.clock.rate != 1.0 else 0.1
        self.show_state()

    def explained(self) -> tuple[Explained, ...]:
        """The figures of the bar."""
        return (Explained(self.rate, always("slow_motion"), is_clickable=False),)

    def allow_fit(self, is_allowed: bool) -> None:
        """Whether there is something to fit in what is shown."""
        self.fit.setEnabled(is_allowed)

    @Slot()
    def toggle_loop(self) -> None:
        """At the end, from the start again, or not."""
        self._player.set_loop(not self._player.clock.loops)

    @Slot()
    def toggle_real_time(self) -> None:
        """Real time, and back to the slow motion before it."""
        rate = self._player.clock.rate
        if rate != 1.0:
            self._slow_rate = rate
        self._player.set_rate(self._slow_rate if rate == 1.0 else 1.0)

    def _open_rates(self) -> None:
        from pdviz.widgets.kit.choices import Choice, ChoicePopup

        rates = sorted({*RATES, self._player.clock.rate})
        choices = tuple(Choice(repr(rate), slow_motion(rate)) for rate in rates)
        popup = ChoicePopup(choices, repr(self._player.clock.rate), self.theme, self.scale, self)
        popup.search.hide()
        popup.chosen.connect(self._rate_chosen)
        popup.open_below(self.rate)

    @Slot(str)
    def _rate_chosen(self, key: str) -> None:
        self._player.set_rate(float(key))

    @Slot()
    def show_state(self) -> None:
        """Buttons as the player is."""
        clock = self._player.clock
        playing = clock.is_playing
        self.play.show_icon("pause" if playing else "play", "Pause (Space)" if playing else "Play (Space)")
        self.loop.show_on(clock.loops)
        self.rate.show_choice(slow_motion(clock.rate))
        self.real_time.show_on(clock.rate == 1.0)

    def show_timeline(self, timeline: Timeline) -> None:
        """Something else that is played."""
        self._whole_s = timeline.duration_s
        self.scrubber.show_timeline(timeline)
        self._lay_out()
        self.show_time(self._player.time_s)

    def show_time(self, time_s: float) -> None:
        self.clock.show_time(time_s, self._whole_s)
        self.scrubber.show_time(time_s)

    def set_look(self, theme: Theme, scale: float) -> None:
        self.theme, self.scale = theme, scale
        for child in (
            self.start, self.back, self.play, self.ahead, self.clock, self.scrubber,
            self.rate, self.real_time, self.loop, self.fit,
        ):  # fmt: skip
            child.set_look(theme, scale)
        self._lay_out()
        self.update()

    def resizeEvent(self, event: object) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        s, height = self.scale, self.height()

        def row(x: float, width: float, high: float) -> Box:
            return Box(x, (height - high) / 2, width, high)

        x = 16 * s
        for button, side in ((self.start, 32), (self.back, 32), (self.play, 42), (self.ahead, 32)):
            button.place(row(x, side * s, side * s))
            x += (side + 5) * s
        clock = max(self.clock.needed_width(self._whole_s), 158 * s)
        self.clock.place(row(x + 8 * s, clock, 30 * s))
        right = self.width() - 16 * s
        for chip in (self.fit, self.real_time):
            right -= chip.needed_width()
            chip.place(row(right, chip.needed_width(), 30 * s))
            right -= 8 * s
        right -= 32 * s
        self.loop.place(row(right, 32 * s, 32 * s))
        right -= 152 * s
        self.rate.place(row(right, 148 * s, 32 * s))
        left = x + 8 * s + clock + 12 * s
        self.scrubber.place(row(left, right - left - 10 * s, 34 * s))

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as p:
            p.setPen(NO_PEN)
            p.fillRect(event.rect(), colour(self.theme.surface))
            p.fillRect(0, 0, self.width(), 1, colour(self.theme.line))
