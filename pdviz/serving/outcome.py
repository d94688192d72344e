"""What became of each request: when its tokens came, how long it waited for the next, where its time went."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from pdviz.serving.gaps import Distribution, Gaps, RangeMaximum
from pdviz.serving.log import Log
from pdviz.serving.policies import DISAGGREGATED
from pdviz.serving.records import Numbers, Records, Seconds
from pdviz.serving.server import Run

PARTS = ("queue", "own_prefill", "own_decode", "beside", "recomputed", "link")
"""Where the time of a request goes. Beside: while passes carry others' prompts, or others only."""


class Outcome:
    """The requests of a run, by their number among those served. Made when asked for."""

    def __init__(self, run: Run) -> None:
        self.run = run
        w, served = run.workload, run.served
        self.arrival_s = w.arrival_s[served]
        self.cached = w.cached_tokens[served]
        self.prompts, self.outputs = w.prompt_tokens[served], w.output_tokens[served]
        split = run.knobs.policy == DISAGGREGATED
        prefills = run.knobs.prefill_engines if split else 0

        def records(number: int, log: Log) -> Records:
            return Records(log, self.prompts, self.outputs, split and number >= prefills, number < prefills)

        self.engines = tuple(records(number, log) for number, log in enumerate(run.logs))

    def __len__(self) -> int:
        return len(self.outputs)

    @cached_property
    def passes(self) -> int:
        """Passes of all engines."""
        return sum(int(e.passes.sum()) for e in self.engines)

    @cached_property
    def preemptions(self) -> int:
        return sum(len(log.preempted) for log in self.run.logs)

    @cached_property
    def first_token_s(self) -> Seconds:
        found = np.full(len(self), np.inf)
        for e in self.engines:
            if not e.decodes_only:
                s = e.stints
                np.minimum.at(found, s.request[s.done], e.end_s[s.last[s.done]])
        return found

    @cached_property
    def last_token_s(self) -> Seconds:
        found = self.first_token_s.copy()
        for e in self.engines:
            s = e.stints
            decoded = s.steps > 0
            ends = e.step_end_s((s.joined + s.steps)[decoded])
            np.maximum.at(found, s.request[decoded], ends)
            again = s.done & ~decoded
            if not e.decodes_only:
                np.maximum.at(found, s.request[again], e.end_s[s.last[again]])
        return found

    @property
    def ttft_s(self) -> Seconds:
        return self.first_token_s - self.arrival_s

    @property
    def e2e_s(self) -> Seconds:
        return self.last_token_s - self.arrival_s

    @cached_property
    def longest_gap_s(self) -> Seconds:
        """The longest wait for a further token; 0 where one token was asked for."""
        found = np.zeros(len(self))
        for e in self.engines:
            s = e.stints
            decoded = np.flatnonzero(s.steps > 0)
            gaps = Gaps.of(e)
            low = np.searchsorted(gaps.record, e.record_of(s.joined[decoded] + 1))
            high = np.searchsorted(gaps.record, e.record_of((s.joined + s.steps)[decoded]))
            inside = gaps.inner_longest_s[low]
            later = RangeMaximum(gaps.longest_s).over(low + 1, high + 1)
            np.maximum.at(found, s.request[decoded], np.maximum(inside, later))
        request, gap_s = self.single_gaps
        np.maximum.at(found, request, gap_s)
        return found

    def tokens_s(self, request: int) -> Seconds:
        """When each token of a request came."""
        found = []
        for e in self.engines:
            s = e.stints
            for stint in e.stints_of(request).tolist():
                if s.done[stint] and not e.decodes_only:
                    found.append(e.end_s[s.last[stint : stint + 1]])
                joined = s.joined[stint]
                found.append(e.step_end_s(np.arange(joined + 1, joined + s.steps[stint] + 1)))
        return np.concatenate(found)

    @cached_property
    def gaps(self) -> Distribution:
        """Every gap between two tokens of one request."""
        return Distribution.of([Gaps.of(e) for e in self.engines], self.single_gaps[1])

    @cached_property
    def single_gaps(self) -> tuple[Numbers, Seconds]:
        """(request, seconds) of gaps that are its alone: to its first decode pass, and over preemptions."""
        requests, gaps = [], []
        for e in self.engines:
            s = e.stints
            decoded = np.flatnonzero(s.steps > 0)
            request = s.request[decoded]
            first_s = e.step_end_s(s.joined[decoded] + 1)
            came_s = self.first_token_s[request] if e.decodes_only else e.end_s[s.last[decoded]]
            requests.append(request)
            gaps.append(first_s - came_s)
            if len(e.log.preempted):
                request, gap_s = self._over_preemptions(e)
                requests.append(request)
                gaps.append(gap_s)
        return np.concatenate(requests), np.concatenate(gaps)

    @staticmethod
    def _over_preemptions(e: Records) -> tuple[Numbers, Seconds]:
        """From the last token before a preemption to the next one, whose prefill repeats them all."""
        s = e.stints
        done = np.flatnonzero(s.done)
        done = done[np.argsort(s.request[done], kind="stable")]
        request = s.request[done]
        follows = np.flatnonzero(request[1:] == request[:-1])
        before, after = done[follows], done[follows + 1]
        last_s = e.end_s[s.last[before]]
        decoded = s.steps[before] > 0
        last_s[decoded] = e.step_end_s((s.joined + s.steps)[before[decoded]])
        return s.request[after], e.end_s[s.last[after]] - last_s

    # --- where the time went

    @cached_property
    def parts_s(self) -> dict[str, Seconds]:
        """Seconds of each of ``PARTS``; they sum to the end-to-end time."""
        parts: dict[str, Seconds] = {name: np.zeros(len(self)) for name in PARTS}
        for e in self.engines:
            self._add_parts(e, parts)
        if self.run.ready_s is not None:
            went = ~np.isnan(self.run.ready_s)
            parts["link"][went] = (self.run.ready_s - self.first_token_s)[went]
        return parts

    def _add_parts(self, e: Records, parts: dict[str, Seconds]) -> None:
        s = e.stints
        lost = e.repeats  # it was preempted before: until its prefill is done all is repetition
        admitted_s, prefilled_s = e.start_s[s.first], e.end_s[s.last]
        gone = s.ended >= 0
        ends_s: Seconds = np.full(len(s.request), np.nan)
        ends_s[gone] = e.start_s[s.ended[gone]]
        stays = s.steps > 0
        ends_s[~gone] = self.last_token_s[s.request[~gone]]
        if e.prefills_only:
            ends_s = prefilled_s
        if e.decodes_only:
            assert self.run.ready_s is not None
            came_s, prefilled_s = self.run.ready_s[s.request], admitted_s
            np.add.at(parts["queue"], s.request, admitted_s - came_s)
        else:
            once = ~lost
            np.add.at(parts["queue"], s.request[once], (admitted_s - self.arrival_s[s.request])[once])
            carried = self._carried_s(e)
            done_s = np.where(s.done, prefilled_s, ends_s)
            np.add.at(parts["own_prefill"], s.request[once], carried[once])
            np.add.at(parts["beside"], s.request[once], (done_s - admitted_s - carried)[once])
            self._add_recomputed(e, done_s, parts)
        # from its first token on; a preempted one stays until the record before which it goes
        until = np.where(gone, s.ended, 0)
        until[~gone & stays] = e.record_of((s.joined + s.steps)[~gone & stays]) + 1
        since = s.first if e.decodes_only else s.last + 1
        here = s.done & (stays | gone)
        own = np.where(here, e.alone_s[until] - e.alone_s[since], 0.0)
        np.add.at(parts["own_decode"], s.request, own)
        np.add.at(parts["beside"], s.request, np.where(here, ends_s - prefilled_s - own, 0.0))

    @staticmethod
    def _carried_s(e: Records) -> Seconds:
        """Seconds of the passes that carried a piece of each stint's prompt."""
        took_s = (e.end_s - e.start_s)[e.piece_record]
        return np.add.reduceat(took_s, e.stint_start) if len(took_s) else np.zeros(0)

    @staticmethod
    def _add_recomputed(e: Records, done_s: Seconds, parts: dict[str, Seconds]) -> None:
        s = e.stints
        order = np.argsort(s.request, kind="stable")
        request = s.request[order]
        follows = np.flatnonzero(request[1:] == request[:-1])
        before, after = order[follows], order[follows + 1]
        left_s = e.start_s[s.ended[before]]
        np.add.at(parts["recomputed"], s.request[after], done_s[after] - left_s)
