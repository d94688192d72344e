"""The time axis: there and back, zooming, what is in view at first, ticks."""

from __future__ import annotations

import itertools
import math
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scene_world import log_counts, result_of

from pdviz.scenario import Scenario
from pdviz.scene.marks.axis import TimeAxis, Window, automatic_window, slow_motion, ticks

spans = st.floats(1e-7, 1e5)
places = st.floats(0.0, 1.0)


@st.composite
def axes(draw: st.DrawFn) -> TimeAxis:
    start = draw(st.floats(0.0, 1e3))
    return TimeAxis(
        start, start + draw(st.floats(1e-6, 1e3)), draw(st.floats(0, 500)), draw(st.floats(10, 4000))
    )


@st.composite
def windows(draw: st.DrawFn) -> tuple[Window, float]:
    """A window inside a whole, and the length of that whole."""
    whole = draw(spans)
    span = whole * 10 ** -draw(st.floats(0.0, 5.0))
    return Window(0.0, span).panned(draw(places) * (whole - span), whole), whole


def is_inside(window: Window, whole: float) -> bool:
    slack = 1e-9 * whole
    return -slack <= window.start_s < window.end_s <= whole + slack


# --- there and back ------------------------------------------------------------------------------


@given(axes(), places)
def test_that_a_moment_put_on_the_axis_is_read_back(axis: TimeAxis, place: float) -> None:
    time_s = axis.start_s + place * axis.span_s
    assert axis.to_s(axis.to_px(time_s)) == pytest.approx(time_s, abs=1e-9 * axis.span_s + 1e-12 * axis.end_s)
    x = axis.left_px + place * axis.width_px
    assert axis.to_px(axis.to_s(x)) == pytest.approx(x, abs=1e-3)


@given(axes(), places, places)
def test_that_equal_times_are_equally_wide_everywhere_on_the_axis(
    axis: TimeAxis, one: float, other: float
) -> None:
    step = axis.span_s / 7
    first, second = (axis.start_s + place * axis.span_s for place in (one, other))
    width = axis.to_px(first + step) - axis.to_px(first)
    assert width == pytest.approx(axis.to_px(second + step) - axis.to_px(second), abs=1e-3)
    assert width == pytest.approx(step * axis.px_per_s, abs=1e-3)


@given(axes(), st.floats(-1e300, 1e300))
def test_that_a_clipped_moment_stays_on_the_axis(axis: TimeAxis, time_s: float) -> None:
    x = axis.clipped_px(time_s)
    assert axis.left_px <= x <= axis.left_px + axis.width_px
    if axis.contains(time_s):
        assert x == pytest.approx(axis.to_px(time_s), abs=1e-3)


# --- zoom and pan --------------------------------------------------------------------------------


@given(windows(), places, st.floats(0.05, 20.0))
def test_that_zooming_leaves_the_moment_under_the_cursor_where_it_is(
    held: tuple[Window, float], place: float, factor: float
) -> None:
    window, whole = held
    anchor = window.start_s + place * window.span_s
    zoomed = window.zoomed(factor, anchor, whole, 0.0)
    assert is_inside(zoomed, whole)
    assert zoomed.span_s == pytest.approx(min(window.span_s / factor, whole))
    slack = 1e-7 * whole
    assume(zoomed.start_s > slack and zoomed.end_s < whole - slack)  # else an end was met
    assert (anchor - zoomed.start_s) / zoomed.span_s == pytest.approx(place, abs=1e-4)


@given(windows(), places, st.floats(1.0, 1e9), st.floats(1e-6, 1.0))
def test_that_zooming_stops_at_the_least_length_and_at_the_whole(
    held: tuple[Window, float], place: float, factor: float, least: float
) -> None:
    window, whole = held
    anchor = window.start_s + place * window.span_s
    near = window.zoomed(factor, anchor, whole, least * whole)
    assert near.span_s >= least * whole * (1 - 1e-9)
    assert is_inside(near, whole)
    far = window.zoomed(1 / factor, anchor, whole, least * whole)
    assert far.span_s <= whole * (1 + 1e-12)
    assert is_inside(far, whole)


