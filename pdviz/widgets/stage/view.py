"""The stage as an instrument: zoom, pan, measure, hover and jump, as in a trace viewer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QNativeGestureEvent,
    QPainter,
    QRegion,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from pdviz.scene.marks.axis import Window
from pdviz.scene.stage.overview import Overview
from pdviz.scene.stage.parts import Grip, Track
from pdviz.scene.stage.timeline import Measured, Timeline
from pdviz.widgets.kit.fields import by_keyboard
from pdviz.widgets.stage.canvas import ZOOM_KEY, ZOOM_LIMIT_PER_EVENT, StageCanvas
from pdviz.widgets.stage.paint import paint_measure

if TYPE_CHECKING:
    from pdviz.widgets.kit.hover_card import HoverCard

DRAG_FROM_PX, GRIP_PX = 4.0, 7.0
TURN_S = 0.7  # turns of the wheel that follow each other more quickly are one step back
LEFT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton
SHIFT, CONTROL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


class StageView(StageCanvas):
    """Tracks on the time axis, to be handled.

    ``seeked(time_s)``: the user put the playhead somewhere. ``measured`` is the stretch that the user
    has marked, if any. A click puts the playhead there, a drag measures; on the axis and the
    playhead a drag moves the playhead, on the strip of the whole the view.
    """

    seeked = Signal(float)

    def __init__(self, timeline: Timeline, tracks: Sequence[Track], parent: QWidget | None = None) -> None:
        super().__init__(timeline, tracks, parent)
        self.measured: Measured | None = None
        self._fixed_s = 0.0
        self._drag: str | None = None
        self._drag_from = QPointF()
        self._drag_view = self.window_in_view
        self._drag_moved = False
        self._turned_at = -math.inf
        self._is_engaged = False
        self._card: HoverCard | None = None

    def set_timeline(self, timeline: Timeline, tracks: Sequence[Track], *, fresh: bool = False) -> None:
        """Something else in time; a marked stretch keeps its relative place."""
        share = timeline.duration_s / self._timeline.duration_s
        self._hide_card()
        super().set_timeline(timeline, tracks, fresh=fresh)
        if self.measured is not None:
            self.measured = timeline.measure(self.measured.start_s * share, self.measured.end_s * share)

    def forget(self) -> None:
        self._hide_card()
        super().forget()

    def look_changed(self) -> None:
        super().look_changed()
        if self._card is not None:
            self._card.set_look(self.theme, self.scale)

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        super().paint(p, dirty)
        if self.measured is not None:
            paint_measure(p, self.stage, self.measured, self.theme, self.scale)

    # --- commands ------------------------------------------------------------------------------

    def set_measure(self, one_s: float, other_s: float) -> None:
        """Marks a stretch of time."""
        self.measured = self._timeline.measure(one_s, other_s)
        self.say(self.measured.words)
        self.update()

    def clear_measure(self) -> bool:
        """Takes the mark away; False where there is none."""
        if self.measured is None:
            return False
        self.measured = None
        self.update()
        return True

    @property
    def _measures_time(self) -> bool:
        return self.measured is not None and self.measured.end_s > self.measured.start_s

    def zoom_to_measure(self) -> None:
        """The marked stretch fills the view."""
        if self.measured is not None:
            self._show_stretch(self.measured.start_s, self.measured.end_s, 0.04)

    def _show_stretch(self, start_s: float, end_s: float, room: float) -> None:
        """A stretch of time with a share of it around it."""
        around = room * (end_s - start_s)
        if end_s > start_s:
            self._choose(self._window.put(Window(start_s - around, end_s + around)), animate=True)

    def fit(self) -> None:
        """The marked stretch, else what is shown at first; a second time, everything."""
        before = self._window.view
        if self._measures_time:
            self.zoom_to_measure()
            if self._window.view == before:
                self.fit_all()
        else:
            super().fit()

    def jump(self, kind: str, forward: bool) -> bool:
        """The playhead to the next moment of a kind (a pass, a first token ...); False at the end."""
        time_s = self._timeline.next_s(kind, self._time_s, forward)
        if time_s is None:
            return False
        self.seeked.emit(time_s)
        self.say(self.spoken())
        return True

    # --- keyboard ------------------------------------------------------------------------------

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab jumps from moment to moment while the stage is in use; Escape gives Tab back."""
        if self._is_engaged and self.jump(self._timeline.kinds[0], forward):
            return True
        self._is_engaged = False
        return bool(super().focusNextPrevChild(forward))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and (self.clear_measure() or self._is_engaged):
            self._is_engaged = False
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._is_engaged = True
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._shows_focus = by_keyboard(event)
        self._is_engaged = not self._shows_focus
        self.say(self.spoken())
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.update()

    # --- wheel and gestures --------------------------------------------------------------------

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._hide_card()
        pixels, angle = event.pixelDelta(), event.angleDelta()
        if event.modifiers() & CONTROL:
            notches = pixels.y() / 60 if pixels.y() else angle.y() / 120
            self._zoom_at(ZOOM_KEY**notches, event.position())
        else:
            moved = pixels if not pixels.isNull() else QPoint(angle.x() // 2, angle.y() // 2)
            across = moved.x() if abs(moved.x()) > abs(moved.y()) else moved.y()
            by_s = -across / self.stage.axis.px_per_s
            self._rest()
            self._choose(self._window.panned(by_s, goes_on=self._turns_on()))
        event.accept()

    def _turns_on(self) -> bool:
        """True where this turn of the wheel belongs to the one before it, for the way back."""
        before, self._turned_at = self._turned_at, perf_counter()
        return self._turned_at - before < TURN_S

    def _rest(self) -> None:
        """A slide under way ends where it is: what the hand does is meant for what it sees."""
        if self._window.view != self.window_in_view:
            self.show_window(self.window_in_view)

    def _zoom_at(self, factor: float, at: QPointF) -> None:
        factor = min(max(factor, 1 / ZOOM_LIMIT_PER_EVENT), ZOOM_LIMIT_PER_EVENT)
        at_s = self.stage.axis.to_s(at.x())
        self._choose(self._window.zoomed(factor, at_s, goes_on=self._turns_on()))

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QNativeGestureEvent):
            if event.gestureType() != Qt.NativeGestureType.ZoomNativeGesture:
                return super().event(event)
            self._zoom_at(1 + event.value(), event.position())
            return True
        return super().event(event)

    # --- mouse ---------------------------------------------------------------------------------

    def _edge_at(self, at: QPointF) -> float | None:
        """The other edge of the measure whose edge is under the cursor."""
        if self.measured is None or not self._is_on_plot(at):
            return None
        axis, m = self.stage.axis, self.measured
        if abs(axis.to_px(m.start_s) - at.x()) <= GRIP_PX:
            return m.end_s
        return m.start_s if abs(axis.to_px(m.end_s) - at.x()) <= GRIP_PX else None

    def _is_on_plot(self, at: QPointF) -> bool:
        return self._is_in_time(at) and self.stage.reads_time_at(at.y())

    def _is_in_time(self, at: QPointF) -> bool:
        plot = self.stage.plot
        return plot.x - GRIP_PX <= at.x() <= plot.right + GRIP_PX

    def _is_on_whole(self, at: QPointF) -> bool:
        return any(strip.contains(at.x(), at.y()) for strip in self.stage.grips(Grip.WHOLE))

    def _is_on_playhead(self, at: QPointF) -> bool:
        rows = self.stage.grips(Grip.SEEK)
        if self._is_in_time(at) and any(row.contains(row.x, at.y()) for row in rows):
            return True
        on_line = abs(self.stage.axis.to_px(self._time_s) - at.x()) <= GRIP_PX
        return on_line and self._is_on_plot(at)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        self._is_engaged = self._is_held = True
        self._hide_card()
        self._rest()
        self._drag_from, self._drag_view, self._drag_moved = at, self.window_in_view, False
        left = event.button() == LEFT
        edge = self._edge_at(at)
        if left and self._is_on_whole(at):
            self._drag = "whole"
            if not any(row.view.contains(at.x(), at.y()) for row in self.stage.rows(Overview)):
                half, middle = self.window_in_view.span_s / 2, self.stage.whole.to_s(at.x())
                self._drag_to(Window(middle - half, middle + half))
            self._drag_view = self.window_in_view
        elif event.button() == MIDDLE or (left and event.modifiers() & SHIFT):
            self._drag = "pan"
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
        elif left and edge is not None:
            self._drag, self._fixed_s = "measure", edge
        elif left and self._is_on_playhead(at):
            self._drag = "seek"
            self._seek_to(at.x())
        elif left and self._is_on_plot(at):
            self._drag = "click"

    def _drag_to(self, view: Window) -> None:
        """A view that the hand has dragged: one step for all of a drag."""
        self._choose(self._window.put(view, goes_on=self._drag_moved))
        self._drag_moved = True

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at, stage = event.position(), self.stage
        if self._drag == "click" and abs(at.x() - self._drag_from.x()) > DRAG_FROM_PX:
            self._drag, self._fixed_s = "measure", self._clamped_s(self._drag_from.x())
        if self._drag == "measure":
            self.set_measure(self._fixed_s, self._clamped_s(at.x()))
        elif self._drag == "seek":
            self._seek_to(at.x())
        elif self._drag in ("pan", "whole"):
            moved_px = at.x() - self._drag_from.x()
            by_s = (
                moved_px / stage.whole.px_per_s if self._drag == "whole" else -moved_px / stage.axis.px_per_s
            )
            self._drag_to(self._drag_view.panned(by_s, self._window.whole_s))
        elif self._drag is None:
            self._hover_at(at)

    def _hover_at(self, at: QPointF) -> None:
        whole = self._is_on_whole(at)
        if self._edge_at(at) is not None or self._is_on_playhead(at):
            self.setCursor(Qt.CursorShape.SizeHorCursor)
        else:
            self.setCursor(Qt.CursorShape.PointingHandCursor if whole else Qt.CursorShape.ArrowCursor)
        found = self.stage.hover(at.x(), at.y())
        if found is None:
            self._hide_card()
            return
        if self._card is None:
            from pdviz.widgets.kit.hover_card import HoverCard

            self._card = HoverCard(self)
            self._card.set_look(self.theme, self.scale)
        self._card.show_hover(found, at.x(), at.y())

    def _hide_card(self) -> None:
        card: HoverCard | None = getattr(self, "_card", None)
        if card is not None:
            card.hide()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._drag == "click":
            self._seek_to(self._drag_from.x())
        if (
            self._drag == "measure"
            and self.measured is not None
            and self.measured.end_s <= self.measured.start_s
        ):
            self.clear_measure()
        self._drag, self._is_held = None, False
        self.unsetCursor()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self._is_on_whole(at):
            self.fit_all()
        elif self._is_on_plot(at):
            time_s = self.stage.axis.to_s(at.x())
            m = self.measured
            if m is not None and m.start_s <= time_s <= m.end_s:
                self.zoom_to_measure()
            else:
                self._zoom_to_pass(time_s)

    def _zoom_to_pass(self, time_s: float) -> None:
        """The pass at a moment, with a little around it."""
        line = self._timeline
        index = line.pass_at(min(max(time_s, 0.0), line.duration_s))
        self._show_stretch(line.pass_start_s(index), line.pass_end_s(index), 0.5)

    def leaveEvent(self, event: QEvent) -> None:
        self._hide_card()

    def _clamped_s(self, x: float) -> float:
        window = self.window_in_view
        return min(max(self.stage.axis.to_s(x), window.start_s), window.end_s)

    def _seek_to(self, x: float) -> None:
        self.seeked.emit(self._clamped_s(x))
