"""Which part of a timeline is in view: zoom, pan, limits, and the way back."""

from __future__ import annotations

import msgspec

from pdviz.scene.marks.axis import Window

MOST_STEPS = 100


class Place(msgspec.Struct, frozen=True):
    """A view that one can come back to."""

    view: Window
    is_automatic: bool


class TimeWindow(msgspec.Struct, frozen=True):
    """The view on a timeline of ``whole_s``, at the nearest ``least_s`` long, and those before and after it.

    ``is_automatic`` until somebody has chosen a view; it may then follow what is shown. What
    ``goes_on`` belongs to the change before it (a drag, a turn of the wheel): one step back undoes both.
    """

    view: Window
    whole_s: float
    least_s: float = 0.0
    is_automatic: bool = True
    past: tuple[Place, ...] = ()
    future: tuple[Place, ...] = ()

    def put(self, view: Window, *, goes_on: bool = False, is_automatic: bool = False) -> TimeWindow:
        """Somebody chose this view: a step."""
        view, before = view.held(self.whole_s), Place(self.view, self.is_automatic)
        if Place(view, is_automatic) == before:
            return self
        past = self.past if goes_on and self.past else (*self.past, before)[-MOST_STEPS:]
        return TimeWindow(view, self.whole_s, self.least_s, is_automatic, past)

    def zoomed(self, factor: float, at_s: float, *, goes_on: bool = False) -> TimeWindow:
        """``factor`` times closer about a moment, which stays where it is unless an end is met."""
        return self.put(self.view.zoomed(factor, at_s, self.whole_s, self.least_s), goes_on=goes_on)

    def panned(self, by_s: float, *, goes_on: bool = False) -> TimeWindow:
        return self.put(self.view.panned(by_s, self.whole_s), goes_on=goes_on)

    def following(self, view: Window) -> TimeWindow:
        """The program shows this: no step, and as automatic as it was."""
        moved: TimeWindow = msgspec.structs.replace(self, view=view)
        return moved

    def on(self, whole_s: float, least_s: float) -> TimeWindow:
        """The same view on another timeline, as far as that goes."""
        view = self.view if self.is_automatic else self.view.held(whole_s)
        moved: TimeWindow = msgspec.structs.replace(self, view=view, whole_s=whole_s, least_s=least_s)
        return moved

    def undone(self) -> TimeWindow:
        """The view before; itself where there is none."""
        if not self.past:
            return self
        place, here = self.past[-1], Place(self.view, self.is_automatic)
        return self._at(place, self.past[:-1], (here, *self.future))

    def redone(self) -> TimeWindow:
        """The view after, where one has come back."""
        if not self.future:
            return self
        place, here = self.future[0], Place(self.view, self.is_automatic)
        return self._at(place, (*self.past, here), self.future[1:])

    def _at(self, place: Place, past: tuple[Place, ...], future: tuple[Place, ...]) -> TimeWindow:
        view = place.view.held(self.whole_s)
        return TimeWindow(view, self.whole_s, self.least_s, place.is_automatic, past, future)
