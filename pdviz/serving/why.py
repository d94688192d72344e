"""What a pass carried, who waited for what, and which pass made a stream stand still."""

from __future__ import annotations

from enum import Enum

import msgspec
import numpy as np

from pdviz.costmodel.bounds import BANDWIDTH, COMPUTE, Bound
from pdviz.serving.gaps import Gaps
from pdviz.serving.outcome import Outcome
from pdviz.serving.policies import CHUNKED, INTERLEAVED, STATIC
from pdviz.serving.records import Numbers, Records


class Wait(str, Enum):
    """What a request waits for that is not in a pass; the value is said to people."""

    SEAT = "a seat"
    KV = "room for its KV cache"
    BUDGET = "room in the pass"
    TURN = "the prompts' turn"
    BATCH = "the end of the batch"
    ORDER = "those before it in the queue"
    PASS_END = "the end of the pass"
    LINK = "its KV cache to arrive"


class Piece(msgspec.Struct, frozen=True):
    """``new`` tokens of a request's prompt after ``past`` ones; ``ends`` where they are its last."""

    request: int
    past: int
    new: int
    ends: bool


class Pass(msgspec.Struct, frozen=True):
    """One pass: when, on which engine, how many sequences decode in it and its pieces of prompts.

    It is pass ``index`` of ``record``.
    """

    engine: int
    record: int
    index: int
    start_s: float
    end_s: float
    bound: Bound
    decoders: int
    pieces: tuple[Piece, ...]

    @property
    def prompt_tokens(self) -> int:
        return sum(piece.new for piece in self.pieces)

    @property
    def tokens(self) -> int:
        """New tokens in the pass."""
        return self.decoders + self.prompt_tokens


class Stall(msgspec.Struct, frozen=True):
    """``streams`` had no token from ``start_s`` to ``end_s``; ``record`` has the longest pass in between."""

    start_s: float
    end_s: float
    engine: int
    record: int
    streams: int


def pass_at(outcome: Outcome, engine: int, time_s: float) -> Pass | None:
    """The pass under way on an engine, None while it has nothing to do."""
    e = outcome.engines[engine]
    record = int(np.searchsorted(e.start_s, time_s, "right")) - 1
    if record < 0 or time_s >= e.end_s[record]:
        return None
    low, high = 0, int(e.passes[record])  # passes of the record that have ended
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if e.boundary_s(record, middle) <= time_s else (low, middle)
    return pass_of(outcome, engine, record, low)


def pass_of(outcome: Outcome, engine: int, record: int, index: int = 0) -> Pass:
    """Pass ``index`` of a record."""
    e = outcome.engines[engine]
    compute_s, memory_s = (float(times[record]) for times in (e.compute_s, e.memory_s))
    if e.steps[record] > 1:
        compute_s += index * float(e.compute_step_s[record])
        memory_s += index * float(e.memory_step_s[record])
    return Pass(
        engine=engine,
        record=record,
        index=index,
        start_s=e.boundary_s(record, index),
        end_s=e.boundary_s(record, index + 1),
        bound=COMPUTE if compute_s >= memory_s else BANDWIDTH,
        decoders=int(e.decoders[record]) if e.steps[record] else 0,
        pieces=pieces_of(outcome, e, record) if e.carries_prompts[record] else (),
    )


def pieces_of(outcome: Outcome, e: Records, record: int) -> tuple[Piece, ...]:
    """The pieces of prompts in a record."""
    found = []
    for at in range(int(e.piece_start[record]), int(e.piece_start[record + 1])):
        stint = int(np.searchsorted(e.stint_start, at, "right")) - 1
        request, new = int(e.piece_request[at]), int(e.piece_new[at])
        cached = 0 if e.repeats[stint] else int(outcome.cached[request])
        past = cached + int(e.piece_new[e.stint_start[stint] : at].sum())
        found.append(Piece(request, past, new, past + new == e.stint_prompts[stint]))
    return tuple(found)


def decoding(e: Records, record: int) -> Numbers:
    """The requests that decode while a record goes on, whether its passes carry them or not."""
    s = e.stints
    since = s.first if e.decodes_only else s.last + 1
    return s.request[e.stays & (since <= record) & (e.leaves > record)]


def waiting(outcome: Outcome, one: Pass) -> dict[int, Wait]:
    """Who waits on an engine while a pass goes on, the head of the queue first, and for what."""
    e, run, record = outcome.engines[one.engine], outcome.run, one.record
    s, count = e.stints, len(outcome)
    mine = run.routes[one.engine].astype(np.int64)
    came_s = outcome.arrival_s if run.ready_s is None or not e.decodes_only else run.ready_s
    gone = e.leaves <= record
    here = np.bincount(s.request[s.first <= record], minlength=count)
    here -= np.bincount(s.request[gone], minlength=count)
    out = here == 0
    out[s.request[gone & (s.ended < 0)]] = False
    queue = mine[out[mine] & (came_s[mine] < one.end_s)].tolist()
    waits = set(queue)
    back = [request for _, request, _ in e.log.preempted[: e.preempted_before(record)]]
    preempted = dict.fromkeys(request for request in reversed(back) if request in waits)
    found: dict[int, Wait] = {}
    for request in dict.fromkeys([*preempted, *queue]):
        if request not in preempted and came_s[request] > one.start_s:
            found[request] = Wait.PASS_END
        else:
            found[request] = Wait.ORDER if found else _of_the_head(outcome, e, one, request)
    if e.decodes_only and run.ready_s is not None:
        travels = (outcome.first_token_s[mine] < one.end_s) & (run.ready_s[mine] >= one.end_s)
        found |= dict.fromkeys(mine[travels].tolist(), Wait.LINK)
    return found


