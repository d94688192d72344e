"""The stage as a widget without hands: caches what stands still, moves the playhead, zooms and pans."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt, QVariantAnimation, Slot
from PySide6.QtGui import QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.scene.marks.axis import Window
from pdviz.scene.marks.geometry import Box
from pdviz.scene.stage.parts import Track
from pdviz.scene.stage.stage import Stage, build_stage
from pdviz.scene.stage.time_window import TimeWindow
from pdviz.scene.stage.timeline import Timeline
from pdviz.widgets.kit.accessibility import Role
from pdviz.widgets.kit.canvas import CachedCanvas
from pdviz.widgets.kit.paint import rect
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.stage.paint import paint_now, paint_stage, playhead_boxes

JUMP_MS = 150
TOO_SOON_S = 0.5
FAST = 30  # of the view in one frame: slides would not keep up
ZOOM_KEY = 1.25
ZOOM_LIMIT_PER_EVENT = 1.6


class StageCanvas(CachedCanvas):
    """Tracks over one time window. Until the user changes the view, it follows what is shown."""

    accessible_role = Role.Chart
    announces = True

    def __init__(self, timeline: Timeline, tracks: Sequence[Track], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self._timeline, self._tracks = timeline, tracks
        self._time_s = 0.0
        self._stage: Stage | None = None
        self._shows_focus = False
        self._follows = True
        self.reduces_motion = False
        self._is_suited = False
        self._is_held = False
        self.window_in_view = timeline.first_view()
        self._window = TimeWindow(self.window_in_view, timeline.duration_s, timeline.least_s)
        self._jump = QVariantAnimation(self)
        self._jump.setDuration(JUMP_MS)
        self._jump.setStartValue(0.0)
        self._jump.setEndValue(1.0)
        self._jump.valueChanged.connect(self._jumped)
        self._jump_from = self.window_in_view

    # --- what is shown -------------------------------------------------------------------------

    def set_timeline(self, timeline: Timeline, tracks: Sequence[Track], *, fresh: bool = False) -> None:
        """Something else in time. ``fresh`` forgets the view that the user has chosen."""
        self._timeline, self._tracks = timeline, tracks
        whole = timeline.duration_s
        window = self._window.on(whole, timeline.least_s)
        if fresh:
            self._follows = True
            first = timeline.first_view().showing(self._time_s, whole)
            self._go(TimeWindow(first, whole, timeline.least_s), animate=True)
        elif window.is_automatic:
            view = timeline.first_view(self.window_in_view)
            if self._time_s > view.end_s:
                view = view.showing(min(self._time_s, whole), whole)
            self._go(window.following(view))
        else:
            self._go(window)
        self.forget()

    def set_time(self, time_s: float) -> None:
        """Moves the playhead; only what it uncovers and covers is painted."""
        if time_s == self._time_s:
            return
        old, self._time_s = self._time_s, time_s
        if self.window_in_view.start_s <= time_s <= self.window_in_view.end_s:
            self._follows = True
        elif self._follows and not self._is_held:
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
        view = self._window.view
        if not (self._is_jumping and view.start_s <= time_s <= view.end_s):
            self.show_window(view.showing(time_s, self._window.whole_s), animate=not is_fast)
        self.update()

    def spoken(self) -> str:
        """The present moment in words."""
        return self._timeline.describe(self._time_s)

    @property
    def _is_jumping(self) -> bool:
        return self._jump.state() == QVariantAnimation.State.Running

    def show_window(self, window: Window, *, animate: bool = False) -> None:
        """Puts another stretch of time in view, which is no step of the user's."""
        self._go(self._window.following(window), animate=animate)

    def _go(self, window: TimeWindow, *, animate: bool = False) -> None:
        self._jump.stop()
        self._window, view = window, window.view
        if animate and not self.reduces_motion and self.isVisible() and view != self.window_in_view:
            self._jump_from = self.window_in_view
            self._jump.start()
        elif view != self.window_in_view:
            self.window_in_view = view
            self.forget()

    @Slot(object)
    def _jumped(self, share: float) -> None:
        window = self._window
        passing = self._jump_from.towards(window.view, share * share * (3 - 2 * share))
        self.window_in_view = window.view if share >= 1.0 else passing.held(window.whole_s)
        self.forget()

    def forget(self) -> None:
        self._stage = None
        super().forget()

    @property
    def stage(self) -> Stage:
        """The geometry that is drawn and hit."""
        if self._stage is None:
            self._stage = build_stage(
                self._tracks,
                self.window_in_view,
                self._window.whole_s,
                self.width(),
                self.height(),
                self.scale,
                text_width,
            )
        return self._stage

    def paint_still(self, p: QPainter) -> None:
        paint_stage(p, self.stage, Box(0, 0, self.width(), self.height()), self.theme, self.scale)

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        super().paint(p, dirty)
        paint_now(p, self.stage, self._time_s, self.theme, self.scale)
        if self.hasFocus() and self._shows_focus:
            self._paint_focus(p)

    def _paint_focus(self, p: QPainter) -> None:
        p.setPen(colour(self.theme.muted))
        p.setBrush(Qt.BrushStyle.NoBrush)
        p.drawRoundedRect(QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5), 7 * self.scale, 7 * self.scale)

    # --- navigation ----------------------------------------------------------------------------

    def _choose(self, window: TimeWindow, *, animate: bool = False) -> None:
        """The user's view."""
        self._is_suited = False
        self._follows = window.view.start_s <= self._time_s <= window.view.end_s
        self._go(window, animate=animate)

    def zoom(self, factor: float, at: float | None = None, *, animate: bool = True) -> None:
        """Closer (factor above 1) or further, about a moment: the playhead where it is in view."""
        view = self._window.view
        if at is None:
            inside = view.start_s <= self._time_s <= view.end_s
            at = self._time_s if inside else (view.start_s + view.end_s) / 2
        self._choose(self._window.zoomed(factor, at), animate=animate)

    def pan(self, share: float) -> None:
        """Moves the view by a share of its length."""
        self._choose(self._window.panned(share * self._window.view.span_s), animate=True)

    def fit(self) -> None:
        """What is shown at first; a second time, everything."""
        fresh = self._timeline.first_view()
        if self._window.view == fresh:
            self.fit_all()
        else:
            self._choose(self._window.put(fresh, is_automatic=True), animate=True)

    def fit_all(self) -> None:
        """All of the timeline in view."""
        self._choose(self._window.put(Window(0.0, self._window.whole_s)), animate=True)

    def undo_view(self) -> bool:
        """The view before the present one; False where there is none."""
        return self._step(self._window.undone())

    def redo_view(self) -> bool:
        """Forward again to the view that one has come back from; False where there is none."""
        return self._step(self._window.redone())

    def _step(self, window: TimeWindow) -> bool:
        if window is self._window:
            return False
        self._choose(window, animate=True)
        return True

    def suit_rate(self, rate: float) -> None:
        """Everything in view where the playhead would run through the view in no time; then back."""
        if self._window.is_automatic and self.window_in_view.span_s / rate < TOO_SOON_S:
            self.fit_all()
            self._is_suited = True
        elif self._is_suited and self._timeline.first_view().span_s / rate >= TOO_SOON_S:
            fresh = self._timeline.first_view().showing(self._time_s, self._window.whole_s)
            self._choose(self._window.put(fresh, is_automatic=True), animate=True)
            self._follows = True
