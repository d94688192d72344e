"""The panel and the assumptions are made from the table of fields: a further field is a further control."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from pdviz import scenario as table
from pdviz.catalogue import default_catalogue
from pdviz.field import Field
from pdviz.fields import BY_NAME, FIELDS
from pdviz.scenario import Scenario
from pdviz.scene.marks.theme import DARK
from pdviz.store import ScenarioStore
from pdviz.widgets.controls import assumptions, panel
from pdviz.widgets.controls.assumptions import Assumptions
from pdviz.widgets.controls.panel import ControlPanel
from pdviz.widgets.controls.words import WORKLOADS

Key = Qt.Key


class Drafted(Scenario, frozen=True):
    """A scenario with one field more, which the cost model does not know."""

    draft_tokens: int = 3
    acceptance: float = 0.7


DRAFT = Field(
    "draft_tokens", "draft", "Draft length", "Tokens that are guessed for each pass.", "count",
    low=0, unit="token", control="slider", slider_high=16,
)  # fmt: skip
ACCEPTANCE = Field(
    "acceptance", "acceptance", "Acceptance", "Share of guesses that hold.", "fraction", group="assumptions",
    control="share",
)  # fmt: skip


@pytest.fixture
def more_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of fields with two rows more."""
    for module in (table, panel, assumptions):
        monkeypatch.setattr(module, "FIELDS", (*FIELDS, DRAFT, ACCEPTANCE))
    for field in (DRAFT, ACCEPTANCE):
        monkeypatch.setitem(BY_NAME, field.name, field)


def store_of(scenario: Scenario) -> ScenarioStore:
    return ScenarioStore(scenario, default_catalogue())


def panel_of(bot: QtBot, store: ScenarioStore, height: int = 860) -> ControlPanel:
    made = ControlPanel(store)
    bot.addWidget(made)
    made.resize(284, height)
    made.set_look(DARK, 1.0)
    made.show()
    return made


@pytest.mark.usefixtures("more_fields")
def test_that_a_further_field_of_the_table_is_a_row_of_the_panel(qtbot: QtBot) -> None:
    store = store_of(Drafted())
    made = panel_of(qtbot, store)
    edit, slider = made.edits["draft_tokens"], made.sliders["draft_tokens"]
    assert (edit.text(), slider.value, slider.low, slider.high) == ("3 tokens", 3, 0, 16)
    assert edit.accessibleName() == slider.accessibleName() == "Draft length"
    assert "from 0 to" in edit.toolTip()
    labels = [label.text for control in made._controls for label in control.labels]
    assert "Draft length" in labels
    # below all that was there, above the presets, and reached by Tab in that order
    assert edit.y() > made.sliders["cached_tokens"].geometry().bottom()
    assert slider.geometry().bottom() < made.chips[0].y()
    assert made.sliders["cached_tokens"].nextInFocusChain() is edit
    assert edit.nextInFocusChain() is slider
    assert slider.nextInFocusChain() is made.chips[0]
    assert made.least_height == 655 + 47


@pytest.mark.usefixtures("more_fields")
def test_that_the_control_of_a_further_field_edits_it_through_the_store(qtbot: QtBot) -> None:
    store = store_of(Drafted())
    made = panel_of(qtbot, store)
    edit, slider = made.edits["draft_tokens"], made.sliders["draft_tokens"]
    qtbot.keyClick(slider, Key.Key_End)
    store.flush()
    assert store.result.scenario == Drafted(draft_tokens=16)
    assert edit.text() == "16 tokens"
    edit.setText("5 tokens")
    qtbot.keyClick(edit, Key.Key_Return)
    store.flush()
    assert store.result.scenario == Drafted(draft_tokens=5)
    assert slider.value == 5
    said: list[str] = []
    made.refused.connect(said.append)
    edit.setText("-1")
    qtbot.keyClick(edit, Key.Key_Return)
    assert edit.is_refused
    assert said[0].startswith("Draft length must be a whole number from 0 to")
    store.undo()
    store.flush()
    assert slider.value == 3  # both edits were one gesture


@pytest.mark.usefixtures("more_fields")
@pytest.mark.parametrize("height", [702, 763, 900])
def test_that_a_further_row_lies_on_no_other(qtbot: QtBot, height: int) -> None:
    made = panel_of(qtbot, store_of(Drafted()), height)
    boxes = [child.geometry() for child in made.children() if isinstance(child, QWidget)]
    for number, one in enumerate(boxes):
        assert made.rect().contains(one)
        for other in boxes[number + 1 :]:
            shared = one.intersected(other)
            assert shared.height() <= 2 or shared.width() <= 2


@pytest.mark.usefixtures("more_fields")
def test_that_a_further_share_is_a_row_of_the_assumptions(qtbot: QtBot) -> None:
    store, parent = store_of(Drafted()), QWidget()
    qtbot.addWidget(parent)
    popup = Assumptions(store, DARK, 1.0, parent)
    edit = popup.edits["acceptance"]
    assert edit.text() == "70 %"
    assert edit.y() == popup.edits["bandwidth_efficiency"].y() + 34
    assert edit.geometry().bottom() < popup.usual.y()
    edit.setText("80")
    qtbot.keyClick(edit, Key.Key_Return)
    store.flush()
    assert store.result.scenario == Drafted(acceptance=0.8)
    popup.close()


