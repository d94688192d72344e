"""The stage: to scale, complete, no more marks than pixels, and nothing written over anything else."""

from __future__ import annotations

import itertools
import math

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scene_world import MODELS, measure, result_of, scenarios, views
from stage_parts import RequestParts

from pdviz.evaluation import Result
from pdviz.scenario import PRESETS, Scenario
from pdviz.scene.marks.axis import Window, automatic_window
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Text
from pdviz.scene.request.hover import hover
from pdviz.scene.request.passes import LEAST_BLOCK_PX, block_height
from pdviz.scene.request.stage import LANE_SAMPLES, Scales, request_tracks, scales_of
from pdviz.scene.stage.lanes import Lane
from pdviz.scene.stage.parts import Block
from pdviz.scene.stage.stage import build_stage
from pdviz.units import duration, percent, si, size

FEW = settings(max_examples=40)  # a scene costs some milliseconds, and there are many claims


class Scene(msgspec.Struct, frozen=True):
    """A stage, and what it was made from."""

    result: Result
    window: Window
    width: float
    height: float
    scale: float
    stage: RequestParts

    def __repr__(self) -> str:
        return f"scene({self.result.scenario}, {self.window}, {self.width}, {self.height}, {self.scale})"


def scene(
    scenario: Scenario,
    window: Window | None = None,
    width: float = 1100,
    height: float = 600,
    scale: float = 1.0,
    scales: Scales | None = None,
    whole_s: float | None = None,
) -> Scene:
    result = result_of(scenario)
    window = window or automatic_window(result.ttft_s, result.itl_s, result.e2e_s)
    tracks = request_tracks(result, scales)
    stage = build_stage(tracks, window, whole_s or result.e2e_s, width, height, scale, measure)
    return Scene(result, window, width, height, scale, RequestParts(stage))


@st.composite
def scenes(draw: st.DrawFn, outputs: st.SearchStrategy[int] | None = None) -> Scene:
    """Any request, any part of it in view, any card that a window or a picture may have."""
    scenario = draw(scenarios(outputs))
    window = draw(views(result_of(scenario)))
    scale = draw(st.sampled_from((0.8, 1.0, 1.35, 2.0, 3.0)))
    width = draw(st.floats(max(560.0, 700 * scale), 3000.0))
    height = draw(st.floats(400 * scale, 800 * scale))
    return scene(scenario, window, width, height, scale)


def extent_s(result: Result, block: Block) -> tuple[float, float]:
    """When the first pass of a block begins and the last one ends."""
    request = result.request
    return request.pass_start_s(block.first), request.pass_end_s(block.first + block.passes - 1)


def is_fine(stage: RequestParts) -> bool:
    """True where decode passes are drawn one by one."""
    return all(block.passes == 1 for block in stage.blocks)


def test_that_the_words_at_a_pass_are_the_figures_of_that_pass() -> None:
    result = result_of(Scenario(prompt_tokens=512, output_tokens=128))
    for index in (0, 1, 77, 127):
        said, cost = hover(result, index), result.request.pass_cost(index)
        rows = dict(said.rows)
        assert said.index == index
        assert said.title == ("Prefill" if index == 0 else f"Decode pass {index} of 127")
        assert rows["starts at"] == duration(result.request.pass_start_s(index))
        assert rows["FLOPs"] == si(cost.flops, "FLOP")
        assert rows["bytes"] == size(cost.bytes)
        assert rows["limited by"] == cost.bound.words
        # Pass k writes token k and attends to the prompt and the k tokens up to it.
        assert rows.get("context") == (f"{512 + index} tokens" if index else None)
        ideal_s = result.speed_of_light.pass_cost(index).time_s
        assert rows["speed of light"] == f"{duration(ideal_s)}, {percent(ideal_s / cost.time_s)} of this"


# --- to scale ------------------------------------------------------------------------------------


@given(scenes())
@FEW
def test_that_blocks_stay_inside_the_plot(s: Scene) -> None:
    plot = s.stage.layout.plot
    for block in s.stage.blocks:
        assert plot.x - 1e-6 <= block.box.x
        assert block.box.right <= plot.right + 1e-6
        assert plot.y <= block.box.y
        assert block.box.bottom == pytest.approx(plot.bottom)


