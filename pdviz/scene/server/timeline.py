"""One or two runs of a server as something that can be played: on one clock, by the passes of the first."""

from __future__ import annotations

from functools import cached_property

import msgspec
import numpy as np

from pdviz.scene.marks.axis import Window
from pdviz.scene.server.course import Course
from pdviz.scene.server.words import moment_words
from pdviz.scene.stage.timeline import FIRST_TOKEN, PASS, STALL, Mark, next_edge_s
from pdviz.units import duration, plural

MOST_MARKS = 12
LEAST_VIEW = 0.02
"""Of the shortest pass: nearer than that there is nothing to see."""


class ServerMeasure(msgspec.Struct, frozen=True):
    """What lies between two moments, of the first run."""

    start_s: float
    end_s: float
    words: str


class ServerTimeline:
    """Runs as a Timeline: the longest gives the duration, the first the passes and the moments to jump to."""

    def __init__(self, courses: tuple[Course, ...]) -> None:
        self.courses = courses
        self._first = courses[0]
        self._engine = courses[0].main
        self.duration_s = max(course.duration_s for course in courses)
        self.kinds = (PASS, FIRST_TOKEN, STALL)
        self.passes = self._engine.passes

    @cached_property
    def least_s(self) -> float:
        shortest_s = min(float(self._engine.records.first_s.min()), self.duration_s)
        return LEAST_VIEW * shortest_s

    @cached_property
    def marks(self) -> tuple[Mark, ...]:
        """The longest stalls of the first run."""
        found = []
        for engine in self._first.engines:
            stalls = engine.stalls
            for n in np.argsort(-stalls.longest_s, kind="stable")[:MOST_MARKS].tolist():
                longest_s = float(stalls.longest_s[n])
                found.append(
                    (longest_s, Mark(float(stalls.start_s[n]), STALL, f"stall of {duration(longest_s)}"))
                )
        found.sort(key=lambda one: (-one[0], one[1].time_s))
        return tuple(sorted((mark for _, mark in found[:MOST_MARKS]), key=lambda mark: mark.time_s))

    def pass_at(self, time_s: float) -> int:
        return self._engine.pass_at(time_s)

    def pass_start_s(self, index: int) -> float:
        return self._engine.pass_start_s(index)

    def pass_end_s(self, index: int) -> float:
        return self._engine.pass_end_s(index)

    def next_s(self, kind: str, time_s: float, forward: bool) -> float | None:
        if kind == PASS:
            return next_edge_s(self, time_s, forward)
        moments = self._first.first_tokens_sorted_s if kind == FIRST_TOKEN else self._first.stall_starts_s
        slack_s = 1e-9 * self.duration_s
        if forward:
            place = int(np.searchsorted(moments, time_s + slack_s, "right"))
        else:
            place = int(np.searchsorted(moments, time_s - slack_s, "left")) - 1
        return float(moments[place]) if 0 <= place < len(moments) else None

    def first_view(self, current: Window | None = None) -> Window:
        return Window(0.0, self.duration_s)

    def measure(self, one_s: float, other_s: float) -> ServerMeasure:
        start_s, end_s = sorted(min(max(t, 0.0), self.duration_s) for t in (one_s, other_s))
        parts = [duration(end_s - start_s)]
        first, last = self.pass_at(start_s), self.pass_at(end_s)
        touched = last - first + 1
        if self.pass_start_s(last) >= end_s > start_s or self.pass_end_s(first) <= start_s:
            touched = max(touched - 1, 0)
        several = len(self.courses) > 1
        parts.append(plural(touched, "pass") + (" above" if several else ""))
        tokens = [plural(tokens_between(course, start_s, end_s), "token") for course in self.courses]
        parts.append(f"{tokens[0]} above, {tokens[1]} below" if several else tokens[0])
        return ServerMeasure(start_s, end_s, " · ".join(parts))

    def describe(self, time_s: float) -> str:
        told = [moment_words(course, time_s) for course in self.courses]
        return f"{duration(time_s)} of {duration(self.duration_s)}. {' '.join(told)}"


def tokens_between(course: Course, start_s: float, end_s: float) -> int:
    """Tokens that come out after one moment and up to another."""
    return tokens_until(course, end_s) - tokens_until(course, start_s)


def tokens_until(course: Course, time_s: float) -> int:
    """Tokens that are out at a moment."""
    total = int(np.searchsorted(course.first_tokens_sorted_s, time_s, "right"))
    for engine in course.engines:
        if not engine.passes:
            continue
        record = int(np.searchsorted(engine.start_s, time_s, "right")) - 1
        if record < 0:
            continue
        total += int(engine.decoded_before[record])
        if engine.records.steps[record]:
            index = engine.pass_at(time_s)
            done = index - int(engine.before[record]) + (engine.pass_end_s(index) <= time_s)
            total += int(engine.decoders[record]) * int(done)
    return total
