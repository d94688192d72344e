"""The card that explains a figure: where it stands, what can be done with it, when it comes and goes."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, QUrl
from PySide6.QtGui import QContextMenuEvent, QCursor, QGuiApplication, QShortcut, QTextDocument
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from pdviz.evaluation import Result, evaluate
from pdviz.explain import KEYS, explain, explanation_text
from pdviz.scenario import Scenario
from pdviz.scene.marks.theme import DARK, LIGHT, Theme, contrast
from pdviz.widgets.kit.focus_ring import FocusRing
from pdviz.widgets.kit.palette import colour
from pdviz.widgets.kit.pointed import Pointed, always
from pdviz.widgets.shell import explainer as explainer_module
from pdviz.widgets.shell.explain_card import APART, SCHEME, ExplainCard, distance, placed, write_explanation
from pdviz.widgets.shell.explainer import Explainer
from pdviz.widgets.shell.window import MainWindow

RESULT = evaluate(Scenario(model="DeepSeek V3", accelerators=16, others=31))


# --- where it stands -------------------------------------------------------------------------------


@st.composite
def places(draw: st.DrawFn) -> tuple[QSize, QRect, QRect]:
    """A card, a figure and the room that there is; the card is never larger than the room."""
    area = QRect(draw(st.integers(-50, 50)), draw(st.integers(-50, 50)), 1000, 700)
    size = QSize(draw(st.integers(50, 1000)), draw(st.integers(50, 700)))
    w, h = draw(st.integers(1, 400)), draw(st.integers(1, 300))
    x = draw(st.integers(area.left(), area.right() - w))
    y = draw(st.integers(area.top(), area.bottom() - h))
    return size, QRect(x, y, w, h), area


@given(places())
def test_that_the_card_is_inside_and_off_its_figure_where_there_is_room(
    place: tuple[QSize, QRect, QRect],
) -> None:
    size, box, area = place
    card = QRect(placed(size, box, area), size)
    assert area.contains(card)
    sides = (
        area.right() - box.right() - APART >= size.width(),
        box.left() - area.left() - APART >= size.width(),
        area.bottom() - box.bottom() - APART >= size.height(),
        box.top() - area.top() - APART >= size.height(),
    )
    if any(sides):
        assert not card.intersects(box)


def test_that_the_right_side_is_taken_first() -> None:
    area, size = QRect(0, 0, 1000, 700), QSize(300, 200)
    assert placed(size, QRect(100, 50, 100, 50), area) == QPoint(200 + APART, 50)
    assert placed(size, QRect(800, 50, 100, 50), area) == QPoint(800 - APART - 300, 50)
    assert placed(size, QRect(100, 600, 800, 50), area) == QPoint(100, 600 - APART - 200)
    assert placed(size, QRect(100, 650, 100, 50), area) == QPoint(200 + APART, 500)


# --- what it says ----------------------------------------------------------------------------------


def written(key: str, theme: Theme = DARK, scale: float = 1.0, result: Result = RESULT) -> QTextDocument:
    document = QTextDocument()
    write_explanation(document, explain(result, key), theme, scale)
    return document


def links(document: QTextDocument) -> list[str]:
    found = []
    block = document.begin()
    while block.isValid():
        fragments = block.begin()
        while not fragments.atEnd():
            form = fragments.fragment().charFormat()
            if form.isAnchor():
                found.append(form.anchorHref())
            fragments += 1
        block = block.next()
    return found


@pytest.mark.parametrize("key", KEYS)
def test_that_all_of_an_explanation_is_on_the_card(key: str) -> None:
    one = explain(RESULT, key)
    text = written(key).toPlainText().replace("\u00a0", " ").replace("\u200b", "").replace("\u2060", "")
    lines = text.split("\n")
    expected = [one.title, one.value, one.summary, one.formula, f"= {one.worked}", *one.steps, *one.symbols]
    assert lines[: len(expected)] == expected
    assert lines[len(expected) : len(expected) + 1 + len(one.sources)] == [one.fidelity, *one.sources]
    assert links(written(key)) == [SCHEME + other for other in one.inputs]


def test_that_markup_in_a_text_is_text() -> None:
    import msgspec

    one = msgspec.structs.replace(explain(RESULT, "ttft"), title="<b>a & b</b>", value="1 < 2")
    document = QTextDocument()
    write_explanation(document, one, DARK, 1.0)
    assert document.toPlainText().startswith("<b>a & b</b>\n1 < 2\n")


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_that_every_role_on_the_card_is_legible(theme: Theme) -> None:
    for role in ("text", "muted", "faint"):
        assert contrast(getattr(theme, role), theme.raised) >= 4.5, role


def test_that_type_grows_with_the_interface() -> None:
    small, large = written("ttft", scale=0.8), written("ttft", scale=2.3)
    for document in (small, large):
        document.setTextWidth(5000)
    assert large.size().height() > 2.5 * small.size().height()


# --- the card --------------------------------------------------------------------------------------


class World:
    """A window with two figures, a text field and a card that explains."""

    def __init__(self, qtbot: QtBot) -> None:
        self.qtbot = qtbot
        self.window = QWidget()
        qtbot.addWidget(self.window)
        self.window.resize(780, 700)
        self.first, self.second = QWidget(self.window), QWidget(self.window)
        self.first.setGeometry(20, 20, 120, 60)
        self.second.setGeometry(20, 100, 120, 60)
        self.field = QLineEdit(self.window)
        self.field.setGeometry(20, 600, 100, 30)
        self.result = RESULT
        self.pass_index = 1
        self.explainer = Explainer(lambda: self.result, self.window, rate=lambda: 0.5)
        self.explainer.register(self.first, always("ttft"))
        self.explainer.register(self.second, self.what_is_at)
        self.window.show()
        self.window.activateWindow()
        qtbot.waitExposed(self.window)
        self.field.setFocus()

    def what_is_at(self, at: QPoint) -> Pointed | None:
        """The left half is a figure of a pass, a strip at the right is nothing."""
        if at.x() >= 100:
            return None
        key = "decode.time" if at.x() < 60 else "memory.kv"
        return Pointed(key, self.pass_index, QRect(0 if at.x() < 60 else 60, 0, 60, 60))

    def rest_on(self, widget: QWidget, x: int, y: int) -> None:
        """Moves the pointer there, from elsewhere where it is there already."""
        if QCursor.pos() == widget.mapToGlobal(QPoint(x, y)):
            self.qtbot.mouseMove(self.window, QPoint(5, 690))
        self.qtbot.mouseMove(widget, QPoint(x, y))

    @property
    def card(self) -> ExplainCard:
        card = self.window.findChild(ExplainCard)
        assert isinstance(card, ExplainCard)
        return card

    @property
    def key(self) -> str | None:
        return self.explainer.shown.key if self.explainer.shown is not None else None


@pytest.fixture
def world(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(explainer_module, "HOVER_MS", 60)
    monkeypatch.setattr(explainer_module, "NEXT_MS", 30)
    monkeypatch.setattr(explainer_module, "LEAVE_MS", 60)
    made = World(qtbot)
    yield made
    made.explainer.close()
    made.window.close()


def test_that_nothing_is_made_before_the_first_use(world: World) -> None:
    assert world.window.findChild(ExplainCard) is None
    assert world.explainer.children() == []
    world.explainer.refresh()
    world.explainer.set_look(LIGHT, 1.0)
    world.explainer.close()
    assert world.window.findChild(ExplainCard) is None


def test_that_nothing_is_imported_before_the_first_use() -> None:
    code = (
        "import sys, pdviz.widgets.shell.explainer; "
        "loaded = [n for n in sys.modules if n.startswith('pdviz.explain') or n.endswith('explain_card')]; "
        "sys.exit(str(loaded) if loaded else 0)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (found.returncode, found.stderr) == (0, "")


def test_that_the_default_waits_are_those_of_a_tooltip() -> None:
    assert explainer_module.HOVER_MS == 450
    assert explainer_module.NEXT_MS < explainer_module.LEAVE_MS < explainer_module.HOVER_MS


def test_that_resting_on_a_figure_explains_it(world: World, qtbot: QtBot) -> None:
    world.rest_on(world.first, 30, 30)
    assert world.key is None
    qtbot.waitUntil(lambda: world.key == "ttft", timeout=2000)
    assert not world.explainer.is_pinned
    assert world.field.hasFocus()
    figure = QRect(world.first.pos(), world.first.size())
    assert not world.card.geometry().intersects(figure)
    assert world.window.rect().contains(world.card.geometry())


def test_that_passing_over_a_figure_explains_nothing(world: World, qtbot: QtBot) -> None:
    world.rest_on(world.first, 30, 30)
    world.rest_on(world.window, 400, 500)
    qtbot.wait(120)
    assert world.key is None


def test_that_leaving_takes_the_card_away(world: World, qtbot: QtBot) -> None:
    world.rest_on(world.first, 30, 30)
    qtbot.waitUntil(lambda: world.key == "ttft", timeout=2000)
    world.rest_on(world.window, 5, 650)
    qtbot.waitUntil(lambda: world.key is None, timeout=2000)


def test_that_the_card_stays_while_the_mouse_is_on_it(world: World, qtbot: QtBot) -> None:
    world.rest_on(world.first, 30, 30)
    qtbot.waitUntil(lambda: world.key == "ttft", timeout=2000)
    world.rest_on(world.card, 40, 40)
    qtbot.wait(150)
    assert world.key == "ttft"
    world.rest_on(world.window, 5, 650)
    qtbot.waitUntil(lambda: world.key is None, timeout=2000)


def test_that_the_next_figure_is_explained_sooner(world: World, qtbot: QtBot) -> None:
    world.rest_on(world.first, 30, 30)
    qtbot.waitUntil(lambda: world.key == "ttft", timeout=2000)
    world.rest_on(world.second, 30, 30)
    qtbot.waitUntil(lambda: world.key == "decode.time", timeout=2000)
    world.rest_on(world.second, 80, 30)
    qtbot.waitUntil(lambda: world.key == "memory.kv", timeout=2000)
    world.rest_on(world.second, 110, 30)  # here is nothing
    qtbot.waitUntil(lambda: world.key is None, timeout=2000)


def test_that_a_click_pins_the_card_and_another_takes_it_away(world: World, qtbot: QtBot) -> None:
    qtbot.mouseClick(world.first, Qt.MouseButton.LeftButton, pos=QPoint(30, 30))
    assert world.key == "ttft"
    assert world.explainer.is_pinned
    world.rest_on(world.window, 5, 650)
    qtbot.wait(150)
    assert world.key == "ttft"
    world.rest_on(world.second, 30, 30)
    qtbot.wait(150)
    assert world.key == "ttft"  # a pinned card is not replaced by resting elsewhere
    qtbot.mouseClick(world.second, Qt.MouseButton.LeftButton, pos=QPoint(30, 30))
    assert world.key == "decode.time"
    qtbot.mouseClick(world.second, Qt.MouseButton.LeftButton, pos=QPoint(80, 30))
    assert world.key == "memory.kv"
    qtbot.mouseClick(world.second, Qt.MouseButton.LeftButton, pos=QPoint(80, 30))
    assert world.key is None


def test_that_a_drag_is_no_click(world: World, qtbot: QtBot) -> None:
    qtbot.mousePress(world.first, Qt.MouseButton.LeftButton, pos=QPoint(10, 10))
    qtbot.mouseRelease(world.first, Qt.MouseButton.LeftButton, pos=QPoint(90, 40))
    assert world.key is None
    qtbot.mouseClick(world.first, Qt.MouseButton.RightButton, pos=QPoint(30, 30))
    assert world.key is None
    qtbot.mouseClick(world.second, Qt.MouseButton.LeftButton, pos=QPoint(110, 30))
    assert world.key is None


def test_that_a_widget_with_clicks_of_its_own_keeps_them(world: World, qtbot: QtBot) -> None:
    world.explainer.register(world.second, world.what_is_at, is_clickable=False)
    qtbot.mouseClick(world.second, Qt.MouseButton.LeftButton, pos=QPoint(30, 30))
    assert world.key is None


def test_that_f2_explains_what_has_the_focus_and_escape_goes_back(world: World, qtbot: QtBot) -> None:
    world.first.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(world.first, Qt.Key.Key_F2)
    assert world.key == "ttft"
    assert world.card.text.hasFocus()
    assert world.explainer.is_pinned
    qtbot.keyClick(world.card.text, Qt.Key.Key_Escape)
    assert world.key is None
    assert world.first.hasFocus()


def test_that_the_context_key_explains_too(world: World) -> None:
    world.first.setFocus()
    at = world.first.rect().center()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, at, world.first.mapToGlobal(at))
    QApplication.sendEvent(world.first, event)
    assert world.key == "ttft"
    assert world.card.text.hasFocus()


@pytest.mark.parametrize("name", ["first", "second", "field"])
def test_that_the_focus_goes_back_to_where_it_was(world: World, qtbot: QtBot, name: str) -> None:
    before = getattr(world, name)
    before.setFocus(Qt.FocusReason.TabFocusReason)
    at = world.first.rect().center()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, at, world.first.mapToGlobal(at))
    QApplication.sendEvent(world.first, event)
    assert world.card.text.hasFocus()
    qtbot.keyClick(world.card.text, Qt.Key.Key_Escape)
    assert before.hasFocus()


def test_that_a_figure_can_be_reached_by_tab_and_shows_it(world: World, qtbot: QtBot) -> None:
    assert world.first.focusPolicy() == Qt.FocusPolicy.TabFocus
    plain = world.first.grab().toImage()
    world.first.setFocus(Qt.FocusReason.TabFocusReason)
    assert world.first.grab().toImage() != plain
    assert len(world.first.findChildren(FocusRing)) == 1
    world.second.setFocus(Qt.FocusReason.TabFocusReason)
    assert world.first.grab().toImage() == plain
    world.first.setFocus(Qt.FocusReason.MouseFocusReason)
    assert world.first.grab().toImage() == plain
    assert "F2" in world.first.whatsThis()


def test_that_a_widget_with_a_focus_of_its_own_is_left_as_it_is(world: World) -> None:
    policy = world.field.focusPolicy()
    world.explainer.register(world.field, always("itl"))
    assert world.field.focusPolicy() == policy
    world.field.setFocus(Qt.FocusReason.TabFocusReason)
    assert world.field.findChildren(FocusRing) == []


def test_that_a_widget_of_many_figures_need_not_be_a_tab_stop(world: World, qtbot: QtBot) -> None:
    panel = QWidget(world.window)
    panel.setGeometry(20, 200, 100, 50)
    panel.show()
    world.explainer.register(panel, always("peak"), is_focusable=False)
    assert panel.focusPolicy() == Qt.FocusPolicy.NoFocus
    assert panel.whatsThis() == ""
    qtbot.mouseClick(panel, Qt.MouseButton.LeftButton, pos=QPoint(10, 10))
    assert world.key == "peak"


def test_that_escape_closes_the_card_before_anything_else(world: World, qtbot: QtBot) -> None:
    pressed: list[str] = []
    shortcut = QShortcut(Qt.Key.Key_Escape, world.window)
    shortcut.activated.connect(lambda: pressed.append("escape"))
    world.window.setFocus()
    qtbot.mouseClick(world.first, Qt.MouseButton.LeftButton, pos=QPoint(30, 30))
    qtbot.keyClick(world.window, Qt.Key.Key_Escape)
    assert world.key is None
    assert pressed == []
    qtbot.keyClick(world.window, Qt.Key.Key_Escape)
    assert pressed == ["escape"]


def test_that_keys_in_the_card_are_not_shortcuts_of_the_window(world: World, qtbot: QtBot) -> None:
    pressed: list[str] = []
    shortcuts = []
    for key in ("Space", "F", "Left", "Ctrl+T"):
        shortcuts.append(QShortcut(key, world.window))
        shortcuts[-1].activated.connect(lambda key=key: pressed.append(key))
    world.first.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(world.first, Qt.Key.Key_F2)
    for key in (Qt.Key.Key_Space, Qt.Key.Key_F, Qt.Key.Key_Left):
        qtbot.keyClick(world.card.text, key)
    assert pressed == []
    qtbot.keyClick(world.card.text, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
    assert pressed == ["Ctrl+T"]


def test_that_text_can_be_selected_with_keys_and_copied(world: World, qtbot: QtBot) -> None:
    world.first.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(world.first, Qt.Key.Key_F2)
    card = world.card
    card.copy.click()
    assert QGuiApplication.clipboard().text() == explanation_text(explain(RESULT, "ttft"))
    assert card.copy.text() == "Copied"
    for _ in range(4):
        qtbot.keyClick(card.text, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert card.has_selection
    card.copy.click()
    assert QGuiApplication.clipboard().text() == "Time"
    qtbot.keyClick(card.text, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    card.copy.click()
    assert QGuiApplication.clipboard().text().startswith("Time to first token\n")
    QGuiApplication.clipboard().clear()
    qtbot.keyClick(card.text, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QGuiApplication.clipboard().text()
    assert "h100_sxm.yaml@095f58a51c4ca8e61b66ec108d86f223f8d559ce" in copied
    assert "53.6 TB/s" in copied
    assert not set(copied) & set("\u00a0\u200b\u2060\u2029")
    flags = card.text.textInteractionFlags()
    assert flags & Qt.TextInteractionFlag.TextSelectableByMouse
    assert not flags & Qt.TextInteractionFlag.TextEditable


def test_that_links_lead_from_figure_to_figure_and_back(world: World, qtbot: QtBot) -> None:
    world.rest_on(world.second, 30, 30)
    qtbot.waitUntil(lambda: world.key == "decode.time", timeout=2000)
    card = world.card

    def click(key: str) -> None:
        card.text.anchorClicked.emit(QUrl(SCHEME + key))

    click("decode.bytes")
    assert world.key == "decode.bytes"
    assert world.explainer.is_pinned
    assert links(card.text.document())[0] == f"{SCHEME}decode.time"
    click("memory.weights")
    assert links(card.text.document())[0] == f"{SCHEME}decode.bytes"
    click("decode.bytes")
    assert world.key == "decode.bytes"
    assert links(card.text.document())[0] == f"{SCHEME}decode.time"
    click("decode.time")
    assert world.key == "decode.time"
    assert links(card.text.document()) == [SCHEME + key for key in explain(RESULT, "decode.time").inputs]
    click("nonsense")
    assert world.key == "decode.time"


def test_that_an_open_card_follows_the_result(world: World, qtbot: QtBot) -> None:
    qtbot.mouseClick(world.first, Qt.MouseButton.LeftButton, pos=QPoint(30, 30))
    before = world.card.text.toPlainText()
    world.result = evaluate(Scenario(prompt_tokens=128))
    assert world.card.text.toPlainText() == before
    world.explainer.refresh()
    assert world.explainer.shown == explain(world.result, "ttft", rate=0.5)
    assert "6.39 ms" in world.card.text.toPlainText().replace("\u00a0", " ")


def test_that_a_selection_is_not_taken_away_by_news(world: World, qtbot: QtBot) -> None:
    qtbot.mouseClick(world.first, Qt.MouseButton.LeftButton, pos=QPoint(30, 30))
    world.card.text.selectAll()
    world.result = evaluate(Scenario(prompt_tokens=128))
    world.explainer.refresh()
    assert world.card.has_selection
    assert world.explainer.shown == explain(RESULT, "ttft", rate=0.5)


def test_that_a_card_that_is_not_pinned_follows_the_playhead_and_a_pinned_one_stays(
    world: World, qtbot: QtBot
) -> None:
    world.rest_on(world.second, 30, 30)
    qtbot.waitUntil(lambda: world.key == "decode.time", timeout=2000)
    world.pass_index = 40
    world.explainer.refresh()
    assert world.explainer.shown is not None
    assert world.explainer.shown.pass_index == 40
    qtbot.mouseClick(world.second, Qt.MouseButton.LeftButton, pos=QPoint(30, 30))
    world.pass_index = 41
    world.explainer.refresh()
    assert world.explainer.shown is not None
    assert world.explainer.shown.pass_index == 40


def test_that_what_is_hidden_is_not_explained(world: World, qtbot: QtBot) -> None:
    qtbot.mouseClick(world.first, Qt.MouseButton.LeftButton, pos=QPoint(30, 30))
    world.first.hide()
    assert world.key is None
    world.rest_on(world.second, 30, 30)
    world.second.hide()
    qtbot.wait(120)
    assert world.key is None


def test_that_the_speed_of_playing_is_the_window_s(world: World) -> None:
    world.explainer.open(world.first, Pointed("slow_motion"))
    assert world.explainer.shown is not None
    assert world.explainer.shown.value == "slowed 2×"


@pytest.mark.parametrize("theme", [DARK, LIGHT])
@pytest.mark.parametrize("scale", [0.8, 1.15, 2.3])
def test_that_the_card_fits_any_window_and_has_its_colours(world: World, theme: Theme, scale: float) -> None:
    world.explainer.set_look(theme, scale)
    for key, (width, height) in itertools.product(("ttft", "peak", "decode.bytes"), ((780, 700), (400, 300))):
        world.window.resize(width, height)
        world.explainer.open(world.first, Pointed(key))
        card = world.card
        assert world.window.rect().contains(card.geometry())
        assert card.copy.geometry().bottom() < card.height()
        assert card.text.geometry().bottom() < card.copy.geometry().top()
        image = card.grab().toImage()
        assert image.pixelColor(card.width() // 2, 4) == colour(theme.raised)
        document = card.text.document()
        bar = card.text.verticalScrollBar()
        assert (bar.maximum() == 0) == (document.size().height() <= card.text.viewport().height())


def test_that_a_short_text_makes_a_small_card_and_nothing_is_cut_off(world: World) -> None:
    heights = {}
    world.window.resize(790, 790)
    for key in ("slow_motion", "memory.reserve", "e2e"):
        world.explainer.open(world.first, Pointed(key))
        card = world.card
        heights[key] = card.height()
        assert card.text.verticalScrollBar().maximum() == 0
        assert card.text.document().size().height() >= card.text.viewport().height() - 6
    assert max(heights.values()) < 600
    assert len(set(heights.values())) > 1


def test_that_every_card_is_as_high_as_its_own_text_whatever_was_shown_before(world: World) -> None:
    world.window.resize(790, 790)
    world.explainer.set_look(DARK, 0.6)
    heights: dict[str, set[int]] = {}
    for closes, key in itertools.product(
        (True, False, True), ("decode.time", "slow_motion", "peak", "memory.reserve", "ttft", "slow_motion")
    ):
        if closes:
            world.explainer.close()
        world.explainer.open(world.first, Pointed(key, 1))
        for _ in range(2):
            card, text = world.card, world.card.text
            assert text.verticalScrollBar().maximum() == 0
            assert 0 <= text.viewport().height() - text.document().size().height() <= 6
            assert text.geometry().bottom() < card.copy.geometry().top()
            heights.setdefault(key, set()).add(card.height())
            QApplication.processEvents()
    assert all(len(one) == 1 for one in heights.values()), heights
    world.explainer.close()
    world.window.resize(700, 600)
    world.explainer.open(world.first, Pointed("slow_motion"))
    assert {world.card.height()} == heights["slow_motion"]


def test_that_a_card_is_near_its_figure_in_a_wide_widget(world: World) -> None:
    world.window.resize(790, 790)
    world.explainer.set_look(DARK, 0.6)
    world.first.setGeometry(100, 40, 680, 680)
    for x, y in itertools.product((0, 200, 400, 640), (0, 300, 640)):
        box = QRect(x, y, 40, 30)
        world.explainer.open(world.first, Pointed("slow_motion", box=box))
        there = world.card.geometry()
        where = box.translated(100, 40)
        assert world.window.rect().contains(there)
        assert not there.intersects(where)
        assert distance(there, where) == APART


def test_that_an_open_card_stays_inside_a_window_that_shrinks(world: World, qtbot: QtBot) -> None:
    world.explainer.open(world.first, Pointed("slow_motion"), pin=True)
    world.window.resize(420, 260)
    qtbot.waitUntil(lambda: world.window.rect().contains(world.card.geometry()), timeout=1000)


def test_that_an_open_card_follows_the_look(world: World) -> None:
    world.explainer.open(world.first, Pointed("peak"), pin=True)
    height = world.card.height()
    world.explainer.set_look(LIGHT, 1.3)
    assert world.card.height() > height
    assert world.card.grab().toImage().pixelColor(60, 4) == colour(LIGHT.raised)


def test_that_the_card_is_spoken(world: World) -> None:
    world.explainer.open(world.first, Pointed("ttft"), pin=True)
    spoken = explain(RESULT, "ttft", rate=0.5).spoken
    assert world.card.accessibleName() == "Explanation"
    assert world.card.text.accessibleName() == "Time to first token"
    assert world.card.text.accessibleDescription() == world.card.accessibleDescription() == spoken


def test_that_other_figures_of_the_same_widget_stay_in_reach(world: World) -> None:
    for x in (30, 80):
        pointed = world.what_is_at(QPoint(x, 30))
        assert pointed is not None
        world.explainer.open(world.second, pointed)
        assert not world.card.geometry().intersects(world.second.geometry())
    world.second.setGeometry(0, 200, 780, 60)  # as wide as the window: below it
    world.explainer.open(world.second, Pointed("slow_motion", box=QRect(0, 0, 60, 60)))
    assert not world.card.geometry().intersects(world.second.geometry())


def test_that_close_and_the_window_behind_are_apart(world: World, qtbot: QtBot) -> None:
    got: list[QEvent] = []
    world.window.mousePressEvent = got.append
    world.explainer.open(world.first, Pointed("ttft"), pin=True)
    qtbot.mouseClick(world.card, Qt.MouseButton.LeftButton, pos=QPoint(3, world.card.height() // 2))
    assert got == []
    assert world.key == "ttft"
    world.card.dismiss.click()
    assert world.key is None
    assert not world.explainer.is_pinned


def test_that_one_card_serves_all(world: World, qtbot: QtBot) -> None:
    for _ in range(3):
        qtbot.mouseClick(world.first, Qt.MouseButton.LeftButton, pos=QPoint(30, 30))
        qtbot.mouseClick(world.second, Qt.MouseButton.LeftButton, pos=QPoint(30, 30))
        world.explainer.close()
    assert len(world.window.findChildren(ExplainCard)) == 1


def test_that_closing_the_window_takes_the_card_away(open_window: Callable[..., MainWindow]) -> None:
    window = open_window()
    window.explainer.open(window.views["request"].figures[0], Pointed("ttft"), pin=True)
    window.close()
    assert window.explainer.shown is None
    assert not window.explainer.is_pinned
