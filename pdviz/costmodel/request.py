"""One request: a prefill pass, then a train of decode passes, and the figures that follow."""

from __future__ import annotations

import msgspec

from pdviz.costmodel.bounds import COMPUTE, Bound
from pdviz.costmodel.fidelities import PassCost
from pdviz.costmodel.memory import Memory
from pdviz.costmodel.passes import ModelCost
from pdviz.costmodel.roofline import Machine
from pdviz.costmodel.terms import Slice, Slices
from pdviz.costmodel.train import Train, build_train
from pdviz.units import Quantity

CROSSOVER_LIMIT_TOKENS = 2**34
MOST_ACCELERATORS = 1024


class Request(msgspec.Struct, frozen=True):
    """One request: a prompt, how much of it is cached, what is to be written, and who decodes alongside.

    ``others`` further sequences decode in the same passes, each at this request's context, or all the
    time at ``others_context_tokens`` (a steady mix) where that is given. Pass 0 is prefill, pass
    k = 1 .. ``steps`` a decode step.
    """

    prompt_tokens: int = 512
    output_tokens: int = 128
    others: int = 0
    others_context_tokens: int | None = None
    cached_tokens: int = 0

    @property
    def steps(self) -> int:
        """Decode passes: the first token comes from prefill."""
        return self.output_tokens - 1

    @property
    def sequences(self) -> int:
        """Sequences that decode together."""
        return 1 + self.others

    @property
    def computed_tokens(self) -> int:
        """Prompt tokens that prefill runs over."""
        return self.prompt_tokens - self.cached_tokens

    def context(self, step: int) -> int:
        """Tokens of this request's sequence in pass ``step``, its new ones included."""
        return self.prompt_tokens + step

    @property
    def final_context(self) -> int:
        """Tokens whose KV is held at the end: the newest token is stored by no pass."""
        return self.context(self.steps)

    def others_context(self, step: int) -> int:
        """Tokens of each of the others in pass ``step``."""
        return self.context(step) if self.others_context_tokens is None else self.others_context_tokens

    def slices(self, step: int) -> Slices:
        """The slices of pass ``step``."""
        if step == 0:
            return (Slice.prompt(self.computed_tokens, self.cached_tokens),)
        if self.others_context_tokens is None or not self.others:
            return (Slice.decode(self.context(step), self.sequences),)
        return Slice.decode(self.context(step)), Slice.decode(self.others_context_tokens, self.others)


class RequestCost(msgspec.Struct, frozen=True):
    """A request as passes: number 0 is prefill, 1 .. ``passes - 1`` are the decode steps.

    Times are seconds from the start of prefill. Each pass yields one token at its end.
    """

    model: ModelCost
    machine: Machine
    request: Request
    prefill: PassCost
    train: Train

    @property
    def passes(self) -> int:
        return 1 + self.train.steps

    @property
    def ttft(self) -> Quantity:
        """Time to first token with its band."""
        return self.prefill.time

    @property
    def itl(self) -> Quantity | None:
        """Mean inter-token latency with its band; None where one token is asked for."""
        if self.itl_s is None:
            return None
        low_s, high_s = self.train.total_band_s
        return Quantity(self.itl_s, low_s / self.train.steps, high_s / self.train.steps)

    @property
    def e2e(self) -> Quantity:
        """End to end with its band."""
        low_s, high_s = self.train.total_band_s
        return Quantity(self.e2e_s, self.prefill.low_s + low_s, self.prefill.high_s + high_s)

    @property
    def ttft_s(self) -> float:
        """Time to first token: the prompt pass, queueing apart."""
        return self.prefill.time_s

    @property
    def itl_s(self) -> float | None:
        """Mean inter-token latency; None where one token is asked for."""
        return self.train.total_s / self.train.steps if self.train.steps else None

    @property
    def e2e_s(self) -> float:
        """End to end: TTFT and all decode steps."""
        return self.prefill.time_s + self.train.total_s

    @property
    def decode_share(self) -> float:
        """Share of the request's time spent decoding."""
        return self.train.total_s / self.e2e_s

    def pass_start_s(self, index: int) -> float:
        """When pass ``index`` begins; ``passes`` gives the end of the request."""
        if index <= 0:
            return 0.0
        return self.prefill.time_s + (self.train.start_s(index) if self.train.steps else 0.0)

    def pass_end_s(self, index: int) -> float:
        """When pass ``index`` ends and its token appears."""
        return self.pass_start_s(index + 1)

    def pass_at(self, time_s: float) -> int:
        """The pass under way at ``time_s``; the first before, the last after the request."""
        if time_s < self.prefill.time_s or not self.train.steps:
            return 0
        step = self.train.step_at(time_s - self.prefill.time_s)
        # the subtraction may have rounded across a boundary; pass_start_s has the last word
        if step > 1 and self.pass_start_s(step) > time_s:
            return step - 1
        if step < self.train.steps and self.pass_start_s(step + 1) <= time_s:
            return step + 1
        return step

    def bound(self, index: int) -> Bound:
        """What limits pass ``index``, without counting it again."""
        return self.train.bound(index) if index > 0 and self.train.steps else self.prefill.bound

    def pass_cost(self, index: int) -> PassCost:
        """What pass ``index`` costs."""
        if index <= 0:
            return self.prefill
        return self.model.cost(self.machine, self.request.slices(index))

    def tokens_out_at(self, time_s: float) -> int:
        """Output tokens that have appeared by ``time_s``."""
        if time_s >= self.e2e_s:
            return self.passes
        return self.pass_at(time_s)


