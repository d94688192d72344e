"""A server's run as it is drawn: what freezes is seen, every stall is, and nothing lies outside its box."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scene_world import shares
from server_world import lesson, shown_of, shown_runs, stage_of

from pdviz.scene.marks.axis import Window
from pdviz.scene.marks.geometry import Box
from pdviz.scene.server.columns import Peaks
from pdviz.scene.server.crowd import Crowd
from pdviz.scene.server.lanes import Lanes
from pdviz.scene.server.levels import Level
from pdviz.scene.server.passes import PassLane
from pdviz.scene.server.runs import Shown
from pdviz.scene.server.stage import Head
from pdviz.scene.server.streams import Streams, StreamsTrack
from pdviz.scene.server.timeline import tokens_between
from pdviz.scene.stage.overview import Overview
from pdviz.scene.stage.stage import Stage
from pdviz.serving import presets
from pdviz.serving.outcome import PARTS

SOME = settings(max_examples=40, deadline=None)


def lanes_of(stage: Stage) -> list[Lanes]:
    contents = [row.content for row in stage.rows(Streams)]
    assert all(isinstance(content, Lanes) for content in contents)
    return contents  # type: ignore[return-value]


# --- the lesson ----------------------------------------------------------------------------------


def test_that_a_long_prompt_freezes_six_streams_above_and_none_below() -> None:
    stage = stage_of(lesson())
    above, below = lanes_of(stage)
    assert len(above.stalls) == 6
    for stall in above.stalls:
        assert stall.box.w / stage.axis.px_per_s == pytest.approx(0.651078, abs=1e-6)
        assert stall.bound == "compute"
    assert {stall.label.text for stall in above.stalls if stall.label} == {"stalled 651 ms"}
    assert not below.stalls


def test_that_each_of_nine_streams_has_a_lane_with_a_first_token_in_both_halves() -> None:
    for lanes in lanes_of(stage_of(lesson())):
        assert [lane.request for lane in lanes.lanes] == list(range(9))
        assert all(lane.first_x is not None for lane in lanes.lanes)
        assert [name.text for name in lanes.names if name.bold] == ["16K prompt"]


def test_that_both_halves_have_the_lanes_of_a_stream_at_the_same_height_of_their_streams() -> None:
    above, below = stage_of(lesson()).rows(Streams)
    for one, other in zip(above.content.lanes, below.content.lanes, strict=True):
        assert one.request == other.request
        assert one.box.y - above.box.y == pytest.approx(other.box.y - below.box.y, abs=0.5)


def test_that_the_hover_of_a_frozen_stream_names_the_pass_and_whose_prompt_it_was() -> None:
    stage = stage_of(lesson())
    lane = lanes_of(stage)[0].lanes[0]
    found = stage.hover(stage.axis.to_px(0.5), lane.box.y + lane.box.h / 2)
    assert found is not None
    said = dict(found.rows)
    assert said["now"] == "stalled for 651 ms, 33 of 100 next"
    assert said["caused by"] == "pass 38, 613 ms"
    assert said["prompts in it"] == "request 7 (16K prompt)"
    assert said["longest gap"] == "651 ms"


def test_that_the_hover_of_a_waiting_stream_says_what_it_waits_for() -> None:
    stage = stage_of(lesson())
    lane = lanes_of(stage)[0].lanes[8]
    found = stage.hover(stage.axis.to_px(0.5), lane.box.y + lane.box.h / 2)
    assert found is not None
    said = dict(found.rows)
    assert said["now"].startswith("waits for ")
    assert said["meanwhile"] == "16,384 prompt tokens"


def test_that_mixed_passes_are_hatched_and_whole_prompts_are_not() -> None:
    above, below = stage_of(lesson()).rows(PassLane)
    assert not [block for block in above.blocks if block.hatched_to is not None]
    hatched = [block for block in below.blocks if block.hatched_to is not None]
    assert len(hatched) > 30
    for block in hatched:
        assert block.hatched_to is not None
        assert block.box.y < block.hatched_to < block.box.bottom
    tallest = max(above.blocks, key=lambda block: block.box.h)
    assert tallest.box.w / stage_of(lesson()).axis.px_per_s == pytest.approx(0.6130, abs=4e-3)


# --- any run, any view ---------------------------------------------------------------------------


@st.composite
def stages(draw: st.DrawFn) -> tuple[Shown, Stage]:
    shown = draw(shown_runs())
    whole = shown.timeline.duration_s
    span = whole * (shown.timeline.least_s / whole) ** draw(shares())
    start = draw(shares()) * (whole - span)
    width, height = draw(st.sampled_from(((500.0, 500.0), (1200.0, 760.0))))
    window = draw(st.sampled_from((Window(0.0, whole), Window(start, start + span).held(whole))))
    return shown, stage_of(shown, window, width, height)


def boxes(stage: Stage) -> list[tuple[Box, Box]]:
    """(what is drawn, where it must lie)."""
    found: list[tuple[Box, Box]] = []
    for row in stage.rows(PassLane):
        found += [(block.box, row.box) for block in row.blocks]
    for row in stage.rows(Streams):
        content = row.content
        found += [(stall.box, row.box) for stall in content.stalls]
        if isinstance(content, Lanes):
            for lane in content.lanes:
                for x0, x1 in (*lane.waits, *lane.links, *lane.prefills, *lane.decodes):
                    assert x0 <= x1
                    found.append((Box(x0, lane.box.y, x1 - x0, lane.box.h), row.box))
            for silence in content.silences:
                spans = silence.spans
                found += [
                    (Box(x0, silence.y, x1 - x0, silence.bottom - silence.y), row.box) for x0, x1 in spans
                ]
    for row in stage.rows(Level):
        found += [(Box(x, y, 0, 0), row.box) for line in row.lines for x, y in line.points]
    return found


@given(stages())
@SOME
def test_that_everything_lies_inside_its_row(drawn: tuple[Shown, Stage]) -> None:
    _, stage = drawn
    for inner, outer in boxes(stage):
        assert outer.x - 1e-6 <= inner.x <= inner.right <= outer.right + 1 + 1e-6
        assert outer.y - 1e-6 <= inner.y <= inner.bottom <= outer.bottom + 1e-6


@given(stages())
@SOME
def test_that_rows_do_not_overlap_and_the_first_is_the_whole(drawn: tuple[Shown, Stage]) -> None:
    _, stage = drawn
    rows = [placed.row for placed in stage.placed]
    assert isinstance(rows[0], Overview)
    for above, below in itertools.pairwise(rows):
        assert above.box.bottom <= below.box.y + 1e-6
    assert len(stage.rows(Head)) == len(stage.rows(Streams))


@given(stages())
@SOME
def test_that_every_stall_in_view_is_drawn(drawn: tuple[Shown, Stage]) -> None:
    shown, stage = drawn
    axis = stage.axis
    for row, course in zip(stage.rows(Streams), shown.courses, strict=True):
        marks = sorted((stall.box.x, stall.box.right) for stall in row.content.stalls)
        for engine in course.engines:
            for start_s, end_s in zip(engine.stalls.start_s, engine.stalls.end_s, strict=True):
                if end_s <= axis.start_s or start_s >= axis.end_s:
                    continue
                x0, x1 = axis.clipped_px(float(start_s)), axis.clipped_px(float(end_s))
                assert any(left <= x0 + 1.001 and right >= x1 - 1.001 for left, right in marks)


@given(shown_runs())
@SOME
def test_that_the_stalls_of_a_stream_are_its_gaps_that_are_too_long(shown: Shown) -> None:
    """In its lane there is one for each gap over the limit, of its length."""
    for course in shown.courses:
        content = stage_of(shown).rows(Streams)[shown.courses.index(course)].content
        if not isinstance(content, Lanes):
            continue
        for lane in content.lanes:
            times_s = np.sort(course.outcome.tokens_s(lane.request))
            longest_s = float(np.diff(times_s).max(initial=0.0))
            drawn = [s for s in content.stalls if lane.box.y <= s.box.y < lane.box.bottom]
            assert bool(drawn) == (longest_s > course.stall_s), (lane.request, longest_s)


@given(stages(), shares(), shares())
@SOME
def test_that_every_place_has_an_answer_and_only_of_what_goes_on(
    drawn: tuple[Shown, Stage], across: float, down: float
) -> None:
    _shown, stage = drawn
    x = stage.plot.x + across * (stage.plot.w - 1e-6)
    y = stage.plot.y + down * stage.plot.h
    found = stage.hover(x, y)
    row = next((p for p in stage.placed if p.row.box.contains(x, y)), None)
    if row is not None and isinstance(row.row, Level):
        assert found is not None
    if row is not None and isinstance(row.track, StreamsTrack) and isinstance(row.row.content, Crowd):
        assert found is not None
    if found is not None:
        assert found.rows
        assert all(name and value for name, value in found.rows)


@given(shown_runs(), shares())
@SOME
def test_that_the_counts_at_a_moment_are_those_of_the_requests(shown: Shown, share: float) -> None:
    time_s = share * shown.timeline.duration_s
    for course in shown.courses:
        counts = course.counts(np.array([time_s]))
        there = (course.arrival_s <= time_s) & (course.last_token_s > time_s)
        total = sum(int(x[0]) for x in (counts.waiting, counts.linking, counts.prefilling, counts.decoding))
        assert total == int(there.sum())
        assert min(int(counts.waiting[0]), int(counts.decoding[0]), int(counts.prefilling[0])) >= 0
        assert int(counts.waiting[0]) <= course.most_waiting
        assert int(counts.decoding[0]) <= course.most_decoding
        held = float(course.kv_tokens(np.array([time_s]))[0])
        assert 0 <= held <= course.most_kv
        if course.kv_capacity is not None and course.run.knobs.policy != "static":
            assert held <= course.kv_capacity


@given(shown_runs(), shares(), shares())
@SOME
def test_that_a_measure_counts_the_tokens_that_come_in_it(shown: Shown, one: float, other: float) -> None:
    whole = shown.timeline.duration_s
    start_s, end_s = sorted((one * whole, other * whole))
    for course in shown.courses:
        every = np.concatenate([course.outcome.tokens_s(request) for request in range(len(course))])
        came = int(((every > start_s) & (every <= end_s)).sum())
        near = int((np.abs(every - start_s) < 1e-9).sum() + (np.abs(every - end_s) < 1e-9).sum())
        assert abs(tokens_between(course, start_s, end_s) - came) <= near


# --- many ----------------------------------------------------------------------------------------


def test_that_many_streams_are_a_map_and_lanes_once_one_is_near() -> None:
    shown = shown_of(presets.steady_chat(6.0, 600), ("continuous", "chunked"))
    assert shown is not None
    whole = shown.timeline.duration_s
    assert all(isinstance(row.content, Crowd) for row in stage_of(shown).rows(Streams))
    near = stage_of(shown, Window(0.5 * whole, 0.5 * whole + 0.3))
    for row, course in zip(near.rows(Streams), shown.courses, strict=True):
        assert isinstance(row.content, Lanes)
        shown_ones = {lane.request for lane in row.content.lanes}
        active = (course.arrival_s < 0.5 * whole + 0.3) & (course.last_token_s > 0.5 * whole)
        assert set(np.flatnonzero(active).tolist()) <= shown_ones


def test_that_lanes_scroll_from_any_request_to_the_last() -> None:
    shown = shown_of(presets.steady_chat(20.0, 600), ("continuous",))
    assert shown is not None
    roster, axis = shown.scales.roster, stage_of(shown).axis
    first = roster.scrolled(axis, None, 0, 10)
    assert first == 0
    assert roster.scrolled(axis, first, 3, 10) == 3
    assert roster.scrolled(axis, 3, -9, 10) == 0
    assert roster.scrolled(axis, 3, 10_000, 10) == 590
    (row,) = stage_of(shown, scrolled_to=590).rows(Streams)
    assert isinstance(row.content, Lanes)
    assert row.content.lanes[0].request == 590
    assert row.content.lanes[-1].request <= 599


@given(st.lists(st.floats(0, 1), max_size=60), st.lists(st.integers(0, 60), min_size=1, max_size=12))
def test_that_the_largest_of_each_stretch_is_found(values: list[float], cuts: list[int]) -> None:
    edges = np.array(sorted(min(cut, len(values)) for cut in cuts), np.int64)
    for place, low, high in zip(Peaks(np.array(values)).largest(edges), edges, edges[1:], strict=False):
        if high > low:
            assert values[place] == max(values[low:high])
        else:
            assert place == -1


def test_that_of_very_many_values_none_that_stands_out_is_lost() -> None:
    values = np.zeros(3_000_000)
    outstanding = np.random.default_rng(0).integers(0, len(values), 40)
    values[outstanding] = 1 + np.arange(40)
    edges = np.linspace(0, len(values), 1_001).astype(np.int64)
    found = Peaks(values).largest(edges)
    assert set(values[found[found >= 0]]) >= {values[outstanding].max()}
    assert (values[found] > 0).sum() >= len(np.unique(outstanding * 1_000 // len(values))) - 3


@given(shown_runs())
@SOME
def test_that_the_parts_of_a_stream_are_told_where_they_take_time(shown: Shown) -> None:
    course = shown.courses[0]
    for request in range(min(len(course), 3)):
        told = sum(float(course.outcome.parts_s[name][request]) for name in PARTS)
        assert told == pytest.approx(float(course.outcome.e2e_s[request]), rel=1e-9, abs=1e-12)
