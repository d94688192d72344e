"""The figures by which servers are judged."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from pdviz.serving.gaps import Distribution
from pdviz.serving.outcome import Outcome
from pdviz.serving.records import Seconds

PERCENTS = (50, 90, 99)


class Spread(msgspec.Struct, frozen=True):
    """A distribution in five figures; None where there is nothing to say."""

    mean: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    max: float | None

    @classmethod
    def of(cls, values: Seconds) -> Spread:
        """Of values that are listed; percentiles linear between the nearest ranks."""
        if not len(values):
            return cls(None, None, None, None, None)
        p50, p90, p99 = np.percentile(values, PERCENTS).tolist()
        return cls(float(values.mean()), p50, p90, p99, float(values.max()))

    @classmethod
    def of_gaps(cls, gaps: Distribution) -> Spread:
        """The same of gaps that are not listed."""
        if not gaps.count:
            return cls(None, None, None, None, None)
        p50, p90, p99 = (gaps.percentile(percent) for percent in PERCENTS)
        return cls(gaps.mean_s, p50, p90, p99, gaps.longest_s)


class Targets(msgspec.Struct, frozen=True):
    """What a user accepts: a wait for the first token, and for every further one."""

    ttft_s: float = math.inf
    itl_s: float = math.inf


class Summary(msgspec.Struct, frozen=True):
    """A run in figures. The makespan is from the first arrival to the last token.

    ``goodput_requests_per_s`` counts requests whose first token and whose every gap met the targets.
    """

    ttft_s: Spread
    itl_s: Spread
    e2e_s: Spread
    tokens_per_s: float
    requests_per_s: float
    goodput_requests_per_s: float
    makespan_s: float


def meets(outcome: Outcome, targets: Targets) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which requests met the targets."""
    good = outcome.ttft_s <= targets.ttft_s
    if targets.itl_s < math.inf:
        good &= outcome.longest_gap_s <= targets.itl_s
    return good


def summary(outcome: Outcome, targets: Targets | None = None) -> Summary:
    """All figures of a run; rates are 0 where nothing was served."""
    count = len(outcome)
    makespan_s = float(outcome.last_token_s.max() - outcome.arrival_s.min()) if count else 0.0
    per_s = 1 / makespan_s if makespan_s else 0.0
    return Summary(
        ttft_s=Spread.of(outcome.ttft_s),
        itl_s=Spread.of_gaps(outcome.gaps),
        e2e_s=Spread.of(outcome.e2e_s),
        tokens_per_s=float(outcome.outputs.sum()) * per_s,
        requests_per_s=count * per_s,
        goodput_requests_per_s=int(meets(outcome, targets or Targets()).sum()) * per_s,
        makespan_s=makespan_s,
    )
