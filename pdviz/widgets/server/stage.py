"""The stage of a server's runs: passes, streams and levels on one axis, its lanes scrolled by the wheel."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from pdviz.scene.server.crowd import Crowd
from pdviz.scene.server.runs import Shown
from pdviz.scene.server.stage import server_tracks
from pdviz.scene.server.streams import Streams, lanes_in
from pdviz.widgets.kit.main_view import MainView
from pdviz.widgets.server import paint  # noqa: F401 (the painters of the rows)
from pdviz.widgets.stage.view import StageView

LANES_PER_NOTCH = 3


class ServerStage(StageView):
    """One run or two on the time axis."""

    def __init__(self, shown: Shown, parent: QWidget | None = None) -> None:
        self._shown = shown
        self.scrolled_to: int | None = None
        super().__init__(shown.timeline, server_tracks(shown.courses, shown.scales, 0.0), parent)
        self.setAccessibleName("A server's passes and streams over time")

    def show_runs(self, shown: Shown, *, fresh: bool = False) -> None:
        """Other runs; ``fresh`` forgets the view that the user has chosen."""
        same = len(shown.courses[0]) == len(self._shown.courses[0])
        self._shown = shown
        if fresh or not same:
            self.scrolled_to = None
        self._show_tracks(fresh=fresh)

    def _show_tracks(self, *, fresh: bool = False) -> None:
        shown = self._shown
        tracks = server_tracks(shown.courses, shown.scales, self.height() / self.scale, self.scrolled_to)
        self.set_timeline(self._shown.timeline, tracks, fresh=fresh)

    def forget(self) -> None:
        """Another size has room for other rows."""
        height = self.height() / self.scale
        self._tracks = server_tracks(self._shown.courses, self._shown.scales, height, self.scrolled_to)
        super().forget()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Over the streams the wheel goes down their lanes, where not all of them are to be read."""
        angle, at = event.angleDelta(), event.position()
        rows = [row for row in self.stage.rows(Streams) if row.box.contains(at.x(), at.y())]
        down = abs(angle.y()) > abs(angle.x()) and event.modifiers() == Qt.KeyboardModifier.NoModifier
        if rows and down and (self.scrolled_to is not None or isinstance(rows[0].content, Crowd)):
            self.scroll_lanes(-round(LANES_PER_NOTCH * angle.y() / 120) or (-1 if angle.y() > 0 else 1))
            event.accept()
        else:
            super().wheelEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """While something is awaited Escape is the view's: it stops that."""
        view = self.parentWidget()
        if event.key() == Qt.Key.Key_Escape and isinstance(view, MainView) and view.is_waiting:
            event.ignore()
        else:
            super().keyPressEvent(event)

    def scroll_lanes(self, lanes: int) -> None:
        """Further down the streams in view, or up; the first time their lanes take the place of the map."""
        rows = self.stage.rows(Streams)
        room = min(lanes_in(row.box, self.scale) for row in rows)
        by = lanes if self.scrolled_to is not None else 0
        self.scrolled_to = self._shown.scales.roster.scrolled(self.stage.axis, self.scrolled_to, by, room)
        self._show_tracks()

    def unscroll(self) -> None:
        """All streams in view again."""
        if self.scrolled_to is not None:
            self.scrolled_to = None
            self._show_tracks()

    def fit(self) -> None:
        self.unscroll()
        super().fit()

    def fit_all(self) -> None:
        self.unscroll()
        super().fit_all()
