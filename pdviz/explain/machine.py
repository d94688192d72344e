"""The figures of the machine, what is assumed of it, and the speed of playing."""

from __future__ import annotations

from pdviz import report, units
from pdviz.costmodel.dtypes import DTYPES
from pdviz.evaluation import Result
from pdviz.explain import sources
from pdviz.explain.parts import bandwidth_term, bandwidth_terms, compute_terms, peak_term, rate_of
from pdviz.explain.working import NO_NUMBER, Explanation, Term, Working, explanation


def peak(result: Result) -> Explanation:
    machine = result.machine
    dtype = DTYPES[machine.math_dtype].title
    terms = (
        Term(
            "n", "n", machine.accelerators, "", "accelerators, their peaks added, nothing lost between them"
        ),
        Term(
            "p",
            "p",
            result.accelerator.peak_flops_per_s[machine.math_dtype],
            "FLOP/s",
            f"dense {dtype} rate of one",
        ),
    )
    weights = result.model.weights_title
    steps = [
        f"{weights} weights are multiplied in {dtype}, the first format that {machine.name} has for them."
    ]
    return explanation(
        "peak",
        "Peak compute",
        units.si(machine.peak_flops_per_s, "FLOP/s"),
        "What the matrix units can do at most, without sparsity.",
        Working("peak", "peak", "n * p", terms, machine.peak_flops_per_s, "FLOP/s"),
        steps=steps,
        sources=sources.accelerator_sources(result, "peak"),
        fidelity=sources.DATASHEET,
        inputs=("assumptions",),
    )


def bandwidth(result: Result) -> Explanation:
    machine = result.machine
    terms = (
        Term("n", "n", machine.accelerators, "", "accelerators, their bandwidths added"),
        Term(
            "m",
            "m",
            result.accelerator.memory_bandwidth_bytes_per_s,
            "B/s",
            "memory bandwidth of one, decimal",
        ),
    )
    return explanation(
        "bandwidth",
        "Memory bandwidth",
        units.si(machine.bandwidth_bytes_per_s, "B/s"),
        "How fast weights and KV cache can be read at most.",
        Working("bandwidth", "bandwidth", "n * m", terms, machine.bandwidth_bytes_per_s, "B/s"),
        sources=sources.accelerator_sources(result, "bandwidth"),
        fidelity=sources.DATASHEET,
        inputs=("assumptions",),
    )


def ridge(result: Result) -> Explanation:
    machine = result.machine
    terms = (peak_term(result), bandwidth_term(result))
    return explanation(
        "ridge",
        "Ridge",
        f"{units.significant(machine.ridge_flops_per_byte)} FLOPs per byte",
        "How many FLOPs must come with each byte for peak compute and peak bandwidth to take equally long.",
        Working("R", "ridge", "peak / bandwidth", terms, machine.ridge_flops_per_byte, "FLOP/B"),
        sources=(sources.ROOFLINE, *sources.accelerator_sources(result, "peak", "bandwidth")),
        fidelity=sources.DATASHEET,
        inputs=("peak", "bandwidth", "achievable_ridge"),
    )


def achievable_ridge(result: Result) -> Explanation:
    machine = result.machine
    compute, memory = compute_terms(result), bandwidth_terms(result)
    value = machine.achievable_ridge_flops_per_byte
    return explanation(
        "achievable_ridge",
        "Achievable ridge",
        f"{units.significant(value)} FLOPs per byte",
        "The ridge with what kernels reach: here a pass really changes from memory-bound to compute-bound.",
        Working(
            "R",
            "achievable ridge",
            f"{rate_of(compute)} / {rate_of(memory)}",
            (*compute, *memory),
            value,
            "FLOP/B",
        ),
        sources=(sources.ROOFLINE, *sources.accelerator_sources(result, "peak", "bandwidth")),
        fidelity=report.fidelity_text(result),
        inputs=("ridge", "peak", "bandwidth", "assumptions"),
    )


