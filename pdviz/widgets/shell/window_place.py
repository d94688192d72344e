"""Where a window opens: where it was, held on a screen that exists, else at a good first size."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from pdviz.settings import Settings


def place_window(window: QWidget, settings: Settings, least_width: int, least_height: int) -> None:
    """Size and place as remembered, held on a screen that exists; else a good first size."""
    screen = QGuiApplication.primaryScreen().availableGeometry()
    kept = settings.window
    if kept is not None:
        x, y, w, h = kept
        here = QGuiApplication.screenAt(QPoint(x + w // 2, y + 20))
        screen = here.availableGeometry() if here is not None else screen
        w, h = min(w, screen.width()), min(h, screen.height())
        x = min(max(x, screen.left()), screen.right() - w + 1)
        y = min(max(y, screen.top()), screen.bottom() - h + 1)
        window.setGeometry(x, y, w, h)
    else:
        wide, high = screen.width(), screen.height()
        w = round(max(min(max(1600, 0.72 * wide), 0.92 * wide), least_width))
        h = round(max(min(max(940, 0.76 * high), 0.9 * high), least_height))
        window.resize(w, h)
    if settings.maximised:
        window.setWindowState(Qt.WindowState.WindowMaximized)
