"""Every figure can say where it comes from, and every line that it says is true arithmetic."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import partial

import pytest
from costmodel_shapes import bytes_of, flops_of
from hypothesis import given, settings
from hypothesis import strategies as st

from pdviz import units
from pdviz.catalogue import Catalogue, ModelEntry, default_catalogue
from pdviz.costmodel.anatomy import PARTS, anatomy
from pdviz.costmodel.dtypes import DTYPES, KV_DTYPES, PUBLISHED, WEIGHT_DTYPES
from pdviz.costmodel.fidelities import PassCost
from pdviz.costmodel.memory import Memory
from pdviz.costmodel.request import CROSSOVER_LIMIT_TOKENS
from pdviz.costmodel.terms import Slice, new_tokens
from pdviz.errors import InputError
from pdviz.evaluation import Result, evaluate
from pdviz.explain import (
    KEYS,
    Explanation,
    Working,
    explain,
    explanations_json,
    explanations_text,
    find_keys,
    pass_key,
    quantity,
)
from pdviz.explain.phases import PASS_FIGURES
from pdviz.report import memory_text
from pdviz.scenario import Scenario, edit
from pdviz.scene.marks.axis import slow_motion
from pdviz.scene.request.figures import headline_figures
from pdviz.scene.stage.playback import RATES

CATALOGUE = default_catalogue()
MODELS = tuple(m.name for m in CATALOGUE.models)
ACCELERATORS = tuple(a.name for a in CATALOGUE.accelerators)
# One of each kind: grouped, latent, windows, windows of two widths, recurrent, experts, tied tables.
KINDS = (
    "Llama 3.1 8B",
    "Llama 2 7B",
    "Mistral 7B v0.1",
    "Gemma 3 27B",
    "MiMo V2 Flash 309B",
    "Mixtral 8x7B",
    "DeepSeek V3",
    "Qwen3-Next 80B-A3B",
    "gpt-oss 120B",
    "Llama 4 Maverick 17B-128E",
    "Mamba 2.8B",
    "Jamba v0.1 52B",
    "Llama 3.2 1B",
)
PHASE_KEYS = tuple(PASS_FIGURES)


def log_counts(low: int, high: int) -> st.SearchStrategy[int]:
    """Whole numbers, as many between 1 and 10 as between 1,000 and 10,000."""
    return st.floats(math.log(low), math.log(high)).map(lambda x: min(max(round(math.exp(x)), low), high))


def can_be_computed(scenario: Scenario) -> bool:
    """False where the accelerator has no rate for these weights."""
    try:
        evaluate(scenario)
    except InputError:
        return False
    return True


@st.composite
def anything(draw: st.DrawFn) -> Scenario:
    prompt = draw(log_counts(1, 2**21))
    return Scenario(
        model=draw(st.sampled_from((*KINDS, *MODELS))),
        accelerator=draw(st.sampled_from(("H100 SXM", "L4", "MI300X", *ACCELERATORS))),
        accelerators=draw(st.sampled_from((1, 2, 3, 8, 64))),
        weights_dtype=draw(st.sampled_from(("bf16", *WEIGHT_DTYPES))),
        kv_dtype=draw(st.sampled_from(KV_DTYPES)),
        prompt_tokens=prompt,
        output_tokens=draw(st.one_of(st.sampled_from((1, 2, 3)), log_counts(1, 10**6))),
        others=draw(st.one_of(st.just(0), log_counts(1, 65_535))),
        others_context_tokens=draw(st.one_of(st.none(), log_counts(1, 2**20))),
        cached_tokens=draw(st.one_of(st.just(0), st.integers(0, prompt - 1))),
        fidelity=draw(st.sampled_from(("textbook", "textbook", "ideal"))),
        compute_efficiency=draw(st.sampled_from((0.55, 1.0, 0.013))),
        bandwidth_efficiency=draw(st.sampled_from((0.75, 1.0, 0.3))),
    )


scenarios = anything().filter(can_be_computed)
places = st.floats(0, 1)
"""Where in the train of decode passes to look."""


def looked_at(scenario: Scenario, where: float) -> tuple[Result, int, list[Explanation]]:
    """The result, a decode pass of it, and all that is explained about it."""
    result = evaluate(scenario)
    index = 1 + round(where * max(result.request.train.steps - 1, 0))
    return result, index, everything(result, index)


def result_of(**values: object) -> Result:
    return evaluate(edit(Scenario(), **values))


def everything(result: Result, index: int = 1) -> list[Explanation]:
    return [explain(result, key, index) for key in KEYS]


# --- reading what is written -----------------------------------------------------------------------


def exactly(working: Working) -> float:
    """The expression evaluated with its terms."""
    values = {term.name: term.value for term in working.terms}
    assert len(values) == len({t.name for t in working.terms})
    found = eval(
        working.expression, {"__builtins__": {}, "max": max, "min": min, "floor": math.floor}, values
    )
    return float(found)


class Interval:
    """A number that was rounded: all that it may have been."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = min(low, high), max(low, high)

    @classmethod
    def of(cls, value: object) -> Interval:
        return value if isinstance(value, Interval) else cls(float(value), float(value))

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __add__(self, other: object) -> Interval:
        other = Interval.of(other)
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: object) -> Interval:
        other = Interval.of(other)
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, other: object) -> Interval:
        other = Interval.of(other)
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(ends), max(ends))

    def __truediv__(self, other: object) -> Interval:
        other = Interval.of(other)
        assert other.low > 0 or other.high < 0, "divided by what may be zero"
        return self * Interval(1 / other.high, 1 / other.low)

    def __pow__(self, other: object) -> Interval:
        power = Interval.of(other)
        assert self.low >= 0
        return Interval(self.low**power.high, self.high**power.low)

    def meets(self, other: Interval) -> bool:
        slack = 1e-9 * max(abs(self.low), abs(self.high), abs(other.low), abs(other.high))
        return self.low <= other.high + slack and other.low <= self.high + slack


