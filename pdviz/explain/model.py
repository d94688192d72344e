"""What a model is and keeps, worked out: parameters, KV cache, memory, where its context slows it down."""

from __future__ import annotations

from pdviz import units
from pdviz.costmodel.architecture import Experts, FeedForward, Layer, Matrix
from pdviz.costmodel.dtypes import DTYPES
from pdviz.costmodel.memory import RESERVE_SHARE
from pdviz.evaluation import Result
from pdviz.explain.passes import Chain, Group, kv_groups, kv_token_bytes, routed_experts
from pdviz.explain.working import Term, Working

KINDS_SHOWN = 4  # kinds of layers whose matrices are still written out


# --- parameters ------------------------------------------------------------------------------------


def parameters(result: Result, *, active: bool) -> Chain:
    """All parameters, or those that one token meets."""
    model = result.architecture
    head = "" if model.head is None else f" and head {model.head.inputs:,} × {model.head.outputs:,}"
    shapes = f"token table {model.embedding.inputs:,} × {model.embedding.outputs:,}{head}"
    tied = "; the head is the same table" if model.head is None else ""
    terms = [
        Term("tables", "tables", model.table_weights, "parameter", f"{shapes}{tied}"),
        Term("matrices", "matrices", model.dense_weights, "parameter", ""),
        Term("vectors", "vectors", model.vector_parameters, "parameter", "norms, biases and the like"),
    ]
    expression = "tables + matrices + vectors"
    for number, (layers, block) in enumerate(model.experts()):
        if number >= KINDS_SHOWN:
            break
        tail = f"_{number}" if number else ""
        terms += [
            Term(f"layers{tail}", f"layers{tail}", layers, "layer", "layers with experts"),
            Term(
                f"experts{tail}", f"experts{tail}", block.active if active else block.total, "expert",
                "experts that a token meets" if active else "experts in each of these layers",
            ),
            Term(
                f"expert{tail}", f"expert{tail}", model.expert_parameters(block), "parameter",
                f"one expert: {_shapes(block.expert)}",
            ),
        ]  # fmt: skip
        expression += f" + layers{tail} * experts{tail} * expert{tail}"
    value = model.active_parameters if active else model.parameters
    name = "P" if active else "P_all"
    main = Working(name, "active parameters" if active else "parameters", expression, tuple(terms), value, "parameter")
    return [main, *_dense_matrices(result)]


def _shapes(matrices: tuple[Matrix, ...]) -> str:
    return ", ".join(f"{m.name} {m.inputs:,} × {m.outputs:,}" for m in matrices)


def _resident(layer: Layer) -> tuple[Matrix, ...]:
    """Matrices of a layer that every token meets."""
    found = layer.attention.matrices if layer.attention is not None else ()
    block = layer.feed_forward
    if isinstance(block, Experts):
        return found + block.shared + block.router
    return found + (block.matrices if isinstance(block, FeedForward) else ())


def _dense_matrices(result: Result) -> Chain:
    """The matrices that every token meets, layer by layer, where there are few kinds of layers."""
    kinds: dict[tuple[Matrix, ...], int] = {}
    for run in result.architecture.runs:
        matrices = _resident(run.layer)
        if matrices:
            kinds[matrices] = kinds.get(matrices, 0) + run.count
    extra = result.architecture.extra
    if extra:
        kinds[extra] = 1
    if not kinds or len(kinds) > KINDS_SHOWN:
        return []
    terms: list[Term] = []
    parts: list[str] = []
    for number, (matrices, count) in enumerate(kinds.items(), 1):
        weights = sum(m.weights for m in matrices)
        terms += [
            Term(f"n_{number}", f"n_{number}", count, "layer" if matrices is not extra else "", "layers of this kind"),
            Term(f"m_{number}", f"m_{number}", weights, "weight", _shapes(matrices)),
        ]
        parts.append(f"n_{number} * m_{number}")
    value = result.architecture.dense_weights
    meaning = "matrices that every token meets"
    return [Working("matrices", "matrices", " + ".join(parts), tuple(terms), value, "parameter", meaning)]


