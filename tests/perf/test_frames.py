"""Playing and dragging at 1920 x 1080, against blitting one picture of that size in the same run."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QApplication, QWidget

from pdviz.app import compose, load_look, make_application, settle
from pdviz.scenario import Scenario
from pdviz.widgets.shell.window import MainWindow

WIDTH, HEIGHT = 1920, 1080
FRAMES = 400
DRAG_MEDIAN_MS, DRAG_P99_MS = 16.0, 33.0


class Blit(QWidget):
    """A window that only copies a picture."""

    def __init__(self) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.resize(WIDTH, HEIGHT)
        self._picture = QPixmap(WIDTH, HEIGHT)
        self._picture.fill(Qt.GlobalColor.darkGray)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as p:
            p.drawPixmap(0, 0, self._picture)


def _timed_ms(action: Callable[[int], None], count: int, pace_s: float = 0.0) -> list[float]:
    taken = []
    for index in range(count):
        time.sleep(pace_s)
        begin = time.perf_counter()
        action(index)
        QApplication.processEvents()
        taken.append((time.perf_counter() - begin) * 1e3)
    return taken


@pytest.fixture
def window(tmp_path: Path) -> MainWindow:
    make_application()
    load_look()
    made, _ = compose(None, str(tmp_path))
    made.resize(WIDTH, HEIGHT)
    made.show()
    for _ in range(10):
        QApplication.processEvents()
    return made


def _play_ms(window: MainWindow, output_tokens: int) -> float:
    """Median frame of playing at real speed for 60 frames a second."""
    window.store.put(msgspec.structs.replace(Scenario(), output_tokens=output_tokens))
    window.store.flush()
    window.player.seek(0.0)
    for _ in range(10):
        QApplication.processEvents()
    whole_s = window.store.result.e2e_s
    frame_s = 0.1 / 60

    def frame(index: int) -> None:
        window.player.seek(index * frame_s % whole_s)

    return statistics.median(_timed_ms(frame, FRAMES, 1 / 90))


def test_that_a_frame_of_playing_costs_a_few_blits_whatever_the_length(window: MainWindow) -> None:
    blit = Blit()
    blit.show()
    QApplication.processEvents()
    picture_ms = statistics.median(_timed_ms(lambda _: blit.update(), FRAMES))
    short_ms = min(_play_ms(window, 128) for _ in range(3))
    long_ms = min(_play_ms(window, 100_000) for _ in range(3))
    print(
        f"\nblit {picture_ms:.2f} ms, frame {short_ms:.2f} ms = {short_ms / picture_ms:.1f} blits, "
        f"100,000 tokens {long_ms:.2f} ms = {long_ms / short_ms:.2f} of 128 tokens"
    )
    blit.close()
    window.close()
    assert short_ms <= 8 * picture_ms
    assert long_ms <= 1.25 * short_ms


@pytest.mark.parametrize(
    ("view", "model"),
    [("request", "Llama 3.1 8B"), ("shapes", "Llama 3.1 8B"), ("anatomy", "Nemotron 3 Super 120B-A12B")],
)
def test_that_dragging_the_prompt_repaints_everything_within_a_frame(
    window: MainWindow, view: str, model: str
) -> None:
    window.store.put(msgspec.structs.replace(Scenario(), model=model))
    window.show_view(view)
    settle()
    slider = window.panel.sliders["prompt_tokens"]

    def drag(index: int) -> None:
        slider.moved.emit(int(2 ** (4 + 12 * (0.5 + 0.5 * math.sin(index / 25)))))

    _timed_ms(drag, 20)
    taken = sorted(_timed_ms(drag, FRAMES))
    median, p99 = statistics.median(taken), taken[int(0.99 * len(taken))]
    print(f"\ndrag on {view}: median {median:.1f} ms, 99th percentile {p99:.1f} ms")
    window.close()
    assert median <= DRAG_MEDIAN_MS
    assert p99 <= DRAG_P99_MS
