"""The streams of a run: lanes while they are few in view, a map of how many do what where they are many."""

from __future__ import annotations

import msgspec
import numpy as np

from pdviz.scene.marks.axis import TimeAxis, Window, ticks
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Hover, Text
from pdviz.scene.server.course import Course
from pdviz.scene.server.crowd import Crowd, build_crowd, most_streams
from pdviz.scene.server.lanes import Lanes, build_lanes
from pdviz.scene.server.levels import levels_hover
from pdviz.scene.server.stream_words import stream_hover
from pdviz.scene.server.words import stalled_at
from pdviz.scene.stage.parts import Row, Space, Wish
from pdviz.scene.stage.ticks import APART_PX
from pdviz.serving.records import Numbers, Seconds
from pdviz.units import count, duration

LEAST_LANE, READ_LANE, MOST_LANE = 4.0, 15.0, 48.0
"""Design pixels of a lane: the thinnest, one that is read while lanes scroll, the highest."""


class Roster:
    """Which streams are in view, the same ones and in the same order for all runs of a workload."""

    def __init__(self, courses: tuple[Course, ...]) -> None:
        self.courses = courses
        ends = [course.last_token_s for course in courses]
        self.ends_s: Seconds = np.max(ends, axis=0)
        self.arrival_s = courses[0].arrival_s
        self._latest_s = np.maximum.accumulate(self.ends_s)
        self._top: tuple[TimeAxis, int] | None = None

    def in_view(self, axis: TimeAxis) -> tuple[int, int]:
        """(first, end) of the requests among which all are that have something in view."""
        first = int(np.searchsorted(self._latest_s, axis.start_s, "left"))
        return first, max(int(np.searchsorted(self.arrival_s, axis.end_s, "left")), first)

    def shown(self, axis: TimeAxis, most: int, scrolled_to: int | None, room: int) -> Numbers | None:
        """The requests whose lanes are shown; None where there are more than ``most``.

        With ``scrolled_to`` as many from that one on as there is ``room`` for.
        """
        if len(self.arrival_s) <= most and scrolled_to is None:
            return np.arange(len(self.arrival_s))
        first, end = self.in_view(axis)
        if scrolled_to is not None:
            first = max(first, min(scrolled_to, end - 1))
            end = min(end, first + MOST_LOOKED_AT)
        elif end - first > MOST_LOOKED_AT:
            return None
        found = first + np.flatnonzero(self.ends_s[first:end] > axis.start_s)
        if scrolled_to is not None:
            return found[:room]
        return found if len(found) <= most else None

    def scrolled(self, axis: TimeAxis, first: int | None, by: int, room: int) -> int | None:
        """The first lane after scrolling ``by`` lanes down, so that the last ones still fill the room."""
        low, end = self.in_view(axis)
        start = low if first is None else max(first, low)
        step = 1 if by > 0 else -1
        chosen, left = start, abs(by)
        place = start
        while left and low <= place + step < end:
            place += step
            if self.ends_s[place] > axis.start_s:
                chosen, left = place, left - 1
        return min(chosen, max(end - room, low))

    def most_streams(self, axis: TimeAxis, scale: float) -> int:
        """The most streams at once in view, of any run."""
        if self._top is None or self._top[0] != axis:
            self._top = axis, most_streams(self.courses, axis, scale)
        return self._top[1]


MOST_LOOKED_AT = 20_000


class Streams(Row, frozen=True):
    """Lanes or a map."""

    content: Lanes | Crowd
    note: str

    @property
    def plot(self) -> Box:
        return self.box

    @property
    def texts(self) -> tuple[Text, ...]:
        return tuple(stall.label for stall in self.content.stalls if stall.label is not None)


class StreamsTrack(msgspec.Struct, frozen=True):
    """The streams of ``course``. ``scrolled_to`` is the request in the first lane, None for all that are."""

    course: Course
    roster: Roster
    scrolled_to: int | None = None

    @property
    def wish(self) -> Wish:
        return Wish(40.0, gap=6.0, grow=1.0)

    def build(self, space: Space) -> Streams:
        box, s = space.box, space.scale
        most = max(int(box.h / (LEAST_LANE * s)), 1)
        requests = self.roster.shown(space.axis, most, self.scrolled_to, lanes_in(box, s))
        if requests is None:
            top = self.roster.most_streams(space.axis, s)
            return Streams(box, build_crowd(self.course, space, top), "")
        least = READ_LANE if self.scrolled_to is not None else 0.0
        pitch = min(max(box.h / max(len(requests), 1), least * s), MOST_LANE * s)
        axis = space.axis
        grid = tuple(
            axis.to_px(mark.time_s)
            for mark in ticks(Window(axis.start_s, axis.end_s), int(box.w / (APART_PX * s)))
        )
        note = ""
        if self.scrolled_to is not None:
            first, end = self.roster.in_view(axis)
            if len(requests):
                note = f"lanes from {count(requests[0] + 1)} of {count(end - first)} in view"
        return Streams(box, build_lanes(self.course, requests, space, pitch, grid), note)

    def hover(self, row: Streams, time_s: float, y: float) -> Hover | None:
        content = row.content
        if isinstance(content, Lanes):
            for lane in content.lanes:
                if lane.box.y <= y < lane.box.bottom:
                    return stream_hover(self.course, lane.request, time_s)
            return None
        found = levels_hover(self.course, time_s)
        stalled, longest_s = stalled_at(self.course, time_s)
        if stalled:
            extra = ("stalled", f"{count(stalled)} streams, for up to {duration(longest_s)}")
            return Hover(found.index, found.title, found.bound, (extra, *found.rows))
        return found


def lanes_in(box: Box, scale: float) -> int:
    """How many lanes that are read fit into a box."""
    return max(int(box.h / (READ_LANE * scale)), 1)
