"""What a model is, worked out: its parameters, and what it caches for a token."""

from __future__ import annotations

from pdviz import units
from pdviz.catalogue import Catalogue
from pdviz.costmodel.architecture import Experts, FeedForward, Layer, Matrix
from pdviz.costmodel.dtypes import DTYPES
from pdviz.evaluation import Result
from pdviz.explain import sources
from pdviz.explain.parts import Chain
from pdviz.explain.working import Explanation, Term, Working, explanation

KINDS_SHOWN = 4  # kinds of layers whose matrices are still written out


def parameters(result: Result, catalogue: Catalogue | None, *, active: bool) -> Explanation:
    main, *steps = _parameters(result, active=active)
    count = result.architecture.active_parameters if active else result.architecture.parameters
    if active:
        summary = "What one token meets on its way: " + (
            "of each layer's routed experts only some."
            if result.architecture.is_mixture
            else "all parameters, since this model has no routed experts."
        )
    else:
        summary = "All parameters of the main model, counted from the shapes of its matrices."
    left_out = result.architecture.left_out
    others = _without_tables(result) if active else ()
    return explanation(
        "active_parameters" if active else "parameters",
        "Active parameters" if active else "Parameters",
        units.parameters(count),
        summary,
        main,
        steps=(*steps, *others, *((f"Left out: {', '.join(left_out)}.",) if left_out else ())),
        sources=sources.model_sources(result, catalogue),
        fidelity=sources.COUNTED,
        inputs=("parameters",) if active else ("active_parameters", "memory.weights"),
    )


def _without_tables(result: Result) -> tuple[str, ...]:
    """The two other conventions in which active parameters are published."""
    model = result.architecture
    without = model.active_parameters - model.embedding.weights
    if model.head is None:
        return (f"Without the embedding table, which is the head too: {units.count(without)}.",)
    neither = without - model.head.weights
    return (
        f"Others count without the embedding table: {units.count(without)}, "
        f"or without embedding and head: {units.count(neither)}.",
    )


def kv_per_token(result: Result, catalogue: Catalogue | None) -> Explanation:
    main, *steps = _kv_per_token(result)
    windows = result.model.windows
    kinds = {a.kind for _, a in result.architecture.attentions() if a.cache_elements}
    if not kinds:
        summary = "This model has no KV cache that grows: its layers keep a fixed state."
    else:
        what = "one latent for all heads" if kinds == {"latent"} else "a key and a value"
        summary = f"What one token adds to the KV cache: {what} in every layer that has a cache."
    if windows and kinds:
        summary += f" Some layers forget what is more than {windows[0]:,} tokens back."
    return explanation(
        "kv_bytes_per_token",
        "KV cache of a token",
        units.binary_size(result.model.kv_bytes_per_token),
        summary,
        main,
        steps=steps,
        sources=sources.model_sources(result, catalogue),
        fidelity=sources.COUNTED,
        inputs=("memory.kv", "half_speed_context"),
    )


def _parameters(result: Result, *, active: bool) -> Chain:
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
    kinds: dict[tuple[int, tuple[Matrix, ...]], int] = {}
    for layers, block in model.experts():
        kind = block.active if active else block.total, block.expert
        kinds[kind] = kinds.get(kind, 0) + layers
    for number, ((experts, matrices), layers) in enumerate(kinds.items()):
        tail = f"_{number}" if number else ""
        terms += [
            Term(f"layers{tail}", f"layers{tail}", layers, "layer", "layers with experts"),
            Term(
                f"experts{tail}", f"experts{tail}", experts, "expert",
                "experts that a token meets" if active else "experts in each of these layers",
            ),
            Term(
                f"expert{tail}", f"expert{tail}", sum(m.parameters for m in matrices), "parameter",
                f"one expert: {_shapes(matrices)}",
            ),
        ]  # fmt: skip
        expression += f" + layers{tail} * experts{tail} * expert{tail}"
    value = model.active_parameters if active else model.parameters
    name = "P" if active else "P_all"
    main = Working(
        name, "active parameters" if active else "parameters", expression, tuple(terms), value, "parameter"
    )
    return [main, *_dense_matrices(result)]


def _shapes(matrices: tuple[Matrix, ...]) -> str:
    return ", ".join(f"{m.role.value} {m.inputs:,} × {m.outputs:,}" for m in matrices)


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
            Term(
                f"n_{number}",
                f"n_{number}",
                count,
                "layer" if matrices is not extra else "",
                "layers of this kind",
            ),
            Term(f"m_{number}", f"m_{number}", weights, "weight", _shapes(matrices)),
        ]
        parts.append(f"n_{number} * m_{number}")
    value = result.architecture.dense_weights
    meaning = "matrices that every token meets"
    return [Working("matrices", "matrices", " + ".join(parts), tuple(terms), value, "parameter", meaning)]


def _kv_per_token(result: Result) -> Chain:
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
        where = f"layers that see {window:,} tokens" if window is not None else ""
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
