"""The roofline laid out: to scale, every dot named, no text over another or outside its card."""

from __future__ import annotations

import itertools
import math

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scene_world import log_counts, measure, result_of, scenarios, shares

from pdviz.catalogue import default_catalogue
from pdviz.scenario import PRESETS, Scenario
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.labels import LabelPlacer, clipped, crosses
from pdviz.scene.marks.parts import Text
from pdviz.scene.roofline.chart import DOT_RADIUS, Chart, Frame, log_label, log_ticks
from pdviz.scene.roofline.curves import Limits, Roofline, build_roofline
from pdviz.scene.roofline.layout import lay_out_chart
from pdviz.scene.roofline.page import panel_plot, roofline_layout

PINS = ("H200", "L4", "M1 Max", "B200", "MI300X", "TPU v5e")


class Laid(msgspec.Struct, frozen=True):
    """A chart, what it was made from, and the card it stands in."""

    roofline: Roofline
    card: Box
    scale: float
    chart: Chart

    def __repr__(self) -> str:
        return f"laid({self.roofline.prefill}, {self.roofline.decode}, {self.card}, {self.scale})"


@st.composite
def charts(draw: st.DrawFn, detailed: bool | None = None, pins: bool = True) -> Laid:
    """Any request on a page, a view or a panel of a size that a window may give it."""
    scenario = draw(scenarios(log_counts(1, 10_000)))
    result = result_of(scenario)
    names = draw(st.lists(st.sampled_from(PINS), max_size=4, unique=True)) if pins else []
    pinned = tuple(default_catalogue().accelerator(name) for name in names)
    roofline = build_roofline(result, draw(shares()) * result.e2e_s, pinned)
    scale = draw(st.sampled_from((0.8, 1.0, 1.35, 2.4)))
    if draw(st.booleans()) if detailed is None else detailed:
        width, height = draw(st.floats(900, 1900)) * scale, draw(st.floats(480, 1000)) * scale
        layout = roofline_layout(Box(3.0, 5.0, width, height), scale, draw(st.booleans()))
        chart = lay_out_chart(roofline, layout.plot, scale, measure)
        return Laid(roofline, layout.chart, scale, chart)
    card = Box(3.0, 5.0, draw(st.floats(260, 700)) * scale, draw(st.floats(150, 320)) * scale)
    chart = lay_out_chart(roofline, panel_plot(card, scale), scale, measure, detailed=False)
    return Laid(roofline, card, scale, chart)


def ticks(chart: Chart) -> list[Text]:
    return [text for _, text in (*chart.x_ticks, *chart.y_ticks) if text is not None]


def ink(text: Text) -> Box:
    """Where the letters are: the box without the air above and below them."""
    return text.box.inset(0.5, 0.14 * text.box.h)


# --- to scale ------------------------------------------------------------------------------------


@given(charts())
def test_that_dots_stand_where_their_passes_are(laid: Laid) -> None:
    frame = laid.chart.frame
    assert [mark.phase for mark in laid.chart.dots] == [dot.phase for dot in laid.roofline.dots]
    for mark, dot in zip(laid.chart.dots, laid.roofline.dots, strict=True):
        assert frame.place(mark.x, mark.y) == pytest.approx((dot.x, dot.y))
        assert frame.plot.contains(mark.x, mark.y)
        assert mark.bound == dot.cost.bound


@given(charts())
def test_that_no_dot_is_drawn_above_the_roof(laid: Laid) -> None:
    frame, reach = laid.chart.frame, laid.roofline.reach
    for mark in laid.chart.dots:
        x, _ = frame.place(mark.x, mark.y)
        assert mark.y >= frame.px((x, reach.height(x)))[1] - 1e-3


