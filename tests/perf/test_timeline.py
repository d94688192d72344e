"""The timeline at any length: against itself, and against the same train as a pyqtgraph bar graph."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from PySide6.QtWidgets import QApplication
from timing import clock, median_frame_ms

from pdviz.app import load_look, make_application
from pdviz.catalogue import default_catalogue
from pdviz.evaluation import Result, evaluate
from pdviz.scenario import Scenario
from pdviz.scene.marks.axis import Window
from pdviz.widgets.request.stage import RequestStage

WIDTH, HEIGHT = 1400, 460
FRAMES = 60
BARS = 20_000
TIMES_FASTER = 10  # 16 to 27 have been measured


def _result(output_tokens: int) -> Result:
    scenario = msgspec.structs.replace(Scenario(), output_tokens=output_tokens)
    return evaluate(scenario, default_catalogue())


def _stage(output_tokens: int) -> RequestStage:
    view = RequestStage(_result(output_tokens))
    view.resize(WIDTH, HEIGHT)
    view.show()
    QApplication.processEvents()
    return view


def _pan_ms(view: RequestStage) -> float:
    """Median frame of panning with (nearly) all passes in view: everything is laid out and painted anew."""
    whole_s = view.stage.whole.end_s

    def pan(index: int) -> None:
        left = 1e-4 * whole_s * (index % 20)
        view.show_window(Window(left, left + 0.99 * whole_s))

    return min(median_frame_ms(pan, FRAMES) for _ in range(3))


def test_that_a_frame_costs_the_same_with_any_number_of_passes_in_view(say: Callable[[str], None]) -> None:
    make_application()
    load_look()
    few, many = _stage(100), _stage(100_000)
    few_ms, many_ms = _pan_ms(few), _pan_ms(many)
    say(f"100 passes {few_ms:.2f} ms, 100,000 passes {many_ms:.2f} ms, ratio {many_ms / few_ms:.2f}")
    for view in (few, many):
        view.close()
    assert many_ms <= 1.25 * few_ms


def test_that_it_is_far_faster_than_the_same_train_as_a_bar_graph(say: Callable[[str], None]) -> None:
    make_application()
    load_look()
    import numpy as np
    import pyqtgraph as pg

    result = _result(BARS)
    starts = np.array([result.request.pass_start_s(k) for k in range(BARS)])
    ends = np.append(starts[1:], result.e2e_s)
    heights = np.array([np.log2(result.request.pass_cost(k).tokens) + 1 for k in range(BARS)])
    colours = [
        "#ff9f40" if result.request.pass_cost(k).bound == "compute" else "#4cc2ff" for k in range(BARS)
    ]
    plot = pg.PlotWidget()
    plot.addItem(pg.BarGraphItem(x0=starts, x1=ends, height=heights, brushes=colours, pen=None))
    plot.resize(WIDTH, HEIGHT)
    plot.show()
    for _ in range(3):
        QApplication.processEvents()

    def pan_bars(index: int) -> None:
        left = 1e-4 * result.e2e_s * (index % 20)
        plot.setXRange(left, left + 0.99 * result.e2e_s, padding=0)

    bars_ms = median_frame_ms(pan_bars, 20)
    plot.close()
    view = _stage(BARS)
    ours_ms = _pan_ms(view)
    view.close()
    ratio = bars_ms / ours_ms
    say(f"pan of {BARS:,} passes: {ours_ms:.2f} ms, as bars {bars_ms:.1f} ms, {ratio:.0f} times faster")
    assert ratio >= TIMES_FASTER


def test_that_hovering_finds_its_pass_at_once_at_any_length(say: Callable[[str], None]) -> None:
    make_application()
    load_look()
    for tokens in (128, 10_000_000):
        result = _result(tokens)
        view = RequestStage(result)
        view.resize(WIDTH, HEIGHT)
        stage = view.stage
        plot = stage.plot
        begin = clock()
        for x in range(1000):
            assert stage.hover(plot.x + x, plot.bottom - 2) is not None
        each_ms = clock() - begin  # seconds for 1,000 look-ups
        say(f"hover at {tokens:,} tokens: {each_ms * 1e3:.0f} µs")
        assert each_ms < 0.2
