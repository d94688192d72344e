"""A measured stretch of a request: how long, which passes and tokens, the mean latency in it."""

from __future__ import annotations

import msgspec

from pdviz.costmodel.request import RequestCost
from pdviz.units import duration, plural


class Measure(msgspec.Struct, frozen=True):
    """What lies between two moments, seconds. A token counts where it appears, at the end of its pass.

    ``itl_s`` is the mean gap between the tokens inside; None where there are fewer than two.
    """

    start_s: float
    end_s: float
    passes: int
    tokens: int
    itl_s: float | None

    @property
    def duration_s(self) -> float:
        return self.end_s - self.start_s

    @property
    def words(self) -> str:
        """All of it in one line."""
        parts = [duration(self.duration_s), plural(self.passes, "pass"), plural(self.tokens, "token")]
        if self.itl_s is not None:
            parts.append(f"mean ITL {duration(self.itl_s)}")
        return " · ".join(parts)


def measure(request: RequestCost, one_s: float, other_s: float) -> Measure:
    """What lies between two moments of a request, in either order. Costs the same at any length."""
    start_s, end_s = sorted(min(max(t, 0.0), request.e2e_s) for t in (one_s, other_s))
    first = request.tokens_out_at(start_s)
    last = request.tokens_out_at(end_s)
    tokens = last - first
    itl_s = None
    if tokens > 1:
        itl_s = (request.pass_end_s(last - 1) - request.pass_end_s(first)) / (tokens - 1)
    touched = request.pass_at(end_s) - request.pass_at(start_s) + 1
    if request.pass_start_s(request.pass_at(end_s)) >= end_s > start_s:
        touched -= 1
    return Measure(start_s, end_s, touched, tokens, itl_s)
