"""The roofline in words: headline figures, what each thing on the chart means, all of it for screen readers."""

from __future__ import annotations

import math

import msgspec

from pdviz.costmodel.dtypes import DTYPES
from pdviz.costmodel.roofline import COMPUTE, Machine
from pdviz.scene.figures import Figure
from pdviz.scene.roofline import DECODE, PREFILL, BatchGoal, GrowthPath, PassDot, PinnedRoof, Roofline
from pdviz.units import count, duration, percent, plural, si, significant, size

NOW, RIDGE, REACH, PIN = "now", "ridge", "reach", "pin:"


class Explanation(msgspec.Struct, frozen=True):
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
        words = [f"{self.title}, {self.lead}" if self.lead else self.title]
        words += [f"{name} {value}" for name, value in self.rows]
        return ", ".join(words) + "".join(f". {heading}: {text}" for heading, text in self.advice)


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


def size_words(path: GrowthPath, value: float) -> str:
    """The size of a pass on a path: 512 tokens, 64 sequences."""
    if path.field == "others":
        return plural(value, "sequence")
    return plural(value, "new token" if path.offset else "token")


def dot_words(roofline: Roofline, dot: PassDot) -> tuple[str, str]:
    """The label of a dot: what it is, and where it is."""
    name = "Prefill" if dot.phase == PREFILL else "Decode"
    path = roofline.path_of(dot.phase)
    at = f"{intensity(dot.cost.intensity_flops_per_byte)} FLOPs per byte, {si(dot.flops_per_s, 'FLOP/s')}"
    return f"{name}, {size_words(path, path.size)}", at


# --- headline figures ----------------------------------------------------------------------------


def roofline_figures(roofline: Roofline) -> tuple[Figure, ...]:
    """Both ridges, both phases, and the batch that would reach the ridge."""
    machine = roofline.machine
    shares = percent_pair(machine)
    return (
        Figure(
            "Ridge",
            intensity(roofline.peak.ridge_flops_per_byte),
            "FLOPs per byte, by the datasheet",
            None,
            "FLOPs per byte",
        ),
        Figure(
            "Ridge of real kernels",
            intensity(roofline.reach.ridge_flops_per_byte),
            f"FLOPs per byte, at {shares}",
            None,
            f"at {shares}",
        ),
        *(_phase_figure(roofline, dot) for dot in roofline.dots),
        *(() if roofline.decode else (Figure("Decode", "–", "one token asked for: no decode pass"),)),
        _goal_figure(roofline.goal),
    )


def percent_pair(machine: Machine) -> str:
    """Both efficiencies.

    The shares that were set are round numbers: 55 % and 75 %.
    """
    compute, bandwidth = (f"{100 * e:.3g} %" for e in (machine.compute_efficiency, machine.bandwidth_efficiency))
    return f"{compute} and {bandwidth}"


def _phase_figure(roofline: Roofline, dot: PassDot) -> Figure:
    ratio = dot.cost.intensity_flops_per_byte / roofline.reach.ridge_flops_per_byte
    times = f"{significant(ratio, 2)} × that" if ratio >= 1 else f"1/{significant(1 / ratio, 2)} of that"
    name = "Prefill" if dot.phase == PREFILL else "Decode"
    return Figure(
        name,
        intensity(dot.cost.intensity_flops_per_byte),
        f"{dot.cost.bound}-bound at {times}",
        dot.cost.bound,
        f"{dot.cost.bound}-bound",
    )


def _goal_figure(goal: BatchGoal) -> Figure:
    title = "Batch at the ridge"
    if goal.sequences is None:
        held = f"KV reads hold it below {intensity(goal.limit_flops_per_byte)}"
        return Figure(title, "out of reach", held, None, f"KV holds it below {intensity(goal.limit_flops_per_byte)}")
    if goal.fits:
        room = "any number fits" if goal.fitting is None else f"{count(goal.fitting)} fit in memory"
    else:
        room = "the weights do not fit" if not goal.fitting else f"only {count(goal.fitting)} fit in memory"
    return Figure(title, count(goal.sequences), f"sequences; {room}", None, room)


# --- explanations --------------------------------------------------------------------------------


def explain(roofline: Roofline, what: str) -> Explanation:
    """What ``what`` is: a phase, "now", "ridge", "reach" or "pin:" and a name. What is absent explains now."""
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


