"""FLOPs per byte on a logarithmic bar: where memory bandwidth is the limit, and where arithmetic is."""

from __future__ import annotations

import math

import msgspec

from pdviz.costmodel.bounds import BANDWIDTH, COMPUTE
from pdviz.costmodel.fidelities import PassCost
from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.lettering import Lettering
from pdviz.scene.marks.parts import Text
from pdviz.units import count, significant

LOW, HIGH = 0.5, 20_000.0
_UNITS = {"NVIDIA": "tensor cores", "AMD": "matrix cores"}


class Dot(msgspec.Struct, frozen=True):
    """A multiplication on the bar, its name above it; ``leader`` is where the name's line starts."""

    x: float
    intensity: float
    bound: str
    name: Text
    leader: float


class IntensityBar(msgspec.Struct, frozen=True):
    """``turn_x`` is where the limit changes, ``ridge_x`` where it would at full efficiency."""

    card: Box
    track: Box
    low: float
    high: float
    turn_x: float
    ridge_x: float
    dots: tuple[Dot, ...]
    ticks: tuple[tuple[float, Text], ...]
    texts: tuple[Text, ...]

    def to_px(self, intensity: float) -> float:
        """Where an intensity stands on the bar, held at its ends."""
        return _to_px(self.track, self.low, self.high, intensity)


def _to_px(track: Box, low: float, high: float, value: float) -> float:
    share = math.log(value / low) / math.log(high / low)
    return track.x + track.w * min(max(share, 0.0), 1.0)


def spread(centres: list[float], widths: list[float], gap: float, low: float, high: float) -> list[float]:
    """Left edges of labels that want to be centred where ``centres`` (ascending) are, none overlapping."""
    lefts: list[float] = []
    edge = low
    for centre, width in zip(centres, widths, strict=True):
        left = max(centre - width / 2, edge)
        lefts.append(left)
        edge = left + width + gap
    edge = high
    for i in range(len(lefts) - 1, -1, -1):
        lefts[i] = min(lefts[i], edge - widths[i])
        edge = lefts[i] - gap
    return lefts


def arithmetic_words(result: Result) -> str:
    """What multiplies on this accelerator, in its vendor's word."""
    return _UNITS.get(result.accelerator.vendor, "arithmetic units")


def build_intensity_bar(
    card: Box, costs: tuple[tuple[str, PassCost], ...], result: Result, pen: Lettering
) -> IntensityBar:
    """The bar with a dot for each named cost."""
    s = pen.scale
    machine = result.machine
    turn, ridge = machine.achievable_ridge_flops_per_byte, machine.ridge_flops_per_byte
    values = [cost.intensity_flops_per_byte for _, cost in costs]
    low, high = min(LOW, min(values) / 1.5, turn / 4), max(HIGH, max(values) * 1.5, turn * 4)
    title = pen.line(card.x + 16 * s, 0, "FLOPs per byte", "text", 13.5, True)
    hint = pen.line(card.x + 16 * s, 0, "log scale", "faint", 12)
    left = card.x + max(title.box.w, hint.box.w) + 40 * s
    track = Box(left, card.y + 34 * s, max(card.right - 24 * s - left, 1.0), 14 * s)
    title = pen.line(card.x + 16 * s, track.y - 9 * s, "FLOPs per byte", "text", 13.5, True)
    hint = pen.line(card.x + 16 * s, track.y + 9 * s, "log scale", "faint", 12)

    def x_of(value: float) -> float:
        return _to_px(track, low, high, value)

    order = sorted(range(len(costs)), key=lambda i: values[i])
    widths = [pen.width(costs[i][0], 12.5, True) for i in order]
    lefts = spread([x_of(values[i]) for i in order], widths, 12 * s, track.x - 12 * s, track.right + 12 * s)
    dots = []
    for i, name_x, width in zip(order, lefts, widths, strict=True):
        name, cost = costs[i]
        text = pen.line(name_x, track.y - 24 * s, name, "text", 12.5, True)
        x = x_of(values[i])
        leader = min(max(x, name_x + 4 * s), name_x + width - 4 * s)
        dots.append(Dot(x, values[i], cost.bound, text, leader))
    turn_x, ridge_x = x_of(turn), x_of(ridge)
    texts = [title, hint, *_zone_texts(track, turn, ridge, turn_x, result, pen)]
    return IntensityBar(
        card,
        track,
        low,
        high,
        turn_x,
        ridge_x,
        tuple(dots),
        _ticks(track, low, high, turn_x, pen),
        tuple(texts),
    )


def _ticks(
    track: Box, low: float, high: float, turn_x: float, pen: Lettering
) -> tuple[tuple[float, Text], ...]:
    """Powers of ten, but none under the mark of the ridge."""
    found = []
    edge = -math.inf
    for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1):
        x = _to_px(track, low, high, 10.0**power)
        name = count(10.0**power) if power >= 0 else significant(10.0**power, 1)
        text = pen.line(x, track.bottom + 2 * pen.scale, name, "faint", 11.5, False, "center")
        clear = abs(x - turn_x) > text.box.w / 2 + 5 * pen.scale
        if clear and text.box.x > edge:
            found.append((x, text))
            edge = text.box.right + 4 * pen.scale
    return tuple(found)


def _zone_texts(
    track: Box, turn: float, ridge: float, turn_x: float, result: Result, pen: Lettering
) -> list[Text]:
    """The mark's name below it, and what either side of it means where there is room."""
    s, y = pen.scale, track.bottom + 20 * pen.scale
    words = f"ridge {significant(ridge)}"
    if abs(turn - ridge) > 0.005 * ridge:
        words = f"ridge {significant(turn)} achieved, {significant(ridge)} peak"
    width = pen.width(words, 12.5, True)
    left = min(max(turn_x - width / 2, track.x), track.right - width)
    found = [pen.line(left, y, words, "text", 12.5, True)]
    units = arithmetic_words(result)
    gap = 14 * s
    for zones, bound, start, end in (
        ((f"{units} wait for bytes", "bandwidth-bound"), BANDWIDTH, track.x, left - gap),
        ((f"{units} are the limit", "compute-bound"), COMPUTE, left + width + gap, track.right),
    ):
        for zone in zones:
            if pen.width(zone, 12.5, True) <= end - start:
                found.append(pen.line((start + end) / 2, y, zone, f"{bound}_text", 12.5, True, "center"))
                break
    return found
