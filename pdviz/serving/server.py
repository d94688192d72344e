"""A server: engines side by side or one behind the other, and the run that they make."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress

import msgspec
import numpy as np
import numpy.typing as npt

from pdviz.errors import InputError
from pdviz.serving.costs import PassCosts
from pdviz.serving.engine import DECODE, MOST_REQUESTS, PREFILL, passes
from pdviz.serving.log import FOREVER, Log, Queue
from pdviz.serving.policies import CHUNKED, DISAGGREGATED, INTERLEAVED, Knobs
from pdviz.serving.records import table
from pdviz.serving.workload import Rejected, Workload

_MOST_PASSES = 50_000_000
_EVERY = 4096  # requests between two looks at progress

Watch = Callable[[float], None]
Numbers = npt.NDArray[np.int64]
Seconds = npt.NDArray[np.float64]
Todo = tuple[list[int], list[int], "list[int] | None"]
Served = tuple[list[Log], list[npt.NDArray[np.int32]]]


class Run(msgspec.Struct, frozen=True, dict=True):
    """What a server did with a workload.

    ``served`` are the requests that were let in (numbers in the workload), in whose order the engines'
    logs count; ``routes`` those that went to each engine. ``ready_s`` tells when each reached its decoding
    engine, where that is another.
    """

    workload: Workload
    knobs: Knobs
    costs: PassCosts
    served: Numbers
    rejected: tuple[Rejected, ...]
    logs: tuple[Log, ...]
    routes: tuple[npt.NDArray[np.int32], ...]
    ready_s: Seconds | None


def simulate(workload: Workload, knobs: Knobs, costs: PassCosts, watch: Watch | None = None) -> Run:
    """Serves ``workload``. ``watch`` hears the share that is done, and may raise to stop.

    Raises InputError for knobs that no server could have.
    """
    knobs.check()
    served, rejected = _let_in(workload, knobs)
    prompts, outputs = workload.prompt_tokens[served], workload.output_tokens[served]
    cached = workload.cached_tokens[served]
    if knobs.policy in (CHUNKED, INTERLEAVED):
        pieces = float(((prompts - cached - 1) // knobs.token_budget + 1).sum())
        if pieces > _MOST_PASSES:
            raise InputError(
                f"token_budget: {knobs.token_budget} tokens in a pass make more than {_MOST_PASSES:,} passes"
            )
    todo = prompts.tolist(), outputs.tolist(), cached.tolist() if cached.any() else None
    arrival_s, numbers = workload.arrival_s[served], np.arange(len(served))
    if knobs.policy != DISAGGREGATED:
        stage = _Stage(knobs.policy, knobs, costs, knobs.replicas, todo)
        logs, routes = stage.serve(arrival_s, arrival_s, numbers, watch)
        return Run(workload, knobs, costs, served, rejected, tuple(logs), tuple(routes), None)
    first = _Stage(PREFILL, knobs, costs, knobs.prefill_engines, todo)
    logs, routes = first.serve(arrival_s, arrival_s, numbers, watch and (lambda share: watch(share / 2)))
    end_s, ended = _prefilled(logs)
    goes_on = outputs[ended] > 1
    end_s, ended = end_s[goes_on], ended[goes_on]
    link_s = knobs.link_latency_s + costs.link_bytes(prompts[ended]) / knobs.link_bytes_per_s
    ready_s = np.full(len(served), np.nan)
    ready_s[ended] = end_s + link_s
    second = _Stage(DECODE, knobs, costs, knobs.decode_engines, todo)
    more = second.serve(end_s, end_s + link_s, ended, watch and (lambda share: watch((1 + share) / 2)))
    logs, routes = logs + more[0], routes + more[1]
    return Run(workload, knobs, costs, served, rejected, tuple(logs), tuple(routes), ready_s)


def _let_in(workload: Workload, knobs: Knobs) -> tuple[Numbers, tuple[Rejected, ...]]:
    """Which requests fit into the KV cache at all, and a reason for each of the others."""
    most = np.inf if knobs.capacity_tokens is None else knobs.capacity_tokens
    fits = workload.prompt_tokens + workload.output_tokens - 1 <= most
    served = np.flatnonzero(fits)
    if len(served) > MOST_REQUESTS:
        raise InputError(f"workload: expected at most {MOST_REQUESTS:,} requests, not {len(served):,}")
    rejected = []
    for number in np.flatnonzero(~fits).tolist():
        needs = int(workload.prompt_tokens[number] + workload.output_tokens[number] - 1)
        reason = f"needs {needs:,} tokens of KV cache, the server has {knobs.capacity_tokens:,}"
        rejected.append(Rejected(workload.name(number), reason))
    return served, tuple(rejected)


def _prefilled(logs: list[Log]) -> tuple[Seconds, Numbers]:
    """(end of prefill, request) in order of the ends, then of the engines."""
    ends, numbers = [], []
    for log in logs:
        made = table(log)
        end_s = made["start_s"] + np.maximum(made["compute_s"], made["memory_s"])
        ends.append(np.repeat(end_s, made["pieces"]))
        numbers.append(np.asarray(log.piece_request, np.int64))
    end_s = np.concatenate(ends)
    order = np.argsort(end_s, kind="stable")
    return end_s[order], np.concatenate(numbers)[order]


class _Stage:
    """Engines of one role. ``todo`` is prompts, tokens to come and cached prefixes of all requests."""

    def __init__(self, role: str, knobs: Knobs, costs: PassCosts, engines: int, todo: Todo) -> None:
        self.role, self.knobs, self.costs = role, knobs, costs
        self.logs = [Log() for _ in range(engines)]
        self.queues = [Queue(*todo) for _ in range(engines)]

    def serve(self, routed_s: Seconds, ready_s: Seconds, numbers: Numbers, watch: Watch | None) -> Served:
        """Serves requests that are sent at ``routed_s`` (ascending) and are there at ``ready_s``."""
        if len(self.logs) == 1:
            self._alone(ready_s, numbers, watch)
        else:
            self._together(routed_s.tolist(), ready_s.tolist(), numbers.tolist(), watch)
        return self.logs, [np.asarray(queue.requests, np.int32) for queue in self.queues]

    def _alone(self, ready_s: Seconds, numbers: Numbers, watch: Watch | None) -> None:
        order = np.argsort(ready_s, kind="stable")
        queue, count = self.queues[0], max(len(numbers), 1)
        queue.ready_s, queue.requests = [*ready_s[order].tolist(), FOREVER], numbers[order].tolist()
        look = watch and (lambda begun: watch(begun / count))
        next(passes(self.role, self.knobs, self.costs, queue, self.logs[0], FOREVER, look), None)

    def _together(
        self, routed_s: list[float], ready_s: list[float], numbers: list[int], watch: Watch | None
    ) -> None:
        """Each request goes to the engine with the fewest tokens waiting and running, then to the first."""
        prompt = self.queues[0].prompt
        engines = [
            passes(self.role, self.knobs, self.costs, queue, log, -FOREVER)
            for queue, log in zip(self.queues, self.logs, strict=True)
        ]
        for engine in engines:
            next(engine)
        sent = [0] * len(engines)
        everyone = range(len(engines))
        for count, (time_s, there_s, number) in enumerate(zip(routed_s, ready_s, numbers, strict=True)):
            loads = []
            for e in everyone:
                self.queues[e].ready_s[-1] = time_s
                loads.append(engines[e].send(time_s) + sent[e])
            e = loads.index(min(loads))
            sent[e] += prompt[number]
            queue = self.queues[e]
            place = bisect_right(queue.ready_s, there_s, hi=len(queue.ready_s) - 1)
            queue.ready_s.insert(place, there_s)
            queue.requests.insert(place, number)
            if watch and count % _EVERY == 0:
                watch(count / len(numbers))
        for queue, engine in zip(self.queues, engines, strict=True):
            queue.ready_s[-1] = FOREVER
            with suppress(StopIteration):
                engine.send(FOREVER)
