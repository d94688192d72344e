"""One edit on its way through the window: what each part learns of it, and in which order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pdviz.evaluation import evaluate
from pdviz.scenario import PRESETS, Scenario
from pdviz.scene.marks.axis import Window, automatic_window
from pdviz.scene.marks.suggestion import Suggestion
from pdviz.scene.request.notice import notices
from pdviz.widgets.shell.window import MainWindow


def put(window: MainWindow, scenario: Scenario) -> None:
    window.store.put(scenario)
    window.store.flush()


@pytest.mark.parametrize("name", ["request", "roofline", "shapes"])
def test_that_no_view_is_told_a_moment_of_a_result_that_it_does_not_have(
    window: MainWindow, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.show_view(name)
    window.player.seek(0.5 * window.store.result.e2e_s)
    view = window.views[name]
    told: list[tuple[float, float]] = []
    show_time: Callable[[float], None] = view.show_time

    def watched(time_s: float) -> None:
        told.append((time_s, view._result.e2e_s))
        show_time(time_s)

    monkeypatch.setattr(view, "show_time", watched)
    put(window, Scenario(prompt_tokens=32_768, output_tokens=2_000))
    whole_s = window.store.result.e2e_s
    assert told == [(pytest.approx(0.5 * whole_s), whole_s)]


def test_that_the_stage_does_not_turn_the_page_for_a_request_of_another_length(window: MainWindow) -> None:
    put(window, Scenario(output_tokens=20_000))
    stage = window.views["request"].stage
    window.player.seek(0.5 * window.store.result.e2e_s)
    put(window, Scenario(output_tokens=100))
    result = window.store.result
    assert window.player.time_s == pytest.approx(0.5 * result.e2e_s)
    in_view = stage.window_in_view
    assert in_view.start_s <= window.player.time_s <= in_view.end_s
    usual = automatic_window(result.ttft_s, result.itl_s, result.e2e_s)
    assert in_view.span_s == pytest.approx(usual.span_s, rel=1e-3)


@pytest.mark.parametrize("name", ["request", "roofline"])
def test_that_what_was_just_changed_comes_first_in_the_notice(window: MainWindow, name: str) -> None:
    window.show_view(name)
    window.store.edit(prompt_tokens=4_096)
    window.store.flush()
    window.show_view("request")
    result = window.store.result
    expected = notices(result, frozenset({"prompt_tokens"}))
    assert expected != notices(result)
    assert window.views["request"].notice.spoken().startswith(" ".join(notice.spoken for notice in expected))


def chosen_by_hand(window: MainWindow) -> Window:
    """A part of the request that the user has put in view."""
    window.set_reduced_motion(True)
    stage = window.views["request"].stage
    stage.show_window(Window(0.0, 0.1))
    stage.zoom(2.0)
    held: Window = stage.window_in_view
    return held


def test_that_a_suggestion_and_a_preset_show_all_from_the_beginning(window: MainWindow) -> None:
    held = chosen_by_hand(window)
    window.take_suggestion(Suggestion("try", (("prompt_tokens", 600),)))
    window.store.flush()
    assert window.views["request"].stage.window_in_view.span_s > 2 * held.span_s
    held = chosen_by_hand(window)
    window.panel.apply_preset(2)
    window.store.flush()
    assert window.views["request"].stage.window_in_view.span_s > 2 * held.span_s


@pytest.mark.parametrize(
    "edits",
    [
        (("prompt_tokens", -1),),
        (("prompt_tokens", Scenario().prompt_tokens),),
        (("model", "No such model"),),
    ],
    ids=["refused", "nothing new", "cannot be evaluated"],
)
def test_that_a_suggestion_that_changes_nothing_leaves_the_next_edit_alone(
    window: MainWindow, edits: tuple[tuple[str, int | str], ...]
) -> None:
    held = chosen_by_hand(window)
    window.take_suggestion(Suggestion("try", edits))
    window.store.flush()
    assert window.views["request"].stage.window_in_view == held
    window.store.edit(prompt_tokens=520)
    window.store.flush()
    assert window.store.result == evaluate(Scenario(prompt_tokens=520))
    assert window.views["request"].stage.window_in_view == held


def test_that_the_preset_that_is_there_already_leaves_the_next_edit_alone(window: MainWindow) -> None:
    put(window, PRESETS[0].apply(window.store.scenario))
    window.panel.apply_preset(0)
    held = chosen_by_hand(window)
    window.store.edit(prompt_tokens=520)
    window.store.flush()
    assert window.views["request"].stage.window_in_view == held
