"""The nets of conftest.py catch what they are there to catch: each was seen to fail."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BODY = """
import os
import warnings
from PySide6.QtCore import QSettings, QTimer, qWarning
from PySide6.QtWidgets import QApplication, QWidget

def test_leaves_a_timer(qapp):
    qapp.kept = QWidget()
    QTimer(qapp.kept, objectName="playhead").start(1000)
    qapp.kept.show()

def test_warns():
    warnings.warn("old", DeprecationWarning)

def test_makes_qt_warn(qtbot):
    qWarning("a signal that is not there")

def test_leaves_a_window(qapp):
    qapp.kept = QWidget()
    qapp.kept.show()

def test_finds_no_window():
    assert not QApplication.topLevelWidgets()

def test_gives_a_window_with_a_timer_to_qtbot(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    QTimer(window).start(1000)
    window.show()

def test_keeps_a_setting():
    QSettings("pdviz", "pdviz").setValue("theme", "light")

def test_finds_no_setting():
    assert QSettings("pdviz", "pdviz").value("theme") is None
    assert not os.path.exists(os.environ["XDG_CONFIG_HOME"])
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest said of the tests above, run under the project's settings in a process of their own."""
    folder = tmp_path_factory.mktemp("tests")
    shutil.copy(HERE / "conftest.py", folder)
    shutil.copy(HERE.parent / "pyproject.toml", folder)
    (folder / "test_body.py").write_text(BODY, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "test_body.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ("ERROR test_body.py::test_leaves_a_timer", "QWidget: 'playhead'"),
        ("FAILED test_body.py::test_warns", "DeprecationWarning: old"),
        ("FAILED test_body.py::test_makes_qt_warn", "QtWarningMsg: a signal that is not there"),
    ],
)
def test_that_what_a_test_must_not_do_fails_it(outcomes, outcome, reason):
    assert f"\n{outcome}" in outcomes
    assert reason in outcomes


@pytest.mark.parametrize(("least", "code"), [(1, 0), (2, 1)])
def test_that_a_run_with_too_few_tests_fails(tmp_path, least, code):
    shutil.copy(HERE / "conftest.py", tmp_path)
    shutil.copy(HERE.parent / "pyproject.toml", tmp_path)
    (tmp_path / "test_body.py").write_text("def test_one():\n    pass\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--least={least}", "test_body.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert ("only 1 tests passed, and at least 2 should" in done.stdout) == bool(code)


@pytest.mark.parametrize(
    "name",
    [
        "leaves_a_window",
        "finds_no_window",
        "gives_a_window_with_a_timer_to_qtbot",
        "keeps_a_setting",
        "finds_no_setting",
    ],
)
def test_that_nothing_of_one_test_reaches_the_next(outcomes, name):
    assert f"\nPASSED test_body.py::test_{name}\n" in outcomes