@given(charts())
def test_that_roofs_stay_between_the_ends_of_the_axis(laid: Laid) -> None:
    plot = laid.chart.frame.plot
    for stroke in laid.chart.roofs:
        assert all(plot.x - 1e-3 <= x <= plot.right + 1e-3 for x, _ in stroke.points)
        assert all(plot.y - 1e-3 <= y <= plot.bottom + 1e-3 for _, y in stroke.points)
        assert stroke.what
    roles = {stroke.role for stroke in laid.chart.roofs}
    assert {"bandwidth", "compute"} <= roles <= {"bandwidth", "compute", "faint"}


@given(charts())
def test_that_the_ground_under_the_roof_is_parted_at_the_ridge_of_real_kernels(laid: Laid) -> None:
    x = laid.chart.frame.px(laid.roofline.reach.corner)[0]
    for shade in laid.chart.shades:
        xs = [px for px, _ in shade.points]
        assert (max(xs) <= x + 1e-3) if shade.bound == "bandwidth" else (min(xs) >= x - 1e-3)


@given(charts(detailed=True, pins=False))
def test_that_rulers_run_beside_the_roof_and_never_across_it(laid: Laid) -> None:
    """Above the peak for prompts, below what kernels reach for batches."""
    frame, r = laid.chart.frame, laid.roofline
    for stroke in laid.chart.rails:
        for x_px, y_px in stroke.points:
            x, _ = frame.place(x_px, y_px)
            above = y_px < frame.px((x, r.peak.height(x)))[1]
            below = y_px > frame.px((x, r.reach.height(x)))[1]
            assert above != below


# --- words ---------------------------------------------------------------------------------------


@given(charts())
@settings(max_examples=200)
def test_that_no_text_is_written_over_another(laid: Laid) -> None:
    for one, other in itertools.combinations([*laid.chart.labels, *ticks(laid.chart)], 2):
        assert not ink(one).overlaps(ink(other)), (one, other)


@given(charts())
@settings(max_examples=200)
def test_that_no_text_leaves_its_card(laid: Laid) -> None:
    card, plot = laid.card, laid.chart.frame.plot
    for text in laid.chart.labels:
        assert text.box.x >= plot.x
        assert text.box.y >= plot.y
        assert text.box.right <= plot.right + 1e-6
        assert text.box.bottom <= plot.bottom + 1e-6
    for text in ticks(laid.chart):
        assert text.box.x >= card.x
        assert text.box.right <= card.right
        assert text.box.bottom <= card.bottom
        assert text.box.y >= card.y


@given(charts())
def test_that_each_dot_is_named_and_no_label_covers_one(laid: Laid) -> None:
    words = [text.text for text in laid.chart.labels]
    for dot in laid.roofline.dots:
        assert any(word.lower().startswith(dot.phase) for word in words), words
    for text, mark in itertools.product(laid.chart.labels, laid.chart.dots):
        reach = DOT_RADIUS * laid.scale
        assert not ink(text).overlaps(Box(mark.x - reach, mark.y - reach, 2 * reach, 2 * reach)), (text, mark)


@given(charts(detailed=True))
def test_that_texts_are_as_wide_as_measured_and_never_tiny(laid: Laid) -> None:
    for text in (*laid.chart.labels, *ticks(laid.chart)):
        assert text.box.w >= measure(text.text, text.size, text.bold)
        assert text.size >= 11.9 * laid.scale


@given(charts(detailed=True))
def test_that_a_text_on_a_line_is_given_a_ground(laid: Laid) -> None:
    lines = [stroke.points for stroke in (*laid.chart.roofs, *laid.chart.guides)]
    for text in laid.chart.labels:
        if any(crosses(one, other, text.box) for line in lines for one, other in itertools.pairwise(line)):
            assert text.box in laid.chart.grounds


