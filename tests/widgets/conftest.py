"""A window, and its parts, as a user has them before her."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from pdviz.app import compose, load_look
from pdviz.scenario import Scenario
from pdviz.widgets.shell.window import MainWindow

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a screen nothing can grab the keyboard, as a popup would like to."""
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.qt_log_ignore("^This plugin does not support grabbing the keyboard"))


@pytest.fixture(autouse=True)
def _inter(qapp: QApplication) -> None:
    load_look()


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Where this test's window keeps its settings."""
    return str(tmp_path / "settings")


@pytest.fixture
def open_window(qtbot: QtBot, folder: str) -> Callable[..., MainWindow]:
    """Opens the application's window on a scenario, in a size."""

    def opened(
        scenario: Scenario | None = None, width: int = 1440, height: int = 900, theme: str | None = "dark"
    ) -> MainWindow:
        window, messages = compose(scenario, folder, theme=theme)
        assert messages == []
        qtbot.addWidget(window)
        window.resize(width, height)
        window.show()
        window.activateWindow()
        qtbot.waitUntil(lambda: QApplication.activeWindow() is window, timeout=2_000)
        QCoreApplication.processEvents()
        return window

    return opened


@pytest.fixture
def window(open_window: Callable[..., MainWindow]) -> MainWindow:
    return open_window()
