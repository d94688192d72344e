"""The base of the views of the window: all that the window, its commands and its menus know of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.scene.marks.theme import DARK, Theme
from pdviz.scene.request.timeline import RequestTimeline
from pdviz.scene.stage.timeline import Timeline
from pdviz.widgets.kit.accessibility import announce
from pdviz.widgets.kit.pointed import Explained

Verb = Literal[
    "zoom", "pan", "fit", "fit_all", "zoom_to_range", "undo_view", "redo_view", "to_stall", "drop_prompt"
]
"""What a command may ask of the view that is shown; a view can do what it overrides."""


class MainView(QWidget):
    """Shows a result at a moment of its timeline.

    ``seeked(time_s)``: the user moved the playhead; ``edited(values)``: dragged a value of the scenario;
    ``suggested(Suggestion)``: took what was suggested; ``view_asked(name)``: wants to see another view;
    ``retimed``: what is played has come to be another one.
    """

    seeked = Signal(float)
    edited = Signal(dict)
    suggested = Signal(object)
    view_asked = Signal(str)
    retimed = Signal()

    def __init__(self, name: str, result: Result, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.theme: Theme = DARK
        self.scale = 1.0
        self._result = result

    # --- what is shown -------------------------------------------------------------------------

    def timeline(self, result: Result) -> Timeline:
        """What the player plays while this view is shown: the request, where the view has nothing else."""
        return RequestTimeline(result.request)

    def show_result(self, result: Result, changed: frozenset[str], fresh: bool = False) -> None:
        """Another result, in which the ``changed`` fields are others; ``fresh``: as if just opened.

        The moment in it is told afterwards.
        """
        raise NotImplementedError

    @property
    def is_waiting(self) -> bool:
        """Whether what is to be shown is still being made."""
        return False

    def show_time(self, time_s: float) -> None:
        """Moves the playhead, where there is one."""

    def suit_rate(self, rate: float) -> None:
        """Another speed of playing."""

    def set_reduced_motion(self, reduced: bool) -> None:
        """Jumps of the view are not animated."""

    def set_look(self, theme: Theme, scale: float) -> None:
        """Another theme or scale."""
        raise NotImplementedError

    # --- words ---------------------------------------------------------------------------------

    def moment_in_words(self) -> str:
        """The present moment for assistive technology; empty where there is no playhead."""
        return ""

    def say_moment(self) -> None:
        """Has the present moment spoken, where it has changed."""
        words = self.moment_in_words()
        if words and words != self.accessibleDescription():
            self.setAccessibleDescription(words)
            announce(self, words)

    def explained(self) -> Iterable[Explained]:
        """The figures of the view that have an explanation."""
        return ()

    # --- commands ------------------------------------------------------------------------------

    def can(self, verb: Verb) -> bool:
        """Whether the view does that."""
        return getattr(type(self), verb) is not getattr(MainView, verb)

    def zoom(self, factor: float) -> None:
        """``factor`` times closer."""

    def pan(self, share: float) -> None:
        """Moves along by a share of what is in view."""

    def fit(self) -> None:
        """What matters in view; a second time, everything."""

    def fit_all(self) -> None:
        """Everything in view."""

    def zoom_to_range(self) -> None:
        """The marked range fills the view."""

    def undo_view(self) -> None:
        """Back to the part that was in view before."""

    def redo_view(self) -> None:
        """Forward again to the part that one has come back from."""

    def drop_prompt(self) -> None:
        """Drops a long prompt into the running server at the playhead."""

    def to_stall(self, forward: bool) -> None:
        """The playhead to the next stall, or the one before."""