@given(windows(), st.floats(-3.0, 3.0))
def test_that_panning_keeps_the_length_and_stays_inside(held: tuple[Window, float], share: float) -> None:
    window, whole = held
    panned = window.panned(share * whole, whole)
    assert is_inside(panned, whole)
    assert panned.span_s == pytest.approx(window.span_s, rel=1e-6)


@given(windows(), spans)
def test_that_a_window_is_held_inside_a_request_of_any_other_length(
    held: tuple[Window, float], whole: float
) -> None:
    window, _ = held
    assert is_inside(window.held(whole), whole)
    assert window.held(whole).span_s <= window.span_s * (1 + 1e-9)


@given(windows(), places)
def test_that_a_page_is_turned_only_for_a_moment_that_has_left_it(
    held: tuple[Window, float], place: float
) -> None:
    window, whole = held
    time_s = place * whole
    turned = window.showing(time_s, whole)
    if window.start_s <= time_s <= window.end_s:
        assert turned == window
        return
    assert is_inside(turned, whole)
    assert turned.span_s == pytest.approx(window.span_s, rel=1e-6)
    slack = 1e-9 * whole
    assert turned.start_s - slack <= time_s <= turned.end_s + slack
    if slack < turned.start_s and turned.end_s < whole - slack:
        assert (time_s - turned.start_s) / turned.span_s == pytest.approx(0.1, abs=1e-3)


# --- the view at first ---------------------------------------------------------------------------


def first_view(scenario: Scenario, current: Window | None = None) -> Window:
    result = result_of(scenario)
    return automatic_window(result.ttft_s, result.itl_s, result.e2e_s, current)


prompts, outputs = log_counts(1, 2**20), log_counts(2, 100_000)


@given(prompts, outputs, st.integers(0, 255), st.one_of(st.none(), st.floats(1e-4, 1e4)))
def test_that_both_phases_are_in_the_first_view(
    prompt: int, output: int, others: int, current_s: float | None
) -> None:
    scenario = Scenario(prompt_tokens=prompt, output_tokens=output, others=others)
    result = result_of(scenario)
    assert result.itl_s is not None
    window = first_view(scenario, None if current_s is None else Window(0.0, current_s))
    assert window.start_s == 0.0
    assert result.ttft_s < window.end_s <= result.e2e_s * (1 + 1e-12)
    # what is drawn of prefill can be seen, and so can some steps, or all of them where they are few
    assert (
        result.ttft_s >= 0.0399 * window.span_s or window.span_s <= (8 * result.itl_s + result.ttft_s) * 1.001
    )
    steps = (window.end_s - result.ttft_s) / result.itl_s
    assert steps >= min(8, output - 1) - 1e-6


@given(prompts, st.floats(1e-4, 1e4))
def test_that_the_first_view_of_a_request_without_decode_is_all_of_it(prompt: int, current_s: float) -> None:
    scenario = Scenario(prompt_tokens=prompt, output_tokens=1)
    assert first_view(scenario, Window(0.0, current_s)) == Window(0.0, result_of(scenario).e2e_s)


@pytest.mark.parametrize("output", [2, 8, 40, 128, 1_000, 30_000])
@pytest.mark.parametrize("others", [0, 63])
@pytest.mark.parametrize("kept", [False, True])
def test_that_dragging_the_prompt_never_makes_the_view_jump(output: int, others: int, kept: bool) -> None:
    """Up and down through all prompts, two in a hundred at a time, as a slider does."""
    up = sorted({round(1.02**k) for k in range(600)})
    previous: tuple[Window, float] | None = None
    for prompt in (*up, *reversed(up)):
        scenario = Scenario(prompt_tokens=prompt, output_tokens=output, others=others)
        result = result_of(scenario)
        window = first_view(scenario, previous[0] if previous and kept else None)
        if previous is not None:
            # what the request itself grew by, and at most nine in a hundred more
            grown = max(result.e2e_s / previous[1], previous[1] / result.e2e_s, 1.0)
            ratio = window.span_s / previous[0].span_s
            assert max(ratio, 1 / ratio) <= 1.09 * grown, (prompt, output, ratio)
        previous = window, result.e2e_s


