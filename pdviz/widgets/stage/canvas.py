"""The stage as a widget without hands: caches what stands still, moves the playhead, zooms and pans."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt, QVariantAnimation, Slot
from PySide6.QtGui import QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.scene.marks.axis import Window, automatic_window
from pdviz.scene.marks.geometry import Box
from pdviz.scene.request.timeline import RequestTimeline
from pdviz.scene.stage.stage import Stage, build_stage
from pdviz.widgets.kit.accessibility import Role
from pdviz.widgets.kit.canvas import CachedCanvas
from pdviz.widgets.kit.paint import rect
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.stage.paint import paint_playhead, paint_stage, paint_veil, playhead_boxes

JUMP_MS = 150
TOO_SOON_S = 0.5
FAST = 30  # of the view in one frame: slides would not keep up
ZOOM_KEY = 1.25
ZOOM_LIMIT_PER_EVENT = 1.6
LEAST_WINDOW_STEPS = 0.02


class StageCanvas(CachedCanvas):
    """One request on the time axis. Until the user changes the view, it follows the scenario."""

    accessible_role = Role.Chart
    announces = True

    def __init__(self, result: Result, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Timeline of one request, to scale")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self._result = result
        self._time_s = 0.0
        self._stage: Stage | None = None
        self._shows_focus = False
        self._is_automatic = True
        self._follows = True
        self.reduces_motion = False
        self._is_suited = False
        self._drag: str | None = None
        self._drag_from = QPointF()
        self._drag_window = self.window_in_view = self._fresh_window()
        self._jump = QVariantAnimation(self)
        self._jump.setDuration(JUMP_MS)
        self._jump.setStartValue(0.0)
        self._jump.setEndValue(1.0)
        self._jump.valueChanged.connect(self._jumped)
        self._jump_from = self._jump_to = self.window_in_view

    # --- what is shown -------------------------------------------------------------------------

    def _fresh_window(self, current: Window | None = None) -> Window:
        r = self._result
        return automatic_window(r.ttft_s, r.itl_s, r.e2e_s, current)

    def set_result(self, result: Result, *, fresh: bool = False) -> None:
        """Another request. ``fresh`` forgets the view that the user has chosen."""
        whole = result.e2e_s
        self._time_s = min(self._time_s * whole / self._result.e2e_s, whole)  # as the player has it
        self._result = result
        if fresh:
            self._is_automatic = self._follows = True
            self.show_window(self._fresh_window().showing(self._time_s, whole), animate=True)
        elif self._is_automatic:
            window = self._fresh_window(self.window_in_view)
            if self._time_s > window.end_s:
                window = window.showing(min(self._time_s, whole), whole)
            self.show_window(window)
        else:
            self.show_window(self.window_in_view.held(whole))
        self.forget()

    def set_time(self, time_s: float) -> None:
        """Moves the playhead; only what it uncovers and covers is painted."""
        if time_s == self._time_s:
            return
        old, self._time_s = self._time_s, time_s
        if self.window_in_view.start_s <= time_s <= self.window_in_view.end_s:
            self._follows = True
        elif self._follows and self._drag is None:
            self._turn_page(time_s, is_fast=abs(time_s - old) > self.window_in_view.span_s / FAST)
            return
        if self._stage is None or not self.is_painted:
            self.update()
            return
        for before, after in zip(
            playhead_boxes(self._stage, old, self.scale),
            playhead_boxes(self._stage, time_s, self.scale),
            strict=True,
        ):
            left, right = min(before.x, after.x), max(before.right, after.right)
            self.update(rect(Box(left, before.y, right - left, before.h)).toAlignedRect())

    def _turn_page(self, time_s: float, is_fast: bool) -> None:
        """The view after the playhead, which has left it; without a slide where it moves fast."""
        window = self._jump_to if self._is_jumping else self.window_in_view
        if not (self._is_jumping and window.start_s <= time_s <= window.end_s):
            self.show_window(window.showing(time_s, self._result.e2e_s), animate=not is_fast)
        self.update()

    def spoken(self) -> str:
        """The present moment in words."""
        return RequestTimeline(self._result.request).describe(self._time_s)

    @property
    def _is_jumping(self) -> bool:
        return self._jump.state() == QVariantAnimation.State.Running

    def show_window(self, window: Window, *, animate: bool = False) -> None:
        """Puts another stretch of time in view."""
        self._jump.stop()
        if animate and not self.reduces_motion and self.isVisible() and window != self.window_in_view:
            self._jump_from, self._jump_to = self.window_in_view, window
            self._jump.start()
            return
        if window != self.window_in_view:
            self.window_in_view = window
            self.forget()

    @Slot(object)
    def _jumped(self, share: float) -> None:
        a, b, t = self._jump_from, self._jump_to, share * share * (3 - 2 * share)
        window = Window(a.start_s + (b.start_s - a.start_s) * t, a.end_s + (b.end_s - a.end_s) * t)
        self.window_in_view = b if share >= 1.0 else window.held(self._result.e2e_s)
        self.forget()

    def forget(self) -> None:
        self._stage = None
        super().forget()

    @property
    def stage(self) -> Stage:
        """The geometry that is drawn and hit."""
        if self._stage is None:
            self._stage = build_stage(
                self._result, self.window_in_view, self.width(), self.height(), self.scale, text_width
            )
        return self._stage

    def paint_still(self, p: QPainter) -> None:
        paint_stage(p, self.stage, Box(0, 0, self.width(), self.height()), self.theme, self.scale)

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        super().paint(p, dirty)
        paint_veil(p, self.stage, self._time_s, self.theme)
        paint_playhead(p, self.stage, self._time_s, self.theme, self.scale)
        if self.hasFocus() and self._shows_focus:
            self._paint_focus(p)

    def _paint_focus(self, p: QPainter) -> None:
        p.setPen(colour(self.theme.muted))
        p.setBrush(Qt.BrushStyle.NoBrush)
        p.drawRoundedRect(QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5), 7 * self.scale, 7 * self.scale)

    # --- navigation ----------------------------------------------------------------------------

    def _user_window(self, window: Window, *, animate: bool = False) -> None:
        self._is_suited = False
        self._is_automatic = False
        self._follows = window.start_s <= self._time_s <= window.end_s
        self.show_window(window, animate=animate)

    def _target(self) -> Window:
        return self._jump_to if self._is_jumping else self.window_in_view

    def zoom(self, factor: float, anchor_s: float | None = None, *, animate: bool = True) -> None:
        """Closer (factor above 1) or further, about a moment: the playhead where it is in view."""
        window = self._target()
        if anchor_s is None:
            inside = window.start_s <= self._time_s <= window.end_s
            anchor_s = self._time_s if inside else (window.start_s + window.end_s) / 2
        least = LEAST_WINDOW_STEPS * min(self._result.itl_s or self._result.ttft_s, self._result.ttft_s)
        self._user_window(window.zoomed(factor, anchor_s, self._result.e2e_s, least), animate=animate)

    def pan(self, share: float) -> None:
        """Moves the view by a share of its length."""
        window = self._target()
        self._user_window(window.panned(share * window.span_s, self._result.e2e_s), animate=True)

    def fit(self) -> None:
        """Both phases in view; a second time, everything."""
        fresh = self._fresh_window()
        if self._target() == fresh:
            self.fit_all()
            return
        self._is_automatic = True
        self._follows = fresh.start_s <= self._time_s <= fresh.end_s
        self.show_window(fresh, animate=True)

    def suit_rate(self, rate: float) -> None:
        """Everything in view where the playhead would run through the view in no time; then back."""
        if self._is_automatic and self.window_in_view.span_s / rate < TOO_SOON_S:
            self.fit_all()
            self._is_suited = True
        elif self._is_suited and self._fresh_window().span_s / rate >= TOO_SOON_S:
            self._is_automatic = self._follows = True
            fresh = self._fresh_window().showing(self._time_s, self._result.e2e_s)
            self.show_window(fresh, animate=True)
            self._is_suited = False

    def fit_all(self) -> None:
        """The whole request in view."""
        self._user_window(Window(0.0, self._result.e2e_s), animate=True)
