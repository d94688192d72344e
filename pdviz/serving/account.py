"""A run for a program, request by request, and for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from pdviz import units
from pdviz.serving.measures import Spread, Targets, summary
from pdviz.serving.outcome import Outcome
from pdviz.serving.server import Run
from pdviz.serving.workload import Rejected
from pdviz.tables import Row, aligned, detail

_AT_ONCE = 10_000  # requests in a piece of JSON
_LISTED = 5  # rejected requests in a table
_encode = msgspec.json.Encoder().encode


def rejected(run: Run) -> tuple[Rejected, ...]:
    """Rows that are no requests, then requests that do not fit."""
    return run.workload.rejected + run.rejected


def summary_json(outcome: Outcome, targets: Targets) -> dict[str, Any]:
    """The figures of a run, with the mean seconds of each part of where the time went."""
    found: dict[str, Any] = msgspec.to_builtins(summary(outcome, targets))
    found["requests"] = len(outcome)
    found["rejected"] = len(rejected(outcome.run))
    found["output_tokens"] = int(outcome.outputs.sum())
    found["mean_parts_s"] = {
        name: float(values.mean()) if len(values) else None for name, values in outcome.parts_s.items()
    }
    return found


def runs_json(outcomes: Sequence[Outcome], targets: Targets) -> Iterator[str]:
    """A run as JSON in pieces, a request on each line, so that a million take no memory.

    A second run stands within the first, under "against".
    """
    outcome, *more = outcomes
    run = outcome.run
    figures = {"policy": run.knobs.policy, "passes": outcome.passes, "preemptions": outcome.preemptions}
    head = _encode(figures).decode()
    yield f"{head[:-1]},\n"
    yield from _listed("rejected", ([msgspec.to_builtins(one)] for one in rejected(run)))
    yield from _listed("requests", _requests(outcome))
    yield f'"summary":{_encode(summary_json(outcome, targets)).decode()}'
    if more:
        yield ',\n"against":'
        yield from runs_json(more, targets)
    yield "}\n"


def _listed(key: str, rows: Iterator[list[dict[str, Any]]]) -> Iterator[str]:
    yield f'"{key}":['
    mark = "\n"
    for some in rows:
        yield mark + ",\n".join(_encode(row).decode() for row in some)
        mark = ",\n"
    yield "],\n"


def _requests(outcome: Outcome) -> Iterator[list[dict[str, Any]]]:
    run = outcome.run
    columns = {
        "arrival_s": outcome.arrival_s,
        "prompt_tokens": outcome.prompts,
        "output_tokens": outcome.outputs,
        "first_token_s": outcome.first_token_s,
        "last_token_s": outcome.last_token_s,
        "ttft_s": outcome.ttft_s,
        "e2e_s": outcome.e2e_s,
        "longest_gap_s": outcome.longest_gap_s,
    }
    for start in range(0, len(outcome), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        names = [run.workload.name(number) for number in run.served[some].tolist()]
        rows = zip(names, *(values[some].tolist() for values in columns.values()), strict=True)
        made = [dict(zip(("id", *columns), row, strict=True)) for row in rows]
        for row in made:
            if row["output_tokens"] == 1:
                row["longest_gap_s"] = None
        yield made


# --- for a terminal


def runs_text(outcomes: Sequence[Outcome], targets: Targets) -> str:
    """One run as a table, or several side by side, and what was rejected."""
    figures = [summary(outcome, targets) for outcome in outcomes]
    head: Row = ("", *(outcome.run.knobs.policy for outcome in outcomes))
    rows = [head]

    def add(name: str, *cells: str) -> None:
        rows.append((name, *cells))

    add("requests served", *(units.count(len(outcome)) for outcome in outcomes))
    add("rejected", *(units.count(len(rejected(outcome.run))) for outcome in outcomes))
    add("passes", *(units.count(outcome.passes) for outcome in outcomes))
    add("preemptions", *(units.count(outcome.preemptions) for outcome in outcomes))
    for title, field in (("TTFT", "ttft_s"), ("ITL", "itl_s"), ("end to end", "e2e_s")):
        for figure in Spread.__struct_fields__:
            cells = (getattr(getattr(one, field), figure) for one in figures)
            add(f"{title} {figure}", *("-" if cell is None else units.duration(cell) for cell in cells))
    add("makespan", *(units.duration(one.makespan_s) for one in figures))
    add("output tokens/s", *(units.significant(one.tokens_per_s) for one in figures))
    add("requests/s", *(units.significant(one.requests_per_s) for one in figures))
    add("goodput requests/s", *(units.significant(one.goodput_requests_per_s) for one in figures))
    for name in outcomes[0].parts_s:
        cells = (outcome.parts_s[name] for outcome in outcomes)
        add(f"mean {_PARTS[name]}", *("-" if not len(c) else units.duration(np.mean(c)) for c in cells))
    lines = aligned(rows, "<" + ">" * len(outcomes))
    lines.append("")
    lines += detail("served", outcomes[0].run.workload.description)
    goal = f"first token within {units.duration(targets.ttft_s)}, each further within "
    lines += detail("goodput", goal + units.duration(targets.itl_s))
    for outcome in outcomes if any(outcome.run.rejected for outcome in outcomes) else outcomes[:1]:
        found = rejected(outcome.run)
        lines += detail("rejected", *(f"request {one.id}: {one.reason}" for one in found[:_LISTED]))
        if len(found) > _LISTED:
            lines += detail("rejected", f"and {units.count(len(found) - _LISTED)} more (--json lists all)")
        break
    return "\n".join(lines) + "\n"


_PARTS = {
    "queue": "time in the queue",
    "own_prefill": "own prefill",
    "own_decode": "own decode",
    "beside": "beside others' prompts",
    "recomputed": "recomputed",
    "link": "on the link",
}
