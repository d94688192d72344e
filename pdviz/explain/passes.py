"""What a pass does, worked out: tokens, FLOPs, bytes, time, and the shares of peak that follow.

Symbols: T new tokens, C tokens of context, S sequences, P parameters, A attention pairs, W weight
bytes, b KV bytes of a token, K tokens of KV cache. With sliding windows, quantities that depend on
the window carry it in brackets: A[4,096].
"""

from __future__ import annotations

import msgspec

from pdviz.costmodel.architecture import Attention
from pdviz.costmodel.dtypes import DTYPES
from pdviz.costmodel.passes import IDEAL, Slice, attention_pairs, distinct_experts
from pdviz.costmodel.roofline import PassCost
from pdviz.evaluation import Result
from pdviz.explain.working import Term, Working
from pdviz.scenario import Scenario

Chain = list[Working]
"""A working, then those that its terms come from."""

KINDS_SHOWN = 3  # kinds of attention whose shapes are still written out


def pass_slices(scenario: Scenario, index: int) -> tuple[Slice, ...]:
    """The slices of pass ``index`` of the request: 0 is prefill, step k has context N + k."""
    s = scenario
    if index == 0:
        return (Slice.prompt(s.prompt_tokens - s.cached_tokens, s.cached_tokens),)
    context = s.prompt_tokens + index
    if s.others_context_tokens is None or not s.others:
        return (Slice.decode(context, 1 + s.others),)
    return Slice.decode(context), Slice.decode(s.others_context_tokens, s.others)


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


def _pair_flops(group: Group) -> float:
    return sum(n * 2.0 * a.query_heads * (a.head_dim + a.value_head_dim) for n, a in group.layers)


