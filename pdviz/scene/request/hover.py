"""What is said about a pass."""

from __future__ import annotations

from pdviz.evaluation import Result
from pdviz.scene.marks.parts import Hover
from pdviz.units import count, duration, percent, plural, si, significant, size, written


def hover(result: Result, index: int) -> Hover:
    """What there is to say about pass ``index``."""
    cost = result.request.pass_cost(index)
    steps = result.request.train.steps
    title = "Prefill" if index == 0 else f"Decode pass {count(index)} of {count(steps)}"
    rows = [
        ("duration", written(cost.time)),
        ("starts at", duration(result.request.pass_start_s(index))),
        ("tokens", plural(cost.tokens, "token")),
        ("FLOPs", si(cost.flops, "FLOP")),
        ("bytes", size(cost.bytes)),
        ("intensity", f"{significant(cost.intensity_flops_per_byte)} FLOPs per byte"),
        ("limited by", cost.bound.words),
        ("compute", f"{percent(cost.compute_utilisation)} of peak, {duration(cost.compute_s)} of work"),
        ("bandwidth", f"{percent(cost.bandwidth_utilisation)} of peak, {duration(cost.bandwidth_s)} of work"),
        *((bound.short, f"{duration(seconds)} of {bound.work}") for bound, seconds in cost.times[2:]),
    ]
    if not result.fidelity.is_floor:
        ideal_s = result.speed_of_light.pass_cost(index).time_s
        share = f"{percent(ideal_s / cost.time_s)} of this" if ideal_s <= cost.time_s else "no less"
        rows.append(("speed of light", f"{duration(ideal_s)}, {share}"))
    if index:
        rows.insert(3, ("context", plural(result.request.request.context(index), "token")))
    return Hover(index, title, cost.bound, tuple(rows))
