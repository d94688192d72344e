"""Servers of every policy with workloads of any kind, ready to be drawn."""

from __future__ import annotations

from functools import lru_cache

from hypothesis import strategies as st
from scene_world import measure, result_of

from pdviz.scenario import Scenario
from pdviz.scene.marks.axis import Window
from pdviz.scene.server.course import Course, courses_of
from pdviz.scene.server.runs import Shown
from pdviz.scene.server.stage import server_tracks
from pdviz.scene.stage.stage import Stage, build_stage
from pdviz.serving.costs import PassCosts
from pdviz.serving.policies import POLICIES, Knobs
from pdviz.serving.presets import one_long_prompt
from pdviz.serving.server import Run, simulate
from pdviz.serving.workload import Workload, from_rows

RESULT = result_of(Scenario())


def run_of(workload: Workload, **knobs: object) -> Run:
    return simulate(workload, Knobs(**knobs), PassCosts(RESULT.model, RESULT.machine))  # type: ignore[arg-type]


def course_of(workload: Workload, **knobs: object) -> Course:
    (course,) = courses_of(RESULT, (run_of(workload, **knobs),))
    return course


@lru_cache(maxsize=1)
def lesson() -> Shown:
    """One long prompt among eight chats: whole prompts first, and chunked."""
    runs = tuple(run_of(one_long_prompt(), policy=policy) for policy in ("continuous", "chunked"))
    shown = Shown.of(RESULT, runs)
    assert shown is not None
    return shown


def shown_of(workload: Workload, policies: tuple[str, ...], **knobs: object) -> Shown | None:
    return Shown.of(RESULT, tuple(run_of(workload, policy=policy, **knobs) for policy in policies))


def stage_of(
    shown: Shown, window: Window | None = None, width: float = 1200, height: float = 760,
    scrolled_to: int | None = None,
) -> Stage:  # fmt: skip
    tracks = server_tracks(shown.courses, shown.scales, height, scrolled_to)
    line = shown.timeline
    return build_stage(tracks, window or line.first_view(), line.duration_s, width, height, 1.0, measure)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """A few requests, some at once, some alone."""
    rows, at_s = [], 0.0
    for gap_s, prompt, output, cached in draw(
        st.lists(
            st.tuples(
                st.sampled_from((0.0, 0.0, 0.004, 0.05, 0.6)),
                st.sampled_from((1, 40, 512, 700, 3_000)),
                st.sampled_from((1, 2, 9, 60)),
                st.sampled_from((0, 0, 30)),
            ),
            min_size=1,
            max_size=14,
        )
    ):
        at_s += gap_s
        rows.append((at_s, prompt, output, min(cached, prompt - 1)))
    return from_rows(rows)


@st.composite
def shown_runs(draw: st.DrawFn) -> Shown:
    """Runs of any policies, with little room and few seats now and then."""
    policies = draw(st.lists(st.sampled_from(POLICIES), min_size=1, max_size=2, unique=True))
    knobs = {
        "capacity_tokens": draw(st.sampled_from((None, 3_100, 4_000))),
        "max_seqs": draw(st.sampled_from((1, 3, 256))),
        "token_budget": draw(st.sampled_from((64, 512))),
        "replicas": draw(st.sampled_from((1, 1, 3))),
        "decode_engines": draw(st.sampled_from((1, 2))),
    }
    shown = shown_of(draw(workloads()), tuple(policies), **knobs)
    assert shown is not None
    return shown
