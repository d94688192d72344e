"""The base of views that are built as one page: for one result, size, theme and scale, once they are seen."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.scene.marks.theme import Theme
from pdviz.widgets.kit.main_view import MainView


class PageView(MainView):
    """Calls ``build`` whenever what it is for has changed and it is seen, else once it is shown."""

    def __init__(self, name: str, result: Result, parent: QWidget | None = None) -> None:
        super().__init__(name, result, parent)
        self._is_stale = True

    def build(self) -> None:
        """Builds and shows the page."""
        raise NotImplementedError

    def rebuild(self) -> None:
        """The page is out of date."""
        self._is_stale = not self.isVisible()
        if not self._is_stale:
            self.build()

    def set_look(self, theme: Theme, scale: float) -> None:
        """Another theme or scale."""
        self.theme, self.scale = theme, scale
        self.rebuild()

    def showEvent(self, event: QEvent) -> None:
        if self._is_stale:
            self.rebuild()

    def resizeEvent(self, event: QEvent) -> None:
        self.rebuild()

    def sizeHint(self) -> QSize:
        return QSize(960, 640)
