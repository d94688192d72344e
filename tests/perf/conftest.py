"""Benchmarks: run by `make bench`, alone, never in the test suite; their figures are printed at the end."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

_FIGURES: list[str] = []


@pytest.fixture
def say() -> Callable[[str], None]:
    """Takes a line of figures."""
    return _FIGURES.append


@pytest.fixture(autouse=True)
def _usual_collector() -> Iterator[None]:
    """Gives the garbage collector back what a benchmark took out of its rounds."""
    yield
    gc.unfreeze()
    gc.collect()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("figures")
    for line in _FIGURES:
        terminalreporter.write_line(line)
