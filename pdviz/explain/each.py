"""The memory of one of several accelerators, worked out: the one that holds most."""

from __future__ import annotations

from pdviz import units
from pdviz.catalogue import Catalogue
from pdviz.costmodel.memory import RESERVE_SHARE
from pdviz.evaluation import Result
from pdviz.explain import sources
from pdviz.explain.memory import fullest_weights, stored_kv, stored_weights
from pdviz.explain.parts import Chain
from pdviz.explain.working import Explanation, Term, Working, explanation

PARTS = {
    "weights": "weights on one accelerator",
    "kv": "KV cache on one accelerator",
    "reserve": "memory kept for the runtime on one accelerator",
    "free": "memory that is left on one accelerator",
}
FIDELITY = "Counted for the end of the request; the same in every fidelity."


def each(result: Result, part: str, catalogue: Catalogue | None) -> Explanation:
    """``part`` is weights, kv, reserve or free."""
    m = result.memory
    main, *steps = {"weights": _weights, "kv": _kv, "reserve": _reserve, "free": _free}[part](result)
    values = {
        "weights": m.weights_bytes_each,
        "kv": m.kv_bytes_each,
        "reserve": m.reserve_bytes_each,
        "free": m.free_bytes_each,
    }
    summary = {
        "weights": "An equal share of the weights.",
        "kv": "An equal share of the KV cache, heads that several keep counted for each.",
        "reserve": "Kept for activations and the runtime.",
        "free": "What is left beside weights, KV cache and reserve.",
    }[part]
    if part == "weights" and m.uneven_bytes:
        summary = (
            "What the fullest accelerator holds: experts are placed whole, projections to KV heads and "
            "latents kept where they are needed, the rest in equal shares."
        )
    if part == "free" and not m.fits:
        summary = "What is missing: weights, KV cache and reserve are more than there is."
    said = {
        "weights": sources.model_sources(result, catalogue),
        "kv": sources.model_sources(result, catalogue),
        "reserve": (sources.RESERVE,),
        "free": (sources.RESERVE, *sources.accelerator_sources(result, "memory")),
    }[part]
    title = PARTS[part][0].upper() + PARTS[part][1:]
    return explanation(
        f"memory.{part}_each", title, units.size(values[part]), summary, main, steps=steps, sources=said,
        fidelity=FIDELITY, inputs=(f"memory.{part}", "memory.fewest"),
    )  # fmt: skip


def _count(result: Result) -> Term:
    return Term("n", "n", result.scenario.accelerators, "", "accelerators")


def _weights(result: Result) -> Chain:
    chain = fullest_weights(result)
    return [*chain, *stored_weights(result)[:1]]


def _kv(result: Result) -> Chain:
    whole, *steps = stored_kv(result)
    value = result.memory.kv_bytes_each
    main = Working("kv_each", "KV cache of each", "kv / n", (whole.term, _count(result)), value, "B")
    return [main, whole, *steps]


def _reserve(result: Result) -> Chain:
    share = Term("r", "r", RESERVE_SHARE, "%", "kept for activations, workspace and the runtime")
    terms = (share, _memory(result))
    return [Working("reserve_each", "reserve of each", "r * m", terms, result.memory.reserve_bytes_each, "B")]


def _memory(result: Result) -> Term:
    basis = f" ({result.accelerator.memory_basis})" if result.accelerator.memory_basis else ""
    meaning = f"memory of one {result.accelerator.name}{basis}"
    return Term("m", "m", result.accelerator.memory_bytes, "B", meaning)


def _free(result: Result) -> Chain:
    weights, kv, reserve = _weights(result)[0], _kv(result)[0], _reserve(result)[0]
    terms = (_memory(result), reserve.term, weights.term, kv.term)
    expression = f"m - reserve_each - {weights.name} - kv_each"
    value = result.accelerator.memory_bytes - reserve.value - weights.value - kv.value
    main = Working("free_each", "left of each", expression, terms, value, "B")
    return [main, reserve, *_weights(result), *_kv(result)]
