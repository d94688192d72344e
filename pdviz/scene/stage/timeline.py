"""What can be played: anything that takes time and happens in passes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

from pdviz.scene.marks.axis import Window

PASS, TOKEN, FIRST_TOKEN, STALL = "pass", "token", "first token", "stall"
"""Kinds of moments to jump to; a timeline names those that it has."""


class Mark(msgspec.Struct, frozen=True):
    """A moment that the scrubber shows, of a kind, with what it is in words."""

    time_s: float
    kind: str
    name: str


class Measured(Protocol):
    """A stretch of time and what is in it, in one line."""

    @property
    def start_s(self) -> float: ...
    @property
    def end_s(self) -> float: ...
    @property
    def words(self) -> str: ...


class Timeline(Protocol):
    """A request, a server's run, a comparison: seconds from 0 to ``duration_s``, and passes in them.

    Passes are numbered from 0 and do not overlap; between two of them there may be nothing. Everything
    costs the same at any length, so that a playhead may ask at each frame.
    """

    @property
    def duration_s(self) -> float: ...

    @property
    def least_s(self) -> float:
        """The shortest stretch that is worth filling a view with."""

    @property
    def passes(self) -> int: ...

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of moments that ``next_s`` knows; the first is what keys go by."""

    @property
    def marks(self) -> tuple[Mark, ...]: ...

    def pass_at(self, time_s: float) -> int:
        """The pass under way or, between two of them, the one before; always one that exists."""

    def pass_start_s(self, index: int) -> float: ...

    def pass_end_s(self, index: int) -> float: ...

    def next_s(self, kind: str, time_s: float, forward: bool) -> float | None:
        """The next moment of a kind after ``time_s``, or before it; None where there is none."""

    def first_view(self, current: Window | None = None) -> Window:
        """What to show at first; after an edit, with as much as it can of the ``current`` view."""

    def measure(self, one_s: float, other_s: float) -> Measured:
        """What lies between two moments, in either order."""

    def describe(self, time_s: float) -> str:
        """The moment in words."""


def nearest_s(moments: Iterable[float], time_s: float, forward: bool, slack_s: float = 0.0) -> float | None:
    """The first of some moments that lies more than ``slack_s`` after ``time_s``, or before it."""
    if forward:
        return min((moment for moment in moments if moment > time_s + slack_s), default=None)
    return max((moment for moment in moments if moment < time_s - slack_s), default=None)


def next_edge_s(timeline: Timeline, time_s: float, forward: bool) -> float | None:
    """The next moment at which a pass starts or ends."""
    here = timeline.pass_at(time_s)
    near = range(max(here - 1, 0), min(here + 2, timeline.passes))
    edges = [edge for index in near for edge in (timeline.pass_start_s(index), timeline.pass_end_s(index))]
    return nearest_s(edges, time_s, forward, 1e-9 * timeline.duration_s)


def step_s(timeline: Timeline, time_s: float, passes: int) -> float:
    """Where a pass starts that is ``passes`` further on (or back); after the last one, the end."""
    here = timeline.pass_at(time_s)
    if passes < 0 and time_s > timeline.pass_start_s(here) + 1e-12:
        passes += 1
    target = min(max(here + passes, 0), timeline.passes)
    return timeline.pass_start_s(target) if target < timeline.passes else timeline.duration_s