class PassWorkings:
    """The workings of pass ``index`` of a request; ``mark`` ends the names where two passes meet."""

    def __init__(self, result: Result, index: int, mark: str = "") -> None:
        self.result, self.index, self.mark = result, index, mark
        self.cost: PassCost = result.request.pass_cost(index)
        self.slices = pass_slices(result.scenario, index)
        self.is_ideal = result.scenario.fidelity == IDEAL

    def _name(self, name: str) -> str:
        return f"{name}{self.mark}"

    def _working(
        self,
        name: str,
        symbol: str,
        expression: str,
        terms: tuple[Term, ...],
        value: float,
        unit: str,
        meaning: str = "",
    ) -> Working:
        return Working(self._name(name), f"{symbol}{self.mark}", expression, terms, value, unit, meaning)

    # --- tokens --------------------------------------------------------------------------------

    def tokens(self) -> tuple[Term, Chain]:
        """T: new tokens of the pass."""
        s, cost = self.result.scenario, self.cost
        prompt = Term("N", "N", s.prompt_tokens, "token", "the prompt")
        if self.index == 0 and s.cached_tokens:
            cached = Term("p", "p", s.cached_tokens, "token", "the cached prefix")
            working = Working("T", "T", "N - p", (prompt, cached), cost.tokens, "token", "new tokens")
            return working.term, [working]
        meaning = "the prompt" if self.index == 0 else "one new token for each sequence"
        return Term("T", "T", cost.tokens, "token", f"new tokens of the pass: {meaning}"), []

    def context(self) -> tuple[Term, Chain]:
        """C: tokens of context of this request's sequence in a decode pass, the new one included."""
        prompt = Term("N", "N", self.result.scenario.prompt_tokens, "token", "the prompt")
        number = Term(self._name("k"), f"k{self.mark}", self.index, "token", "written so far, by decode")
        value = self.result.scenario.prompt_tokens + self.index
        terms = (prompt, number)
        working = self._working("C", "C", f"N + {number.name}", terms, value, "token", "context of this request")
        return working.term, [working]

    def _sequences(self) -> Term:
        return Term("S", "S", self.result.streams, "sequence", "sequences that decode together")

    def _summed_contexts(self, group: Group, letter: str, unit: str, meaning: str) -> tuple[Term, Chain]:
        """Contexts of all sequences of a decode pass added up, each cut at the window of the group."""
        s = self.result.scenario
        context, chain = self.context()
        terms: list[Term] = [context]
        seen = context.name
        if group.window is not None:
            window = Term(group.name("w"), group.symbol("w"), group.window, "token", "the window of these layers")
            terms.append(window)
            seen = f"min({context.name}, {window.name})"
        expression = seen
        if len(self.slices) == 2:
            others = Term("O", "O", s.others, "sequence", "other sequences")
            held = Term("D", "D", s.others_context_tokens or 0, "token", "context of each of the others")
            terms += [others, held]
            one = held.name if group.window is None else f"min({held.name}, {group.name('w')})"
            expression = f"{seen} + {others.name} * {one}"
        elif s.others:
            terms.append(self._sequences())
            expression = f"S * {seen}"
        value = float(
            sum(
                piece.sequences * (piece.past + 1 if group.window is None else min(piece.past + 1, group.window))
                for piece in self.slices
            )
        )
        working = self._working(
            group.name(letter), group.symbol(letter), expression, tuple(terms), value, unit, meaning
        )
        return working.term, [working, *chain]

    # --- arithmetic ----------------------------------------------------------------------------

    def flops(self) -> Chain:
        """FLOPs of the pass, then all that they come from."""
        result = self.result
        tokens, token_chain = self.tokens()
        terms: list[Term] = []
        if self.is_ideal:
            matrices = result.model.flops_per_token / 2
            meaning = "elements of the matrices that a token meets, embedding and head apart"
            terms.append(Term("M", "M", matrices, "weight", meaning))
            expression = "2 * M * T"
        else:
            active = result.architecture.active_parameters
            terms.append(Term("P", "P", active, "parameter", "what a token meets, a multiply and an add each"))
            expression = "2 * P * T"
        terms.append(tokens)
        if self.is_ideal:
            head = result.architecture.head or result.architecture.embedding
            shape = f"elements of the output head, {head.inputs:,} × {head.outputs:,}"
            sampled = Term("L", "L", sum(s.sequences for s in self.slices), "position", "positions with logits")
            terms += [Term("H", "H", head.weights, "weight", shape), sampled]
            expression += " + 2 * H * L"
        chain: Chain = []
        for group in pair_groups(result):
            each, each_chain = self._pair_term(group)
            pairs, pairs_chain = self._pairs(group)
            terms += [each, pairs]
            expression += f" + {each.name} * {pairs.name}"
            chain += [*each_chain, *pairs_chain]
        main = self._working("flops", "FLOPs", expression, tuple(terms), self.cost.flops, "FLOP", "")
        return [main, *token_chain, *chain]

    def _pair_term(self, group: Group) -> tuple[Term, Chain]:
        """a: FLOPs of one attention pair over the layers of a group."""
        name, symbol, value = group.name("a"), group.symbol("a"), _pair_flops(group)
        meaning = f"FLOPs of one attention pair{group.sees or ', over all layers'}"
        if len(group.layers) > KINDS_SHOWN:
            return Term(name, symbol, value, "FLOP", meaning), []
        terms: list[Term] = []
        parts: list[str] = []
        for number, (layers, a) in enumerate(group.layers):
            tail = f"{group.suffix}_{number}" if len(group.layers) > 1 else group.suffix
            mark = f"{group.label}{number + 1 if len(group.layers) > 1 else ''}"
            width = f"d{tail}" if a.head_dim == a.value_head_dim else f"(d{tail} + v{tail})"
            factor = "4" if a.head_dim == a.value_head_dim else "2"
            terms += [
                Term(f"n{tail}", f"n{mark}", layers, "layer", f"layers{group.sees}"),
                Term(f"q{tail}", f"q{mark}", a.query_heads, "head", "query heads"),
                Term(f"d{tail}", f"d{mark}", a.head_dim, "", "width of a query and a key"),
            ]
            if a.head_dim != a.value_head_dim:
                terms.append(Term(f"v{tail}", f"v{mark}", a.value_head_dim, "", "width of a value"))
            parts.append(f"{factor} * n{tail} * q{tail} * {width}")
        working = Working(name, symbol, " + ".join(parts), tuple(terms), value, "FLOP", meaning)
        return working.term, [working]

    def _pairs(self, group: Group) -> tuple[Term, Chain]:
        """A: causal (query, key) pairs of one layer of a group."""
        meaning = f"attention pairs in a layer{group.sees}"
        if self.index:
            return self._summed_contexts(group, "A", "pair", meaning)
        tokens, _ = self.tokens()
        past = self.result.scenario.cached_tokens
        expression = "T * (T + 1) / 2"
        terms = [tokens]
        if past:
            terms.append(Term("p", "p", past, "token", "the cached prefix"))
            expression = "T * p + T * (T + 1) / 2"
        chain: Chain = []
        value = float(attention_pairs(tokens.value, past, group.window))
        if group.window is not None and past + tokens.value > group.window:
            beyond, earlier = self._beyond(group)
            terms.append(beyond)
            expression += f" - {beyond.name} * ({beyond.name} + 1) / 2"
            chain.append(earlier)
            if past > group.window:
                window = Term(group.name("w"), group.symbol("w"), group.window, "token", "the window of these layers")
                terms.append(window)
                expression += f" - {beyond.name} * (p - {window.name})"
        working = Working(group.name("A"), group.symbol("A"), expression, tuple(terms), value, "pair", meaning)
        return working.term, [working, *chain]

    def _beyond(self, group: Group) -> tuple[Term, Working]:
        """x: prompt tokens that no longer see the whole of what stands before them."""
        tokens, _ = self.tokens()
        past, window = self.result.scenario.cached_tokens, group.window or 0
        terms = [tokens, Term(group.name("w"), group.symbol("w"), window, "token", "the window of these layers")]
        whole = "T"
        if past:
            terms.append(Term("p", "p", past, "token", "the cached prefix"))
            whole = "T + p"
        working = Working(
            group.name("x"),
            group.symbol("x"),
            f"min(T, {whole} - {group.name('w')})",
            tuple(terms),
            min(tokens.value, past + tokens.value - window),
            "token",
            "tokens that see no further than the window",
        )
        return working.term, working

    # --- memory traffic ------------------------------------------------------------------------

    def weights(self) -> Chain:
        """W: weight bytes that the pass reads."""
        model, architecture = self.result.model, self.result.architecture
        dtype = DTYPES[model.weights_dtype]
        dense, wide = architecture.dense_weights, architecture.vector_parameters + architecture.table_weights
        without = ""
        if self.is_ideal and architecture.head is not None:
            wide -= architecture.embedding.weights
            without = ", the embedding table left out"
        routed = architecture.is_mixture
        each = Term("s", "s", dtype.bytes_per_weight, "B", f"bytes of a {dtype.title} weight")
        if dtype.is_quantised:
            narrow = Term("Q", "Q", dense, "weight", f"weights stored as {dtype.title}, scales included in s")
            kept = Term("V", "V", wide, "parameter", f"what stays at 16 bit: tables, norms, biases{without}")
            terms: tuple[Term, ...] = (each, narrow, kept)
            expression = "s * Q + 2 * V"
        else:
            what = "parameters, routed experts apart" if routed else "all parameters"
            terms = (each, Term("P_r", "R", dense + wide, "parameter", f"{what}{without}"))
            expression = "s * P_r"
        chain: Chain = []
        for number, (total, active, expert_bytes) in enumerate(routed_experts(self.result)):
            tail = "" if number == 0 else f"_{number}"
            hit, hit_chain = self._hit(total, active, tail)
            one = Term(f"e{tail}", f"e{tail}", expert_bytes, "B", "one expert, in all layers that have it")
            terms = (*terms, hit, one)
            expression += f" + {hit.name} * {one.name}"
            chain += hit_chain
        value = float(model.weights_read_bytes(self.cost.tokens))
        meaning = "weights, read once for all tokens of the pass"
        return [self._working("W", "W", expression, terms, value, "B", meaning), *chain]

    def _hit(self, total: int, active: int, tail: str) -> tuple[Term, Chain]:
        """X: how many experts of a layer the tokens of the pass meet."""
        tokens, chain = self.tokens()
        terms = (
            Term(f"E{tail}", f"E{tail}", total, "", "experts in a layer"),
            Term(f"g{tail}", f"g{tail}", active, "", "experts that one token meets"),
            msgspec.structs.replace(tokens, unit="", meaning=""),
        )
        value = float(distinct_experts(total, active, self.cost.tokens))
        expression = f"E{tail} * (1 - (1 - g{tail} / E{tail}) ** T)"
        working = self._working(
            f"X{tail}", f"X{tail}", expression, terms, value, "expert", "experts of a layer that are read"
        )
        return working.term, [working, *chain]

    def kv(self) -> Chain | None:
        """KV bytes of the pass; None where it moves none."""
        result = self.result
        past = result.scenario.cached_tokens
        terms: list[Term] = []
        parts: list[str] = []
        chain: Chain = []
        for group in kv_groups(result) if self.index or past else ():
            each = Term(
                group.name("b"), group.symbol("b"), kv_token_bytes(result, group), "B", f"KV of a token{group.sees}"
            )
            held, held_chain = self._held(group)
            terms += [each, held]
            parts.append(f"{each.name} * {held.name}")
            chain += held_chain
        if result.model.state_bytes and (self.index or past):
            terms.append(Term("Z", "Z", result.model.state_bytes, "B", "fixed state of a sequence"))
            if self.index and result.streams > 1:
                terms.append(self._sequences())
            parts.append("Z * S" if self.index and result.streams > 1 else "Z")
        if self.is_ideal and result.model.kv_bytes_per_token:
            tokens, token_chain = self.tokens()
            chain += token_chain
            terms += [Term("b_w", "b", result.model.kv_bytes_per_token, "B", "KV that a token adds"), tokens]
            parts.append("b_w * T")
        if not parts:
            return None
        value = float(result.model.kv_traffic_bytes(self.slices))
        what = "KV cache, read and written" if self.is_ideal else "KV cache, read"
        main = self._working("KV", "KV", " + ".join(parts), tuple(terms), value, "B", what)
        return [main, *chain]

    def _held(self, group: Group) -> tuple[Term, Chain]:
        """K: tokens whose KV the pass reads in the layers of a group."""
        if self.index:
            return self._summed_contexts(group, "K", "token", f"tokens in KV cache{group.sees}")
        past = Term("p", "p", self.result.scenario.cached_tokens, "token", "the cached prefix")
        if group.window is None:
            return past, []
        window = Term(group.name("w"), group.symbol("w"), group.window, "token", "the window of these layers")
        value = min(past.value, window.value)
        meaning = f"cached tokens{group.sees}"
        working = self._working(
            group.name("K"), group.symbol("K"), f"min(p, {window.name})", (past, window), value, "token", meaning
        )
        return working.term, [working]

    def bytes(self) -> Chain:
        """Bytes that the pass moves, then all that they come from."""
        weights, kv = self.weights(), self.kv()
        terms: tuple[Term, ...] = (weights[0].term,)
        if kv is not None:
            terms = (*terms, kv[0].term)
        expression = " + ".join(term.name for term in terms)
        main = self._working("bytes", "bytes", expression, terms, self.cost.bytes, "B")
        return [main, *weights, *(kv or ())]

    # --- time ----------------------------------------------------------------------------------

    def time(self, symbol: str = "time") -> Working:
        """The longer of the two times."""
        terms = (self.flops()[0].term, *compute_terms(self.result), self.bytes()[0].term)
        terms = (*terms, *bandwidth_terms(self.result))
        flops, moved = self._name("flops"), self._name("bytes")
        expression = (
            f"max({flops} / {rate_of(compute_terms(self.result))}, "
            f"{moved} / {rate_of(bandwidth_terms(self.result))})"
        )
        return self._working("t", symbol, expression, terms, self.cost.time_s, "s")

    def two_times(self) -> tuple[Working, Working]:
        """The time that arithmetic takes, and that memory traffic takes."""
        compute, bandwidth = compute_terms(self.result), bandwidth_terms(self.result)
        flops, moved = self.flops()[0].term, self.bytes()[0].term
        return (
            self._working(
                "t_c", "compute time", f"{flops.name} / {rate_of(compute)}", (flops, *compute), self.cost.compute_s, "s"
            ),
            self._working(
                "t_b", "memory time", f"{moved.name} / {rate_of(bandwidth)}", (moved, *bandwidth),
                self.cost.bandwidth_s, "s",
            ),
        )  # fmt: skip

    def time_term(self) -> Term:
        return Term(self._name("t"), "time", self.cost.time_s, "s", "what the pass takes")


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
    return Term("bandwidth", "bandwidth", machine.bandwidth_bytes_per_s, "B/s", f"memory bandwidth of {several}")