@given(charts(detailed=True))
def test_that_the_turned_text_lies_along_the_slope_and_inside_the_plot(laid: Laid) -> None:
    turned, plot = laid.chart.turned, laid.chart.frame.plot
    assume(turned is not None)
    assert turned is not None
    assert -90 < turned.degrees < 0
    half, along = measure(turned.text, turned.size, False) / 2, math.radians(turned.degrees)
    for side in (-1, 1):
        assert plot.contains(
            turned.x + side * half * math.cos(along), turned.y + side * half * math.sin(along)
        )


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.title)
def test_that_each_preset_names_ridges_roofs_paths_and_limits(preset: object) -> None:
    roofline = build_roofline(result_of(preset.apply(Scenario())), 0.0)
    layout = roofline_layout(Box(0, 0, 1274, 720), 1.0)
    words = {text.text for text in lay_out_chart(roofline, layout.plot, 1.0, measure).labels}
    assert {"ridge 295", "kernels 216", "limited by compute", "FLOPs per byte", "FLOP/s reached"} <= words
    assert {"989 TFLOP/s peak", "544 TFLOP/s kernels reach"} <= words
    assert any(word.endswith("tokens") and not word.startswith("Prefill") for word in words)
    assert any(word.endswith("sequences") and not word.startswith("Decode") for word in words)


def test_that_each_pinned_roof_is_named() -> None:
    pins = tuple(default_catalogue().accelerator(name) for name in ("H200", "L4", "M1 Max", "B200"))
    roofline = build_roofline(result_of(Scenario()), 0.0, pins)
    layout = roofline_layout(Box(0, 0, 1274, 720), 1.0)
    words = " ".join(text.text for text in lay_out_chart(roofline, layout.plot, 1.0, measure).labels)
    assert all(pin.name in words for pin in roofline.pins)


# --- axes ----------------------------------------------------------------------------------------


@given(st.floats(-3, 12), st.floats(0.6, 12), st.floats(60, 3_000), st.floats(20, 90))
def test_that_marks_of_an_axis_are_round_in_order_and_their_labels_apart(
    low: float, span: float, length: float, least: float
) -> None:
    marks = log_ticks(low, low + span, length, least)
    places = [place for place, _ in marks]
    assert places == sorted(set(places))
    assert all(low <= place <= low + span for place in places)
    labelled = [place for place, label in marks if label]
    for one, other in itertools.pairwise(labelled):
        assert (other - one) * length / span >= least * 0.999
    for place, label in marks:
        assert float(f"{10**place:.3e}"[:5]) in (1.0, 2.0, 5.0)
        assert not label or label[0] in "0125"


def test_that_an_axis_writes_short_labels() -> None:
    values = (0.01, 0.1, 0.5, 1, 10, 500, 1e3, 2e4, 1e5, 1e6, 5e13, 1e15)
    assert [log_label(value) for value in values] == [
        "0.01", "0.1", "0.5", "1", "10", "500", "1k", "20k", "100k", "1M", "50T", "1P",
    ]  # fmt: skip


@given(st.floats(-2, 6), st.floats(9, 17))
def test_that_a_place_put_on_the_plot_is_read_back(x: float, y: float) -> None:
    frame = Frame(Box(40, 30, 700, 400), Limits(-2, 6, 9, 17))
    assert frame.place(*frame.px((x, y))) == pytest.approx((x, y), abs=1e-9)
    assert frame.shows((x, y))
    assert not frame.shows((x + 9, y))


# --- pointing ------------------------------------------------------------------------------------


@given(charts(pins=False))
def test_that_a_roof_is_found_where_it_is_drawn(laid: Laid) -> None:
    frame, peak = laid.chart.frame, laid.roofline.peak
    x = (peak.corner[0] + frame.limits.x_high) / 2
    assert laid.chart.line_at(*frame.px((x, peak.corner[1])), 0.5) in ("ridge", "reach")
    foot = frame.px((peak.corner[0], frame.limits.y_low + 0.001))
    assert laid.chart.line_at(*foot, 0.5) == "ridge"
    assert laid.chart.line_at(-500, -500, 6) == ""


# --- placing -------------------------------------------------------------------------------------

boxes = st.builds(Box, st.floats(0, 300), st.floats(0, 200), st.floats(1, 80), st.floats(1, 30))


