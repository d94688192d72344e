"""The roofline of a scenario as a value: two roofs, the passes on them, and where passes move to.

Places are log10 of FLOPs per byte (x) and of FLOP/s reached (y). Whatever a pass costs, it is drawn at
its FLOPs / bytes and its FLOPs / time: on or below the roof that kernels reach, and no view has to see
to that. Limits depend on model, formats and machine, so that dragging a prompt moves dots and not axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import msgspec

from pdviz.costmodel.accelerator import Accelerator
from pdviz.costmodel.bounds import COMPUTE
from pdviz.costmodel.dtypes import math_dtype
from pdviz.costmodel.fidelities import Fidelity, PassCost
from pdviz.costmodel.passes import ModelCost
from pdviz.costmodel.roofline import Machine
from pdviz.costmodel.terms import Slice
from pdviz.errors import InputError
from pdviz.evaluation import Result
from pdviz.scene.marks.labels import Point
from pdviz.scene.roofline.goal import BatchGoal, batch_goal, decode_cost

PREFILL, DECODE = "prefill", "decode"
BATCH_TOP = 1_024
CONTEXT_TOP = 131_072  # where a model does not say how long its context may be


class Roof(msgspec.Struct, frozen=True):
    """The most FLOP/s that an intensity allows: rising with the bandwidth, flat from the ridge on."""

    flops_per_s: float
    bytes_per_s: float

    @property
    def ridge_flops_per_byte(self) -> float:
        return self.flops_per_s / self.bytes_per_s

    @property
    def corner(self) -> Point:
        """The ridge point."""
        return math.log10(self.ridge_flops_per_byte), math.log10(self.flops_per_s)

    def at(self, intensity_flops_per_byte: float) -> float:
        """FLOP/s under the roof at an intensity."""
        return min(self.flops_per_s, self.bytes_per_s * intensity_flops_per_byte)

    def height(self, x: float) -> float:
        """The roof at a place: log10 FLOP/s over log10 FLOPs per byte."""
        return min(math.log10(self.flops_per_s), math.log10(self.bytes_per_s) + x)

    def slope(self, x_low: float, x_high: float) -> tuple[Point, ...]:
        """The part between two places that bandwidth limits, as two points or none."""
        end = min(self.corner[0], x_high)
        return ((x_low, self.height(x_low)), (end, self.height(end))) if end > x_low else ()

    def flat(self, x_low: float, x_high: float) -> tuple[Point, ...]:
        """The part between two places that compute limits, as two points or none."""
        start = max(self.corner[0], x_low)
        return ((start, self.corner[1]), (x_high, self.corner[1])) if start < x_high else ()


class Limits(msgspec.Struct, frozen=True):
    """What the axes show."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float

    def with_room_for(self, other: Limits) -> Limits:
        """Limits between which both can be drawn."""
        return Limits(
            min(self.x_low, other.x_low),
            max(self.x_high, other.x_high),
            min(self.y_low, other.y_low),
            max(self.y_high, other.y_high),
        )


class PassDot(msgspec.Struct, frozen=True):
    """A pass on the chart: ``phase`` is prefill or decode, ``number`` counts the request's passes."""

    phase: str
    number: int
    cost: PassCost

    @property
    def x(self) -> float:
        return math.log10(self.cost.intensity_flops_per_byte)

    @property
    def y(self) -> float:
        return math.log10(self.flops_per_s)

    @property
    def flops_per_s(self) -> float:
        """What the pass reaches."""
        return self.cost.flops / self.cost.time_s


class PathPoint(msgspec.Struct, frozen=True):
    """A pass of ``size`` new tokens (prompt) or sequences (batch); whole but where a path turns a corner."""

    size: float
    x: float
    y: float
    bound: str


