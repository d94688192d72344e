"""The clock of playback: no jumps, no drift, and the ends."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdviz.scene.stage.playback import RATES, Playback

wholes = st.floats(1e-5, 1e5)
rates = st.one_of(st.sampled_from(RATES), st.floats(1e-4, 100.0))
walls = st.floats(0.0, 1e5)


playing, either = st.just(True), st.booleans()


@st.composite
def clocks(draw: st.DrawFn, is_playing: st.SearchStrategy[bool] = either) -> tuple[Playback, float]:
    """A playback under way, and a wall time at which it has run on for up to three times its length."""
    whole, rate = draw(wholes), draw(rates)
    start = draw(walls)
    clock = Playback(
        whole, draw(st.floats(0.0, 1.0)) * whole, start, rate, draw(is_playing), draw(st.booleans())
    )
    return clock, start + draw(st.floats(0.0, 3.0)) * whole / rate


@given(clocks())
def test_that_the_playhead_is_always_inside_the_request(state: tuple[Playback, float]) -> None:
    clock, now = state
    assert 0.0 <= clock.at(now) <= clock.whole_s
    assert 0.0 <= clock.at(clock.anchor_wall_s - 5.0) <= clock.whole_s  # a clock that went backwards


@given(clocks(), rates)
def test_that_changing_the_rate_does_not_move_the_playhead(
    state: tuple[Playback, float], rate: float
) -> None:
    clock, now = state
    assert clock.with_rate(now, rate).at(now) == clock.at(now)
    assert clock.with_rate(now, rate).rate == rate


@given(clocks(), st.booleans())
def test_that_changing_the_loop_does_not_move_the_playhead(
    state: tuple[Playback, float], loops: bool
) -> None:
    clock, now = state
    after = clock.with_loop(now, loops)
    assert after.loops == loops
    if after.is_playing and loops and clock.at(now) >= clock.whole_s:
        assert after.at(now) == 0.0  # it stood at the end: looping goes on from the start
    else:
        assert after.at(now) == clock.at(now)


@given(clocks(), st.booleans())
def test_that_starting_and_stopping_do_not_move_the_playhead_short_of_the_end(
    state: tuple[Playback, float], is_playing: bool
) -> None:
    clock, now = state
    after = clock.played(now, is_playing)
    assert after.is_playing == is_playing
    if is_playing and clock.at(now) >= clock.whole_s:
        assert after.at(now) == 0.0
    else:
        assert after.at(now) == clock.at(now)


@given(clocks(), wholes)
def test_that_another_request_keeps_the_relative_place(state: tuple[Playback, float], whole: float) -> None:
    clock, now = state
    before = clock.at(now) / clock.whole_s
    after = clock.with_whole(now, whole)
    assert after.whole_s == whole
    if before < 1 - 1e-12:
        assert after.at(now) / whole == pytest.approx(before, abs=1e-9)
    assert after.rate == clock.rate
    assert after.is_playing == clock.is_playing


@given(clocks(), st.lists(wholes, min_size=1, max_size=20))
def test_that_a_drag_back_and_forth_brings_the_playhead_back(
    state: tuple[Playback, float], wholes: list[float]
) -> None:
    clock, now = state
    paused = clock.played(now, False)
    moved = paused
    for whole in wholes:
        moved = moved.with_whole(now, whole)
    assert moved.with_whole(now, clock.whole_s).at(now) == pytest.approx(paused.at(now), rel=1e-9)


@given(clocks(playing), st.integers(0, 10**6), st.sampled_from((24, 25, 30, 50, 60)))
def test_that_frame_k_of_a_video_stands_exactly_at_its_time(
    state: tuple[Playback, float], frame: int, fps: int
) -> None:
    clock, _ = state
    video = Playback(clock.whole_s, 0.0, 0.0, clock.rate, is_playing=True, loops=clock.loops)
    exact = Fraction(frame, fps) * Fraction(video.rate)
    whole = Fraction(video.whole_s)
    slack = 4e-16 * float(exact) + 1e-300  # the last bit of the product, and no sum of frames
    shown = video.at(frame / fps)
    if exact < whole:
        assert abs(Fraction(shown) - exact) <= slack
    elif video.loops:
        off = abs(Fraction(shown) - exact % whole)
        assert min(off, whole - off) <= slack
    else:
        assert shown == video.whole_s


def test_that_a_loop_wraps_round_to_where_it_would_be() -> None:
    clock = Playback(2.0, 1.5, 100.0, 0.5, is_playing=True, loops=True)
    assert clock.at(100.9) == pytest.approx(1.95)
    assert clock.at(101.0) == 0.0
    assert clock.at(102.0) == pytest.approx(0.5)
    assert clock.at(117.0) == pytest.approx(0.0, abs=1e-12)
    assert not clock.has_ended(200.0)


def test_that_playing_stops_at_the_end_and_starts_over_from_there() -> None:
    clock = Playback(2.0, 1.5, 100.0, 0.5, is_playing=True, loops=False)
    assert not clock.has_ended(100.9)
    assert clock.at(101.0) == clock.at(500.0) == 2.0
    assert clock.has_ended(101.0)
    stopped = clock.played(102.0, False)
    assert not stopped.has_ended(103.0)
    assert stopped.at(200.0) == 2.0
    again = stopped.played(200.0, True)
    assert again.at(200.0) == 0.0
    assert again.at(201.0) == pytest.approx(0.5)


def test_that_a_paused_playhead_stands_still() -> None:
    clock = Playback(2.0, 0.7, 100.0, 1.0)
    assert clock.at(100.0) == clock.at(1e6) == 0.7


@given(clocks(), st.floats(-10.0, 1e6))
def test_that_a_playhead_can_be_put_anywhere_inside_and_nowhere_else(
    state: tuple[Playback, float], time_s: float
) -> None:
    clock, now = state
    moved = clock.moved(now, time_s)
    wanted = min(max(time_s, 0.0), clock.whole_s)
    assert moved.anchor_s == wanted
    if wanted < clock.whole_s or not (clock.is_playing and clock.loops):
        assert moved.at(now) == wanted


@given(clocks(playing), st.floats(1e-6, 0.5))
def test_that_the_rate_is_model_seconds_for_each_second(state: tuple[Playback, float], share: float) -> None:
    clock, _ = state
    fresh = clock.moved(7.0, 0.0)
    wall = share * clock.whole_s / clock.rate
    assert fresh.at(7.0 + wall) == pytest.approx(
        share * clock.whole_s, rel=1e-6, abs=1e-14 * clock.rate * 1e3
    )


@given(rates)
def test_that_faster_and_slower_go_along_the_scale_and_end_with_it(rate: float) -> None:
    clock = Playback(1.0, rate=rate)
    up, down = clock.faster(0.0, True).rate, clock.faster(0.0, False).rate
    above = [r for r in RATES if r > rate * 1.001]
    below = [r for r in RATES if r < rate * 0.999]
    assert up == (above[0] if above else rate)
    assert down == (below[-1] if below else rate)
