"""One engine of a run over time: its passes, who decodes in them, what stalls, what KV is held."""

from __future__ import annotations

import math
from functools import cached_property

import msgspec
import numpy as np
import numpy.typing as npt

from pdviz.costmodel.bounds import BANDWIDTH, COMPUTE
from pdviz.costmodel.roofline import Machine
from pdviz.scene.server.columns import Peaks
from pdviz.serving.gaps import Gaps
from pdviz.serving.records import Numbers, Records, Seconds

_NAMES = str(BANDWIDTH), str(COMPUTE)


def bound_name(is_compute: bool) -> str:
    """What limits a pass: compute, or else bandwidth."""
    return _NAMES[bool(is_compute)]


class Stalls(msgspec.Struct, frozen=True):
    """Waits that all sequences of a batch share: parallel arrays in order of time, apart from each other.

    One is that of the sequences that joined at most ``joined`` decode passes after the start and stay for
    ``stays`` of them. ``longest_s`` is the longest gap in it (many, where each pass takes too long).
    ``is_compute``: the longest pass in it is bound by compute.
    """

    start_s: Seconds
    end_s: Seconds
    longest_s: Seconds
    joined: Numbers
    stays: Numbers
    streams: Numbers
    is_compute: npt.NDArray[np.bool_]


class Pass(msgspec.Struct, frozen=True):
    """One pass: number ``index`` of its engine, of which ``record``, ``step`` passes after its start."""

    index: int
    record: int
    step: int
    start_s: float
    end_s: float
    compute_s: float
    memory_s: float
    prompt_tokens: int
    decoders: int
    compute_utilisation: float
    bandwidth_utilisation: float

    @property
    def bound(self) -> str:
        return bound_name(self.compute_s >= self.memory_s)

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.decoders


def _largest(values: Seconds, low: Numbers, high: Numbers) -> Seconds:
    """The largest of values[low:high] of ascending stretches that do not overlap."""
    if not len(low):
        return np.zeros(0)
    ends = np.empty(2 * len(low), np.int64)
    ends[::2], ends[1::2] = low, high
    found: Seconds = np.maximum.reduceat(np.append(values, 0.0), ends)[::2]
    return found