@pytest.mark.parametrize("pixels", [0.001, 0.4, 0.9, 1.5, 3.0])
@pytest.mark.parametrize("number", [1, 9])
def test_that_a_sliver_of_a_pass_at_the_edge_of_the_view_is_drawn_inside_it(
    pixels: float, number: int
) -> None:
    request = result_of(Scenario()).request
    width_px = scene(Scenario()).stage.layout.plot.w
    span = request.pass_start_s(number) / (1 - pixels / width_px)
    s = scene(Scenario(), Window(0.0, span))
    plot, last = s.stage.layout.plot, s.stage.blocks[-1]
    assert last.first == number
    assert last.box.right == pytest.approx(plot.right, abs=1e-6)
    assert last.box.w == pytest.approx(max(pixels, 1.0), abs=1e-6)


@pytest.mark.parametrize("number", [1, 2, 50])
def test_that_a_view_that_ends_where_a_pass_begins_does_not_show_it(number: int) -> None:
    request = result_of(Scenario()).request
    s = scene(Scenario(), Window(0.0, request.pass_start_s(number)))
    assert s.stage.blocks[-1].first + s.stage.blocks[-1].passes == number


def is_whole(s: Scene, block: Block) -> bool:
    """True where no part of the block is cut off by an end of the view."""
    start, end = extent_s(s.result, block)
    return s.window.start_s <= start and end <= s.window.end_s


@given(scenes())
@FEW
def test_that_a_block_begins_where_its_pass_does_and_is_as_wide_as_it_takes(s: Scene) -> None:
    axis, blocks = s.stage.axis, s.stage.blocks
    gaps = []
    for block in blocks:
        start, end = extent_s(s.result, block)
        x0, x1 = axis.clipped_px(start), axis.clipped_px(end)
        if x1 - x0 <= 1.0:
            assert block.box.x == pytest.approx(x0, abs=1.0)
            assert block.box.w <= 1.0 + 1e-6  # drawn a pixel wide, so that it can be seen
            continue
        assert block.box.x == pytest.approx(x0, abs=1e-6)
        short = x1 - x0 - block.box.w
        if block.first == 0 or block.passes > 1 or end > s.window.end_s:
            assert short == pytest.approx(0.0, abs=1e-6)  # what goes on outside ends at the edge
        elif is_whole(s, block):
            gaps.append(short)
            assert short <= min(2 * s.scale, 0.25 * (x1 - x0)) + 1e-6
    # the same hair's breadth between all decode passes: widths still compare
    assert not gaps or max(gaps) - min(gaps) < 1e-6


@given(scenes())
@FEW
def test_that_widths_of_decode_passes_are_to_each_other_as_their_durations(s: Scene) -> None:
    assume(is_fine(s.stage))
    whole = [block for block in s.stage.blocks if block.first and is_whole(s, block)]
    for one, following in itertools.pairwise(whole):
        pitch = following.box.x - one.box.x
        assert pitch == pytest.approx(
            s.result.request.pass_cost(one.first).time_s * s.stage.axis.px_per_s, abs=0.01
        )


@given(scenes())
@FEW
def test_that_the_dimension_of_ttft_ends_where_the_prefill_block_does(s: Scene) -> None:
    found = [d for d in s.stage.dimensions if d.text.text.startswith("TTFT")]
    prefill = [block for block in s.stage.blocks if block.first == 0]
    assert len(found) == len(prefill) <= 1
    for dimension, block in zip(found, prefill, strict=True):
        assert dimension.x0 == pytest.approx(block.box.x, abs=1.0)
        assert dimension.x1 == pytest.approx(block.box.right, abs=1.0)
        if block.box.w > 2:
            assert dimension.x0 == pytest.approx(block.box.x, abs=1e-6)
            assert dimension.x1 == pytest.approx(block.box.right, abs=1e-6)
        assert dimension.opens_left == (s.window.start_s > 0)
        assert dimension.opens_right == (s.result.ttft_s > s.window.end_s)


