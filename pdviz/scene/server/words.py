"""A server's run in words: the moment, a pass, a stream, a stall."""

from __future__ import annotations

import numpy as np

from pdviz.costmodel.bounds import BANDWIDTH, COMPUTE
from pdviz.scene.marks.parts import Hover
from pdviz.scene.server.course import Course
from pdviz.scene.server.engine import Engine, Pass
from pdviz.units import count, duration, percent, plural

MOST_NAMES = 3
BOUND_WORDS = {str(COMPUTE): COMPUTE.words, str(BANDWIDTH): BANDWIDTH.words}


def moment_words(course: Course, time_s: float) -> str:
    """What a server does at a moment, in a sentence or two."""
    counts = course.counts(np.array([time_s]))
    waiting, linking, prefilling, decoding = (
        int(x[0]) for x in (counts.waiting, counts.linking, counts.prefilling, counts.decoding)
    )
    parts = [f"{count(waiting)} waiting", f"{count(prefilling)} in prefill", f"{count(decoding)} decoding"]
    if linking:
        parts.append(f"{count(linking)} on the link")
    stalled, longest_s = stalled_at(course, time_s)
    if stalled:
        parts.append(f"{count(stalled)} stalled, for up to {duration(longest_s)}")
    now = course.pass_now(course.main, time_s)
    doing = "idle" if now is None else f"{pass_words(now)}, {now.bound}-bound"
    if now is not None:
        doing += (
            f", compute {percent(now.compute_utilisation)}, bandwidth {percent(now.bandwidth_utilisation)}"
        )
    return f"{course.title}: {doing}; {', '.join(parts)}."


def pass_words(one: Pass) -> str:
    """What a pass carries."""
    parts = []
    if one.prompt_tokens:
        parts.append(plural(one.prompt_tokens, "prompt token"))
    if one.decoders:
        parts.append(f"{plural(one.decoders, 'stream')} decoding")
    return " and ".join(parts) or "nothing"


def brief_words(one: Pass) -> str:
    """What a pass carries, for a narrow place."""
    if one.prompt_tokens and one.decoders:
        return f"{count(one.prompt_tokens)} prompt + {count(one.decoders)} decode"
    return pass_words(one)


def stalled_at(course: Course, time_s: float) -> tuple[int, float]:
    """How many streams stall at a moment, and the longest of their stalls."""
    streams, longest_s = 0, 0.0
    for engine in course.engines:
        stalls = engine.stalls
        at = int(np.searchsorted(stalls.start_s, time_s, "right")) - 1
        if at >= 0 and time_s < stalls.end_s[at]:
            streams += int(stalls.streams[at])
            longest_s = max(longest_s, float(stalls.longest_s[at]))
    return streams, longest_s


def names(course: Course, requests: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> str:
    """Some requests by name."""
    told = [course.name(r) for r in requests[:MOST_NAMES].tolist()]
    more = len(requests) - len(told)
    return ", ".join(told) + (f" and {count(more)} more" if more else "")


def pass_hover(course: Course, engine: Engine, one: Pass) -> Hover:
    """All that is said of a pass."""
    rows = [
        ("starts at", duration(one.start_s)),
        ("duration", duration(one.end_s - one.start_s)),
    ]
    requests, _ = engine.carried(one.record)
    if one.prompt_tokens:
        rows.append(("prompt tokens", count(one.prompt_tokens)))
        rows.append(("prompts of", names(course, requests)))
    if one.decoders:
        rows.append(("streams decoding", count(one.decoders)))
    rows += [
        ("limited by", BOUND_WORDS[one.bound]),
        ("compute", f"{percent(one.compute_utilisation)} of peak"),
        ("bandwidth", f"{percent(one.bandwidth_utilisation)} of peak"),
    ]
    title = f"{course.title}: pass {count(one.index + 1)} of {count(engine.passes)}"
    if len(course.engines) > 1:
        title += f", engine {count(course.engines.index(engine) + 1)}"
    return Hover(one.index, title, one.bound, tuple(rows))


def cause_rows(course: Course, engine: Engine, start_s: float, end_s: float) -> list[tuple[str, str]]:
    """Which pass a wait between two moments is due to, and whose prompts were in it."""
    record = engine.longest_between(start_s, end_s)
    if record < 0:
        return []
    first = int(engine.before[record])
    took_s = float(engine.longest_s[record])
    rows = [("caused by", f"pass {count(first + 1)}, {duration(took_s)}")]
    requests, new = engine.carried(record)
    if len(requests):
        rows.append(("prompts in it", names(course, requests)))
        rows.append(("of", plural(int(new.sum()), "token")))
    return rows


def request_words(course: Course, request: int) -> str:
    """Prompt and output of a request."""
    return f"{count(course.prompts[request])} → {plural(course.outputs[request], 'token')}"