def test_that_every_field_of_the_table_is_edited_somewhere(qtbot: QtBot) -> None:
    made, parent = panel_of(qtbot, store_of(Scenario())), QWidget()
    qtbot.addWidget(parent)
    popup = Assumptions(store_of(Scenario()), DARK, 1.0, parent)
    controls = [*made._controls, *popup._controls]
    assert [control.field for control in controls] == [f for f in FIELDS if f.group != "server"]
    assert all(control.widgets for control in controls)
    popup.close()


def test_that_the_assumptions_go_to_the_store_and_back_to_the_usual(qtbot: QtBot) -> None:
    store, parent = store_of(Scenario()), QWidget()
    qtbot.addWidget(parent)
    popup = Assumptions(store, DARK, 1.0, parent)
    said: list[str] = []
    popup.refused.connect(said.append)
    edit = popup.edits["compute_efficiency"]
    for text in ("60", "0.6", "60 %"):
        store.put(Scenario())
        store.flush()
        edit.setText(text)
        qtbot.keyClick(edit, Key.Key_Return)
        store.flush()
        assert store.result.scenario == Scenario(compute_efficiency=0.6)
        assert edit.text() == "60 %"
    edit.setText("110")
    qtbot.keyClick(edit, Key.Key_Return)
    assert edit.is_refused
    assert len(said) == 1
    assert said[0].startswith("Compute-efficiency must be a number above 0")
    qtbot.mouseClick(popup.chips["ideal"], Qt.MouseButton.LeftButton)
    store.flush()
    assert store.result.scenario.fidelity == "ideal"
    assert popup.chips["ideal"].is_on
    assert not popup.chips["textbook"].is_on
    assert not edit.isEnabled()
    assert edit.text() == "100 %"
    qtbot.mouseClick(popup.usual, Qt.MouseButton.LeftButton)
    store.flush()
    assert store.result.scenario == Scenario()
    assert edit.isEnabled()
    assert edit.text() == "55 %"
    assert not popup.grab().isNull()
    qtbot.keyClick(popup, Key.Key_Escape)
    assert not popup.isVisible()


def server_panel(qtbot: QtBot, store: ScenarioStore) -> ControlPanel:
    made = panel_of(qtbot, store, 1200)
    made.show_group("server")
    return made


def shown(made: ControlPanel) -> set[str]:
    return {name for name, edit in made.edits.items() if edit.isVisibleTo(made)}


def test_that_a_server_has_its_own_fields_and_the_request_s_come_back(qtbot: QtBot) -> None:
    store = store_of(Scenario())
    made = server_panel(qtbot, store)
    assert {"workload", "token_budget", "max_seqs", "ttft_target_s"} <= shown(made)
    assert "prompt_tokens" not in shown(made)
    assert made.pickers["policy"].choice == "Whole prompts first"
    assert made.pickers["model"].isVisibleTo(made)
    boxes = [w.geometry() for w in made._parts() if w.isVisibleTo(made)]
    for number, one in enumerate(boxes):
        assert made.rect().contains(one)
        for other in boxes[number + 1 :]:
            shared = one.intersected(other)
            assert shared.height() <= 2 or shared.width() <= 2
    made.show_group("request")
    assert "prompt_tokens" in shown(made)
    assert "workload" not in shown(made)


def test_that_knobs_that_no_policy_uses_are_not_shown(qtbot: QtBot) -> None:
    store = store_of(Scenario())
    made = server_panel(qtbot, store)
    assert "link_bytes_per_s" not in shown(made)
    store.edit(policy="disaggregated", against="none")
    store.flush()
    assert {"link_bytes_per_s", "prefill_engines"} <= shown(made)
    assert "token_budget" not in shown(made)


def test_that_a_server_s_fields_are_edited_through_the_store(qtbot: QtBot) -> None:
    store = store_of(Scenario(policy="disaggregated"))
    made = server_panel(qtbot, store)
    for name, text, value in (
        ("link_latency_s", "5 ms", 0.005),
        ("capacity_tokens", "4000", 4000),
        ("workload", "chat 1:16384>20", "chat 1:16384>20"),
        ("itl_target_s", "30 ms", 0.03),
    ):
        made.edits[name].setText(text)
        qtbot.keyClick(made.edits[name], Key.Key_Return)
        store.flush()
        assert getattr(store.result.scenario, name) == value
    said: list[str] = []
    made.refused.connect(said.append)
    made.edits["link_latency_s"].setText("soon")
    qtbot.keyClick(made.edits["link_latency_s"], Key.Key_Return)
    assert said[0].startswith("Link latency must be a number of seconds, at least 0")
    made.workloads["ramp"].click()
    store.flush()
    assert store.result.scenario.workload == "ramp"
    assert made.workloads["ramp"].is_on


def test_that_the_chips_of_workloads_are_the_presets() -> None:
    from pdviz.serving.presets import PRESETS

    assert list(WORKLOADS) == list(PRESETS)