@given(scenes())
@FEW
def test_that_dimensions_are_as_long_as_what_they_measure(s: Scene) -> None:
    names = [d.text.text.split()[0] for d in s.stage.dimensions]
    assert len(set(names)) == len(names)
    assert "E2E" in names
    for d in s.stage.dimensions:
        name = d.text.text.split()[0]
        axis = s.stage.overview_axis if name == "E2E" else s.stage.axis
        length = {"TTFT": s.result.ttft_s, "ITL": s.result.itl_s, "E2E": s.result.e2e_s}[name]
        assert length is not None
        assert d.x0 <= d.x1
        if not (d.opens_left or d.opens_right):
            assert d.x1 - d.x0 == pytest.approx(length * axis.px_per_s, abs=0.5)


@given(st.integers(1, 2**24), st.integers(1, 2**24), st.floats(60, 900), st.sampled_from((0.8, 1.0, 3.0)))
def test_that_blocks_grow_with_their_tokens(one: int, other: int, height: float, scale: float) -> None:
    plot = Box(0, 0, 500, height * scale)
    low, high = sorted((one, other))
    heights = [block_height(n, 2**24, plot, scale) for n in (low, high)]
    assert 0 < heights[0] <= heights[1] <= plot.h
    if high >= 1.01 * low:
        assert heights[0] < heights[1]


@given(st.integers(0, 23), st.floats(100, 900))
def test_that_doubling_the_tokens_adds_the_same_height_each_time(power: int, height: float) -> None:
    plot = Box(0, 0, 500, height)
    steps = [
        block_height(2 ** (k + 1), 2**24, plot, 1.0) - block_height(2**k, 2**24, plot, 1.0)
        for k in (0, power)
    ]
    assert steps[0] == pytest.approx(steps[1])
    assert steps[0] > 0


@given(scenes())
@FEW
def test_that_the_two_phases_are_as_tall_as_their_tokens_say(s: Scene) -> None:
    request = s.result.request
    by_tokens = {}
    for block in s.stage.blocks:
        tokens = request.prefill.tokens if block.first == 0 else request.train.tokens
        by_tokens.setdefault(tokens, set()).add(round(block.box.h, 6))
    assert all(len(heights) == 1 for heights in by_tokens.values())
    tall = [heights.pop() for _, heights in sorted(by_tokens.items())]
    assert tall == sorted(tall)


# --- complete, and no more than can be seen ------------------------------------------------------


@given(scenes())
def test_that_blocks_cover_exactly_the_passes_in_view_each_once(s: Scene) -> None:
    request, window = s.result.request, s.window
    covered = [(block.first, block.first + block.passes) for block in s.stage.blocks]
    for (_, end), (start, _) in itertools.pairwise(covered):
        assert start == end
    first, last = covered[0][0], covered[-1][1] - 1
    slack = 1e-9 * request.e2e_s
    assert request.pass_at(window.start_s + slack) >= first >= request.pass_at(window.start_s - slack)
    assert request.pass_at(window.end_s + slack) >= last >= request.pass_at(window.end_s - slack)


@given(scenes(outputs=st.sampled_from((128, 100_000, 10_000_000))))
@FEW
def test_that_there_are_never_more_blocks_than_pixels(s: Scene) -> None:
    segments = len(s.result.request.train.segments)
    assert len(s.stage.blocks) <= max(s.stage.layout.plot.w / LEAST_BLOCK_PX, segments) + 1
    assert len(s.stage.overview) <= segments + 1
    assert all(len(lane.points) <= 2 * (LANE_SAMPLES + 4) for lane in s.stage.lanes)
    assert len(s.stage.ticks) <= s.stage.layout.plot.w / (90 * s.scale) + 2


@pytest.mark.parametrize("output", [128, 10_000_000])
def test_that_a_long_answer_costs_no_more_marks_than_a_short_one(output: int) -> None:
    s = scene(Scenario(output_tokens=output), Window(0.0, result_of(Scenario(output_tokens=output)).e2e_s))
    assert len(s.stage.blocks) <= 128
    assert s.stage.blocks[-1].first + s.stage.blocks[-1].passes == output