# --- KV cache --------------------------------------------------------------------------------------


def kv_per_token(result: Result) -> Chain:
    """KV bytes that a token adds."""
    dtype = DTYPES[result.scenario.kv_dtype]
    each = Term("s", "s", dtype.bytes_per_element, "B", f"bytes of a {dtype.title} element")
    terms: list[Term] = [each]
    parts: list[str] = []
    kinds: dict[tuple[int, int, int, int, str, int | None], int] = {}
    for layers, a in result.architecture.attentions():
        if a.cache_elements:
            shape = (a.cache_elements, a.kv_heads, a.head_dim, a.value_head_dim, a.kind, a.window_tokens)
            kinds[shape] = kinds.get(shape, 0) + layers
    for number, ((elements, heads, width, value_width, kind, window), layers) in enumerate(kinds.items(), 1):
        tail = "" if len(kinds) == 1 else f"_{number}"
        where = f"layers that see {window:,} tokens" if window is not None else "layers that see everything"
        terms.append(Term(f"n{tail}", f"n{tail}", layers, "layer", where))
        if kind != "latent" and elements == heads * (width + value_width):
            terms += [
                Term(f"h{tail}", f"h{tail}", heads, "head", "KV heads, each with a key and a value"),
                Term(f"d{tail}", f"d{tail}", width, "", "width of a key"),
            ]
            if width == value_width:
                parts.append(f"n{tail} * 2 * h{tail} * d{tail} * s")
            else:
                terms.append(Term(f"v{tail}", f"v{tail}", value_width, "", "width of a value"))
                parts.append(f"n{tail} * h{tail} * (d{tail} + v{tail}) * s")
        else:
            what = "one latent and one rotary key for all heads" if kind == "latent" else "cached for a token"
            terms.append(Term(f"c{tail}", f"c{tail}", elements, "element", what))
            parts.append(f"n{tail} * c{tail} * s")
    value = result.model.kv_bytes_per_token
    expression = " + ".join(parts) or "0 * s"
    return [Working("b", "KV of a token", expression, tuple(terms), value, "B", "")]


# --- memory ----------------------------------------------------------------------------------------


def stored_weights(result: Result) -> Chain:
    """Bytes of all weights in memory."""
    dtype = DTYPES[result.scenario.weights_dtype]
    model = result.architecture
    each = Term("s", "s", dtype.bytes_per_weight, "B", f"bytes of a {dtype.title} weight")
    wide = model.table_weights + model.vector_parameters
    if dtype.is_quantised:
        terms: tuple[Term, ...] = (
            each,
            Term("Q", "Q", model.dense_weights, "weight", f"weights stored as {dtype.title}, scales included in s"),
            Term("V", "V", wide, "parameter", "what stays at 16 bit: tables, norms, biases"),
        )
        expression = "s * Q + 2 * V"
    else:
        what = "parameters, routed experts apart" if model.is_mixture else "all parameters"
        terms = (each, Term("R", "R", model.dense_weights + wide, "parameter", what))
        expression = "s * R"
    for number, (total, _, expert_bytes) in enumerate(routed_experts(result)):
        tail = f"_{number}" if number else ""
        terms = (
            *terms,
            Term(f"E{tail}", f"E{tail}", total, "expert", "experts in a layer, all of them kept"),
            Term(f"e{tail}", f"e{tail}", expert_bytes, "B", "one expert, in all layers that have it"),
        )
        expression += f" + E{tail} * e{tail}"
    value = result.memory.weights_bytes
    return [Working("weights", "weights", expression, terms, value, "B")]


