"""Requests that come to a server: as arrays, checked, with what was left out and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from pdviz.errors import InputError

MOST_TOKENS = 2**31 - 1


class Rejected(msgspec.Struct, frozen=True):
    """A request that is not served, by the name it has in its file (or its position), with the reason."""

    id: str
    reason: str


class Workload(msgspec.Struct, frozen=True):
    """Requests in order of arrival, equal ones in order of the file.

    ``ids`` names them where the file does (None: by position). ``rejected`` lists the rows that could not
    be requests. ``description`` says in a line what it is.
    """

    arrival_s: npt.NDArray[np.float64]
    prompt_tokens: npt.NDArray[np.int64]
    output_tokens: npt.NDArray[np.int64]
    cached_tokens: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int64]
    ids: tuple[str, ...] | None = None
    rejected: tuple[Rejected, ...] = ()
    description: str = ""

    def __len__(self) -> int:
        return len(self.arrival_s)

    def name(self, number: int) -> str:
        """What request ``number`` is called."""
        return str(self.positions[number]) if self.ids is None else self.ids[number]

    @property
    def rows(self) -> list[tuple[float, int, int, int]]:
        """(arrival, prompt, output, cached) of each request."""
        columns = (self.arrival_s, self.prompt_tokens, self.output_tokens, self.cached_tokens)
        return list(zip(*(c.tolist() for c in columns), strict=True))


def workload(
    arrival_s: npt.ArrayLike,
    prompt_tokens: npt.ArrayLike,
    output_tokens: npt.ArrayLike,
    cached_tokens: npt.ArrayLike | None = None,
    *,
    ids: Sequence[str] | None = None,
    faults: Mapping[int, str] | None = None,
    description: str = "",
) -> Workload:
    """Requests from columns, sorted stably by arrival. What cannot be a request is left out and listed.

    Columns may hold NaN (nothing there); ``faults`` are rows that are known to be none, and why. At least
    one request must be left; else InputError.
    """
    arrival = np.asarray(arrival_s, np.float64)
    prompt, output = np.asarray(prompt_tokens, np.float64), np.asarray(output_tokens, np.float64)
    cached = np.zeros(len(arrival)) if cached_tokens is None else np.asarray(cached_tokens, np.float64)
    columns = {"arrival": arrival, "prompt": prompt, "output": output, "cached": cached}
    if len({len(column) for column in columns.values()}) > 1:
        raise InputError("workload: expected columns of equal length")

    def called(row: int) -> str:
        return str(row) if ids is None else ids[row]

    good = np.ones(len(arrival), bool)
    left_out = [Rejected(called(row), reason) for row, reason in (faults or {}).items()]
    good[list(faults or {})] = False

    def leave_out(bad: npt.NDArray[np.bool_], reason: str, values: npt.NDArray[np.float64]) -> None:
        for row in np.flatnonzero(bad & good).tolist():
            left_out.append(Rejected(called(row), reason.format(f"{values[row]:.15g}")))
        good[bad] = False

    with np.errstate(invalid="ignore"):
        leave_out(~np.isfinite(arrival), "the arrival time is no number", arrival)
        leave_out(arrival < 0, "an arrival at {} s, before the start", arrival)
        for name, values in (("prompt", prompt), ("output", output), ("cached prefix", cached)):
            leave_out(~np.isfinite(values), f"the {name} length is no number", values)
            leave_out(values != np.floor(values), f"the {name} length {{}} is no whole number", values)
        leave_out(prompt < 1, "a prompt of {} tokens", prompt)
        leave_out(output < 1, "no tokens come out (an output of {})", output)
        leave_out(cached < 0, "a cached prefix of {} tokens", cached)
        leave_out(cached >= prompt, "a cached prefix of {} tokens leaves nothing to compute", cached)
        leave_out(np.maximum(prompt, output) > MOST_TOKENS, "more than 2,147,483,647 tokens", prompt)
    if not good.any():
        reason = f": {left_out[0].reason}" if left_out else ""
        raise InputError(f"{description or 'workload'}: expected at least one request{reason}")
    kept = np.flatnonzero(good)
    kept = kept[np.argsort(arrival[kept], kind="stable")]
    return Workload(
        arrival[kept],
        prompt[kept].astype(np.int64),
        output[kept].astype(np.int64),
        cached[kept].astype(np.int64),
        kept,
        None if ids is None else tuple(ids[row] for row in kept.tolist()),
        tuple(left_out),
        description,
    )


def from_rows(rows: Sequence[Sequence[float]], description: str = "") -> Workload:
    """Requests as (arrival_s, prompt, output[, cached]) tuples."""
    filled = [(*row, 0)[:4] for row in rows]
    columns: list[list[float]] = [list(column) for column in zip(*filled, strict=True)] or [[]] * 4
    return workload(*columns, description=description)
