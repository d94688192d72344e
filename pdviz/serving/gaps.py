"""Gaps between tokens: how many of each length, without a list of tokens.

Within a record each gap is longer than the one before by the same amount; the first gap of a record spans
whatever lay between. All percentiles are exact.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from pdviz.serving.records import Numbers, Records, Seconds


class RangeMaximum:
    """Maxima of ``values`` over ranges of places."""

    _BLOCK = 32

    def __init__(self, values: Seconds) -> None:
        size = self._BLOCK
        padded = np.r_[values, np.full(-len(values) % size, -np.inf)].reshape(-1, size)
        self._values = padded
        self._up_to = np.maximum.accumulate(padded, axis=1)
        self._from = np.maximum.accumulate(padded[:, ::-1], axis=1)[:, ::-1]
        self._tables = [padded.max(axis=1) if len(padded) else np.zeros(0)]
        while len(self._tables[-1]) > (span := 1 << (len(self._tables) - 1)):
            table = self._tables[-1]
            self._tables.append(np.maximum(table[:-span], table[span:]))

    def over(self, low: Numbers, high: Numbers) -> Seconds:
        """The largest of values[low:high] for each pair; 0 where that is empty."""
        found = np.zeros(len(low))
        some = np.flatnonzero(high > low)
        if not len(some):
            return found
        first, last = low[some], high[some] - 1
        a, b = first // self._BLOCK, last // self._BLOCK
        best = np.empty(len(some))
        one = a == b
        best[one] = self._within(first[one], last[one])
        far = ~one
        best[far] = np.maximum(
            self._from[a[far], first[far] % self._BLOCK], self._up_to[b[far], last[far] % self._BLOCK]
        )
        apart = b - a - 1
        wide = np.flatnonzero(apart > 0)
        level = np.frexp(apart[wide].astype(float))[1] - 1
        for n in np.unique(level).tolist():
            which = wide[level == n]
            table, start, end = self._tables[n], a[which] + 1, b[which] - (1 << n)
            best[which] = np.maximum(best[which], np.maximum(table[start], table[end]))
        found[some] = best
        return found

    def _within(self, first: Numbers, last: Numbers) -> Seconds:
        flat = self._values.ravel()
        best: Seconds = flat[first]
        for ahead in range(1, self._BLOCK):
            more = np.flatnonzero(first + ahead <= last)
            if not len(more):
                break
            best[more] = np.maximum(best[more], flat[first[more] + ahead])
        return best


class Gaps:
    """Gaps between decode passes of one engine, by its records that have some (``record``).

    ``span_s`` is from the decode pass before to a record's first; ``next_s`` the gap after that, each
    further one longer by ``step_s``, ``inner`` of them. ``weight`` sequences see the inner ones,
    ``spanning`` of those the span.
    """

    def __init__(self, records: Records) -> None:
        stints = records.stints
        self.record = np.flatnonzero(records.steps > 0)
        count = records.steps[self.record]
        first_end_s = records.start_s[self.record] + records.first_s[self.record]
        ends_s = records.end_s[self.record]
        self.span_s = np.diff(ends_s, prepend=ends_s[:1]) * 0.0
        self.span_s[1:] = first_end_s[1:] - ends_s[:-1]
        self.step_s = records.step_s[self.record]
        self.next_s = records.first_s[self.record] + self.step_s
        self.inner = count - 1
        decoded = stints.steps > 0
        low = np.searchsorted(records.clock[self.record], stints.joined[decoded])
        high = np.searchsorted(records.clock[self.record], (stints.joined + stints.steps)[decoded])
        size = len(self.record)
        joins, leaves = np.bincount(low, minlength=size + 1), np.bincount(high, minlength=size + 1)
        self.weight = np.cumsum(joins - leaves)[:size]
        self.spanning = self.weight - joins[:size]

    @classmethod
    def of(cls, records: Records) -> Gaps:
        """The gaps of ``records``, made once."""
        found = records.__dict__.get("_gaps")
        if found is None:
            found = records.__dict__["_gaps"] = cls(records)
        return found

    @cached_property
    def inner_longest_s(self) -> Seconds:
        """The longest gap inside each record; 0 where it has none."""
        return np.where(self.inner > 0, self.next_s + self.step_s * (self.inner - 1), 0.0)

    @cached_property
    def longest_s(self) -> Seconds:
        """The longest gap of each record, its span included."""
        return np.maximum(self.span_s, self.inner_longest_s)


SAMPLE = 4096
"""Rows that are looked at for a guess."""


def _in_rows(value: float, first: Seconds, growth: Seconds, count: Numbers) -> Numbers:
    """How many values of each arithmetic row are at most ``value``."""
    n = np.where(first <= value, 1, 0)
    grows = np.flatnonzero((growth > 0) & (n > 0) & (count > 1))
    n[(growth <= 0) & (n > 0)] = count[(growth <= 0) & (n > 0)]
    ahead = (value - first[grows]) / growth[grows]
    steps = np.minimum(ahead, count[grows]).astype(np.int64) + 1
    steps -= first[grows] + growth[grows] * (steps - 1) > value
    steps += first[grows] + growth[grows] * steps <= value
    n[grows] = np.clip(steps, 1, count[grows])
    return n


class Distribution:
    """A distribution: single values with weights, and arithmetic rows (first, growth, count) with weights."""

    def __init__(self, values: Seconds, weights: Numbers, rows: tuple[Seconds, Seconds, Numbers, Numbers]):
        kept = weights > 0
        order = np.argsort(values[kept], kind="stable")
        self._values = values[kept][order]
        self._below = np.r_[0, np.cumsum(weights[kept][order])]
        self._total_s = float((values[kept] * weights[kept]).sum())
        some = (rows[2] > 0) & (rows[3] > 0)
        self._first, self._growth, self._count, self._weight = (
            rows[0][some], rows[1][some], rows[2][some], rows[3][some]
        )  # fmt: skip
        n, w = self._count, self._weight
        self.count = int(self._below[-1] + (n * w).sum())
        self._total_s += float((w * (n * self._first + self._growth * (n * (n - 1) / 2))).sum())

    @classmethod
    def of(cls, engines: list[Gaps], single_s: Seconds) -> Distribution:
        """Every gap between two tokens of one request."""
        values = np.concatenate([single_s, *(g.span_s for g in engines)])
        weights = np.concatenate([np.ones(len(single_s), np.int64), *(g.spanning for g in engines)])
        names = ("next_s", "step_s", "inner", "weight")
        rows = [np.concatenate([getattr(g, name) for g in engines]) for name in names]
        return cls(values, weights, (rows[0], rows[1], rows[2], rows[3]))

    @property
    def mean_s(self) -> float:
        return self._total_s / self.count if self.count else np.nan

    def at_most(self, value: float) -> int:
        """How many are at most ``value``."""
        found = int(self._below[np.searchsorted(self._values, value, "right")])
        return found + int((_in_rows(value, self._first, self._growth, self._count) * self._weight).sum())

    def nth(self, place: int) -> float:
        """The value with ``place`` ones before it in order (0: the smallest)."""
        low, high = self._bounds
        if self.at_most(low) > place:
            return low
        # between neighbours in floating point: the count decides. Rows on one side are counted no more.
        first, growth, count, weight, below = self._first, self._growth, self._count, self._weight, 0
        guesses = self._guesses(place)
        while True:
            middle = low + (high - low) / 2
            while guesses:
                guess = guesses.pop()
                if low < guess < high:
                    middle = guess
                    break
            if middle <= low or middle >= high:
                return high
            inside = _in_rows(middle, first, growth, count)
            found = below + int(self._below[np.searchsorted(self._values, middle, "right")])
            if found + int((inside * weight).sum()) > place:
                high, kept = middle, inside > 0
            else:
                low, kept = middle, inside < count
                below += int((count * weight)[~kept].sum())
            if not kept.all():
                first, growth, count, weight = first[kept], growth[kept], count[kept], weight[kept]

    def _guesses(self, place: int) -> list[float]:
        """Values a little below and above that one, by a sample of the rows; the rows soon are few then."""
        sample = slice(None, None, max(len(self._first) // SAMPLE, 1))
        first = self._first[sample]
        if not len(first):
            return []
        order = np.argsort(first, kind="stable")
        share = np.cumsum((self._count * self._weight)[sample][order])
        near = np.array([-0.02, 0.02]) + place / max(self.count, 1)
        found = np.searchsorted(share, np.clip(near, 0.0, 1.0) * share[-1])
        return [float(x) for x in first[order][np.minimum(found, len(first) - 1)]]

    @cached_property
    def _bounds(self) -> tuple[float, float]:
        ends = self._first + self._growth * (self._count - 1)
        every = [x for x in (self._values[:1], self._values[-1:], self._first, ends) if len(x)]
        return min(float(x.min()) for x in every), max(float(x.max()) for x in every)

    @property
    def longest_s(self) -> float:
        return self._bounds[1] if self.count else np.nan

    def percentile(self, percent: float) -> float:
        """As if all were listed: linear between the two nearest ranks. NaN where there are none."""
        if not self.count:
            return float("nan")
        rank = percent / 100 * (self.count - 1)
        below = int(rank)
        first = self.nth(below)
        if rank == below:
            return first
        return first + (self.nth(below + 1) - first) * (rank - below)
