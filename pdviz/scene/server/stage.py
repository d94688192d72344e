"""The tracks of one run or two: the whole, then for each its passes, streams and levels, on one axis."""

from __future__ import annotations

from functools import partial

import msgspec

from pdviz.scene.marks.parts import Hover, Text
from pdviz.scene.server.course import Course
from pdviz.scene.server.levels import LEVEL_HEIGHTS, LevelTops, level_tracks, levels_height
from pdviz.scene.server.passes import PassLaneTrack, overview_blocks
from pdviz.scene.server.streams import Roster, StreamsTrack
from pdviz.scene.stage.overview import OverviewTrack
from pdviz.scene.stage.parts import Row, Space, Track, Wish
from pdviz.scene.stage.ticks import TickTrack
from pdviz.units import duration


class Head(Row, frozen=True):
    """The title of a run; with ``is_first`` the meaning of the marks beside it."""

    title: Text
    stall_words: str
    has_legend: bool

    @property
    def texts(self) -> tuple[Text, ...]:
        return (self.title,)


class HeadTrack(msgspec.Struct, frozen=True):
    title: str
    stall_s: float
    has_legend: bool

    @property
    def wish(self) -> Wish:
        return Wish(22.0, gap=0.0 if self.has_legend else 8.0, spans=True)

    def build(self, space: Space) -> Head:
        box = space.box
        y = box.y + (box.h - space.line_height(15.0)) / 2
        title = space.text(box.x, y, self.title, "text", 15.0, True)
        words = f"no token for over {duration(self.stall_s)}".replace(".0 ", " ")
        return Head(box, title, words, self.has_legend)

    def hover(self, row: Head, time_s: float, y: float) -> Hover | None:
        return None


class ServerScales(msgspec.Struct, frozen=True):
    """What is the same for both runs: streams in view, tops of the lanes, tokens of the highest pass."""

    roster: Roster
    tops: LevelTops
    top_tokens: float

    @classmethod
    def of(cls, courses: tuple[Course, ...]) -> ServerScales:
        tokens = [float(e.tokens.max()) for c in courses for e in c.engines if len(e.tokens)]
        return cls(Roster(courses), LevelTops.of(courses), max(tokens, default=2.0))


AROUND, HALF, STREAMS = 125.0, 80.0, 96.0
"""Design pixels of what is on a stage once, of a run without its streams and levels, and for its streams."""


def levels_in(height: float, runs: int) -> int:
    """How many small lanes there is room for beside the streams, in so many design pixels."""
    room = (height - AROUND) / runs - HALF - STREAMS
    return max((n for n in range(len(LEVEL_HEIGHTS) + 1) if levels_height(n) <= room), default=0)


def server_tracks(
    courses: tuple[Course, ...], scales: ServerScales, height: float, scrolled_to: int | None = None
) -> tuple[Track, ...]:
    """From the top: the whole, each run, the axis; as many levels as ``height`` design pixels hold."""
    levels, is_alone = levels_in(height, len(courses)), len(courses) == 1
    whole_s = max(course.duration_s for course in courses)
    engine = courses[0].main

    bands = partial(overview_blocks, engine)
    tracks: list[Track] = [OverviewTrack(whole_s, f"last token {duration(whole_s)}", bands)]
    for number, course in enumerate(courses):
        tracks += [
            HeadTrack(course.title, course.stall_s, number == 0),
            PassLaneTrack(course, scales.top_tokens, is_alone),
            StreamsTrack(course, scales.roster, scrolled_to),
            *level_tracks(course, scales.tops, is_alone)[:levels],
        ]
    return (*tracks, TickTrack())
