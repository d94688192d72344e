"""Workloads that are made: presets for a lesson, and arrivals and lengths drawn by chance with a seed."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import numpy as np

from pdviz.errors import InputError
from pdviz.serving.records import Numbers, Seconds
from pdviz.serving.workload import Workload, from_rows, workload


class Lengths(msgspec.Struct, frozen=True):
    """Token counts drawn by chance: log-normal about ``median``, or one of ``values`` where they are given.

    ``sigma`` is the standard deviation of the logarithm (0: all equal); ``least`` and ``most`` bound it.
    """

    median: float = 512
    sigma: float = 0.0
    least: int = 1
    most: int = 1 << 20
    values: tuple[int, ...] = ()

    def draw(self, count: int, chance: np.random.Generator) -> Numbers:
        """``count`` of them."""
        if self.values:
            return chance.choice(np.asarray(self.values, np.int64), count)
        if not self.median > 0 or self.sigma < 0:
            raise InputError("lengths: expected a median above 0 and a spread of 0 or more")
        drawn = np.exp(math.log(self.median) + self.sigma * chance.standard_normal(count))
        bounded: Numbers = np.clip(np.rint(drawn), self.least, self.most).astype(np.int64)
        return bounded


class Traffic(msgspec.Struct, frozen=True):
    """Requests by chance, ``rate_per_s`` of them a second.

    Gaps between arrivals are gamma-distributed: ``burstiness`` is the square of their coefficient of
    variation (1: Poisson, above: bursts, 0: all equal). ``shared`` of each prompt's tokens are cached.
    """

    rate_per_s: float
    count: int
    prompt: Lengths
    output: Lengths
    burstiness: float = 1.0
    shared: int = 0
    seed: int = 0

    def make(self, description: str = "") -> Workload:
        """The same requests for the same seed. Raises InputError for a rate or a count that cannot be."""
        if not (self.rate_per_s > 0 and math.isfinite(self.rate_per_s)):
            raise InputError(f"rate: expected requests per second above 0, not {self.rate_per_s}")
        if self.count < 1:
            raise InputError(f"requests: expected at least 1, not {self.count}")
        if not (self.burstiness >= 0 and math.isfinite(self.burstiness)):
            raise InputError(f"burstiness: expected 0 or more, not {self.burstiness}")
        chance = np.random.default_rng(self.seed)
        mean_s = 1 / self.rate_per_s
        gaps: Seconds = np.full(self.count, mean_s)
        if self.burstiness:
            gaps = chance.gamma(1 / self.burstiness, mean_s * self.burstiness, self.count)
        arrival = np.cumsum(gaps) - gaps[0]
        prompts = self.prompt.draw(self.count, chance)
        outputs = self.output.draw(self.count, chance)
        cached = np.minimum(self.shared, prompts - 1)
        return workload(arrival, prompts, outputs, cached, description=description)


def one_long_prompt() -> Workload:
    """Eight chats, and one long prompt that comes among them."""
    rows = [(0.05 * i, 512, 100) for i in range(8)] + [(0.29, 16384, 20)]
    return from_rows(rows, "8 chats and one 16K prompt")


def two_prompts() -> Workload:
    """Two long prompts that come at once while chats stream."""
    rows = [(0.05 * i, 512, 120) for i in range(6)] + [(0.4, 8192, 40), (0.4, 8192, 40)]
    return from_rows(rows, "6 chats and two 8K prompts at once")


def steady_chat(rate_per_s: float = 8.0, count: int = 400, seed: int = 0) -> Workload:
    """Chat as it comes to a server all day."""
    prompt, output = Lengths(600, 0.9, most=16384), Lengths(160, 0.7, most=2048)
    return Traffic(rate_per_s, count, prompt, output, seed=seed).make("steady chat")


def agents(rate_per_s: float = 3.0, turns: int = 8, sessions: int = 24, seed: int = 0) -> Workload:
    """Agents whose every turn sends the whole conversation again: all but its end is cached."""
    chance = np.random.default_rng(seed)
    rows: list[tuple[float, int, int, int]] = []
    begins = np.cumsum(chance.exponential(turns / rate_per_s, sessions))
    for begin in begins.tolist():
        at_s, held = begin - float(begins[0]), 0
        prompt = 6000
        for _ in range(turns):
            output = int(Lengths(150, 0.6, most=1024).draw(1, chance)[0])
            rows.append((at_s, prompt, output, held))
            held = prompt + output - 1
            prompt = held + int(Lengths(700, 0.8, most=8192).draw(1, chance)[0])
            at_s += 3.0 + output * 0.02 + float(chance.exponential(2.0))
    return from_rows(rows, f"{sessions} agents with cached prefixes")


def offline_batch(count: int = 300, seed: int = 0) -> Workload:
    """Everything is there at the start."""
    chance = np.random.default_rng(seed)
    prompts = Lengths(900, 0.7, most=8192).draw(count, chance)
    outputs = Lengths(250, 0.6, most=2048).draw(count, chance)
    return workload(np.zeros(count), prompts, outputs, description="offline batch")


def ramp(from_per_s: float = 2.0, to_per_s: float = 40.0, seconds: float = 60.0, seed: int = 0) -> Workload:
    """Chat that comes faster and faster, until the server is overloaded."""
    chance = np.random.default_rng(seed)
    count = int(seconds * (from_per_s + to_per_s) / 2)
    # arrivals of a Poisson process whose rate grows linearly: the inverse of the expected count
    expected = np.cumsum(chance.exponential(1.0, count))
    growth = (to_per_s - from_per_s) / seconds
    arrival = 2 * expected / (from_per_s + np.sqrt(from_per_s**2 + 2 * growth * expected))
    prompts = Lengths(600, 0.9, most=16384).draw(count, chance)
    outputs = Lengths(160, 0.7, most=2048).draw(count, chance)
    return workload(arrival - arrival[0], prompts, outputs, description="ramp to overload")


class Preset(msgspec.Struct, frozen=True):
    """A workload with a name that a person can choose; ``help`` says what it shows."""

    title: str
    make: Callable[[], Workload]
    help: str


PRESETS: dict[str, Preset] = {
    "long-prompt": Preset("8 chats + a long prompt", one_long_prompt, "One long prompt freezes the others"),
    "two-prompts": Preset("Two prompts at once", two_prompts, "Two long prompts wait for each other"),
    "chat": Preset("Steady chat", steady_chat, "Chat at a steady rate, lengths by chance"),
    "agents": Preset("Agents", agents, "Growing conversations, their prefixes cached"),
    "batch": Preset("Offline batch", offline_batch, "Everything at once: throughput alone counts"),
    "ramp": Preset("Ramp to overload", ramp, "Arrivals grow until queues do"),
}
