"""What a pass costs, as the engine asks it: coefficients taken from the cost model once.

The only place where the server meets the cost model. A pass takes the longer of two times, each a sum
over tokens, attention and what sequences have cached; the weights that are read may depend on the
tokens of the pass in any way (experts), which is remembered for each count.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pdviz.costmodel.architecture import Architecture
from pdviz.costmodel.bounds import BANDWIDTH
from pdviz.costmodel.fidelities import FIDELITIES
from pdviz.costmodel.passes import ModelCost
from pdviz.costmodel.roofline import Machine
from pdviz.costmodel.terms import Role, Slice, Slices, Tokens, total_bytes, total_flops

if TYPE_CHECKING:
    from pdviz.serving.contexts import Contexts


class Share(NamedTuple):
    """What one decoding sequence adds to a pass with its context, and how much more at each further token.

    Holds until its context is ``until`` tokens (None: for ever).
    """

    flops: float
    flops_step: float
    bytes: float
    bytes_step: float
    until: int | None


class FixedTimes(dict[int, float]):
    """Seconds of the bytes of a pass by its tokens, what sequences have cached apart; remembered."""

    def __init__(self, costs: PassCosts) -> None:
        self._costs = costs

    def __missing__(self, tokens: int) -> float:
        self[tokens] = found = self._costs.fixed_bytes(tokens) * self._costs.s_per_byte
        return found


class PassCosts(msgspec.Struct, frozen=True, dict=True):
    """A model on a machine, ready for a server."""

    model: ModelCost
    machine: Machine

    @property
    def inputs(self) -> tuple[Architecture, str, str, str, Machine]:
        """What it is made of, as it goes to another process."""
        model = self.model
        return model.architecture, model.weights_dtype, model.kv_dtype, model.fidelity.name, self.machine

    def __reduce__(self) -> tuple[object, ...]:
        return _costs, self.inputs

    @cached_property
    def s_per_flop(self) -> float:
        return 1 / (self.machine.compute_efficiency * self.machine.peak_flops_per_s)

    @cached_property
    def s_per_byte(self) -> float:
        return 1 / (self.machine.bandwidth_efficiency * self.machine.bandwidth_bytes_per_s)

    @property
    def is_affine(self) -> bool:
        """False where a pass's time bends with its contexts: each pass is then asked for alone."""
        return self.model.fidelity.is_affine

    @cached_property
    def is_plain(self) -> bool:
        """True where every layer sees the whole context and keeps nothing else: all is linear in it."""
        return not self.model.windows and not self.model.state_bytes

    def _attention_flops(self, slices: Slices) -> float:
        return float(total_flops(t for t in self.model.terms(slices) if t.role is Role.ATTENTION))

    def _kept_bytes(self, slices: Slices) -> float:
        """Bytes of what sequences keep, as far as it is read."""
        kept = (Role.KV_READ, Role.STATE)
        return float(total_bytes(t for t in self.model.terms(slices) if t.role in kept))

    @cached_property
    def token_flops(self) -> float:
        """FLOPs of a token, attention and logits apart."""
        one = (Slice.prompt(1, last=False),)
        return float(total_flops(self.model.terms(one))) - self._attention_flops(one)

    @cached_property
    def sample_flops(self) -> float:
        """FLOPs of one position's logits, where they are counted apart."""
        one, sampled = (Slice.prompt(1, last=False),), (Slice.prompt(1),)
        return float(total_flops(self.model.terms(sampled))) - float(total_flops(self.model.terms(one)))

    @cached_property
    def pair_flops(self) -> float:
        """FLOPs of a (query, key) pair of a prompt, in a plain model."""
        return self.piece(1, 1)[0] - self.piece(1, 0)[0]

    @cached_property
    def past_bytes(self) -> float:
        """Bytes that a piece of a prompt reads for each token before it, in a plain model."""
        return self.piece(1, 2)[1] - self.piece(1, 1)[1]

    @cached_property
    def fixed_s(self) -> FixedTimes:
        return FixedTimes(self)

    def fixed_bytes(self, tokens: int) -> float:
        """Bytes of a pass over ``tokens`` tokens without what its sequences have cached."""
        return float(total_bytes(self.model.terms((Slice.prompt(tokens),))))

    @cached_property
    def _bends(self) -> list[int]:
        """Contexts at which costs go on along another line, after the first."""
        return [1, *(w for w in self.model.windows if w > 1)]

    @cached_property
    def _shares(self) -> list[Share]:
        """What a sequence adds at each bend."""
        found = []
        for context, until in zip(self._bends, [*self._bends[1:], None], strict=True):
            one, more = (Slice.decode(context),), (Slice.decode(context + 1),)
            flops, kept = self._attention_flops(one), self._kept_bytes(one)
            steps = self._attention_flops(more) - flops, self._kept_bytes(more) - kept
            found.append(Share(flops, steps[0], kept, steps[1], until))
        return found

    def share(self, context: int) -> Share:
        """What a sequence that decodes at ``context`` tokens, its new one included, adds."""
        at = bisect_right(self._bends, context) - 1
        flops, flops_step, kept, kept_step, until = self._shares[at]
        ahead = context - self._bends[at]
        return Share(flops + ahead * flops_step, flops_step, kept + ahead * kept_step, kept_step, until)

    @cached_property
    def _prompts(self) -> list[tuple[float, float, float, float, float]]:
        """From each bend on: attention FLOPs of a prompt (three coefficients), KV bytes of a cached one."""
        found = []
        for start in self._bends:
            three = [self._attention_flops((Slice.prompt(start + more),)) for more in (0, 1, 2)]
            curve = (three[2] - 2 * three[1] + three[0]) / 2
            kept, more = (self._kept_bytes((Slice.prompt(1, start + n),)) for n in (0, 1))
            found.append((three[0], three[1] - three[0] - curve, curve, kept, more - kept))
        return found

    def piece(self, new: int, past: int) -> tuple[float, float]:
        """(attention FLOPs, KV bytes read) of ``new`` tokens of a prompt after ``past`` ones.

        Tokens see what stands before them however a prompt is cut.
        """
        at = bisect_right(self._bends, past + new) - 1
        ahead = past + new - self._bends[at]
        start, slope, curve, _, _ = self._prompts[at]
        flops = start + ahead * (slope + ahead * curve)
        if not past:
            return flops, 0.0
        at = bisect_right(self._bends, past) - 1
        ahead = past - self._bends[at]
        start, slope, curve, kept, more = self._prompts[at]
        return flops - (start + ahead * (slope + ahead * curve)), kept + ahead * more

    def curved_s(
        self,
        width: int,
        tokens: int,
        contexts: Contexts | None,
        clock: int,
        parts: list[tuple[int, int, bool]],
    ) -> tuple[float, float]:
        """Seconds of a pass as (arithmetic and the rest, memory traffic): the longer is its time.

        ``width`` sequences decode that hold ``tokens``; ``parts`` are pieces of prompts as (new tokens, past
        ones, whether it ends its prompt).
        """
        slices = [Slice.prompt(new, past, last) for new, past, last in parts]
        if contexts is not None and width:
            slices += [Slice.decode(context) for context in contexts.lengths(clock)]
        elif width:
            slices.append(Slice.decode(tokens / width + 1, width))
        cost = self.model.cost(self.machine, tuple(slices))
        if cost.bound is BANDWIDTH:
            return min(cost.compute_s, cost.time_s), cost.time_s
        return cost.time_s, min(cost.bandwidth_s, cost.time_s)

    def link_bytes(self, tokens: Tokens) -> Tokens:
        """KV bytes that travel for a prompt of ``tokens`` tokens (a number or an array)."""
        return self.model.kv_bytes(tokens)


def _costs(architecture: Architecture, weights: str, kv: str, fidelity: str, machine: Machine) -> PassCosts:
    return PassCosts(ModelCost(architecture, weights, kv, FIDELITIES[fidelity]), machine)