def larger(*values: object) -> Interval:
    found = [Interval.of(v) for v in values]
    return Interval(max(v.low for v in found), max(v.high for v in found))


def smaller(*values: object) -> Interval:
    found = [Interval.of(v) for v in values]
    return Interval(min(v.low for v in found), min(v.high for v in found))


def whole(value: object) -> Interval:
    found = Interval.of(value)
    return Interval(math.floor(found.low), math.floor(found.high))


PREFIXES = {"P": 1e15, "T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3, "": 1.0, "m": 1e-3, "µ": 1e-6}
NOUNS = (
    "tokens?|parameters?|weights?|pairs?|sequences?|experts?|layers?|heads?|elements?|positions?|pass(?:es)?"
)
UNITS = r"(?P<prefix>[PTGMkmµ]?)(?:FLOP/s|B/s|FLOP/B|FLOP|B|s)\b"
NUMBER = re.compile(rf"(?P<digits>\d[\d,]*(?:\.\d+)?)(?: (?:{UNITS}|(?P<percent>%)|tok/s|(?:{NOUNS})\b))?")
DIGITS = 5


def number(found: re.Match[str]) -> Interval:
    """A number as written: five digits may have been rounded, fewer are exact."""
    digits = found["digits"].replace(",", "")
    whole, _, decimals = digits.partition(".")
    significant = len((whole + decimals).lstrip("0"))
    half = 0.0
    if significant == DIGITS or (significant > DIGITS and not decimals):
        half = 0.5000001 * 10.0 ** -len(decimals)
    scale = PREFIXES[found["prefix"] or ""] * (0.01 if found["percent"] else 1.0)
    return Interval((float(digits) - half) * scale, (float(digits) + half) * scale)


def read(text: str) -> Interval:
    """What a line of numbers, units and signs makes, as a reader with a calculator finds it."""
    values: dict[str, Interval] = {}

    def put(found: re.Match[str]) -> str:
        values[f"x{len(values)}"] = number(found)
        return f"x{len(values) - 1}"

    python = NUMBER.sub(put, text).replace("×", "*").replace("−", "-").replace("^", "**")
    assert re.fullmatch(r"(?:x\d+|max|min|floor|[-+*/(), ])+", python), f"cannot be read: {text} -> {python}"
    return Interval.of(
        eval(python, {"__builtins__": {}, "max": larger, "min": smaller, "floor": whole}, dict(values))
    )


def in_symbols(working: Working) -> float:
    """What the formula makes where the values of the terms stand for the symbols."""
    left, _, formula = working.formula.partition(" = ")
    assert left == working.symbol
    by_symbol = {term.symbol: term.value for term in working.terms}
    pattern = "|".join(re.escape(s) for s in sorted(by_symbol, key=len, reverse=True))
    used: list[float] = []

    def put(found: re.Match[str]) -> str:
        used.append(by_symbol[found[0]])
        return f"x[{len(used) - 1}]"

    python = re.sub(rf"(?<![A-Za-z])(?:{pattern})(?![A-Za-z_0-9\[])", put, formula) if by_symbol else formula
    python = python.replace("×", "*").replace("−", "-").replace("^", "**")
    return float(eval(python, {"__builtins__": {}, "max": max, "min": min, "floor": math.floor}, {"x": used}))


def shown_on_screen(one: Explanation) -> Interval | None:
    """What a figure on screen may have been before it was rounded; None where it is no single number."""
    value = one.value
    if one.unit == "parameter":  # B is a billion here
        value = value.replace(" B", " GB").replace(" M", " MB").replace(" T", " TB")
    minutes = re.fullmatch(r"(?:(\d[\d,]*) h )?(\d+) min(?: (\d+) s)?", value)
    if minutes:
        hours, mins, secs = (int((x or "0").replace(",", "")) for x in minutes.groups())
        seconds, half = 3600 * hours + 60 * mins + secs, 0.5 if minutes[3] else 30.0
        return Interval(seconds - half, seconds + half)
    found = re.fullmatch(
        r"(-?\d[\d,]*(?:\.\d+)?) ?(?:([PTGMkmµ]?)(FLOP/s|B/s|FLOP|B|s)|%|(?:FLOPs per byte|tok/s|tokens?))",
        value,
    )
    if found is None:
        return None
    decimals = len(found[1].partition(".")[2])
    scale = PREFIXES[found[2] or ""] * (0.01 if value.endswith("%") else 1.0)
    middle, half = float(found[1].replace(",", "")), 0.5000001 * 10.0**-decimals
    if value == "99.99 %":  # what is not all of it is never written as such
        half = 0.01
    return Interval((middle - half) * scale, (middle + half) * scale)


# --- arithmetic ------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(scenarios, places)
def test_that_every_line_is_true(scenario: Scenario, where: float) -> None:
    for one in looked_at(scenario, where)[2]:
        for working in one.workings:
            largest = max(abs(t.value) for t in working.terms)
            near = pytest.approx(working.value, rel=1e-9, abs=1e-12 * largest)
            assert exactly(working) == near, (one.key, working.line)
            assert in_symbols(working) == near, (one.key, working.line)


@settings(max_examples=80)
@given(scenarios, places)
def test_that_the_numbers_as_written_make_what_is_written(scenario: Scenario, where: float) -> None:
    for one in looked_at(scenario, where)[2]:
        for working in one.workings:
            made, _, said = working.worked.rpartition(" = ")
            value = re.sub(r"^-", "0 − ", said)
            assert read(made).meets(read(value)), (one.key, working.worked)
            assert read(value).meets(Interval.of(working.value)), (one.key, working.worked)


@settings(max_examples=80)
@given(scenarios, places)
def test_that_the_worked_line_makes_the_figure_on_screen(scenario: Scenario, where: float) -> None:
    seen = 0
    for one in looked_at(scenario, where)[2]:
        screen = shown_on_screen(one)
        if screen is not None and one.key not in ("crossover", "compute_efficiency", "bandwidth_efficiency"):
            made = read(one.worked.rpartition(" = ")[0])
            if one.key == "half_speed_context":
                made = larger(made, 1)
            assert made.meets(screen), (one.key, one.value, one.worked)
            seen += 1
    assert seen >= 20


@settings(max_examples=40)
@given(scenarios, places)
def test_that_what_a_line_takes_from_another_is_what_that_one_makes(scenario: Scenario, where: float) -> None:
    for one in looked_at(scenario, where)[2]:
        made = {working.name: working for working in one.workings}
        assert len(made) == len(one.workings)
        names: dict[str, tuple[float, str]] = {}
        symbols: dict[str, float] = {}
        for working in one.workings:
            for term in working.terms:
                if term.name in made:
                    assert term.value == pytest.approx(made[term.name].value, rel=1e-12), (one.key, term)
                # a name is one quantity throughout an explanation, and so is a symbol
                assert names.setdefault(term.name, (term.value, term.symbol))[0] == term.value
                assert symbols.setdefault(term.symbol, term.value) == term.value, (one.key, term.symbol)


@settings(max_examples=40)
@given(scenarios)
def test_that_an_explanation_says_what_its_workings_say(scenario: Scenario) -> None:
    result = evaluate(scenario)
    for one in everything(result):
        main, *others = one.workings
        assert (one.formula, one.worked) == (main.formula, main.worked)
        assert [step for step in one.steps if " = " in step] == [working.line for working in others]
        made = {working.name for working in one.workings}
        for working in one.workings:
            for term in working.terms:
                if term.meaning and term.name not in made:
                    assert f"{term.symbol} = {term.shown}: {term.meaning}" in one.symbols


# --- the figures are those of the cost model -------------------------------------------------------


def expected_of_pass(figure: str, cost: PassCost) -> float:
    return {
        "time": cost.time_s,
        "flops": cost.flops,
        "bytes": cost.bytes,
        "bound": cost.compute_s / cost.bandwidth_s,
        "compute_utilisation": cost.compute_utilisation,
        "bandwidth_utilisation": cost.bandwidth_utilisation,
        "compute_rate": cost.flops / cost.time_s,
        "bandwidth_rate": cost.bytes / cost.time_s,
        "intensity": cost.intensity_flops_per_byte,
        "tokens": cost.tokens,
    }[figure]


def fastest_s(result: Result, index: int) -> float:
    """The time of a pass in the ideal model."""
    return evaluate(edit(result.scenario, fidelity="ideal")).request.pass_cost(index).time_s


def ratio_of_times(result: Result, prompt_tokens: int) -> float:
    cached = result.scenario.cached_tokens
    piece = (Slice.prompt(prompt_tokens - cached, cached),)
    machine, model = result.machine, result.model
    return machine.compute_s(flops_of(model, piece)) / machine.bandwidth_s(bytes_of(model, piece))


def largest_batch(memory: Memory) -> float:
    """The room beside this request where there is no batch to count."""
    room = memory.capacity_bytes - memory.reserve_bytes - memory.weights_bytes - memory.uneven_bytes
    room -= memory.own_kv_bytes
    return 1 + room // memory.other_kv_bytes if room >= 0 and memory.other_kv_bytes else room


def free_tokens(memory: Memory) -> float:
    """The room itself where a sequence takes none."""
    room = max(memory.free_bytes, 0.0)
    tokens = memory.other_context_tokens
    return room / memory.other_kv_bytes * tokens // 1 if memory.free_tokens is not None else room


def left_on(result: Result, accelerators: int) -> float:
    """Bytes that are left on that many of the same accelerators."""
    return evaluate(edit(result.scenario, accelerators=accelerators)).memory.free_bytes


def parameters_of(part: str, result: Result) -> int:
    return anatomy(result.model).totals().get(part, (0, 0.0))[0]


EXPECTED: dict[str, Callable[[Result], float]] = {
    "ttft": lambda r: r.ttft_s,
    "itl": lambda r: r.itl_s or 0,
    "e2e": lambda r: r.e2e_s,
    "decode_share": lambda r: r.decode_share,
    "tokens_per_s": lambda r: r.tokens_per_s_stream or 0,
    "tokens_per_s_total": lambda r: r.tokens_per_s_total or 0,
    "ridge": lambda r: r.machine.peak_flops_per_s / r.machine.bandwidth_bytes_per_s,
    "achievable_ridge": lambda r: r.machine.achievable_ridge_flops_per_byte,
    "peak": lambda r: r.scenario.accelerators * r.accelerator.peak_flops_per_s[r.machine.math_dtype],
    "bandwidth": lambda r: r.scenario.accelerators * r.accelerator.memory_bandwidth_bytes_per_s,
    "compute_efficiency": lambda r: r.machine.compute_efficiency * r.machine.peak_flops_per_s,
    "bandwidth_efficiency": lambda r: r.machine.bandwidth_efficiency * r.machine.bandwidth_bytes_per_s,
    "assumptions": lambda r: r.machine.compute_efficiency * r.machine.peak_flops_per_s,
    "remarks": lambda r: r.machine.compute_efficiency * r.machine.peak_flops_per_s,
    "parameters": lambda r: r.architecture.parameters,
    "active_parameters": lambda r: r.architecture.active_parameters,
    "kv_bytes_per_token": lambda r: r.model.kv_bytes_per_token,
    "memory.weights": lambda r: r.memory.weights_bytes,
    "memory.kv": lambda r: r.memory.kv_bytes,
    "memory.reserve": lambda r: r.memory.reserve_bytes,
    "memory.used": lambda r: r.memory.used_bytes,
    "memory.capacity": lambda r: r.memory.capacity_bytes,
    "memory.free": lambda r: r.memory.free_bytes,
    "memory.fits": lambda r: r.memory.free_bytes,
    "memory.weights_each": lambda r: r.model.fullest_weights_bytes(r.scenario.accelerators),
    "memory.kv_each": lambda r: r.memory.kv_bytes_each,
    "memory.reserve_each": lambda r: r.memory.reserve_bytes_each,
    "memory.free_each": lambda r: r.memory.free_bytes_each,
    "memory.free_tokens": lambda r: free_tokens(r.memory),
    "memory.largest_batch": lambda r: largest_batch(r.memory),
    "memory.fewest": lambda r: left_on(r, r.fewest_accelerators or 1024),
    "weights_read": lambda r: float(r.model.weights_read_bytes(r.streams)),
    **{f"parts.{part}": partial(parameters_of, part) for part in PARTS},
    "slow_motion": lambda r: 10.0,
}


@settings(max_examples=40)
@given(scenarios, places)
def test_that_every_figure_is_the_cost_model_s_own(scenario: Scenario, where: float) -> None:
    result, index, explanations = looked_at(scenario, where)
    steps = result.request.train.steps
    for one in explanations:
        phase, _, figure = one.key.partition(".")
        if phase in ("prefill", "decode"):
            number = index if phase == "decode" else 0
            if number > steps:
                assert one.workings[0].value == 0
                continue
            assert one.pass_index == number
            if figure == "speed_of_light":
                expected = fastest_s(result, number)
            else:
                expected = expected_of_pass(figure, result.request.pass_cost(number))
        elif one.key in ("crossover", "half_speed_context"):
            continue  # these have tests of their own
        else:
            expected = EXPECTED[one.key](result)
        assert one.workings[0].value == pytest.approx(expected, rel=1e-12), one.key


WORDS = ("assumptions", "prefill.bound", "decode.bound")
"""What is said in words and is no number."""


@settings(max_examples=40)
@given(scenarios)
def test_that_the_figure_of_an_explanation_is_the_one_that_it_names(scenario: Scenario) -> None:
    for one in everything(evaluate(scenario)):
        if one.key in WORDS or one.value in ("none", "no limit", "–"):
            assert one.figure is None, one.key
            continue
        assert one.figure is not None, one.key
        screen = shown_on_screen(one)
        if one.key == "half_speed_context":
            assert round(max(one.figure, 1)) == int(one.value.partition(" ")[0].replace(",", ""))
        elif screen is not None:
            assert screen.meets(Interval.of(one.figure)), (one.key, one.value, one.figure)
        elif one.unit in ("sequence", "accelerator", "remark"):
            written = one.value.replace("nothing to remark", "0 remarks")
            assert int(written.partition(" ")[0].replace(",", "")) == one.figure, one.key


@pytest.mark.parametrize(
    ("key", "model", "figure", "unit"),
    [
        ("crossover", "Llama 3.1 8B", 216, "token"),
        ("compute_efficiency", "Llama 3.1 8B", 0.55, "%"),
        ("remarks", "Llama 3.1 8B", 0, "remark"),
        ("memory.fewest", "Llama 3.1 405B", 16, "accelerator"),
        ("memory.largest_batch", "Llama 3.1 405B", 0, "sequence"),
    ],
)
def test_that_no_figure_is_the_first_line_s_instead_of_its_own(
    key: str, model: str, figure: float, unit: str
) -> None:
    one = explain(result_of(model=model), key)
    assert (one.figure, one.unit) == (figure, unit)


def test_that_every_figure_has_an_expectation() -> None:
    phases = {f"{phase}.{figure}" for phase in ("prefill", "decode") for figure in PHASE_KEYS}
    assert set(KEYS) == {*EXPECTED, *phases, "crossover", "half_speed_context"}


@settings(max_examples=40)
@given(scenarios)
def test_that_the_bound_follows_from_the_ratio_of_the_times(scenario: Scenario) -> None:
    result = evaluate(scenario)
    for key in ("prefill.bound", "decode.bound"):
        one = explain(result, key)
        if key == "prefill.bound" or result.decode is not None:
            cost = result.prefill if key == "prefill.bound" else result.decode
            assert cost is not None
            assert one.value == f"{cost.bound}-bound"
            assert (one.workings[0].value >= 1) == (cost.bound == "compute")
            assert ("at least 1" in one.summary) == (cost.bound == "compute")


@settings(max_examples=40)
@given(scenarios)
def test_that_the_crossover_is_shown_from_both_sides(scenario: Scenario) -> None:
    result = evaluate(scenario)
    one = explain(result, "crossover")
    tokens, cached = result.crossover_prompt_tokens, result.scenario.cached_tokens
    sides = {w.name: w.value for w in one.workings if w.name.startswith("r") and "ratio" in w.symbol}
    if tokens is None:
        assert one.value == "none"
        assert one.workings[0].value < 1
        assert one.workings[0].value <= ratio_of_times(result, CROSSOVER_LIMIT_TOKENS)
        return
    assert one.workings[0].value == ratio_of_times(result, tokens) >= 1
    if tokens == cached + 1:
        assert one.value == "none"
        assert set(sides) == {"r"}
    else:
        assert one.value == units.plural(tokens, "token")
        assert sides["r_below"] == ratio_of_times(result, tokens - 1) < 1


@settings(max_examples=40)
@given(scenarios)
def test_that_at_the_half_speed_context_kv_and_weights_are_alike(scenario: Scenario) -> None:
    result = evaluate(scenario)
    one = explain(result, "half_speed_context")
    tokens, model = result.half_speed_context_tokens, result.model
    weights = model.weights_read_bytes(result.streams)
    if tokens is None:
        assert one.value == "none"
        most = one.workings[0].value
        assert ("never outgrows" in one.summary) == (most < 1)
        assert most < 1 or not model.kv_bytes_per_token
        assert result.streams * model.kv_bytes(10**12) == pytest.approx(most * weights, rel=1e-9)
    else:
        assert one.figure == tokens
        if tokens > 0:
            assert result.streams * model.kv_bytes(tokens) == pytest.approx(weights, rel=1e-9)


@settings(max_examples=40)
@given(scenarios, places)
def test_that_the_slices_of_a_pass_cost_what_the_pass_costs(scenario: Scenario, where: float) -> None:
    result = evaluate(scenario)
    index = round(where * result.request.train.steps)
    slices, cost = result.scenario.slices(index), result.request.pass_cost(index)
    assert new_tokens(slices) == cost.tokens
    assert flops_of(result.model, slices) == pytest.approx(cost.flops, rel=1e-9)
    assert bytes_of(result.model, slices) == pytest.approx(cost.bytes, rel=1e-9)


LEAVES: dict[str, Callable[[Result], float]] = {
    "N": lambda r: r.scenario.prompt_tokens,
    "M": lambda r: r.scenario.output_tokens,
    "O": lambda r: r.scenario.others,
    "D": lambda r: r.scenario.others_context_tokens or 0,
    "P": lambda r: r.architecture.active_parameters,
    "Q": lambda r: r.architecture.dense_weights,
    "peak": lambda r: r.machine.peak_flops_per_s,
    "bandwidth": lambda r: r.machine.bandwidth_bytes_per_s,
    "e_c": lambda r: r.machine.compute_efficiency,
    "e_b": lambda r: r.machine.bandwidth_efficiency,
    "S": lambda r: r.streams,
    "Z": lambda r: r.model.state_bytes,
    "TTFT": lambda r: r.ttft_s,
    "E2E": lambda r: r.e2e_s,
    "ITL": lambda r: r.itl_s or 0,
    "b_new": lambda r: r.model.kv_bytes_per_token,
}


@settings(max_examples=40)
@given(scenarios)
def test_that_what_is_given_is_what_the_scenario_and_the_catalogue_say(scenario: Scenario) -> None:
    result = evaluate(scenario)
    seen = set()
    for one in everything(result):
        made = {working.name for working in one.workings}
        for working in one.workings:
            for term in working.terms:
                if term.name not in made and term.name in LEAVES:
                    assert term.value == LEAVES[term.name](result), (one.key, term)
                    seen.add(term.name)
    assert {"N", "M", "peak", "bandwidth", "TTFT" if result.itl_s else "N"} <= seen


# --- what is on screen -----------------------------------------------------------------------------


@settings(max_examples=40)
@given(scenarios)
def test_that_the_headlines_are_explained_in_the_words_of_the_screen(scenario: Scenario) -> None:
    result = evaluate(scenario)
    keys = ("ttft", "itl", "e2e", "decode_share", "tokens_per_s")
    for key, figure in zip(keys, headline_figures(result), strict=True):
        one = explain(result, key)
        assert (one.title, one.value) == (figure.title, figure.value)


@settings(max_examples=40)
@given(scenarios)
def test_that_values_are_written_as_the_screen_writes_them(scenario: Scenario) -> None:
    result = evaluate(scenario)
    cost, memory = result.prefill, result.memory
    expected = {
        "prefill.flops": units.si(cost.flops, "FLOP"),
        "prefill.bytes": units.size(cost.bytes),
        "prefill.time": units.duration(cost.time_s),
        "prefill.compute_utilisation": units.percent(cost.compute_utilisation),
        "prefill.bandwidth_utilisation": units.percent(cost.bandwidth_utilisation),
        "prefill.compute_rate": units.si(cost.flops / cost.time_s, "FLOP/s"),
        "prefill.tokens": units.plural(cost.tokens, "token"),
        "ridge": f"{units.significant(result.machine.ridge_flops_per_byte)} FLOPs per byte",
        "peak": units.si(result.machine.peak_flops_per_s, "FLOP/s"),
        "bandwidth": units.si(result.machine.bandwidth_bytes_per_s, "B/s"),
        "parameters": units.parameters(result.architecture.parameters),
        "kv_bytes_per_token": units.binary_size(result.model.kv_bytes_per_token),
        "memory.weights": units.size(memory.weights_bytes),
        "memory.kv": units.size(memory.kv_bytes),
        "memory.capacity": units.size(memory.capacity_bytes),
        "memory.fits": memory_text(result),
    }
    assert {key: explain(result, key).value for key in expected} == expected


def test_that_the_speed_of_playing_is_named_as_the_transport_names_it() -> None:
    result = result_of()
    for rate in (*RATES, 0.015, 3.0):
        one = explain(result, "slow_motion", rate=rate)
        assert one.value == slow_motion(rate)
        assert one.figure == pytest.approx(1 / rate)


# --- by hand ---------------------------------------------------------------------------------------


def test_that_the_worked_lines_of_the_chat_example_are_these() -> None:
    result = result_of()
    assert explain(result, "ttft").formula == "TTFT = max(FLOPs / (e_c × peak), bytes / (e_b × bandwidth))"
    expected = {
        "ttft": "max(8.2918 TFLOP / (0.55 × 989 TFLOP/s), 16.061 GB / (0.75 × 3.35 TB/s)) = 15.244 ms",
        "itl": "(6.4190 ms + 6.4256 ms) / 2 = 6.4223 ms",
        "e2e": "15.244 ms + 127 passes × 6.4223 ms = 830.88 ms",
        "prefill.flops": "2 × 8,030,261,248 parameters × 512 tokens + 524,288 FLOP × 131,328 pairs"
        " = 8.2918 TFLOP",
        "prefill.bytes": "2 B × 8,030,261,248 parameters = 16.061 GB",
        "kv_bytes_per_token": "32 layers × 2 × 8 heads × 128 × 2 B = 131,072 B",
        "half_speed_context": "16.061 GB / (131,072 B × 1 sequence) = 122,532 tokens",
        "memory.free": "85.521 GB − 8.5521 GB − 16.061 GB − 83.755 MB = 60.824 GB",
        "crossover": "6.4001 ms / 6.3922 ms = 1.0012",
    }
    assert {key: explain(result, key).worked for key in expected} == expected


def test_that_the_speed_of_light_has_no_efficiencies() -> None:
    result = result_of(fidelity="ideal", prompt_tokens=128)
    one = explain(result, "ttft")
    assert one.formula == "TTFT = max(FLOPs / peak, bytes / bandwidth)"
    assert not any("e_c" in line or "e_b" in line for line in (*one.steps, *one.symbols))
    assert "speed of light" in one.fidelity
    assert "P_m" in explain(result, "prefill.flops").formula


def test_that_experts_of_a_batch_are_worked_out() -> None:
    result = result_of(model="DeepSeek V3", others=31, accelerators=16)
    lines = explain(result, "decode.bytes").steps
    assert any("256 × (1 − (1 − 8 / 256)^32) = 163.31 experts" in line for line in lines)


def test_that_a_latent_is_cached_once_for_all_heads() -> None:
    one = explain(result_of(model="DeepSeek V3", accelerators=16), "kv_bytes_per_token")
    assert one.worked == "61 layers × 576 elements × 2 B = 70,272 B"
    assert any(
        "16 times over" in line
        for line in explain(result_of(model="DeepSeek V3", accelerators=16), "memory.kv").symbols
    )


def test_that_a_window_cuts_what_is_cached() -> None:
    one = explain(result_of(model="Mistral 7B v0.1", prompt_tokens="32K"), "decode.bytes")
    assert any("min(32,769 tokens, 4,096 tokens) = 4,096 tokens" in line for line in one.steps)


def test_that_quantised_weights_leave_tables_at_16_bit() -> None:
    one = explain(result_of(weights_dtype="int4"), "memory.weights")
    assert one.worked == "0.515625 B × 6,979,321,856 weights + 2 B × 1,050,939,392 parameters = 5.7006 GB"


def test_that_published_weights_are_taken_from_the_file_s_own_form() -> None:
    result = result_of(model="gpt-oss 20B", weights_dtype="published")
    one = explain(result, "memory.weights")
    stored = result.model.stored
    assert one.figure == stored.embedding + stored.head + stored.dense + stored.experts
    assert any("as published: MXFP4" in line for line in one.symbols)
    assert "MXFP4" in explain(result, "peak").steps[0]


def test_that_a_cached_prefix_is_left_out_of_the_new_tokens() -> None:
    one = explain(result_of(prompt_tokens="16K", cached_tokens="15K"), "prefill.tokens")
    assert one.worked == "16,384 tokens − 15,360 tokens = 1,024 tokens"


def test_that_others_with_their_own_context_are_counted_apart() -> None:
    one = explain(result_of(others=63, others_context_tokens=2048), "decode.bytes")
    assert any("513 tokens + 63 sequences × 2,048 tokens = 129,537 tokens" in line for line in one.steps)


@pytest.mark.parametrize(
    "key", ["itl", "tokens_per_s", "tokens_per_s_total", *(f"decode.{f}" for f in PHASE_KEYS)]
)
def test_that_without_decode_passes_the_reason_is_given(key: str) -> None:
    one = explain(result_of(output_tokens=1), key)
    assert one.value == "–"
    assert one.worked == "1 token − 1 = 0 passes"
    assert "no decode pass" in one.summary


# --- sources ---------------------------------------------------------------------------------------


def sources_of(key: str, **values: object) -> str:
    return "\n".join(explain(result_of(**values), key).sources)


def test_that_figures_that_were_not_believed_are_given_with_the_reason() -> None:
    peak, bandwidth = sources_of("peak"), sources_of("bandwidth")
    assert "bf16 1979, fp8 3958 TFLOPS" in peak
    assert "2:4 sparsity" in peak
    assert "3072 GB/s" in bandwidth
    assert "a slip between decimal and binary units" in bandwidth
    assert "3072" not in peak
    assert "1979" not in bandwidth
    assert "3072" in sources_of("ridge")
    assert "1979" in sources_of("ridge")
    assert "3072" not in sources_of("ttft")


def test_that_only_the_format_that_is_multiplied_counts() -> None:
    assert "fp8 1466" not in sources_of("peak", accelerator="L40S")
    assert "fp8 1466" in sources_of("peak", accelerator="L40S", weights_dtype="fp8")
    assert "192 GB" in sources_of("memory.capacity", accelerator="B200")
    assert "link" not in sources_of("bandwidth", accelerator="TPU v5e")


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_that_every_rejected_figure_of_an_accelerator_is_found_somewhere(accelerator: str) -> None:
    found = CATALOGUE.accelerator(accelerator)
    texts = "".join(
        sources_of(key, accelerator=accelerator, weights_dtype=dtype)
        for dtype in WEIGHT_DTYPES
        if can_be_computed(Scenario(accelerator=accelerator, weights_dtype=dtype))
        for key in ("peak", "bandwidth", "memory.capacity")
    )
    elsewhere = re.compile(r"^link|^power|^HBM3e$|tensor cores|^tf32")
    for rejected in found.rejected:
        if not elsewhere.search(rejected.value):
            assert f"{rejected.value} ({rejected.where}): {rejected.reason}" in texts, rejected


def test_that_a_model_says_where_its_shapes_and_its_count_are_from() -> None:
    text = sources_of("parameters")
    assert CATALOGUE.model("Llama 3.1 8B").source in text
    assert "Published count: 8,030,261,248 parameters" in text


def test_that_a_model_of_another_catalogue_is_not_given_our_sources() -> None:
    ours = CATALOGUE.model("Llama 3.1 8B")
    config = {**ours.config, "num_hidden_layers": 16}
    theirs = Catalogue(CATALOGUE.accelerators, (ModelEntry("mine", ours.name, config, source="my own file"),))
    result = evaluate(Scenario(model=ours.name), theirs)
    assert explain(result, "parameters", catalogue=theirs).sources == (
        "Shapes of Llama 3.1 8B: my own file.",
    )
    assert ours.source not in "".join(explain(result, "parameters").sources)


def test_that_the_measured_efficiencies_are_told() -> None:
    lines = " ".join(explain(result_of(), "assumptions").steps)
    for share in ("14 %", "27 %", "46 %", "69 %", "77 %", "79 %", "84 %", "88 %", "49 %"):
        assert share in lines


# --- keys, text, JSON ------------------------------------------------------------------------------


def test_that_keys_and_groups_are_understood() -> None:
    assert find_keys([]) == tuple(KEYS)
    assert find_keys(["itl", "ttft", "itl"]) == ("itl", "ttft")
    assert find_keys(["TTFT,Half-speed-context"]) == ("ttft", "half_speed_context")
    assert find_keys(["prefill"]) == tuple(f"prefill.{f}" for f in PHASE_KEYS)
    assert set(find_keys(["memory"])) == {key for key in KEYS if key.startswith("memory.")}


@pytest.mark.parametrize(
    "word", ["tfft", "", ".", "prefill.", "memory.weight", "decode.tim", "\n", "x" * 500, "ttft,"]
)
def test_that_an_unknown_figure_is_answered_with_three_near_ones(word: str) -> None:
    with pytest.raises(InputError, match=r"^unknown figure .*; the nearest are .+, .+, .+$") as caught:
        find_keys([word])
    nearest = str(caught.value).rpartition("the nearest are ")[2].split(", ")
    assert len(nearest) == 3
    assert set(nearest) <= set(KEYS)
    with pytest.raises(InputError, match="unknown figure"):
        explain(result_of(), word)


def test_that_a_slip_finds_the_figure_that_was_meant() -> None:
    for word, meant in (
        ("tfft", "ttft"),
        ("memory.weight", "memory.weights"),
        ("time to first token", "ttft"),
    ):
        with pytest.raises(InputError, match=rf"the nearest are {meant}"):
            find_keys([word])


def test_that_a_pass_number_is_held_within_the_request() -> None:
    result = result_of(output_tokens=11)
    assert explain(result, "decode.time").pass_index == 1
    assert explain(result, "decode.time", 7).pass_index == 7
    assert explain(result, "decode.time", 99).pass_index == 10
    assert explain(result, "decode.time", 0).pass_index == 1
    assert (pass_key(0, "time"), pass_key(3, "time")) == ("prefill.time", "decode.time")


@settings(max_examples=40)
@given(scenarios)
def test_that_inputs_are_figures_too(scenario: Scenario) -> None:
    result = evaluate(scenario)
    for one in everything(result):
        assert set(one.inputs) <= set(KEYS)
        assert one.key not in one.inputs


@settings(max_examples=40)
@given(scenarios)
def test_that_the_text_is_wrapped_and_readable(scenario: Scenario) -> None:
    result = evaluate(scenario)
    text = explanations_text(everything(result))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert all(line == line.rstrip() for line in lines)
    assert not re.search(r"\bnan\b|\binf\b|None|e\+\d|[{}]|\(\)|  \w+ = :", text)
    assert set(KEYS) <= set(lines)


@settings(max_examples=40)
@given(scenarios)
def test_that_the_spoken_form_is_words(scenario: Scenario) -> None:
    result = evaluate(scenario)
    for one in everything(result):
        assert one.spoken.startswith(f"{one.title}: {one.value.replace('×', ' times')}. ")
        assert not re.search(r"[×−^]| / | = |max\(|min\(", one.spoken), one.spoken


@settings(max_examples=40)
@given(scenarios)
def test_that_the_json_is_plain_and_can_be_worked_out_again(scenario: Scenario) -> None:
    result = evaluate(scenario)
    found = explanations_json(everything(result))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    for one in found:
        main = one["workings"][0]
        values = {term["name"]: term["value"] for term in main["terms"]}
        made = eval(
            main["expression"], {"__builtins__": {}, "max": max, "min": min, "floor": math.floor}, values
        )
        largest = max(map(abs, values.values()))
        assert made == pytest.approx(main["value"], rel=1e-9, abs=1e-12 * largest)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0152438214, "s", "15.244 ms"),
        (989e12, "FLOP/s", "989 TFLOP/s"),
        (131_072, "B", "131,072 B"),
        (16_060_522_496, "B", "16.061 GB"),
        (0.5 + 2 / 128, "B", "0.515625 B"),
        (1, "token", "1 token"),
        (512, "token", "512 tokens"),
        (163.309, "expert", "163.31 experts"),
        (2, "pass", "2 passes"),
        (0.98165, "%", "98.165 %"),
        (255.9996, "expert", "256.00 experts"),
        (0.00641899, "s", "6.4190 ms"),
        (0.1, "%", "10 %"),
        (0.55, "", "0.55"),
        (410.19, "FLOP/B", "410.19 FLOP/B"),
        (0, "B", "0 B"),
        (-12.34e9, "B", "-12.34 GB"),
        (99_999.6, "token", "100,000 tokens"),
    ],
)
def test_that_quantities_are_written_to_five_digits_or_exactly(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


def test_that_every_format_has_a_width_in_the_symbols() -> None:
    for dtype in WEIGHT_DTYPES:
        symbols = explain(result_of(weights_dtype=dtype, accelerator="B200"), "memory.weights").symbols
        said = "as published" if dtype == PUBLISHED else f"bytes of a weight in {DTYPES[dtype].title}"
        assert any(said in line for line in symbols)


def test_that_active_parameters_are_told_in_the_conventions_in_use() -> None:
    said = " ".join(explain(result_of(model="gpt-oss 120B"), "active_parameters").steps)
    assert "without the embedding table: 5,132,849,472" in said  # published as 5.1 B
    assert f"without embedding and head: {5_132_849_472 - 201_088 * 2_880:,}" in said
