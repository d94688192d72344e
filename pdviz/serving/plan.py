"""From the scenario's text to a server's runs: what comes to it, how it is run, and by which policies.

A workload is written as words: the name of a preset or a file, and requests placed by hand,
``ARRIVAL:PROMPT>OUTPUT`` or ``ARRIVAL:PROMPT/CACHED>OUTPUT``, such as ``long-prompt 0.5:4096>20``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np

from pdviz.errors import InputError
from pdviz.evaluation import Result
from pdviz.files import is_file_name
from pdviz.names import normalised, shown
from pdviz.serving.costs import PassCosts
from pdviz.serving.policies import Knobs
from pdviz.serving.presets import PRESETS
from pdviz.serving.server import Run, simulate
from pdviz.serving.traces import read_trace
from pdviz.serving.workload import Rejected, Workload, from_rows, workload

MOST_PLACED = 200
LONG_PROMPT, LONG_OUTPUT = 16_384, 20

_PLACED = re.compile(r"([0-9.]+(?:[eE][-+]?[0-9]+)?):([0-9]+)(?:/([0-9]+))?>([0-9]+)")
_FORM = "expected ARRIVAL:PROMPT>OUTPUT, such as 0.5:512>128"


class Placed(msgspec.Struct, frozen=True):
    """A request that was placed by hand."""

    arrival_s: float
    prompt_tokens: int
    output_tokens: int
    cached_tokens: int = 0

    @property
    def text(self) -> str:
        cached = f"/{self.cached_tokens}" if self.cached_tokens else ""
        return f"{self.arrival_s:.6g}:{self.prompt_tokens}{cached}>{self.output_tokens}"


class Asked(msgspec.Struct, frozen=True):
    """What a workload's text says: a preset or a file ("" for none), and requests placed by hand."""

    base: str
    placed: tuple[Placed, ...]

    @property
    def text(self) -> str:
        return " ".join((*((self.base,) if self.base else ()), *(one.text for one in self.placed)))

    def plus(self, one: Placed) -> Asked:
        """With a further request."""
        return Asked(self.base, (*self.placed, one))


def with_long_prompt(result: Result, time_s: float) -> str:
    """The scenario's workload with a long prompt at ``time_s``, no longer than the model takes."""
    limit = result.architecture.max_context_tokens or LONG_PROMPT + LONG_OUTPUT
    prompt = max(min(LONG_PROMPT, limit - LONG_OUTPUT), 1)
    return asked_of(result.scenario.workload).plus(Placed(time_s, prompt, LONG_OUTPUT)).text


def asked_of(text: str) -> Asked:
    """The parts of a workload's text. Raises InputError for what is no request."""
    base: list[str] = []
    placed: list[Placed] = []
    for word in text.split():
        found = _PLACED.fullmatch(word)
        if found is None:
            if placed or ">" in word:
                raise InputError(f"workload: {shown(word)} is no request; {_FORM}")
            base.append(word)
            continue
        try:
            arrival_s = float(found[1])
        except ValueError:
            raise InputError(f"workload: {shown(word)} has no time of arrival; {_FORM}") from None
        placed.append(Placed(arrival_s, int(found[2]), int(found[4]), int(found[3] or 0)))
    if len(placed) > MOST_PLACED:
        raise InputError(
            f"workload: {len(placed):,} requests are placed by hand, at most {MOST_PLACED} can be; "
            "more of them go into a file"
        )
    return Asked(" ".join(base), tuple(placed))


def workload_of(text: str, watch: Callable[[float], None] | None = None) -> Workload:
    """The requests that ``text`` names. Raises InputError for a name or a file that cannot be used."""
    asked = asked_of(text)
    base = _base(asked.base, watch) if asked.base else None
    if not asked.placed:
        if base is None:
            raise InputError(f"workload: it is empty; expected a preset ({_names()}), a file or requests")
        return base
    rows = [(p.arrival_s, p.prompt_tokens, p.output_tokens, p.cached_tokens) for p in asked.placed]
    by_hand = from_rows(rows, "requests placed by hand")
    if base is None:
        return by_hand
    return _joined(base, by_hand)


def _joined(one: Workload, other: Workload) -> Workload:
    """Both together, the second one's requests last where arrivals are equal."""
    ids = None
    if one.ids is not None:
        ids = [*one.ids, *(f"placed {number + 1}" for number in range(len(other)))]
    both = workload(
        np.concatenate((one.arrival_s, other.arrival_s)),
        np.concatenate((one.prompt_tokens, other.prompt_tokens)),
        np.concatenate((one.output_tokens, other.output_tokens)),
        np.concatenate((one.cached_tokens, other.cached_tokens)),
        ids=ids,
        description=f"{one.description} and {len(other)} placed by hand",
    )
    joined: Workload = msgspec.structs.replace(both, rejected=(*one.rejected, *both.rejected))
    return joined


