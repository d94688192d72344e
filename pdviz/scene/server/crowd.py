"""Many streams as a map: how many of them wait, are prefilled, decode and stall, over time."""

from __future__ import annotations

import msgspec
import numpy as np

from pdviz.scene.marks.axis import TimeAxis
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Text
from pdviz.scene.server.course import Course
from pdviz.scene.server.engine import bound_name
from pdviz.scene.server.lanes import shown_stalls
from pdviz.scene.server.levels import columns_between, sample_edges
from pdviz.scene.stage.parts import Space
from pdviz.serving.records import Seconds
from pdviz.units import count, duration

LABEL_GAP = 10.0


class Layer(msgspec.Struct, frozen=True):
    """How many do the same, as columns one beside the other; ``role`` is its colour."""

    role: str
    columns: tuple[Box, ...]


class StallBar(msgspec.Struct, frozen=True):
    """Streams that stall together: as high as they are many. ``label`` is the longest of a stretch."""

    box: Box
    bound: str
    label: Text | None


class Crowd(msgspec.Struct, frozen=True):
    """Layers from the ground up, stalls on the ground, the scale beside them."""

    layers: tuple[Layer, ...]
    stalls: tuple[StallBar, ...]
    names: tuple[Text, ...]


def most_streams(courses: tuple[Course, ...], axis: TimeAxis, scale: float) -> int:
    """The most streams at once in view, of any of the runs."""
    edges_s = sample_edges(axis, scale)
    best = 1
    for course in courses:
        c = course.counts((edges_s[1:] + edges_s[:-1]) / 2)
        best = max(best, int((c.waiting + c.linking + c.prefilling + c.decoding).max()))
    return best


def build_crowd(course: Course, space: Space, top: int) -> Crowd:
    """All streams in view of a run; ``top`` of them fill the height."""
    box, axis, s = space.box, space.axis, space.scale
    edges_s = sample_edges(axis, s)
    xs = axis.left_px + (edges_s - axis.start_s) * axis.px_per_s
    counts = course.counts((edges_s[1:] + edges_s[:-1]) / 2)
    each = box.h / top
    layers: list[Layer] = []
    height: Seconds = np.zeros(len(edges_s) - 1)
    for role, values in (
        ("bandwidth", counts.decoding),
        ("compute", counts.prefilling),
        ("link", counts.linking),
        ("overhead", counts.waiting),
    ):
        if not values.any():
            continue
        above: Seconds = height + values
        layers.append(Layer(role, columns_between(xs, box.bottom - above * each, box.bottom - height * each)))
        height = above
    names = (
        space.text(box.x - 8 * s, box.y - 2 * s, count(top), "faint", 11.0, False, "right"),
        space.text(box.x - 8 * s, box.y + 12 * s, "streams", "muted", 11.0, False, "right"),
        space.text(box.x - 8 * s, box.bottom - space.line_height(11.0), "0", "faint", 11.0, False, "right"),
    )
    return Crowd(tuple(layers), _stalls(course, space, each), names)


def _stalls(course: Course, space: Space, each: float) -> tuple[StallBar, ...]:
    """Every stall, at least a pixel wide, the longest on top; labelled where there is room."""
    axis, box, s = space.axis, space.box, space.scale
    rows = []
    for engine in course.engines:
        stalls = engine.stalls
        first = int(np.searchsorted(stalls.end_s, axis.start_s, "right"))
        end = int(np.searchsorted(stalls.start_s, axis.end_s, "left"))
        if end > first:
            rows += [
                (float(stalls.longest_s[n]), engine, n)
                for n in shown_stalls(engine, axis, first, end).tolist()
            ]
    rows.sort(key=lambda row: row[0])
    taken: list[tuple[float, float]] = []
    labels: dict[int, Text] = {}
    for number in range(len(rows) - 1, -1, -1):
        longest_s, engine, n = rows[number]
        x0, x1 = (axis.clipped_px(float(t[n])) for t in (engine.stalls.start_s, engine.stalls.end_s))
        words = f"stalled {duration(longest_s)}"
        width = space.measure(words, 11.5 * s, True) + LABEL_GAP * s
        if len(taken) >= 3 and x1 - x0 < width:
            break
        middle = min(max((x0 + x1) / 2, box.x + width / 2), box.right - width / 2)
        low, high = middle - width / 2, middle + width / 2
        if all(high < a or low > b for a, b in taken):
            taken.append((low, high))
            y = box.y + 2 * s
            labels[number] = space.text(middle, y, words, "compute_text", 11.5, True, "center")
    found = []
    for number, (_, engine, n) in enumerate(rows):
        stalls = engine.stalls
        x0, x1 = axis.clipped_px(float(stalls.start_s[n])), axis.clipped_px(float(stalls.end_s[n]))
        bound = bound_name(bool(stalls.is_compute[n]))
        width = max(x1 - x0, max(s, 1.0))
        high = max(int(stalls.streams[n]) * each, 3 * s)
        left = min(x0, box.right - width)
        found.append(StallBar(Box(left, box.bottom - high, width, high), bound, labels.get(number)))
    return tuple(found)
