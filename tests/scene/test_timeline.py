"""What any timeline owes to player, transport and stage, asked of a request and of a toy."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scene_world import result_of, scenarios, shares
from server_world import shown_runs
from toy_run import ToyRun

from pdviz.scenario import Scenario
from pdviz.scene.request.timeline import RequestTimeline
from pdviz.scene.stage.timeline import (
    FIRST_TOKEN,
    PASS,
    STALL,
    TOKEN,
    Mark,
    Timeline,
    nearest_s,
    next_edge_s,
    step_s,
)

SOME = settings(max_examples=60)


@st.composite
def toys(draw: st.DrawFn) -> ToyRun:
    """Passes one after the other, some of them with a gap before them."""
    spans, end_s = [], 0.0
    for gap_s, length_s in draw(
        st.lists(
            st.tuples(st.sampled_from((0.0, 0.0, 0.5, 3.0)), st.floats(0.01, 5.0)), min_size=1, max_size=9
        )
    ):
        spans.append((end_s + gap_s, end_s + gap_s + length_s))
        end_s = spans[-1][1]
    tail_s = draw(st.sampled_from((0.0, 1.0)))
    marks = tuple(Mark(start_s, STALL, "stalled") for start_s, _ in spans[::2])
    return ToyRun(tuple(spans), marks, end_s + tail_s)


def timelines() -> st.SearchStrategy[Timeline]:
    requests = scenarios().map(lambda scenario: RequestTimeline(result_of(scenario).request))
    servers = shown_runs().map(lambda shown: shown.timeline)
    return st.one_of(toys(), requests, servers)


# --- the contract --------------------------------------------------------------------------------


@given(timelines(), st.lists(shares(), min_size=2, max_size=6))
@SOME
def test_that_passes_follow_one_another_within_the_timeline(line: Timeline, places: list[float]) -> None:
    numbers = sorted({round(place * (line.passes - 1)) for place in places})
    for number in numbers:
        start_s, end_s = line.pass_start_s(number), line.pass_end_s(number)
        assert 0.0 <= start_s <= end_s <= line.duration_s
        if number + 1 < line.passes:
            assert end_s <= line.pass_start_s(number + 1)
    starts = [line.pass_start_s(number) for number in numbers]
    assert starts == sorted(starts)


@given(timelines(), shares())
@SOME
def test_that_the_pass_at_a_moment_has_begun_and_the_next_has_not(line: Timeline, place: float) -> None:
    time_s = place * line.duration_s
    here = line.pass_at(time_s)
    assert 0 <= here < line.passes
    assert here == 0 or line.pass_start_s(here) <= time_s
    assert here + 1 == line.passes or time_s < line.pass_start_s(here + 1)


@given(timelines(), st.integers(0, 10**9))
@SOME
def test_that_a_pass_is_under_way_at_its_own_start(line: Timeline, number: int) -> None:
    number %= line.passes
    assert line.pass_at(line.pass_start_s(number)) == number


@given(timelines(), shares(), st.booleans())
@SOME
def test_that_a_jump_leads_onwards_to_a_moment_of_the_timeline(
    line: Timeline, place: float, forward: bool
) -> None:
    time_s = place * line.duration_s
    for kind in line.kinds:
        found = line.next_s(kind, time_s, forward)
        if found is not None:
            assert 0.0 <= found <= line.duration_s
            assert found > time_s if forward else found < time_s


@given(timelines())
@SOME
def test_that_jumps_of_each_kind_come_to_an_end_and_lead_back_over_the_same_moments(line: Timeline) -> None:
    for kind in line.kinds:
        time_s: float | None = 0.0
        there: list[float] = []
        while (time_s := line.next_s(kind, time_s, True)) is not None and len(there) < 40:
            there.append(time_s)
        assert there == sorted(there)
        for one, following in itertools.pairwise(there):
            assert line.next_s(kind, following, False) == pytest.approx(one, abs=1e-9 * line.duration_s)
    assert line.next_s(line.kinds[0], line.duration_s, True) is None


@given(timelines(), shares(), shares())
@SOME
def test_that_a_measure_holds_what_lies_between_two_moments_in_either_order(
    line: Timeline, one: float, other: float
) -> None:
    found = line.measure(one * line.duration_s, other * line.duration_s)
    assert found == line.measure(other * line.duration_s, one * line.duration_s)
    assert found.start_s == min(one, other) * line.duration_s
    assert found.end_s == max(one, other) * line.duration_s
    assert found.words
    assert line.measure(-1.0, line.duration_s + 1.0) == line.measure(0.0, line.duration_s)


@given(timelines(), shares())
@SOME
def test_that_what_is_shown_at_first_is_part_of_the_timeline_and_every_moment_has_words(
    line: Timeline, place: float
) -> None:
    view = line.first_view()
    for window in (view, line.first_view(view)):
        assert 0.0 <= window.start_s < window.end_s <= line.duration_s * (1 + 1e-12) or line.duration_s < 5.0
    assert 0 < line.least_s <= line.duration_s
    assert line.describe(place * line.duration_s)
    assert all(0.0 <= mark.time_s <= line.duration_s and mark.name for mark in line.marks)


# --- steps ---------------------------------------------------------------------------------------


@given(timelines(), st.lists(st.integers(-20, 20).filter(bool), max_size=12))
@SOME
def test_that_steps_go_from_start_to_start_and_stop_at_both_ends(line: Timeline, steps: list[int]) -> None:
    time_s, expected = 0.0, 0
    for passes in steps:
        time_s = step_s(line, time_s, passes)
        last = line.passes - 1
        if expected > last and passes < 0 and line.duration_s > line.pass_start_s(last):
            expected = last + 1  # from the end, the first step back leads to the last pass
        expected = min(max(expected + passes, 0), line.passes)
        assert time_s == (line.pass_start_s(expected) if expected < line.passes else line.duration_s)


def test_that_jumps_stop_at_both_edges_of_a_gap() -> None:
    line = ToyRun()
    found, time_s = [], 0.0
    while (following := next_edge_s(line, time_s, True)) is not None:
        found.append(time_s := following)
    assert found == [1.0, 2.5, 4.0, 4.5, 9.0]
    assert next_edge_s(line, 3.0, False) == 2.5
    assert next_edge_s(line, 3.0, True) == 4.0
    assert line.next_s(STALL, 0.0, True) == 4.5


def test_that_the_nearest_moment_is_not_the_one_that_it_starts_from() -> None:
    assert nearest_s((1.0, 2.0, 3.0), 2.0, True) == 3.0
    assert nearest_s((1.0, 2.0, 3.0), 2.0, False) == 1.0
    assert nearest_s((1.0, 2.0, 3.0), 0.95, True, slack_s=0.1) == 2.0
    assert nearest_s((), 0.0, True) is None


# --- a request -----------------------------------------------------------------------------------


def test_that_the_jumps_of_a_request_are_its_passes_its_tokens_and_its_first_token() -> None:
    request = result_of(Scenario()).request
    line = RequestTimeline(request)
    assert line.next_s(PASS, 0.0, True) == line.next_s(TOKEN, 0.0, True) == request.ttft_s
    assert line.next_s(FIRST_TOKEN, 0.0, True) == request.ttft_s
    assert line.next_s(FIRST_TOKEN, request.ttft_s, True) is None
    assert line.next_s(FIRST_TOKEN, request.e2e_s, False) == request.ttft_s
    assert line.next_s(TOKEN, request.ttft_s, True) == request.pass_end_s(1)
    assert line.next_s(PASS, request.ttft_s, False) == 0.0
    assert line.next_s(TOKEN, request.ttft_s, False) is None  # where prefill starts nothing has come out


@given(scenarios(), st.floats(0.0, 1.0))
def test_that_a_moment_is_described_by_its_pass_its_bound_and_both_utilisations(
    scenario: Scenario, at: float
) -> None:
    result = result_of(scenario)
    words = RequestTimeline(result.request).describe(at * result.e2e_s)
    number = result.request.pass_at(at * result.e2e_s)
    cost = result.request.pass_cost(number)
    assert ("prefill" in words) == (number == 0)
    assert (f"decode pass {number:,} of" in words) == (number > 0)
    assert f"{cost.bound}-bound" in words
    assert words.count("%") == 2
