"""Everything about one pass of a request."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from pdviz import units
from pdviz.costmodel.bounds import BANDWIDTH, COMPUTE
from pdviz.evaluation import Result, as_ideal
from pdviz.explain import sources
from pdviz.explain.parts import bandwidth_term, bandwidth_terms, compute_terms, peak_term
from pdviz.explain.passes import PassWorkings
from pdviz.explain.request import limit_words, moved, time_inputs, time_sources
from pdviz.explain.working import NO_NUMBER, Explanation, Term, Working, explanation, quantity
from pdviz.report import fidelity_text

PASS_FIGURES = {
    "time": "time",
    "flops": "FLOPs",
    "bytes": "bytes moved",
    "bound": "what limits it",
    "compute_utilisation": "share of peak compute",
    "bandwidth_utilisation": "share of memory bandwidth",
    "compute_rate": "FLOPs per second",
    "bandwidth_rate": "bytes per second",
    "intensity": "FLOPs per byte",
    "tokens": "new tokens",
    "speed_of_light": "time at the speed of light",
}


class _Said(msgspec.Struct, frozen=True):
    """The parts of an explanation that differ from figure to figure."""

    value: str
    summary: str
    main: Working
    steps: tuple[Working | str, ...] = ()
    sources: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    figure: tuple[float | None, str] | None = None


def pass_title(index: int) -> str:
    return "Prefill" if index == 0 else f"Decode pass {index:,}"


def of_pass(result: Result, figure: str, index: int) -> Explanation:
    """A figure of pass ``index``, which exists."""
    phase = "decode" if index else "prefill"
    said = _FIGURES[figure](PassWorkings(result, index), phase)
    return explanation(
        f"{phase}.{figure}",
        f"{pass_title(index)}: {PASS_FIGURES[figure]}",
        said.value,
        said.summary,
        said.main,
        steps=said.steps,
        sources=said.sources,
        fidelity=fidelity_text(as_ideal(result) if figure == "speed_of_light" else result),
        inputs=said.inputs,
        pass_index=index,
        figure=said.figure,
    )


def _tokens(work: PassWorkings, phase: str) -> _Said:
    cost = work.cost
    _, chain = work.tokens()
    if not chain:
        source = (
            Term("S", "S", work.result.streams, "sequence", "sequences that decode in the pass, a token each")
            if work.index
            else Term("N", "N", cost.tokens, "token", "the whole prompt")
        )
        chain = [Working("T", "T", source.name, (source,), cost.tokens, "token")]
    what = "one for each sequence" if work.index else "the prompt, without what is cached"
    return _Said(units.plural(cost.tokens, "token"), f"Tokens that the pass brings: {what}.", chain[0])


def _flops(work: PassWorkings, phase: str) -> _Said:
    main, *steps = work.flops()
    inputs = ("active_parameters", f"{phase}.tokens")
    value = units.si(work.cost.flops, "FLOP")
    summary = work.result.fidelity.flops_words
    return _Said(value, summary, main, tuple(steps), (sources.TWO_FLOPS,), inputs)


def _bytes(work: PassWorkings, phase: str) -> _Said:
    main, *steps = work.bytes()
    summary = "The weights are read once for all tokens of the pass"
    has_kv = work.kv() is not None
    summary += ", the KV cache for each sequence." if has_kv else "; there is no KV cache to read yet."
    mixture = (sources.EXPERTS,) if work.result.architecture.is_mixture else ()
    inputs = ("memory.weights", "kv_bytes_per_token", *(("half_speed_context",) if work.index else ()))
    value = units.size(work.cost.bytes)
    return _Said(value, summary, main, tuple(steps), (sources.INFERENCE, *mixture), inputs)


def _time(work: PassWorkings, phase: str) -> _Said:
    steps: tuple[Working | str, ...] = (limit_words(work), *work.times(), work.flops()[0], *moved(work))
    summary = work.result.fidelity.time_words
    value = units.written(work.cost.time)
    return _Said(value, summary, work.time(), steps, time_sources(work.result), time_inputs(phase))


def _bound(work: PassWorkings, phase: str) -> _Said:
    cost = work.cost
    longest = work.limit()
    others = [time for time in work.times() if time.name != longest.name]
    second = max(others, key=lambda time: time.value)
    compute = next((time for time in work.times() if time.name.startswith("t_c")), longest)
    one, other = (compute, second if compute is longest or compute == longest else longest)
    ratio = one.value / other.value
    main = Working("ratio", "ratio", f"{one.name} / {other.name}", (one.term, other.term), ratio)
    at = "at least 1" if ratio >= 1 else "below 1"
    return _Said(
        cost.bound.label,
        f"Whichever takes longer is the limit. {one.symbol[:1].upper()}{one.symbol[1:]} over {other.symbol} "
        f"is {at}: {cost.bound.work} is the limit.",
        main,
        (*work.times(), work.flops()[0], work.bytes()[0]),
        time_sources(work.result),
        (f"{phase}.flops", f"{phase}.bytes", "ridge", "achievable_ridge", "crossover"),
        NO_NUMBER,
    )


def _intensity(work: PassWorkings, phase: str) -> _Said:
    flops, traffic = work.flops()[0], work.bytes()[0]
    value = work.cost.intensity_flops_per_byte
    terms = (flops.term, traffic.term)
    main = Working("I", "intensity", f"{flops.name} / {traffic.name}", terms, value, "FLOP/B")
    return _Said(
        f"{units.significant(value)} FLOPs per byte",
        "How much arithmetic comes with each byte. Above the achievable ridge there is enough of it to be "
        "compute-bound.",
        main,
        (flops, *moved(work)),
        (sources.ROOFLINE,),
        (f"{phase}.flops", f"{phase}.bytes", "ridge", "achievable_ridge"),
    )


def _rate(is_compute: bool, work: PassWorkings, phase: str) -> _Said:
    cost = work.cost
    amount = work.flops()[0] if is_compute else work.bytes()[0]
    time = work.time()
    value, unit = (cost.flops, "FLOP/s") if is_compute else (cost.bytes, "B/s")
    value /= cost.time_s
    main = Working("rate", "rate", f"{amount.name} / {time.name}", (amount.term, time.term), value, unit)
    said, inputs = _rate_sources(is_compute, work, phase)
    return _Said(
        units.si(value, unit), "What the pass gets done in its time.", main, (amount, time), said, inputs
    )


def _utilisation(is_compute: bool, work: PassWorkings, phase: str) -> _Said:
    cost, result = work.cost, work.result
    amount = work.flops()[0] if is_compute else work.bytes()[0]
    time = work.time()
    limit = peak_term(result) if is_compute else bandwidth_term(result)
    share = cost.compute_utilisation if is_compute else cost.bandwidth_utilisation
    expression = f"{amount.name} / ({time.name} * {limit.name})"
    main = Working("u", "utilisation", expression, (amount.term, time.term, limit), share, "%")
    ceiling = compute_terms(result) if is_compute else bandwidth_terms(result)
    steps: tuple[Working | str, ...] = (amount, time)
    if cost.bound is (COMPUTE if is_compute else BANDWIDTH) and len(ceiling) == 2:
        reached = quantity(ceiling[0].value, "%")
        steps = (f"This is its limit, so it reaches all that kernels reach: {reached}.", *steps)
    said, inputs = _rate_sources(is_compute, work, phase)
    return _Said(
        units.percent(share),
        "What the pass gets done in its time, as a share of what the hardware could do at its peak.",
        main,
        steps,
        said,
        (*inputs, "peak" if is_compute else "bandwidth", "assumptions"),
    )


def _rate_sources(
    is_compute: bool, work: PassWorkings, phase: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(sources, inputs) of what is done in the time of a pass."""
    amount = f"{phase}.flops" if is_compute else f"{phase}.bytes"
    return time_sources(work.result), (f"{phase}.time", amount)


def _speed_of_light(work: PassWorkings, phase: str) -> _Said:
    """The time of the same pass in the ideal model."""
    said = _time(PassWorkings(as_ideal(work.result), work.index), phase)
    summary = "Exact operations, every efficiency 1: no engine can beat this on that hardware."
    return msgspec.structs.replace(said, summary=summary, inputs=(f"{phase}.time", "peak", "bandwidth"))


_FIGURES: dict[str, Callable[[PassWorkings, str], _Said]] = {
    "time": _time,
    "flops": _flops,
    "bytes": _bytes,
    "bound": _bound,
    "compute_utilisation": partial(_utilisation, True),
    "bandwidth_utilisation": partial(_utilisation, False),
    "compute_rate": partial(_rate, True),
    "bandwidth_rate": partial(_rate, False),
    "intensity": _intensity,
    "tokens": _tokens,
    "speed_of_light": _speed_of_light,
}
