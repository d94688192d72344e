"""The request view: figures, stage, meters, answer and three small panels. Assembles, decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from pdviz.evaluation import Result
from pdviz.scene.marks.theme import Theme
from pdviz.scene.request.figures import headline_figures
from pdviz.scene.request.layout import request_layout
from pdviz.scene.request.remarks import Remark, remarks
from pdviz.widgets.kit.figures_view import FigureView
from pdviz.widgets.kit.live_panel import LivePanel
from pdviz.widgets.kit.main_view import MainView
from pdviz.widgets.kit.palette import text_width
from pdviz.widgets.kit.pointed import Explained, always
from pdviz.widgets.kit.view import PaintedView
from pdviz.widgets.request.answer import AnswerView
from pdviz.widgets.request.meters import MetersView
from pdviz.widgets.request.notice import NoticePanel
from pdviz.widgets.request.stage import RequestStage
from pdviz.widgets.request.warning import WarningView

FIGURE_KEYS = ("ttft", "itl", "e2e", "decode_share", "tokens_per_s")
"""What explains each of the figures at the top."""


class RequestView(MainView):
    """The lesson: one request on the time axis and what is behind it.

    ``panels`` are the small live forms of other views, by the names of these.
    """

    def __init__(
        self,
        result: Result,
        panels: Mapping[str, Callable[[QWidget], LivePanel]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("Request", result, parent)
        self._time_s = 0.0
        self._pass = -1
        self._tokens = -1
        self._warnings: tuple[Remark, ...] = ()
        self.figures = [FigureView(self) for _ in headline_figures(result)]
        self.warning = WarningView(self)
        self.stage = RequestStage(result, self)
        self.meters = MetersView(self)
        self.answer = AnswerView(self)
        self.panels = {name: make(self) for name, make in panels.items()}
        self.notice = NoticePanel(self)
        self.setFocusProxy(self.stage)
        self.stage.seeked.connect(self.seeked)
        for name, panel in self.panels.items():
            panel.clicked.connect(partial(self.view_asked.emit, name))
        self.notice.suggested.connect(self.suggested)
        self.show_result(result, frozenset())

    @Slot(object, object)
    def show_result(self, result: Result, changed: frozenset[str], fresh: bool = False) -> None:
        """Another result; ``fresh`` also puts the whole lesson back in view."""
        self._result = result
        self._time_s = min(self._time_s, result.e2e_s)
        for view, figure in zip(self.figures, headline_figures(result), strict=True):
            view.show_figure(figure)
        self.stage.set_result(result, fresh=fresh)
        self._pass = self._tokens = -1
        for panel in self.panels.values():
            panel.show_result(result, self._time_s)
        self._show_moment()
        self.notice.show_result(result, changed)
        self._show_warnings()

    def _show_warnings(self) -> None:
        lines = remarks(self._result, self.width(), self.scale, text_width)
        self.warning.show_lines(lines)
        if lines != self._warnings:
            self._warnings = lines
            self._lay_out()

    def show_time(self, time_s: float) -> None:
        """Moves the playhead."""
        self._time_s = time_s
        self.stage.set_time(time_s)
        self._show_moment()

    def _show_moment(self) -> None:
        request = self._result.request
        number = request.pass_at(self._time_s)
        if number != self._pass:
            self._pass = number
            self.meters.show_pass(request.pass_cost(number), self._result.machine, number)
            for panel in self.panels.values():
                panel.show_time(self._time_s)
        tokens = request.tokens_out_at(self._time_s)
        if tokens != self._tokens:
            self._tokens = tokens
            self.answer.show_tokens(self._result, tokens)

    def _panels(self) -> tuple[PaintedView, ...]:
        return *self.panels.values(), self.notice

    def moment_in_words(self) -> str:
        return self.stage.spoken()

    def say_moment(self) -> None:
        """The stage speaks; the others have their words ready."""
        self.stage.say(self.moment_in_words())
        self.meters.say(self.meters.spoken())
        self.answer.say(self.answer.spoken())
        for panel in self.panels.values():
            panel.say_moment()

    # --- commands of the window: the stage's ---------------------------------------------------

    def suit_rate(self, rate: float) -> None:
        self.stage.suit_rate(rate)

    def set_reduced_motion(self, reduced: bool) -> None:
        self.stage.reduces_motion = reduced

    def zoom(self, factor: float) -> None:
        self.stage.zoom(factor)

    def pan(self, share: float) -> None:
        self.stage.pan(share)

    def fit(self) -> None:
        self.stage.fit()

    def fit_all(self) -> None:
        self.stage.fit_all()

    def zoom_to_range(self) -> None:
        self.stage.zoom_to_measure()

    def undo_view(self) -> None:
        self.stage.undo_view()

    def redo_view(self) -> None:
        self.stage.redo_view()

    def explained(self) -> tuple[Explained, ...]:
        figures = zip(self.figures, FIGURE_KEYS, strict=True)
        return (
            *(Explained(view, always(key)) for view, key in figures),
            Explained(self.meters, self.meters.explain_at),
            Explained(self.warning, always("remarks")),
        )

    def set_look(self, theme: Theme, scale: float) -> None:
        self.theme, self.scale = theme, scale
        for view in (*self.figures, self.warning, self.stage, self.meters, self.answer, *self._panels()):
            view.set_look(theme, scale)
        self._warnings = remarks(self._result, self.width(), scale, text_width)
        self.warning.show_lines(self._warnings)
        self._lay_out()

    def resizeEvent(self, event: object) -> None:
        self._warnings = remarks(self._result, self.width(), self.scale, text_width)
        self.warning.show_lines(self._warnings)
        self._lay_out()

    def _lay_out(self) -> None:
        layout = request_layout(
            self.width(), self.height(), self.scale, len(self.figures), len(self._warnings)
        )
        for view, box in zip(self.figures, layout.figures, strict=True):
            view.place(box)
        self.warning.place(layout.warning)
        self.warning.setVisible(bool(self._warnings))
        self.stage.place(layout.stage)
        self.meters.place(layout.meters)
        self.answer.place(layout.tokens)
        self.answer.setVisible(layout.tokens.h > 0)
        for panel, box in zip(self._panels(), layout.panels, strict=True):
            panel.place(box)
            panel.setVisible(box.h > 0)
