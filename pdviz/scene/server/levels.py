"""Small lanes of a run: what of the machine is used, how many decode, what KV they hold, who waits."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from pdviz.scene.marks.axis import TimeAxis
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Hover, Text
from pdviz.scene.server.course import Course
from pdviz.scene.stage.parts import Row, Space, Wish
from pdviz.serving.records import Seconds
from pdviz.units import count, duration, percent, plural

SAMPLE_PX = 2.0
LEVEL_HEIGHTS, LEVEL_GAP = (22.0, 15.0, 15.0, 15.0), 5.0

Points = tuple[tuple[float, float], ...]


class LevelLine(msgspec.Struct, frozen=True):
    """``points`` are corners on the screen, ``role`` a colour of the theme; ``ground`` is what lies below."""

    role: str
    points: Points
    ground: tuple[Box, ...]


class Level(Row, frozen=True):
    name: Text
    top: Text
    lines: tuple[LevelLine, ...]

    @property
    def plot(self) -> Box:
        return self.box


class LevelTrack(msgspec.Struct, frozen=True):
    """``lines(edges)`` are (role, values between neighbouring edges, filled); ``top`` fills the height."""

    name: str
    top: float
    top_words: str
    lines: Callable[[Seconds], list[tuple[str, Seconds, bool]]]
    about: Callable[[float], Hover]
    height: float
    is_alone: bool = False

    @property
    def wish(self) -> Wish:
        return Wish(self.height, share=0.055 if self.is_alone else 0.0, gap=LEVEL_GAP)

    def build(self, space: Space) -> Level:
        box, axis, s = space.box, space.axis, space.scale
        edges_s = sample_edges(axis, s)
        xs = axis.left_px + (edges_s - axis.start_s) * axis.px_per_s
        found = []
        for role, values, filled in self.lines(edges_s):
            heights = box.bottom - box.h * np.clip(values / max(self.top, 1e-300), 0.0, 1.0)
            feet = np.full(len(heights), box.bottom)
            ground = columns_between(xs, heights, feet) if filled else ()
            found.append(LevelLine(role, steps(xs, heights), ground))
        high = space.line_height(11.0)
        y = box.y + (box.h - high) / 2
        top = space.text(box.x - 8 * s, y, self.top_words, "faint", 11.0, False, "right")
        left = top.box.x - 5 * s if self.top_words else top.box.right
        name = space.text(left, y, self.name, "muted", 11.0, False, "right")
        return Level(box, name, top, tuple(found))

    def hover(self, row: Level, time_s: float, y: float) -> Hover | None:
        return self.about(time_s)


def sample_edges(axis: TimeAxis, scale: float) -> Seconds:
    """Moments at the edges of samples, a few pixels apart."""
    samples = max(int(axis.width_px / (SAMPLE_PX * scale)), 2)
    return np.linspace(axis.start_s, axis.end_s, samples + 1, dtype=np.float64)


def columns_between(xs: Seconds, tops: Seconds, feet: Seconds) -> tuple[Box, ...]:
    """The ground between two lines that are level between neighbouring ``xs``."""
    turns = np.flatnonzero((np.diff(tops) != 0) | (np.diff(feet) != 0))
    ends = np.append(turns, len(tops) - 1)
    starts = np.append(0, turns + 1)
    rows = np.column_stack((xs[starts], tops[starts], xs[ends + 1] - xs[starts], (feet - tops)[starts]))
    return tuple(Box(x, y, w, h) for x, y, w, h in rows.tolist() if h > 0)


def steps(xs: Seconds, ys: Seconds) -> Points:
    """A line that is level between neighbouring ``xs``, without needless corners."""
    keep = np.append(np.flatnonzero(np.diff(ys)), len(ys) - 1)
    starts = np.append(0, keep[:-1] + 1)
    corners = np.empty((2 * len(keep), 2))
    corners[::2, 0], corners[1::2, 0] = xs[starts], xs[keep + 1]
    corners[::2, 1] = corners[1::2, 1] = ys[keep]
    return tuple((x, y) for x, y in corners.tolist())


class LevelTops(msgspec.Struct, frozen=True):
    """What the small lanes of both runs reach to."""

    share: float
    batch: int
    kv: float
    queue: int

    @classmethod
    def of(cls, courses: tuple[Course, ...]) -> LevelTops:
        machine = courses[0].machine
        share = max(machine.compute_efficiency, machine.bandwidth_efficiency)
        capacities = [course.kv_capacity for course in courses]
        kv = float(max(course.most_kv for course in courses))
        known = [capacity for capacity in capacities if capacity is not None]
        if known and max(known) < 3 * kv:
            kv = float(max(known))
        return cls(
            share,
            max(max(course.most_decoding for course in courses), 1),
            max(kv, 1.0),
            max(max(course.most_waiting for course in courses), 1),
        )


def level_tracks(course: Course, tops: LevelTops, is_alone: bool) -> tuple[LevelTrack, ...]:
    """The small lanes of one run."""

    def used(edges_s: Seconds) -> list[tuple[str, Seconds, bool]]:
        shares = [e.utilisations(edges_s) for e in course.engines]
        compute, bandwidth = (np.mean([one[n] for one in shares], axis=0) for n in (0, 1))
        return [("bandwidth", bandwidth, True), ("compute", compute, False)]

    def batch(edges_s: Seconds) -> list[tuple[str, Seconds, bool]]:
        return [("muted", course.counts(_middles(edges_s)).decoding.astype(float), True)]

    def kv(edges_s: Seconds) -> list[tuple[str, Seconds, bool]]:
        return [("memory_kv", course.kv_tokens(_middles(edges_s)), True)]

    def queue(edges_s: Seconds) -> list[tuple[str, Seconds, bool]]:
        return [("muted", course.counts(_middles(edges_s)).waiting.astype(float), True)]

    def about(time_s: float) -> Hover:
        return levels_hover(course, time_s)

    rows = (
        ("used", tops.share, percent(tops.share).replace(".0", ""), used),
        ("queue", tops.queue, count(tops.queue), queue),
        ("batch", tops.batch, count(tops.batch), batch),
        ("KV", tops.kv, kilo(tops.kv), kv),
    )
    return tuple(
        LevelTrack(*row, about, height, is_alone) for row, height in zip(rows, LEVEL_HEIGHTS, strict=True)
    )


def levels_height(levels: int) -> float:
    """Design pixels of so many of them."""
    return sum(LEVEL_HEIGHTS[:levels]) + LEVEL_GAP * levels


def kilo(tokens: float) -> str:
    """A number of tokens, short."""
    for step, unit in ((1e6, "M"), (1e3, "k")):
        if tokens >= step:
            return f"{tokens / step:.3g}{unit}"
    return count(tokens)


def _middles(edges_s: Seconds) -> Seconds:
    middles: Seconds = (edges_s[1:] + edges_s[:-1]) / 2
    return middles


def levels_hover(course: Course, time_s: float) -> Hover:
    """All levels at a moment."""
    counts = course.counts(np.array([time_s]))
    rows = [
        ("batch", f"{plural(int(counts.decoding[0]), 'stream')} decoding"),
        ("in prefill", count(int(counts.prefilling[0]))),
        ("queue", f"{count(int(counts.waiting[0]))} waiting"),
    ]
    if int(counts.linking[0]):
        rows.append(("on the link", count(int(counts.linking[0]))))
    held = float(course.kv_tokens(np.array([time_s]))[0])
    words = plural(held, "token")
    if course.kv_capacity is not None:
        words += f", {percent(held / course.kv_capacity)} of what fits"
    rows.append(("KV in use", words))
    bound = ""
    for number, engine in enumerate(course.engines[:4]):
        now = course.pass_now(engine, time_s)
        name = "used" if len(course.engines) == 1 else f"engine {number + 1}"
        if now is None:
            rows.append((name, "idle"))
            continue
        bound = bound or now.bound
        compute, bandwidth = percent(now.compute_utilisation), percent(now.bandwidth_utilisation)
        rows.append((name, f"compute {compute}, bandwidth {bandwidth}"))
    return Hover(0, f"{course.title}: at {duration(time_s)}", bound, tuple(rows))
