"""The views of the window, made when they are first shown: none of them costs the first frame anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pdviz.widgets.shell.window import MainWindow


def make_view(window: MainWindow, name: str) -> Any:
    """The view "roofline", "shapes" or "anatomy" of ``window``, bound to it."""
    result = window.store.result
    if name == "roofline":
        from pdviz.widgets.roofline.view import RooflineView

        roofline = RooflineView(result, window.store.catalogue, window)
        roofline.edited.connect(window.edit)
        return roofline
    if name == "anatomy":
        from pdviz.widgets.anatomy.view import AnatomyView

        anatomy = AnatomyView(result, window)
        anatomy.suggested.connect(window.take_suggestion)
        window.explainer.add(anatomy.explained())
        return anatomy
    from pdviz.widgets.shapes.view import ShapesView

    return ShapesView(result, window)
