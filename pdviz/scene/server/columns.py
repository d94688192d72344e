"""Values of many records by the pixel: what stands out is kept, at a cost that goes with the pixels."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from pdviz.serving.records import Numbers, Seconds

FACTOR = 8
MOST = 16_384
"""Values that are looked at one by one; of more, the largest of each few."""


class Peaks:
    """Finds the largest of ``values`` in stretches of them."""

    def __init__(self, values: Seconds) -> None:
        self._levels: list[tuple[Seconds, Numbers]] = [(values, np.arange(len(values)))]
        while len(self._levels[-1][0]) > MOST:
            above, places = self._levels[-1]
            padded = np.append(above, np.full(-len(above) % FACTOR, -np.inf)).reshape(-1, FACTOR)
            best = padded.argmax(axis=1) + np.arange(len(padded)) * FACTOR
            self._levels.append((above[best], places[best]))

    def largest(self, edges: Numbers) -> Numbers:
        """The place of the largest value between neighbours of ascending ``edges``; -1 where there is none.

        Where there are far more values than edges, an edge may lie a small share of its stretch off.
        """
        found = np.full(max(len(edges) - 1, 0), -1)
        if len(edges) < 2:
            return found
        level, span = 0, int(edges[-1] - edges[0])
        while span > 4 * MOST and level + 1 < len(self._levels):
            level, span = level + 1, span // FACTOR
        values, places = self._levels[level]
        step = FACTOR**level
        inner = np.minimum(-(-edges // step) if level else edges, len(values))
        low, high = int(inner[0]), int(inner[-1])
        if high <= low:
            return found
        order = np.argsort(values[low:high], kind="stable")
        rank = np.empty(high - low, np.int64)
        rank[order] = np.arange(high - low)
        some = np.flatnonzero(inner[1:] > inner[:-1])
        best = np.maximum.reduceat(rank, inner[:-1][some] - low)
        found[some] = places[low:high][order[best]]
        return found


def stretches(keys: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """(first, end) of the runs of equal keys."""
    if not len(keys):
        return []
    cuts = [0, *(np.flatnonzero(np.diff(keys)) + 1).tolist(), len(keys)]
    return list(itertools.pairwise(cuts))