@given(scenes(), st.lists(st.floats(0.0, 1.0), min_size=8, max_size=8))
@FEW
def test_that_the_pass_under_the_mouse_is_the_block_that_is_drawn_there(
    s: Scene, places: list[float]
) -> None:
    axis = s.stage.axis
    for block, place in zip(s.stage.blocks, itertools.cycle(places), strict=False):
        start, end = extent_s(s.result, block)
        x0, x1 = axis.clipped_px(start), axis.clipped_px(end)
        if x1 - x0 < 1.5:
            continue  # drawn at least a pixel wide, so that it can be seen
        left, right = max(block.box.x, x0) + 0.01, min(block.box.right, x1) - 0.01
        x = left + place * (right - left)
        found = s.stage.stage.hover(x, block.box.bottom - 0.5)
        assert found is not None
        hit = found.index
        assert block.first <= hit < block.first + block.passes


@given(scenes())
@FEW
def test_that_the_colour_of_a_block_is_the_bound_of_its_passes(s: Scene) -> None:
    for block in (*s.stage.blocks, *s.stage.overview):
        last = block.first + block.passes - 1
        for number in {block.first, (block.first + last) // 2}:
            assert block.bound == s.result.request.pass_cost(number).bound


@given(scenes())
@FEW
def test_that_the_overview_covers_the_whole_request_without_a_gap(s: Scene) -> None:
    strip, blocks = s.stage.layout.overview, s.stage.overview
    assert blocks[0].box.x == pytest.approx(strip.x)
    assert blocks[-1].box.right == pytest.approx(strip.right)
    for one, following in itertools.pairwise(blocks):
        assert one.box.right == pytest.approx(following.box.x, abs=1.0)
    assert all(strip.y <= block.box.y < block.box.bottom <= strip.bottom for block in blocks)
    # each part as wide as it is long
    for block in blocks:
        start, end = extent_s(s.result, block)
        assert block.box.w == pytest.approx((end - start) * s.stage.overview_axis.px_per_s, abs=1.0)


@given(scenes())
@FEW
def test_that_the_frame_on_the_overview_is_the_window_and_can_always_be_seen(s: Scene) -> None:
    view, strip, axis = s.stage.view, s.stage.layout.overview, s.stage.overview_axis
    assert strip.x - 1e-6 <= view.x < view.right <= strip.right + 1e-6
    assert view.w >= min(8 * s.scale, strip.w) - 1e-6
    left, right = axis.clipped_px(s.window.start_s), axis.clipped_px(s.window.end_s)
    if right - left > 8 * s.scale:
        assert (view.x, view.right) == (pytest.approx(left), pytest.approx(right))
    else:
        assert view.x - 1e-6 <= left <= right <= view.right + 1e-6


# --- lanes ---------------------------------------------------------------------------------------


def value_at(lane: Lane, x: float) -> float:
    """The height of the line at ``x``; where it jumps, after the jump."""
    for (x0, one), (x1, other) in zip(lane.points, lane.points[1:], strict=False):
        if x0 <= x < x1:
            return one + (other - one) * (x - x0) / (x1 - x0)
    return lane.points[-1][1]


@given(scenes())
@FEW
def test_that_lanes_run_from_left_to_right_between_nothing_and_what_is_achievable(s: Scene) -> None:
    for lane in s.stage.lanes:
        xs = [x for x, _ in lane.points]
        assert xs == sorted(xs)
        assert lane.box.x - 1e-6 <= xs[0]
        assert xs[-1] <= lane.box.right + 1e-6
        assert all(0.0 <= share <= lane.ceiling * (1 + 1e-9) <= 1.0 + 1e-9 for _, share in lane.points)
        axis, e2e = s.stage.axis, s.result.e2e_s
        assert xs[0] == pytest.approx(axis.clipped_px(s.window.start_s), abs=1e-3)
        assert xs[-1] == pytest.approx(axis.clipped_px(e2e), abs=1e-3)


@given(scenes(), st.floats(0.0, 1.0))
@FEW
def test_that_lanes_show_the_utilisation_of_the_pass_at_each_moment(s: Scene, place: float) -> None:
    request, axis = s.result.request, s.stage.axis
    x = axis.left_px + place * (axis.clipped_px(s.result.e2e_s) - axis.left_px)
    number = request.pass_at(axis.to_s(x))
    start, end = axis.to_px(request.pass_start_s(number)), axis.to_px(request.pass_end_s(number))
    assume(start + 0.01 < x < end - 0.01)
    cost = request.pass_cost(number)
    in_view = request.pass_at(s.window.end_s) - request.pass_at(s.window.start_s) + 1
    stride = math.ceil(in_view / LANE_SAMPLES)
    last = request.train.steps
    near = (max(number - stride, 1), min(number + stride, last)) if number else ()
    neighbours = [cost, *(request.pass_cost(k) for k in near)]
    for lane, name in zip(s.stage.lanes, ("compute_utilisation", "bandwidth_utilisation"), strict=True):
        values = [getattr(neighbour, name) for neighbour in neighbours]
        assert min(values) - 1e-9 <= value_at(lane, x) <= max(values) + 1e-9


@given(scenes())
@FEW
def test_that_lanes_name_the_bound_that_their_colour_means(s: Scene) -> None:
    assert [(lane.name, lane.bound) for lane in s.stage.lanes] == [("compute",) * 2, ("bandwidth",) * 2]
    machine = s.result.machine
    assert [lane.ceiling for lane in s.stage.lanes] == [
        machine.compute_efficiency,
        machine.bandwidth_efficiency,
    ]


# --- words ---------------------------------------------------------------------------------------


def written(stage: RequestParts) -> list[Text]:
    """Every text on the stage."""
    found = [*stage.texts, *(d.text for d in stage.dimensions)]
    found += [text for _, text in (*stage.levels, *stage.ticks)]
    found += stage.inside
    return [text for text in found if text.text]


def ink(text: Text) -> Box:
    """Where the letters are: the box without the air above and below them."""
    return text.box.inset(1.0, 0.14 * text.box.h)


@given(scenes())
def test_that_no_text_is_written_over_another(s: Scene) -> None:
    for one, other in itertools.combinations(written(s.stage), 2):
        assert not ink(one).overlaps(ink(other)), (one, other)


@given(scenes())
def test_that_no_text_leaves_the_card(s: Scene) -> None:
    for text in written(s.stage):
        assert text.box.x >= -0.5, text
        assert text.box.right <= s.width + 0.5, text
        assert text.box.y >= -0.5, text
        assert text.box.bottom <= s.height + 0.5, text


@given(scenes())
@FEW
def test_that_texts_are_as_wide_as_measured_and_never_tiny(s: Scene) -> None:
    for text in written(s.stage):
        assert text.box.w >= measure(text.text, text.size, text.bold)
        assert text.size >= 11.9 * s.scale


@given(scenes())
@FEW
def test_that_names_inside_the_prefill_block_fit_into_it(s: Scene) -> None:
    for text in s.stage.inside:
        box = s.stage.blocks[0].box
        assert s.stage.blocks[0].first == 0
        assert box.x <= text.box.x
        assert text.box.right <= box.right
        assert box.y <= text.box.y
        assert text.box.bottom <= box.bottom


@given(scenes())
@FEW
def test_that_labels_are_not_written_across_the_blocks(s: Scene) -> None:
    for text in s.stage.texts:
        for block in s.stage.blocks:
            assert not ink(text).overlaps(block.box), (text, block)


@pytest.mark.parametrize("others", [1, 63, 1_000])
@pytest.mark.parametrize("prompt", [1, 20, 64])
@pytest.mark.parametrize("steps", [3, 12, 40])
def test_that_the_name_of_a_short_prompt_stands_above_a_tall_train(
    others: int, prompt: int, steps: int
) -> None:
    scenario = Scenario(prompt_tokens=prompt, others=others)
    result = result_of(scenario)
    s = scene(scenario, Window(0.0, result.request.pass_start_s(steps)))
    assert "Prefill" in [text.text for text in written(s.stage)]
    for text in s.stage.texts:
        assert not any(ink(text).overlaps(block.box) for block in s.stage.blocks)


@given(scenes())
def test_that_no_line_of_a_dimension_runs_through_a_word(s: Scene) -> None:
    for dimension in s.stage.dimensions:
        line = Box(dimension.x0, dimension.y - 0.5, dimension.x1 - dimension.x0, 1.0)
        for text in written(s.stage):
            if text is not dimension.text:
                assert not ink(text).overlaps(line), (text, dimension)
        assert dimension.splits or not ink(dimension.text).overlaps(line)


def test_that_long_labels_of_ticks_far_into_an_endless_request_do_not_touch() -> None:
    whole = result_of(Scenario(output_tokens=10**7)).e2e_s
    for span in (1e-4, 1e-3, 0.1, 10.0):
        s = scene(Scenario(output_tokens=10**7), Window(whole - 2 * span, whole - span))
        boxes = [text.box for _, text in s.stage.ticks if text.text]
        assert boxes
        assert all(one.right + 4 <= other.x for one, other in itertools.pairwise(boxes))


@given(scenes())
@FEW
def test_that_tick_labels_stand_at_their_ticks_and_levels_at_their_heights(s: Scene) -> None:
    for x, text in s.stage.ticks:
        assert s.stage.layout.plot.x - 1e-3 <= x <= s.stage.layout.plot.right + 1e-3
        if text.text:
            assert text.box.x - 14 * s.scale <= x <= text.box.right + 14 * s.scale
    for y, text in s.stage.levels:
        assert text.box.y < y < text.box.bottom
        assert s.stage.layout.plot.y <= y <= s.stage.layout.plot.bottom


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.title)
def test_that_each_preset_names_both_phases_and_measures_all_three_times(preset: object) -> None:
    s = scene(preset.apply(Scenario()), width=960, height=520)
    words = {text.text for text in written(s.stage)}
    assert {"Prefill", "Decode"} <= words
    assert {word.split()[0] for word in words} >= {"TTFT", "ITL", "E2E"}


