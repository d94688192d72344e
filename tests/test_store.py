"""The store: one change a turn, exact history, and edits that fail leave everything as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QCoreApplication
from pytestqt.qtbot import QtBot

from pdviz import store as store_module
from pdviz.catalogue import default_catalogue
from pdviz.errors import InputError
from pdviz.evaluation import Result
from pdviz.fields import FIELDS
from pdviz.scenario import PRESETS, Scenario
from pdviz.store import GESTURE_S, HISTORY_LIMIT, ScenarioStore


class Heard:
    """What a store has said."""

    def __init__(self, store: ScenarioStore) -> None:
        self.changes: list[tuple[Result, frozenset[str]]] = []
        self.sentences: list[str] = []
        store.changed.connect(self.change)
        store.failed.connect(self.sentences.append)

    def change(self, result: Result, names: frozenset[str]) -> None:
        self.changes.append((result, names))


class HandClock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> HandClock:
    found = HandClock()
    monkeypatch.setattr(store_module, "monotonic", found)
    return found


@pytest.fixture
def store(qapp: QCoreApplication, clock: HandClock) -> Iterator[ScenarioStore]:
    made = ScenarioStore(Scenario(), default_catalogue())
    yield made
    made.flush()


@pytest.fixture
def heard(store: ScenarioStore) -> Heard:
    return Heard(store)


def pause(clock: HandClock) -> None:
    """Long enough for the next edit to be another gesture."""
    clock.now += 2 * GESTURE_S


# --- one change a turn ---------------------------------------------------------------------------


def test_that_two_edits_in_a_turn_are_one_change_with_both_names(
    store: ScenarioStore, heard: Heard, qtbot: QtBot
) -> None:
    store.edit(prompt_tokens=1024)
    store.edit(others="63")
    assert heard.changes == []
    assert store.result.scenario == Scenario()
    qtbot.waitUntil(lambda: bool(heard.changes), timeout=1_000)
    QCoreApplication.processEvents()
    assert [names for _, names in heard.changes] == [frozenset(("prompt_tokens", "others"))]
    assert heard.changes[0][0] is store.result
    assert store.result.scenario == store.scenario == Scenario(prompt_tokens=1024, others=63)


def test_that_an_edit_to_the_same_value_changes_nothing(store: ScenarioStore, heard: Heard) -> None:
    store.edit(prompt_tokens="512")
    store.put(Scenario())
    store.flush()
    assert heard.changes == []
    assert not store.can_undo


def test_that_edits_that_cancel_out_within_a_turn_are_no_change(store: ScenarioStore, heard: Heard) -> None:
    before = store.result
    store.edit(prompt_tokens=1024)
    store.edit(prompt_tokens=512)
    store.flush()
    assert heard.changes == []
    assert store.result is before


def test_that_the_cost_model_is_asked_once_for_a_whole_drag_in_one_turn(
    store: ScenarioStore, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    real = store_module.evaluate
    monkeypatch.setattr(store_module, "evaluate", lambda *given: (asked.append(given[0]), real(*given))[1])
    for prompt in range(600, 700):
        store.edit(prompt_tokens=prompt)
    store.flush()
    assert [scenario.prompt_tokens for scenario in asked] == [699]


# --- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("prompt_tokens", "32K", 32_768),
        ("prompt_tokens", " 1,024 ", 1_024),
        ("others_context_tokens", "same", None),
        ("weights_dtype", "FP8", "fp8"),
        ("compute_efficiency", "60%", 0.6),
        ("accelerators", "8", 8),
    ],
)
def test_that_text_is_understood_as_on_the_command_line(
    store: ScenarioStore, field: str, text: str, value: object
) -> None:
    store.put(Scenario(others_context_tokens=7))
    store.edit(**{field: text})
    assert getattr(store.scenario, field) == value


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("prompt_tokens", "abc"),
        ("prompt_tokens", ""),
        ("prompt_tokens", "0"),
        ("prompt_tokens", "-5"),
        ("prompt_tokens", "1e99"),
        ("others", "1.5"),
        ("weights_dtype", "fp7"),
        ("compute_efficiency", "0"),
        ("cached_tokens", "512"),
        ("model", " "),
    ],
)
def test_that_a_refused_value_raises_one_sentence_and_changes_nothing(
    store: ScenarioStore, heard: Heard, field: str, text: str
) -> None:
    with pytest.raises(InputError) as refused:
        store.edit(**{field: text})
    assert "\n" not in str(refused.value)
    store.flush()
    assert store.scenario == store.result.scenario == Scenario()
    assert not store.can_undo
    assert heard.changes == heard.sentences == []


def test_that_a_prompt_below_the_cached_prefix_shortens_the_prefix(
    store: ScenarioStore, clock: HandClock
) -> None:
    def lengths() -> tuple[int, int]:
        return store.scenario.prompt_tokens, store.scenario.cached_tokens

    store.put(Scenario(prompt_tokens=16_384, cached_tokens=15_360))
    store.edit(prompt_tokens=1_000)
    assert lengths() == (1_000, 999)
    store.edit(prompt_tokens=1)
    assert lengths() == (1, 0)
    store.edit(prompt_tokens=16_000)  # dragged down and up again: the prefix comes back
    assert lengths() == (16_000, 15_360)
    store.edit(prompt_tokens=1_000)
    pause(clock)
    store.edit(prompt_tokens=2_000)
    assert lengths() == (2_000, 999)


# --- history -------------------------------------------------------------------------------------


def test_that_undo_and_redo_go_back_and_forth_exactly(
    store: ScenarioStore, heard: Heard, clock: HandClock
) -> None:
    states = [store.scenario]
    for values in (
        {"prompt_tokens": 4_000},
        {"weights_dtype": "fp8"},
        {"others": 63},
        {"prompt_tokens": 128},
    ):
        pause(clock)
        store.edit(**values)
        store.flush()
        states.append(store.scenario)
    for state in reversed(states[:-1]):
        assert store.can_undo
        store.undo()
        store.flush()
        assert store.scenario == store.result.scenario == state
    assert not store.can_undo
    store.undo()
    assert store.scenario == states[0]
    for state in states[1:]:
        assert store.can_redo
        store.redo()
        store.flush()
        assert store.scenario == store.result.scenario == state
    assert not store.can_redo
    store.redo()
    assert store.scenario == states[-1]
    assert heard.changes[-1][0].scenario == states[-1]


@pytest.mark.parametrize("field", [field.name for field in FIELDS])
def test_that_undo_and_redo_bring_back_every_field(
    store: ScenarioStore, clock: HandClock, field: str
) -> None:
    there = Scenario(
        model="Gemma 3 27B",
        accelerator="L4",
        accelerators=4,
        weights_dtype="fp8",
        kv_dtype="fp8",
        prompt_tokens=700,
        output_tokens=9,
        others=3,
        others_context_tokens=77,
        cached_tokens=5,
        fidelity="ideal",
        compute_efficiency=0.5,
        bandwidth_efficiency=0.5,
        workload="0:512>128",
        policy="static",
        against="none",
        token_budget=64,
        max_batched_tokens=99,
        max_seqs=7,
        capacity_tokens=4000,
        prefill_steps=2,
        decode_steps=3,
        replicas=2,
        prefill_engines=3,
        decode_engines=4,
        link_bytes_per_s=1e9,
        link_latency_s=0.1,
        ttft_target_s=2.0,
        itl_target_s=0.1,
    )
    before, after = getattr(Scenario(), field), getattr(there, field)
    assert before != after
    store.edit(**{field: after})
    store.undo()
    assert getattr(store.scenario, field) == before
    store.redo()
    assert getattr(store.scenario, field) == after
    store.put(there)
    store.undo()
    store.flush()
    assert store.result.scenario == Scenario(**{field: after})


def test_that_an_edit_after_an_undo_forgets_what_could_be_redone(
    store: ScenarioStore, clock: HandClock
) -> None:
    store.edit(prompt_tokens=1_000)
    store.undo()
    pause(clock)
    store.edit(others=3)
    assert not store.can_redo
    store.undo()
    assert store.scenario == Scenario()


def test_that_a_drag_is_one_step_of_undo(store: ScenarioStore, clock: HandClock) -> None:
    for prompt in range(600, 700, 10):
        clock.now += 0.5 * GESTURE_S
        store.edit(prompt_tokens=prompt)
        store.flush()
    store.undo()
    assert store.scenario == Scenario()
    assert not store.can_undo
    store.redo()
    assert store.scenario == Scenario(prompt_tokens=690)


def test_that_a_drag_of_the_prompt_through_the_cached_prefix_is_one_step_of_undo(
    store: ScenarioStore, clock: HandClock
) -> None:
    turn = PRESETS[-1].apply(Scenario())
    assert turn.cached_tokens
    store.put(turn)
    pause(clock)
    for prompt in (16_000, 15_500, 15_000, 14_000, 15_000):
        clock.now += 0.05
        store.edit(prompt_tokens=prompt)
        store.flush()
    store.undo()
    assert store.scenario == turn
    store.undo()
    assert store.scenario == Scenario()


def test_that_a_drag_back_to_where_it_began_leaves_nothing_to_undo(
    store: ScenarioStore, clock: HandClock
) -> None:
    for prompt in (513, 520, 513, 512):
        clock.now += 0.05
        store.edit(prompt_tokens=prompt)
        store.flush()
    assert store.scenario == Scenario()
    assert not store.can_undo
    store.edit(prompt_tokens=600)
    store.undo()
    assert store.scenario == Scenario()


@pytest.mark.parametrize("second", [{"prompt_tokens": 700}, {"output_tokens": 9}])
def test_that_edits_apart_in_time_or_kind_are_two_steps_of_undo(
    store: ScenarioStore, clock: HandClock, second: dict[str, int]
) -> None:
    store.edit(prompt_tokens=600)
    if "prompt_tokens" in second:
        pause(clock)
    store.edit(**second)
    store.undo()
    assert store.scenario == Scenario(prompt_tokens=600)
    store.undo()
    assert store.scenario == Scenario()


def test_that_a_preset_is_a_step_of_its_own_and_ends_a_drag(store: ScenarioStore) -> None:
    store.edit(prompt_tokens=600)
    store.put(PRESETS[1].apply(store.scenario))
    store.edit(prompt_tokens=700)
    store.undo()
    assert store.scenario == PRESETS[1].apply(Scenario())
    store.undo()
    assert store.scenario == Scenario(prompt_tokens=600)


def test_that_an_undo_ends_a_drag(store: ScenarioStore) -> None:
    store.edit(prompt_tokens=600)
    store.undo()
    store.edit(prompt_tokens=700)
    store.undo()
    assert store.scenario == Scenario()


def test_that_history_is_long_but_not_endless(store: ScenarioStore, clock: HandClock) -> None:
    for number in range(HISTORY_LIMIT + 20):
        pause(clock)
        store.edit(prompt_tokens=1_000 + number)
    steps = 0
    while store.can_undo:
        store.undo()
        steps += 1
    assert steps == HISTORY_LIMIT >= 100


moves = st.lists(
    st.one_of(
        st.tuples(
            st.just("edit"), st.sampled_from(("prompt_tokens", "others", "cached_tokens")), st.integers(1, 40)
        ),
        st.tuples(st.sampled_from(("undo", "redo", "pause", "flush")), st.just(""), st.just(0)),
    ),
    max_size=30,
)


@given(moves)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_that_any_history_can_be_undone_to_the_start_and_redone_to_the_end(
    qapp: QCoreApplication, clock: HandClock, moves: list[tuple[str, str, int]]
) -> None:
    store = ScenarioStore(Scenario(prompt_tokens=20), default_catalogue())
    actions: dict[str, Callable[[], None]] = {
        "undo": store.undo,
        "redo": store.redo,
        "flush": store.flush,
        "pause": lambda: pause(clock),
    }
    for kind, field, value in moves:
        if kind != "edit":
            actions[kind]()
            continue
        try:
            store.edit(**{field: value})
        except InputError:
            assert field == "cached_tokens"
    end = store.scenario
    while store.can_redo:
        store.redo()
    last = store.scenario
    while store.can_undo:
        before = store.scenario
        store.undo()
        assert store.scenario != before
    store.flush()
    assert store.scenario == store.result.scenario == Scenario(prompt_tokens=20)
    seen = [store.scenario]
    while store.can_redo:
        store.redo()
        seen.append(store.scenario)
    assert end in seen
    assert seen[-1] == last
    store.flush()
    assert store.result.scenario == last


# --- edits that cannot be carried out ------------------------------------------------------------


def test_that_an_edit_that_cannot_be_evaluated_leaves_everything_as_it_was(
    store: ScenarioStore, heard: Heard, clock: HandClock
) -> None:
    store.edit(accelerator="TPU v5e")
    store.flush()
    before = store.result
    heard.changes.clear()
    pause(clock)
    store.edit(weights_dtype="fp32")
    store.flush()
    assert store.scenario == before.scenario
    assert store.result is before
    assert len(heard.sentences) == 1
    assert "TPU v5e" in heard.sentences[0]
    assert "FP32" in heard.sentences[0]
    # views are told to show again what holds
    assert [(result, names) for result, names in heard.changes] == [(before, frozenset(("weights_dtype",)))]
    store.undo()
    assert store.scenario == Scenario()
    assert not store.can_undo


def test_that_an_error_that_nobody_expected_is_said_and_leaves_everything_as_it_was(
    store: ScenarioStore, heard: Heard, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store.result

    def fail(*_: object) -> Result:
        raise ZeroDivisionError("float division by zero")

    with monkeypatch.context() as broken, qtbot.capture_exceptions() as caught:
        broken.setattr(store_module, "evaluate", fail)
        store.edit(prompt_tokens=600)
        store.flush()
    assert heard.sentences == ["a mistake in pdviz itself (ZeroDivisionError: float division by zero)"]
    assert [kind for kind, _, _ in caught] == [ZeroDivisionError]
    assert heard.changes == [(before, frozenset(("prompt_tokens",)))]
    assert store.result is before
    assert store.scenario == before.scenario
    assert not store.can_undo
    store.edit(prompt_tokens=700)
    store.flush()
    assert store.result.scenario == Scenario(prompt_tokens=700)


def test_that_a_failure_is_said_after_the_views_have_gone_back(store: ScenarioStore) -> None:
    order: list[str] = []
    store.changed.connect(lambda *_: order.append("changed"))
    store.failed.connect(lambda *_: order.append("failed"))
    store.edit(model="no such model")
    store.flush()
    assert order == ["changed", "failed"]


def test_that_an_unknown_model_is_answered_with_the_nearest_names(store: ScenarioStore, heard: Heard) -> None:
    store.edit(model="lama 3.1 8b x")
    store.flush()
    assert store.scenario == Scenario()
    assert not store.can_undo
    assert len(heard.sentences) == 1
    assert "Llama 3.1 8B" in heard.sentences[0]


def test_that_a_failed_edit_does_not_cost_what_could_be_undone_or_redone(
    store: ScenarioStore, heard: Heard, clock: HandClock
) -> None:
    store.edit(prompt_tokens=600)
    store.flush()
    pause(clock)
    store.edit(prompt_tokens=700)
    store.flush()
    store.undo()
    store.flush()
    pause(clock)
    store.edit(others=3)  # fine by itself, but in the same turn as the next one
    store.edit(model="no such model")
    store.flush()
    assert len(heard.sentences) == 1
    assert store.scenario == store.result.scenario == Scenario(prompt_tokens=600)
    store.redo()
    assert store.scenario == Scenario(prompt_tokens=700)
    store.undo()
    store.undo()
    assert store.scenario == Scenario()
    assert not store.can_undo


def test_that_a_store_does_not_start_on_a_scenario_that_cannot_be_evaluated(qapp: QCoreApplication) -> None:
    with pytest.raises(InputError):
        ScenarioStore(Scenario(model="no such model"), default_catalogue())