def _names() -> str:
    return ", ".join(PRESETS)


def preset_of(name: str) -> str | None:
    """The key of the preset that is called so; names are forgiving."""
    wanted = normalised(name)
    for key, preset in PRESETS.items():
        if wanted in (normalised(key), normalised(preset.title)):
            return key
    return None


_kept: dict[tuple[str, float, int] | str, Workload] = {}


def _base(name: str, watch: Callable[[float], None] | None) -> Workload:
    """A preset or a file; each is made or read once while it stays what it is."""
    key: tuple[str, float, int] | str | None = preset_of(name)
    path = Path(os.path.expanduser(name))
    if key is None:
        if not (path.suffix or os.sep in name or is_file_name(name)):
            raise InputError(f"workload: {shown(name)} is no preset ({_names()}) and no file")
        try:
            there = path.stat()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"workload: {shown(name)} cannot be read: {reason}") from None
        if not path.is_file():
            raise InputError(f"workload: {shown(name)} is no regular file")
        key = (str(path), there.st_mtime, there.st_size)
    found = _kept.get(key)
    if found is None:
        found = PRESETS[key].make() if isinstance(key, str) else read_trace(path, watch)
        if len(_kept) > 4:
            _kept.clear()
        _kept[key] = found
    return found


def capacity_of(result: Result) -> int | None:
    """KV tokens that one engine has room for: as set, else what its memory leaves; None: no limit.

    Raises InputError where the weights leave no room at all.
    """
    asked, memory = result.scenario.capacity_tokens, result.memory
    if asked is not None:
        return asked
    if not memory.grows:
        return None
    each = result.model.stored_kv_bytes(2, memory.accelerators) - result.model.stored_kv_bytes(
        1, memory.accelerators
    )
    if memory.room_bytes < each:
        raise InputError(
            f"{result.architecture.name} leaves no room for a KV cache on "
            f"{memory.accelerators} × {result.accelerator.name}; more of them would"
        )
    return int(memory.room_bytes // each)


def knobs_of(result: Result, policy: str) -> Knobs:
    """How the scenario's server is run under ``policy``."""
    s = result.scenario
    return Knobs(
        policy=policy,
        capacity_tokens=capacity_of(result),
        max_seqs=s.max_seqs,
        max_batched_tokens=s.max_batched_tokens,
        token_budget=s.token_budget,
        prefill_steps=s.prefill_steps,
        decode_steps=s.decode_steps,
        link_bytes_per_s=s.link_bytes_per_s,
        link_latency_s=s.link_latency_s,
        prefill_engines=s.prefill_engines,
        decode_engines=s.decode_engines,
        replicas=s.replicas,
    )


def policies_of(result: Result) -> tuple[str, ...]:
    """The policies that are shown, one above the other."""
    s = result.scenario
    return (s.policy,) if s.against in ("none", s.policy) else (s.policy, s.against)


def within_context(requests: Workload, result: Result) -> Workload:
    """``requests`` without those beyond the model's context, which are listed with the reason."""
    limit = result.architecture.max_context_tokens
    if limit is None:
        return requests
    long = requests.prompt_tokens + requests.output_tokens > limit
    if not long.any():
        return requests
    reason = f"longer than the context of {result.architecture.name}, {limit:,} tokens"
    beyond = [Rejected(requests.name(number), reason) for number in np.flatnonzero(long).tolist()]
    if long.all():
        raise InputError(f"workload: every request is {reason}")
    kept = ~long
    ids = requests.ids
    return Workload(
        requests.arrival_s[kept],
        requests.prompt_tokens[kept],
        requests.output_tokens[kept],
        requests.cached_tokens[kept],
        requests.positions[kept],
        None if ids is None else tuple(ids[number] for number in np.flatnonzero(kept).tolist()),
        (*requests.rejected, *beyond),
        requests.description,
    )


def serve(
    result: Result,
    watch: Callable[[float], None] | None = None,
    policies: tuple[str, ...] | None = None,
) -> tuple[Run, ...]:
    """A run of the scenario's workload for each policy; ``watch`` hears the share that is done.

    Raises InputError for a workload or knobs that cannot be.
    """
    chosen = policies_of(result) if policies is None else policies
    requests = within_context(workload_of(result.scenario.workload, watch), result)
    costs = PassCosts(result.model, result.machine)
    runs: list[Run] = []
    for number, policy in enumerate(chosen):

        def heard(share: float, done: int = number) -> None:
            if watch is not None:
                watch((done + share) / len(chosen))

        runs.append(simulate(requests, knobs_of(result, policy), costs, heard))
    return tuple(runs)
