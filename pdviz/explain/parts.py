"""What explanations are put together from: slices, layers by window, and the terms that many share."""

from __future__ import annotations

import msgspec

from pdviz.costmodel.architecture import Attention
from pdviz.costmodel.dtypes import DTYPES, PUBLISHED
from pdviz.costmodel.terms import distinct_experts
from pdviz.evaluation import Result
from pdviz.explain.working import Term, Working

Chain = list[Working]
"""A working, then those that its terms come from."""


class Group(msgspec.Struct, frozen=True):
    """Layers with one window (None: they see everything). ``suffix`` tells their quantities apart."""

    window: int | None
    layers: tuple[tuple[int, Attention], ...]
    suffix: str
    label: str

    def name(self, letter: str) -> str:
        return f"{letter}{self.suffix}"

    def symbol(self, letter: str) -> str:
        return f"{letter}{self.label}"

    @property
    def sees(self) -> str:
        if self.window is None:
            return ", in layers that see everything" if self.suffix else ""
        return f", in layers that see {self.window:,} tokens"


def _groups(layers: list[tuple[int, Attention]]) -> tuple[Group, ...]:
    by_window: dict[int | None, dict[Attention, int]] = {}
    for count, attention in layers:
        kinds = by_window.setdefault(attention.window_tokens, {})
        kinds[attention] = kinds.get(attention, 0) + count
    several = len(by_window) > 1
    found = []
    for window, kinds in by_window.items():
        suffix = f"_{window}" if window is not None else "_full" if several else ""
        label = f"[{window:,}]" if window is not None else "[full]" if several else ""
        found.append(Group(window, tuple((n, a) for a, n in kinds.items()), suffix, label))
    return tuple(found)


def kv_groups(result: Result) -> tuple[Group, ...]:
    """Layers with a KV cache, by window."""
    return _groups([(n, a) for n, a in result.architecture.attentions() if a.cache_elements])


def pair_groups(result: Result) -> tuple[Group, ...]:
    """Layers that compare each token with those before it, by window."""
    return _groups([(n, a) for n, a in result.architecture.attentions() if a.kind != "recurrent"])


def kv_token_bytes(result: Result, group: Group) -> float:
    """What a token adds to the KV cache in the layers of a group."""
    element = DTYPES[result.scenario.kv_dtype].bytes_per_element
    return element * sum(n * a.cache_elements for n, a in group.layers)


def rate_of(terms: tuple[Term, ...]) -> str:
    """A rate in an expression: the product of its terms."""
    names = " * ".join(term.name for term in terms)
    return names if len(terms) == 1 else f"({names})"


def peak_term(result: Result) -> Term:
    machine = result.machine
    several = f"{machine.accelerators:,} × {machine.name}" if machine.accelerators > 1 else machine.name
    meaning = f"dense {DTYPES[machine.math_dtype].title} rate of {several}"
    return Term("peak", "peak", machine.peak_flops_per_s, "FLOP/s", meaning)


def bandwidth_term(result: Result) -> Term:
    machine = result.machine
    several = f"{machine.accelerators:,} × {machine.name}" if machine.accelerators > 1 else machine.name
    return Term(
        "bandwidth", "bandwidth", machine.bandwidth_bytes_per_s, "B/s", f"memory bandwidth of {several}"
    )


def compute_terms(result: Result) -> tuple[Term, ...]:
    """Peak, and the share of it that kernels reach where that is assumed to be less."""
    if result.machine.compute_efficiency == 1 and not result.fidelity.uses_efficiencies:
        return (peak_term(result),)
    share = Term("e_c", "e_c", result.machine.compute_efficiency, "", "share of peak that kernels reach")
    return share, peak_term(result)


