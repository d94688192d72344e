"""What a pass does, worked out: tokens, FLOPs, bytes, time, and the shares of peak that follow.

Symbols: T new tokens, C tokens of context, S sequences, P parameters (P_m in matrices), A attention
pairs, W weight bytes, b KV bytes of a token, K tokens of KV cache. With sliding windows, quantities
that depend on the window carry it in brackets: A[4,096].
"""

from __future__ import annotations

import msgspec

from pdviz.costmodel.fidelities import PassCost
from pdviz.costmodel.terms import Role, attention_pairs, sequence_bytes
from pdviz.evaluation import Result
from pdviz.explain.parts import (
    Chain,
    Group,
    bandwidth_terms,
    compute_terms,
    kv_groups,
    kv_token_bytes,
    pair_flops,
    pair_groups,
    rate_of,
    weights_read,
)
from pdviz.explain.working import Term, Working

KINDS_SHOWN = 3  # kinds of attention whose shapes are still written out


class PassWorkings:
    """The workings of pass ``index`` of a request; ``mark`` ends the names where two passes meet."""

    def __init__(self, result: Result, index: int, mark: str = "") -> None:
        self.result, self.index, self.mark = result, index, mark
        self.cost: PassCost = result.request.pass_cost(index)
        self.slices = result.scenario.slices(index)
        self.is_ideal = result.fidelity.samples_logits

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
        working = self._working(
            "C", "C", f"N + {number.name}", terms, value, "token", "context of this request"
        )
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
            window = Term(
                group.name("w"), group.symbol("w"), group.window, "token", "the window of these layers"
            )
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
        if expression == context.name:
            return context, chain
        value = float(
            sum(
                piece.sequences
                * (piece.past + 1 if group.window is None else min(piece.past + 1, group.window))
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
            matrices = sum(t.flops_each for t in result.model.weight_terms if t.role is not Role.HEAD) / 2
            meaning = "elements of the matrices that a token meets, embedding and head apart"
            terms.append(Term("P_m", "P_m", matrices, "weight", meaning))
            expression = "2 * P_m * T"
        else:
            active = result.architecture.active_parameters
            terms.append(
                Term("P", "P", active, "parameter", "what a token meets, a multiply and an add each")
            )
            expression = "2 * P * T"
        terms.append(tokens)
        if self.is_ideal:
            head = result.architecture.head or result.architecture.embedding
            shape = f"elements of the output head, {head.inputs:,} × {head.outputs:,}"
            sampled = Term(
                "L", "L", sum(s.sequences for s in self.slices), "position", "positions with logits"
            )
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
        name, symbol, value = group.name("a"), group.symbol("a"), pair_flops(group)
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
                Term(f"n{tail}", f"n{mark}", layers, "layer", group.sees[5:]),
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
                window = Term(
                    group.name("w"), group.symbol("w"), group.window, "token", "the window of these layers"
                )
                terms.append(window)
                expression += f" - {beyond.name} * (p - {window.name})"
        working = Working(
            group.name("A"), group.symbol("A"), expression, tuple(terms), value, "pair", meaning
        )
        return working.term, [working, *chain]

    def _beyond(self, group: Group) -> tuple[Term, Working]:
        """x: prompt tokens that no longer see the whole of what stands before them."""
        tokens, _ = self.tokens()
        past, window = self.result.scenario.cached_tokens, group.window or 0
        terms = [
            tokens,
            Term(group.name("w"), group.symbol("w"), window, "token", "the window of these layers"),
        ]
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
        tokens, chain = self.tokens()
        main, *steps = weights_read(self.result, tokens, chain)
        return [msgspec.structs.replace(main, name=self._name("W"), symbol=f"W{self.mark}"), *steps]

    def kv(self) -> Chain | None:
        """KV bytes of the pass; None where it moves none."""
        result = self.result
        past = result.scenario.cached_tokens
        terms: list[Term] = []
        parts: list[str] = []
        chain: Chain = []
        for group in kv_groups(result) if self.index or past else ():
            each = Term(
                group.name("b"),
                group.symbol("b"),
                kv_token_bytes(result, group),
                "B",
                f"KV of a token{group.sees}",
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
            groups = kv_groups(result)
            alone = len(groups) == 1 and groups[0].window is None
            added = Term(
                "b_new", "b" if alone else "b[new]", result.model.kv_bytes_per_token, "B", "KV of a token"
            )
            if not alone:
                added = msgspec.structs.replace(added, meaning="KV that a token adds in all layers")
            terms += [added, tokens]
            parts.append("b_new * T")
        if not parts:
            return None
        value = float(sequence_bytes(self.cost.terms))
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
            group.name("K"),
            group.symbol("K"),
            f"min(p, {window.name})",
            (past, window),
            value,
            "token",
            meaning,
        )
        return working.term, [working]

    def bytes(self) -> Chain:
        """Bytes that the pass moves, then all that they come from."""
        weights, kv = self.weights(), self.kv()
        if kv is None:
            main, *steps = weights
            return [
                msgspec.structs.replace(main, name=self._name("bytes"), symbol=f"bytes{self.mark}"),
                *steps,
            ]
        terms = (weights[0].term, kv[0].term)
        expression = f"{weights[0].name} + {kv[0].name}"
        return [self._working("bytes", "bytes", expression, terms, self.cost.bytes, "B"), *weights, *kv]

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
        flops, traffic = self.flops()[0].term, self.bytes()[0].term

        def taken(name: str, symbol: str, amount: Term, rate: tuple[Term, ...], value: float) -> Working:
            expression = f"{amount.name} / {rate_of(rate)}"
            return self._working(name, symbol, expression, (amount, *rate), value, "s")

        return (
            taken("t_c", "compute time", flops, compute_terms(self.result), self.cost.compute_s),
            taken("t_b", "memory time", traffic, bandwidth_terms(self.result), self.cost.bandwidth_s),
        )
