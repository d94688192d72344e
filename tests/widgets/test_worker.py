"""Work beside the event loop: only the newest result arrives, nothing is lost, nothing stays behind."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from time import monotonic, sleep

import pytest
import shiboken6
from PySide6.QtCore import QObject, QTimer
from pytestqt.qtbot import QtBot

from pdviz.errors import InputError, in_words
from pdviz.jobs import Job, Stopped
from pdviz.widgets.kit import worker as module
from pdviz.widgets.kit.worker import MOST_THREADS, Worker


class Heard:
    """What a worker has said."""

    def __init__(self, worker: Worker) -> None:
        self.values: list[object] = []
        self.sentences: list[str] = []
        self.progress: list[tuple[float, str]] = []
        self.in_gui: list[bool] = []
        worker.done.connect(self.hear)
        worker.failed.connect(self.sentences.append)
        worker.progressed.connect(lambda *said: self.progress.append(said))

    def hear(self, value: object) -> None:
        self.values.append(value)
        self.in_gui.append(threading.current_thread() is threading.main_thread())


class Gate:
    """Work that has begun, and goes on once it is opened."""

    def __init__(self, value: object = None) -> None:
        self.value = value
        self.begun, self.opened, self.stopped = (threading.Event() for _ in range(3))
        self.polls = True

    def __call__(self, job: Job) -> object:
        self.begun.set()
        try:
            while not self.opened.wait(0.001):
                if self.polls:
                    job.report(0.5, "half of it")
        except Stopped:
            self.stopped.set()
            raise
        return self.value


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "pdviz worker"]


@pytest.fixture
def worker(qtbot: QtBot) -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()
    assert threads() == []


@pytest.fixture
def heard(worker: Worker) -> Heard:
    return Heard(worker)


def settle(qtbot: QtBot, worker: Worker) -> None:
    qtbot.waitUntil(lambda: not worker.is_busy, timeout=5_000)


# --- results -------------------------------------------------------------------------------------


def test_that_a_result_arrives_in_the_thread_of_the_window(
    worker: Worker, heard: Heard, qtbot: QtBot
) -> None:
    asked: list[bool] = []
    assert not worker.is_busy
    worker.submit(lambda job: asked.append(threading.current_thread() is threading.main_thread()) or 42)
    assert worker.is_busy
    assert heard.values == [], "never within the call itself"
    settle(qtbot, worker)
    assert (heard.values, heard.in_gui, asked) == ([42], [True], [False])
    assert heard.sentences == []


def test_that_nothing_ticks_where_nothing_is_done(worker: Worker, heard: Heard, qtbot: QtBot) -> None:
    (timer,) = worker.findChildren(QTimer)
    assert not timer.isActive()
    worker.submit(lambda job: 1)
    assert timer.isActive()
    qtbot.waitUntil(lambda: not timer.isActive(), timeout=5_000)
    assert heard.values == [1]


def test_that_generations_are_counted(worker: Worker, qtbot: QtBot) -> None:
    assert [worker.submit(lambda job: None) for _ in range(3)] == [1, 2, 3]
    assert worker.generation == 3


def test_that_a_result_may_lead_to_further_work(worker: Worker, heard: Heard, qtbot: QtBot) -> None:
    worker.done.connect(lambda value: worker.submit(lambda job: value + 1) if value < 3 else None)
    worker.submit(lambda job: 0)
    qtbot.waitUntil(lambda: len(heard.values) == 4, timeout=5_000)
    assert heard.values == [0, 1, 2, 3]
    assert not worker.is_busy


def test_that_the_window_goes_on_while_work_is_done(worker: Worker, heard: Heard, qtbot: QtBot) -> None:
    def burn(job: Job) -> int:
        end_s, count = monotonic() + 0.4, 0
        while monotonic() < end_s:
            count += 1
        return count

    ticks: list[float] = []
    timer = QTimer()
    timer.setInterval(5)
    timer.timeout.connect(lambda: ticks.append(monotonic()))
    timer.start()
    worker.submit(burn)
    settle(qtbot, worker)
    timer.stop()
    assert len(heard.values) == 1
    assert len(ticks) > 15
    assert sys.getswitchinterval() <= module.SWITCH_S


# --- supersession --------------------------------------------------------------------------------


def test_that_only_the_newest_result_arrives_and_older_work_is_asked_to_stop(
    worker: Worker, heard: Heard, qtbot: QtBot
) -> None:
    old, new = Gate("old"), Gate("new")
    worker.submit(old)
    assert old.begun.wait(5)
    worker.submit(new)
    assert old.stopped.wait(5)
    new.opened.set()
    settle(qtbot, worker)
    assert heard.values == ["new"]
    assert heard.sentences == []


def test_that_a_result_that_was_ready_before_it_was_superseded_does_not_arrive(
    worker: Worker, heard: Heard, qtbot: QtBot
) -> None:
    old = Gate("old")
    old.opened.set()
    worker.submit(old)
    sleep(0.05)  # ended, and not yet fetched
    worker.submit(lambda job: "new")
    settle(qtbot, worker)
    assert heard.values == ["new"]


def test_that_an_error_of_superseded_work_is_not_said(worker: Worker, heard: Heard, qtbot: QtBot) -> None:
    gate = Gate()
    gate.polls = False

    def fail(job: Job) -> None:
        gate(job)
        raise InputError("of old work")

    worker.submit(fail)
    assert gate.begun.wait(5)
    worker.submit(lambda job: "new")
    gate.opened.set()
    settle(qtbot, worker)
    assert (heard.values, heard.sentences) == (["new"], [])


def test_that_the_newest_work_waits_for_older_work_only_a_while(
    worker: Worker, heard: Heard, qtbot: QtBot
) -> None:
    hung = Gate("hung")
    hung.polls = False
    worker.submit(hung)
    assert hung.begun.wait(5)
    worker.submit(lambda job: "new")
    assert len(threads()) == 1
    settle(qtbot, worker)
    assert heard.values == ["new"]
    assert hung in [run._work for run in worker._runs]
    hung.opened.set()
    qtbot.waitUntil(lambda: not threads(), timeout=5_000)
    assert heard.values == ["new"]


def test_that_many_submissions_run_few_and_bring_the_last(worker: Worker, heard: Heard, qtbot: QtBot) -> None:
    begun: list[int] = []
    most = 0

    def work(number: int, job: Job) -> int:
        begun.append(number)
        for step in range(20):
            sleep(0.001)
            job.report(step / 20, f"step {step} of {number}")
        return number

    for number in range(400):
        worker.submit(lambda job, number=number: work(number, job))
        most = max(most, len(threads()))
        if number % 40 == 0:
            qtbot.wait(10)
    settle(qtbot, worker)
    assert heard.values == [399]
    assert begun[-1] == 399
    assert len(begun) < 100
    assert most == 1
    assert all(words.endswith(" of 399") for _, words in heard.progress[-3:])


def test_that_work_that_hangs_again_and_again_does_not_pile_up_threads(
    worker: Worker, heard: Heard, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.0)
    gates = [Gate(number) for number in range(MOST_THREADS + 3)]
    for gate in gates:
        gate.polls = False
        worker.submit(gate)
        qtbot.wait(15)
    assert len(threads()) == MOST_THREADS
    assert not gates[-1].begun.is_set()
    for gate in gates:
        gate.opened.set()
    settle(qtbot, worker)
    assert heard.values == [MOST_THREADS + 2]


# --- progress and cancel -------------------------------------------------------------------------


def test_that_progress_is_told_within_its_range_and_before_the_result(
    worker: Worker, heard: Heard, qtbot: QtBot
) -> None:
    order: list[object] = []
    worker.progressed.connect(lambda share, words: order.append((share, words)))
    worker.done.connect(order.append)

    def work(job: Job) -> str:
        for share, words in ((-1.0, "begins"), (0.25, "a quarter"), (7.0, "all")):
            job.report(share, words)
            sleep(0.03)
        return "value"

    worker.submit(work)
    settle(qtbot, worker)
    assert order == [(0.0, "begins"), (0.25, "a quarter"), (1.0, "all"), "value"]


def test_that_cancelled_work_stops_in_its_middle_and_says_nothing(
    worker: Worker, heard: Heard, qtbot: QtBot
) -> None:
    gate = Gate("too late")
    worker.submit(gate)
    qtbot.waitUntil(lambda: bool(heard.progress), timeout=5_000)
    worker.cancel()
    assert not worker.is_busy
    assert gate.stopped.wait(5)
    qtbot.wait(30)
    assert (heard.values, heard.sentences) == ([], [])
    worker.submit(lambda job: "next")
    settle(qtbot, worker)
    assert heard.values == ["next"]


def test_that_who_hears_of_progress_may_cancel(worker: Worker, heard: Heard, qtbot: QtBot) -> None:
    worker.progressed.connect(lambda *_: worker.cancel())

    def work(job: Job) -> str:
        job.report(0.9, "nearly")
        return "too late"

    worker.submit(work)
    settle(qtbot, worker)
    qtbot.wait(30)
    assert heard.progress == [(0.9, "nearly")]
    assert heard.values == []


def test_that_work_runs_without_a_worker_too() -> None:
    job = Job()
    job.report(0.5, "half")
    assert job.progress == (0.5, "half")
    job.stop()
    with pytest.raises(Stopped):
        job.report(0.6, "more")
    assert job.progress == (0.5, "half")


# --- errors --------------------------------------------------------------------------------------


def test_that_bad_input_is_its_own_sentence(worker: Worker, heard: Heard, qtbot: QtBot) -> None:
    def fail(job: Job) -> None:
        raise InputError("x.json: the file is empty")

    worker.submit(fail)
    settle(qtbot, worker)
    assert (heard.values, heard.sentences) == ([], ["x.json: the file is empty"])


def test_that_any_other_error_is_a_sentence_with_its_type_and_is_not_lost(
    worker: Worker, heard: Heard, qtbot: QtBot
) -> None:
    def fail(job: Job) -> None:
        raise ZeroDivisionError("division\nby zero")

    with qtbot.capture_exceptions() as caught:
        worker.submit(fail)
        settle(qtbot, worker)
    assert heard.values == []
    assert heard.sentences == ["a mistake in pdviz itself (ZeroDivisionError: division by zero)"]
    assert [kind for kind, _, _ in caught] == [ZeroDivisionError]
    worker.submit(lambda job: "goes on")
    settle(qtbot, worker)
    assert heard.values == ["goes on"]


def test_that_words_of_any_error_are_one_short_line() -> None:
    assert in_words(InputError("as it is")) == "as it is"
    assert in_words(KeyError()) == "a mistake in pdviz itself (KeyError)"
    said = in_words(RuntimeError("\x1b[31m\n" + "long " * 1000))
    assert said.isprintable()
    assert len(said) < 300


# --- the end -------------------------------------------------------------------------------------


def test_that_closing_stops_what_runs_and_nothing_arrives(worker: Worker, heard: Heard, qtbot: QtBot) -> None:
    gate = Gate("too late")
    worker.submit(gate)
    assert gate.begun.wait(5)
    worker.close()
    assert gate.stopped.is_set()
    assert threads() == []
    (timer,) = worker.findChildren(QTimer)
    assert not timer.isActive()
    qtbot.wait(30)
    assert (heard.values, heard.sentences) == ([], [])


def test_that_closing_waits_for_what_hangs_only_a_while(
    worker: Worker, heard: Heard, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "END_S", 0.05)
    gate = Gate("too late")
    gate.polls = False
    worker.submit(gate)
    assert gate.begun.wait(5)
    begin_s = monotonic()
    worker.close()
    assert monotonic() - begin_s < 0.5
    gate.opened.set()
    qtbot.waitUntil(lambda: not threads(), timeout=5_000)
    assert heard.values == []


def test_that_a_worker_may_be_deleted_while_it_works(qtbot: QtBot) -> None:
    parent = QObject()
    worker = Worker(parent)
    gate = Gate("nobody's")
    worker.submit(gate)
    assert gate.begun.wait(5)
    shiboken6.delete(parent)
    assert gate.stopped.wait(5), "it is asked to stop"
    del worker
    gc.collect()
    qtbot.wait(30)
    assert threads() == []


END_OF_PROCESS = """
import sys, threading, time
from PySide6.QtCore import QCoreApplication, QTimer
from pdviz.widgets.kit.worker import Worker
application = QCoreApplication([])
worker = Worker()
begun = threading.Event()
def hang(job):
    begun.set()
    {hang}
worker.submit(hang)
begun.wait()
QTimer.singleShot(50, application.quit)
application.exec()
{close}
"""


@pytest.mark.parametrize("close", ["worker.close()", ""])
@pytest.mark.parametrize("hang", ["time.sleep(60)", "while True: pass", "while True: job.report(0, '')"])
def test_that_a_process_ends_silently_while_work_hangs(hang: str, close: str) -> None:
    code = END_OF_PROCESS.format(hang=hang, close=close)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
