"""What the memory that is left would hold, worked out, and on how many accelerators a scenario fits."""

from __future__ import annotations

from pdviz import units
from pdviz.costmodel.memory import RESERVE_SHARE, Memory
from pdviz.costmodel.request import MOST_ACCELERATORS, request_memory
from pdviz.evaluation import Result
from pdviz.explain import sources
from pdviz.explain.memory import capacity, free, reserve, stored_kv, stored_weights, uneven_weights
from pdviz.explain.working import Explanation, Term, Working, explanation

FIDELITY = "Counted for the end of the request; the same in every fidelity."


def _sources(result: Result) -> tuple[str, ...]:
    return (sources.RESERVE, *sources.accelerator_sources(result, "memory"))


def _other(memory: Memory) -> Term:
    held = units.plural(memory.other_context_tokens, "token")
    return Term("f", "f", memory.other_kv_bytes, "B", f"KV cache of one further sequence of {held}")


def free_tokens(result: Result) -> Explanation:
    m = result.memory
    steps = [
        free(result),
        capacity(result),
        reserve(result),
        stored_weights(result)[0],
        stored_kv(result)[0],
        *(uneven_weights(result) if m.uneven_bytes else ()),
    ]
    left = free(result).term
    if m.free_tokens is not None:
        tokens = Term("t", "t", m.other_context_tokens, "token", "context of a further sequence")
        value = float(m.free_tokens or 0)
        main = Working(
            "tokens", "tokens", "floor(max(free, 0) / f * t)", (left, _other(m), tokens), value, "token"
        )  # fmt: skip
        shown = units.plural(m.free_tokens or 0, "token")
        summary = "How many tokens of KV cache the memory that is left would hold."
        if result.model.windows or result.model.state_bytes:
            summary += " Windows and states are shared out over the tokens of such a sequence."
    else:
        main = Working("room", "room", "max(free, 0)", (left,), max(m.free_bytes, 0.0), "B")
        shown, summary = "no limit", "A sequence of this model takes no memory that grows with it."
    return explanation(
        "memory.free_tokens", "Tokens that are left room for", shown, summary, main, steps=steps,
        sources=_sources(result), fidelity=FIDELITY, inputs=("memory.free", "kv_bytes_per_token"),
        figure=(m.free_tokens, "token"),
    )  # fmt: skip


def largest_batch(result: Result) -> Explanation:
    m = result.memory
    own = Term("a", "a", m.own_kv_bytes, "B", "KV cache of this request's sequence")
    terms = [capacity(result).term, reserve(result).term, stored_weights(result)[0].term, own]
    steps = [capacity(result), reserve(result), stored_weights(result)[0]]
    expression, value = "capacity - reserve - weights - a", m.room_bytes - m.own_kv_bytes
    if m.uneven_bytes:
        terms.append(uneven_weights(result)[0].term)
        steps += uneven_weights(result)
        expression += " - uneven"
    room = Working("room", "room", expression, tuple(terms), value, "B", "beside this request")
    if m.other_kv_bytes and value >= 0:
        batch = float(m.largest_batch or 0)
        main = Working("batch", "batch", "1 + floor(room / f)", (room.term, _other(m)), batch, "sequence")
        shown = units.plural(m.largest_batch or 0, "sequence")
        summary = "How many sequences fit together, this request's included."
        steps.insert(0, room)
    else:
        main = room
        shown = "no limit" if value >= 0 else "0 sequences"
        summary = (
            "A sequence of this model takes no memory that grows with it."
            if value >= 0
            else "Not even this request's sequence fits beside the weights."
        )
    return explanation(
        "memory.largest_batch", "Largest batch that fits", shown, summary, main, steps=steps,
        sources=_sources(result), fidelity=FIDELITY, inputs=("memory.free", "memory.kv"),
        figure=(m.largest_batch, "sequence"),
    )  # fmt: skip


def _at(result: Result, count: int) -> Working:
    """What is left on ``count`` accelerators."""
    s = result.scenario
    memory = request_memory(
        result.model,
        result.accelerator.memory_bytes * count,
        s,
        count,
    )
    again = ", heads that several keep counted for each" if memory.kv_bytes > result.memory.kv_bytes else ""
    terms: tuple[Term, ...] = (
        Term(f"n_{count}", f"n_{count}", count, "", "accelerators"),
        Term("m", "m", result.accelerator.memory_bytes, "B", f"memory of one {result.accelerator.name}"),
        Term("r", "r", RESERVE_SHARE, "%", "kept for activations, workspace and the runtime"),
        Term("w", "weights", memory.weights_bytes, "B", "all weights"),
        Term(
            f"k_{count}",
            f"KV_{count}",
            memory.kv_bytes,
            "B",
            f"KV cache on {units.count(count)} of them{again}",
        ),
    )
    expression = f"n_{count} * m - r * n_{count} * m - w - k_{count}"
    if memory.uneven_bytes:
        meaning = "room for weights beyond an equal share: experts are placed whole"
        terms = (*terms, Term(f"u_{count}", f"uneven_{count}", memory.uneven_bytes, "B", meaning))
        expression += f" - u_{count}"
    name = f"left on {units.count(count)}"
    return Working(f"left_{count}", name, expression, terms, memory.free_bytes, "B")


def fewest(result: Result) -> Explanation:
    found = result.fewest_accelerators
    count = found or MOST_ACCELERATORS
    main = _at(result, count)
    if found is None:
        shown, summary = "none", f"Not even {units.count(MOST_ACCELERATORS)} of these accelerators hold it."
    else:
        shown = f"{units.count(found)} × {result.accelerator.name}"
        summary = "The smallest power of two of these accelerators that leaves nothing missing"
        divides = result.model.divides_among(found)
        summary += (
            " and among which the query heads divide."
            if divides
            else "; no power of two that does divides the query heads."
        )
    steps = [_at(result, count // 2)] if found is not None and found > 1 else []
    return explanation(
        "memory.fewest", "Fewest accelerators", shown, summary, main, steps=steps,
        sources=_sources(result), fidelity=FIDELITY, inputs=("memory.weights", "memory.kv", "memory.fits"),
        figure=(found, "accelerator"),
    )  # fmt: skip
