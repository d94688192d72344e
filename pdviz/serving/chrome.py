"""A run as Chrome trace JSON, which Perfetto opens: passes, streams and counters."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from pdviz.serving.outcome import Outcome
from pdviz.serving.policies import DISAGGREGATED
from pdviz.serving.records import Numbers, Records, Seconds
from pdviz.serving.why import pieces_of, stalls_of

MOST_PASSES = 200_000
"""Up to so many passes have a slice each; above, a run of decode passes is one."""
_AT_ONCE = 2_000
_NAMED = 12  # requests that a pass names
_STREAMS, _ENGINES = 1, 100  # process numbers

Event = dict[str, Any]
Slices = tuple[Numbers, Seconds, Seconds]


def trace_json(outcome: Outcome, stall_s: float) -> Iterator[bytes]:
    """The file in pieces; gaps between tokens longer than ``stall_s`` are stalls."""
    encode = msgspec.json.Encoder().encode
    w = outcome.run.workload
    about = {"policy": outcome.run.knobs.policy, "workload": w.description}
    yield b'{"displayTimeUnit":"ms","otherData":' + encode(about) + b',"traceEvents":[\n'
    events = _events(outcome, stall_s)
    mark = b""
    while some := [event for _, event in zip(range(_AT_ONCE), events, strict=False)]:
        yield mark + b",\n".join(map(encode, some))
        mark = b",\n"
    yield b"\n]}\n"


def _events(outcome: Outcome, stall_s: float) -> Iterator[Event]:
    run = outcome.run
    split = run.knobs.policy == DISAGGREGATED
    yield _named("process_name", _STREAMS, 0, "streams")
    for number, e in enumerate(outcome.engines):
        role = f"{'decode' if e.decodes_only else 'prefill'} " if split else ""
        yield _named("process_name", _ENGINES + number, 0, f"{role}engine {number + 1}")
        yield _named("thread_name", _ENGINES + number, 0, "passes")
    spans = _spans(outcome)
    for number, e in enumerate(outcome.engines):
        yield from _passes(outcome, _ENGINES + number, e)
        yield from _counters(outcome, _ENGINES + number, e)
    yield from _queue(spans)
    yield from _streams(outcome, spans, stall_s)


def _named(what: str, process: int, thread: int, name: str) -> Event:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _slice(name: str, process: int, thread: int, start_s: float, end_s: float, args: Event) -> Event:
    return {
        "ph": "X",
        "name": name,
        "pid": process,
        "tid": thread,
        "ts": start_s * 1e6,
        "dur": (end_s - start_s) * 1e6,
        "args": args,
    }


def _passes(outcome: Outcome, process: int, e: Records) -> Iterator[Event]:
    apart = outcome.passes <= MOST_PASSES
    w, served = outcome.run.workload, outcome.run.served
    for record in range(len(e)):
        carries = bool(e.carries_prompts[record])
        decoders = int(e.decoders[record]) if e.steps[record] else 0
        name = "mixed" if carries and decoders else "prefill" if carries else "decode"
        args: Event = {"decoding": decoders}
        if carries:
            pieces = pieces_of(outcome, e, record)
            args["prompt_tokens"] = sum(piece.new for piece in pieces)
            args["prompts"] = {w.name(int(served[p.request])): p.new for p in pieces[:_NAMED]}
            if len(pieces) > _NAMED:
                args["more_prompts"] = len(pieces) - _NAMED
        count = int(e.passes[record])
        args["tokens"] = decoders + args.get("prompt_tokens", 0)
        step = 1 if apart else count
        for index in range(0, count, step):
            compute_s, memory_s = float(e.compute_s[record]), float(e.memory_s[record])
            if not carries:
                compute_s += index * float(e.compute_step_s[record])
                memory_s += index * float(e.memory_step_s[record])
            bound = "compute" if compute_s >= memory_s else "bandwidth"
            more = {"bound": bound} if step == 1 else {"bound": bound, "passes": count}
            ends = e.boundary_s(record, index), e.boundary_s(record, index + step)
            yield _slice(name, process, 0, *ends, args | more)


def _counter(name: str, process: int, time_s: float, value: float) -> Event:
    return {"ph": "C", "name": name, "pid": process, "ts": time_s * 1e6, "args": {name: value}}


def _counters(outcome: Outcome, process: int, e: Records) -> Iterator[Event]:
    """Both utilisations (of what the hardware could do), sequences and KV at each record's beginning."""
    machine = outcome.run.costs.machine
    first_s = np.where(e.first_s > 0, e.first_s, 1.0)
    series = {
        "compute %": 100 * machine.compute_efficiency * e.compute_s / first_s,
        "bandwidth %": 100 * machine.bandwidth_efficiency * e.memory_s / first_s,
        "batch": e.decoders + np.where(e.carries_prompts, e.pieces, 0),
        "KV tokens": e.held,
    }
    names = list(series)
    columns = [values.tolist() for values in series.values()]
    start_s, end_s = e.start_s.tolist(), e.end_s.tolist()
    for record, values in enumerate(zip(*columns, strict=True)):
        for name, value in zip(names, values, strict=True):
            yield _counter(name, process, start_s[record], value)
        if record + 1 == len(e) or start_s[record + 1] > end_s[record]:
            for name in names:
                yield _counter(name, process, end_s[record], 0)