def longest_context(result: Result) -> Working:
    """Tokens that this request's sequence holds at its end."""
    s = result.scenario
    terms = (
        Term("N", "N", s.prompt_tokens, "token", "the prompt"),
        Term("M", "M", s.output_tokens, "token", "the output; the last token is never read again"),
    )
    value = s.prompt_tokens + s.output_tokens - 1
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
    context = longest_context(result)
    own = s.others_context_tokens is not None and s.others > 0
    terms: list[Term] = []
    parts: list[str] = []
    chain: Chain = []
    for group in kv_groups(result):
        kept = _kept_again(result, group)
        times = kept / kv_token_bytes(result, group)
        again = f", kept {units.significant(times)} times over, since heads are not split" if times > 1 else ""
        each = Term(group.name("b"), group.symbol("b"), kept, "B", f"KV of a token{group.sees}{again}")
        held = _held_at_end(result, group, context, own)
        chain += [held, context]
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
        expression = f"{seen} + O * {'D' if window is None else f'min(D, {group.name("w")})'}"
        value += s.others * (held if window is None else min(held, window))
    elif s.others:
        terms.append(Term("S", "S", result.streams, "sequence", "sequences, as long as this one"))
        expression, value = f"S * {seen}", result.streams * kept
    meaning = f"tokens in KV cache{group.sees}"
    return Working(group.name("K"), group.symbol("K"), expression, tuple(terms), value, "token", meaning)


def capacity(result: Result) -> Working:
    """Memory of all accelerators."""
    basis = f" ({result.accelerator.memory_basis})" if result.accelerator.memory_basis else ""
    terms = (
        Term("n", "n", result.scenario.accelerators, "", "accelerators"),
        Term("m", "m", result.accelerator.memory_bytes, "B", f"memory of one {result.accelerator.name}{basis}"),
    )
    return Working("capacity", "capacity", "n * m", terms, result.memory.capacity_bytes, "B")


def reserve(result: Result) -> Working:
    """What is kept for the runtime."""
    share = Term("r", "r", RESERVE_SHARE, "%", "kept for activations, workspace and the runtime")
    terms = (share, capacity(result).term)
    return Working("reserve", "reserve", "r * capacity", terms, result.memory.reserve_bytes, "B")


def used(result: Result) -> Working:
    """Weights and KV cache."""
    terms = (stored_weights(result)[0].term, stored_kv(result)[0].term)
    return Working("used", "used", "weights + kv", terms, result.memory.used_bytes, "B")


def free(result: Result) -> Working:
    """What is left; below zero where it does not fit."""
    terms = (capacity(result).term, reserve(result).term, stored_weights(result)[0].term, stored_kv(result)[0].term)
    expression = "capacity - reserve - weights - kv"
    return Working("free", "free", expression, terms, result.memory.free_bytes, "B")


# --- the context at which a step is half weights, half KV ------------------------------------------


def half_speed(result: Result, weights: Working) -> Chain:
    """The context at which a decode step reads as much KV cache as weights (or the most KV that there is)."""
    sequences = Term("S", "S", result.streams, "sequence", "sequences that decode together")
    context = result.half_speed_context_tokens
    groups = kv_groups(result)
    # windows that are full before that context is reached count as fixed
    full = [g for g in groups if g.window is not None and (context is None or g.window <= context)]
    growing = [g for g in groups if g not in full]
    fixed = result.model.state_bytes + sum(kv_token_bytes(result, g) * (g.window or 0) for g in full)
    if context is None:
        terms: tuple[Term, ...] = (
            Term("F", "F", fixed, "B", "the most KV cache and state that a sequence can hold"),
            sequences,
            weights.term,
        )
        value = fixed * result.streams / weights.value
        return [Working("share", "most KV / weights", "F * S / W", terms, value, "%"), weights]
    slope = sum(kv_token_bytes(result, g) for g in growing or full)
    each = Term("b", "b", slope, "B", "KV of a token" + (", in layers whose window is not full" if full else ""))
    if not fixed:
        expression, terms = "W / (b * S)", (weights.term, each, sequences)
    else:
        held = Term("F", "F", fixed, "B", "KV of layers whose window is full, and fixed state")
        expression, terms = "max(W / S - F, 0) / b", (weights.term, sequences, held, each)
    return [Working("C", "context", expression, terms, context, "token"), weights]
