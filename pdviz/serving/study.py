"""Many runs of one workload: what a knob trades, how much load a server bears.

Runs go in parts through an executor of ``concurrent.futures``. A part is named by the hash of all that it
depends on; with a folder to keep parts in, a study that was stopped goes on where it was, and one that is
asked again is read.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from pdviz import __version__
from pdviz.errors import InputError
from pdviz.serving.costs import PassCosts
from pdviz.serving.measures import Summary, Targets, meets, summary
from pdviz.serving.outcome import Outcome
from pdviz.serving.policies import Knobs
from pdviz.serving.server import simulate
from pdviz.serving.workload import Workload

REQUESTS_AT_ONCE = 100_000
"""Requests that a part serves about: half a second of work."""
TRIES = 3
"""How often a part is given to workers that die of it."""
GOOD_SHARE = 0.99
"""Share of requests that have to meet the targets where a server bears its load."""
CLOSE = 1.01
"""How close the most load is found, as a factor."""
_FURTHEST = 2.0**20
PATIENCE_S = 5
"""How long a cluster may take to answer."""

Watch = Callable[[float], None]
Make = Callable[[], AbstractContextManager[Executor]]


class Setting(msgspec.Struct, frozen=True):
    """A point of a study: ``values`` name it, ``load`` multiplies the rate of arrivals."""

    values: dict[str, float | str]
    knobs: Knobs
    costs: PassCosts
    load: float = 1.0


class Point(msgspec.Struct, frozen=True):
    """What came of a setting. ``good_share`` of all requests met the targets, rejected ones did not.

    ``load`` is the one it was served with: where the most load was asked for, that (0: not even a
    millionth is borne; infinite: all at once is).
    """

    values: dict[str, float | str]
    load: float
    summary: Summary
    good_share: float
    passes: int
    preemptions: int
    rejected: int


def at_load(workload: Workload, load: float) -> Workload:
    """The same requests, coming ``load`` times as fast. Raises InputError."""
    if not (load > 0 and math.isfinite(load)):
        raise InputError(f"load: expected a factor above 0, not {load}")
    first = float(workload.arrival_s[0])
    arrival_s = first + (workload.arrival_s - first) / load
    faster: Workload = msgspec.structs.replace(workload, arrival_s=arrival_s)
    return faster


def run_point(workload: Workload, setting: Setting, targets: Targets) -> Point:
    """Serves the workload in one setting."""
    outcome = Outcome(simulate(at_load(workload, setting.load), setting.knobs, setting.costs))
    return Point(
        values=setting.values,
        load=setting.load,
        summary=summary(outcome, targets),
        good_share=float(meets(outcome, targets).sum()) / len(workload),
        passes=outcome.passes,
        preemptions=outcome.preemptions,
        rejected=len(outcome.run.rejected),
    )


def most_load(workload: Workload, setting: Setting, targets: Targets) -> Point:
    """The most load at which the server is good to nearly all requests, found by bisection."""

    def at(load: float) -> Point:
        return run_point(workload, msgspec.structs.replace(setting, load=load), targets)

    best, low, high = at(setting.load), setting.load, setting.load
    if best.good_share >= GOOD_SHARE:
        while best.good_share >= GOOD_SHARE:
            high *= 2
            if high > _FURTHEST:
                return msgspec.structs.replace(best, load=math.inf)
            found = at(high)
            if found.good_share < GOOD_SHARE:
                break
            best, low = found, high
    else:
        while best.good_share < GOOD_SHARE:
            low /= 2
            if low < 1 / _FURTHEST:
                return msgspec.structs.replace(best, load=0.0)
            best = at(low)
        high = 2 * low
    while high > low * CLOSE:
        middle = math.sqrt(low * high)
        found = at(middle)
        if found.good_share >= GOOD_SHARE:
            best, low = found, middle
        else:
            high = middle
    return best


# --- parts


class _Part(msgspec.Struct, frozen=True):
    """Settings that one worker runs in one go."""

    name: str
    settings: tuple[Setting, ...]


def _work(
    workload: Workload, part: _Part, targets: Targets, bisects: bool, folder: Path | None
) -> list[Point]:
    """Runs a part, in whichever process, and keeps it."""
    run = most_load if bisects else run_point
    points = [run(workload, setting, targets) for setting in part.settings]
    if folder is not None:
        kept = folder / f"{part.name}.{os.getpid()}.new"
        kept.write_bytes(msgspec.json.encode([_plain(point) for point in points]))
        kept.replace(folder / f"{part.name}.json")
    return points


def _plain(point: Point) -> dict[str, object]:
    """As JSON has it: no infinity."""
    made: dict[str, object] = msgspec.to_builtins(point)
    made["load"] = str(point.load)
    return made


def _kept(folder: Path | None, part: _Part) -> list[Point] | None:
    """What a part gave before; None where it was not run, or its file is damaged."""
    if folder is None:
        return None
    try:
        found = msgspec.json.decode((folder / f"{part.name}.json").read_bytes(), type=list[dict[str, Any]])
        points = [msgspec.convert(one | {"load": float(one["load"])}, Point) for one in found]
    except (OSError, KeyError, ValueError, msgspec.MsgspecError):
        return None
    return points if len(points) == len(part.settings) else None


def _parts(workload: Workload, settings: Sequence[Setting], targets: Targets, bisects: bool) -> list[_Part]:
    shared = hashlib.sha256()
    columns = (workload.arrival_s, workload.prompt_tokens, workload.output_tokens, workload.cached_tokens)
    for column in columns:
        shared.update(np.ascontiguousarray(column).tobytes())
    shared.update(repr((__version__, targets, bisects, GOOD_SHARE, CLOSE)).encode())
    size = 1 if bisects else max(REQUESTS_AT_ONCE // len(workload), 1)
    found = []
    for start in range(0, len(settings), size):
        some = tuple(settings[start : start + size])
        digest = shared.copy()
        for one in some:
            digest.update(repr((one.values, one.knobs, one.load, one.costs.inputs)).encode())
        found.append(_Part(digest.hexdigest()[:32], some))
    return found


def processes(workers: int | None = None) -> Make:
    """A maker of executors with as many processes as there are processors, or ``workers``."""

    @contextmanager
    def make() -> Iterator[Executor]:
        executor = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
        try:
            yield executor
        finally:
            executor.shutdown(wait=False, cancel_futures=True)

    return make


def cluster(address: str) -> Make:
    """A maker of executors on the Dask cluster at ``address``. Raises InputError where there is none."""
    try:
        from distributed import Client, KilledWorker
    except ImportError:
        raise InputError('cluster: this needs the extra "cluster" (pip install "pdviz[cluster]")') from None

    @contextmanager
    def make() -> Iterator[Executor]:
        try:
            client = Client(address, timeout=PATIENCE_S)
        except (OSError, ValueError) as error:
            raise InputError(f"cluster: nothing answers at {address} ({type(error).__name__})") from None
        with client:
            try:
                yield client.get_executor(pure=False)
            except KilledWorker as error:
                raise BrokenExecutor(str(error)) from None

    return make


def study(
    workload: Workload,
    settings: Sequence[Setting],
    targets: Targets,
    make: Make | None = None,
    *,
    bisects: bool = False,
    folder: Path | None = None,
    watch: Watch | None = None,
) -> list[Point]:
    """A point for each setting, in their order; ``bisects`` asks each for the most load that it bears.

    ``make`` gives an executor (None: all here). Parts are kept in ``folder``. A worker that dies is
    replaced and its part tried again. ``watch`` hears the share that is done, and may raise to stop.
    """
    for setting in settings:
        setting.knobs.check()
        at_load(workload, setting.load)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    parts = _parts(workload, settings, targets, bisects)
    found: dict[str, list[Point]] = {}
    for part in parts:
        kept = _kept(folder, part)
        if kept is not None:
            found[part.name] = kept
    todo = {part.name: part for part in parts if part.name not in found}

    def tell() -> None:
        if watch is not None:
            watch(1 - len(todo) / max(len(parts), 1))

    tell()
    if make is None:
        for part in list(todo.values()):
            found[part.name] = _work(workload, part, targets, bisects, folder)
            del todo[part.name]
            tell()
    died = 0
    while make is not None and todo:
        before = len(todo)
        try:
            with make() as executor:
                work = partial(_work, workload, targets=targets, bisects=bisects, folder=folder)
                for name, points in _as_done(executor, work, todo):
                    found[name] = points
                    del todo[name]
                    tell()
        except BrokenExecutor:
            died = died + 1 if len(todo) == before else 1
            if died == TRIES:
                raise InputError(f"study: workers died {TRIES} times of the same part of it") from None
    return [point for part in parts for point in found[part.name]]


def _as_done(
    executor: Executor, work: Callable[[_Part], list[Point]], todo: dict[str, _Part]
) -> Iterator[tuple[str, list[Point]]]:
    futures = {executor.submit(work, part): name for name, part in todo.items()}
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()
