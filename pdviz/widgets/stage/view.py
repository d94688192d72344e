"""The stage as an instrument: zoom, pan, measure, hover and jump, as in a trace viewer."""

from __future__ import annotations

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

from pdviz.evaluation import Result
from pdviz.scene.marks.axis import Window
from pdviz.scene.request.measure import Measure, measure
from pdviz.scene.request.timeline import RequestTimeline
from pdviz.scene.stage.hover import hover, pass_under
from pdviz.widgets.kit.fields import by_keyboard
from pdviz.widgets.stage.canvas import ZOOM_KEY, ZOOM_LIMIT_PER_EVENT, StageCanvas
from pdviz.widgets.stage.paint import paint_measure

if TYPE_CHECKING:
    from pdviz.widgets.kit.hover_card import HoverCard

DRAG_FROM_PX, GRIP_PX = 4.0, 7.0
LEFT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton
SHIFT, CONTROL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


class StageView(StageCanvas):
    """One request on the time axis, to be handled.

    ``seeked(time_s)``: the user put the playhead somewhere. ``measured`` is the stretch that the user
    has marked, if any. A click puts the playhead there, a drag measures; on the axis and the
    playhead a drag moves the playhead, on the overview the view.
    """

    seeked = Signal(float)

    def __init__(self, result: Result, parent: QWidget | None = None) -> None:
        super().__init__(result, parent)
        self.measured: Measure | None = None
        self._fixed_s = 0.0
        self._is_engaged = False
        self._card: HoverCard | None = None

    def set_result(self, result: Result, *, fresh: bool = False) -> None:
        """Another request; a marked stretch keeps its relative place."""
        before = self._result.e2e_s
        self._hide_card()
        super().set_result(result, fresh=fresh)
        if self.measured is not None:
            share = result.e2e_s / before
            self.measured = measure(
                result.request, self.measured.start_s * share, self.measured.end_s * share
            )

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
        self.measured = measure(self._result.request, one_s, other_s)
        self.say(self.measured.words)
        self.update()

    def clear_measure(self) -> bool:
        """Takes the mark away; False where there is none."""
        if self.measured is None:
            return False
        self.measured = None
        self.update()
        return True

    def zoom_to_measure(self) -> None:
        """The marked stretch fills the view."""
        if self.measured is not None and self.measured.duration_s > 0:
            room = 0.04 * self.measured.duration_s
            window = Window(self.measured.start_s - room, self.measured.end_s + room)
            self._user_window(window.held(self._result.e2e_s), animate=True)

    def fit(self) -> None:
        """The marked stretch, else both phases; a second time, everything."""
        if self.measured is not None and self.measured.duration_s > 0:
            before = self._target()
            self.zoom_to_measure()
            if self._target() == before:
                self.fit_all()
        else:
            super().fit()

    def jump(self, forward: bool) -> bool:
        """The playhead to the next event (prefill, first token, each token); False at the end."""
        time_s = RequestTimeline(self._result.request).next_s("pass", self._time_s, forward)
        if time_s is None:
            return False
        self.seeked.emit(time_s)
        self.say(self.spoken())
        return True

    # --- keyboard ------------------------------------------------------------------------------

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab jumps from event to event while the stage is in use; Escape gives Tab back."""
        if self._is_engaged and self.jump(forward):
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
            self._user_window(self.window_in_view.panned(by_s, self._result.e2e_s))
        event.accept()

    def _zoom_at(self, factor: float, at: QPointF) -> None:
        factor = min(max(factor, 1 / ZOOM_LIMIT_PER_EVENT), ZOOM_LIMIT_PER_EVENT)
        self.zoom(factor, self.stage.axis.to_s(at.x()), animate=False)

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
        layout = self.stage.layout
        inside = layout.plot.x - GRIP_PX <= at.x() <= layout.plot.right + GRIP_PX
        return inside and layout.measures.y <= at.y() < layout.ticks.y

    def _is_on_playhead(self, at: QPointF) -> bool:
        layout = self.stage.layout
        inside = layout.plot.x - GRIP_PX <= at.x() <= layout.plot.right + GRIP_PX
        rows = (layout.ticks, layout.wedge)
        if inside and any(row.contains(row.x, at.y()) for row in rows):
            return True
        on_line = abs(self.stage.axis.to_px(self._time_s) - at.x()) <= GRIP_PX
        return on_line and self._is_on_plot(at)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at, stage = event.position(), self.stage
        self._is_engaged = True
        self._hide_card()
        self._jump.stop()
        self._drag_from, self._drag_window = at, self.window_in_view
        left = event.button() == LEFT
        edge = self._edge_at(at)
        if left and stage.layout.overview.contains(at.x(), at.y()):
            self._drag = "overview"
            if not stage.view.contains(at.x(), at.y()):
                half, middle = self.window_in_view.span_s / 2, stage.overview_axis.to_s(at.x())
                self._user_window(Window(middle - half, middle + half).held(self._result.e2e_s))
            self._drag_window = self.window_in_view
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

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at, stage = event.position(), self.stage
        if self._drag == "click" and abs(at.x() - self._drag_from.x()) > DRAG_FROM_PX:
            self._drag, self._fixed_s = "measure", self._clamped_s(self._drag_from.x())
        if self._drag == "measure":
            self.set_measure(self._fixed_s, self._clamped_s(at.x()))
        elif self._drag == "seek":
            self._seek_to(at.x())
        elif self._drag == "pan":
            by_s = (self._drag_from.x() - at.x()) / stage.axis.px_per_s
            self._user_window(self._drag_window.panned(by_s, self._result.e2e_s))
        elif self._drag == "overview":
            by_s = (at.x() - self._drag_from.x()) / stage.overview_axis.px_per_s
            self._user_window(self._drag_window.panned(by_s, self._result.e2e_s))
        elif self._drag is None:
            self._hover_at(at)

    def _hover_at(self, at: QPointF) -> None:
        overview = self.stage.layout.overview.contains(at.x(), at.y())
        if self._edge_at(at) is not None or self._is_on_playhead(at):
            self.setCursor(Qt.CursorShape.SizeHorCursor)
        else:
            self.setCursor(Qt.CursorShape.PointingHandCursor if overview else Qt.CursorShape.ArrowCursor)
        index = pass_under(self.stage, self._result.request, at.x(), at.y())
        if index is None:
            self._hide_card()
            return
        if self._card is None:
            from pdviz.widgets.kit.hover_card import HoverCard

            self._card = HoverCard(self)
            self._card.set_look(self.theme, self.scale)
        self._card.show_hover(hover(self._result, index), at.x(), at.y())

    def _hide_card(self) -> None:
        card: HoverCard | None = getattr(self, "_card", None)
        if card is not None:
            card.hide()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._drag == "click":
            self._seek_to(self._drag_from.x())
        if self._drag == "measure" and self.measured is not None and self.measured.duration_s <= 0:
            self.clear_measure()
        self._drag = None
        self.unsetCursor()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self.stage.layout.overview.contains(at.x(), at.y()):
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
        request = self._result.request
        index = request.pass_at(min(max(time_s, 0.0), self._result.e2e_s))
        start_s, end_s = request.pass_start_s(index), request.pass_end_s(index)
        room = 0.5 * (end_s - start_s)
        self._user_window(Window(start_s - room, end_s + room).held(self._result.e2e_s), animate=True)

    def leaveEvent(self, event: QEvent) -> None:
        self._hide_card()

    def _clamped_s(self, x: float) -> float:
        window = self.window_in_view
        return min(max(self.stage.axis.to_s(x), window.start_s), window.end_s)

    def _seek_to(self, x: float) -> None:
        self.seeked.emit(self._clamped_s(x))
