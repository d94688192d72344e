"""Streams one below the other: each waits, is prefilled, gives its tokens, stalls."""

from __future__ import annotations

import msgspec
import numpy as np

from pdviz.scene.marks.axis import TimeAxis
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Text
from pdviz.scene.server.columns import stretches
from pdviz.scene.server.course import Course
from pdviz.scene.server.engine import Engine, bound_name
from pdviz.scene.stage.parts import Space
from pdviz.serving.gaps import Gaps
from pdviz.serving.records import Numbers, Seconds
from pdviz.units import duration

TOKEN_PX = 2.4
"""Design pixels from token to token below which they are one band."""
NAME_PX, LABEL_PX = 13.0, 13.0
EVERY = 4

Spans = tuple[tuple[float, float], ...]


class StallMark(msgspec.Struct, frozen=True):
    """A wait for the next token in lanes ``first`` to ``end``; ``label`` is its length, where that fits."""

    box: Box
    bound: str
    label: Text | None


class StreamLane(msgspec.Struct, frozen=True):
    """One stream in ``box``: from pixel to pixel it waits, its KV travels, it is prefilled, it decodes."""

    request: int
    box: Box
    waits: Spans
    links: Spans
    prefills: Spans
    decodes: Spans
    first_x: float | None
    preempted: tuple[float, ...]


class Silence(msgspec.Struct, frozen=True):
    """Lanes from ``y`` to ``bottom`` give no token between the pixels of each of ``spans``."""

    y: float
    bottom: float
    spans: Spans


class Lanes(msgspec.Struct, frozen=True):
    """What is in view of some streams."""

    lanes: tuple[StreamLane, ...]
    silences: tuple[Silence, ...]
    stalls: tuple[StallMark, ...]
    names: tuple[Text, ...]
    grid: tuple[float, ...]


def build_lanes(
    course: Course, requests: Numbers, space: Space, pitch: float, grid: tuple[float, ...]
) -> Lanes:
    """The lanes of ``requests`` from the top of the space, each ``pitch`` high."""
    builder = _Builder(course, requests, space, pitch)
    return Lanes(builder.lanes(), builder.silences(), builder.stalls(), builder.names(), grid)


def lane_inset(pitch: float, scale: float) -> float:
    """What stays free above and below the marks of a lane."""
    return min(0.22 * pitch, 9 * scale)