def test_that_phases_keep_their_names_when_zooming_in_and_out_again_leaves_a_rounding_error() -> None:
    window = automatic_window(0.0152, 0.0064, 0.83)
    names = []
    for start in (0.0, 1e-18, 1e-9 * window.span_s):
        s = scene(Scenario(), Window(start, start + window.span_s))
        names.append([text.text for text in written(s.stage) if text.text in ("Prefill", "Decode")])
    assert names == [["Prefill", "Decode"]] * 3


@given(st.floats(300, 3000), st.floats(200, 2000), st.sampled_from((0.8, 1.0, 2.0, 4.0)))
def test_that_the_rows_of_the_stage_lie_one_below_the_other(
    width: float, height: float, scale: float
) -> None:
    assume(height >= 330 * scale)
    assume(width >= 200 * scale)
    rows = scene(Scenario(), None, width, height, scale).stage.boxes
    for upper, lower in itertools.pairwise(rows):
        assert upper.bottom <= lower.y + 1e-6
    assert rows[-1].bottom <= height
    assert all(row.x >= 0 and row.right <= width for row in rows)
    # time is one axis for all of them
    assert len({(row.x, row.w) for row in rows[1:]}) == 1


@pytest.mark.parametrize("model", MODELS)
def test_that_what_does_not_fit_in_memory_is_marked_and_drawn_all_the_same(model: str) -> None:
    fits, too_much = scene(Scenario(model=model, accelerators=8)), scene(Scenario(model=model, others=65_535))
    assert fits.stage.is_marked is not fits.result.memory.fits
    assert too_much.stage.is_marked is not too_much.result.memory.fits
    assert too_much.stage.blocks


