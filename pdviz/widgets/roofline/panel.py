"""The small live roofline beside the request: opens the large one."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtGui import QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.scene.roofline.chart import Chart, DotMark
from pdviz.scene.roofline.curves import Roofline, build_roofline
from pdviz.scene.roofline.layout import lay_out_chart
from pdviz.scene.roofline.page import panel_plot
from pdviz.scene.roofline.words import describe_roofline, explain
from pdviz.widgets.kit.live_panel import LivePanel
from pdviz.widgets.kit.paint import draw_card, draw_text, elided, rect
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.roofline.paint import now_box, now_mark, paint_chart, paint_now

AXES = "FLOP/s over FLOPs per byte"
MOVES_FROM_PX = 0.3


def paint_roofline_panel(
    p: QPainter, box: Box, roofline: Roofline, theme: Theme, scale: float, chart: Chart | None = None
) -> None:
    """The card with roof, ridge and dots. ``chart`` is its layout, where that has been made already."""
    chart = chart or panel_chart(box, roofline, scale)
    draw_card(p, box, theme, scale)
    title = Box(box.x + 16 * scale, box.y + 10 * scale, box.w - 32 * scale, 24 * scale)
    draw_text(p, title, "Roofline", theme.text, 15.5 * scale, True)
    room = title.w - text_width("Roofline", 15.5 * scale, True) - 14 * scale
    words = elided(AXES, 12 * scale, False, room)
    draw_text(p, title, words, theme.faint, 12 * scale, False, "right")
    paint_chart(p, chart, theme, scale)
    mark = now_mark(roofline, chart)
    if mark is not None:
        paint_now(p, mark, theme, scale)


def panel_chart(box: Box, roofline: Roofline, scale: float) -> Chart:
    """The chart in the card ``box``."""
    return lay_out_chart(roofline, panel_plot(box, scale), scale, text_width, detailed=False)


class RooflinePanel(LivePanel):
    """Shows a Roofline small."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Roofline", "Open the roofline", parent)
        self._result: Result | None = None
        self._roofline: Roofline | None = None
        self._chart: Chart | None = None
        self._mark: DotMark | None = None

    def show_result(self, result: Result, time_s: float) -> None:
        self._result = result
        self.show_roofline(build_roofline(result, time_s))

    def show_time(self, time_s: float) -> None:
        if self._roofline is not None and self._result is not None:
            self.show_roofline(self._roofline.at_time(self._result, time_s))

    def show_roofline(self, roofline: Roofline) -> None:
        """Another chart, or the same at another pass: then only the ring is moved, if it moves at all."""
        old, self._roofline = self._roofline, roofline
        if roofline is old:
            return
        if old is None or self._chart is None or not _differ_by_now(old, roofline):
            if roofline != old:
                self._chart = None
                self.update()
            return
        before, after = self._mark, now_mark(roofline, self._chart)
        if before is None or after is None:
            self.update()
        elif (
            max(abs(before.x - after.x), abs(before.y - after.y)) > MOVES_FROM_PX
            or before.bound != after.bound
        ):
            for mark in (before, after):
                self.update(rect(now_box(mark, self.scale)).toAlignedRect())

    def say_moment(self) -> None:
        """Puts the chart and the present pass into words for assistive technology."""
        if self._roofline is not None:
            now = explain(self._roofline, "now")
            self.say(f"{now.title}, {now.lead}. {describe_roofline(self._roofline)} Enter opens it.")

    def look_changed(self) -> None:
        self._chart = None

    def resizeEvent(self, event: QEvent) -> None:
        self._chart = None

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        theme, s = self.theme, self.scale
        p.fillRect(self.rect(), colour(theme.window))
        box = Box(0, 0, self.width(), self.height())
        if self._roofline is None:
            draw_card(p, box, theme, s)
            return
        if self._chart is None:
            self._chart = panel_chart(box, self._roofline, s)
        self._mark = now_mark(self._roofline, self._chart)
        paint_roofline_panel(p, box, self._roofline, theme, s, self._chart)
        self.paint_frame(p)


def _differ_by_now(one: Roofline, other: Roofline) -> bool:
    """True where two rooflines show the same chart at different passes, told without comparing them whole."""
    return (
        one.prompt_path is other.prompt_path and one.batch_path is other.batch_path and one.pins is other.pins
    )
