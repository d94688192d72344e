"""The server view: many requests under one policy or two, pass by pass. Assembles, decides nothing."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.jobs import Job
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.scene.server.half import HalfFigures, figures_of
from pdviz.scene.server.layout import server_layout
from pdviz.scene.server.runs import NOTHING, Shown, same_runs, targets_of
from pdviz.scene.stage.timeline import STALL, Timeline
from pdviz.serving.plan import serve, with_long_prompt
from pdviz.widgets.kit.main_view import MainView
from pdviz.widgets.kit.pointed import Explained
from pdviz.widgets.kit.worker import Worker
from pdviz.widgets.server.half import HalfView
from pdviz.widgets.server.stage import ServerStage
from pdviz.widgets.server.wait import WaitView

PATIENCE_MS = 300
"""A simulation that takes longer says how far it is over the runs before it."""
WAIT_WIDTH, WAIT_HEIGHT = 320.0, 76.0

Ready = tuple[Shown, tuple[HalfFigures, ...]]


def make_ready(result: Result, job: Job) -> Ready | None:
    """Simulates and makes all that the view asks for; None where nothing is served."""

    def watch(share: float) -> None:
        job.report(0.8 * share, "Simulating the server")

    shown = Shown.of(result, serve(result, watch))
    job.report(0.9, "Counting tokens")
    if shown is None:
        return None
    return shown, tuple(figures_of(course, targets_of(result)) for course in shown.courses)


class ServerView(MainView):
    """Two policies on one time axis, and how each does. Until there is a run, how far the simulation is."""

    def __init__(self, result: Result, parent: QWidget | None = None) -> None:
        super().__init__("Server", result, parent)
        self.stage: ServerStage | None = None
        self.halves = [HalfView(self), HalfView(self)]
        self.wait = WaitView(self)
        self._shown: Shown | None = None
        self._asked: Result | None = None
        self._fresh = False
        self._reduces_motion = False
        self._time_s = 0.0
        self._moment_s: float | None = None
        self._worker = Worker(self)
        self._worker.done.connect(self._take)
        self._worker.failed.connect(self._tell)
        self._worker.progressed.connect(self.wait.show_share)
        self._patience = QTimer(self, singleShot=True, interval=PATIENCE_MS)
        self._patience.timeout.connect(self._show_wait)
        for half in self.halves:
            half.hide()

    # --- what is shown -------------------------------------------------------------------------

    def timeline(self, result: Result) -> Timeline:
        return super().timeline(result) if self._shown is None else self._shown.timeline

    def show_result(self, result: Result, changed: frozenset[str], fresh: bool = False) -> None:
        """Runs follow by ``retimed``; until then what was shown before stays."""
        self._result, self._fresh = result, self._fresh or fresh
        if self._asked is None or not same_runs(result, self._asked):
            self._asked = result
            self._patience.start()
            self._worker.submit(lambda job: make_ready(result, job))

    @Slot()
    def _show_wait(self) -> None:
        """How far the simulation is, over what is still shown, where that takes long."""
        if self._shown is not None and self._worker.is_busy:
            s = self.scale
            self.wait.place(Box((self.width() - WAIT_WIDTH * s) / 2, 40 * s, WAIT_WIDTH * s, WAIT_HEIGHT * s))
            self.wait.show()
            self.wait.raise_()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape stops a simulation and leaves what was shown before."""
        if event.key() == Qt.Key.Key_Escape and self._worker.is_busy:
            self._worker.cancel()
            self.wait.show_words("The simulation was stopped.")
            self._lay_out()
        else:
            super().keyPressEvent(event)

    @property
    def is_waiting(self) -> bool:
        return self._worker.is_busy

    @Slot(object)
    def _take(self, ready: Ready | None) -> None:
        """What the worker has made."""
        if ready is None:
            self._tell(NOTHING)
            return
        shown, figures = ready
        self._shown = shown
        if self.stage is None:
            self.stage = ServerStage(shown, self)
            self.stage.reduces_motion = self._reduces_motion
            self.stage.seeked.connect(self.seeked)
            self.stage.set_look(self.theme, self.scale)
            has_focus = self.hasFocus()
            self.setFocusProxy(self.stage)
            if has_focus:
                self.stage.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            self.stage.show_runs(shown, fresh=self._fresh)
        self._fresh = False
        for half, told, course in zip(self.halves, figures, shown.courses, strict=False):
            half.show_run(told, course)
        self._lay_out()
        self.retimed.emit()
        if self._moment_s is not None:  # the server runs on from where it was
            moment_s, self._moment_s = self._moment_s, None
            self.seeked.emit(moment_s)

    @Slot(str)
    def _tell(self, sentence: str) -> None:
        """There is no run, for a reason."""
        self._shown = None
        self.wait.show_words(sentence)
        self._lay_out()
        self.retimed.emit()

    def show_time(self, time_s: float) -> None:
        self._time_s = time_s
        if self.stage is None or self._shown is None:
            return
        self.stage.set_time(time_s)
        for half, course in zip(self.halves, self._shown.courses, strict=False):
            half.show_pass(course.pass_now(course.main, time_s))

    def moment_in_words(self) -> str:
        return self._shown.timeline.describe(self._time_s) if self._shown is not None else ""

    def say_moment(self) -> None:
        if self.stage is not None and self._shown is not None:
            self.stage.say(self.moment_in_words())
            for half in self.halves[: len(self._shown.courses)]:
                half.say(half.spoken())

    def explained(self) -> tuple[Explained, ...]:
        return tuple(Explained(half, half.explain_at) for half in self.halves)

    # --- commands of the window: the stage's ---------------------------------------------------

    def suit_rate(self, rate: float) -> None:
        """All of the runs is in view from the start."""

    def set_reduced_motion(self, reduced: bool) -> None:
        self._reduces_motion = reduced
        if self.stage is not None:
            self.stage.reduces_motion = reduced

    def zoom(self, factor: float) -> None:
        if self.stage is not None:
            self.stage.zoom(factor)

    def pan(self, share: float) -> None:
        if self.stage is not None:
            self.stage.pan(share)

    def fit(self) -> None:
        if self.stage is not None:
            self.stage.fit()

    def fit_all(self) -> None:
        if self.stage is not None:
            self.stage.fit_all()

    def zoom_to_range(self) -> None:
        if self.stage is not None:
            self.stage.zoom_to_measure()

    def undo_view(self) -> None:
        if self.stage is not None:
            self.stage.undo_view()

    def redo_view(self) -> None:
        if self.stage is not None:
            self.stage.redo_view()

    def drop_prompt(self) -> None:
        if self._shown is not None:
            self._moment_s = self._time_s
            self.edited.emit({"workload": with_long_prompt(self._result, self._time_s)})

    def to_stall(self, forward: bool) -> None:
        if self.stage is not None:
            self.stage.jump(STALL, forward)

    def closeEvent(self, event: object) -> None:
        self._patience.stop()
        self._worker.close()

    # --- look ----------------------------------------------------------------------------------

    def set_look(self, theme: Theme, scale: float) -> None:
        self.theme, self.scale = theme, scale
        for view in (self.stage, *self.halves, self.wait):
            if view is not None:
                view.set_look(theme, scale)
        self._lay_out()

    def resizeEvent(self, event: object) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        runs = len(self._shown.courses) if self._shown is not None else 0
        layout = server_layout(self.width(), self.height(), self.scale, max(runs, 1))
        self.wait.setGeometry(self.rect())
        self.wait.setVisible(not runs)
        if self.stage is not None:
            self.stage.place(layout.stage)
            self.stage.setVisible(bool(runs))
        for number, half in enumerate(self.halves):
            half.setVisible(number < runs)
            if number < runs:
                half.place(layout.halves[number])
