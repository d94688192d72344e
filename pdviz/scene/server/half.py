"""The card beside a run: its key figures, and what of the machine is used at the moment."""

from __future__ import annotations

import msgspec

from pdviz.costmodel.bounds import BANDWIDTH, COMPUTE
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.lettering import Lettering
from pdviz.scene.marks.parts import MeasureText, Place, Text
from pdviz.scene.server.course import SHORT, Course
from pdviz.scene.server.engine import Pass
from pdviz.scene.server.words import brief_words, pass_words
from pdviz.serving.measures import Summary, Targets, meets, summary
from pdviz.units import count, duration, percent

ROW, METERS = 43.0, 92.0
"""Design pixels: of a figure, and of the meters below them."""


class KeyFigure(msgspec.Struct, frozen=True):
    """A figure of a run in words. ``key`` is that of its explanation, ``role`` the colour of the value."""

    key: str
    title: str
    value: str
    role: str = "text"


class HalfFigures(msgspec.Struct, frozen=True):
    """What is said of a run for as long as it is shown."""

    title: str
    figures: tuple[KeyFigure, ...]


class Bar(msgspec.Struct, frozen=True):
    """How much of a peak is used: ``lit`` of ``well``, up to ``ceiling_x`` at most."""

    bound: str
    well: Box
    lit: Box
    ceiling_x: float


class HalfCard(msgspec.Struct, frozen=True):
    box: Box
    texts: tuple[Text, ...]
    bars: tuple[Bar, ...]
    places: tuple[Place, ...]


def figures_of(course: Course, targets: Targets) -> HalfFigures:
    """The key figures of a run."""
    outcome = course.outcome
    told: Summary = summary(outcome, targets)
    longest_s = told.itl_s.max
    stalls = longest_s is not None and longest_s > targets.itl_s
    good = int(meets(outcome, targets).sum())
    figures = (
        KeyFigure(
            "server.longest_gap", "Longest gap", _time(longest_s), "compute_text" if stalls else "text"
        ),
        KeyFigure("server.itl", "ITL p50 · p99", f"{_time(told.itl_s.p50)} · {_time(told.itl_s.p99)}"),
        KeyFigure("server.ttft", "TTFT p50 · p99", f"{_time(told.ttft_s.p50)} · {_time(told.ttft_s.p99)}"),
        KeyFigure("server.goodput", "Within targets", f"{count(good)} of {count(len(outcome))}"),
        KeyFigure("server.last_token", "Last token", duration(float(course.last_token_s.max()))),
    )
    return HalfFigures(SHORT[course.run.knobs.policy], figures)


def _time(seconds: float | None) -> str:
    return "–" if seconds is None else duration(seconds)


def spoken(figures: HalfFigures) -> str:
    """The figures in a line."""
    return ", ".join(f"{figure.title} {figure.value}" for figure in figures.figures)


def lay_out_half(
    box: Box, figures: HalfFigures, course: Course, now: Pass | None, scale: float, measure: MeasureText
) -> HalfCard:
    """Figures from the top as far as there is room for them, the meters at the foot."""
    s, letters = scale, Lettering(scale, measure)
    pad = 14 * s
    inner = Box(box.x + pad, box.y + 10 * s, box.w - 2 * pad, box.h - 20 * s)
    texts: list[Text] = []
    places: list[Place] = []
    title = letters.fitted(figures.title, inner.w, 13, True)
    texts.append(letters.line(inner.x, inner.y, title, "text", 13, True))
    top = inner.y + 24 * s
    foot = inner.bottom - METERS * s
    rows = min(len(figures.figures), max(int((foot - top) / (ROW * s)), 1))
    pitch = min((foot - top) / rows, 1.8 * ROW * s)
    for number, figure in enumerate(figures.figures[:rows]):
        y, size = top + number * pitch, 21.0 if number == 0 else 16.0
        while size > 11 and letters.width(figure.value, size, True) > inner.w:
            size -= 1
        texts.append(letters.line(inner.x, y, figure.title, "muted", 12))
        texts.append(letters.line(inner.x, y + 15 * s, figure.value, figure.role, size, True))
        places.append(Place(figure.key, Box(box.x, y, box.w, pitch)))
    words = "now: idle" if now is None else f"now: {brief_words(now)}"
    texts.append(letters.line(inner.x, foot + 4 * s, letters.fitted(words, inner.w, 12), "muted", 12))
    machine = course.machine
    bars = []
    for number, (bound, share, ceiling) in enumerate(
        (
            (COMPUTE, now.compute_utilisation if now else 0.0, machine.compute_efficiency),
            (BANDWIDTH, now.bandwidth_utilisation if now else 0.0, machine.bandwidth_efficiency),
        )
    ):
        y = foot + (24 + 34 * number) * s
        value = percent(share)
        role = f"{bound}_text"
        texts.append(
            letters.line(
                inner.x, y, str(bound).capitalize(), role, 12, now is not None and now.bound == bound
            )
        )
        texts.append(letters.line(inner.right, y, value, "text", 12, True, "right"))
        well = Box(inner.x, y + 18 * s, inner.w, 10 * s)
        bars.append(Bar(str(bound), well, Box(well.x, well.y, well.w * min(share, 1.0), well.h),
                        well.x + well.w * ceiling))  # fmt: skip
    return HalfCard(box, tuple(texts), tuple(bars), tuple(places))


def meters_spoken(now: Pass | None) -> str:
    """What an engine does, in words."""
    if now is None:
        return "idle"
    return (
        f"{pass_words(now)}, {now.bound}-bound: compute {percent(now.compute_utilisation)}, "
        f"bandwidth {percent(now.bandwidth_utilisation)}"
    )
