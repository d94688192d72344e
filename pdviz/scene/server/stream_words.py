"""What is said of one stream at a moment."""

from __future__ import annotations

import numpy as np

from pdviz.scene.marks.parts import Hover
from pdviz.scene.server.course import Course
from pdviz.scene.server.engine import Engine
from pdviz.scene.server.words import cause_rows, pass_words, request_words
from pdviz.serving import why
from pdviz.serving.outcome import PARTS
from pdviz.units import count, duration

PART_WORDS = {
    "queue": "in the queue",
    "own_prefill": "own prefill",
    "own_decode": "own decode",
    "beside": "beside others",
    "recomputed": "computed again",
    "link": "on the link",
}


def stream_hover(course: Course, request: int, time_s: float) -> Hover:
    """A stream at a moment: what it does or waits for, and its figures."""
    arrival_s = float(course.arrival_s[request])
    first_s, last_s = float(course.first_token_s[request]), float(course.last_token_s[request])
    rows: list[tuple[str, str]] = []
    bound = ""
    if time_s < arrival_s:
        rows.append(("now", "has not arrived"))
    elif time_s >= last_s:
        rows.append(("now", "done"))
    else:
        more, bound = _doing(course, request, time_s)
        rows += more
    rows += [
        ("prompt → output", request_words(course, request)),
        ("arrives at", duration(arrival_s)),
        ("first token after", duration(first_s - arrival_s)),
        ("longest gap", duration(float(course.outcome.longest_gap_s[request]))),
        ("last token at", duration(last_s)),
    ]
    parts = [(PART_WORDS[name], float(course.outcome.parts_s[name][request])) for name in PARTS]
    rows += [(f"  {words}", duration(seconds)) for words, seconds in parts if seconds > 5e-7]
    return Hover(request, f"{course.title}: {course.name(request)}", bound, tuple(rows))


def _doing(course: Course, request: int, time_s: float) -> tuple[list[tuple[str, str]], str]:
    """What a stream does at a moment, and what limits that."""
    for engine in course.engines:
        s, r = engine.records.stints, engine.records
        for n in engine.stints_of(np.array([request])).tolist():
            admitted_s, came_s = float(r.start_s[s.first[n]]), float(engine.came_s[n])
            if not r.decodes_only and admitted_s <= time_s < came_s:
                now = course.pass_now(engine, time_s)
                words = "prefill" if now is None else f"prefill, in a pass of {pass_words(now)}"
                return [("now", words)], now.bound if now is not None else ""
            tail_s = float(engine.tail_s[n])
            if not r.prefills_only and came_s <= time_s < tail_s:
                return _decoding(course, engine, n, time_s)
    own = _own_stall(course, request, time_s)
    if own:
        return own, ""
    if course.run.ready_s is not None and time_s >= float(course.first_token_s[request]):
        ready_s = float(course.run.ready_s[request])
        words = "its KV is on the link" if time_s < ready_s else "waits for a seat and KV to decode"
        return [("now", words)], ""
    return _waiting(course, request, time_s), ""


def _waiting(course: Course, request: int, time_s: float) -> list[tuple[str, str]]:
    """What a stream that is in no pass waits for, and what is done meanwhile."""
    for number, engine in enumerate(course.engines):
        if engine.records.decodes_only or not len(engine.records.stints_of(request)):
            continue
        one = why.pass_at(course.outcome, number, time_s)
        if one is None:
            continue
        wait = why.waiting(course.outcome, one).get(request)
        words = "waits" if wait is None else f"waits for {wait.value}"
        now = course.pass_now(engine, time_s)
        return [("now", words), *([("meanwhile", pass_words(now))] if now is not None else [])]
    return [("now", "waits")]


def _own_stall(course: Course, request: int, time_s: float) -> list[tuple[str, str]]:
    own = course.own
    low, high = np.searchsorted(own.request, [request, request + 1]).tolist()
    for n in range(low, high):
        start_s, end_s = float(own.start_s[n]), float(own.end_s[n])
        if start_s <= time_s < end_s:
            engine = course.engines[int(own.engine[n])]
            rows = [("now", f"stalled for {duration(end_s - start_s)}")]
            return rows + cause_rows(course, engine, start_s, end_s)
    return []


def _decoding(course: Course, engine: Engine, stint: int, time_s: float) -> tuple[list[tuple[str, str]], str]:
    """Between two tokens: which ones, how long that takes and why."""
    s, r = engine.records.stints, engine.records
    low, high = int(s.joined[stint]), int(s.joined[stint] + s.steps[stint])
    while low + 1 < high:  # the first decode pass that ends later
        middle = (low + high) // 2
        if float(r.step_end_s(np.array([middle]))[0]) <= time_s:
            low = middle
        else:
            high = middle
    if float(r.step_end_s(np.array([low + 1]))[0]) <= time_s:
        low += 1
    to_s = float(r.step_end_s(np.array([low + 1]))[0])
    from_s = float(engine.came_s[stint]) if low == int(s.joined[stint]) else float(
        r.step_end_s(np.array([low]))[0]
    )  # fmt: skip
    request = int(s.request[stint])
    if low == int(s.joined[stint]) and r.decodes_only:
        from_s = float(course.first_token_s[request])
    before = int(course.outputs[request]) - int(s.steps[stint]) + low - int(s.joined[stint])
    gap_s = to_s - from_s
    stalls = gap_s > course.stall_s
    words = f"stalled for {duration(gap_s)}" if stalls else f"{duration(gap_s)} from token to token"
    if s.ended[stint] < 0:
        words += f", {count(before + 1)} of {count(course.outputs[request])} next"
    rows = [("now", words)]
    record = engine.longest_between(from_s, to_s)
    bound = ("compute" if engine.is_compute[record] else "bandwidth") if record >= 0 else ""
    if stalls:
        rows += cause_rows(course, engine, from_s, to_s)
    return rows, bound
