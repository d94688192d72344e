"""A naive server: passes made of slices, a time for every token. What the engine is held against."""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, field

from pdviz.costmodel.terms import Slice


@dataclass
class Sequence:
    """One request on its way; ``prompt`` is what its next prefill computes."""

    number: int
    arrival_s: float
    prompt: int
    output: int
    cached: int
    computed: int = 0
    since: int = 0  # tokens that it decoded since its prefill
    tokens: list = field(default_factory=list)  # when each token came
    parts: dict = field(default_factory=dict)
    left_s: float = 0.0  # until when every instant is in a part
    lost: bool = False  # preempted, and not yet repeated
    engine: int = -1

    @property
    def remaining(self):
        return self.output - len(self.tokens)

    def spend(self, part, until_s):
        part = "recomputed" if self.lost else part
        self.parts[part] = self.parts.get(part, 0.0) + until_s - self.left_s
        self.left_s = until_s


class Engine:
    """One accelerator (or group); ``role`` is a policy, or "prefill" or "decode" of the disaggregated one."""

    def __init__(self, role, knobs, time_s):
        self.role, self.knobs, self.time_s = role, knobs, time_s
        self.waiting, self.prefilling, self.decoding, self.order = [], [], [], []
        self.padding = []  # KV of finished ones in a static batch, growing on
        self.free_at, self.now = None, None  # end of the pass under way, the pass
        self.turn = 0
        self.passes = []  # (start, end, decoders, pieces as (request, past, new), waiting, KV held)
        self.preempted = []  # what other engines must do again

    def held(self):
        begun = sum(s.prompt for s in self.prefilling)
        return begun + sum(s.prompt + s.since for s in self.decoding)

    def load(self):
        return self.held() + sum(s.prompt for s in self.waiting)

    def admissible(self, decoders):
        """Whether the head of the queue may begin, beside what was taken into this pass."""
        if not self.waiting:
            return False
        s = self.waiting[0]
        return (
            len(self.prefilling) + len(self.decoding) < self.knobs.max_seqs
            and self.held() + s.prompt + decoders <= self.knobs.capacity_tokens
        )

    def admit(self):
        s = self.waiting.pop(0)
        s.since = 0
        self.order.append(s)
        return s

    def preempt(self):
        count = 0
        while self.held() + len(self.decoding) > self.knobs.capacity_tokens and len(self.order) > 1:
            s = self.order.pop()
            if s in self.prefilling:
                self.prefilling.remove(s)
            else:
                self.decoding.remove(s)
                s.prompt += s.since + 1
            s.computed = s.cached = 0
            s.lost = True
            self.preempted.append(s)
            if self.role != "decode":
                self.waiting.insert(0, s)
            count += 1
        return count

    def whole(self, most):
        pieces, total = [], 0
        while self.admissible(0):
            new = self.waiting[0].prompt - self.waiting[0].cached
            if pieces and total + new > most:
                break
            s = self.admit()
            s.computed = s.cached
            self.prefilling.append(s)
            pieces.append((s, new))
            total += new
        return pieces

    def chunks(self, budget, decoders):
        pieces = []
        for s in self.prefilling:
            new = min(s.prompt - s.computed, budget)
            if new > 0:
                pieces.append((s, new))
                budget -= new
        while budget > 0 and self.admissible(decoders):
            s = self.admit()
            s.computed = s.cached
            self.prefilling.append(s)
            new = min(s.prompt - s.computed, budget)
            pieces.append((s, new))
            budget -= new
        return pieces

    def static(self):
        pieces, total = [], 0
        while self.waiting and len(pieces) < self.knobs.max_seqs:
            s = self.waiting[0]
            total += s.prompt + s.output - 1
            if total > self.knobs.capacity_tokens:
                break
            self.admit()
            s.computed = s.cached
            self.prefilling.append(s)
            pieces.append((s, s.prompt - s.cached))
        return pieces

    def start(self, now):
        """Begins a pass if there is work; returns how many were preempted for it."""
        k, pieces, decoders, preemptions = self.knobs, [], [], 0
        if self.role == "static":
            if not self.decoding:
                self.padding = []
                pieces = self.static()
            decoders = [] if pieces else self.decoding[:]
        elif self.role in ("continuous", "prefill"):
            pieces = self.whole(k.max_batched_tokens)
            if not pieces and self.decoding:
                preemptions = self.preempt()
                decoders = self.decoding[:]
        elif self.role == "chunked":
            preemptions = self.preempt() if self.decoding else 0
            decoders = self.decoding[:]
            pieces = self.chunks(k.token_budget - len(decoders), len(decoders))
        elif self.role == "interleaved":
            prompts = bool(self.prefilling) or self.admissible(0)
            both = prompts and self.decoding
            prompt_pass = prompts if not both else self.turn < k.prefill_steps
            self.turn = (self.turn + 1) % (k.prefill_steps + k.decode_steps) if both else 0
            if prompt_pass:
                pieces = self.chunks(k.token_budget, 0)
            elif self.decoding:
                preemptions = self.preempt()
                decoders = self.decoding[:]
        else:
            while self.admissible(1):
                s = self.admit()
                s.spend("queue", now)
                self.decoding.append(s)
            decoders = self.decoding[:]  # nobody gives way here: the cache may overflow
        if not pieces and not decoders:
            return preemptions
        for s, _ in pieces:
            if s.computed == s.cached:
                s.spend("queue", now)
        alone = self.decode_slices(decoders)
        slices = alone + [
            Slice.prompt(new, s.computed, last=s.computed + new == s.prompt) for s, new in pieces
        ]
        duration = self.time_s(tuple(slices))
        alone_s = self.time_s(tuple(alone)) if alone else 0.0
        self.free_at, self.now = now + duration, (now, pieces, decoders, alone_s)
        carried = [(s.number, s.computed, new) for s, new in pieces]
        waiting = [s.number for s in self.waiting]
        self.passes.append((now, now + duration, [s.number for s in decoders], carried, waiting, self.held()))
        return preemptions

    def decode_slices(self, decoders):
        out = [Slice.decode(s.prompt + s.since + 1) for s in decoders]
        if decoders:
            out += [Slice.decode(kept + 1) for kept in self.padding]
        return out

    def finish(self):
        """The effects of the pass under way; returns those whose prefill is done, for the link."""
        end, (start, pieces, decoders, alone_s) = self.free_at, self.now
        self.free_at = self.now = None
        sent = []
        carried = {id(s) for s, _ in pieces}
        for s in self.prefilling + self.decoding:
            if id(s) in carried:
                s.spend("own_prefill", end)
            elif s in decoders:
                s.spend("own_decode", start + alone_s)
                s.spend("beside", end)
            else:
                s.spend("beside", end)
        if decoders:
            self.padding = [kept + 1 for kept in self.padding]
        for s in decoders:
            s.since += 1
            s.tokens.append(end)
            if s.remaining == 0:
                self.leave(s, self.decoding)
        for s, new in pieces:
            s.computed += new
            if s.computed < s.prompt:
                continue
            s.lost = False
            s.tokens.append(end)
            if s.remaining == 0 or self.role == "prefill":
                self.leave(s, self.prefilling)
                if s.remaining:
                    sent.append(s)
            else:
                self.prefilling.remove(s)
                self.decoding.append(s)
        return sent

    def leave(self, s, where):
        where.remove(s)
        self.order.remove(s)
        if self.role == "static":
            self.padding.append(s.prompt + s.since)


