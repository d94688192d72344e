"""Runs what may take longer than a frame beside the event loop; only the newest result arrives.

The work runs in a plain thread that knows no Qt: it leaves its outcome, and a timer, which ticks only
while there is work, fetches it. So nothing of Qt is touched from outside the GUI thread, and a thread
that hangs (a file on a disk that does not answer) holds up neither the window nor the end of the program.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import partial
from time import monotonic

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from pdviz.errors import InputError, in_words
from pdviz.jobs import Job

Work = Callable[[Job], object]

POLL_MS = 5
PATIENCE_S = 0.25
"""How long the newest work waits for older work to end before it starts beside it."""
MOST_THREADS = 4
END_S = 1.0
"""How long closing waits for work that has been asked to stop."""
SWITCH_S = 0.0005
"""How long work may keep the interpreter while the window waits for it, as it does many times a frame."""


class _Run(threading.Thread):
    """One piece of work; ``is_over`` once ``value`` or ``error`` is there."""

    def __init__(self, work: Work) -> None:
        super().__init__(name="pdviz worker", daemon=True)
        self.job = Job()
        self.value: object = None
        self.error: Exception | None = None
        self.is_over = False
        self._work = work

    def run(self) -> None:
        try:
            self.value = self._work(self.job)
        except Exception as error:  # whatever it is, it is told where the result is awaited
            self.error = error
        self.is_over = True


def _stop(runs: list[_Run], *_: object) -> None:
    for run in runs:
        run.job.stop()


class Worker(QObject):
    """One piece of work at a time; a newer one supersedes it.

    Of the newest alone come ``progressed(share, words)`` and in the end ``done(value)`` or
    ``failed(sentence)``; after ``cancel`` nothing.
    """

    done = Signal(object)
    failed = Signal(str)
    progressed = Signal(float, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.generation = 0
        self._runs: list[_Run] = []  # that have not been seen to end
        self._newest: _Run | None = None
        self._waiting: Work | None = None
        self._since_s = 0.0
        self._said = Job().progress
        self._timer = QTimer(self)
        self._timer.setInterval(POLL_MS)
        self._timer.timeout.connect(self._look)
        self.destroyed.connect(partial(_stop, self._runs))
        sys.setswitchinterval(SWITCH_S)

    @property
    def is_busy(self) -> bool:
        """True while a result is awaited."""
        return self._newest is not None or self._waiting is not None

    @property
    def progress(self) -> tuple[float, str]:
        """How far the newest work is; nothing done where it has not begun."""
        return (self._newest.job if self._newest is not None else Job()).progress

    def submit(self, work: Work) -> int:
        """Runs ``work(job)`` in place of all before it; its generation, counted from 1."""
        self.cancel()
        self.generation += 1
        self._waiting, self._since_s = work, monotonic()
        if not self._timer.isActive():
            self._timer.start()
        self._start()
        return self.generation

    def cancel(self) -> None:
        """Nothing is awaited any more; what runs is asked to stop."""
        _stop(self._runs)
        self._newest = self._waiting = None

    def close(self) -> None:
        """Cancels, and waits a little until what runs has ended."""
        self.cancel()
        end_s = monotonic() + END_S
        for run in self._runs:
            run.join(max(end_s - monotonic(), 0.0))
        self._look()

    def _start(self) -> None:
        """Starts what waits, once older work has ended or has had its time to."""
        self._runs[:] = [run for run in self._runs if not run.is_over]
        patience_is_over = monotonic() - self._since_s >= PATIENCE_S and len(self._runs) < MOST_THREADS
        if self._waiting is not None and (not self._runs or patience_is_over):
            self._newest, self._waiting = _Run(self._waiting), None
            self._said = self._newest.job.progress
            self._runs.append(self._newest)
            self._newest.start()

    @Slot()
    def _look(self) -> None:
        self._start()
        run = self._newest
        if run is not None:
            is_over = run.is_over
            if run.job.progress != self._said:
                self._said = run.job.progress
                self.progressed.emit(*self._said)
            if is_over and run is self._newest:  # whoever heard of the progress may have cancelled
                self._newest = None
                self._tell(run)
        if not self._runs and not self.is_busy:
            self._timer.stop()

    def _tell(self, run: _Run) -> None:
        error = run.error
        if error is None:
            self.done.emit(run.value)
            return
        if not isinstance(error, InputError):
            sys.excepthook(type(error), error, error.__traceback__)
        self.failed.emit(in_words(error))
