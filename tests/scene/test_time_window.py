"""The view on a timeline: never outside it, and every step of the user's can be taken back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdviz.scene.marks.axis import Window
from pdviz.scene.stage.time_window import MOST_STEPS, TimeWindow

Change = Callable[[TimeWindow], TimeWindow]
wholes = st.floats(1e-3, 1e6)
places = st.floats(-0.5, 1.5)


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """Something that a hand does to a view, in shares of the whole."""
    one, other = draw(places), draw(places)
    kind = draw(st.sampled_from(("zoom", "pan", "put")))
    if kind == "zoom":
        factor = draw(st.floats(1e-3, 1e3))
        return lambda w: w.zoomed(factor, one * w.whole_s)
    if kind == "pan":
        return lambda w: w.panned(one * w.view.span_s)
    low, span = one, abs(other - one) + 0.01
    return lambda w: w.put(Window(low * w.whole_s, (low + span) * w.whole_s))


def fresh(whole_s: float) -> TimeWindow:
    return TimeWindow(Window(0.0, 0.5 * whole_s), whole_s, 1e-4 * whole_s)


def is_inside(window: TimeWindow) -> bool:
    slack = 1e-9 * window.whole_s
    return -slack <= window.view.start_s < window.view.end_s <= window.whole_s + slack


@given(wholes, st.lists(changes(), max_size=12))
def test_that_no_change_leads_out_of_the_timeline_or_too_near(whole_s: float, steps: list[Change]) -> None:
    window = fresh(whole_s)
    for step in steps:
        window = step(window)
        assert is_inside(window)
        assert window.view.span_s >= 0.999e-4 * whole_s


@given(wholes, st.floats(0.2, 0.8), st.floats(0.5, 20.0))
def test_that_zooming_keeps_the_moment_under_the_hand_where_no_end_is_met(
    whole_s: float, share: float, factor: float
) -> None:
    window = fresh(whole_s).put(Window(0.4 * whole_s, 0.6 * whole_s))
    at_s = window.view.start_s + share * window.view.span_s
    after = window.zoomed(factor, at_s).view
    assert after.span_s == pytest.approx(window.view.span_s / factor)
    assert (at_s - after.start_s) / after.span_s == pytest.approx(share, abs=1e-6)


@given(wholes, st.lists(changes(), max_size=12))
def test_that_every_step_can_be_taken_back_and_forward_again(whole_s: float, steps: list[Change]) -> None:
    window = fresh(whole_s)
    views = [window.view]
    for step in steps:
        before, window = window, step(window)
        if window is not before:
            views.append(window.view)
    for expected in reversed(views[:-1]):
        window = window.undone()
        assert window.view.start_s == pytest.approx(expected.start_s, abs=1e-9 * whole_s)
        assert window.view.end_s == pytest.approx(expected.end_s, abs=1e-9 * whole_s)
    assert window.is_automatic
    assert window.undone() is window
    for expected in views[1:]:
        window = window.redone()
        assert window.view.end_s == pytest.approx(expected.end_s, abs=1e-9 * whole_s)
    assert window.redone() is window
    assert window.is_automatic == (len(views) == 1)


@given(wholes, st.lists(changes(), min_size=1, max_size=12))
def test_that_a_drag_is_one_step_however_many_moves_it_has(whole_s: float, moves: list[Change]) -> None:
    start = fresh(whole_s).put(Window(0.4 * whole_s, 0.5 * whole_s))
    window, has_moved = start, False
    for move in moves:
        target = move(window).view
        after = window.put(target, goes_on=has_moved)
        has_moved = has_moved or after is not window
        window = after
    if has_moved:
        assert len(window.past) == len(start.past) + 1
        assert window.undone().view == start.view


def test_that_a_new_step_forgets_the_way_forward() -> None:
    window = fresh(1.0).panned(0.1).panned(0.1).undone()
    assert window.future
    assert window.panned(0.3).future == ()


def test_that_what_changes_nothing_is_no_step() -> None:
    window = fresh(1.0).put(Window(0.0, 1.0))
    assert window.panned(0.1) is window
    assert window.zoomed(0.5, 0.5) is window
    assert window.put(window.view, is_automatic=True) is not window  # to follow again is one


def test_that_the_way_back_does_not_grow_for_ever() -> None:
    window = fresh(1.0)
    for step in range(3 * MOST_STEPS):
        window = window.put(Window(0.0, 0.5 + 0.1 * (step % 2 + 1)))
    assert len(window.past) == MOST_STEPS


@given(wholes, wholes, st.lists(changes(), max_size=6))
def test_that_the_view_and_the_way_back_are_held_on_another_timeline(
    whole_s: float, other_s: float, steps: list[Change]
) -> None:
    window = fresh(whole_s)
    for step in steps:
        window = step(window)
    moved = window.on(other_s, 1e-4 * other_s)
    if not moved.is_automatic:  # what follows by itself is told what to show
        assert is_inside(moved)
    if whole_s <= other_s:
        assert moved.view.span_s == pytest.approx(window.view.span_s)
    while moved.past:
        moved = moved.undone()
        assert is_inside(moved)


def test_that_what_the_program_shows_is_no_step_and_stays_automatic() -> None:
    window = fresh(1.0).following(Window(0.2, 0.4))
    assert window.is_automatic
    assert window.past == ()
    assert window.view == Window(0.2, 0.4)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.01, 1), st.floats(0.01, 1), st.floats(0, 1))
def test_that_a_slide_goes_from_one_view_to_the_other_and_nowhere_else(
    one: float, other: float, span: float, wide: float, share: float
) -> None:
    a, b = Window(one, one + span), Window(other, other + wide)
    assert a.towards(b, 0.0) == a
    assert a.towards(b, 1.0).end_s == pytest.approx(b.end_s)
    between = a.towards(b, share)
    assert min(a.start_s, b.start_s) - 1e-12 <= between.start_s <= max(a.start_s, b.start_s) + 1e-12
    assert between.start_s < between.end_s
