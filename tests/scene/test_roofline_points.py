"""The roofline as a value: passes on the roof, paths that hold them, limits that stand still."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scene_world import ACCELERATORS, MODELS, log_counts, measure, result_of, scenarios, shares

from pdviz.catalogue import default_catalogue
from pdviz.costmodel.accelerator import Accelerator
from pdviz.costmodel.bounds import COMPUTE
from pdviz.evaluation import Result, evaluate
from pdviz.scenario import Scenario, edit
from pdviz.scene.marks.geometry import Box
from pdviz.scene.roofline.chart import Frame
from pdviz.scene.roofline.curves import DECODE, PREFILL, GrowthPath, PathPoint, Roof, Roofline, build_roofline
from pdviz.scene.roofline.goal import decode_cost
from pdviz.scene.roofline.layout import lay_out_chart
from pdviz.scene.roofline.words import (
    describe_roofline,
    dot_words,
    explain,
    roofline_figures,
    size_words,
    tokens_short,
)

roofs = st.builds(Roof, st.floats(1e9, 1e18), st.floats(1e9, 1e14))


def roofline_of(result: Result, time_s: float = 0.0, pins: tuple[str, ...] = ()) -> Roofline:
    catalogue = default_catalogue()
    return build_roofline(result, time_s, tuple(catalogue.accelerator(name) for name in pins))


# --- roofs ---------------------------------------------------------------------------------------


@given(roofs, st.floats(-3.0, 9.0))
def test_that_a_roof_rises_with_bandwidth_and_is_flat_from_its_ridge_on(roof: Roof, x: float) -> None:
    reached = roof.at(10.0**x)
    assert reached == pytest.approx(min(roof.flops_per_s, roof.bytes_per_s * 10.0**x))
    assert roof.height(x) == pytest.approx(math.log10(reached))
    assert (reached >= roof.flops_per_s * (1 - 1e-9)) == (10.0**x >= roof.ridge_flops_per_byte * (1 - 1e-9))


@given(roofs, st.floats(-3.0, 9.0), st.floats(0.01, 9.0))
def test_that_slope_and_flat_part_cover_a_stretch_and_meet_at_the_ridge(
    roof: Roof, low: float, span: float
) -> None:
    slope, flat = roof.slope(low, low + span), roof.flat(low, low + span)
    line = (*slope, *flat)
    assert line[0][0] == low
    assert line[-1][0] == pytest.approx(low + span)
    assert all(y == pytest.approx(roof.height(x)) for x, y in line)
    if slope and flat:
        assert slope[-1] == pytest.approx(flat[0])
        assert flat[0] == pytest.approx(roof.corner)


# --- passes --------------------------------------------------------------------------------------


@given(scenarios(), shares())
def test_that_every_pass_lies_on_the_roof_that_kernels_reach(scenario: Scenario, at: float) -> None:
    result = result_of(scenario)
    chart = roofline_of(result, at * result.e2e_s)
    for dot in (*chart.dots, chart.now):
        assert dot.y == pytest.approx(chart.reach.height(dot.x), abs=1e-9)
        assert dot.y <= chart.peak.height(dot.x) + 1e-9
        assert dot.flops_per_s * dot.cost.time_s == pytest.approx(dot.cost.flops)
        assert (dot.cost.bound == COMPUTE) == (dot.x >= chart.reach.corner[0] - 1e-12)


@given(scenarios(), shares())
def test_that_now_is_the_pass_under_the_playhead(scenario: Scenario, at: float) -> None:
    result = result_of(scenario)
    time_s = at * result.e2e_s
    chart = roofline_of(result, time_s)
    number = result.request.pass_at(time_s)
    assert chart.now.number == number
    assert chart.now.cost == result.request.pass_cost(number)
    assert chart.now.phase == (PREFILL if number == 0 else DECODE)
    later = roofline_of(result).at_time(result, time_s)
    assert later == chart
    assert later.at_time(result, time_s) is later


def test_that_a_request_for_one_token_has_no_decode_dot() -> None:
    chart = roofline_of(result_of(Scenario(output_tokens=1)))
    assert chart.decode is None
    assert [dot.phase for dot in chart.dots] == [PREFILL]


# --- paths ---------------------------------------------------------------------------------------


@given(scenarios())
def test_that_both_paths_run_along_the_roof(scenario: Scenario) -> None:
    chart = roofline_of(result_of(scenario))
    for path in (chart.prompt_path, chart.batch_path):
        for point in path.points:
            assert point.y == pytest.approx(chart.reach.height(point.x), abs=1e-9)
        for one, other in itertools.pairwise(path.points):
            x, y = (one.x + other.x) / 2, (one.y + other.y) / 2
            assert y == pytest.approx(chart.reach.height(x), abs=1e-6)  # the corner is a point of the path


@given(scenarios())
def test_that_paths_go_from_one_to_all_that_is_possible_and_hold_the_present_pass(scenario: Scenario) -> None:
    result = result_of(scenario)
    chart = roofline_of(result)
    prompt, batch = chart.prompt_path, chart.batch_path
    assert prompt.lowest == batch.lowest == 1
    assert prompt.size == scenario.prompt_tokens - scenario.cached_tokens
    assert batch.size == 1 + scenario.others
    assert prompt.highest >= prompt.size
    assert batch.highest == max(1_024, batch.size)
    limit = result.architecture.max_context_tokens
    if limit is not None and scenario.prompt_tokens <= limit:
        assert prompt.highest == limit - scenario.cached_tokens
    for path in (prompt, batch):
        sizes = [point.size for point in path.points]
        assert sizes == sorted(set(sizes))
        assert len(sizes) <= 60
        assert all(mark.size == int(mark.size) for mark in path.marks[1:-1])


@given(scenarios())
def test_that_each_end_of_a_path_is_an_edit_that_the_scenario_takes(scenario: Scenario) -> None:
    chart = roofline_of(result_of(scenario))
    for path in (chart.prompt_path, chart.batch_path):
        assert getattr(scenario, path.field) == path.size + path.offset
        for size in (path.lowest, path.size, path.highest, 10**9, -5):
            edited = edit(scenario, **path.edit(size))
            assert edited.cached_tokens < edited.prompt_tokens


@given(scenarios(), shares())
def test_that_a_point_of_a_path_is_what_the_edited_scenario_costs(scenario: Scenario, at: float) -> None:
    chart = roofline_of(result_of(scenario))
    for path, phase in ((chart.prompt_path, PREFILL), (chart.batch_path, DECODE)):
        if phase == DECODE and chart.decode is None:
            continue
        whole = [point for point in path.points if point.size == int(point.size)]
        point = whole[int(at * (len(whole) - 1))]
        edited = roofline_of(evaluate(edit(scenario, **path.edit(int(point.size)))))
        dot = next(dot for dot in edited.dots if dot.phase == phase)
        assert dot.x == pytest.approx(point.x, abs=1e-9)
        assert dot.y == pytest.approx(point.y, abs=1e-9)


@given(scenarios(), shares(), st.floats(40, 300), st.floats(40, 300))
def test_that_a_dragged_dot_stays_under_the_cursor(
    scenario: Scenario, at: float, x_weight: float, y_weight: float
) -> None:
    """To half a pixel of the path, wherever on it the cursor is."""
    chart = roofline_of(result_of(scenario))
    path = chart.prompt_path
    size = math.exp(at * math.log(path.highest))
    found = roofline_of(evaluate(edit(scenario, **path.edit(max(round(size), 1))))).prefill
    again = path.nearest(found.x, found.y, x_weight, y_weight)
    there = roofline_of(evaluate(edit(scenario, **path.edit(round(again))))).prefill
    step = roofline_of(evaluate(edit(scenario, **path.edit(round(again) + 1)))).prefill
    slack = 2.0 + abs(step.x - there.x) * x_weight + abs(step.y - there.y) * y_weight
    assert math.hypot((there.x - found.x) * x_weight, (there.y - found.y) * y_weight) <= slack


@given(st.floats(-5, 5), st.floats(-5, 5))
def test_that_the_nearest_size_is_never_beyond_the_path(x: float, y: float) -> None:
    points = tuple(PathPoint(2.0**k, 0.5 * k, 0.4 * k, COMPUTE) for k in range(6))
    path = GrowthPath("others", -1, points, 4)
    assert 1.0 <= path.nearest(x, y) <= 32.0
    for point in points:
        assert path.nearest(point.x, point.y) == pytest.approx(point.size)
    assert GrowthPath("others", -1, points[:1], 1).nearest(x, y) == 1.0


# --- limits --------------------------------------------------------------------------------------


@given(
    scenarios(), shares(), st.lists(st.sampled_from(("H200", "L4", "M1 Max", "B200", "TPU v5e")), max_size=4)
)
def test_that_the_limits_hold_every_dot_and_every_ridge(
    scenario: Scenario, at: float, pins: list[str]
) -> None:
    result = result_of(scenario)
    chart = roofline_of(result, at * result.e2e_s, tuple(dict.fromkeys(pins)))
    limits = chart.limits
    corners = [chart.peak.corner, chart.reach.corner]
    corners += [pin.roof.corner for pin in chart.pins if pin.roof is not None]
    for x, y in (*((dot.x, dot.y) for dot in (*chart.dots, chart.now)), *corners):
        assert limits.x_low < x < limits.x_high
        assert limits.y_low < y < limits.y_high
    for path in (chart.prompt_path, chart.batch_path):
        assert limits.x_low < path.points[0].x
        assert path.points[-1].x < limits.x_high
    assert 1.5 < limits.x_high - limits.x_low < 12
    assert 1.0 < limits.y_high - limits.y_low < 14


@given(scenarios(), scenarios(), shares(), shares())
def test_that_two_results_can_be_drawn_between_the_same_limits(
    one: Scenario, other: Scenario, at: float, then: float
) -> None:
    moments = [(result_of(s), share * result_of(s).e2e_s) for s, share in ((one, at), (other, then))]
    mine, theirs = (build_roofline(result, time_s).limits for result, time_s in moments)
    both = mine.with_room_for(theirs)
    assert both == theirs.with_room_for(mine)
    plot = Box(0.0, 0.0, 800.0, 500.0)
    frames = []
    for result, time_s in moments:
        chart = lay_out_chart(build_roofline(result, time_s, limits=both), plot, 1.0, measure)
        frames.append(chart.frame)
        assert [mark.phase for mark in chart.dots] == [PREFILL, DECODE][: len(chart.dots)]
        assert len(chart.dots) == min(result.request.passes, 2)
    assert frames == [Frame(plot, both)] * 2


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("accelerator", ACCELERATORS[:3])
def test_that_the_axes_stand_still_while_a_slider_is_dragged(model: str, accelerator: str) -> None:
    start = Scenario(model=model, accelerator=accelerator)
    result = result_of(start)
    limits = roofline_of(result).limits
    context = result.architecture.max_context_tokens or 131_072
    moves = [{"prompt_tokens": n} for n in (1, 64, context // 2, context)]
    moves += [{"others": n} for n in (1, 63, 1_023)] + [{"output_tokens": n} for n in (1, 500)]
    moves += [{"prompt_tokens": context, "cached_tokens": n} for n in (1, context // 2, context - 1)]
    for move in moves:
        assert roofline_of(result_of(msgspec.structs.replace(start, **move))).limits == limits, move


# --- the batch that reaches the ridge --------------------------------------------------------------


@given(scenarios())
@settings(max_examples=60)
def test_that_the_goal_is_the_smallest_batch_that_compute_limits(scenario: Scenario) -> None:
    result = result_of(scenario)
    goal = roofline_of(result).goal

    def bound(sequences: int) -> str:
        return decode_cost(result, sequences).bound

    if goal.sequences is None:
        assert all(bound(2**k) != COMPUTE for k in range(28))
        assert goal.limit_flops_per_byte <= result.machine.achievable_ridge_flops_per_byte * (1 + 1e-6)
        return
    assert bound(goal.sequences) == COMPUTE
    if goal.sequences > 1:
        assert bound(goal.sequences - 1) != COMPUTE


@given(scenarios(log_counts(1, 5_000)))
@settings(max_examples=60)
def test_that_as_many_sequences_fit_as_the_memory_of_the_request_says(scenario: Scenario) -> None:
    fitting = roofline_of(result_of(scenario)).goal.fitting
    assert fitting == result_of(scenario).memory.largest_batch
    assume(fitting is not None and fitting < 60_000)
    if fitting:
        assert evaluate(edit(scenario, others=fitting - 1)).memory.free_bytes >= -1e-3
    assert not evaluate(edit(scenario, others=fitting)).memory.fits


# --- pins ----------------------------------------------------------------------------------------


def test_that_a_pinned_roof_holds_the_same_weights_in_its_own_arithmetic() -> None:
    chart = roofline_of(
        result_of(Scenario(weights_dtype="fp8", accelerators=2)), pins=("L4", "A100 80GB SXM")
    )
    catalogue = default_catalogue()
    for pin, name, math_name in zip(chart.pins, ("L4", "A100 80GB SXM"), ("fp8", "bf16"), strict=True):
        accelerator = catalogue.accelerator(name)
        assert pin.name == f"2 × {name}"
        assert pin.machine is not None
        assert pin.machine.math_dtype == math_name
        assert pin.roof == Roof(
            2 * accelerator.peak_flops_per_s[math_name], 2 * accelerator.memory_bandwidth_bytes_per_s
        )


def test_that_a_pin_without_a_rate_for_the_weights_says_so_and_draws_nothing() -> None:
    odd = Accelerator("odd", "Odd", 10**10, 1e12, {"int8": 1e14})
    chart = build_roofline(result_of(Scenario()), 0.0, (odd,))
    assert chart.pins[0].roof is None
    assert "BF16" in chart.pins[0].problem
    assert "BF16" in explain(chart, "pin:Odd").spoken
    assert "BF16" in describe_roofline(chart)


# --- words ---------------------------------------------------------------------------------------


@given(scenarios(), shares())
def test_that_everything_on_the_chart_can_be_said(scenario: Scenario, at: float) -> None:
    result = result_of(scenario)
    chart = roofline_of(result, at * result.e2e_s, ("L4",))
    words = describe_roofline(chart)
    assert "ridge at" in words
    assert "Prefill" in words
    assert ("Decode, " in words) == (chart.decode is not None)
    assert len(roofline_figures(chart)) == 5
    for what in ("now", "prefill", "decode", "ridge", "reach", f"pin:{chart.pins[0].name}", "nothing"):
        note = explain(chart, what)
        assert note.title
        assert all(name and value for name, value in note.rows)
        assert "nan" not in note.spoken
        assert "inf" not in note.spoken.replace("information", "")
    for dot in chart.dots:
        note = explain(chart, dot.phase)
        assert note.bound == dot.cost.bound
        assert max(seconds for _, _, seconds in note.bars) == dot.cost.time_s
        assert dot_words(chart, dot)[1] in words


def test_that_a_note_says_how_to_move_right_and_up() -> None:
    short = roofline_of(result_of(Scenario(prompt_tokens=100)))
    assert "216 tokens" in explain(short, PREFILL).spoken
    assert "1,963" not in explain(short, PREFILL).spoken
    assert "more sequences" in explain(short, DECODE).spoken
    long = roofline_of(result_of(Scenario(prompt_tokens=2_000)))
    assert "the flat part of the roof is reached" in explain(long, PREFILL).spoken


def test_that_the_figures_of_the_standard_scenario_are_the_known_ones() -> None:
    figures = roofline_figures(roofline_of(result_of(Scenario())))
    assert [figure.value for figure in figures] == ["295", "216", "516", "1.01", "1,963"]
    assert [figure.bound for figure in figures] == [None, None, "compute", "bandwidth", None]


def test_that_sizes_are_short_where_they_are_round() -> None:
    assert [tokens_short(n) for n in (1, 512, 1_000, 1_024, 131_072, 2**20)] == [
        "1",
        "512",
        "1,000",
        "1K",
        "128K",
        "1M",
    ]
    chart = roofline_of(result_of(Scenario(prompt_tokens=4_096, cached_tokens=1_024)))
    assert size_words(chart.prompt_path, 3_072) == "3,072 new tokens"
    assert size_words(chart.prompt_path, 3_072, short=True) == "3K new tokens"
    assert size_words(chart.batch_path, 1) == "1 sequence"


def test_that_the_roofline_is_made_without_qt_and_without_numpy() -> None:
    code = (
        "import sys, pdviz.scene.roofline.layout as l, pdviz.scene.roofline.page\n"
        "from pdviz import Scenario, evaluate\n"
        "from pdviz.scene.marks.geometry import Box\n"
        "from pdviz.scene.roofline.curves import build_roofline\n"
        "roofline = build_roofline(evaluate(Scenario()), 0)\n"
        "assert l.lay_out_chart(roofline, Box(0, 0, 900, 500), 1, lambda *a: 50).dots\n"
        "assert not {'PySide6', 'numpy', 'pyqtgraph'} & set(sys.modules), 'too much is loaded'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
