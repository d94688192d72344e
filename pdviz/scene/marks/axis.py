"""The time axis: model seconds to pixels and back, zoom, pan, ticks."""

from __future__ import annotations

import math

import msgspec

from pdviz.units import significant


class TimeAxis(msgspec.Struct, frozen=True):
    """A linear map of ``start_s`` .. ``end_s`` onto ``left_px`` .. ``left_px + width_px``."""

    start_s: float
    end_s: float
    left_px: float
    width_px: float

    @property
    def span_s(self) -> float:
        return self.end_s - self.start_s

    @property
    def px_per_s(self) -> float:
        return self.width_px / self.span_s

    def to_px(self, time_s: float) -> float:
        return self.left_px + (time_s - self.start_s) * (self.width_px / self.span_s)

    def to_s(self, x_px: float) -> float:
        return self.start_s + (x_px - self.left_px) * (self.span_s / self.width_px)

    def clipped_px(self, time_s: float) -> float:
        """Like ``to_px``, held inside the axis (so that no far coordinate reaches a painter)."""
        return self.left_px + min(max((time_s - self.start_s) / self.span_s, 0.0), 1.0) * self.width_px

    def contains(self, time_s: float) -> bool:
        return self.start_s <= time_s <= self.end_s


class Window(msgspec.Struct, frozen=True):
    """A stretch of time that is in view, seconds."""

    start_s: float
    end_s: float

    @property
    def span_s(self) -> float:
        return self.end_s - self.start_s

    def zoomed(self, factor: float, anchor_s: float, whole_s: float, least_s: float) -> Window:
        """``factor`` times closer about ``anchor_s``, which stays where it is unless an end is met."""
        span = min(max(self.span_s / factor, least_s), whole_s)
        share = (anchor_s - self.start_s) / self.span_s
        return Window(anchor_s - share * span, anchor_s - share * span + span).held(whole_s)

    def panned(self, by_s: float, whole_s: float) -> Window:
        return Window(self.start_s + by_s, self.end_s + by_s).held(whole_s)

    def held(self, whole_s: float) -> Window:
        """Moved (and cut) so that it lies inside 0 .. ``whole_s``."""
        span = min(self.span_s, whole_s)
        start = min(max(self.start_s, 0.0), whole_s - span)
        return Window(start, start + span)

    def towards(self, other: Window, share: float) -> Window:
        """Between this and another, ``share`` of the way."""
        return Window(
            self.start_s + (other.start_s - self.start_s) * share,
            self.end_s + (other.end_s - self.end_s) * share,
        )

    def showing(self, time_s: float, whole_s: float, lead: float = 0.1) -> Window:
        """Turned like a page where ``time_s`` has left it: the time then stands ``lead`` from the left."""
        if self.start_s <= time_s <= self.end_s:
            return self
        return Window(time_s - lead * self.span_s, time_s + (1 - lead) * self.span_s).held(whole_s)


def automatic_window(
    ttft_s: float, itl_s: float | None, e2e_s: float, current: Window | None = None
) -> Window:
    """A view from the start in which both phases can be seen.

    Prefill takes 4 % to 60 % of it and 8 to 60 decode steps are in it, as far as both can be had;
    where prefill is a quarter of the request, that is all of it, and the view grows towards it without
    a jump. A ``current`` view that meets this keeps its length, so that dragging a control moves
    nothing that need not move.
    """
    if itl_s is None:
        return Window(0.0, e2e_s)
    low = min(max(ttft_s / 0.6, 8 * itl_s + ttft_s), e2e_s)
    towards_all = min(max((ttft_s / e2e_s - 0.1) / 0.15, 0.0), 1.0)
    low += (e2e_s - low) * towards_all
    high = max(min(ttft_s / 0.04, 60 * itl_s + ttft_s, e2e_s), low)
    wanted = ttft_s + 18 * itl_s if current is None else current.span_s
    return Window(0.0, min(min(max(wanted, low), high), e2e_s))


_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


class Tick(msgspec.Struct, frozen=True):
    time_s: float
    label: str


def ticks(window: Window, most: int) -> list[Tick]:
    """At most ``most`` + 1 round times inside ``window``, in one unit for all of them."""
    step = _round_step(window.span_s / max(most, 1))
    scale, unit = next(((s, u) for s, u in _UNITS if step >= s * 0.999), _UNITS[-1])
    if window.end_s >= 1 and unit == "ms":
        scale, unit = 1.0, "s"
    decimals = max(0, -math.floor(math.log10(step / scale * 1.0001)))
    first = math.ceil(window.start_s / step - 1e-9)
    last = math.floor(window.end_s / step + 1e-9)
    found = []
    for index in range(first, last + 1):
        time_s = index * step
        found.append(Tick(time_s, "0" if index == 0 else f"{time_s / scale:,.{decimals}f} {unit}"))
    return found


def _round_step(rough: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below ``rough``."""
    power = 10.0 ** math.floor(math.log10(rough))
    for factor in (1, 2, 5, 10):
        if factor * power >= rough * 0.999999:
            return factor * power
    return 10 * power


def slow_motion(rate: float) -> str:
    """The factor between model time and wall time, in words.

    >>> slow_motion(0.1), slow_motion(1.0), slow_motion(2.0), slow_motion(0.015)
    ('slowed 10×', 'real time', 'sped up 2×', 'slowed 66.7×')
    """
    if abs(rate - 1) < 1e-9:
        return "real time"
    factor = 1 / rate if rate < 1 else rate
    text = f"{factor:,.0f}" if abs(factor - round(factor)) < 1e-6 else significant(factor)
    return f"{'slowed' if rate < 1 else 'sped up'} {text}×"