class GrowthPath(msgspec.Struct, frozen=True):
    """Where a dot moves as its pass grows. ``field`` of the scenario is ``size`` + ``offset``.

    Between its points a path is straight, and sizes lie evenly in their logarithm.
    """

    field: str
    offset: int
    points: tuple[PathPoint, ...]
    size: int

    @property
    def lowest(self) -> int:
        return int(self.points[0].size)

    @property
    def highest(self) -> int:
        return int(self.points[-1].size)

    @property
    def marks(self) -> tuple[PathPoint, ...]:
        """The points worth a tick: both ends and the powers of two."""
        ends = self.lowest, self.highest
        return tuple(p for p in self.points if p.size in ends or math.frexp(p.size)[0] == 0.5)

    def edit(self, size: int) -> dict[str, int]:
        """The edit of the scenario that gives the pass that size."""
        return {self.field: min(max(size, self.lowest), self.highest) + self.offset}

    def nearest(self, x: float, y: float, x_weight: float = 1.0, y_weight: float = 1.0) -> float:
        """The size at which the path comes nearest to a place.

        Weights are pixels for a decade on each axis, so that near means near on screen.
        """
        best, found = math.inf, float(self.size)
        for one, other in pairwise(self.points):
            dx, dy = (other.x - one.x) * x_weight, (other.y - one.y) * y_weight
            px, py = (x - one.x) * x_weight, (y - one.y) * y_weight
            length = dx * dx + dy * dy
            share = min(max((px * dx + py * dy) / length, 0.0), 1.0) if length else 0.0
            distance = math.hypot(px - share * dx, py - share * dy)
            if distance < best:
                best, found = distance, one.size * (other.size / one.size) ** share
        return found


class PinnedRoof(msgspec.Struct, frozen=True):
    """The peak roof of another accelerator, as many of them, for the same weights in its own arithmetic.

    ``machine`` is None where it has no rate for the weights; ``problem`` then says so.
    """

    name: str
    machine: Machine | None
    problem: str = ""

    @property
    def roof(self) -> Roof | None:
        return peak_roof(self.machine) if self.machine is not None else None


class Roofline(msgspec.Struct, frozen=True):
    """Everything on the chart. ``peak`` is the datasheet's roof, ``reach`` the one that kernels reach."""

    machine: Machine
    fidelity: Fidelity
    weights_dtype: str
    peak: Roof
    reach: Roof
    limits: Limits
    prefill: PassDot
    decode: PassDot | None
    now: PassDot
    passes: int
    prompt_tokens: int
    crossover_tokens: int | None
    prompt_path: GrowthPath
    batch_path: GrowthPath
    goal: BatchGoal
    pins: tuple[PinnedRoof, ...]

    @property
    def dots(self) -> tuple[PassDot, ...]:
        """Prefill and, if there is one, the first decode step."""
        return (self.prefill,) if self.decode is None else (self.prefill, self.decode)

    def path_of(self, phase: str) -> GrowthPath:
        return self.prompt_path if phase == PREFILL else self.batch_path

    def at_time(self, result: Result, time_s: float) -> Roofline:
        """The same chart at another moment: the same object while the same pass is under way."""
        number = result.request.pass_at(time_s)
        if number == self.now.number:
            return self
        moved: Roofline = msgspec.structs.replace(self, now=_dot(result, number))
        return moved


def peak_roof(machine: Machine) -> Roof:
    """What the datasheet promises."""
    return Roof(machine.peak_flops_per_s, machine.bandwidth_bytes_per_s)


def reach_roof(machine: Machine) -> Roof:
    """What kernels reach of it."""
    return Roof(
        machine.peak_flops_per_s * machine.compute_efficiency,
        machine.bandwidth_bytes_per_s * machine.bandwidth_efficiency,
    )


def build_roofline(
    result: Result, time_s: float, pins: tuple[Accelerator, ...] = (), limits: Limits | None = None
) -> Roofline:
    """The roofline of ``result`` with the pass at ``time_s`` as now and other accelerators pinned.

    On ``limits`` that are handed in, else with room for all that model and machine can do.
    """
    scenario = result.scenario
    context_top = result.architecture.max_context_tokens or CONTEXT_TOP
    cached = scenario.cached_tokens
    reach = reach_roof(result.machine)
    batch = _points(max(BATCH_TOP, result.streams), lambda n: decode_cost(result, n), reach)
    prompt_path = GrowthPath(
        "prompt_tokens", cached, _prompt_points(result, context_top), scenario.computed_tokens
    )
    batch_path = GrowthPath("others", -1, batch, result.streams)
    pinned = tuple(_pin(result, accelerator) for accelerator in pins)
    now = _dot(result, result.request.pass_at(time_s))
    dots = [_dot(result, number) for number in range(min(result.request.passes, 2))]
    return Roofline(
        machine=result.machine,
        fidelity=result.fidelity,
        weights_dtype=scenario.weights_dtype,
        peak=peak_roof(result.machine),
        reach=reach_roof(result.machine),
        limits=limits or _limits(result, [*dots, now], [prompt_path, batch_path], pinned, context_top),
        prefill=dots[0],
        decode=dots[1] if len(dots) > 1 else None,
        now=now,
        passes=result.request.passes,
        prompt_tokens=scenario.prompt_tokens,
        crossover_tokens=result.crossover_prompt_tokens,
        prompt_path=prompt_path,
        batch_path=batch_path,
        goal=batch_goal(result),
        pins=pinned,
    )