# --- the speed of light ----------------------------------------------------------------------------


@FEW
@given(scenes())
def test_that_a_ghost_begins_with_its_block_and_is_as_wide_as_no_engine_could_beat(s: Scene) -> None:
    blocks = {block.first: block for block in s.stage.blocks}
    ideal, axis = s.result.speed_of_light, s.stage.axis
    for ghost in s.stage.ghosts:
        block, start_s = blocks[ghost.first], s.result.request.pass_start_s(ghost.first)
        assert block.passes == ghost.passes == 1
        assert (ghost.box.y, ghost.box.h, ghost.bound) == (block.box.y, block.box.h, block.bound)
        end = axis.clipped_px(start_s + ideal.pass_cost(ghost.first).time_s)
        assert ghost.box.x == pytest.approx(axis.clipped_px(start_s))
        assert ghost.box.right == pytest.approx(end)
        assert s.stage.layout.plot.x - 0.01 <= ghost.box.x
        assert ghost.box.right <= s.stage.layout.plot.right + 0.01


def test_that_the_usual_request_has_a_ghost_of_its_golden_times() -> None:
    s = scene(Scenario())
    prefill = s.stage.ghosts[0]
    width = prefill.box.w / s.stage.axis.px_per_s
    assert width == pytest.approx(7.22e-3, rel=0.02)  # 7.217 TFLOP and attention, at 989 TFLOP/s
    assert s.result.speed_of_light.pass_cost(1).time_s == pytest.approx(4.50e-3, rel=0.01)
    narrow = scene(Scenario(prompt_tokens=128))
    assert narrow.stage.ghosts[0].box.w / narrow.stage.axis.px_per_s == pytest.approx(4.49e-3, rel=0.002)


