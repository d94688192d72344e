"""Boxes, the scale of the interface, and the parts of the request view: all inside, none on another."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdviz.scene.marks.geometry import (
    DESIGN_HEIGHT,
    DESIGN_WIDTH,
    SCALE_HIGH,
    SCALE_LOW,
    SCALE_SMALL,
    SMALL_HEIGHT,
    SMALL_WIDTH,
    Box,
    interface_scale,
)
from pdviz.scene.request.layout import PageLayout, request_layout

places, lengths = st.floats(-1e4, 1e4), st.floats(0, 1e4)
boxes = st.builds(Box, places, places, lengths, lengths)


@given(boxes, st.floats(0, 1e4), st.one_of(st.none(), st.floats(0, 1e4)))
def test_that_a_margin_is_taken_off_each_side_and_never_more_than_there_is(
    box: Box, dx: float, dy: float | None
) -> None:
    inner = box.inset(dx, dy)
    down = dx if dy is None else dy
    assert (inner.x, inner.y) == (box.x + dx, box.y + down)
    assert inner.w == max(box.w - 2 * dx, 0)
    assert inner.h == max(box.h - 2 * down, 0)


@given(boxes, places, places)
def test_that_a_moved_box_keeps_its_size(box: Box, dx: float, dy: float) -> None:
    moved = box.moved(dx, dy)
    assert (moved.w, moved.h, moved.x, moved.y) == (box.w, box.h, box.x + dx, box.y + dy)
    assert (moved.right, moved.bottom) == (moved.x + box.w, moved.y + box.h)


@given(boxes, boxes)
def test_that_two_boxes_overlap_where_they_have_a_point_in_common(one: Box, other: Box) -> None:
    left, right = max(one.x, other.x), min(one.right, other.right)
    top, bottom = max(one.y, other.y), min(one.bottom, other.bottom)
    assert one.overlaps(other) == other.overlaps(one)
    if left < right and top < bottom:
        assert one.overlaps(other)
    if left > right or top > bottom:
        assert not one.overlaps(other)


def test_that_boxes_side_by_side_share_no_point() -> None:
    one, beside, below = Box(0, 0, 10, 10), Box(10, 0, 10, 10), Box(0, 10, 10, 10)
    assert not one.overlaps(beside)
    assert not one.overlaps(below)
    assert one.contains(0, 0)
    assert not one.contains(10, 5)
    assert not one.contains(5, 10)
    assert beside.contains(10, 5)


@given(st.floats(1, 10_000), st.floats(1, 10_000), st.floats(0.7, 2.0))
def test_that_the_scale_stays_legible_and_moves_in_steps(width: float, height: float, text: float) -> None:
    scale = interface_scale(width, height, text)
    low = SCALE_SMALL if width < SMALL_WIDTH or height < SMALL_HEIGHT else SCALE_LOW
    assert low * min(text, 1.0) <= scale <= SCALE_HIGH
    assert scale * 20 == pytest.approx(round(scale * 20)) or scale == low * text
    assert interface_scale(width + 100, height, text) >= scale
    assert interface_scale(width, height + 100, text) >= scale
    assert interface_scale(width, height, text * 1.2) >= scale


@pytest.mark.parametrize("factor", [1.0, 1.2, 2.0, 3.0])
def test_that_the_interface_fills_a_window_as_a_slide_does(factor: float) -> None:
    assert interface_scale(DESIGN_WIDTH * factor, DESIGN_HEIGHT * factor) == factor
    assert interface_scale(DESIGN_WIDTH * factor * 2, DESIGN_HEIGHT * factor) == factor
    assert interface_scale(DESIGN_WIDTH, DESIGN_HEIGHT, factor) == factor


def parts(layout: PageLayout) -> list[Box]:
    """The parts that are shown."""
    found = [*layout.figures, layout.warning, layout.stage, layout.meters, layout.tokens, *layout.panels]
    return [part for part in found if part.h > 0]


sizes = st.tuples(st.floats(600, 4000), st.floats(250, 2200), st.floats(0.6, 4.0)).map(
    lambda size: (max(size[0], 600 * size[2]), max(size[1], 250 * size[2]), size[2])
)


@given(sizes, st.integers(1, 6), st.integers(0, 2))
def test_that_the_parts_of_the_request_view_fill_it_and_none_lies_on_another(
    size: tuple[float, float, float], figures: int, lines: int
) -> None:
    width, height, scale = size
    layout = request_layout(width, height, scale, figures, lines)
    assert len(layout.figures) == figures
    assert (layout.warning.h > 0) == (lines > 0)
    assert layout.stage.h > 0
    found = parts(layout)
    for part in found:
        assert part.w > 0
        assert part.x >= -1e-6
        assert part.right <= width + 1e-6
        assert part.y >= -1e-6
        assert part.bottom <= height + 1e-6
    for one, other in itertools.combinations(found, 2):
        assert not one.inset(1e-6).overlaps(other.inset(1e-6))
    assert max(part.bottom for part in found) == pytest.approx(height)
    for part in (layout.figures[-1], layout.meters):
        assert part.right == pytest.approx(width)
    assert (layout.stage.y, layout.stage.h) == (layout.meters.y, layout.meters.h)


@given(sizes, st.integers(0, 2), st.floats(1, 500))
def test_that_more_height_never_takes_a_part_away(
    size: tuple[float, float, float], lines: int, more: float
) -> None:
    width, height, scale = size
    low = request_layout(width, height, scale, 5, lines)
    high = request_layout(width, height + more, scale, 5, lines)
    assert len(parts(high)) >= len(parts(low))
    assert high.tokens.h >= low.tokens.h
    assert all(after.h >= before.h for before, after in zip(low.panels, high.panels, strict=True))


@given(sizes, st.integers(1, 2))
def test_that_a_warning_moves_no_figure_and_hides_no_stage(
    size: tuple[float, float, float], lines: int
) -> None:
    width, height, scale = size
    calm, warned = (request_layout(width, height, scale, 5, n) for n in (0, lines))
    assert calm.figures == warned.figures
    assert warned.stage.y > calm.stage.y
    assert warned.stage.h > 0


def test_that_a_view_too_low_for_its_parts_has_no_negative_height() -> None:
    layout = request_layout(400, 50, 1.0, 5, 2)
    assert layout.stage.h == 0