def cost_request(model: ModelCost, machine: Machine, request: Request) -> RequestCost:
    """Cost of a request. Linear in nothing: one of any length is a handful of records."""

    def cost(index: int) -> PassCost:
        return model.cost(machine, request.slices(index))

    breaks = [w - request.prompt_tokens for w in model.windows]
    train = build_train(request.steps, request.sequences, breaks, cost, is_affine=model.fidelity.is_affine)
    return RequestCost(model, machine, request, cost(0), train)


def crossover_prompt_tokens(model: ModelCost, machine: Machine, cached_tokens: int = 0) -> int | None:
    """The shortest prompt whose pass is compute-bound, with that prefix cached.

    FLOPs grow at least linearly with the prompt and bytes at most so, hence there is one crossing;
    None where there is none below 2**34 tokens.
    """

    def is_compute(prompt_tokens: int) -> bool:
        piece = Slice.prompt(prompt_tokens - cached_tokens, cached_tokens)
        return model.cost(machine, (piece,)).bound is COMPUTE

    low, high = cached_tokens, cached_tokens + 1
    while not is_compute(high):
        low, high = high, cached_tokens + 2 * (high - cached_tokens)
        if high > CROSSOVER_LIMIT_TOKENS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_compute(middle) else (middle, high)
    return high


def half_speed_context_tokens(model: ModelCost, others: int = 0) -> float | None:
    """Context at which a step reads as many KV bytes as weight bytes: W / (kv (1 + others)).

    Windows and states are respected; None where the KV cache never grows so far.
    """
    return model.context_of_kv_bytes(float(model.weights_read_bytes(1 + others)) / (1 + others))


def _beyond(more: float, whole: float) -> float:
    """How much ``more`` is than ``whole``; nothing where only rounding tells them apart."""
    return more - whole if more > whole * (1 + 1e-12) else 0.0


def request_memory(
    model: ModelCost, capacity_bytes: float, request: Request, accelerators: int = 1
) -> Memory:
    """Memory of all ``accelerators`` together (their ``capacity_bytes``) at the end of the request.

    Without others, further sequences are taken to be what others would be.
    """
    context, elsewhere = request.final_context, request.others_context(request.steps)
    own = model.stored_kv_bytes(context, accelerators)
    other = own if elsewhere == context else model.stored_kv_bytes(elsewhere, accelerators)
    weights = model.stored_weights_bytes
    fullest = model.fullest_weights_bytes(accelerators)
    return Memory(
        weights_bytes=weights,
        kv_bytes=own + request.others * other,
        capacity_bytes=capacity_bytes,
        sequences=request.sequences,
        longest_context_tokens=max(context, elsewhere) if request.others else context,
        accelerators=accelerators,
        own_kv_bytes=own,
        other_kv_bytes=other,
        other_context_tokens=elsewhere,
        grows=model.kv_bytes_per_token > 0,
        uneven_bytes=_beyond(accelerators * fullest, weights),
    )


def fewest_accelerators(model: ModelCost, memory_bytes_each: float, request: Request) -> int | None:
    """The smallest count of accelerators whose memory holds the request; None beyond 1,024.

    Counts are powers of two: first those among which the query heads divide, then all.
    """
    counts: list[int] = [2**power for power in range(MOST_ACCELERATORS.bit_length())]
    for count in (*(n for n in counts if model.divides_among(n)), *counts):
        if request_memory(model, memory_bytes_each * count, request, count).fits:
            return count
    return None
