"""From a result to the runs of its server, ready to be drawn."""

from __future__ import annotations

import msgspec

from pdviz.errors import InputError
from pdviz.evaluation import Result
from pdviz.fields import FIELDS
from pdviz.scene.marks.figures import machine_words, scenario_words
from pdviz.scene.server.course import Course, courses_of
from pdviz.scene.server.stage import ServerScales
from pdviz.scene.server.timeline import ServerTimeline
from pdviz.serving.measures import Targets
from pdviz.serving.plan import serve
from pdviz.serving.server import Run
from pdviz.units import plural

NOTHING = "No request of this workload fits the server's KV cache."


class Shown(msgspec.Struct, frozen=True):
    """Runs with all that their picture asks for."""

    courses: tuple[Course, ...]
    timeline: ServerTimeline
    scales: ServerScales

    @classmethod
    def of(cls, result: Result, runs: tuple[Run, ...]) -> Shown | None:
        """The runs of ``result``; None where one served nothing."""
        courses = courses_of(result, runs)
        if not all(len(course) for course in courses):
            return None
        return cls(courses, ServerTimeline(courses), ServerScales.of(courses))


def targets_of(result: Result) -> Targets:
    """What a user of the server accepts."""
    return Targets(result.scenario.ttft_target_s, result.scenario.itl_target_s)


def same_runs(one: Result, other: Result) -> bool:
    """Whether nothing is different that matters to a server: of the single request nothing does."""
    if one.model is not other.model or one.machine != other.machine:
        return False
    if one.memory.room_bytes != other.memory.room_bytes:
        return False
    fields = [field.name for field in FIELDS if field.group == "server"]
    return all(getattr(one.scenario, name) == getattr(other.scenario, name) for name in fields)


_last: list[tuple[Result, Shown | None]] = []


def shown_of(result: Result) -> Shown | None:
    """The runs of a result, the last ones kept: a page asks for their end, then for their picture."""
    if not (_last and _last[0][0] is result):
        _last[:] = [(result, Shown.of(result, serve(result)))]
    return _last[0][1]


def runs_end_s(result: Result) -> float:
    """Where the time of the runs ends; of the request where there are none."""
    try:
        shown = shown_of(result)
    except InputError:
        shown = None
    return result.e2e_s if shown is None else shown.timeline.duration_s


def server_words(result: Result) -> str:
    """The server and what comes to it, in one line."""
    try:
        shown = shown_of(result)
    except InputError:
        shown = None
    coming = result.scenario.workload
    if shown is not None:
        workload = shown.courses[0].run.workload
        coming = f"{workload.description or coming} ({plural(len(workload), 'request')})"
    return machine_words(scenario_words(result), coming)
