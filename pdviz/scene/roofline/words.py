"""The roofline in words: headline figures, what each thing on the chart means, all of it read aloud."""

from __future__ import annotations

import math

import msgspec

from pdviz.costmodel.bounds import COMPUTE
from pdviz.costmodel.dtypes import DTYPES
from pdviz.costmodel.roofline import Machine
from pdviz.scene.marks.figures import Figure
from pdviz.scene.roofline.curves import DECODE, PREFILL, GrowthPath, PassDot, PinnedRoof, Roofline
from pdviz.scene.roofline.goal import BatchGoal
from pdviz.units import count, percent, plural, si, significant, size, written

NOW, RIDGE, REACH, PIN = "now", "ridge", "reach", "pin:"


class ChartNote(msgspec.Struct, frozen=True):
    """What there is to say about one thing on the chart.

    ``bars`` are (bound, name, seconds) of the two times a pass takes the longer of; ``advice`` are
    (heading, sentence).
    """

    title: str
    lead: str
    bound: str | None
    rows: tuple[tuple[str, str], ...]
    bars: tuple[tuple[str, str, float], ...] = ()
    advice: tuple[tuple[str, str], ...] = ()

    @property
    def spoken(self) -> str:
        """All of it in sentences."""
        words = [self.title, self.lead, *(f"{name} {value}" for name, value in self.rows)]
        sentences = [", ".join(word for word in words if word)]
        sentences += [f"{heading}: {text.rstrip('.')}" for heading, text in self.advice]
        return ". ".join(sentences) + "."


def intensity(flops_per_byte: float) -> str:
    """An intensity without its unit.

    >>> intensity(295.22), intensity(math.inf)
    ('295', '∞')
    """
    return significant(flops_per_byte) if math.isfinite(flops_per_byte) else "∞"


def tokens_short(value: float) -> str:
    """A token count as short as it is exact: binary K and M where they divide it.

    >>> tokens_short(512), tokens_short(8192), tokens_short(131072), tokens_short(1000), tokens_short(2**20)
    ('512', '8K', '128K', '1,000', '1M')
    """
    whole = round(value)
    for unit, name in ((2**20, "M"), (2**10, "K")):
        if whole >= unit and whole % unit == 0:
            return f"{whole // unit:,}{name}"
    return count(whole)


def machine_words(machine: Machine) -> str:
    """What the datasheet says, in one line."""
    many = f"{machine.accelerators} × " if machine.accelerators > 1 else ""
    return (
        f"{many}{machine.name} · {DTYPES[machine.math_dtype].title} {si(machine.peak_flops_per_s, 'FLOP/s')}"
        f" · {si(machine.bandwidth_bytes_per_s, 'B/s')}"
    )


def size_words(path: GrowthPath, value: float, short: bool = False) -> str:
    """The size of a pass on a path: 512 tokens, 64 sequences; 8K tokens where it is to be ``short``."""
    noun = "sequence" if path.field == "others" else "new token" if path.offset else "token"
    words = plural(value, noun)
    return words.replace(count(value), tokens_short(value), 1) if short else words


def dot_words(roofline: Roofline, dot: PassDot) -> tuple[str, str]:
    """The label of a dot: what it is, and where it is."""
    name = "Prefill" if dot.phase == PREFILL else "Decode"
    path = roofline.path_of(dot.phase)
    at = f"{intensity(dot.cost.intensity_flops_per_byte)} FLOPs per byte, {si(dot.flops_per_s, 'FLOP/s')}"
    return f"{name}, {size_words(path, path.size)}", at


# --- headline figures ----------------------------------------------------------------------------


def roofline_figures(roofline: Roofline) -> tuple[Figure, ...]:
    """Both ridges, both phases, and the batch that would reach the ridge."""
    compute, bandwidth = efficiency_words(roofline.machine)
    return (
        Figure(
            "Ridge",
            intensity(roofline.peak.ridge_flops_per_byte),
            "FLOPs per byte at full speed",
            None,
            "FLOPs per byte",
        ),
        Figure(
            "Ridge of real kernels",
            intensity(roofline.reach.ridge_flops_per_byte),
            f"{compute} compute, {bandwidth} bandwidth",
            None,
            f"{compute} and {bandwidth}",
        ),
        *(_phase_figure(roofline, dot) for dot in roofline.dots),
        *(() if roofline.decode else (Figure("Decode", "–", "one token asked for: no pass"),)),
        _goal_figure(roofline.goal),
    )