def test_that_a_view_which_shows_both_phases_is_kept_while_a_control_is_dragged() -> None:
    window = first_view(Scenario())
    for prompt in range(512, 700, 8):
        assert first_view(Scenario(prompt_tokens=prompt), window) == window


# --- ticks ---------------------------------------------------------------------------------------


@given(windows(), st.integers(0, 40))
def test_that_ticks_are_few_inside_the_window_and_in_order(held: tuple[Window, float], most: int) -> None:
    window, _ = held
    found = ticks(window, most)
    assert len(found) <= max(most, 1) + 1
    slack = 1e-6 * window.span_s
    times = [tick.time_s for tick in found]
    assert all(window.start_s - slack <= time_s <= window.end_s + slack for time_s in times)
    assert times == sorted(set(times))
    if most >= 6:
        assert len(found) >= 2  # a scale needs two


@given(windows(), st.integers(1, 40))
def test_that_ticks_stand_at_round_times(held: tuple[Window, float], most: int) -> None:
    window, _ = held
    found = ticks(window, most)
    for one, following in itertools.pairwise(found):
        step = following.time_s - one.time_s
        lead = step / 10 ** math.floor(math.log10(step) + 1e-6)
        assert min(abs(lead - round_step) for round_step in (1, 2, 5, 10)) < 1e-3
        assert one.time_s / step == pytest.approx(round(one.time_s / step), abs=1e-3)


@given(windows(), st.integers(1, 40))
def test_that_labels_of_ticks_differ_say_their_unit_and_mean_their_time(
    held: tuple[Window, float], most: int
) -> None:
    window, _ = held
    found = ticks(window, most)
    labels = [tick.label for tick in found]
    assert len(set(labels)) == len(labels)
    units = set()
    for tick in found:
        if tick.time_s == 0:
            assert tick.label == "0"
            continue
        number, unit = re.fullmatch(r"([\d,]+(?:\.\d+)?) (s|ms|µs|ns)", tick.label).groups()
        units.add(unit)
        said = float(number.replace(",", "")) * {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]
        assert said == pytest.approx(tick.time_s, abs=1e-3 * window.span_s / max(most, 1), rel=1e-9)
    assert len(units) <= 1


@pytest.mark.parametrize(
    ("window", "most", "labels"),
    [
        (Window(0.0, 0.12), 6, ["0", "20 ms", "40 ms", "60 ms", "80 ms", "100 ms", "120 ms"]),
        (Window(0.0, 2.5), 5, ["0", "0.5 s", "1.0 s", "1.5 s", "2.0 s", "2.5 s"]),
        (Window(0.0, 3600.0), 4, ["0", "1,000 s", "2,000 s", "3,000 s"]),
        (Window(0.0, 5e-4), 5, ["0", "100 µs", "200 µs", "300 µs", "400 µs", "500 µs"]),
    ],
)
def test_that_ticks_read_as_people_write_times(window: Window, most: int, labels: list[str]) -> None:
    assert [tick.label for tick in ticks(window, most)] == labels


@given(st.floats(1e-4, 1e4))
def test_that_the_slow_motion_factor_is_said_in_words(rate: float) -> None:
    words = slow_motion(rate)
    if abs(rate - 1) < 1e-9:
        assert words == "real time"
        return
    verb, factor = ("slowed", 1 / rate) if rate < 1 else ("sped up", rate)
    number = re.fullmatch(rf"{verb} ([\d,.]+)×", words)
    assert number is not None
    assert float(number[1].replace(",", "")) == pytest.approx(factor, rel=6e-3)