def test_that_the_speed_of_light_has_no_ghost_of_itself() -> None:
    assert scene(Scenario(fidelity="ideal")).stage.ghosts == ()


def test_that_thin_passes_have_no_ghost_until_one_zooms_in() -> None:
    whole = scene(Scenario())
    assert [ghost.first for ghost in whole.stage.ghosts] == [0]
    near = scene(Scenario(), Window(0.015, 0.045))
    assert {ghost.first for ghost in near.stage.ghosts} >= {1, 2, 3}


# --- one scale for two ---------------------------------------------------------------------------


@given(scenarios(), scenarios(), st.floats(0.01, 1.0))
@FEW
def test_that_two_requests_on_one_scale_can_be_compared_by_eye(
    one: Scenario, other: Scenario, share: float
) -> None:
    results = result_of(one), result_of(other)
    scales = scales_of(results[0]).with_room_for(scales_of(results[1]))
    assert scales == scales_of(results[1]).with_room_for(scales_of(results[0]))
    whole_s = max(result.e2e_s for result in results)
    window = Window(0.0, share * whole_s)
    mine, theirs = (scene(s, window, scales=scales, whole_s=whole_s) for s in (one, other))
    assert mine.stage.boxes == theirs.stage.boxes
    assert (mine.stage.axis, mine.stage.overview_axis) == (theirs.stage.axis, theirs.stage.overview_axis)
    for s in (mine, theirs):
        plot, request = s.stage.layout.plot, s.result.request
        for block in s.stage.blocks:
            tokens = request.prefill.tokens if block.first == 0 else request.train.tokens
            assert block.box.h == pytest.approx(block_height(tokens, scales.top_tokens, plot, 1.0))
            assert plot.x - 1e-6 <= block.box.x
            assert block.box.right <= plot.right + 1e-6
        assert s.stage.overview[-1].box.right == pytest.approx(
            s.stage.overview_axis.to_px(s.result.e2e_s), abs=1.0
        )


def test_that_a_lane_on_a_wider_scale_is_lower_and_keeps_its_ground() -> None:
    usual = scene(Scenario()).stage.lanes
    wide = scene(Scenario(), scales=Scales(131_072.0, 0.9, top_share=2.0)).stage.lanes
    for one, other in zip(usual, wide, strict=True):
        assert one.y(0.0) == one.box.bottom
        assert other.y(0.0) == other.box.bottom
        assert (other.box.bottom - other.y(0.8)) / other.box.h == pytest.approx(0.4)
        assert (one.box.bottom - one.y(0.8)) / one.box.h == pytest.approx(0.8)