class Engine:
    """What is asked of one engine. ``stall_s``: a wait for a token that is longer is a stall."""

    def __init__(self, records: Records, machine: Machine, stall_s: float) -> None:
        self.records, self.machine, self.stall_s = records, machine, stall_s
        self.start_s, self.end_s, self.counts = records.start_s, records.end_s, records.passes
        self.before = np.append(0, np.cumsum(self.counts))
        self.longest_s = np.maximum(records.first_s, records.first_s + records.step_s * (self.counts - 1))
        self.is_compute = records.compute_s >= records.memory_s
        pieces = np.append(0, np.cumsum(records.piece_new))[records.piece_start]
        self.prompt_tokens = np.diff(pieces)
        self.decoders = np.where(records.steps > 0, records.decoders, 0)
        self.tokens = self.prompt_tokens + self.decoders

    @property
    def passes(self) -> int:
        return int(self.before[-1])

    @cached_property
    def peaks(self) -> Peaks:
        """The longest pass of each record."""
        return Peaks(self.longest_s)

    @cached_property
    def decoded_before(self) -> Numbers:
        """Tokens that decode passes gave before each record, and in all."""
        summed: Numbers = np.append(0, np.cumsum(self.decoders * self.records.steps))
        return summed

    # --- passes, by their number on this engine

    def record_at(self, time_s: float) -> int:
        """The record under way or the last before; the first where there is none before."""
        return max(int(np.searchsorted(self.start_s, time_s, "right")) - 1, 0)

    def _place(self, index: int) -> tuple[int, int]:
        """The record of a pass, and how many of its passes come before."""
        record = int(np.searchsorted(self.before, index, "right")) - 1
        return record, index - int(self.before[record])

    def pass_start_s(self, index: int) -> float:
        return self.records.boundary_s(*self._place(index))

    def pass_end_s(self, index: int) -> float:
        record, step = self._place(index)
        end_s = self.records.boundary_s(record, step + 1)
        if step + 1 < self.counts[record] or record + 1 == len(self.start_s):
            return end_s
        return min(end_s, float(self.start_s[record + 1]))

    def pass_at(self, time_s: float) -> int:
        """The pass under way or the last before."""
        record = self.record_at(time_s)
        since_s = time_s - float(self.start_s[record])
        first_s, growth_s = float(self.records.first_s[record]), float(self.records.step_s[record])
        half = first_s - growth_s / 2
        root = math.sqrt(max(half * half + 2 * growth_s * max(since_s, 0.0), 0.0))
        step = int(2 * max(since_s, 0.0) / (half + root)) if half + root > 0 else 0
        last = int(self.counts[record]) - 1
        index = int(self.before[record]) + min(max(step, 0), last)
        lowest, highest = int(self.before[record]), int(self.before[record]) + last
        while index > lowest and self.pass_start_s(index) > time_s:
            index -= 1
        while index < highest and self.pass_start_s(index + 1) <= time_s:
            index += 1
        return index

    def one_pass(self, index: int) -> Pass:
        """All there is to say of a pass."""
        record, step = self._place(index)
        r = self.records
        mixed = bool(r.carries_prompts[record])
        compute_s = float(r.compute_s[record]) + (0.0 if mixed else step * float(r.compute_step_s[record]))
        memory_s = float(r.memory_s[record]) + (0.0 if mixed else step * float(r.memory_step_s[record]))
        took_s = max(compute_s, memory_s)
        return Pass(
            index, record, step, self.pass_start_s(index), self.pass_end_s(index), compute_s, memory_s,
            int(self.prompt_tokens[record]), int(self.decoders[record]),
            self.machine.compute_efficiency * compute_s / took_s,
            self.machine.bandwidth_efficiency * memory_s / took_s,
        )  # fmt: skip

    def carried(self, record: int) -> tuple[Numbers, Numbers]:
        """(requests, new tokens of prompt) of the pieces in a record, those with a prompt alone."""
        low, high = self.records.piece_start[record : record + 2].tolist()
        new = self.records.piece_new[low:high]
        return self.records.piece_request[low:high][new > 0], new[new > 0]

    def longest_between(self, start_s: float, end_s: float) -> int:
        """The record with the longest pass of those under way between two moments; -1: none."""
        low = int(np.searchsorted(self.end_s, start_s, "right"))
        high = max(int(np.searchsorted(self.start_s, end_s, "left")), low + 1)
        return int(self.peaks.largest(np.array([low, high]))[0])

    # --- shares of the peaks

    @cached_property
    def _busy_s(self) -> tuple[Seconds, Seconds, Seconds]:
        """Times, and seconds of arithmetic and of traffic up to each: straight between them."""
        r, n = self.records, self.counts
        turns = np.where(r.carries_prompts, 0.0, n * (n - 1) / 2)
        times = np.empty(2 * len(n))
        times[::2], times[1::2] = self.start_s, self.end_s
        sums = []
        for first_s, step_s in ((r.compute_s, r.compute_step_s), (r.memory_s, r.memory_step_s)):
            total = np.cumsum(n * first_s + turns * step_s)
            line = np.empty(2 * len(n))
            line[::2], line[1::2] = np.append(0.0, total[:-1]), total
            sums.append(line)
        return times, sums[0], sums[1]

    def utilisations(self, edges_s: Seconds) -> tuple[Seconds, Seconds]:
        """Mean shares of peak compute and of peak bandwidth between neighbouring moments."""
        if not len(self.start_s):
            return np.zeros(len(edges_s) - 1), np.zeros(len(edges_s) - 1)
        times, compute, memory = self._busy_s
        width = np.diff(edges_s)
        used = [np.diff(np.interp(edges_s, times, line)) / width for line in (compute, memory)]
        return used[0] * self.machine.compute_efficiency, used[1] * self.machine.bandwidth_efficiency

    # --- stints, by request

    def stints_of(self, requests: Numbers) -> Numbers:
        """The stints of some requests, those of one after those of the other."""
        found = [self.records.stints_of(request) for request in requests.tolist()]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    @cached_property
    def came_s(self) -> Seconds:
        """When the prefill of each stint ends, or it joins where it only decodes."""
        s, r = self.records.stints, self.records
        return r.start_s[s.first] if r.decodes_only else r.end_s[s.last]

    @cached_property
    def first_decode_s(self) -> Seconds:
        """When the first decode pass of each stint ends; where there is none, ``came_s``."""
        s = self.records.stints
        found = self.came_s.copy()
        some = s.steps > 0
        found[some] = self.records.step_end_s(s.joined[some] + 1)
        return found

    @cached_property
    def tail_s(self) -> Seconds:
        """When the last token of each stint comes; where there is none, ``came_s``."""
        s = self.records.stints
        found = self.came_s.copy()
        some = s.steps > 0
        found[some] = self.records.step_end_s((s.joined + s.steps)[some])
        return found

    @cached_property
    def gone_s(self) -> Seconds:
        """When each stint ends, by a last token or a preemption."""
        s = self.records.stints
        found = self.tail_s.copy()
        lost = np.flatnonzero(s.ended >= 0)
        at = np.minimum(s.ended[lost], len(self.start_s) - 1)
        found[lost] = self.start_s[at]
        return found

    # --- stalls

    @cached_property
    def stalls(self) -> Stalls:
        """All that the batch waited for longer than ``stall_s``."""
        r, gaps = self.records, Gaps.of(self.records)
        across = np.flatnonzero((gaps.span_s > self.stall_s) & (gaps.spanning > 0))
        inside = np.flatnonzero((gaps.inner_longest_s > self.stall_s) & (gaps.weight > 0) & (gaps.inner > 0))
        over, within = gaps.record[across], gaps.record[inside]
        clock = r.clock[:-1]
        over_end_s = r.start_s[over] + r.first_s[over]
        within_start_s = r.start_s[within] + r.first_s[within]
        start_s = np.concatenate([over_end_s - gaps.span_s[across], within_start_s])
        order = np.argsort(start_s, kind="stable")

        low = np.append(gaps.record[across - 1] + 1, within)[order]
        high = np.append(over, within)[order] + 1
        compute_s = np.where(self.is_compute, self.longest_s, 0.0)
        longest, of_compute = (_largest(values, low, high) for values in (self.longest_s, compute_s))

        def sorted_(one: Seconds | Numbers, other: Seconds | Numbers) -> np.ndarray:  # type: ignore[type-arg]
            return np.concatenate([one, other])[order]

        return Stalls(
            start_s[order],
            sorted_(over_end_s, r.end_s[within]),
            sorted_(gaps.span_s[across], gaps.inner_longest_s[inside]),
            sorted_(clock[over] - 1, clock[within]),
            sorted_(clock[over] + 1, clock[within] + 2),
            sorted_(gaps.spanning[across], gaps.weight[inside]),
            of_compute >= longest,
        )

    @cached_property
    def wait_peaks(self) -> Peaks:
        """The longest gap between decode passes that ends in each record with some, of ``Gaps.record``."""
        return Peaks(Gaps.of(self.records).longest_s)

    @cached_property
    def stall_peaks(self) -> Peaks:
        return Peaks(self.stalls.longest_s)

    # --- KV

    def kv_tokens(self, times_s: Seconds) -> Seconds:
        """Tokens of KV held at moments."""
        if not len(self.start_s):
            return np.zeros(len(times_s))
        record = np.searchsorted(self.start_s, times_s, "right") - 1
        at = np.maximum(record, 0)
        share = (times_s - self.start_s[at]) / np.maximum(self.end_s[at] - self.start_s[at], 1e-300)
        steps = np.floor(np.clip(share, 0.0, 1.0) * self.records.steps[at])
        held = self.records.held[at] + self.decoders[at] * steps
        return np.where((record >= 0) & (share < 1.0), held, 0.0)  # who is idle holds nothing

    @cached_property
    def most_kv(self) -> int:
        """The most tokens of KV that are held."""
        grown = self.decoders * np.maximum(self.records.steps - 1, 0)
        return int((self.records.held + grown).max(initial=0))
