"""The server view at any number of requests: a frame of playing and of panning, 1,000 against 1,000,000."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QApplication
from timing import clock, median_frame_ms

from pdviz.app import load_look, make_application
from pdviz.catalogue import default_catalogue
from pdviz.evaluation import evaluate
from pdviz.scenario import Scenario
from pdviz.scene.marks.axis import Window
from pdviz.scene.server.runs import Shown
from pdviz.serving.costs import PassCosts
from pdviz.serving.policies import Knobs
from pdviz.serving.presets import steady_chat
from pdviz.serving.server import simulate
from pdviz.widgets.server.stage import ServerStage

WIDTH, HEIGHT = 1400, 800
FRAMES = 60
PLAY_TIMES = 2.0
PAN_TIMES = 3.0
RATE_PER_S = 8.0


def _shown(requests: int) -> Shown:
    result = evaluate(Scenario(), default_catalogue())
    workload, costs = steady_chat(RATE_PER_S, requests), PassCosts(result.model, result.machine)
    runs = tuple(simulate(workload, Knobs(policy=policy), costs) for policy in ("continuous", "chunked"))
    shown = Shown.of(result, runs)
    assert shown is not None
    return shown


def _stage(shown: Shown) -> ServerStage:
    view = ServerStage(shown)
    view.reduces_motion = True
    view.resize(WIDTH, HEIGHT)
    view.show()
    QApplication.processEvents()
    return view


def _play_ms(view: ServerStage, shown: Shown) -> float:
    """Median frame of playing, half-way, in real time at 60 frames a second."""
    start_s = 0.5 * shown.timeline.duration_s

    def frame(index: int) -> None:
        time_s = start_s + index / 60
        view.set_time(time_s)
        for course in shown.courses:
            course.pass_now(course.main, time_s)

    return min(median_frame_ms(frame, FRAMES, 1 / 90) for _ in range(3))


def _pan_ms(view: ServerStage, shown: Shown) -> float:
    """Median frame of panning with nearly all in view: everything is laid out and painted anew."""
    whole_s = shown.timeline.duration_s

    def pan(index: int) -> None:
        left = 1e-4 * whole_s * (index % 20)
        view.show_window(Window(left, left + 0.99 * whole_s))

    return min(median_frame_ms(pan, FRAMES) for _ in range(3))


def test_that_a_million_requests_play_and_pan_as_a_thousand_do(say: Callable[[str], None]) -> None:
    make_application()
    load_look()
    plays, pans = [], []
    for requests in (1_000, 1_000_000):
        shown = _shown(requests)
        view = _stage(shown)
        plays.append(_play_ms(view, shown))
        pans.append(_pan_ms(view, shown))
        stage, begin = view.stage, clock()
        for x in range(200):
            stage.hover(stage.plot.x + 5 * x, stage.plot.y + 20)
        say(f"hover at {requests:,} requests: {(clock() - begin) / 200 * 1e6:.0f} µs")
        view.close()
    say(
        f"server, 1,000 requests: playing {plays[0]:.2f} ms, panning {pans[0]:.1f} ms; "
        f"1,000,000: {plays[1]:.2f} ms, {pans[1]:.1f} ms"
    )
    assert plays[1] <= PLAY_TIMES * plays[0]
    assert pans[1] <= PAN_TIMES * pans[0]
