"""The one QObject that holds the scenario. Edits of one turn of the event loop become one change."""

from __future__ import annotations

import sys
from time import monotonic

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from pdviz.catalogue import Catalogue
from pdviz.errors import InputError, in_words
from pdviz.evaluation import Result, evaluate
from pdviz.fields import BY_NAME
from pdviz.scenario import Scenario, changed, edit

GESTURE_S = 1.5
HISTORY_LIMIT = 500
NO_GESTURE: tuple[frozenset[str], float] = (frozenset(), 0.0)


class ScenarioStore(QObject):
    """Scenario, result and history.

    ``changed(result, names)`` comes once for all edits of a turn. ``failed(sentence)`` comes where an
    edit cannot be carried out; the scenario then stays what it was. Edits of the same fields in
    quick succession (a drag) are one step of undo.
    """

    changed = Signal(object, object)
    failed = Signal(str)

    def __init__(self, scenario: Scenario, catalogue: Catalogue, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.catalogue = catalogue
        self.result: Result = evaluate(scenario, catalogue)
        self._now = scenario
        self._past: list[Scenario] = []
        self._future: list[Scenario] = []
        self._gesture = NO_GESTURE
        self._settled: tuple[tuple[Scenario, ...], tuple[Scenario, ...]] = ((), ())
        self._flush = QTimer(self)
        self._flush.setSingleShot(True)
        self._flush.setInterval(0)
        self._flush.timeout.connect(self.flush)

    @property
    def scenario(self) -> Scenario:
        """The newest scenario, evaluated or not."""
        return self._now

    @property
    def can_undo(self) -> bool:
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        return bool(self._future)

    def edit(self, **values: object) -> None:
        """Sets fields from text or numbers. Raises InputError for a value that the field refuses.

        A prompt shorter than its cached prefix shortens the prefix with it; dragged up again, in the
        same gesture, the prefix comes back.
        """
        parsed = {name: BY_NAME[name].parse(value) for name, value in values.items()}
        fields = frozenset(parsed)
        last, when = self._gesture
        joins = bool(fields) and fields == last and monotonic() - when < GESTURE_S
        base = self._past[-1] if joins else self._now
        prompt = parsed.get("prompt_tokens", base.prompt_tokens)
        if "cached_tokens" not in parsed and base.cached_tokens >= prompt:
            parsed["cached_tokens"] = prompt - 1
        self._move(edit(base, **parsed), fields, joins)

    def put(self, scenario: Scenario) -> None:
        """Makes ``scenario`` the present one."""
        self._move(scenario, frozenset(), joins=False)

    def _move(self, scenario: Scenario, fields: frozenset[str], joins: bool) -> None:
        """``fields`` were set by hand; what ``joins`` the edit just before it is no further step of undo."""
        if scenario == self._now:
            return
        if not joins:
            self._past.append(self._now)
            del self._past[:-HISTORY_LIMIT]
        self._gesture = (fields, monotonic())
        if joins and scenario == self._past[-1]:  # dragged back to where it began
            self._past.pop()
            self._gesture = NO_GESTURE
        self._future.clear()
        self._now = scenario
        self._flush.start()

    def undo(self) -> None:
        """Back to the scenario before the last edit."""
        self._travel(self._past, self._future)

    def redo(self) -> None:
        self._travel(self._future, self._past)

    def _travel(self, source: list[Scenario], target: list[Scenario]) -> None:
        if source:
            target.append(self._now)
            self._now = source.pop()
            self._gesture = NO_GESTURE
            self._flush.start()

    @Slot()
    def flush(self) -> None:
        """Evaluates what has changed, now."""
        self._flush.stop()
        shown = self.result.scenario
        names = changed(shown, self._now)
        if not names:
            self._settled = (tuple(self._past), tuple(self._future))
            return
        try:
            result = evaluate(self._now, self.catalogue)
        except Exception as error:  # whatever it is: an old picture is never kept without a word
            if not isinstance(error, InputError):
                sys.excepthook(type(error), error, error.__traceback__)
            self._now = shown
            self._past, self._future = (list(kept) for kept in self._settled)
            self._gesture = NO_GESTURE
            self.changed.emit(self.result, names)
            self.failed.emit(in_words(error))  # last: what is said of it outlasts what is shown again
            return
        self.result = result
        self._settled = (tuple(self._past), tuple(self._future))
        self.changed.emit(result, names)
