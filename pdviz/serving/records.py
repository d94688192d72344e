"""What an engine did, as arrays: passes, who was in them, and the times of tokens, made when asked for.

A *stint* is a request's stay on an engine, from the pass that admits it to its last token or until it is
preempted. Every decode pass carries every sequence that decodes, so that a stint's tokens are a range of
the engine's decode passes, counted by its *clock*; joins and leaves fall on the ends of records.
"""

from __future__ import annotations

from functools import cached_property

import msgspec
import numpy as np
import numpy.typing as npt

from pdviz.serving.log import RECORD_FIELDS, Log

Seconds = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


def ordinals(keys: Numbers) -> Numbers:
    """For each key, how many equal ones come before it."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(keys) else order
    counts = np.diff(np.r_[first, len(keys)])
    found = np.empty(len(keys), np.int64)
    found[order] = np.arange(len(keys)) - np.repeat(first, counts)
    return found


def table(log: Log) -> npt.NDArray[np.void]:
    """The records of a log, with a column for each of their fields."""
    kinds = ["f8" if code == "d" else "i4" for code in "dddddii"]
    return np.frombuffer(log.records, np.dtype(list(zip(RECORD_FIELDS, kinds, strict=True))), log.count)


def _running(counts: Numbers) -> Numbers:
    """The sum of the counts before each, and of all."""
    summed: Numbers = np.append(0, np.cumsum(counts))
    return summed


class Stints(msgspec.Struct, frozen=True):
    """Parallel arrays, in order of admission.

    ``first`` and ``last`` are the records with the first and last piece of its prompt, ``out`` the tokens
    that came, ``ended`` the record before which it was preempted (-1: it finished), ``done`` whether its
    prefill was. ``joined`` is the clock after which its decode passes begin, ``steps`` their number.
    """

    request: Numbers
    first: Numbers
    last: Numbers
    out: Numbers
    ended: Numbers
    done: npt.NDArray[np.bool_]
    joined: Numbers
    steps: Numbers


class Records:
    """One engine's log. ``prompts`` and ``outputs`` are the tokens of each served request; ``decodes_only``
    where prompts are computed elsewhere, ``prefills_only`` where all leave with their first token."""

    def __init__(
        self,
        log: Log,
        prompts: Numbers,
        outputs: Numbers,
        decodes_only: bool = False,
        prefills_only: bool = False,
    ) -> None:
        self.log, self.prompts, self.outputs = log, prompts, outputs
        self.decodes_only, self.prefills_only = decodes_only, prefills_only
        self._table = table(log)
        self.start_s = self._column("start_s")
        self.compute_s, self.memory_s = self._column("compute_s"), self._column("memory_s")
        self.compute_step_s = self._column("compute_step_s")
        self.memory_step_s = self._column("memory_step_s")
        self.steps = self._table["steps"].astype(np.int64)
        self.pieces = self._table["pieces"].astype(np.int64)

    def __len__(self) -> int:
        return len(self.start_s)

    def _column(self, name: str) -> Seconds:
        values: Seconds = self._table[name]
        return values

    @cached_property
    def carries_prompts(self) -> npt.NDArray[np.bool_]:
        """Which records are one pass with pieces of prompts."""
        return np.zeros(len(self), bool) if self.decodes_only else self.pieces > 0

    @cached_property
    def first_s(self) -> Seconds:
        """Duration of each record's first pass."""
        longer: Seconds = np.maximum(self.compute_s, self.memory_s)
        return longer

    @cached_property
    def step_s(self) -> Seconds:
        """By how much each further pass of a record is longer."""
        compute, memory = self.compute_step_s, self.memory_step_s
        growth = np.where(self.compute_s >= self.memory_s, compute, memory)
        return np.where(self.carries_prompts, 0.0, growth)

    @cached_property
    def passes(self) -> Numbers:
        """Passes of each record."""
        return np.maximum(self.steps, 1)

    @cached_property
    def end_s(self) -> Seconds:
        return self.start_s + self.elapsed_s(np.arange(len(self)), self.passes)

    def elapsed_s(self, record: Numbers, steps: Numbers) -> Seconds:
        """Seconds that the first ``steps`` passes of records take."""
        return steps * self.first_s[record] + self.step_s[record] * (steps * (steps - 1) / 2)

    @cached_property
    def clock(self) -> Numbers:
        """Decode passes before each record, and in all."""
        return _running(self.steps)

    @cached_property
    def alone_s(self) -> Seconds:
        """Seconds that decode slices alone take, summed over the records before each, and in all."""
        compute, memory = self.compute_step_s, self.memory_step_s
        own = np.where(self.carries_prompts, np.maximum(compute, memory), self.end_s - self.start_s)
        summed: Seconds = np.append(0.0, np.cumsum(own))
        return summed

    def record_of(self, step: Numbers) -> Numbers:
        """The record with decode pass ``step`` (1, 2, ...)."""
        return np.searchsorted(self.clock, step, "left") - 1

    def boundary_s(self, record: int, passes: int) -> float:
        """When ``passes`` passes of a record have ended."""
        growth = float(self.step_s[record]) * (passes * (passes - 1) / 2)
        return float(self.start_s[record]) + passes * float(self.first_s[record]) + growth

    def step_end_s(self, step: Numbers) -> Seconds:
        """When decode pass ``step`` (1, 2, ...) ends."""
        record = self.record_of(step)
        return self.start_s[record] + self.elapsed_s(record, step - self.clock[record])

    # --- who is there

    def _balance(
        self, joins: Numbers, leaves: Numbers, weights: tuple[Numbers, Numbers] | None = None
    ) -> Numbers:
        """What is there during each record, of what comes with one record and goes before another."""
        size = len(self) + 1
        came = np.bincount(joins, None if weights is None else weights[0], size)
        went = np.bincount(leaves, None if weights is None else weights[1], size)
        return np.cumsum(came - went)[: len(self)].astype(np.int64)

    @cached_property
    def leaves(self) -> Numbers:
        """For each stint the record with which it is no longer there; the number of all where it stays."""
        s = self.stints
        found = np.where(s.done, s.last + 1, len(self))
        decoded = s.steps > 0
        found[decoded] = self.record_of((s.joined + s.steps)[decoded]) + 1
        found[s.ended >= 0] = s.ended[s.ended >= 0]
        return found

    @cached_property
    def stays(self) -> npt.NDArray[np.bool_]:
        """Which stints go on after their prefill."""
        return self.stints.done & ((self.stints.steps > 0) | (self.stints.ended >= 0))

    @cached_property
    def decoders(self) -> Numbers:
        """Sequences that have their prefill behind them and tokens to come, during each record."""
        s, stays = self.stints, self.stays
        joins = (s.first if self.decodes_only else s.last + 1)[stays]
        return self._balance(joins, self.leaves[stays])

    @cached_property
    def held(self) -> Numbers:
        """KV tokens that are taken at the start of each record, its own prompts' included."""
        s = self.stints
        tokens = self.stint_prompts
        kept = self._balance(s.first, self.leaves, (tokens, tokens + np.where(s.done, s.steps, 0)))
        grown = np.where(self.steps > 0, self.decoders * self.steps, 0)
        return kept + np.append(0, np.cumsum(grown)[:-1]) if len(self) else kept

    # --- pieces and stints

    @cached_property
    def piece_request(self) -> Numbers:
        return np.asarray(self.log.piece_request, np.int64)

    @cached_property
    def piece_new(self) -> Numbers:
        return np.asarray(self.log.piece_new, np.int64)

    @cached_property
    def piece_start(self) -> Numbers:
        """The first piece of each record, and the number of all."""
        return _running(self.pieces)

    @cached_property
    def piece_record(self) -> Numbers:
        return np.repeat(np.arange(len(self)), self.pieces)

    @cached_property
    def _preempted(self) -> Numbers:
        """(record, request, tokens out) rows."""
        return np.asarray(self.log.preempted, np.int64).reshape(-1, 3)

    @cached_property
    def stint_start(self) -> Numbers:
        """The first piece of each stint: pieces of one stint follow each other."""
        request = self.piece_request
        begins = np.r_[True, request[1:] != request[:-1]] if len(request) else np.zeros(0, bool)
        again = np.searchsorted(self.piece_record, self._preempted[:, 0])
        inside = again < len(request)
        again, who = again[inside], self._preempted[inside, 1]
        begins[again[request[again] == who]] = True
        return np.flatnonzero(begins)

    @cached_property
    def stints(self) -> Stints:
        start = self.stint_start
        request = self.piece_request[start]
        first = self.piece_record[start]
        last = self.piece_record[np.append(start, len(self.piece_request))[1:] - 1]
        order = np.argsort(request, kind="stable")
        lost, who, tokens = self._preempted.T
        by_request = request[order]
        hit = order[np.searchsorted(by_request, who) + ordinals(who)]
        ended = np.full(len(start), -1)
        ended[hit] = lost
        out = np.zeros(len(start), np.int64)
        out[hit] = tokens
        before = np.bincount(who, tokens, len(self.outputs)).astype(np.int64)
        finished = ended < 0
        out[finished] = (self.outputs - before)[request[finished]]
        done = out > 0
        if self.decodes_only:
            out = out - 1
            return Stints(request, first, last, out, ended, done, self.clock[first], out)
        if self.prefills_only:
            out[out > 1] = 1
        return Stints(request, first, last, out, ended, done, self.clock[last + 1], np.maximum(out - 1, 0))

    @cached_property
    def _by_request(self) -> tuple[Numbers, Numbers]:
        """Stints in order of their requests, and where each request's begin."""
        order = np.argsort(self.stints.request, kind="stable")
        starts = np.searchsorted(self.stints.request[order], np.arange(len(self.outputs) + 1))
        return order, starts

    def stints_of(self, request: int) -> Numbers:
        """The stints of a request, the first one first."""
        order, starts = self._by_request
        return order[starts[request] : starts[request + 1]]

    @cached_property
    def repeats(self) -> npt.NDArray[np.bool_]:
        """Which stints follow a preemption."""
        repeats: npt.NDArray[np.bool_] = ordinals(self.stints.request) > 0
        return repeats

    def preempted_before(self, record: int) -> int:
        """How many were preempted up to the beginning of a record."""
        return int(np.searchsorted(self._preempted[:, 0], record, "right"))

    @cached_property
    def stint_prompts(self) -> Numbers:
        """Tokens that each stint's prefill stands for: its prompt, and what had come before a preemption."""
        s = self.stints
        order = np.argsort(s.request, kind="stable")
        request, out = s.request[order], s.out[order]
        before = np.cumsum(out) - out
        first = np.flatnonzero(np.append(True, request[1:] != request[:-1])) if len(order) else order
        before -= np.repeat(before[first], np.diff(np.append(first, len(order))))
        found = np.empty(len(order), np.int64)
        found[order] = self.prompts[request] + before
        return found
