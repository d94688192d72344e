"""What a study varies: from words such as ``token-budget=128..4096:x2`` to the settings of its runs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import msgspec

from pdviz.catalogue import Catalogue
from pdviz.errors import InputError
from pdviz.evaluation import Result, evaluate
from pdviz.field import Field
from pdviz.fields import BY_KEY
from pdviz.names import shown
from pdviz.scenario import edit
from pdviz.serving.costs import PassCosts
from pdviz.serving.plan import knobs_of
from pdviz.serving.policies import Knobs
from pdviz.serving.study import Point, Setting
from pdviz.serving.workload import Workload
from pdviz.units import parse_count

LOAD, RATE = "load", "rate"
"""Knobs that no field of a scenario is: a factor on the rate of arrivals, and that rate itself."""
USUAL_STEPS, MOST_POINTS = 8, 10_000
FORM = "expected KNOB=FROM..TO, with :STEPS or :xFACTOR after it, or KNOB=A,B,C"
_FIXED = ("workload", "against", "ttft_target_s", "itl_target_s")

Value = float | str


class Varied(msgspec.Struct, frozen=True):
    """A knob and the values that it takes."""

    knob: str
    values: tuple[Value, ...]


def varied(text: str) -> Varied:
    """A knob and its values from text. Raises InputError."""
    knob, equals, span = (part.strip() for part in text.partition("="))
    if not equals or not span:
        raise InputError(f"--vary {shown(text)}: {FORM}")
    known = [key for key, field in BY_KEY.items() if field.name not in _FIXED]
    if knob not in (LOAD, RATE, *known):
        raise InputError(f"--vary: unknown knob {shown(knob)}; expected load, rate or {', '.join(known)}")
    field = BY_KEY.get(knob)
    if ".." not in span:
        return Varied(knob, tuple(_value(knob, field, word) for word in span.split(",")))
    ends, _, how = span.partition(":")
    first, last = (_value(knob, field, end) for end in ends.split("..", 1))
    if isinstance(first, str) or isinstance(last, str):
        raise InputError(f"--vary: {knob} is no number; expected {knob}=A,B,C")
    if last < first:
        raise InputError(f"--vary: {knob} runs from low to high, got {shown(ends)}")
    whole = field is not None and field.kind == "count"
    values = _values(knob, first, last, how.strip() or ("x2" if whole else str(USUAL_STEPS)))
    return Varied(knob, tuple(dict.fromkeys(round(v) if whole else v for v in values)))


def _value(knob: str, field: Field | None, text: str) -> Value:
    if field is None:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            raise InputError(f"--vary: {knob} must be a number above 0, got {shown(text)}")
        return number
    found = field.parse(text)
    if found is None:
        raise InputError(f"--vary: {knob} needs a number, got {shown(text)}")
    return found if isinstance(found, (int, float)) else str(found)


def _values(knob: str, first: float, last: float, how: str) -> list[float]:
    if factor := re.fullmatch(r"[x×*]\s*(\d+\.?\d*|\.\d+)", how):
        by = float(factor[1])
        if not by > 1 or first <= 0:
            raise InputError(f"--vary: {knob} in factors needs one above 1 and a first value above 0")
        count = math.floor(math.log(last / first) / math.log(by) + 1e-9) + 1
        if count > MOST_POINTS:
            raise InputError(f"--vary: {knob} takes {count:,} values, at most {MOST_POINTS:,} can be")
        found = [first * by**n for n in range(count)]
        return found if math.isclose(found[-1], last) else [*found, last]
    steps = parse_count(how, f"--vary: steps of {knob}", 1, MOST_POINTS)
    if steps == 1:
        return [first]
    return [first + (last - first) * n / (steps - 1) for n in range(steps)]


def rate_per_s(workload: Workload) -> float:
    """Requests a second as they come; infinite where all come at once."""
    span_s = float(workload.arrival_s[-1] - workload.arrival_s[0])
    return (len(workload) - 1) / span_s if span_s > 0 else math.inf


def settings_of(
    result: Result, workload: Workload, knobs: Sequence[Varied], catalogue: Catalogue
) -> list[Setting]:
    """A setting for every combination of values, the last knob changing fastest. Raises InputError."""
    names = [one.knob for one in knobs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None or {LOAD, RATE} <= {*names}:
        raise InputError(f"--vary: {twice or 'load and rate'} can be varied once only")
    count = math.prod(len(one.values) for one in knobs)
    if count > MOST_POINTS:
        raise InputError(f"--vary makes {count:,} points, at most {MOST_POINTS:,} can be")
    natural = rate_per_s(workload)
    if RATE in names and not 0 < natural < math.inf:
        raise InputError("--vary: this workload has no rate of its own, since all requests come at once")
    found = []
    made: dict[tuple[Value, ...], tuple[Knobs, PassCosts]] = {}
    for values in product(*(one.values for one in knobs)):
        named = dict(zip(names, values, strict=True))
        load = named.get(LOAD, float(named.get(RATE, natural)) / natural if RATE in names else 1.0)
        fields = {BY_KEY[name].name: value for name, value in named.items() if name in BY_KEY}
        key = tuple(fields.values())
        if key not in made:
            one = evaluate(edit(result.scenario, **fields), catalogue)
            chosen = knobs_of(one, one.scenario.policy)
            chosen.check()
            made[key] = chosen, PassCosts(one.model, one.machine)
        found.append(Setting(named, *made[key], float(load)))
    return found


# --- what is best

BEST = ("load", "goodput", "cost")


def accelerators(setting: Setting) -> int:
    """Accelerators that a setting takes, over all engines."""
    return setting.costs.machine.accelerators * setting.knobs.engines


def best_of(settings: Sequence[Setting], points: Sequence[Point], what: str) -> int | None:
    """The place of the best point: most load, most goodput, or most goodput for each accelerator.

    None where no point has any.
    """

    def score(place: int) -> float:
        good = points[place].summary.goodput_requests_per_s
        if what == "load":
            return points[place].load
        return good / accelerators(settings[place]) if what == "cost" else good

    best = max(range(len(points)), key=score)
    return best if score(best) > 0 else None


def point_row(setting: Setting, point: Point, workload: Workload) -> dict[str, Any]:
    """A point as a row: the knobs, then what came of them."""
    s, natural = point.summary, rate_per_s(workload)
    rate = point.load * natural
    return {
        **setting.values,
        "load": point.load if math.isfinite(point.load) else None,
        "rate_per_s": rate if math.isfinite(rate) else None,
        "ttft_p50_s": s.ttft_s.p50,
        "ttft_p99_s": s.ttft_s.p99,
        "itl_p50_s": s.itl_s.p50,
        "itl_p99_s": s.itl_s.p99,
        "itl_max_s": s.itl_s.max,
        "goodput_requests_per_s": s.goodput_requests_per_s,
        "good_share": point.good_share,
        "requests_per_s": s.requests_per_s,
        "tokens_per_s": s.tokens_per_s,
        "makespan_s": s.makespan_s,
        "passes": point.passes,
        "preemptions": point.preemptions,
        "rejected": point.rejected,
        "engines": setting.knobs.engines,
        "accelerators": accelerators(setting),
    }
