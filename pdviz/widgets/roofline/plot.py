"""The roofline as a pyqtgraph chart: axes, zoom and pan. Importing this module imports pyqtgraph.

Curves are given log10 values, since most items of pyqtgraph do not transform for log axes, and the axes
paint their own labels. What stands on the curves is painted from the same Chart as the page, in two
layers over and under them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyqtgraph as pg  # noqa: TID253 (this module is imported when the view is first shown)
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter
from PySide6.QtWidgets import QGraphicsItem, QWidget

from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import DARK, Theme
from pdviz.scene.roofline.chart import Chart, Curve, DotMark, Frame, roof_curves
from pdviz.scene.roofline.curves import Limits, Roofline
from pdviz.scene.roofline.layout import lay_out_chart
from pdviz.scene.roofline.page import EDGE, GUTTER, TICK_ROW
from pdviz.widgets.kit.paint import draw_scene_text
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.roofline.paint import now_mark, paint_grid, paint_marks, paint_now, stroke_pen

ZOOM_LIMIT_PER_EVENT = 1.6
NEAREST_DECADES = 0.5
LINE_REACH = 6.0
MOVES_FROM_PX = 0.3


class _ViewBox(pg.ViewBox):
    """Zooms about the cursor, by a bounded step; pans with the left or middle button; has no menu."""

    def wheelEvent(self, event: Any, axis: int | None = None) -> None:
        factor = min(max(1.0015 ** event.delta(), 1 / ZOOM_LIMIT_PER_EVENT), ZOOM_LIMIT_PER_EVENT)
        self.scaleBy((1 / factor, 1 / factor), self.mapToView(event.pos()))
        event.accept()

    def mouseDragEvent(self, event: Any, axis: int | None = None) -> None:
        if event.button() == Qt.MouseButton.RightButton:
            event.ignore()
        else:
            super().mouseDragEvent(event, axis)

    def keyPressEvent(self, event: Any) -> None:
        event.ignore()


class _Axis(pg.AxisItem):
    """Paints the labels that the chart has laid out, straight: a QPicture may be misplaced on Wayland."""

    def __init__(self, side: str, paint: Callable[[QPainter, _Axis], None]) -> None:
        super().__init__(side, showValues=False)
        self._paint = paint

    def boundingRect(self) -> QRectF:
        return QRectF(0, 0, self.width(), self.height()).adjusted(-24, -12, 24, 12)

    def paint(self, p: QPainter, option: Any, widget: Any) -> None:
        self._paint(p, self)

    def wheelEvent(self, event: Any) -> None:
        event.ignore()

    def mouseDragEvent(self, event: Any) -> None:
        event.ignore()


class _Layer(QGraphicsItem):
    """Paints in the pixels of the plot, under or over the curves."""

    def __init__(self, parent: Any, z: float, paint: Callable[[QPainter], None]) -> None:
        super().__init__(parent)
        self._rect = QRectF()
        self._paint = paint
        self.setZValue(z)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)

    def fit(self, rect: QRectF) -> None:
        self.prepareGeometryChange()
        self._rect = QRectF(rect)

    def boundingRect(self) -> QRectF:
        return self._rect

    def paint(self, p: QPainter, option: Any, widget: QWidget | None = None) -> None:
        self._paint(p)


class RooflinePlot(pg.GraphicsView):
    """Shows a Roofline. ``laid_out``: dots have moved on screen; ``pointed(what)``: the mouse is on a line.

    The widget holds the plot and the labels of its axes; ``outer_box`` says how large it has to be.
    """

    laid_out = Signal()
    pointed = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, background=None)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self.viewport().setMouseTracking(True)
        self.setAcceptDrops(False)  # a drop is for the window, wherever it falls
        self.theme: Theme = DARK
        self.scale_factor = 1.0
        self.chart: Chart | None = None
        self._roofline: Roofline | None = None
        self._home: Limits | None = None
        self._what = ""
        self._mark: DotMark | None = None
        self._ground: tuple[object, ...] = ()
        self.box = _ViewBox(enableMenu=False, defaultPadding=0)
        self.box.disableAutoRange()
        self._axes = [_Axis("left", self._paint_axis), _Axis("bottom", self._paint_axis)]
        layout = self.centralLayout
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addItem(self._axes[0], 0, 0)
        layout.addItem(self.box, 0, 1)
        layout.addItem(self._axes[1], 1, 1)
        for axis in self._axes:
            axis.linkToView(self.box)
        self._under = _Layer(self.box, -10, self._paint_under)
        self._over = _Layer(self.box, 10, self._paint_over)
        self._under.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
        self._items: list[Any] = []
        self._curves: tuple[Curve, ...] = ()
        self.box.sigRangeChanged.connect(self._range_changed)
        self.box.sigResized.connect(self._resized)

    # --- what is shown -------------------------------------------------------------------------

    def show_roofline(self, roofline: Roofline, fresh: bool = False) -> None:
        """Another chart; the part in view stays what the user has chosen, unless ``fresh``."""
        old, self._roofline = self._roofline, roofline
        if roofline.limits != self._home:
            was_home = self.is_home
            self._set_home(roofline.limits)
            fresh = fresh or was_home
        if old is None or fresh:
            self.fit()
        self._draw()

    def show_now(self, roofline: Roofline) -> None:
        """The same chart at another pass: only the ring is moved."""
        self._roofline = roofline
        before, after = self._mark, self._now_mark()
        if (
            before is None
            or after is None
            or before.bound != after.bound
            or max(abs(before.x - after.x), abs(before.y - after.y)) > MOVES_FROM_PX
        ):
            self._over.update()

    def set_look(self, theme: Theme, scale: float) -> None:
        """Another theme or scale: pyqtgraph keeps no palette, so everything is given its colours again."""
        self.theme, self.scale_factor = theme, scale
        self.setBackground(colour(theme.surface))
        self._curves = ()
        self._axes[0].setWidth(GUTTER * scale)
        self._axes[1].setHeight(TICK_ROW * scale)
        self.centralLayout.setContentsMargins(0, 0, EDGE * scale, 0)
        self._draw()

    @property
    def is_home(self) -> bool:
        """True while all of the chart is in view."""
        if self._home is None:
            return True
        (x0, x1), (y0, y1) = self.box.viewRange()
        h = self._home
        pairs = ((x0, h.x_low), (x1, h.x_high), (y0, h.y_low), (y1, h.y_high))
        return all(abs(a - b) < 1e-6 for a, b in pairs)

    def fit(self) -> None:
        """All of the chart in view."""
        if self._home is not None:
            h = self._home
            self.box.setRange(xRange=(h.x_low, h.x_high), yRange=(h.y_low, h.y_high), padding=0)

    def zoom(self, factor: float) -> None:
        """``factor`` times closer about the middle."""
        self.box.scaleBy((1 / factor, 1 / factor))

    def pan(self, share: float) -> None:
        """Along the axis of intensity by a share of what is in view, as far as there is chart."""
        (low, high), _ = self.box.viewRange()
        if self._home is not None:
            by = share * (high - low)
            by = min(max(by, self._home.x_low - low), self._home.x_high - high)
            self.box.translateBy(x=by)

    def _set_home(self, home: Limits) -> None:
        self._home = home
        self.box.setLimits(
            xMin=home.x_low,
            xMax=home.x_high,
            yMin=home.y_low,
            yMax=home.y_high,
            minXRange=NEAREST_DECADES,
            minYRange=NEAREST_DECADES,
        )

    def _draw(self) -> None:
        """Curves, where they have changed, and layout for what is shown now."""
        if self._roofline is None:
            return
        curves = roof_curves(self._roofline, self._roofline.limits)
        if curves != self._curves:
            self._curves = curves
            self._draw_curves()
        self._lay_out()

    def _draw_curves(self) -> None:
        while len(self._items) < len(self._curves):
            self._items.append(pg.PlotCurveItem(antialias=True, skipFiniteCheck=True))
            self.box.addItem(self._items[-1], ignoreBounds=True)
        for number, item in enumerate(self._items):
            item.setVisible(number < len(self._curves))
            if number < len(self._curves):
                curve = self._curves[number]
                item.setData([x for x, _ in curve.points], [y for _, y in curve.points])
                pen = stroke_pen(curve.role, curve.width * self.scale_factor, curve.dash, self.theme)
                pen.setCosmetic(True)  # its width is in pixels, the curve's coordinates are not
                item.setPen(pen)
                item.setZValue(number)

    def _lay_out(self) -> None:
        if self._roofline is None or self.box.width() < 2 or self.box.height() < 2:
            return
        (x0, x1), (y0, y1) = self.box.viewRange()
        plot = Box(0.0, 0.0, self.box.width(), self.box.height())
        limits = Limits(x0, x1, y0, y1)
        self.chart = lay_out_chart(self._roofline, plot, self.scale_factor, text_width, limits=limits)
        ground = (self.chart.frame, self.chart.shades, self.theme, self.scale_factor)
        if ground != self._ground:
            self._ground = ground
            for layer in (self._under, self._over):
                layer.fit(self.box.rect())
            self._under.update()
            for axis in self._axes:
                axis.update()
        self._over.update()
        self.laid_out.emit()

    def _range_changed(self, *changes: object) -> None:
        self._lay_out()

    def _resized(self, box: object) -> None:
        self._lay_out()

    def _now_mark(self) -> DotMark | None:
        if self.chart is None or self._roofline is None:
            return None
        return now_mark(self._roofline, self.chart)

    # --- places --------------------------------------------------------------------------------

    @property
    def frame(self) -> Frame | None:
        """The axes in pixels of the viewport."""
        if self.chart is None:
            return None
        corner = self.box.mapToScene(QPointF(0, 0))
        plot = self.chart.frame.plot
        return Frame(plot.moved(corner.x(), corner.y()), self.chart.frame.limits)

    def _line_under(self, at: QPointF) -> str:
        local = self.box.mapFromScene(self.mapToScene(at.toPoint()))
        if self.chart is None or not self.box.rect().contains(local):
            return ""
        return self.chart.line_at(local.x(), local.y(), LINE_REACH * self.scale_factor)

    def _point_at(self, what: str) -> None:
        if what != self._what:
            self._what = what
            self.pointed.emit(what)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if not event.buttons():
            self._point_at(self._line_under(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._point_at("")

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.fit()

    # --- painting ------------------------------------------------------------------------------

    def _paint_under(self, p: QPainter) -> None:
        if self.chart is not None:
            paint_grid(p, self.chart, self.theme)

    def _paint_over(self, p: QPainter) -> None:
        if self.chart is None:
            return
        paint_marks(p, self.chart, self.theme, self.scale_factor)
        self._mark = self._now_mark()
        if self._mark is not None:
            paint_now(p, self._mark, self.theme, self.scale_factor)

    def _paint_axis(self, p: QPainter, axis: _Axis) -> None:
        if self.chart is None:
            return
        offset = axis.mapFromItem(self.box, QPointF(0, 0))
        p.translate(offset)
        is_left = axis is self._axes[0]
        for _, text in self.chart.y_ticks if is_left else self.chart.x_ticks:
            if text is not None:
                draw_scene_text(p, text, self.theme)


def outer_box(plot: Box, scale: float) -> Box:
    """The widget's place for a plot at ``plot``: room for the labels of the axes on three sides."""
    gutter, foot, side = GUTTER * scale, TICK_ROW * scale, EDGE * scale
    return Box(plot.x - gutter, plot.y, plot.w + gutter + side, plot.h + foot)