def efficiency_words(machine: Machine) -> tuple[str, str]:
    """Both efficiencies as they were set: 55 %, 75 %."""
    compute, bandwidth = machine.compute_efficiency, machine.bandwidth_efficiency
    return f"{100 * compute:.3g} %", f"{100 * bandwidth:.3g} %"


def _phase_figure(roofline: Roofline, dot: PassDot) -> Figure:
    ratio = dot.cost.intensity_flops_per_byte / roofline.reach.ridge_flops_per_byte
    side = f"{significant(ratio, 2)} × above" if ratio >= 1 else f"{significant(1 / ratio, 2)} × below"
    name = "Prefill" if dot.phase == PREFILL else "Decode"
    bound = f"{dot.cost.bound}-bound"
    value = intensity(dot.cost.intensity_flops_per_byte)
    return Figure(f"{name} FLOPs/byte", value, f"{bound}, {side}", dot.cost.bound, bound)


def _goal_figure(goal: BatchGoal) -> Figure:
    title = "Batch at the ridge"
    if goal.sequences is None:
        limit = intensity(goal.limit_flops_per_byte)
        return Figure(title, "none", f"KV reads hold it below {limit}", None, f"held below {limit}")
    if goal.fitting is None:
        room = "memory holds any"
    else:
        room = f"memory holds {count(goal.fitting) if goal.fitting else 'none'}"
    return Figure(title, count(goal.sequences), f"sequences; {room}", None, room)


# --- explanations --------------------------------------------------------------------------------


def explain(roofline: Roofline, what: str) -> ChartNote:
    """What ``what`` is: a phase, "ridge", "reach", "pin:" and a name; anything else is the present pass."""
    if what == RIDGE:
        return _explain_ridge(roofline)
    if what == REACH:
        return _explain_reach(roofline)
    for pin in roofline.pins:
        if what == PIN + pin.name:
            return _explain_pin(roofline, pin)
    if what == PREFILL:
        return _explain_pass(roofline, roofline.prefill, "Prefill")
    if what == DECODE and roofline.decode is not None:
        return _explain_pass(roofline, roofline.decode, "Decode, first pass")
    title = "Now: prefill" if roofline.now.number == 0 else "Now: decode"
    return _explain_pass(roofline, roofline.now, title)


def _explain_pass(roofline: Roofline, dot: PassDot, title: str) -> ChartNote:
    cost, path = dot.cost, roofline.path_of(dot.phase)
    rows = [
        ("prompt" if dot.phase == PREFILL else "batch", size_words(path, cost.tokens)),
        ("FLOPs", si(cost.flops, "FLOP")),
        ("bytes", size(cost.bytes)),
        ("FLOPs per byte", intensity(cost.intensity_flops_per_byte)),
        ("reaches", si(dot.flops_per_s, "FLOP/s")),
        ("of peak", percent(cost.compute_utilisation)),
    ]
    if dot.phase == DECODE:
        rows.insert(0, ("pass", f"{count(dot.number)} of {count(roofline.passes - 1)}"))
        rows.insert(2, ("context", plural(roofline.prompt_tokens + dot.number, "token")))
    bars = tuple((bound, bound.doing, seconds) for bound, seconds in cost.times)
    advice = _prefill_advice(roofline, dot) if dot.phase == PREFILL else _decode_advice(roofline, dot)
    return ChartNote(title, f"limited by {cost.bound.words}", cost.bound, tuple(rows), bars, advice)


def _prefill_advice(roofline: Roofline, dot: PassDot) -> tuple[tuple[str, str], ...]:
    crossover = roofline.crossover_tokens
    if dot.cost.bound == COMPUTE:
        below = f" Shorter than {count(crossover)} it waits for memory." if crossover else ""
        return (
            ("To move right", f"a longer prompt: more work for each byte, at the same speed.{below}"),
            ("To move up", "only more FLOP/s: the flat part of the roof is reached."),
            ("To finish sooner", "fewer FLOPs: a shorter prompt, or part of it cached."),
        )
    end = f"; from {plural(crossover, 'token')} on it is limited by compute" if crossover else ""
    return (
        ("To move right and up", f"a longer prompt: its tokens share one read of the weights{end}."),
        ("To move up", "more memory bandwidth lifts the slope."),
        ("To finish sooner", "fewer bytes: weights in a narrower format."),
    )


