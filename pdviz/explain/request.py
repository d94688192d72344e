"""The figures of a request: its times and its speeds."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pdviz import units
from pdviz.costmodel.bounds import COMPUTE
from pdviz.costmodel.train import Segment
from pdviz.evaluation import Result
from pdviz.explain import sources
from pdviz.explain.passes import PassWorkings
from pdviz.explain.working import NO_NUMBER, Explanation, Term, Working, explanation, quantity
from pdviz.report import fidelity_text

NOTHING = "–"
SEGMENTS_SHOWN = 3


def time_inputs(phase: str) -> tuple[str, ...]:
    return (f"{phase}.flops", f"{phase}.bytes", f"{phase}.bound", "peak", "bandwidth", "assumptions",
            f"{phase}.speed_of_light")  # fmt: skip


def time_sources(result: Result) -> tuple[str, ...]:
    return (
        sources.ROOFLINE,
        *((sources.CONVENTION,) if result.fidelity.convention else ()),
        *sources.accelerator_sources(result),
    )


def limit_words(work: PassWorkings) -> str:
    """Both times of a pass, and which is the longer."""
    taken = ", ".join(
        f"{bound.work} {quantity(seconds, 's')}" for bound, seconds in work.cost.times if seconds
    )
    first, rest = taken.split(" ", 1)
    return f"{first.capitalize()} takes {rest}: limited by {work.cost.bound.words}."


def ttft(result: Result) -> Explanation:
    work = PassWorkings(result, 0)
    return explanation(
        "ttft",
        "Time to first token",
        units.written(result.ttft),
        "One pass over the prompt takes the longer of its arithmetic and its memory traffic, and makes "
        "the first token.",
        work.time("TTFT"),
        steps=(limit_words(work), work.flops()[0], *moved(work)),
        sources=(*time_sources(result), sources.TTFT),
        fidelity=fidelity_text(result),
        inputs=time_inputs("prefill"),
    )


def moved(work: PassWorkings) -> Iterable[Working]:
    """Bytes of a pass in their two parts."""
    kv = work.kv()
    return (work.bytes()[0], work.weights()[0], kv[0]) if kv else (work.bytes()[0],)


def no_decode(result: Result, key: str, title: str) -> Explanation:
    """The explanation of a figure that does not exist, since one token is asked for."""
    output = Term(
        "M", "M", result.scenario.output_tokens, "token", "the output; the first comes from prefill"
    )
    main = Working("steps", "decode passes", "M - 1", (output,), 0, "pass")
    return explanation(
        key,
        title,
        NOTHING,
        "One token is asked for, and prefill makes it: there is no decode pass.",
        main,
        sources=(sources.METRICS,),
        fidelity=fidelity_text(result),
        inputs=("ttft",),
        figure=NO_NUMBER,
    )


def _steps_term(result: Result) -> Working:
    output = Term(
        "M", "M", result.scenario.output_tokens, "token", "the output; the first comes from prefill"
    )
    return Working("steps", "passes", "M - 1", (output,), result.request.train.steps, "pass", "decode passes")


def itl(result: Result) -> Explanation:
    if result.itl is None or result.itl_s is None:
        return no_decode(result, "itl", "Inter-token latency")
    train = result.request.train
    segments = train.segments
    steps = _steps_term(result)
    passes: dict[int, PassWorkings] = {}

    def time_of(step: int) -> Term:
        work = passes.setdefault(step, PassWorkings(result, step, f"_{step}"))
        return Term(f"t_{step}", f"t_{step:,}", work.cost.time_s, "s", "")

    def mean(s: Segment) -> tuple[str, tuple[Term, ...]]:
        first, last = time_of(s.first), time_of(s.first + s.count - 1)
        if s.count == 1:
            return first.name, (first,)
        return f"({first.name} + {last.name}) / 2", (first, last)

    if len(segments) == 1:
        expression, terms = mean(segments[0])
    elif len(segments) <= SEGMENTS_SHOWN:
        parts, collected = [], []
        for number, segment in enumerate(segments, 1):
            part, used = mean(segment)
            n = Term(f"n_{number}", f"n_{number}", segment.count, "pass", "passes that grow at one rate")
            collected += [n, *used]
            parts.append(f"{n.name} * {part}")
        expression, terms = f"({' + '.join(parts)}) / steps", (*collected, steps.term)
    else:
        total = Term(
            "all", "decode", train.total_s, "s", f"all decode passes, {len(segments)} stretches of them"
        )
        expression, terms = "all / steps", (total, steps.term)
        time_of(1), time_of(train.steps)
    main = Working("ITL", "ITL", expression, terms, result.itl_s, "s")
    lines: list[Working | str] = [_growth_words(segments)] if train.steps > 1 else []
    for step, work in passes.items():
        lines.append(_pass_time(work, step))
    first = passes[1]
    lines += [first.flops()[0]] if first.cost.bound is COMPUTE else [*moved(first)]
    if len(segments) > 1:
        lines.append(steps)
    return explanation(
        "itl",
        "Inter-token latency",
        units.written(result.itl),
        "The mean time of a decode pass, each of which writes one token for every sequence.",
        main,
        steps=lines,
        sources=(*time_sources(result), sources.METRICS),
        fidelity=fidelity_text(result),
        inputs=time_inputs("decode"),
    )


def _growth_words(segments: tuple[Segment, ...]) -> str:
    """How the times of decode passes follow each other."""
    if len(segments) > 1:
        return (
            f"The passes lie on {len(segments)} straight lines: the growth changes where a window fills "
            "or where the limit changes."
        )
    if segments[0].increment_s > 0:
        return "Each pass takes evenly longer than the one before it, so the mean lies halfway."
    return "All passes take equally long."


def _pass_time(work: PassWorkings, step: int) -> Working:
    """The longer of a decode pass's two times, each already worked out."""
    limit = work.limit()
    longer = limit if limit.value == work.cost.time_s else work.time()
    return msgspec.structs.replace(
        longer, name=f"t_{step}", symbol=f"t_{step:,}",
        meaning=f"pass {step:,}, limited by {work.cost.bound.words}",
    )  # fmt: skip


