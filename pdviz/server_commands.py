"""The commands about a server: serve, and study."""

from __future__ import annotations

import csv
import io
import os
import sys
from pathlib import Path
from typing import Any

from pdviz import console, options, tables, units
from pdviz.errors import InputError
from pdviz.evaluation import Result
from pdviz.files import write_atomically
from pdviz.names import shown
from pdviz.scenario import Scenario

WORKERS_LIMIT = 1_024
INLINE_REQUESTS = 20_000  # of all points together: less is done before a process has started

SERVE = (
    "pdviz serve [TRACE] [--policy POLICY] [--against POLICY] [scenario options] [--json]\n"
    "                   [--chrome-trace FILE]",
    "Serve many requests on one accelerator, pass by pass, and print how long they wait and why.\n"
    "TRACE is a preset (long-prompt, two-prompts, chat, agents, batch, ramp), a trace file, requests\n"
    "such as 0.5:512>128 (at 0.5 s, a prompt of 512 tokens, 128 to write), or a preset or file and\n"
    "requests. JSON is in SI units, on the trace's clock. With --against: a second policy beside it.",
    (
        "pdviz serve",
        "pdviz serve long-prompt --policy chunked --against continuous",
        "pdviz serve agents --policy disaggregated --decode-engines 2 --json",
        'pdviz serve "0:512>100 0.2:512>100 0.29:16384>20" --policy chunked --token-budget 1K',
        "pdviz serve long-prompt --policy interleaved --chrome-trace run.json",
    ),
)
STUDY = (
    "pdviz study [TRACE] --vary KNOB=FROM..TO[:STEPS|xFACTOR] [--vary ...] [scenario options]\n"
    "                   [--best load|goodput|cost] [--workers N | --cluster ADDRESS] [--json | --csv]",
    "Serve the same requests with one or two knobs varied, a row for each point. A knob is load (a\n"
    "factor on the rate of arrivals), rate (requests a second), or any scenario option such as\n"
    "token-budget, max-seqs, tp, gpu or policy; KNOB=A,B,C takes these values. What was computed is\n"
    "kept: a study that was stopped goes on where it was, one that is asked again is read.",
    (
        "pdviz study long-prompt --policy chunked --vary token-budget=128..4096:x2",
        "pdviz study chat --vary load=1..4:4 --vary policy=continuous,chunked --csv",
        "pdviz study long-prompt --vary tp=1,2 --best load --ttft-target 0.5 --json",
    ),
)


def _scenario(given: options.Options, words: list[str]) -> Scenario:
    """The scenario that was asked for, what comes to its server from the words where there are any."""
    if words:
        if given.workload is not None:
            raise InputError(f"give either {shown(words[0])} or --workload, not both")
        given.workload = " ".join(words)
    if given.against is None:
        given.against = "none"
    return options.scenario_of(given)


# --- serve


def serve(argv: list[str]) -> int:
    """``pdviz serve``."""
    parser = options.Parser("pdviz serve", *SERVE)
    parser.add_argument("--json", action="store_true", help="print JSON, in SI units")
    parser.add_argument(
        "--chrome-trace", metavar="FILE", help="write passes, streams and counters, as Perfetto opens them"
    )
    options.add_scenario(parser)
    given = parser.read(argv)
    scenario = _scenario(given, parser.words)
    if given.chrome_trace is not None and scenario.against not in ("none", scenario.policy):
        raise InputError("--chrome-trace writes one policy, leave out --against")
    result = console.evaluated(scenario)

    from pdviz.serving.account import runs_json, runs_text
    from pdviz.serving.measures import Targets
    from pdviz.serving.outcome import Outcome
    from pdviz.serving.plan import serve as served

    with console.Progress("serving") as watch:
        outcomes = [Outcome(run) for run in served(result, watch)]
    targets = Targets(scenario.ttft_target_s, scenario.itl_target_s)
    text = runs_json(outcomes, targets) if given.json else [runs_text(outcomes, targets)]
    if given.chrome_trace is not None:
        from pdviz.serving.chrome import trace_json

        write_atomically(given.chrome_trace, trace_json(outcomes[0], scenario.itl_target_s))
    for piece in text:
        console.write(piece)
    return 0


# --- study


