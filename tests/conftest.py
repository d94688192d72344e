"""What every test can rely on: no screen, nobody's settings, nothing of Qt left over from another test."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

# Machines differ in speed, tests do not: no deadlines. CI draws the same examples on every run.
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, database=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

# Where Linux, macOS and Windows programs look for a person's files.
PERSONAL_FOLDERS = (
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "APPDATA",
    "LOCALAPPDATA",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--least", type=int, default=0, help="fail where fewer tests than this have passed")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run in which hardly anything was left to run is no success."""
    least = session.config.getoption("--least")
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    passed = len(reporter.stats.get("passed", ()))
    if passed < least and session.exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"\nonly {passed:,} tests passed, and at least {least:,} should", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def _nobody_s_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test empty folders for settings, so that it neither reads nor changes anybody's own."""
    for name in PERSONAL_FOLDERS:
        monkeypatch.setenv(name, str(tmp_path / "personal" / name.lower()))
    if "PySide6.QtCore" in sys.modules:
        from PySide6.QtCore import QSettings

        for kind in (QSettings.Format.NativeFormat, QSettings.Format.IniFormat):
            # QSettings reads the environment once in a process, and never again.
            QSettings.setPath(kind, QSettings.Scope.UserScope, str(tmp_path / "personal" / "qsettings"))


@pytest.fixture(autouse=True)
def _leave_no_qt_behind() -> Iterator[None]:
    """Fail a test that leaves a timer running, and destroy the windows that it leaves open.

    Being set up before `qtbot`, it runs after `qtbot` has cleaned up.
    """
    yield
    if "PySide6.QtWidgets" not in sys.modules:
        return
    import shiboken6
    from PySide6.QtCore import QCoreApplication, QEvent, QThreadPool, QTimer
    from PySide6.QtWidgets import QApplication

    if not isinstance(QCoreApplication.instance(), QApplication):
        return
    windows = QApplication.topLevelWidgets()
    running = [
        f"{type(window).__name__}: {timer.objectName() or timer!r}"
        for window in windows
        for timer in window.findChildren(QTimer)
        if timer.isActive()
    ]
    for window in windows:
        if shiboken6.isValid(window):  # one window may have taken another with it
            window.close()
            window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # processEvents delivers none
    assert QThreadPool.globalInstance().waitForDone(5_000), "work is still running in the thread pool"
    assert not running, f"timers left running: {running}"