class _Builder:
    def __init__(self, course: Course, requests: Numbers, space: Space, pitch: float) -> None:
        self.course, self.requests, self.space, self.pitch = course, requests, space, pitch
        self.axis: TimeAxis = space.axis
        self.inset = lane_inset(pitch, space.scale)
        count = len(requests)
        self.stints = [(e, e.stints_of(requests)) for e in course.engines]
        self.engine_of = np.full(count, -1)
        for number, (engine, stints) in enumerate(self.stints):
            if not engine.records.prefills_only:
                s = engine.records.stints
                rows = np.searchsorted(requests, s.request[stints])
                self.engine_of[rows] = number

    def _px(self, times_s: Seconds) -> Seconds:
        share = np.clip((times_s - self.axis.start_s) / self.axis.span_s, 0.0, 1.0)
        found: Seconds = self.axis.left_px + share * self.axis.width_px
        return found

    def _box(self, row: int) -> Box:
        box = self.space.box
        return Box(box.x, box.y + row * self.pitch, box.w, self.pitch)

    def lanes(self) -> tuple[StreamLane, ...]:
        spans: list[dict[str, list[tuple[float, float]]]] = [
            {"waits": [], "links": [], "prefills": [], "decodes": []} for _ in self.requests
        ]
        preempted: list[list[float]] = [[] for _ in self.requests]
        arrival_s = self.course.arrival_s[self.requests]

        def add(kind: str, rows: Numbers, from_s: Seconds, to_s: Seconds) -> None:
            x0, x1 = self._px(from_s), self._px(to_s)
            seen = (to_s > self.axis.start_s) & (from_s < self.axis.end_s) & (to_s > from_s)
            for n in np.flatnonzero(seen).tolist():
                spans[rows[n]][kind].append((float(x0[n]), float(x1[n])))

        for engine, stints in self.stints:
            s, r = engine.records.stints, engine.records
            if not len(stints):
                continue
            request = s.request[stints]
            rows = np.searchsorted(self.requests, request)
            admitted_s, came_s, gone_s = (
                r.start_s[s.first[stints]],
                engine.came_s[stints],
                engine.gone_s[stints],
            )
            again = np.append(False, request[1:] == request[:-1])
            lost = s.ended[stints] >= 0
            if r.decodes_only:
                assert self.course.run.ready_s is not None
                ready_s = self.course.run.ready_s[request]
                add("links", rows, self.course.first_token_s[request], ready_s)
                add("waits", rows, ready_s, admitted_s)
            else:
                since_s = arrival_s[rows].copy()
                since_s[again] = gone_s[np.flatnonzero(again) - 1]
                add("waits", rows, since_s, admitted_s)
                add("prefills", rows, admitted_s, np.where(s.done[stints], came_s, gone_s))
                for n in np.flatnonzero(lost).tolist():
                    if self.axis.contains(float(gone_s[n])):
                        preempted[rows[n]].append(float(self._px(gone_s[n : n + 1])[0]))
            if not r.prefills_only:
                decodes = s.steps[stints] > 0
                add("decodes", rows[decodes], came_s[decodes], engine.tail_s[stints][decodes])
        first_s = self.course.first_token_s[self.requests]
        first_x = self._px(first_s)
        return tuple(
            StreamLane(
                int(request),
                self._box(row),
                tuple(spans[row]["waits"]),
                tuple(spans[row]["links"]),
                tuple(spans[row]["prefills"]),
                tuple(spans[row]["decodes"]),
                float(first_x[row]) if self.axis.contains(float(first_s[row])) else None,
                tuple(preempted[row]),
            )
            for row, request in enumerate(self.requests.tolist())
        )

    def silences(self) -> tuple[Silence, ...]:
        """Between two tokens, where they are far enough apart to be told."""
        found = []
        spans = {number: quiet(self.course.engines[number], self.axis, self.space.scale)
                 for number in set(self.engine_of.tolist()) - {-1}}  # fmt: skip
        for low, high in stretches(self.engine_of):
            number = int(self.engine_of[low])
            if number >= 0 and spans[number]:
                top, bottom = self._box(low).y, self._box(high - 1).bottom
                found.append(Silence(top, bottom, spans[number]))
        return tuple(found)

    def stalls(self) -> tuple[StallMark, ...]:
        """Shared stalls as one box for neighbouring lanes, then those that a stream has alone."""
        found: list[StallMark] = []
        for number in sorted(set(self.engine_of.tolist()) - {-1}):
            engine, stints = self.stints[number]
            s, stalls = engine.records.stints, engine.stalls
            first = int(np.searchsorted(stalls.end_s, self.axis.start_s, "right"))
            end = int(np.searchsorted(stalls.start_s, self.axis.end_s, "left"))
            if end <= first or not len(stints):
                continue
            rows = np.searchsorted(self.requests, s.request[stints])
            joined, leaves = s.joined[stints], (s.joined + s.steps)[stints]
            for n in shown_stalls(engine, self.axis, first, end).tolist():
                in_it = (joined <= stalls.joined[n]) & (leaves >= stalls.stays[n]) & (s.steps[stints] > 0)
                if in_it.any():
                    self._mark(
                        found, np.unique(rows[in_it]), float(stalls.start_s[n]),
                        float(stalls.end_s[n]), float(stalls.longest_s[n]), bool(stalls.is_compute[n]),
                    )  # fmt: skip
        own = self.course.own
        low = np.searchsorted(own.request, self.requests, "left")
        high = np.searchsorted(own.request, self.requests, "right")
        for row in np.flatnonzero(high > low).tolist():
            for n in range(int(low[row]), int(high[row])):
                start_s, end_s = float(own.start_s[n]), float(own.end_s[n])
                if end_s > self.axis.start_s and start_s < self.axis.end_s:
                    engine = self.course.engines[int(own.engine[n])]
                    record = engine.longest_between(start_s, end_s)
                    is_compute = record >= 0 and bool(engine.is_compute[record])
                    self._mark(found, np.array([row]), start_s, end_s, end_s - start_s, is_compute)
        return tuple(found)

    def _mark(
        self,
        found: list[StallMark],
        rows: Numbers,
        start_s: float,
        end_s: float,
        gap_s: float,
        is_compute: bool,
    ) -> None:
        x0, x1 = self.axis.clipped_px(start_s), self.axis.clipped_px(end_s)
        width = max(x1 - x0, 1.0)
        bound = bound_name(is_compute)
        words, s = f"stalled {duration(gap_s)}", self.space.scale
        fits = self.pitch >= LABEL_PX * s and self.space.measure(words, 11.5 * s, True) + 8 * s < width
        for number, row in enumerate(rows.tolist()):
            lane = self._box(row)
            box = Box(x0, lane.y + self.inset, width, max(lane.h - 2 * self.inset, 1.0))
            label = None
            if fits and number % EVERY == 0:
                high = self.space.line_height(11.5)
                middle = lane.y + (lane.h - high) / 2
                label = self.space.text((x0 + x1) / 2, middle, words, f"{bound}_text", 11.5, True, "center")
            found.append(StallMark(box, bound, label))

    def names(self) -> tuple[Text, ...]:
        """Names beside the lanes, of every so many where they would touch."""
        s, high = self.space.scale, self.space.line_height(11.0)
        every = max(int(np.ceil(NAME_PX * s / self.pitch)), 1)
        found = []
        for row in range(0, len(self.requests), every):
            lane, request = self._box(row), int(self.requests[row])
            y = lane.y + (lane.h - high) / 2
            bold = self.course.is_long(request)
            role = "text" if bold else "muted"
            name = self.course.short_name(request)
            found.append(self.space.text(lane.x - 8 * s, y, name, role, 11.0, bold, "right"))
        return tuple(found)