def compute_terms(result: Result) -> tuple[Term, ...]:
    """Peak, and the share of it that kernels reach where that is assumed to be less."""
    if result.scenario.fidelity == IDEAL:
        return (peak_term(result),)
    share = Term("e_c", "e_c", result.machine.compute_efficiency, "", "share of peak that kernels reach")
    return share, peak_term(result)


def bandwidth_terms(result: Result) -> tuple[Term, ...]:
    if result.scenario.fidelity == IDEAL:
        return (bandwidth_term(result),)
    share = Term("e_b", "e_b", result.machine.bandwidth_efficiency, "", "share of bandwidth that kernels reach")
    return share, bandwidth_term(result)


def routed_experts(result: Result) -> tuple[tuple[int, int, float], ...]:
    """(experts in a layer, how many a token meets, bytes of one over all its layers), by kind."""
    dtype = DTYPES[result.scenario.weights_dtype]
    wide = 2.0 if dtype.is_quantised else dtype.bytes_per_weight
    sums: dict[tuple[int, int], float] = {}
    for layers, block in result.architecture.experts():
        kind = block.total, block.active
        matrices = sum(m.weights for m in block.expert)
        biases = sum(m.parameters for m in block.expert) - matrices
        sums[kind] = sums.get(kind, 0.0) + layers * (matrices * dtype.bytes_per_weight + biases * wide)
    return tuple((*kind, one) for kind, one in sums.items())