def _dot(result: Result, number: int) -> PassDot:
    return PassDot(PREFILL if number == 0 else DECODE, number, result.request.pass_cost(number))


_known: dict[tuple[int, Machine, int, int], tuple[ModelCost, tuple[PathPoint, ...]]] = {}


def _prompt_points(result: Result, context_top: int) -> tuple[PathPoint, ...]:
    """The path of growing prompts, found once for all lengths of a prompt that are tried."""
    model, machine, scenario = result.model, result.machine, result.scenario
    cached = scenario.cached_tokens
    top = max(context_top - cached, 1, scenario.computed_tokens)
    key = (id(model), machine, cached, top)
    found = _known.get(key)
    if found is None or found[0] is not model:
        if len(_known) > 32:
            _known.clear()
        points = _points(
            top, lambda new: model.cost(machine, (Slice.prompt(new, cached),)), reach_roof(machine)
        )
        found = _known[key] = (model, points)
    return found[1]


def _points(top: int, cost: Callable[[int], PassCost], reach: Roof) -> tuple[PathPoint, ...]:
    """Two points for each doubling, both ends, and the corner of the roof where the path turns round it."""
    halves = range(2 * top.bit_length() + 1)
    sizes = sorted({1, top, *(n for n in (round(2 ** (half / 2)) for half in halves) if n < top)})
    points: list[PathPoint] = []
    for new in sizes:
        found = cost(new)
        x, y = math.log10(found.intensity_flops_per_byte), math.log10(found.flops / found.time_s)
        point = PathPoint(new, x, y, found.bound)
        before = points[-1] if points else point
        low, high = sorted((before.x, point.x))
        if before.bound != point.bound and low < reach.corner[0] < high:
            points += _corner(before, point, reach)
        points.append(point)
    return tuple(points)


def _corner(before: PathPoint, after: PathPoint, reach: Roof) -> list[PathPoint]:
    """The ridge point, where a path that lies on the roof goes round it between two sizes."""
    x, y = reach.corner
    if any(abs(p.y - reach.height(p.x)) > 1e-9 for p in (before, after)):
        return []
    share = (x - before.x) / (after.x - before.x)
    return [PathPoint(before.size * (after.size / before.size) ** share, x, y, COMPUTE)]


def _pin(result: Result, accelerator: Accelerator) -> PinnedRoof:
    s = result.scenario
    count = f"{s.accelerators} × " if s.accelerators > 1 else ""
    try:
        math_name = math_dtype(result.model.kernel_dtype, accelerator.peak_flops_per_s, accelerator.name)
    except InputError:
        return PinnedRoof(
            f"{count}{accelerator.name}", None, f"no rate for {result.model.weights_title} weights"
        )
    machine = Machine.of(
        accelerator,
        s.accelerators,
        math_name,
        result.machine.compute_efficiency,
        result.machine.bandwidth_efficiency,
    )
    return PinnedRoof(f"{count}{accelerator.name}", machine)


def _limits(
    result: Result,
    dots: list[PassDot],
    paths: list[GrowthPath],
    pins: tuple[PinnedRoof, ...],
    context_top: int,
) -> Limits:
    """Room for every pass that model and machine can do; dots only stretch it where they lie outside."""
    extremes = (
        Slice.prompt(1),
        Slice.prompt(context_top),
        Slice.decode(1),
        Slice.decode(context_top),
        Slice.decode(1, BATCH_TOP),
    )
    xs = [
        math.log10(result.model.cost(result.machine, (piece,)).intensity_flops_per_byte) for piece in extremes
    ]
    xs += [dot.x for dot in dots] + [path.points[k].x for path in paths for k in (0, -1)]
    reach, roofs = reach_roof(result.machine), [p.roof for p in pins if p.roof is not None]
    ridges = [roof.corner[0] for roof in (peak_roof(result.machine), reach, *roofs)]
    x_low = min(*xs, *ridges) - 0.26
    x_high = max(max(xs) + 0.1, max(ridges) + 1.0)
    tops = [math.log10(result.machine.peak_flops_per_s), *(roof.corner[1] for roof in roofs)]
    lows = [reach.height(x_low) - 0.12, min(tops) - 1.0, *(dot.y - 0.3 for dot in dots)]
    return Limits(x_low, x_high, min(lows), max(tops) + 0.36)