def _of_the_head(outcome: Outcome, e: Records, one: Pass, request: int) -> Wait:
    knobs, s, record = outcome.run.knobs, e.stints, one.record
    decodes = not e.carries_prompts[record]
    there = int(((s.first <= record) & (e.leaves > record)).sum())
    if knobs.policy == STATIC and decodes:
        return Wait.BATCH
    if there >= knobs.max_seqs:
        return Wait.SEAT
    before = int(s.out[(s.request == request) & (e.leaves <= record)].sum())
    needs = int(outcome.prompts[request]) + before
    if e.decodes_only:
        needs += 1
    elif knobs.policy == CHUNKED:
        needs += int(e.decoders[record])
    held = int(e.held[record]) + one.index * one.decoders
    full = knobs.capacity_tokens is not None and held + needs > knobs.capacity_tokens
    if full or knobs.policy == STATIC:
        return Wait.KV
    return Wait.TURN if knobs.policy == INTERLEAVED and decodes else Wait.BUDGET


# --- stalls


def stalls(outcome: Outcome, longer_than_s: float) -> list[Stall]:
    """All waits of streams between two decode passes that are longer, in order of time."""
    found = []
    for number, e in enumerate(outcome.engines):
        gaps = Gaps.of(e)
        for at in np.flatnonzero((gaps.span_s > longer_than_s) & (gaps.spanning > 0)).tolist():
            found.append(_stall(e, number, int(gaps.record[at - 1]), int(gaps.record[at]), gaps.spanning[at]))
        inner = (gaps.inner_longest_s > longer_than_s) & (gaps.weight > 0)
        for at in np.flatnonzero(inner).tolist():
            record, last = int(gaps.record[at]), int(gaps.inner[at])
            start_s, end_s = e.boundary_s(record, last), e.boundary_s(record, last + 1)
            found.append(Stall(start_s, end_s, number, record, int(gaps.weight[at])))
    return sorted(found, key=lambda stall: (stall.start_s, stall.engine))


def _stall(e: Records, engine: int, before: int, after: int, streams: int) -> Stall:
    took_s = e.end_s[before + 1 : after] - e.start_s[before + 1 : after]
    cause = after
    if len(took_s) and took_s.max() > e.first_s[after]:
        cause = before + 1 + int(took_s.argmax())
    return Stall(float(e.end_s[before]), e.boundary_s(after, 1), engine, cause, int(streams))


def stalls_of(outcome: Outcome, request: int, longer_than_s: float) -> list[Stall]:
    """The same for one request: between any two of its tokens."""
    found = []
    last_s, last_record = np.inf, -1
    for number, e in enumerate(outcome.engines):
        s, gaps = e.stints, Gaps.of(e)
        for stint in e.stints_of(request).tolist():
            first = int(s.first[stint] if e.decodes_only else s.last[stint])
            if s.done[stint] and not e.decodes_only:
                came_s = float(e.end_s[first])
                if came_s - last_s > longer_than_s:
                    found.append(Stall(float(last_s), came_s, number, first, 1))
                last_s, last_record = came_s, first
            if not s.steps[stint]:
                continue
            low = int(np.searchsorted(gaps.record, first if e.decodes_only else first + 1))
            if s.joined[stint] >= e.clock[gaps.record[low]] + e.steps[gaps.record[low]]:
                low += 1
            high = int(np.searchsorted(e.clock[gaps.record], s.joined[stint] + s.steps[stint]))
            opening_s = e.boundary_s(int(gaps.record[low]), 1)
            if opening_s - last_s > longer_than_s:
                since = int(gaps.record[low]) - 1 if e.decodes_only else last_record
                cause = _stall(e, number, since, int(gaps.record[low]), 1).record
                found.append(Stall(float(last_s), opening_s, number, cause, 1))
            for at in (np.flatnonzero(gaps.longest_s[low:high] > longer_than_s) + low).tolist():
                record = int(gaps.record[at])
                if at > low and gaps.span_s[at] > longer_than_s:
                    found.append(_stall(e, number, int(gaps.record[at - 1]), record, 1))
                if gaps.inner_longest_s[at] > longer_than_s:
                    index = int(gaps.inner[at])
                    ends = e.boundary_s(record, index), e.boundary_s(record, index + 1)
                    found.append(Stall(*ends, number, record, 1))
            last_record = int(gaps.record[high - 1])
            last_s = float(e.end_s[last_record])
    return found
