"""A server's run over time, ready to be asked for any part of it: engines, requests, how many do what."""

from __future__ import annotations

from functools import cached_property

import msgspec
import numpy as np

from pdviz.costmodel.roofline import Machine
from pdviz.evaluation import Result
from pdviz.scene.server.engine import Engine, Pass
from pdviz.serving.outcome import Outcome
from pdviz.serving.policies import CHUNKED, CONTINUOUS, DISAGGREGATED, INTERLEAVED, STATIC, Knobs
from pdviz.serving.records import Numbers, Seconds
from pdviz.serving.server import Run
from pdviz.units import plural

SHORT = {
    STATIC: "Static",
    CONTINUOUS: "Whole prompts first",
    CHUNKED: "Chunked prefill",
    INTERLEAVED: "Interleaved",
    DISAGGREGATED: "Disaggregated",
}


def policy_title(knobs: Knobs) -> str:
    """What a policy is called with the knob that makes it what it is."""
    if knobs.policy == STATIC:
        title = "Static batches"
    elif knobs.policy == CHUNKED:
        title = f"Chunked prefill, {knobs.token_budget:,}-token budget"
    elif knobs.policy == INTERLEAVED:
        title = f"Interleaved, {knobs.prefill_steps:,} prefill to {knobs.decode_steps:,} decode"
    elif knobs.policy == DISAGGREGATED:
        prefill = plural(knobs.prefill_engines, "prefill engine")
        return f"Disaggregated, {prefill}, {plural(knobs.decode_engines, 'decode engine')}"
    else:
        title = "Whole prompts first"
    return title if knobs.replicas == 1 else f"{title}, {knobs.replicas:,} servers"


LONG = 8
"""A prompt is long that is so many times the median."""


class Own(msgspec.Struct, frozen=True):
    """Stalls that a request has alone, in order of requests, then of time: on its way to its first decode
    pass, or preempted. ``engine`` is the one on which it waited."""

    request: Numbers
    start_s: Seconds
    end_s: Seconds
    engine: Numbers


class Counts(msgspec.Struct, frozen=True):
    """How many requests wait, travel, are in prefill, decode: at some moments."""

    waiting: Numbers
    linking: Numbers
    prefilling: Numbers
    decoding: Numbers


