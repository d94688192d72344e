"""What a pass does, worked out from its terms: tokens, FLOPs, bytes, time.

The formulas are the cost model's own: its counting and pricing functions are handed traced quantities.
Here stand the names. Symbols: T new tokens, C tokens of context, S sequences, P parameters (P_m in
matrices), A attention pairs, W weight bytes, b KV bytes of a token, K tokens of KV cache. With sliding
windows, quantities that depend on the window carry it in brackets: A[4,096].
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec

from pdviz.costmodel import terms as counted
from pdviz.costmodel.bounds import Bound
from pdviz.costmodel.fidelities import PassCost
from pdviz.costmodel.request import Request
from pdviz.costmodel.roofline import Machine
from pdviz.costmodel.terms import COUNTS, Role, Slice
from pdviz.costmodel.terms import Term as CostTerm
from pdviz.evaluation import Result
from pdviz.explain.parts import (
    Chain,
    Group,
    bandwidth_terms,
    compute_terms,
    kv_groups,
    pair_groups,
    weights_read,
)
from pdviz.explain.traced import Traced
from pdviz.explain.working import Term, Working

KINDS_SHOWN = 3  # kinds of attention whose shapes are still written out
SEQUENCES = "sequences that decode together"


def _leaf(name: str, symbol: str, value: float, unit: str = "", meaning: str = "") -> Traced:
    return Traced.given(Term(name, symbol, value, unit, meaning))


def traced_machine(result: Result) -> Machine:
    """The machine with peaks, bandwidths and shares as quantities with names."""
    machine = result.machine
    *compute, peak = compute_terms(result)
    *memory, bandwidth = bandwidth_terms(result)
    return Machine(
        machine.name,
        machine.accelerators,
        machine.math_dtype,
        Traced.given(peak),  # type: ignore[arg-type]  # a quantity in a number's place
        Traced.given(bandwidth),  # type: ignore[arg-type]
        Traced.given(compute[0]) if compute else machine.compute_efficiency,  # type: ignore[arg-type]
        Traced.given(memory[0]) if memory else machine.bandwidth_efficiency,  # type: ignore[arg-type]
    )


class PassWorkings:
    """The workings of pass ``index`` of a request; ``mark`` ends the names where two passes meet."""

    def __init__(self, result: Result, index: int, mark: str = "") -> None:
        self.result, self.index, self.mark = result, index, mark
        self.cost: PassCost = result.request.pass_cost(index)

    def _name(self, name: str) -> str:
        return f"{name}{self.mark}"

    def _made(self, traced: Any, name: str, symbol: str, unit: str, meaning: str = "") -> Any:
        """A quantity under a name that carries the mark; plain numbers and names stay."""
        if not isinstance(traced, Traced):
            return traced
        return traced.named(self._name(name), f"{symbol}{self.mark}", unit, meaning)

    # --- slices --------------------------------------------------------------------------------

    @cached_property
    def slices(self) -> tuple[Slice, ...]:
        """The slices of the pass in traced quantities: the request's own rule, its parts named."""
        s = self.result.scenario
        held = s.others_context_tokens
        request: Any = Request(
            _leaf("N", "N", s.prompt_tokens, "token", "the prompt"),  # type: ignore[arg-type]
            s.output_tokens,
            _leaf("O", "O", s.others, "sequence", "other sequences") if s.others else 0,  # type: ignore[arg-type]
            held
            if held is None or not s.others
            else _leaf("D", "D", held, "token", "context of each of the others"),  # type: ignore[arg-type]
            _leaf("p", "p", s.cached_tokens, "token", "the cached prefix") if s.cached_tokens else 0,  # type: ignore[arg-type]
        )
        step = _leaf(self._name("k"), f"k{self.mark}", self.index, "token", "written so far, by decode")
        return tuple(self._named(piece) for piece in request.slices(step if self.index else 0))

    def _named(self, piece: Slice) -> Slice:
        if not piece.decodes:
            if not piece.past:
                meaning = "new tokens of the pass: the prompt"
                return Slice.prompt(_leaf("T", "T", self.cost.tokens, "token", meaning))
            return Slice.prompt(piece.new.named("T", "T", "token", "new tokens"), piece.past)
        sequences = piece.sequences
        if isinstance(sequences, Traced) and not sequences.is_atom:
            sequences = _leaf("S", "S", sequences.value, "sequence", SEQUENCES)
        context = self._made(piece.context, "C", "C", "token", "context of this request")
        return Slice.decode(context, sequences)

    def tokens(self) -> tuple[Term, Chain]:
        """T: new tokens of the pass."""
        if self.index == 0:
            new = self.slices[0].new
            return new.terms["T"], list(new.chain)
        meaning = "new tokens of the pass: one new token for each sequence"
        return Term("T", "T", self.cost.tokens, "token", meaning), []

    @cached_property
    def _new(self) -> Traced:
        term, chain = self.tokens()
        return Traced.given(term, tuple(chain))

    def _counted(self, term: CostTerm, letter: str, unit: str, meaning: str) -> Any:
        """How often a term of layers with its window occurs, by the cost model's own count."""
        group = self._group(term)
        window = None
        if group.window is not None:
            leaf = Term(
                group.name("w"), group.symbol("w"), group.window, "token", "the window of these layers"
            )
            window = Traced.given(leaf, kind=(group.suffix, group.label))
        if not self.index and window is not None and not self.slices[0].context > window:
            window = None if term.role is Role.ATTENTION else window  # nothing is cut off yet
        count = COUNTS[term.role](self.slices, window)
        return self._made(count, group.name(letter), group.symbol(letter), unit, f"{meaning}{group.sees}")

    def _group(self, term: CostTerm) -> Group:
        groups = pair_groups(self.result) if term.role is Role.ATTENTION else kv_groups(self.result)
        return next(group for group in groups if group.window == term.window)

    # --- arithmetic ----------------------------------------------------------------------------

    @cached_property
    def _flops(self) -> Traced:
        """FLOPs as the sum over the terms: the weights that a token meets, logits, attention, the rest."""
        fidelity, total = self.result.fidelity, 0
        met = [t for t in self.cost.terms if type(t.flops_each) is int and t.flops_each]
        if met:
            value = sum(t.flops_each for t in met) / 2
            name, unit, meaning = fidelity.met
            total = total + 2 * _leaf(name, name, value, unit, meaning) * self._new
        for term in self.cost.terms:
            if not term.flops_each or term in met:
                continue
            if term.role is Role.HEAD:
                head = self.result.architecture.head or self.result.architecture.embedding
                shape = f"elements of the output head, {head.inputs:,} × {head.outputs:,}"
                sampled = _leaf("L", "L", term.flops_count, "position", "positions with logits")
                total = total + 2 * _leaf("H", "H", term.flops_each / 2, "weight", shape) * sampled
            elif term.role is Role.ATTENTION:
                pairs = self._counted(term, "A", "pair", "attention pairs in a layer")
                total = total + self._pair_flops(self._group(term)) * pairs
            else:
                total = total + self._plain(term, "f", "FLOP", term.flops)
        assert isinstance(total, Traced)
        return total

    def _plain(self, term: CostTerm, letter: str, unit: str, value: float) -> Traced:
        """A part that needs no formula here, by its role."""
        return _leaf(
            f"{letter}_{term.role.value}", f"{letter}[{term.role.words}]", value, unit, term.role.words
        )

    def _pair_flops(self, group: Group) -> Traced:
        """a: FLOPs of one attention pair over the layers of a group."""
        meaning = f"FLOPs of one attention pair{group.sees or ', over all layers'}"
        name, symbol = group.name("a"), group.symbol("a")
        total: Any = 0
        for number, (layers, a) in enumerate(group.layers):
            several = len(group.layers) > 1
            tail = f"{group.suffix}_{number}" if several else group.suffix
            mark = f"{group.label}{number + 1 if several else ''}"
            width = _leaf(f"d{tail}", f"d{mark}", a.head_dim, "", "width of a query and a key")
            value_width = width
            if a.head_dim != a.value_head_dim:
                value_width = _leaf(f"v{tail}", f"v{mark}", a.value_head_dim, "", "width of a value")
            heads = _leaf(f"q{tail}", f"q{mark}", a.query_heads, "head", "query heads")
            one = counted.pair_flops(heads, width, value_width)
            total = total + _leaf(f"n{tail}", f"n{mark}", layers, "layer", group.sees[5:]) * one
        if len(group.layers) > KINDS_SHOWN:
            return _leaf(name, symbol, total.value, "FLOP", meaning)
        named: Traced = total.named(name, symbol, "FLOP", meaning)
        return named

    def flops(self) -> Chain:
        """FLOPs of the pass, then all that they come from."""
        main = self._flops.working(self._name("flops"), f"FLOPs{self.mark}", "FLOP", value=self.cost.flops)
        return [main, *self._flops.chain]

    # --- memory traffic ------------------------------------------------------------------------

    def weights(self) -> Chain:
        """W: weight bytes that the pass reads."""
        tokens, chain = self.tokens()
        main, *steps = weights_read(self.result, tokens, chain)
        return [msgspec.structs.replace(main, name=self._name("W"), symbol=f"W{self.mark}"), *steps]

    @cached_property
    def _kept(self) -> Any:
        """Bytes of what sequences keep, as the sum over their terms; 0 where nothing is moved."""
        total: Any = 0
        for term in self.cost.terms:
            if not term.bytes_each or not term.bytes_count or term.role.is_weights:
                continue
            if term.role is Role.KV_READ:
                group = self._group(term)
                each = _leaf(
                    group.name("b"), group.symbol("b"), term.bytes_each, "B", f"KV of a token{group.sees}"
                )
                what = "tokens in KV cache" if self.index else "cached tokens"
                total = total + each * self._counted(term, "K", "token", what)
            elif term.role is Role.STATE:
                each = _leaf("Z", "Z", term.bytes_each, "B", "fixed state of a sequence")
                count: Any = counted.states(self.slices)
                if isinstance(count, Traced) and not count.is_atom:
                    count = _leaf("S", "S", count.value, "sequence", SEQUENCES)
                total = total + each * count
            elif term.role is Role.KV_WRITE:
                groups = kv_groups(self.result)
                alone = len(groups) == 1 and groups[0].window is None
                what = "KV of a token" if alone else "KV that a token adds in all layers"
                symbol = "b" if alone else "b[new]"
                total = total + _leaf("b_new", symbol, term.bytes_each, "B", what) * self._new
            else:
                total = total + self._plain(term, "m", "B", term.bytes)
        return total

    def kv(self) -> Chain | None:
        """Bytes of what sequences keep; None where the pass moves none."""
        kept = self._kept
        if not isinstance(kept, Traced):
            return None
        what = "KV cache, read and written" if self.result.fidelity.writes_kv else "KV cache, read"
        value = float(counted.sequence_bytes(self.cost.terms))
        main = kept.working(self._name("KV"), f"KV{self.mark}", "B", what, value)
        return [main, *kept.chain]

    def bytes(self) -> Chain:
        """Bytes that the pass moves, then all that they come from."""
        weights, kv = self.weights(), self.kv()
        if kv is None:
            main, *steps = weights
            name, symbol = self._name("bytes"), f"bytes{self.mark}"
            return [msgspec.structs.replace(main, name=name, symbol=symbol), *steps]
        both = Traced.given(weights[0].term) + Traced.given(kv[0].term)
        main = both.working(self._name("bytes"), f"bytes{self.mark}", "B", value=self.cost.bytes)
        return [main, *weights, *kv]

    # --- time ----------------------------------------------------------------------------------

    @cached_property
    def _times(self) -> tuple[tuple[Bound, Traced], ...]:
        """What each bound asks for, as the fidelity prices it."""
        terms = tuple(
            msgspec.structs.replace(t, seconds=self._plain(t, "o", "s", t.seconds)) if t.seconds else t
            for t in self.cost.terms
        )
        flops, moved = Traced.given(self.flops()[0].term), Traced.given(self.bytes()[0].term)
        times: Any = self.result.fidelity.times(traced_machine(self.result), terms, flops, moved)
        return tuple(times)

    def time(self, symbol: str = "time") -> Working:
        """The time of the pass in FLOPs and bytes."""
        whole: Any = self.result.fidelity.whole_s(self._times)
        made: Working = whole.working(self._name("t"), f"{symbol}{self.mark}", "s", value=self.cost.time_s)
        return made

    def times(self) -> tuple[Working, ...]:
        """The time that each bound asks for, those that ask for none left out."""
        return tuple(
            traced.working(self._name(_TIMES[bound][0]), f"{_TIMES[bound][1]}{self.mark}", "s", value=value)
            for (bound, traced), (_, value) in zip(self._times, self.cost.times, strict=True)
            if isinstance(traced, Traced)
        )

    def limit(self) -> Working:
        """The time of what limits the pass."""
        return next(work for work in self.times() if work.name == self._name(_TIMES[self.cost.bound][0]))


_TIMES = {
    Bound.COMPUTE: ("t_c", "compute time"),
    Bound.BANDWIDTH: ("t_b", "memory time"),
    Bound.LINK: ("t_l", "link time"),
    Bound.OVERHEAD: ("t_o", "overhead"),
}