def e2e(result: Result) -> Explanation:
    later = _steps_term(result)
    if result.itl_s is None:
        work = PassWorkings(result, 0)
        main, steps = work.time("E2E"), (later, work.flops()[0], *moved(work))
        summary = "One token is asked for: the request is its prompt pass."
    else:
        first = Term("TTFT", "TTFT", result.ttft_s, "s", "the prompt pass, with the first token")
        terms = (first, later.term, Term("ITL", "ITL", result.itl_s, "s", "the mean decode pass"))
        main, steps = Working("E2E", "E2E", "TTFT + steps * ITL", terms, result.e2e_s, "s"), (later,)
        summary = "The prompt pass, then a decode pass for each further token."
    return explanation(
        "e2e",
        "End to end",
        units.written(result.e2e),
        summary,
        main,
        steps=steps,
        sources=(sources.METRICS,),
        fidelity=fidelity_text(result),
        inputs=("ttft", "itl"),
    )


def decode_share(result: Result) -> Explanation:
    whole = Term("E2E", "E2E", result.e2e_s, "s", "the whole request")
    if result.itl_s is None:
        spent = Term("none", "decode", 0.0, "s", "nothing is decoded")
        main = Working("share", "share", "none / E2E", (spent, whole), 0.0, "%")
        steps: tuple[Working | str, ...] = ()
    else:
        later = _steps_term(result)
        terms = (later.term, Term("ITL", "ITL", result.itl_s, "s", "the mean decode pass"), whole)
        main = Working("share", "share", "steps * ITL / E2E", terms, result.decode_share, "%")
        steps = (later,)
    return explanation(
        "decode_share",
        "Time spent decoding",
        units.percent(result.decode_share),
        "What part of the request is decode passes; the rest is prefill.",
        main,
        steps=steps,
        sources=(sources.METRICS,),
        fidelity=fidelity_text(result),
        inputs=("ttft", "itl", "e2e"),
    )


def tokens_per_s(result: Result, *, total: bool = False) -> Explanation:
    key = "tokens_per_s_total" if total else "tokens_per_s"
    title = "Streaming speed of all streams" if total else "Streaming speed"
    speed = result.tokens_per_s_total if total else result.tokens_per_s_stream
    figure = result.speed(result.streams if total else 1)
    if speed is None or figure is None or result.itl_s is None:
        return no_decode(result, key, title)
    gap = Term("ITL", "ITL", result.itl_s, "s", "the mean decode pass")
    streams = Term("S", "S", result.streams, "token", "a token for each sequence that decodes in the pass")
    one = Term("one", "1", 1, "token", "")
    main = Working(
        "speed",
        "speed",
        "S / ITL" if total else "one / ITL",
        (streams if total else one, gap),
        speed,
        "tok/s",
    )
    return explanation(
        key,
        title,
        units.written(figure),
        "A decode pass writes one token for every sequence that shares it."
        if total
        else "One token for each decode pass: what one user sees.",
        main,
        sources=(sources.METRICS,),
        fidelity=fidelity_text(result),
        inputs=("itl", "decode.time") if total else ("itl",),
    )