def _reach(result: Result, *, compute: bool) -> Working:
    machine = result.machine
    if compute:
        share = Term("e_c", "e_c", machine.compute_efficiency, "", "share of peak that kernels reach")
        value = machine.compute_efficiency * machine.peak_flops_per_s
        return Working(
            "reach_c", "reached compute", "e_c * peak", (share, peak_term(result)), value, "FLOP/s"
        )
    share = Term("e_b", "e_b", machine.bandwidth_efficiency, "", "share of bandwidth that kernels reach")
    value = machine.bandwidth_efficiency * machine.bandwidth_bytes_per_s
    return Working(
        "reach_b", "reached bandwidth", "e_b * bandwidth", (share, bandwidth_term(result)), value, "B/s"
    )


def efficiency(result: Result, *, compute: bool) -> Explanation:
    share = result.machine.compute_efficiency if compute else result.machine.bandwidth_efficiency
    measured = sources.EFFICIENCIES_MEASURED[:2] if compute else sources.EFFICIENCIES_MEASURED[2:]
    what = "peak compute" if compute else "memory bandwidth"
    return explanation(
        "compute_efficiency" if compute else "bandwidth_efficiency",
        "Compute efficiency" if compute else "Bandwidth efficiency",
        units.percent(share),
        result.fidelity.shares_words
        or f"The share of {what} that kernels are taken to reach, in every pass alike.",
        _reach(result, compute=compute),
        steps=measured,
        sources=(
            *((sources.CONVENTION,) if result.fidelity.convention else ()),
            *sources.accelerator_sources(result),
        ),
        fidelity=report.fidelity_text(result),
        inputs=("peak" if compute else "bandwidth", "assumptions"),
        figure=(share, "%"),
    )


_LEFT_OUT = (
    "Not counted: communication between accelerators, launching of kernels, queueing, and element-wise "
    "work that cannot be fused.",
)


def assumptions(result: Result) -> Explanation:
    machine = result.machine
    compute, memory = units.percent(machine.compute_efficiency), units.percent(machine.bandwidth_efficiency)
    return explanation(
        "assumptions",
        "Assumptions",
        f"{compute} of compute, {memory} of bandwidth",
        result.fidelity.summary,
        _reach(result, compute=True),
        steps=(
            _reach(result, compute=False),
            *result.fidelity.counted,
            *_LEFT_OUT,
            *sources.EFFICIENCIES_MEASURED,
        ),
        sources=(sources.ROOFLINE, *((sources.CONVENTION,) if result.fidelity.convention else ())),
        fidelity=report.fidelity_text(result),
        inputs=("compute_efficiency", "bandwidth_efficiency", "peak", "bandwidth"),
        figure=NO_NUMBER,
    )


def remarks(result: Result) -> Explanation:
    """What is said beside the figures: what would not work, and what was assumed."""
    said = (*result.warnings, *result.notes)
    return explanation(
        "remarks",
        "Beside the figures",
        units.plural(len(said), "remark") if said else "nothing to remark",
        " ".join(said) or "This scenario fits, and nothing was assumed beyond the cost model.",
        _reach(result, compute=True),
        steps=(_reach(result, compute=False),),
        sources=(),
        fidelity=report.fidelity_text(result),
        inputs=("assumptions", "memory.fits"),
        figure=(len(said), "remark"),
    )


def slow_motion(result: Result, rate: float) -> Explanation:
    """How model time relates to the viewer's."""
    term = Term("r", "r", rate, "", "model seconds played in each second of yours")
    factor = 1 / rate
    main = Working("f", "factor", "1 / r", (term,), factor)
    pass_s = result.itl_s or result.ttft_s
    what = "a decode pass" if result.itl_s else "the prompt pass"
    real = Term("t", "t", pass_s, "s", f"{what}, in truth")
    seen = Working(
        "seen", "on screen", "t * f", (real, main.term), pass_s * factor, "s", f"{what} as you see it"
    )
    return explanation(
        "slow_motion",
        "Speed of playing",
        _speed_words(rate),
        "What happens in milliseconds is stretched to be seen; nothing else about it is changed.",
        main,
        steps=(seen,),
        fidelity="A choice of the viewer, no estimate.",
        inputs=("itl", "ttft"),
    )


def _speed_words(rate: float) -> str:
    if abs(rate - 1) < 1e-9:
        return "real time"
    factor = max(rate, 1 / rate)
    number = units.count(factor) if abs(factor - round(factor)) < 1e-6 else units.significant(factor)
    return f"{'slowed' if rate < 1 else 'sped up'} {number}×"
