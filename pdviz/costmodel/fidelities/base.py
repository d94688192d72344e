"""What a fidelity is: terms of a pass in, its time and the reasons out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pdviz.costmodel.bounds import BANDWIDTH, COMPUTE, Bound
from pdviz.costmodel.terms import (
    Role,
    Slices,
    Term,
    Terms,
    Tokens,
    distinct_experts,
    held,
    most,
    new_tokens,
    pairs,
    positions,
    states,
    total_bytes,
    total_flops,
)
from pdviz.units import Quantity

if TYPE_CHECKING:
    from pdviz.costmodel.passes import ModelCost
    from pdviz.costmodel.roofline import Machine

Times = tuple[tuple[Bound, Tokens], ...]


class PassCost(msgspec.Struct, frozen=True):
    """What one pass costs and why. Utilisations are shares of the *peak*, not of what is achievable.

    ``times`` are the seconds that each bound asks for, ``low_s`` and ``high_s`` the band of ``time_s``,
    equal to it where a fidelity states none.
    """

    tokens: int
    terms: Terms
    flops: float
    bytes: float
    times: tuple[tuple[Bound, float], ...]
    time_s: float
    low_s: float
    high_s: float
    bound: Bound
    compute_utilisation: float
    bandwidth_utilisation: float

    @property
    def time(self) -> Quantity:
        """Its time with its band."""
        return Quantity(self.time_s, self.low_s, self.high_s)

    def limit_s(self, bound: Bound) -> float:
        """Seconds that ``bound`` asks for; 0 where the fidelity does not count it."""
        return next((seconds for one, seconds in self.times if one is bound), 0.0)

    @property
    def compute_s(self) -> float:
        return self.limit_s(COMPUTE)

    @property
    def bandwidth_s(self) -> float:
        return self.limit_s(BANDWIDTH)

    @property
    def intensity_flops_per_byte(self) -> float:
        """Arithmetic intensity."""
        return self.flops / self.bytes


class Fidelity:
    """A cost model. Its arithmetic takes numbers or traced quantities, so that it explains itself.

    ``uses_efficiencies``: the shares of peak and bandwidth that a user sets are taken. ``is_floor``: what
    no engine can beat. ``is_affine``: a pass's time is the largest of functions affine in FLOPs and bytes,
    so that trains of passes have few straight pieces. ``samples_logits``: the head is multiplied for
    sampled positions only; ``writes_kv``: what is added to the KV cache counts as traffic.
    """

    name = ""
    title = ""
    help = ""
    """What it is, in the few words of a list of choices."""
    about = ""
    """What it is and what it leaves out, in a paragraph."""
    counted: tuple[str, ...] = ()
    """What is counted, in sentences."""
    met = ("P", "parameter", "what a token meets, a multiply and an add each")
    """Symbol, unit and meaning of what is multiplied for each token."""
    time_words = "The longer of its arithmetic and its memory traffic; the shorter hides behind it."
    flops_words = ""
    """What its FLOPs are, in a sentence."""
    shares_words = ""
    """What it takes the shares of peak and bandwidth to be, in a sentence."""
    unused_words = ""
    """What is said where efficiencies are set that it does not use."""
    summary = ""
    """What it takes for granted, in a sentence."""
    convention = True
    """Whether the shares are the field's convention, which is then named as a source."""
    uses_efficiencies = True
    is_floor = False
    is_affine = True
    samples_logits = False
    writes_kv = False

    def efficiencies(self, compute: float, bandwidth: float) -> tuple[float, float]:
        """Shares of peak and of bandwidth that are reached, where a user has set these."""
        return compute, bandwidth

    def said(self, machine: Machine) -> str:
        """Which cost model answered, and what it assumed."""
        raise NotImplementedError

    def labels(self, machine: Machine) -> tuple[str, str]:
        """The same in a few words, and in fewer."""
        return self.title, self.title

    def weights(self, model: ModelCost) -> Terms:
        """What the weights cost a pass, for each token (FLOPs) and once (bytes)."""
        raise NotImplementedError

    def terms(self, model: ModelCost, slices: Slices) -> Terms:
        """What a pass over ``slices`` is made of: weights, attention, what sequences keep."""
        tokens = new_tokens(slices)
        logits = positions(slices) if self.samples_logits else tokens
        found = []
        for one in model.weight_terms:
            rows = logits if one.role is Role.HEAD else tokens
            read: Tokens = 1 if one.experts is None else distinct_experts(*one.experts, tokens)
            found.append(Term(one.role, one.flops_each, rows, one.bytes_each, read, None, one.experts))
        for window, each in model.pair_flops:
            found.append(Term(Role.ATTENTION, each, pairs(slices, window), window=window))
        if model.state_bytes:
            found.append(Term(Role.STATE, bytes_each=model.state_bytes, bytes_count=states(slices)))
        for window, each in model.kv_layers:
            found.append(Term(Role.KV_READ, 0, 0, each, held(slices, window), window))
        if self.writes_kv and model.kv_bytes_per_token:
            found.append(Term(Role.KV_WRITE, bytes_each=model.kv_bytes_per_token, bytes_count=tokens))
        return tuple(found)

    def times(self, machine: Machine, terms: Terms, flops: Tokens, moved: Tokens) -> Times:
        """Seconds that each bound asks for: the first of equal ones is the limit."""
        return (COMPUTE, machine.compute_s(flops)), (BANDWIDTH, machine.bandwidth_s(moved))

    def whole_s(self, times: Times) -> Tokens:
        """The time of a pass from what its bounds ask for: the longest, the others hide behind it."""
        (_, longest), *others = times
        for _, seconds in others:
            longest = most(longest, seconds)
        return longest

    def band_s(self, terms: Terms, time_s: float) -> tuple[float, float]:
        """Between which times the truth lies; the time itself where no band is stated."""
        return time_s, time_s

    def cost(self, machine: Machine, terms: Terms, tokens: int) -> PassCost:
        """The cost of a pass made of ``terms`` that brings ``tokens`` new tokens."""
        flops, moved = float(total_flops(terms)), float(total_bytes(terms))
        times = self.times(machine, terms, flops, moved)
        time_s = self.whole_s(times)
        low_s, high_s = self.band_s(terms, time_s)
        limit, longest = times[0]
        for bound, seconds in times:
            if seconds > longest:
                limit, longest = bound, seconds
        return PassCost(
            tokens,
            terms,
            flops,
            moved,
            times,
            time_s,
            low_s,
            high_s,
            limit,
            flops / (time_s * machine.peak_flops_per_s),
            moved / (time_s * machine.bandwidth_bytes_per_s),
        )