def _decode_advice(roofline: Roofline, dot: PassDot) -> tuple[tuple[str, str], ...]:
    if dot.cost.bound == COMPUTE:
        return (
            ("To move right", "more sequences; each pass then takes longer."),
            ("To move up", "only more FLOP/s: the flat part of the roof is reached."),
            ("To finish sooner", "fewer sequences, or a format that the accelerator multiplies faster."),
        )
    goal = roofline.goal
    if goal.sequences is None:
        end = f"KV reads hold it below {intensity(goal.limit_flops_per_byte)}"
    else:
        end = f"from {count(goal.sequences)} on it is limited by compute"
    return (
        ("To move right and up", f"more sequences share each read of the weights; {end}."),
        ("To move up", "more memory bandwidth lifts the slope."),
        ("To finish sooner", "fewer bytes: weights or KV cache in a narrower format."),
    )


def _explain_ridge(roofline: Roofline) -> ChartNote:
    roof = roofline.peak
    return ChartNote(
        "Ridge",
        "by the datasheet",
        None,
        (
            ("peak", si(roof.flops_per_s, "FLOP/s")),
            ("bandwidth", si(roof.bytes_per_s, "B/s")),
            ("FLOPs per byte", intensity(roof.ridge_flops_per_byte)),
        ),
        (),
        (
            ("Left of it", "a pass waits for memory: reading takes longer than multiplying."),
            ("Right of it", "a pass waits for arithmetic, and the memory has time to spare."),
        ),
    )


def _explain_reach(roofline: Roofline) -> ChartNote:
    machine, roof = roofline.machine, roofline.reach
    compute, bandwidth = efficiency_words(machine)
    return ChartNote(
        "Ridge of real kernels",
        "where a pass changes its limit",
        None,
        (
            (f"{compute} of peak", si(roof.flops_per_s, "FLOP/s")),
            (f"{bandwidth} of bandwidth", si(roof.bytes_per_s, "B/s")),
            ("FLOPs per byte", intensity(roof.ridge_flops_per_byte)),
        ),
        (),
        (("The dashed roof", "is what good kernels reach: passes lie on it, or below."),),
    )


def _explain_pin(roofline: Roofline, pin: PinnedRoof) -> ChartNote:
    machine = pin.machine
    if machine is None:
        return ChartNote(pin.name, pin.problem, None, ())
    rows = [
        (f"peak, {DTYPES[machine.math_dtype].title}", si(machine.peak_flops_per_s, "FLOP/s")),
        ("bandwidth", si(machine.bandwidth_bytes_per_s, "B/s")),
        ("ridge", intensity(machine.ridge_flops_per_byte)),
    ]
    advice = []
    for dot in roofline.dots:
        there = roofline.fidelity.cost(machine, dot.cost.terms, dot.cost.tokens)
        ratio = there.time_s / dot.cost.time_s
        change = (
            f"{significant(ratio, 2)} × as long" if ratio >= 1 else f"{significant(1 / ratio, 2)} × as fast"
        )
        name = "Prefill" if dot.phase == PREFILL else "A decode pass"
        here = written(dot.cost.time)
        advice.append((name, f"takes {written(there.time)} there and {here} here: {change}."))
    advice.append(("The same passes", "have the same FLOPs per byte on both: only the roof differs."))
    return ChartNote(pin.name, "pinned for comparison", None, tuple(rows), (), tuple(advice))


def describe_roofline(roofline: Roofline) -> str:
    """The whole chart in a few sentences, for screen readers."""
    machine = roofline.machine
    parts = [
        f"{machine_words(machine)}: ridge at {intensity(roofline.peak.ridge_flops_per_byte)} FLOPs per byte, "
        f"real kernels at {intensity(roofline.reach.ridge_flops_per_byte)}"
    ]
    for dot in roofline.dots:
        name, at = dot_words(roofline, dot)
        parts.append(f"{name}: {at}, {dot.cost.bound}-bound")
    goal = _goal_figure(roofline.goal)
    parts.append(f"{goal.title}: {goal.value}, {goal.detail}")
    parts += [f"Pinned: {pin.name}" + (f", {pin.problem}" if pin.problem else "") for pin in roofline.pins]
    return ". ".join(parts) + "."