@given(st.lists(boxes, max_size=12))
def test_that_placed_labels_never_overlap_and_stay_in_the_room(wanted: list[Box]) -> None:
    placer = LabelPlacer(Box(0, 0, 300, 200), [((0.0, 0.0), (300.0, 200.0))], 3.0)
    placed = [box for box in (placer.place([w, w.moved(0, 40)]) for w in wanted) if box is not None]
    for one, other in itertools.combinations(placed, 2):
        assert not one.overlaps(other)
    assert all(box.right <= 300 and box.bottom <= 200 for box in placed)


@given(boxes)
def test_that_a_required_label_is_moved_inside_where_it_would_stand_out(box: Box) -> None:
    placed = LabelPlacer(Box(50, 50, 200, 100)).place([box], required=True)
    assert placed is not None
    assert placed.x >= 50
    assert placed.right <= 250 + 1e-9
    assert placed.bottom <= 150 + 1e-9


@given(boxes, st.floats(0.1, 0.9), st.floats(0.1, 0.9), st.floats(0, 6.3))
def test_that_a_line_through_a_box_crosses_it_and_one_beside_it_does_not(
    box: Box, u: float, v: float, turn: float
) -> None:
    x, y = box.x + u * box.w, box.y + v * box.h
    dx, dy = 500 * math.cos(turn), 500 * math.sin(turn)
    assert crosses((x - dx, y - dy), (x + dx, y + dy), box)
    assert not crosses((box.x - 2, -900.0), (box.x - 1, 900.0), box)
    assert not crosses((-900.0, box.bottom + 1), (900.0, box.bottom + 2), box)


@given(boxes, st.floats(-200, 500), st.floats(-200, 500), st.floats(-200, 500), st.floats(-200, 500))
def test_that_a_clipped_line_is_the_part_inside(box: Box, x0: float, y0: float, x1: float, y1: float) -> None:
    found = clipped(((x0, y0), (x1, y1)), box)
    for x, y in found:
        assert box.x - 1e-6 <= x <= box.right + 1e-6
        assert box.y - 1e-6 <= y <= box.bottom + 1e-6
        assert abs((x - x0) * (y1 - y0) - (y - y0) * (x1 - x0)) <= 1e-4 * (1 + math.hypot(x1 - x0, y1 - y0))
    if not found and (x0, y0) != (x1, y1):
        assert not any(
            box.inset(1e-6).contains(x0 + k / 50 * (x1 - x0), y0 + k / 50 * (y1 - y0)) for k in range(51)
        )


def test_that_a_label_keeps_off_a_line_where_it_can() -> None:
    line = ((0.0, 50.0), (300.0, 50.0))
    placer = LabelPlacer(Box(0, 0, 300, 200), [line])
    assert placer.place([Box(10, 45, 60, 12), Box(10, 70, 60, 12)]) == Box(10, 70, 60, 12)
    assert placer.place([Box(200, 45, 60, 12)]) == Box(200, 45, 60, 12)


# --- layout of the view ----------------------------------------------------------------------------


@given(st.floats(900, 2_000), st.floats(480, 1_000), st.sampled_from((0.8, 1.0, 2.0)), st.booleans())
def test_that_the_parts_of_the_view_lie_beside_each_other_inside_it(
    width: float, height: float, scale: float, tools: bool
) -> None:
    box = Box(7.0, 9.0, width * scale, height * scale)
    layout = roofline_layout(box, scale, tools)
    parts = [*layout.figures, layout.chart, layout.explanation]
    for one, other in itertools.combinations(parts, 2):
        assert not one.inset(1e-6).overlaps(other.inset(1e-6))
    for part in parts:
        assert box.x <= part.x + 1e-6
        assert part.right <= box.right + 1e-6
        assert part.bottom <= box.bottom + 1e-6
    for inner in (layout.header, layout.tools, layout.plot):
        assert layout.chart.x < inner.x
        assert inner.right < layout.chart.right
        assert inner.bottom < layout.chart.bottom
    assert layout.header.bottom <= layout.tools.y
    assert layout.tools.bottom < layout.plot.y
