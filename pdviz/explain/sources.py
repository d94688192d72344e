"""Where figures and formulas are from, in sentences."""

from __future__ import annotations

import re

from pdviz.catalogue import Catalogue, default_catalogue
from pdviz.costmodel.memory import RESERVE_SOURCE
from pdviz.errors import InputError
from pdviz.evaluation import Result

ROOFLINE = (
    "Formula: the roofline model, the longer of arithmetic and memory traffic "
    "(Williams, Waterman and Patterson, CACM 52(4), 2009)."
)
TWO_FLOPS = (
    "Formula: a multiply and an add for each parameter and token, attention apart "
    "(Kaplan et al., arXiv 2001.08361, section 2.1); attention over the causal half, not the full square."
)
INFERENCE = (
    "Formula: a pass reads the weights once and each sequence's KV cache "
    "(Pope et al., arXiv 2211.05102, section 2)."
)
EXPERTS = "Formula: how many different experts are hit on average where each token's are drawn uniformly."
TTFT = "Definition: from the start of the prompt pass to its end, when the first token is there; no queueing."
METRICS = (
    "Definition: ITL is the mean gap between tokens after the first, as vLLM's serving benchmark has it; "
    "the first token belongs to TTFT."
)
CONVENTION = (
    "Efficiencies: the textbook convention of pdviz, the same for every accelerator, yours to change."
)
RESERVE = f"Reserve: {RESERVE_SOURCE}."
COUNTED = "Counted from the architecture, the same in every fidelity."
DATASHEET = "A figure of the catalogue, the same in every fidelity."
EFFICIENCIES_MEASURED = (
    "Measured on an H100 in BF16 (public data): a 4096 × 4096 matrix multiplication reaches 14 % of peak "
    "with 64 rows, 27 % with 128, 46 % with 256, 69 % with 512, 77 % with 1,024 and 79 % with 2,048.",
    "Measured: causal attention of a prompt reaches 8 to 12 % of peak at 512 tokens, 28 to 39 % at 2,000, "
    "51 to 61 % at 8,000.",
    "Measured: reading weights reaches about 84 % of the bandwidth, reading KV cache about 88 %, "
    "element-wise work about 49 %.",
)

_DTYPES = re.compile(r"fp32|tf32|fp16|bf16|fp8|int8|fp4")
_SUBJECTS = {
    "bandwidth": re.compile(r"bandwidth|[GT]i?B/s"),
    "peak": re.compile(rf"[TP]FLOPS|TOPS|{_DTYPES.pattern}"),
    "memory": re.compile(r"\bmemory\b|\d GB(?!/s)"),
}
_SIXTEEN = {"bf16", "fp16"}


def _is_about(value: str, subject: str, dtypes: set[str]) -> bool:
    """True where a rejected ``value`` concerns the subject; a peak, that in one of ``dtypes``."""
    if value.startswith(("link", "power")) or not _SUBJECTS[subject].search(value):
        return False
    formats = set(_DTYPES.findall(value))
    return subject != "peak" or not formats or bool(formats & dtypes)


def accelerator_sources(result: Result, *subjects: str) -> tuple[str, ...]:
    """Where the accelerator's figures are from, and what was not believed about the ``subjects``.

    Subjects are "bandwidth", "peak" and "memory".
    """
    a = result.accelerator
    found = [f"Figures of {a.name}: {'; '.join(a.sources)}."] if a.sources else []
    if a.confidence not in ("high", "unchecked"):
        found.append(f"{a.name}: confidence in these figures is {a.confidence}.")
    dtypes = {result.machine.math_dtype, result.model.kernel_dtype}
    dtypes |= _SIXTEEN if dtypes & _SIXTEEN else set()
    for rejected in a.rejected:
        if any(_is_about(rejected.value, subject, dtypes) for subject in subjects):
            found.append(f"Not believed: {rejected.value} ({rejected.where}): {rejected.reason}.")
    return tuple(found)


def model_sources(result: Result, catalogue: Catalogue | None = None) -> tuple[str, ...]:
    """Where the architecture is from, and the published count of its parameters."""
    known = catalogue or default_catalogue()
    name = result.scenario.model
    try:
        entry = known.model(name)
        if known.architecture(name) is not result.architecture:
            return (f"{result.architecture.name}: its own configuration.",)
    except InputError:
        return (f"{result.architecture.name}: its own configuration.",)
    found = [
        f"Shapes of {entry.name}: {entry.source}."
        if entry.source
        else f"{entry.name}: its own configuration."
    ]
    if entry.published_parameters is not None:
        where = f" ({entry.published_where})" if entry.published_where else ""
        found.append(f"Published count: {entry.published_parameters:,} parameters{where}.")
    return tuple(found)
