"""Playback in the window: the only frame timer of the program, asking an arithmetic clock."""

from __future__ import annotations

from time import perf_counter

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from pdviz.scene.stage.playback import Playback
from pdviz.scene.stage.timeline import Timeline, step_s

FRAME_MS = 16


class Player(QObject):
    """Plays a timeline. ``moved(time_s)`` for each new moment, ``state_changed`` for play, rate, loop.

    ``rate_changed(rate)`` when another speed was chosen.
    """

    moved = Signal(float)
    state_changed = Signal()
    rate_changed = Signal(float)

    def __init__(self, timeline: Timeline, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._timeline = timeline
        self._clock = Playback(timeline.duration_s)
        self._is_seen = True
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(FRAME_MS)
        self._timer.timeout.connect(self.tick)

    @property
    def clock(self) -> Playback:
        return self._clock

    @property
    def time_s(self) -> float:
        """The present moment, model seconds."""
        return self._clock.at(perf_counter())

    @property
    def timeline(self) -> Timeline:
        """What is played."""
        return self._timeline

    def set_timeline(self, timeline: Timeline) -> None:
        """Something else to play: the playhead keeps its relative place.

        Tells nobody: who sets it has first to show what the new moments are moments of.
        """
        self._timeline = timeline
        self._clock = self._clock.with_whole(perf_counter(), timeline.duration_s)
        self._run_timer()

    def set_playing(self, is_playing: bool) -> None:
        self._change(self._clock.played(perf_counter(), is_playing), state=True)

    def toggle(self) -> None:
        self.set_playing(not self._clock.is_playing)

    def seek(self, time_s: float) -> None:
        """Puts the playhead at ``time_s``."""
        self._change(self._clock.moved(perf_counter(), time_s))

    def step(self, passes: int) -> None:
        """Pauses and moves to the start of a pass ``passes`` further on (or back)."""
        if self._clock.is_playing:
            self.set_playing(False)
        self.seek(step_s(self._timeline, self.time_s, passes))

    def set_rate(self, rate: float) -> None:
        self._change(self._clock.with_rate(perf_counter(), rate), state=True)
        self.rate_changed.emit(rate)

    def change_rate(self, up: bool) -> None:
        """The next faster or slower speed."""
        self._change(self._clock.faster(perf_counter(), up), state=True)
        self.rate_changed.emit(self._clock.rate)

    def set_loop(self, loops: bool) -> None:
        self._change(self._clock.with_loop(perf_counter(), loops), state=True)

    def set_seen(self, is_seen: bool) -> None:
        """No frames are made while nobody can see them; the clock runs on."""
        self._is_seen = is_seen
        self._run_timer()

    def _change(self, clock: Playback, state: bool = False) -> None:
        self._clock = clock
        self._run_timer()
        if state:
            self.state_changed.emit()
        self.moved.emit(self.time_s)

    def _run_timer(self) -> None:
        wanted = self._clock.is_playing and self._is_seen
        if wanted and not self._timer.isActive():
            self._timer.start()
        elif not wanted:
            self._timer.stop()

    @Slot()
    def tick(self) -> None:
        """One frame."""
        now = perf_counter()
        if self._clock.has_ended(now):
            self._change(self._clock.played(now, False), state=True)
        else:
            self.moved.emit(self._clock.at(now))