def _explain_pass(roofline: Roofline, dot: PassDot, title: str) -> Explanation:
    cost, path = dot.cost, roofline.path_of(dot.phase)
    rows = [
        ("tokens" if dot.phase == PREFILL else "sequences", size_words(path, cost.tokens).split()[0]),
        ("FLOPs", si(cost.flops, "FLOP")),
        ("bytes", size(cost.bytes)),
        ("FLOPs per byte", intensity(cost.intensity_flops_per_byte)),
        ("reaches", si(dot.flops_per_s, "FLOP/s")),
        ("of peak", percent(cost.compute_utilisation)),
    ]
    if dot.phase == DECODE and title.startswith("Now"):
        rows.insert(0, ("pass", f"{count(dot.number)} of {count(roofline.passes - 1)}"))
    bars = (
        ("compute", "multiplying", cost.compute_s),
        ("bandwidth", "reading", cost.bandwidth_s),
    )
    advice = _prefill_advice(roofline, dot) if dot.phase == PREFILL else _decode_advice(roofline, dot)
    limit = "compute" if cost.bound == COMPUTE else "memory bandwidth"
    return Explanation(title, f"limited by {limit}", cost.bound, tuple(rows), bars, advice)


def _prefill_advice(roofline: Roofline, dot: PassDot) -> tuple[tuple[str, str], ...]:
    if dot.cost.bound == COMPUTE:
        return (
            ("To move right", "a longer prompt: more work for each byte, at the same speed."),
            ("To move up", "only more FLOP/s: the flat part of the roof is reached."),
        )
    return (
        ("To move right and up", "a longer prompt: its tokens share one read of the weights."),
        ("To move up", "more memory bandwidth lifts the slope."),
    )


def _decode_advice(roofline: Roofline, dot: PassDot) -> tuple[tuple[str, str], ...]:
    if dot.cost.bound == COMPUTE:
        return (
            ("To move right", "more sequences; each pass then takes longer."),
            ("To move up", "only more FLOP/s: the flat part of the roof is reached."),
        )
    goal = roofline.goal
    if goal.sequences is None:
        end = f"KV reads hold it below {intensity(goal.limit_flops_per_byte)}"
    else:
        end = f"from {count(goal.sequences)} on it is limited by compute"
    return (
        ("To move right and up", f"more sequences share each read of the weights; {end}."),
        ("To move right", "weights or KV in a narrower format: fewer bytes for the same FLOPs."),
    )


def _explain_ridge(roofline: Roofline) -> Explanation:
    roof = roofline.peak
    return Explanation(
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


def _explain_reach(roofline: Roofline) -> Explanation:
    machine, roof = roofline.machine, roofline.reach
    compute, bandwidth = percent_pair(machine).split(" and ")
    return Explanation(
        "Ridge of real kernels",
        "where a pass changes its limit",
        None,
        (
            (f"{compute} of peak", si(roof.flops_per_s, "FLOP/s")),
            (f"{bandwidth} of bandwidth", si(roof.bytes_per_s, "B/s")),
            ("FLOPs per byte", intensity(roof.ridge_flops_per_byte)),
        ),
        (),
        (("The dashed roof", "is what good kernels reach. Every pass of this model lies on it."),),
    )


def _explain_pin(roofline: Roofline, pin: PinnedRoof) -> Explanation:
    machine = pin.machine
    if machine is None:
        return Explanation(pin.name, pin.problem, None, ())
    rows = [
        (f"peak, {DTYPES[machine.math_dtype].title}", si(machine.peak_flops_per_s, "FLOP/s")),
        ("bandwidth", si(machine.bandwidth_bytes_per_s, "B/s")),
        ("ridge", intensity(machine.ridge_flops_per_byte)),
    ]
    for dot in roofline.dots:
        there = machine.cost(dot.cost.tokens, dot.cost.flops, dot.cost.bytes)
        name = dot.phase if dot.phase == PREFILL else "decode pass"
        rows.append((f"{name} there", duration(there.time_s)))
        rows.append((f"{name} here", duration(dot.cost.time_s)))
    return Explanation(
        pin.name, "pinned for comparison", None, tuple(rows), (),
        (("The same passes", "have the same FLOPs per byte on any accelerator: only the roof differs."),),
    )  # fmt: skip


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