def study(argv: list[str]) -> int:
    """``pdviz study``."""
    parser = options.Parser("pdviz study", *STUDY)
    group = parser.add_argument_group("study")
    group.add_argument("--vary", metavar="KNOB=...", action="append", help="a knob, its values; up to two")
    group.add_argument(
        "--best",
        metavar="WHAT",
        help="mark the best point: load (the most that meets the targets, found by bisection), goodput, or "
        "cost (goodput for each accelerator)",
    )
    group.add_argument("--workers", metavar="N", help="processes [as many as processors]")
    group.add_argument("--cluster", metavar="ADDRESS", help="a Dask cluster; needs the extra cluster")
    group.add_argument("--keep", metavar="FOLDER", help="where finished parts are kept [the user's cache]")
    group.add_argument("--json", action="store_true", help="print JSON, in SI units")
    group.add_argument("--csv", action="store_true", help="print CSV, in SI units")
    options.add_scenario(parser)
    given = parser.read(argv)
    scenario = _scenario(given, parser.words)

    from pdviz.serving.vary import BEST, FORM, varied

    if not given.vary:
        raise InputError(f"study needs --vary; {FORM}")
    if len(given.vary) > 2:
        raise InputError(f"study varies one or two knobs, not {len(given.vary)}")
    if given.json and given.csv:
        raise InputError("give either --json or --csv, not both")
    if given.workers is not None and given.cluster is not None:
        raise InputError("give either --workers or --cluster, not both")
    best = None if given.best is None else options.choice("best", given.best, BEST)
    knobs = [varied(text) for text in given.vary]
    result = console.evaluated(scenario)
    rows, place = _points(given, result, knobs, best)
    if given.json:
        found: dict[str, Any] = {"points": rows}
        if best is not None:
            found["best"] = None if place is None else rows[place]
        console.write(console.as_json(found))
    elif given.csv:
        out = io.StringIO()
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        console.write(out.getvalue())
    else:
        console.write(_table(rows, [one.knob for one in knobs], best, place))
    return 0


def _points(
    given: options.Options, result: Result, knobs: list[Any], best: str | None
) -> tuple[list[dict[str, Any]], int | None]:
    from pdviz.catalogue import default_catalogue
    from pdviz.serving import study as studies
    from pdviz.serving.measures import Targets
    from pdviz.serving.plan import within_context, workload_of
    from pdviz.serving.vary import best_of, point_row, settings_of

    s = result.scenario
    targets = Targets(s.ttft_target_s, s.itl_target_s)
    with console.Progress("reading") as watch:
        workload = within_context(workload_of(s.workload, watch), result)
    settings = settings_of(result, workload, knobs, default_catalogue())
    workers = None
    if given.workers is not None:
        workers = units.parse_count(given.workers, "--workers", 1, WORKERS_LIMIT)
    if given.cluster is not None:
        make = studies.cluster(given.cluster)
    elif workers == 1 or (workers is None and len(workload) * len(settings) < INLINE_REQUESTS):
        make = None
    else:
        make = studies.processes(workers)
    folder = Path(given.keep) if given.keep is not None else cache_folder()
    try:
        with console.Progress("studying") as watch:
            points = studies.study(
                workload, settings, targets, make, bisects=best == "load", folder=folder, watch=watch
            )
    except OSError as error:
        raise InputError(f"study: {folder} cannot be written ({error.strerror or error})") from None
    rows = [point_row(*pair, workload) for pair in zip(settings, points, strict=True)]
    return rows, None if best is None else best_of(settings, points, best)


def cache_folder() -> Path:
    """Where parts of studies are kept between runs."""
    if os.name == "nt":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.path.expanduser(base)) / "pdviz" / "studies"


_COLUMNS = {
    "ttft_p50_s": "TTFT p50",
    "ttft_p99_s": "TTFT p99",
    "itl_p50_s": "ITL p50",
    "itl_p99_s": "ITL p99",
    "goodput_requests_per_s": "goodput/s",
    "requests_per_s": "requests/s",
    "tokens_per_s": "tokens/s",
    "preemptions": "preemptions",
    "rejected": "rejected",
}


def _table(rows: list[dict[str, Any]], knobs: list[str], best: str | None, place: int | None) -> str:
    named = knobs if best != "load" else [*dict.fromkeys((*knobs, "load", "rate_per_s"))]
    lines: list[tuple[str, ...]] = [(*named, *_COLUMNS.values(), "")]
    for number, row in enumerate(rows):
        cells = [_cell(name, row[name]) for name in (*named, *_COLUMNS)]
        lines.append((*cells, "best" if number == place else ""))
    made = tables.aligned(lines, ">" * (len(lines[0]) - 1) + "<")
    if best is not None and place is None:
        made += ["", f"no point meets the targets, so that none is best for {best}"]
    return "\n".join(made) + "\n"


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if name.endswith("_s") and not name.endswith("_per_s"):
        return units.duration(value)
    return units.count(value) if isinstance(value, int) else units.significant(value)
