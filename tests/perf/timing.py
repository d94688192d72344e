"""How long something takes here, whatever else the machine is doing."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

from PySide6.QtWidgets import QApplication

# The time of this process alone: other programs do not count. Windows tells it in steps of 16 ms only.
clock = time.perf_counter if os.name == "nt" else time.process_time


def fastest_s(action: Callable[[], object], runs: int = 9) -> float:
    taken = []
    for _ in range(runs):
        begin = clock()
        action()
        taken.append(clock() - begin)
    return min(taken)


def frames_ms(action: Callable[[int], object], count: int, pace_s: float = 0.0) -> list[float]:
    """What each of ``count`` frames takes: the action and all that it makes Qt paint, sorted."""
    taken = []
    for index in range(count):
        time.sleep(pace_s)
        begin = clock()
        action(index)
        QApplication.processEvents()
        taken.append((clock() - begin) * 1e3)
    return sorted(taken)


def median_frame_ms(action: Callable[[int], object], count: int, pace_s: float = 0.0) -> float:
    return statistics.median(frames_ms(action, count, pace_s))