# --- streams


def _spans(outcome: Outcome) -> dict[str, Slices]:
    """(request, start, end) of what streams do, by its name."""
    found: dict[str, list[Slices]] = {}

    def add(name: str, request: Numbers, start_s: Seconds, end_s: Seconds) -> None:
        longer = end_s > start_s
        found.setdefault(name, []).append((request[longer], start_s[longer], end_s[longer]))

    ready_s = outcome.run.ready_s
    for e in outcome.engines:
        s = e.stints
        admitted_s = e.start_s[s.first]
        gone_s = np.append(e.start_s, e.end_s[-1:])[s.ended] if len(e) else admitted_s
        gone = s.ended >= 0
        if e.decodes_only and ready_s is not None:
            came_s, prefilled_s = ready_s[s.request], admitted_s
            add("link", s.request, outcome.first_token_s[s.request], came_s)
        else:
            came_s = outcome.arrival_s[s.request].copy()
            prefilled_s = np.where(s.done, e.end_s[s.last], gone_s)
            order = np.argsort(s.request, kind="stable")
            follows = np.flatnonzero(s.request[order][1:] == s.request[order][:-1])
            came_s[order[follows + 1]] = gone_s[order[follows]]
            again = e.repeats
            add("prefill", s.request[~again], admitted_s[~again], prefilled_s[~again])
            add("prefill again", s.request[again], admitted_s[again], prefilled_s[again])
        add("waiting", s.request, came_s, admitted_s)
        decodes = s.done & ((s.steps > 0) | gone)
        ends_s = np.where(gone, gone_s, outcome.last_token_s[s.request])
        if not e.prefills_only:
            add("decoding", s.request[decodes], prefilled_s[decodes], ends_s[decodes])
    return {
        name: (
            np.concatenate([one[0] for one in parts]),
            np.concatenate([one[1] for one in parts]),
            np.concatenate([one[2] for one in parts]),
        )
        for name, parts in found.items()
    }


def _queue(spans: dict[str, Slices]) -> Iterator[Event]:
    _, came_s, left_s = spans["waiting"]
    times_s = np.concatenate([came_s, left_s])
    change = np.repeat([1, -1], [len(came_s), len(left_s)])
    order = np.argsort(times_s, kind="stable")
    times_s, length = times_s[order], np.cumsum(change[order])
    last = np.append(times_s[1:] != times_s[:-1], True) if len(times_s) else np.zeros(0, bool)
    for time_s, value in zip(times_s[last].tolist(), length[last].tolist(), strict=True):
        yield _counter("queue", _STREAMS, time_s, value)


def _streams(outcome: Outcome, spans: dict[str, Slices], stall_s: float) -> Iterator[Event]:
    w, served = outcome.run.workload, outcome.run.served
    for request, number in enumerate(served.tolist()):
        prompt, output = outcome.prompts[request], outcome.outputs[request]
        yield _named("thread_name", _STREAMS, request, f"{w.name(number)} ({prompt} > {output})")
    for name, columns in spans.items():
        for request, start_s, end_s in zip(*(column.tolist() for column in columns), strict=True):
            yield _slice(name, _STREAMS, request, start_s, end_s, {})
    stalled = np.flatnonzero(outcome.longest_gap_s > stall_s).tolist()
    for stall, request in chain.from_iterable(
        ((stall, request) for stall in stalls_of(outcome, request, stall_s)) for request in stalled
    ):
        e = outcome.engines[stall.engine]
        args: Event = {"caused_by_pass_at_s": float(e.start_s[stall.record])}
        if e.carries_prompts[stall.record]:
            pieces = pieces_of(outcome, e, stall.record)[:_NAMED]
            args["caused_by_prompts_of"] = [w.name(int(served[piece.request])) for piece in pieces]
        yield _slice("stall", _STREAMS, request, stall.start_s, stall.end_s, args)
