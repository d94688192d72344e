"""Time from process start to the first painted frame, against an empty pyqtgraph window."""

from __future__ import annotations

import compileall
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pdviz

RUNS = 15
LIMIT = 0.8

OURS = """
import sys
sys.argv = ["pdviz"]
from pdviz.app import compose, hold, load_look, make_application
hold()
application = make_application()
load_look()
window, _ = compose(None, {folder!r})
window.resize(1920, 1080)
window.show()
application.processEvents()
assert window.views["request"].stage.is_painted
assert "pyqtgraph" not in sys.modules and "numpy" not in sys.modules
"""

EMPTY_PLOT = """
import numpy
import PySide6
import pyqtgraph
from PySide6.QtWidgets import QApplication
application = QApplication([])
window = pyqtgraph.PlotWidget()
window.resize(1920, 1080)
window.show()
application.processEvents()
"""


def _seconds(code: str, folder: Path) -> float:
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, cwd=folder, env=environ)
    return time.perf_counter() - begin


def test_that_the_first_frame_comes_before_that_of_an_empty_plot_window(
    tmp_path: Path, say: Callable[[str], None]
) -> None:
    compileall.compile_dir(Path(pdviz.__file__).parent, quiet=1)  # as pip does when it installs
    ours = OURS.format(folder=str(tmp_path))
    for code in (ours, EMPTY_PLOT):
        _seconds(code, tmp_path)
    pairs = [(_seconds(ours, tmp_path), _seconds(EMPTY_PLOT, tmp_path)) for _ in range(RUNS)]
    mine, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = mine / theirs
    say(f"first frame: pdviz {mine * 1e3:.0f} ms, empty plot {theirs * 1e3:.0f} ms, ratio {ratio:.2f}")
    assert mine <= LIMIT * theirs