def simulate(requests, knobs, time_s, kv_bytes):
    """``requests`` are (arrival_s, prompt, output, cached) in order of the file; the result is a dict."""
    sequences = [Sequence(i, *r) for i, r in enumerate(requests)]
    for s in sequences:
        s.left_s = s.arrival_s
    rejected = [s for s in sequences if s.prompt + s.output - 1 > knobs.capacity_tokens]
    arrivals = sorted((s for s in sequences if s not in rejected), key=lambda s: s.arrival_s)
    split = knobs.policy == "disaggregated"
    roles = ["prefill"] * knobs.prefill_engines + ["decode"] * knobs.decode_engines if split else None
    engines = [Engine(role, knobs, time_s) for role in roles or [knobs.policy] * knobs.replicas]
    entries = [e for e in engines if e.role != "decode"]
    exits = [e for e in engines if e.role == "decode"]
    travelling, preemptions, count = [], 0, 0
    while True:
        times = [e.free_at for e in engines if e.free_at is not None]
        times += [arrivals[0].arrival_s] if arrivals else []
        times += [travelling[0][0]] if travelling else []
        if not times:
            break
        now = min(times)
        for e in engines:
            if e.free_at == now:
                for s in e.finish():
                    link = knobs.link_latency_s + kv_bytes(s.prompt) / knobs.link_bytes_per_s
                    to = min(
                        exits, key=lambda x: x.load() + sum(q.prompt for _, _, q, y in travelling if y is x)
                    )
                    count += 1
                    heapq.heappush(travelling, (now + link, count, s, to))
        while travelling and travelling[0][0] <= now:
            at, _, s, to = heapq.heappop(travelling)
            s.spend("link", at)
            to.waiting.append(s)
        while arrivals and arrivals[0].arrival_s <= now:
            s = arrivals.pop(0)
            to = min(entries, key=Engine.load)
            s.engine = entries.index(to)
            to.waiting.append(s)
        for e in exits + entries:
            if e.free_at is None:
                preemptions += e.start(now)
                if e.role == "decode":
                    for s in e.preempted:
                        entries[s.engine].waiting.insert(0, s)
                e.preempted.clear()
    ends = [(p[1], n) for n, e in enumerate(engines) for p in e.passes]
    events = sorted(ends + [(s.arrival_s, -1) for s in sequences])
    return {
        # whether rounding alone says which of two came first, so that either is right
        "is_close": len(engines) > 1
        and any(a[1] != b[1] and b[0] - a[0] < 1e-11 for a, b in itertools.pairwise(events)),
        "sequences": sequences,
        "rejected": [s.number for s in rejected],
        "preemptions": preemptions,
        "passes": [e.passes for e in engines],
        "count": sum(len(e.passes) for e in engines),
    }


def longest_gap(result):
    gaps = [b - a for s in result["sequences"] for a, b in zip(s.tokens, s.tokens[1:], strict=False)]
    return max(gaps), math.fsum(gaps) / len(gaps)
