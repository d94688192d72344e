"""Lengths at which something changes: where prefill turns compute-bound, where KV outweighs weights."""

from __future__ import annotations

from pdviz import report, units
from pdviz.costmodel.request import CROSSOVER_LIMIT_TOKENS
from pdviz.costmodel.terms import Slice
from pdviz.evaluation import Result
from pdviz.explain import sources
from pdviz.explain.parts import (
    Chain,
    bandwidth_terms,
    compute_terms,
    kv_groups,
    kv_token_bytes,
    rate_of,
    weights_read,
)
from pdviz.explain.passes import PassWorkings
from pdviz.explain.working import Explanation, Term, Working, explanation


def _ratio_at(result: Result, prompt_tokens: int, mark: str) -> tuple[Working, Working, Working]:
    """Compute time over memory time of a prompt of that length, and both times."""
    cached, machine = result.scenario.cached_tokens, result.machine
    piece = (Slice.prompt(prompt_tokens - cached, cached),)
    cost = result.model.cost(machine, piece)
    flops, moved = cost.flops, cost.bytes
    compute, memory = compute_terms(result), bandwidth_terms(result)
    where = f"at {units.count(prompt_tokens)} tokens"
    work = Term(f"F{mark}", f"FLOPs {where}", flops, "FLOP", "")
    traffic = Term(f"B{mark}", f"bytes {where}", moved, "B", "")
    one = Working(
        f"c{mark}",
        f"compute time {where}",
        f"{work.name} / {rate_of(compute)}",
        (work, *compute),
        machine.compute_s(flops),
        "s",
    )
    other = Working(
        f"m{mark}",
        f"memory time {where}",
        f"{traffic.name} / {rate_of(memory)}",
        (traffic, *memory),
        machine.bandwidth_s(moved),
        "s",
    )
    value = one.value / other.value
    terms = (one.term, other.term)
    ratio = Working(f"r{mark}", f"ratio {where}", f"{one.name} / {other.name}", terms, value)
    return ratio, one, other


def crossover(result: Result) -> Explanation:
    tokens, cached = result.crossover_prompt_tokens, result.scenario.cached_tokens
    steps: list[Working | str] = []
    figure = None
    if tokens is None:
        at = 1
        while cached + 2 * at <= CROSSOVER_LIMIT_TOKENS:
            at *= 2
        main, *times = _ratio_at(result, cached + at, "")
        steps += times
        value = "none"
        summary = (
            "Even the longest prompt that is tried takes less time for arithmetic than for memory traffic."
        )
    else:
        main, *times = _ratio_at(result, tokens, "")
        steps += times
        value = units.plural(tokens, "token")
        summary = "The shortest prompt whose arithmetic takes at least as long as its memory traffic."
        if tokens > cached + 1:
            figure = tokens
            below, *shorter = _ratio_at(result, tokens - 1, "_below")
            steps += ["One token less, and memory traffic takes longer:", below, *shorter]
        else:
            value, summary = "none", "Prefill is limited by compute at any length: one token is enough."
    if not cached and not result.architecture.is_mixture and not result.fidelity.samples_logits:
        steps.append(_without_attention(result))
    return explanation(
        "crossover",
        "Crossover",
        value,
        summary,
        main,
        steps=steps,
        sources=(sources.ROOFLINE, sources.TWO_FLOPS, *sources.accelerator_sources(result)),
        fidelity=report.fidelity_text(result),
        inputs=("achievable_ridge", "prefill.flops", "prefill.bytes", "assumptions"),
        figure=(figure, "token"),
    )


def _without_attention(result: Result) -> Working:
    ridge = result.machine.achievable_ridge_flops_per_byte
    weights = PassWorkings(result, 0).weights()[0].term
    active = Term("P", "P", result.architecture.active_parameters, "parameter", "what a token meets")
    terms = (Term("R", "R", ridge, "FLOP/B", "the achievable ridge"), weights, active)
    value = ridge * weights.value / (2 * active.value)
    return Working(
        "rough", "without attention", "R * W / (2 * P)", terms, value, "token", "the length that follows"
    )


def half_speed(result: Result) -> Explanation:
    tokens_read = Term(
        "T", "T", result.streams, "token", "new tokens of a decode pass: one for each sequence"
    )
    weights = weights_read(result, tokens_read, [])
    main, *steps = _half_speed(result, weights)
    tokens = result.half_speed_context_tokens
    if tokens is None:
        value = "none"
        summary = (
            "What a sequence keeps never outgrows the weights that a decode pass reads."
            if main.value < 1
            else "What a sequence keeps does not grow here, and outweighs the weights at any context."
        )
    else:
        value = units.plural(max(round(tokens), 1), "token")
        summary = "At this context a decode pass reads as many bytes of KV cache as of weights."
    lines: list[Working | str] = [*steps]
    if result.scenario.others and result.scenario.others_context_tokens is not None:
        lines.append("Here all sequences are taken to have this context.")
    return explanation(
        "half_speed_context",
        "Half-speed context",
        value,
        summary,
        main,
        steps=lines,
        sources=(sources.INFERENCE,),
        fidelity=report.fidelity_text(result),
        inputs=("decode.bytes", "kv_bytes_per_token", "memory.weights"),
        figure=(tokens, "token"),
    )


def _half_speed(result: Result, read: Chain) -> Chain:
    """The context at which a decode pass reads as much KV cache as weights, or the most KV that there is.

    ``read`` works out the weights that it reads.
    """
    weights = read[0]
    sequences = Term("S", "S", result.streams, "sequence", "sequences that decode together")
    context = result.half_speed_context_tokens
    groups = kv_groups(result)
    # windows that are full before that context is reached count as fixed
    full = [g for g in groups if g.window is not None and (context is None or g.window < context)]
    growing = [g for g in groups if g not in full]
    fixed = result.model.state_bytes + sum(kv_token_bytes(result, g) * (g.window or 0) for g in full)
    if context is None:
        terms: tuple[Term, ...] = (
            Term("F", "F", fixed, "B", "the most KV cache and state that a sequence can hold"),
            sequences,
            weights.term,
        )
        value = fixed * result.streams / weights.value
        return [Working("share", "most KV / weights", "F * S / W", terms, value, "%"), *read]
    slope = sum(kv_token_bytes(result, g) for g in growing)
    each = Term(
        "b", "b", slope, "B", "KV of a token" + (", in layers whose window is not full" if full else "")
    )
    if not fixed:
        expression, terms = "W / (b * S)", (weights.term, each, sequences)
    else:
        held = Term("F", "F", fixed, "B", "KV of layers whose window is full, and fixed state")
        expression, terms = "max(W / S - F, 0) / b", (weights.term, sequences, held, each)
    return [Working("C", "context", expression, terms, context, "token"), *read]
