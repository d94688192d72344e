"""Holds the control panel, and scrolls it where the window is too low for it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from pdviz.scene.marks.theme import Theme
from pdviz.widgets.controls.panel import ControlPanel


class PanelArea(QScrollArea):
    """Gives the panel all its width and at least the height that it needs."""

    def __init__(self, panel: ControlPanel, parent: QWidget) -> None:
        super().__init__(parent)
        self._panel = panel
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setWidget(panel)

    def fit(self, theme: Theme, scale: float) -> None:
        """The panel's size in the present one."""
        high, bar = max(self.height(), round(self._panel.least_height * scale)), 0
        if high > self.height():
            from pdviz.widgets.kit.scroll_bars import bar_width, dress

            dress(self, theme, scale)
            bar = bar_width(scale)
        self._panel.resize(self.width() - bar, high)
