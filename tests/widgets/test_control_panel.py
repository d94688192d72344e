"""The control panel: whatever is done to it, the scenario is what it shows, and what it refuses it says."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QPoint, QRect, Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from pdviz.catalogue import default_catalogue
from pdviz.scenario import PRESETS, Scenario
from pdviz.scene.marks.geometry import interface_scale
from pdviz.scene.marks.theme import DARK, LIGHT
from pdviz.store import ScenarioStore
from pdviz.widgets.controls.panel import ControlPanel
from pdviz.widgets.kit.buttons import CHIP_SIZE
from pdviz.widgets.kit.choices import KEY, ChoicePopup
from pdviz.widgets.kit.palette import text_width
from pdviz.widgets.shell.window import MainWindow

Key, LEFT = Qt.Key, Qt.MouseButton.LeftButton
COUNTS = ("prompt_tokens", "output_tokens", "others", "cached_tokens")


class Desk:
    """A panel on a store, and the sentences that it has said."""

    def __init__(self, bot: QtBot, scenario: Scenario) -> None:
        self.bot = bot
        self.store = ScenarioStore(scenario, default_catalogue())
        self.panel = ControlPanel(self.store)
        self.sentences: list[str] = []
        self.panel.refused.connect(self.sentences.append)
        self.store.failed.connect(self.sentences.append)
        bot.addWidget(self.panel)
        self.panel.resize(300, 860)
        self.panel.set_look(DARK, 1.0)
        self.panel.show()
        self.panel.activateWindow()
        bot.waitUntil(lambda: QApplication.activeWindow() is self.panel, timeout=2_000)

    @property
    def scenario(self) -> Scenario:
        """What holds, once everything has been evaluated."""
        self.store.flush()
        assert self.store.scenario == self.store.result.scenario
        return self.store.scenario

    def type(self, field: str, text: str, key: Qt.Key | None = Key.Key_Return) -> None:
        edit = self.panel.edits[field]
        edit.setFocus()
        edit.selectAll()
        self.bot.keyClick(edit, Key.Key_Delete)
        if text.isascii():
            self.bot.keyClicks(edit, text)
        else:
            edit.insert(text)  # as if pasted
        if key is not None:
            self.bot.keyClick(edit, key)

    def popup(self, field: str) -> ChoicePopup:
        """Opens the list of a picker."""
        self.bot.mouseClick(self.panel.pickers[field], LEFT)
        return next(w for w in QApplication.topLevelWidgets() if isinstance(w, ChoicePopup) and w.isVisible())

    def choose(self, field: str, key: str) -> None:
        popup = self.popup(field)
        rows = [popup.list.item(row) for row in range(popup.list.count())]
        popup.list.setCurrentItem(next(item for item in rows if item.data(KEY) == key))
        self.bot.keyClick(popup.focusWidget(), Key.Key_Return)
        self.store.flush()


@pytest.fixture
def desk(qtbot: QtBot) -> Iterator[Desk]:
    made = Desk(qtbot, Scenario())
    yield made
    for widget in QApplication.topLevelWidgets():
        if isinstance(widget, ChoicePopup):
            widget.close()
    made.store.flush()


# --- typing --------------------------------------------------------------------------------------


def test_that_32k_typed_into_the_prompt_is_32768_tokens(desk: Desk) -> None:
    desk.type("prompt_tokens", "32K")
    assert desk.scenario == Scenario(prompt_tokens=32_768)
    assert desk.sentences == []
    desk.panel.edits["output_tokens"].setFocus()
    assert desk.panel.edits["prompt_tokens"].text() == "32,768 tokens"
    assert desk.panel.sliders["prompt_tokens"].value == 32_768


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("prompt_tokens", "1,000", 1_000),
        ("prompt_tokens", "128 tokens", 128),
        ("output_tokens", "1.5k", 1_536),
        ("others", "63", 63),
        ("others", "0", 0),
        ("cached_tokens", "500", 500),
        ("accelerators", "8", 8),
        ("accelerators", "8 ×", 8),
        ("others_context_tokens", "2k", 2_048),
        ("others_context_tokens", "same", None),
    ],
)
def test_that_every_count_can_be_typed_exactly(desk: Desk, field: str, text: str, value: object) -> None:
    desk.store.put(Scenario(others=3, others_context_tokens=5))
    desk.store.flush()
    desk.type(field, text)
    assert getattr(desk.scenario, field) == value
    assert desk.sentences == []
    assert not desk.panel.edits[field].is_refused


@pytest.mark.parametrize(
    "text", ["abc", "0", "-5", "1e99", "", "1.5", "12x", "nan", "1 2", "９９９९９９９９９９"]
)
def test_that_a_prompt_that_is_none_is_refused_in_one_sentence_and_the_text_is_kept(
    desk: Desk, text: str
) -> None:
    desk.type("prompt_tokens", text)
    edit = desk.panel.edits["prompt_tokens"]
    assert desk.scenario == Scenario()
    assert len(desk.sentences) == 1
    sentence = desk.sentences[0]
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert "rompt must be a whole number from 1 to" in sentence
    assert edit.is_refused
    assert edit.text() == text
    # it is still there after looking elsewhere, and is mended where it stands
    desk.panel.edits["output_tokens"].setFocus()
    assert edit.text() == text
    assert desk.scenario == Scenario()
    desk.type("prompt_tokens", "128")
    assert desk.scenario == Scenario(prompt_tokens=128)
    assert not edit.is_refused


@pytest.mark.parametrize("text", ["abc", "64"])
def test_that_escape_reverts_what_was_typed(desk: Desk, text: str) -> None:
    desk.type("prompt_tokens", text, Key.Key_Escape)
    assert desk.scenario == Scenario()
    assert desk.sentences == []
    assert desk.panel.edits["prompt_tokens"].text() == "512 tokens"
    desk.type("prompt_tokens", "abc")
    desk.bot.keyClick(desk.panel.edits["prompt_tokens"], Key.Key_Escape)
    assert desk.panel.edits["prompt_tokens"].text() == "512 tokens"
    assert not desk.panel.edits["prompt_tokens"].is_refused


def test_that_leaving_a_field_enters_what_was_typed(desk: Desk) -> None:
    desk.type("prompt_tokens", "64", None)
    assert desk.scenario == Scenario()
    desk.bot.keyClick(desk.panel.edits["prompt_tokens"], Key.Key_Tab)
    assert desk.scenario == Scenario(prompt_tokens=64)


def test_that_a_cached_prefix_as_long_as_the_prompt_is_refused(desk: Desk) -> None:
    desk.type("cached_tokens", "512")
    assert desk.scenario == Scenario()
    assert len(desk.sentences) == 1
    assert "below prompt" in desk.sentences[0]


def test_that_a_shorter_prompt_shortens_the_cached_prefix_that_is_shown(desk: Desk) -> None:
    desk.type("cached_tokens", "500")
    desk.type("prompt_tokens", "100")
    assert desk.scenario == Scenario(prompt_tokens=100, cached_tokens=99)
    assert desk.panel.edits["cached_tokens"].text() == "99 tokens"


# --- sliders -------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", COUNTS)
@pytest.mark.parametrize("key", [Key.Key_Home, Key.Key_End, Key.Key_PageUp, Key.Key_PageDown, Key.Key_Right])
def test_that_every_slider_can_be_moved_by_keys(desk: Desk, field: str, key: Qt.Key) -> None:
    desk.store.put(Scenario(prompt_tokens=1_000, output_tokens=100, others=10, cached_tokens=50))
    desk.store.flush()
    before = getattr(desk.scenario, field)
    slider = desk.panel.sliders[field]
    slider.setFocus()
    desk.bot.keyClick(slider, key)
    after = getattr(desk.scenario, field)
    assert (after > before) == (key in (Key.Key_End, Key.Key_PageUp, Key.Key_Right))
    assert after != before
    assert slider.value == after
    assert slider.low <= after <= slider.high
    assert desk.sentences == []
    assert f"{after:,}" in desk.panel.edits[field].text()


def test_that_dragging_the_prompt_changes_everything_at_once_and_is_one_step_of_undo(desk: Desk) -> None:
    slider = desk.panel.sliders["prompt_tokens"]
    desk.bot.mousePress(slider, LEFT, pos=QPoint(slider.width() // 2, 8))
    seen = []
    for x in range(slider.width() // 2, slider.width(), 8):
        desk.bot.mouseMove(slider, QPoint(x, 8))
        seen.append(desk.scenario.prompt_tokens)
    desk.bot.mouseRelease(slider, LEFT, pos=QPoint(slider.width(), 8))
    assert seen[-1] > 16 * seen[0]
    desk.store.undo()
    assert desk.scenario == Scenario()
    assert slider.value == 512


def test_that_the_prompt_slider_goes_as_far_as_the_model_s_context_and_marks_the_crossover(
    desk: Desk,
) -> None:
    slider = desk.panel.sliders["prompt_tokens"]
    assert (slider.low, slider.high) == (1, 131_072)
    assert slider.mark == 216
    assert "216" in slider.accessibleDescription()
    desk.choose("model", "GPT-2 124M")
    assert slider.high == 1_024


# --- presets -------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", range(len(PRESETS)), ids=lambda index: PRESETS[index].title)
def test_that_a_chip_sets_its_request_and_keeps_the_rest(desk: Desk, index: int) -> None:
    start = Scenario(model="Phi-4 14B", accelerator="H200", weights_dtype="fp8", prompt_tokens=77)
    desk.store.put(start)
    with desk.bot.waitSignal(desk.panel.preset_chosen, timeout=1_000):
        desk.bot.mouseClick(desk.panel.chips[index], LEFT)
    assert desk.scenario == PRESETS[index].apply(start)
    assert [chip.is_on for chip in desk.panel.chips] == [number == index for number in range(len(PRESETS))]
    desk.store.undo()
    assert desk.scenario == start
    assert not any(chip.is_on for chip in desk.panel.chips)


# --- pickers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "key", "title"),
    [
        ("model", "Gemma 3 27B", "Gemma 3 27B"),
        ("accelerator", "L4", "L4"),
        ("weights_dtype", "fp8", "FP8"),
        ("kv_dtype", "int8", "INT8"),
    ],
)
def test_that_a_picker_sets_its_field_and_shows_it(desk: Desk, field: str, key: str, title: str) -> None:
    desk.choose(field, key)
    assert getattr(desk.scenario, field) == key
    assert desk.panel.pickers[field].choice == title
    assert desk.sentences == []


@pytest.mark.parametrize(
    ("field", "search"),
    [("model", "meta-llama/Llama-3.1-70B"), ("model", "microsoft phi-4"), ("accelerator", "nvidia L4")],
)
def test_that_search_finds_by_alias_and_enter_chooses(desk: Desk, field: str, search: str) -> None:
    catalogue = default_catalogue()
    named = catalogue.model(search) if field == "model" else catalogue.accelerator(search)
    popup = desk.popup(field)
    desk.bot.keyClicks(popup.search, search)
    found = [popup.list.item(row).data(KEY) for row in range(popup.list.count())]
    assert named.name in found
    popup.list.setCurrentRow(found.index(named.name))
    desk.bot.keyClick(popup.search, Key.Key_Return)
    assert getattr(desk.scenario, field) == named.name


@pytest.mark.parametrize(("field", "search"), [("model", "lamma 3.1 8b"), ("accelerator", "h101")])
def test_that_a_near_miss_offers_three_names(desk: Desk, field: str, search: str) -> None:
    popup = desk.popup(field)
    desk.bot.keyClicks(popup.search, search)
    assert popup.list.count() == 3
    chosen = popup.list.item(0).data(KEY)
    desk.bot.keyClick(popup.search, Key.Key_Return)
    assert getattr(desk.scenario, field) == chosen


@pytest.mark.parametrize("field", ["model", "accelerator", "weights_dtype", "kv_dtype"])
def test_that_escape_leaves_a_list_without_a_change(desk: Desk, field: str) -> None:
    popup = desk.popup(field)
    desk.bot.keyClick(popup.focusWidget(), Key.Key_Down)
    desk.bot.keyClick(popup.focusWidget(), Key.Key_Escape)
    assert not any(isinstance(w, ChoicePopup) and w.isVisible() for w in QApplication.topLevelWidgets())
    assert desk.scenario == Scenario()
    assert not desk.store.can_undo


def test_that_the_present_choice_is_the_one_a_list_opens_on(desk: Desk) -> None:
    desk.store.put(Scenario(model="Phi-4 14B", kv_dtype="fp8"))
    assert desk.popup("model").list.currentItem().data(KEY) == "Phi-4 14B"


@pytest.mark.parametrize("accelerator", ["TPU v5e", "TPU v6e", "Gaudi 2"])
def test_that_a_format_without_a_rate_on_the_accelerator_is_one_sentence_and_no_change(
    desk: Desk, accelerator: str
) -> None:
    desk.choose("accelerator", accelerator)
    before = desk.scenario
    assert before.accelerator == accelerator
    desk.choose("weights_dtype", "fp32")
    assert desk.scenario == before
    assert len(desk.sentences) == 1
    assert accelerator in desk.sentences[0]
    assert "FP32" in desk.sentences[0]
    assert desk.panel.pickers["weights_dtype"].choice == "BF16"
    desk.store.undo()
    assert desk.scenario == Scenario()


def test_that_an_accelerator_without_a_rate_for_the_format_is_one_sentence_and_no_change(desk: Desk) -> None:
    desk.choose("weights_dtype", "fp32")
    before = desk.scenario
    desk.choose("accelerator", "TPU v5e")
    assert desk.scenario == before
    assert len(desk.sentences) == 1
    assert desk.panel.pickers["accelerator"].choice == "H100 SXM"


# --- what is shown -------------------------------------------------------------------------------


def test_that_the_panel_follows_the_store(desk: Desk) -> None:
    other = Scenario(
        model="gpt-oss 120B",
        accelerator="B200",
        accelerators=2,
        weights_dtype="mxfp4",
        kv_dtype="fp8",
        prompt_tokens=4_096,
        output_tokens=300,
        others=7,
        others_context_tokens=900,
        cached_tokens=1_000,
    )
    desk.store.put(other)
    desk.store.flush()
    panel = desk.panel
    assert [panel.pickers[name].choice for name in panel.pickers] == ["gpt-oss 120B", "B200", "MXFP4", "FP8"]
    assert {name: panel.sliders[name].value for name in panel.sliders} == {
        "prompt_tokens": 4_096,
        "output_tokens": 300,
        "others": 7,
        "cached_tokens": 1_000,
    }
    for name, words in (
        ("accelerators", "2"),
        ("prompt_tokens", "4,096"),
        ("output_tokens", "300"),
        ("others", "7"),
        ("others_context_tokens", "900"),
        ("cached_tokens", "1,000"),
    ):
        assert words in panel.edits[name].text()
    assert "GB" in panel.memory.accessibleDescription()


def test_that_every_control_has_a_name_and_can_be_reached_by_tab(desk: Desk) -> None:
    panel = desk.panel
    controls: list[QWidget] = [
        *panel.pickers.values(),
        *panel.edits.values(),
        *panel.sliders.values(),
        *panel.chips,
    ]
    assert all(control.accessibleName() for control in controls)
    assert all(control.toolTip() for control in (*panel.pickers.values(), *panel.edits.values()))
    reached = []
    panel.pickers["model"].setFocus(Qt.FocusReason.TabFocusReason)
    for _ in range(len(controls)):
        reached.append(panel.focusWidget())
        desk.bot.keyClick(panel.focusWidget(), Key.Key_Tab)
    assert set(reached) == set(controls)
    # in the order in which they are read: never up the panel again, save for a slider and its value
    tops = [widget.mapTo(panel, QPoint(0, 0)).y() for widget in reached]
    assert all(after >= before - 30 for before, after in itertools.pairwise(tops))


def test_that_both_themes_and_all_scales_are_painted(desk: Desk) -> None:
    looks = []
    for theme in (DARK, LIGHT):
        desk.panel.set_look(theme, 1.0)
        looks.append(desk.panel.grab().toImage())
    assert looks[0] != looks[1]


# --- room ----------------------------------------------------------------------------------------

SIZES = [
    (1024, 640),
    (1280, 720),
    (1366, 768),
    (1440, 900),
    (1920, 1080),
    (2560, 1440),
    (3840, 2160),
    (1024, 1400),
]


def inside(parent: QWidget, child: QWidget) -> QRect:
    return QRect(child.mapTo(parent, QPoint(0, 0)), child.size())


@pytest.mark.parametrize(("width", "height"), SIZES, ids=lambda size: str(size))
def test_that_no_control_leaves_the_panel_or_lies_on_another(
    open_window: object, width: int, height: int
) -> None:
    window: MainWindow = open_window(width=width, height=height)
    panel = window.panel
    assert window.scale == interface_scale(width, height)
    children = [c for c in panel.children() if isinstance(c, QWidget) and c.isVisible()]
    assert len(children) >= 20
    for child in children:
        assert panel.rect().contains(child.geometry()), child.accessibleName()
        assert child.height() >= 12 * window.scale
        assert child.width() >= 40 * window.scale
    for one, other in itertools.combinations(children, 2):
        names = (one.accessibleName(), other.accessibleName())
        shared = one.geometry().intersected(other.geometry())
        # a value stands right above its slider: a hair's breadth of both boxes is empty
        assert shared.height() <= 2 * window.scale or shared.width() <= 2 * window.scale, names


@pytest.mark.parametrize(("width", "height"), SIZES, ids=lambda size: str(size))
def test_that_every_control_reads_whole(open_window: object, width: int, height: int) -> None:
    window: MainWindow = open_window(width=width, height=height)
    for edit in window.panel.edits.values():
        assert edit.fontMetrics().horizontalAdvance(edit.text()) <= edit.width(), edit.text()
        assert edit.fontMetrics().height() <= edit.height() + 1
    QCoreApplication.processEvents()


@pytest.mark.parametrize(("width", "height"), [(800, 450), (1024, 640), (1280, 720), (1920, 1080)])
@pytest.mark.parametrize("text_size", [0.8, 1.0, 1.4])
def test_that_no_preset_is_cut_off(
    open_window: Callable[..., MainWindow], width: int, height: int, text_size: float
) -> None:
    window = open_window(width=width, height=height)
    window.text_size = text_size
    window.resize(width + 40, height)
    window.resize(width, height)
    for chip, preset in zip(window.panel.chips, PRESETS, strict=True):
        room = chip.width() - 6 * chip.scale
        assert text_width(chip.text(), CHIP_SIZE * chip.scale, True) <= room, chip.text()
        assert preset.title.startswith(chip.text())
        assert chip.accessibleName() == preset.title
