"""What takes drops: shows so while something is dragged over it, and opens what is dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import QWidget

from pdviz.scene.marks.theme import DARK, Theme

if TYPE_CHECKING:
    from pdviz.widgets.shell.drop_cue import DropCue


class DropArea(QWidget):
    """The base of a window on all of which files, texts and pictures can be dropped."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAcceptDrops(True)
        self.theme: Theme = DARK
        self.scale = 1.0
        self.drop_cue: DropCue | None = None

    def drop(self, data: QMimeData) -> bool:
        """Opens what was dropped; False where it is nothing that can be opened."""
        raise NotImplementedError

    def fit_cue(self) -> None:
        """The cue covers all of the window, whatever its size."""
        if self.drop_cue is not None:
            self.drop_cue.setGeometry(self.rect())

    def end_drag(self) -> bool:
        """Takes the cue away; False where there is none."""
        was_shown = self.drop_cue is not None and bool(self.drop_cue.isVisible())
        if self.drop_cue is not None:
            self.drop_cue.hide()
        return was_shown

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        data = event.mimeData()
        if not (data.hasUrls() or data.hasText() or data.hasImage()):
            return
        from pdviz.widgets.shell.drop_cue import DropCue

        event.acceptProposedAction()
        self.drop_cue = self.drop_cue or DropCue(self)
        self.drop_cue.set_look(self.theme, self.scale)
        self.fit_cue()
        self.drop_cue.show()
        self.drop_cue.raise_()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.end_drag()

    def dropEvent(self, event: QDropEvent) -> None:
        self.end_drag()
        if self.drop(event.mimeData()):
            event.acceptProposedAction()
