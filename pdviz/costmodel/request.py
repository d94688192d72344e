"""One request: a prefill pass, then a train of decode passes, and the figures that follow."""

from __future__ import annotations

import msgspec

from pdviz.costmodel.memory import Memory
from pdviz.costmodel.passes import ModelCost, Slice
from pdviz.costmodel.roofline import COMPUTE, Machine, PassCost
from pdviz.costmodel.train import Train, build_train

CROSSOVER_LIMIT_TOKENS = 2**34
MOST_ACCELERATORS = 1024


class RequestCost(msgspec.Struct, frozen=True):
    """A request as passes: number 0 is prefill, 1 .. ``passes - 1`` are the decode steps.

    Times are seconds from the start of prefill. Each pass yields one token at its end.
    """

    prefill: PassCost
    train: Train

    @property
    def passes(self) -> int:
        return 1 + self.train.steps

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

    def pass_cost(self, index: int) -> PassCost:
        """What pass ``index`` costs."""
        return self.prefill if index <= 0 else self.train.cost(index)

    def tokens_out_at(self, time_s: float) -> int:
        """Output tokens that have appeared by ``time_s``."""
        if time_s >= self.e2e_s:
            return self.passes
        return self.pass_at(time_s)


def cost_request(
    model: ModelCost,
    machine: Machine,
    *,
    prompt_tokens: int,
    output_tokens: int,
    others: int = 0,
    others_context_tokens: int | None = None,
    cached_tokens: int = 0,
) -> RequestCost:
    """Cost of a request whose first ``cached_tokens`` prompt tokens are in the KV cache already.

    ``others`` further sequences decode alongside, each at this request's context, or all the time
    at ``others_context_tokens`` (a steady mix) where that is given. Step k = 1 .. M-1 has context
    N + k. Linear in nothing: a request of any length is a handful of records.
    """
    prefill = _prefill(model, machine, prompt_tokens, cached_tokens)
    steps = output_tokens - 1

    def slices(step: int) -> tuple[Slice, ...]:
        context = prompt_tokens + step
        if others_context_tokens is None or not others:
            return (Slice.decode(context, 1 + others),)
        return Slice.decode(context), Slice.decode(others_context_tokens, others)

    train = build_train(
        steps,
        1 + others,
        [w - prompt_tokens for w in model.windows],
        lambda step: float(model.flops(slices(step))),
        lambda step: float(model.bytes(slices(step))),
        machine,
    )
    return RequestCost(prefill, train)


def _prefill(model: ModelCost, machine: Machine, prompt_tokens: int, cached_tokens: int) -> PassCost:
    slices = (Slice.prompt(prompt_tokens - cached_tokens, cached_tokens),)
    new = prompt_tokens - cached_tokens
    return machine.cost(new, float(model.flops(slices)), float(model.bytes(slices)))


def crossover_prompt_tokens(model: ModelCost, machine: Machine, cached_tokens: int = 0) -> int | None:
    """The shortest prompt whose pass is compute-bound, with that prefix cached.

    FLOPs grow at least linearly with the prompt and bytes at most so, hence there is one crossing;
    None where there is none below 2**34 tokens.
    """

    def is_compute(prompt_tokens: int) -> bool:
        return _prefill(model, machine, prompt_tokens, cached_tokens).bound == COMPUTE

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
    model: ModelCost,
    capacity_bytes: float,
    *,
    prompt_tokens: int,
    output_tokens: int,
    others: int = 0,
    others_context_tokens: int | None = None,
    accelerators: int = 1,
) -> Memory:
    """Memory of all ``accelerators`` together (their ``capacity_bytes``) at the end of the request.

    After M tokens a sequence holds N + M - 1 tokens of KV.
    """
    context = prompt_tokens + output_tokens - 1
    elsewhere = context if others_context_tokens is None else others_context_tokens
    own = model.stored_kv_bytes(context, accelerators)
    other = own if elsewhere == context else model.stored_kv_bytes(elsewhere, accelerators)
    weights = model.stored_weights_bytes
    fullest = model.fullest_weights_bytes(accelerators)
    return Memory(
        weights_bytes=weights,
        kv_bytes=own + others * other,
        capacity_bytes=capacity_bytes,
        sequences=1 + others,
        longest_context_tokens=max(context, elsewhere) if others else context,
        accelerators=accelerators,
        own_kv_bytes=own,
        other_kv_bytes=other,
        other_context_tokens=elsewhere,
        grows=model.kv_bytes_per_token > 0,
        uneven_bytes=_beyond(accelerators * fullest, weights),
    )


def fewest_accelerators(
    model: ModelCost,
    memory_bytes_each: float,
    *,
    prompt_tokens: int,
    output_tokens: int,
    others: int = 0,
    others_context_tokens: int | None = None,
) -> int | None:
    """The smallest count of accelerators whose memory holds the request; None beyond 1,024.

    Counts are powers of two: first those among which the query heads divide, then all.
    """
    counts: list[int] = [2**power for power in range(MOST_ACCELERATORS.bit_length())]
    for count in (*(n for n in counts if model.divides_among(n)), *counts):
        memory = request_memory(
            model,
            memory_bytes_each * count,
            prompt_tokens=prompt_tokens,
            output_tokens=output_tokens,
            others=others,
            others_context_tokens=others_context_tokens,
            accelerators=count,
        )
        if memory.fits:
            return count
    return None