def bandwidth_terms(result: Result) -> tuple[Term, ...]:
    if result.machine.bandwidth_efficiency == 1 and not result.fidelity.uses_efficiencies:
        return (bandwidth_term(result),)
    share = Term(
        "e_b", "e_b", result.machine.bandwidth_efficiency, "", "share of bandwidth that kernels reach"
    )
    return share, bandwidth_term(result)


def resident_terms(result: Result, *, without_embedding: bool = False) -> tuple[tuple[Term, ...], str]:
    """Terms and expression of the bytes of all weights but routed experts."""
    model, cost = result.architecture, result.model
    leaves_out = without_embedding and model.head is not None
    without = ", the embedding table left out" if leaves_out else ""
    if cost.weights_dtype == PUBLISHED:
        rest = "all but tables and routed experts" if model.is_mixture else "all but tables"
        dense = Term("w_d", "w_d", cost.stored.dense, "B", f"{rest}, as published: {cost.weights_title}")
        found = [dense]
        if not leaves_out:
            tied = ", which is the head too" if model.head is None else ""
            found.append(Term("w_t", "w_t", cost.stored.embedding, "B", f"the embedding table{tied}"))
        if model.head is not None:
            found.append(Term("w_h", "w_h", cost.stored.head, "B", f"the output head{without}"))
        return tuple(found), " + ".join(term.name for term in found)
    dtype = DTYPES[cost.weights_dtype]
    wide = model.vector_parameters + model.table_weights - (model.embedding.weights if leaves_out else 0)
    each = Term("s", "s", dtype.bytes_per_weight, "B", f"bytes of a weight in {dtype.title}")
    if dtype.is_quantised:
        stored = f"weights stored as {dtype.title}, scales included in s"
        kept = f"what stays at 16 bit: tables, norms, biases{without}"
        narrow = Term("Q", "Q", model.dense_weights, "weight", stored)
        half = DTYPES["bf16"].bytes_per_weight
        full = Term("s_16", "s_16", half, "B", "bytes of a parameter at 16 bit")
        return (each, narrow, full, Term("V", "V", wide, "parameter", kept)), "s * Q + s_16 * V"
    what = "parameters, routed experts apart" if model.is_mixture else "all parameters"
    return (each, Term("R", "R", model.dense_weights + wide, "parameter", f"{what}{without}")), "s * R"


def weights_read(result: Result, tokens: Term, chain: Chain) -> Chain:
    """W: weight bytes that a pass over ``tokens`` reads; ``chain`` works the tokens out."""
    terms, expression = resident_terms(result, without_embedding=not result.model.reads_embedding)
    steps: Chain = []
    for number, (total, active, expert_bytes) in enumerate(result.model.routed):
        tail = f"_{number}" if number else ""
        hit = _experts_hit(total, active, tokens, tail)
        one = expert_term(expert_bytes, tail)
        terms = (*terms, hit.term, one)
        expression += f" + {hit.name} * {one.name}"
        steps += [hit, *chain]
    value = float(result.model.weights_read_bytes(tokens.value))
    meaning = "weights, read once for all tokens of the pass"
    return [Working("W", "W", expression, terms, value, "B", meaning), *steps]


def expert_term(expert_bytes: float, tail: str) -> Term:
    return Term(f"e{tail}", f"e{tail}", expert_bytes, "B", "one expert, in all layers that have it")


def _experts_hit(total: int, active: int, tokens: Term, tail: str) -> Working:
    """X: how many experts of a layer the tokens of a pass meet."""
    terms = (
        Term(f"E{tail}", f"E{tail}", total, "", "experts in a layer"),
        Term(f"g{tail}", f"g{tail}", active, "", "experts that one token meets"),
        msgspec.structs.replace(tokens, unit="", meaning=""),
    )
    value = float(distinct_experts(total, active, tokens.value))
    expression = f"E{tail} * (1 - (1 - g{tail} / E{tail}) ** T)"
    meaning = "experts of a layer that are read"
    return Working(f"X{tail}", f"X{tail}", expression, terms, value, "expert", meaning)
