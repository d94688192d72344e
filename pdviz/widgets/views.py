"""The views, each a row: window, tabs, keys, menus, pages and the command line read this table.

Importing it imports no Qt; what draws a view is imported when the view is first wanted. A further view
is a row here, its two packages (scene, widgets) and their names in pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter
    from PySide6.QtWidgets import QWidget

    from pdviz.evaluation import Result
    from pdviz.scene.marks.geometry import Box
    from pdviz.scene.marks.theme import Theme
    from pdviz.store import ScenarioStore
    from pdviz.widgets.kit.live_panel import LivePanel
    from pdviz.widgets.kit.main_view import MainView

    Page = Callable[[QPainter, Result, float, Theme, float, float, float], None]
    """Paints a result at a moment: painter, result, moment, theme, width, height, scale."""


class PanelRow(msgspec.Struct, frozen=True):
    """The small live form of a view beside the request, and the same on a page."""

    make: Callable[[QWidget], LivePanel]
    paint: Callable[[QPainter, Box, Result, float, Theme, float], None]


class ViewRow(msgspec.Struct, frozen=True):
    """``key`` opens the view, ``title`` is on its tab, ``heading`` on its page."""

    name: str
    key: str
    title: str
    heading: str
    make: Callable[[ScenarioStore, QWidget], MainView]
    paint_page: Page
    panel: PanelRow | None = None
    group: str = "request"
    """The group of fields that the control panel shows with it."""
    has_memory: bool = False
    """Whether the page has a card of its own for the memory."""
    ends_s: Callable[[Result], float] | None = None
    """Where the time of its page ends, where that is not the request's."""

    words: Callable[[Result], str] | None = None
    """What its page is of, where that is not the request."""

    def end_s(self, result: Result) -> float:
        """The last moment of which there is a page."""
        return result.e2e_s if self.ends_s is None else self.ends_s(result)


# --- request ---------------------------------------------------------------------------------------


def _make_request(store: ScenarioStore, parent: QWidget) -> MainView:
    from pdviz.widgets.request.view import RequestView

    panels = {row.name: row.panel.make for row in VIEWS if row.panel is not None}
    return RequestView(store.result, panels, parent)


def _paint_request(
    p: QPainter, result: Result, time_s: float, theme: Theme, width: float, height: float, s: float
) -> None:
    from pdviz.widgets.request.page import paint_request_page

    panels = tuple(row.panel.paint for row in VIEWS if row.panel is not None)
    paint_request_page(p, panels, result, time_s, theme, width, height, s)


# --- roofline --------------------------------------------------------------------------------------


def _make_roofline(store: ScenarioStore, parent: QWidget) -> MainView:
    from pdviz.widgets.roofline.view import RooflineView

    return RooflineView(store.result, store.catalogue, parent)


def _paint_roofline(
    p: QPainter, result: Result, time_s: float, theme: Theme, width: float, height: float, s: float
) -> None:
    from pdviz.scene.marks.geometry import Box
    from pdviz.scene.roofline.curves import build_roofline
    from pdviz.widgets.roofline.page import paint_roofline_page

    paint_roofline_page(p, Box(0, 0, width, height), build_roofline(result, time_s), theme, s)


def _make_roofline_panel(parent: QWidget) -> LivePanel:
    from pdviz.widgets.roofline.panel import RooflinePanel

    return RooflinePanel(parent)


def _paint_roofline_panel(
    p: QPainter, box: Box, result: Result, time_s: float, theme: Theme, s: float
) -> None:
    from pdviz.scene.roofline.curves import build_roofline
    from pdviz.widgets.roofline.panel import paint_roofline_panel

    paint_roofline_panel(p, box, build_roofline(result, time_s), theme, s)


# --- shapes ----------------------------------------------------------------------------------------


def _make_shapes(store: ScenarioStore, parent: QWidget) -> MainView:
    from pdviz.widgets.shapes.view import ShapesView

    return ShapesView(store.result, parent)


def _paint_shapes(
    p: QPainter, result: Result, time_s: float, theme: Theme, width: float, height: float, s: float
) -> None:
    from pdviz.widgets.shapes.page import paint_shapes_view

    paint_shapes_view(p, result, time_s, theme, width, height, s)


def _make_shapes_panel(parent: QWidget) -> LivePanel:
    from pdviz.widgets.shapes.panel import ShapesPanel

    return ShapesPanel(parent)


def _paint_shapes_panel(p: QPainter, box: Box, result: Result, time_s: float, theme: Theme, s: float) -> None:
    from pdviz.widgets.shapes.panel import paint_shapes_panel

    paint_shapes_panel(p, box, result, theme, s)


# --- server ----------------------------------------------------------------------------------------


def _make_server(store: ScenarioStore, parent: QWidget) -> MainView:
    from pdviz.widgets.server.view import ServerView

    return ServerView(store.result, parent)


def _paint_server(
    p: QPainter, result: Result, time_s: float, theme: Theme, width: float, height: float, s: float
) -> None:
    from pdviz.widgets.server.page import paint_server_page

    paint_server_page(p, result, time_s, theme, width, height, s)


def _server_ends_s(result: Result) -> float:
    from pdviz.scene.server.runs import runs_end_s

    return runs_end_s(result)


def _server_words(result: Result) -> str:
    from pdviz.scene.server.runs import server_words

    return server_words(result)


# --- anatomy ---------------------------------------------------------------------------------------


def _make_anatomy(store: ScenarioStore, parent: QWidget) -> MainView:
    from pdviz.widgets.anatomy.view import AnatomyView

    return AnatomyView(store.result, parent)


def _paint_anatomy(
    p: QPainter, result: Result, time_s: float, theme: Theme, width: float, height: float, s: float
) -> None:
    from pdviz.widgets.anatomy.page import paint_anatomy_view

    paint_anatomy_view(p, result, theme, width, height, s)


# --- the table -------------------------------------------------------------------------------------

VIEWS = (
    ViewRow("request", "1", "Request", "Prefill and decode, to scale", _make_request, _paint_request),
    ViewRow(
        "roofline",
        "2",
        "Roofline",
        "Prefill and decode on the roofline",
        _make_roofline,
        _paint_roofline,
        PanelRow(_make_roofline_panel, _paint_roofline_panel),
    ),
    ViewRow(
        "shapes",
        "3",
        "Shapes",
        "Same weights, different shapes",
        _make_shapes,
        _paint_shapes,
        PanelRow(_make_shapes_panel, _paint_shapes_panel),
    ),
    ViewRow(
        "server",
        "4",
        "Server",
        "Many requests on one server",
        _make_server,
        _paint_server,
        ends_s=_server_ends_s,
        words=_server_words,
        group="server",
    ),
    ViewRow(
        "anatomy",
        "7",
        "Anatomy",
        "The anatomy of a model",
        _make_anatomy,
        _paint_anatomy,
        has_memory=True,
    ),
)
VIEW_BY_NAME = {row.name: row for row in VIEWS}
VIEW_NAMES = tuple(VIEW_BY_NAME)