class Course:
    """One policy's run. Requests go by their number among those served."""

    def __init__(self, run: Run, machine: Machine, stall_s: float) -> None:
        self.run, self.machine, self.stall_s = run, machine, stall_s
        self.outcome = Outcome(run)
        self.title = policy_title(run.knobs)
        prompts = run.workload.prompt_tokens[run.served]
        self.prompts, self.outputs, self.arrival_s = prompts, self.outcome.outputs, self.outcome.arrival_s
        self.engines = tuple(Engine(e, machine, stall_s) for e in self.outcome.engines)
        self.main = max(self.engines, key=lambda e: e.passes)

    def __len__(self) -> int:
        return len(self.outputs)

    @cached_property
    def duration_s(self) -> float:
        """Until the last pass of all ends."""
        return max((float(e.end_s[-1]) for e in self.engines if len(e.end_s)), default=0.0)

    @cached_property
    def decoding_engines(self) -> tuple[int, ...]:
        """Numbers of the engines whose passes decode."""
        return tuple(n for n, e in enumerate(self.engines) if not e.records.prefills_only)

    def name(self, request: int) -> str:
        """What a request is called."""
        number = int(self.run.served[request])
        if self.run.workload.ids is not None:
            return self.run.workload.name(number)
        return f"request {number + 1:,}" + (f" ({self.short_name(request)})" if self.is_long(request) else "")

    @property
    def first_token_s(self) -> Seconds:
        return self.outcome.first_token_s

    @cached_property
    def _long_prompt(self) -> float:
        return LONG * float(np.median(self.prompts)) if len(self.prompts) else 0.0

    def is_long(self, request: int) -> bool:
        """A prompt far longer than the others."""
        return bool(self.prompts[request] >= max(self._long_prompt, 2.0))

    def short_name(self, request: int) -> str:
        """A name for a narrow place."""
        if self.is_long(request):
            tokens = int(self.prompts[request])
            return f"{tokens / 1024:.3g}K prompt" if tokens >= 1024 else f"prompt {tokens}"
        return f"request {request + 1}" if request < 999 else f"#{request + 1:,}"

    @cached_property
    def first_tokens_sorted_s(self) -> Seconds:
        return np.sort(self.first_token_s)

    @property
    def last_token_s(self) -> Seconds:
        return self.outcome.last_token_s

    # --- what stalls

    @cached_property
    def own(self) -> Own:
        """Gaps longer than a stall that are one request's alone."""
        rows: list[tuple[Numbers, Seconds, Seconds, Numbers]] = []
        for number, e in enumerate(self.engines):
            s = e.records.stints
            came_s = self.first_token_s[s.request] if e.records.decodes_only else e.came_s
            late = np.flatnonzero((s.steps > 0) & (e.first_decode_s - came_s > self.stall_s))
            rows.append((s.request[late], came_s[late], e.first_decode_s[late], np.full(len(late), number)))
            if (s.ended >= 0).any():
                order = np.argsort(s.request, kind="stable")
                done = order[s.done[order]]
                request = s.request[done]
                again = np.flatnonzero(request[1:] == request[:-1])
                before_s, after_s = e.tail_s[done[again]], e.came_s[done[again + 1]]
                late = np.flatnonzero(after_s - before_s > self.stall_s)
                rows.append((request[again][late], before_s[late], after_s[late], np.full(len(late), number)))
        request, start_s, end_s, engine = (np.concatenate(column) for column in zip(*rows, strict=True))
        order = np.lexsort((start_s, request))
        return Own(request[order], start_s[order], end_s[order], engine[order])

    @cached_property
    def stall_starts_s(self) -> Seconds:
        """When stalls begin, of any stream, in order."""
        starts = [e.stalls.start_s for e in self.engines]
        found: Seconds = np.unique(np.concatenate([self.own.start_s, *starts]))
        return found

    # --- how many do what

    @cached_property
    def _turns(self) -> tuple[Seconds, ...]:
        """Sorted moments: preempted, admitted, prefilled, prefill given up, sent on, decodes, no more."""
        lists: list[list[Seconds]] = [[] for _ in range(7)]
        for e in self.engines:
            s, r = e.records.stints, e.records
            lost = s.ended >= 0
            if r.decodes_only:
                lists[5].append(e.came_s)
                lists[6].append(e.gone_s)
                continue
            lists[0].append(e.gone_s[lost])
            lists[1].append(r.start_s[s.first])
            lists[2].append(e.came_s[s.done])
            lists[3].append(e.gone_s[~s.done])
            if r.prefills_only:
                lists[4].append(e.came_s[s.done & (self.outputs[s.request] > 1)])
            else:
                lists[5].append(e.came_s[s.done])
                lists[6].append(e.gone_s[s.done])
        return tuple(np.sort(np.concatenate(found)) if found else np.zeros(0) for found in lists)

    def counts(self, times_s: Seconds) -> Counts:
        """How many do what at moments."""
        up_to = [np.searchsorted(moments, times_s, "right") for moments in self._turns]
        preempted, admitted, prefilled, given_up, sent, decode, no_more = up_to
        arrived = np.searchsorted(self.arrival_s, times_s, "right")
        linking = sent - decode if len(self._turns[4]) else np.zeros(len(times_s), np.int64)
        return Counts(
            arrived + preempted - admitted, linking, admitted - prefilled - given_up, decode - no_more
        )

    @cached_property
    def most_waiting(self) -> int:
        """The longest queue."""
        preempted = self._turns[0]
        moments = np.concatenate([self.arrival_s, preempted])
        return int(self.counts(moments).waiting.max(initial=0))

    @cached_property
    def most_decoding(self) -> int:
        """The largest batch, of all engines together."""
        return int(self.counts(self._turns[5]).decoding.max(initial=0))

    @cached_property
    def kv_capacity(self) -> int | None:
        """Tokens of KV for which all engines that decode have room."""
        capacity = self.run.knobs.capacity_tokens
        return None if capacity is None else capacity * len(self.decoding_engines)

    def kv_tokens(self, times_s: Seconds) -> Seconds:
        """Tokens of KV held at moments, on the engines that decode."""
        held = [self.engines[number].kv_tokens(times_s) for number in self.decoding_engines]
        total: Seconds = np.sum(held, axis=0)
        return total

    @cached_property
    def most_kv(self) -> int:
        """The most tokens of KV that an engine holds, times the engines."""
        return max((self.engines[number].most_kv for number in self.decoding_engines), default=0) * len(
            self.decoding_engines
        )

    # --- the moment

    def pass_now(self, engine: Engine, time_s: float) -> Pass | None:
        """What an engine does at a moment; None where it has nothing to do."""
        if not engine.passes:
            return None
        found = engine.one_pass(engine.pass_at(time_s))
        is_last = found.index + 1 == engine.passes
        goes_on = time_s < found.end_s or (is_last and time_s == found.end_s)
        return found if found.start_s <= time_s and goes_on else None


def courses_of(result: Result, runs: tuple[Run, ...]) -> tuple[Course, ...]:
    """The runs of a result with all that their picture asks for made."""
    made = tuple(Course(run, result.machine, result.scenario.itl_target_s) for run in runs)
    for course in made:
        if not len(course):
            continue
        course.counts(np.zeros(1))
        _ = course.stall_starts_s, course.last_token_s, course.most_kv, course.most_waiting
        for engine in course.engines:
            _ = engine.peaks, engine.stall_peaks, engine.wait_peaks
            engine.utilisations(np.array([0.0, 1.0]))
    return made