def token_ink(scale: float) -> float:
    """How wide a token is drawn: whole pixels, so that all look alike."""
    return max(float(round(1.2 * scale)), 1.0)


def quiet(engine: Engine, axis: TimeAxis, scale: float) -> Spans:
    """Pixels between one token and the next of those who decode, where the tokens can be told apart."""
    r, gaps = engine.records, Gaps.of(engine.records)
    if not len(gaps.record):
        return ()
    ends_s = r.end_s[gaps.record]
    first = int(np.searchsorted(ends_s, axis.start_s, "left"))
    end = min(int(np.searchsorted(r.start_s[gaps.record], axis.end_s, "left")) + 1, len(ends_s))
    width = max(round(axis.width_px), 1)
    if end - first > width:
        edges_s = np.linspace(axis.start_s, axis.end_s, width + 1)
        edges = np.clip(np.searchsorted(ends_s, edges_s, "left"), first, end)
        edges[-1] = end
        chosen = engine.wait_peaks.largest(edges)
        chosen = chosen[chosen >= 0]
    else:
        chosen = np.arange(first, end)
    least_s, ink = TOKEN_PX * scale / axis.px_per_s, token_ink(scale)
    record = gaps.record[chosen]
    starts, stops = [], []
    first_end_s = r.start_s[record] + r.first_s[record]
    apart = np.flatnonzero(gaps.span_s[chosen] >= least_s)
    starts.append(first_end_s[apart] - gaps.span_s[chosen][apart])
    stops.append(first_end_s[apart])
    for n in record[(r.steps[record] > 1) & (r.first_s[record] >= least_s)].tolist():
        low, high = axis.start_s - float(r.start_s[n]), axis.end_s - float(r.start_s[n])
        shortest_s = float(min(r.first_s[n], r.first_s[n] + r.step_s[n] * (r.steps[n] - 1)))
        if shortest_s <= 0:
            continue
        longest_s = float(engine.longest_s[n])
        k0 = max(int(low / longest_s) - 1, 1)
        k1 = min(int(high / shortest_s) + 2, int(r.steps[n]))
        k = np.arange(k0, k1 + 1)
        came_s = r.start_s[n] + r.elapsed_s(np.full(len(k), n), k)
        came_s = came_s[(came_s >= axis.start_s - longest_s) & (came_s <= axis.end_s + longest_s)]
        starts.append(came_s[:-1])
        stops.append(came_s[1:])
    from_s, to_s = np.concatenate(starts), np.concatenate(stops)
    seen = (to_s > axis.start_s) & (from_s < axis.end_s)
    right = axis.left_px + axis.width_px
    x0 = np.round(axis.left_px + (from_s[seen] - axis.start_s) * axis.px_per_s) + ink
    x1 = np.round(axis.left_px + (to_s[seen] - axis.start_s) * axis.px_per_s)
    x0, x1 = np.maximum(x0, axis.left_px), np.minimum(x1, right)
    return tuple((a, b) for a, b in zip(x0.tolist(), x1.tolist(), strict=True) if b > a)


def shown_stalls(engine: Engine, axis: TimeAxis, first: int, end: int) -> Numbers:
    """The stalls in view, where there are more than pixels the longest that starts in each."""
    width = max(round(axis.width_px), 1)
    if end - first <= width:
        return np.arange(first, end)
    edges_s = np.linspace(axis.start_s, axis.end_s, width + 1)
    edges = np.clip(np.searchsorted(engine.stalls.start_s, edges_s, "left"), first, end)
    edges[0], edges[-1] = first, end
    found = engine.stall_peaks.largest(edges)
    return found[found >= 0]
