"""What a scenario keeps in memory, worked out, and whether it fits."""

from __future__ import annotations

from pdviz import report, units
from pdviz.catalogue import Catalogue
from pdviz.costmodel.dtypes import DTYPES
from pdviz.costmodel.memory import RESERVE_SHARE
from pdviz.evaluation import Result
from pdviz.explain import sources
from pdviz.explain.parts import (
    Chain,
    Group,
    expert_term,
    kv_groups,
    kv_token_bytes,
    resident_terms,
)
from pdviz.explain.working import Explanation, Term, Working, explanation, quantity


def memory(result: Result, part: str, catalogue: Catalogue | None) -> Explanation:
    """``part`` is weights, kv, reserve, used, capacity, free or fits."""
    m = result.memory
    steps: list[Working | str] = []
    said: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ("memory.fits",)
    fidelity = "Counted for the end of the request, when the KV cache is largest; the same in every fidelity."
    if part == "weights":
        main = stored_weights(result)[0]
        value, title, summary = units.size(m.weights_bytes), "Weights in memory", "All weights, each once."
        said, inputs = sources.model_sources(result, catalogue), ("parameters", "memory.fits")
        fidelity = sources.COUNTED
    elif part == "kv":
        main, steps = stored_kv(result)[0], [*stored_kv(result)[1:]]
        value, title = units.size(m.kv_bytes), "KV cache in memory"
        summary = "Keys and values of all sequences when the request ends."
        said, inputs = sources.model_sources(result, catalogue), ("kv_bytes_per_token", "memory.fits")
    elif part == "capacity":
        main = capacity(result)
        value, title = units.size(m.capacity_bytes), "Memory capacity"
        summary = "What the driver reports, all accelerators together."
        said, fidelity = sources.accelerator_sources(result, "memory"), sources.DATASHEET
    elif part == "reserve":
        main, steps = reserve(result), [capacity(result)]
        value, title, summary = (
            units.size(m.reserve_bytes),
            "Reserve",
            "Kept for activations and the runtime.",
        )
        said, fidelity = (sources.RESERVE,), sources.DATASHEET
    elif part == "used":
        main = _used(result)
        steps = [stored_weights(result)[0], stored_kv(result)[0]]
        value, title, summary = units.size(m.used_bytes), "Memory in use", "Weights and KV cache."
        inputs = ("memory.weights", "memory.kv", "memory.fits")
    else:
        main = free(result)
        steps = [
            capacity(result),
            reserve(result),
            stored_weights(result)[0],
            stored_kv(result)[0],
            *(uneven_weights(result) if m.uneven_bytes else ()),
        ]
        value = report.memory_text(result) if part == "fits" else units.size(m.free_bytes)
        title = "GPU memory" if part == "fits" else "Free memory"
        summary = (
            "It fits: something is left beside weights, KV cache and reserve."
            if m.fits
            else "It does not fit: weights, KV cache and reserve are more than there is."
        )
        said = (sources.RESERVE, *sources.accelerator_sources(result, "memory"))
        inputs = ("memory.weights", "memory.kv", "memory.reserve", "memory.capacity")
    return explanation(
        f"memory.{part}", title, value, summary, main, steps=steps, sources=said,
        fidelity=fidelity, inputs=inputs,
    )  # fmt: skip


def stored_weights(result: Result) -> Chain:
    """Bytes of all weights in memory."""
    terms, expression = resident_terms(result)
    for number, (total, _, expert_bytes) in enumerate(result.model.routed):
        tail = f"_{number}" if number else ""
        one = expert_term(expert_bytes, tail)
        terms = (
            *terms,
            Term(f"E{tail}", f"E{tail}", total, "expert", "experts in a layer, all of them kept"),
            one,
        )
        expression += f" + E{tail} * {one.name}"
    return [Working("weights", "weights", expression, terms, result.memory.weights_bytes, "B")]


def _longest_context(result: Result) -> Working:
    """Tokens that this request's sequence holds at its end."""
    s = result.scenario
    terms = (
        Term("N", "N", s.prompt_tokens, "token", "the prompt"),
        Term("M", "M", s.output_tokens, "token", "the output; the last token is never read again"),
    )
    value = s.final_context
    return Working("C", "C", "N + M - 1", terms, value, "token", "context at the end of the request")


