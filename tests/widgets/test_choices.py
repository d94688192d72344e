"""The list that a picker opens: found by any name, chosen by keys or mouse, left without a trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from pdviz.catalogue import default_catalogue
from pdviz.scene.marks.theme import DARK, LIGHT
from pdviz.widgets.kit.choices import DETAIL, KEY, SEARCH_FROM, Choice, ChoicePopup, Row, matching
from pdviz.widgets.kit.palette import colour
from pdviz.widgets.kit.scroll_bars import bar_width
from pdviz.widgets.shell.window import MainWindow

Key = Qt.Key
FEW = tuple(Choice(name, name.upper()) for name in ("bf16", "fp8", "int4"))


def models() -> tuple[Choice, ...]:
    return tuple(Choice(m.name, m.name, m.note, " ".join(m.aliases)) for m in default_catalogue().models)


def nearest(text: str) -> list[str]:
    return list(default_catalogue().nearest_models(text))


class Opened:
    """A popup below a button, and what was chosen in it."""

    def __init__(self, button: QWidget, choices: tuple[Choice, ...], current: str, **options: object) -> None:
        self.chosen: list[str] = []
        self.popup = ChoicePopup(choices, current, DARK, 1.0, button, **options)
        self.popup.chosen.connect(self.chosen.append)
        self.closed: list[bool] = []
        self.popup.destroyed.connect(lambda: self.closed.append(True))
        self.popup.open_below(button)

    def rows(self) -> list[str]:
        return [str(self.popup.list.item(row).data(KEY)) for row in range(self.popup.list.count())]

    def current(self) -> str:
        return str(self.popup.list.currentItem().data(KEY))

    def is_closed(self) -> bool:
        QCoreApplication.sendPostedEvents(None, 0)
        return bool(self.closed) or not self.popup.isVisible()


@pytest.fixture
def opened(qtbot: QtBot) -> Callable[..., Opened]:
    button = QWidget()
    qtbot.addWidget(button)
    button.setGeometry(100, 100, 200, 32)
    button.show()
    kept: list[object] = [button]

    def open_popup(choices: tuple[Choice, ...], current: str = "", **options: object) -> Opened:
        made = Opened(button, choices, current, **options)
        kept.append(made)
        return made

    return open_popup


# --- searching -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("search", "name"),
    [
        ("llama 3.1 8", "Llama 3.1 8B"),
        ("8b LLAMA", "Llama 3.1 8B"),
        ("Llama-3.1-8B", "Llama 3.1 8B"),
        ("meta-llama/Llama-3.1-8B", "Llama 3.1 8B"),
        ("gpt oss", "gpt-oss 20B"),
        ("  phi-4 ", "Phi-4 14B"),
    ],
)
def test_that_a_model_is_found_by_its_name_or_any_alias_however_it_is_written(search: str, name: str) -> None:
    assert name in [choice.key for choice in matching(models(), search)]


def test_that_every_model_is_found_by_its_own_name_and_each_of_its_aliases() -> None:
    for entry in default_catalogue().models:
        for words in (entry.name, *entry.aliases):
            assert entry.name in [choice.key for choice in matching(models(), words)], words


def test_that_titles_come_before_other_words_and_nothing_hides_everything() -> None:
    choices = (Choice("a", "other", "llama"), Choice("b", "llama"), Choice("c", "third"))
    assert [choice.key for choice in matching(choices, "llama")] == ["b", "a"]
    assert matching(choices, "") == list(choices)
    assert matching(choices, "llama third") == []


@pytest.mark.parametrize(
    ("search", "some", "none"),
    [
        ("mla", {"DeepSeek V3", "DeepSeek R1", "Kimi K2", "GLM-4.7 Flash 30B-A3B"}, {"Llama 3.1 8B"}),
        ("latent", {"DeepSeek R1", "Kimi K2.5"}, {"Qwen3 8B"}),
        ("moe", {"Mixtral 8x7B", "DeepSeek V3", "gpt-oss 20B", "Qwen3.5 35B-A3B"}, {"Llama 3.1 8B"}),
        ("mixture", {"DeepSeek V3", "Jamba v0.1 52B"}, {"Mamba 2.8B"}),
        ("mixture-of-experts", {"Kimi K2.5"}, {"Phi-4 14B"}),
        (
            "hybrid",
            {"Jamba v0.1 52B", "Qwen3.5 27B", "Nemotron 3 Nano 30B-A3B"},
            {"Mamba 2.8B", "Gemma 2 2B"},
        ),
        ("state space", {"Mamba 2.8B", "Jamba v0.1 52B"}, {"Llama 3.1 8B"}),
        ("mamba", {"Mamba 2.8B", "Jamba v0.1 52B", "Nemotron 3 Nano 30B-A3B"}, {"Qwen3.5 27B"}),
        ("linear attention", {"Qwen3.5 27B"}, {"Llama 3.1 8B"}),
        ("sliding", {"Gemma 2 2B", "Mistral 7B v0.1", "gpt-oss 20B"}, {"Llama 3.1 8B"}),
        ("sliding window", {"Phi-4 mini 3.8B"}, {"Llama 4 Scout 17B-16E"}),
        ("gqa", {"Llama 3.1 8B"}, {"Llama 2 7B", "DeepSeek V3", "Falcon 7B"}),
        ("multi-query", {"Falcon 7B"}, {"Llama 3.1 8B"}),
        ("alibaba", {"Qwen3 8B"}, {"Llama 3.1 8B"}),
        ("zhipu", {"GLM-4.5 355B"}, {"Qwen3 8B"}),
        ("mistral ai", {"Mixtral 8x7B"}, {"Qwen3 8B"}),
    ],
)
def test_that_models_are_found_by_how_they_are_built_and_who_makes_them(
    window: MainWindow, search: str, some: set[str], none: set[str]
) -> None:
    found = {choice.key for choice in matching(window.panel.choices("model"), search)}
    assert some <= found
    assert not none & found


@pytest.mark.parametrize(("search", "name"), [("amd", "MI300X"), ("nvidia", "H100 SXM"), ("google", "TPU")])
def test_that_accelerators_are_found_by_their_makers(window: MainWindow, search: str, name: str) -> None:
    found = matching(window.panel.choices("accelerator"), search)
    assert any(name in choice.key for choice in found)
    assert len(found) < len(window.panel.choices("accelerator"))


# --- the popup -----------------------------------------------------------------------------------


def test_that_a_list_opens_on_the_present_choice_with_the_keyboard_in_the_search(
    opened: Callable[..., Opened],
) -> None:
    held = opened(models(), "Phi-4 14B")
    assert held.current() == "Phi-4 14B"
    assert held.rows() == [choice.key for choice in models()]
    assert held.popup.focusWidget() is held.popup.search
    assert held.popup.search.accessibleName()
    assert held.popup.list.accessibleName()


def test_that_short_lists_have_no_search_and_are_used_by_keys_all_the_same(
    opened: Callable[..., Opened], qtbot: QtBot
) -> None:
    assert len(FEW) < SEARCH_FROM
    held = opened(FEW, "bf16")
    assert not held.popup.search.isVisible()
    assert held.popup.focusWidget() is held.popup.list
    qtbot.keyClick(held.popup.list, Key.Key_Down)
    qtbot.keyClick(held.popup.list, Key.Key_Return)
    assert held.chosen == ["fp8"]
    assert held.is_closed()


def test_that_typing_an_alias_and_enter_chooses_the_model(
    opened: Callable[..., Opened], qtbot: QtBot
) -> None:
    held = opened(models(), "Phi-4 14B")
    qtbot.keyClicks(held.popup.search, "meta-llama/Llama-3.1-8B")
    assert held.rows()[0] == "Llama 3.1 8B"
    qtbot.keyClick(held.popup.search, Key.Key_Return)
    assert held.chosen == ["Llama 3.1 8B"]
    assert held.is_closed()


def test_that_an_unknown_text_offers_the_nearest_three_and_says_so(
    opened: Callable[..., Opened], qtbot: QtBot
) -> None:
    held = opened(models(), "Phi-4 14B", nearest=nearest)
    qtbot.keyClicks(held.popup.search, "lamma 3.1 8b")
    assert len(held.rows()) == 3
    assert held.rows() == nearest("lamma 3.1 8b")
    assert "Llama 3.1 8B" in held.rows()
    assert all("lamma" in str(held.popup.list.item(row).toolTip()) for row in range(3))
    assert held.chosen == []
    held.popup.search.clear()
    assert len(held.rows()) == len(models())


def test_that_enter_on_an_empty_list_chooses_nothing(opened: Callable[..., Opened], qtbot: QtBot) -> None:
    held = opened(models(), "Phi-4 14B")
    qtbot.keyClicks(held.popup.search, "zzzz")
    assert held.popup.list.item(0).text() == "Nothing matches"
    qtbot.keyClick(held.popup.search, Key.Key_Return)
    assert held.chosen == []


@pytest.mark.parametrize("choices", [FEW, models()], ids=["short", "long"])
def test_that_escape_closes_without_a_choice(
    opened: Callable[..., Opened], qtbot: QtBot, choices: tuple[Choice, ...]
) -> None:
    held = opened(choices, choices[1].key)
    qtbot.keyClick(held.popup.focusWidget(), Key.Key_Escape)
    assert held.is_closed()
    assert held.chosen == []


def test_that_arrows_and_pages_move_in_the_list_while_the_search_has_the_keyboard(
    opened: Callable[..., Opened], qtbot: QtBot
) -> None:
    held = opened(models(), models()[0].key)
    search = held.popup.search
    for key, row in (
        (Key.Key_Up, 0),
        (Key.Key_Down, 1),
        (Key.Key_Down, 2),
        (Key.Key_Up, 1),
        (Key.Key_PageDown, 9),
        (Key.Key_PageUp, 1),
        (Key.Key_PageUp, 0),
    ):
        qtbot.keyClick(search, key)
        assert held.popup.list.currentRow() == row
    for _ in range(40):
        qtbot.keyClick(search, Key.Key_PageDown)
    assert held.popup.list.currentRow() == len(models()) - 1
    assert held.chosen == []


def test_that_a_click_chooses_once(opened: Callable[..., Opened], qtbot: QtBot) -> None:
    held = opened(FEW, "bf16")
    place = held.popup.list.visualItemRect(held.popup.list.item(2)).center()
    qtbot.mouseClick(held.popup.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert held.chosen == ["int4"]
    assert held.is_closed()


@pytest.mark.parametrize("corner", ["top left", "bottom right", "bottom left"])
@pytest.mark.parametrize("choices", [FEW, models()], ids=["short", "long"])
@pytest.mark.parametrize("scale", [0.8, 1.0, 3.0])
def test_that_a_list_opens_wholly_on_the_screen(
    qtbot: QtBot, corner: str, choices: tuple[Choice, ...], scale: float
) -> None:
    area = QApplication.primaryScreen().availableGeometry()
    button = QWidget()
    qtbot.addWidget(button)
    x = area.left() if "left" in corner else area.right() - 120
    y = area.top() if "top" in corner else area.bottom() - 30
    button.setGeometry(x, y, 120, 30)
    button.show()
    popup = ChoicePopup(choices, choices[0].key, LIGHT, scale, button)
    popup.open_below(button)
    frame = popup.geometry()
    assert area.top() <= frame.top()
    assert frame.bottom() <= area.bottom() + 1
    assert frame.right() <= area.right() + 1
    if frame.width() <= area.width():
        assert area.left() <= frame.left()
    # it opens beside its button, never over it, where there is room on either side
    place = button.mapToGlobal(QPoint(0, 0)).y()
    if frame.height() < max(place - area.top(), area.bottom() - place - 30):
        assert frame.bottom() <= place or frame.top() >= place + 30
    popup.close()


def test_that_rows_are_painted_in_the_theme(qtbot: QtBot) -> None:
    looks = []
    for theme in (DARK, LIGHT):
        button = QWidget()
        qtbot.addWidget(button)
        button.resize(200, 30)
        button.show()
        popup = ChoicePopup(models(), "Phi-4 14B", theme, 1.0, button)
        popup.open_below(button)
        looks.append(popup.list.viewport().grab().toImage())
        assert looks[-1].pixelColor(3, looks[-1].height() - 3).lightness() < 128 or not theme.is_dark
        popup.close()
    assert looks[0] != looks[1]


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 1080), (900, 520)])
@pytest.mark.parametrize("field", ["model", "accelerator", "weights_dtype"])
def test_that_every_word_of_every_row_can_be_read(
    open_window: Callable[..., MainWindow], field: str, width: int, height: int
) -> None:
    window = open_window(width=width, height=height)
    window.panel.open_choices(field)
    popup = window.panel.findChild(ChoicePopup)
    assert popup is not None
    row = popup.list.itemDelegate()
    assert isinstance(row, Row)
    for number in range(popup.list.count()):
        item = popup.list.item(number)
        detail = str(item.data(DETAIL))
        assert " ".join(row.lines(detail)) == detail
        assert popup.list.visualItemRect(item).height() == row.height(detail)
    assert row.room + 24 * window.scale <= popup.list.viewport().width()
    popup.close()


def test_that_few_hits_make_a_low_list_and_all_of_them_the_first_one(
    opened: Callable[..., Opened], qtbot: QtBot
) -> None:
    held = opened(models(), "Phi-4 14B")
    before = held.popup.geometry()
    qtbot.keyClicks(held.popup.search, "bloom")
    assert held.rows() == ["BLOOM 176B"]
    after = held.popup.geometry()
    assert after.topLeft() == before.topLeft()
    assert after.width() == before.width()
    assert after.height() < 120
    rect = held.popup.list.visualItemRect(held.popup.list.item(0))
    assert abs(held.popup.list.viewport().height() - rect.height()) <= 1
    assert held.popup.list.verticalScrollBar().maximum() == 0
    held.popup.search.clear()
    assert held.popup.geometry() == before


def test_that_a_list_above_its_button_stays_at_it_while_it_is_searched(qtbot: QtBot) -> None:
    area = QApplication.primaryScreen().availableGeometry()
    button = QWidget()
    qtbot.addWidget(button)
    button.setGeometry(area.left() + 20, area.bottom() - 40, 200, 30)
    button.show()
    popup = ChoicePopup(models(), "Phi-4 14B", DARK, 1.0, button)
    popup.open_below(button)
    bottom = popup.geometry().bottom()
    assert bottom < button.mapToGlobal(QPoint(0, 0)).y()
    qtbot.keyClicks(popup.search, "bloom")
    assert popup.geometry().bottom() == bottom
    popup.close()


@pytest.mark.parametrize("scale", [0.8, 1.0, 2.0])
def test_that_bars_are_thin_and_without_arrows(qtbot: QtBot, scale: float) -> None:
    for theme in (DARK, LIGHT):
        button = QWidget()
        qtbot.addWidget(button)
        button.resize(200, 30)
        button.show()
        popup = ChoicePopup(models(), "Llama 3.1 8B", theme, scale, button)
        popup.open_below(button)
        bar = popup.list.verticalScrollBar()
        assert bar.isVisible()
        assert bar.width() == bar_width(scale)
        image = bar.grab().toImage()
        middle = bar.width() // 2
        assert image.pixelColor(middle, round(8 * scale)) == colour(theme.faint), "the handle, no arrow"
        assert image.pixelColor(middle, image.height() - 4) != colour(theme.faint)
        popup.close()


def test_that_an_open_file_comes_first_and_is_the_present_choice(
    window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    config = {**default_catalogue().model("Llama 3.1 8B").config, "num_hidden_layers": 7}
    (tmp_path / "mine.json").write_text(json.dumps(config), encoding="utf-8")
    window.sharing.open_file(str(tmp_path / "mine.json"))
    qtbot.waitUntil(lambda: not window.sharing.is_reading, timeout=5_000)
    window.store.flush()
    window.panel.open_choices("model")
    popup = window.panel.findChild(ChoicePopup)
    assert popup is not None
    first = popup.list.item(0)
    assert first is popup.list.currentItem()
    assert first.text() == "mine.json"
    assert first.data(KEY) == str(tmp_path / "mine.json")
    assert first.data(DETAIL) == "your file · 2.58 B · 28 KiB KV/token · 131,072 context · dense"
    popup.close()
    window.panel.edit(model="Llama 3.1 8B")
    window.store.flush()
    assert window.panel.choices("model")[0].key == "Llama 3.1 8B"