def _kept_again(result: Result, group: Group) -> float:
    """KV bytes of a token in the layers of a group, over all accelerators: heads are not split."""
    element = DTYPES[result.scenario.kv_dtype].bytes_per_element
    n = result.scenario.accelerators
    return element * sum(
        layers * a.cache_elements * (-(-a.kv_heads // n) * n / a.kv_heads) for layers, a in group.layers
    )


def stored_kv(result: Result) -> Chain:
    """Bytes of KV cache at the end of the request, over all accelerators."""
    s = result.scenario
    context = _longest_context(result)
    own = s.others_context_tokens is not None and s.others > 0
    terms: list[Term] = []
    parts: list[str] = []
    chain: Chain = []
    for group in kv_groups(result):
        kept = _kept_again(result, group)
        times = kept / kv_token_bytes(result, group)
        again = f", kept {quantity(times)} times over, since heads are not split" if times > 1 else ""
        each = Term(group.name("b"), group.symbol("b"), kept, "B", f"KV of a token{group.sees}{again}")
        held = _held_at_end(result, group, context, own)
        chain += [held, context] if held is not context else [context]
        terms += [each, held.term]
        parts.append(f"{each.name} * {held.name}")
    if result.model.state_bytes:
        terms.append(Term("Z", "Z", result.model.state_bytes, "B", "fixed state of a sequence"))
        terms.append(Term("S", "S", result.streams, "sequence", "sequences"))
        parts.append("Z * S")
    if not parts:
        terms.append(Term("S", "S", result.streams, "sequence", "sequences, none of which keeps anything"))
        parts.append("0 * S")
    value = result.memory.kv_bytes
    return [Working("kv", "KV cache", " + ".join(parts), tuple(terms), value, "B"), *chain]


def _held_at_end(result: Result, group: Group, context: Working, own: bool) -> Working:
    s = result.scenario
    window = group.window
    terms: list[Term] = [context.term]
    kept = min(float(context.value), float("inf") if window is None else window)
    seen = "C"
    if window is not None:
        terms.append(Term(group.name("w"), group.symbol("w"), window, "token", "the window of these layers"))
        seen = f"min(C, {group.name('w')})"
    expression, value = seen, kept
    if own:
        held = s.others_context_tokens or 0
        terms += [
            Term("O", "O", s.others, "sequence", "other sequences"),
            Term("D", "D", held, "token", "context of each of the others"),
        ]
        other = "D" if window is None else f"min(D, {group.name('w')})"
        expression = f"{seen} + O * {other}"
        value += s.others * (held if window is None else min(held, window))
    elif s.others:
        terms.append(Term("S", "S", result.streams, "sequence", "sequences, as long as this one"))
        expression, value = f"S * {seen}", result.streams * kept
    if expression == "C":
        return context
    meaning = f"tokens in KV cache{group.sees}"
    return Working(group.name("K"), group.symbol("K"), expression, tuple(terms), value, "token", meaning)


def capacity(result: Result) -> Working:
    """Memory of all accelerators."""
    basis = f" ({result.accelerator.memory_basis})" if result.accelerator.memory_basis else ""
    terms = (
        Term("n", "n", result.scenario.accelerators, "", "accelerators"),
        Term(
            "m", "m", result.accelerator.memory_bytes, "B", f"memory of one {result.accelerator.name}{basis}"
        ),
    )
    return Working("capacity", "capacity", "n * m", terms, result.memory.capacity_bytes, "B")


def reserve(result: Result) -> Working:
    """What is kept for the runtime."""
    share = Term("r", "r", RESERVE_SHARE, "%", "kept for activations, workspace and the runtime")
    terms = (share, capacity(result).term)
    return Working("reserve", "reserve", "r * capacity", terms, result.memory.reserve_bytes, "B")


def _used(result: Result) -> Working:
    """Weights and KV cache."""
    terms = (stored_weights(result)[0].term, stored_kv(result)[0].term)
    return Working("used", "used", "weights + kv", terms, result.memory.used_bytes, "B")


def free(result: Result) -> Working:
    """What is left; below zero where it does not fit."""
    terms = [
        capacity(result).term,
        reserve(result).term,
        stored_weights(result)[0].term,
        stored_kv(result)[0].term,
    ]
    expression = "capacity - reserve - weights - kv"
    if result.memory.uneven_bytes:
        terms.append(uneven_weights(result)[0].term)
        expression += " - uneven"
    return Working("free", "free", expression, tuple(terms), result.memory.free_bytes, "B")


def fullest_weights(result: Result) -> Chain:
    """Weights on the accelerator that holds most."""
    n = Term("n", "n", result.scenario.accelerators, "", "accelerators")
    weights = stored_weights(result)[0]
    value = result.model.fullest_weights_bytes(result.scenario.accelerators)
    if not result.memory.uneven_bytes:
        return [Working("fullest", "weights of each", "weights / n", (weights.term, n), value, "B")]
    terms, routed, held = [weights.term], [], []
    for number, (total, _, expert_bytes) in enumerate(result.model.routed):
        tail = f"_{number}" if number else ""
        one = expert_term(expert_bytes, tail)
        whole = total >= result.scenario.accelerators
        share = -(-total // result.scenario.accelerators) if whole else total / result.scenario.accelerators
        meaning = "of them on the fullest accelerator: E / n, rounded up" if whole else "of them on each"
        terms += [
            Term(f"E{tail}", f"E{tail}", total, "expert", "experts in a layer, all of them kept"),
            Term(f"h{tail}", f"h{tail}", share, "expert", meaning),
            one,
        ]
        routed.append(f" - E{tail} * {one.name}")
        held.append(f" + h{tail} * {one.name}")
    expression = f"(weights{''.join(routed)}) / n{''.join(held)}"
    copied = result.model.copied_weights_bytes(result.scenario.accelerators)
    if copied:
        meaning = "projections to KV heads and latents that each keeps beyond an equal share"
        terms.append(Term("x", "x", copied, "B", meaning))
        expression += " + x"
    return [Working("fullest", "weights of the fullest", expression, (*terms, n), value, "B")]


def uneven_weights(result: Result) -> Chain:
    """What the room costs that the fullest accelerator needs beyond an equal share."""
    n = Term("n", "n", result.scenario.accelerators, "", "accelerators")
    fullest, weights = fullest_weights(result)[0], stored_weights(result)[0]
    meaning = "weights beyond an equal share, on every accelerator as on the fullest"
    terms = (n, fullest.term, weights.term)
    return [
        Working("uneven", "uneven", "n * fullest - weights", terms, result.memory.uneven_bytes, "B", meaning),
        fullest,
    ]
