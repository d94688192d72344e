"""The anatomy view: layers to choose, figures to explain, a button that does what it says."""

from __future__ import annotations

import msgspec
import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QImage, QKeyEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from pdviz.evaluation import Result, evaluate
from pdviz.scenario import Scenario
from pdviz.scene.anatomy.page import AnatomyPage
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import DARK, LIGHT, Theme
from pdviz.widgets.anatomy.view import AnatomyView
from pdviz.widgets.shell.window import MainWindow

WIDTH, HEIGHT = 1274, 758


def result_of(**fields: object) -> Result:
    return evaluate(msgspec.structs.replace(Scenario(), **fields))


@pytest.fixture
def view(qtbot: QtBot) -> AnatomyView:
    made = AnatomyView(result_of(model="Gemma 3 27B"))
    qtbot.addWidget(made)
    made.resize(WIDTH, HEIGHT)
    made.show()
    qtbot.waitExposed(made)
    QApplication.processEvents()
    return made


def page_of(view: AnatomyView) -> AnatomyPage:
    assert view.canvas.page is not None
    return view.canvas.page


def middle(box: Box) -> QPoint:
    return QPoint(round(box.x + box.w / 2), round(box.y + box.h / 2))


def test_that_a_click_on_a_layer_draws_it(qtbot: QtBot, view: AnatomyView) -> None:
    strip = page_of(view).strip
    assert page_of(view).index == 0
    full = strip.columns[1]
    qtbot.mouseClick(
        view.canvas,
        Qt.MouseButton.LeftButton,
        pos=QPoint(round(full.x + full.layer_w / 2), round(strip.area.y + strip.area.h / 2)),
    )
    assert page_of(view).index == 1
    assert any(text.text == "Layer 6 of 62" for text in page_of(view).layer.texts)


def test_that_keys_go_through_the_layers_and_stop_at_the_ends(qtbot: QtBot, view: AnatomyView) -> None:
    view.canvas.setFocus()
    qtbot.keyClick(view.canvas, Qt.Key.Key_Left)
    assert page_of(view).index == 0
    qtbot.keyClick(view.canvas, Qt.Key.Key_Right)
    assert page_of(view).index == 1
    qtbot.keyClick(view.canvas, Qt.Key.Key_End)
    assert page_of(view).index == len(page_of(view).parts.runs) - 1
    qtbot.keyClick(view.canvas, Qt.Key.Key_Right)
    assert page_of(view).index == len(page_of(view).parts.runs) - 1
    qtbot.keyClick(view.canvas, Qt.Key.Key_Home)
    assert page_of(view).index == 0


def test_that_these_keys_are_no_shortcuts_while_the_page_has_the_focus(view: AnatomyView) -> None:
    for key, is_taken in ((Qt.Key.Key_Left, True), (Qt.Key.Key_Down, True), (Qt.Key.Key_Space, False)):
        event = QKeyEvent(QEvent.Type.ShortcutOverride, key, Qt.KeyboardModifier.NoModifier)
        event.ignore()
        QApplication.sendEvent(view.canvas, event)
        assert event.isAccepted() == is_taken


def test_that_up_and_down_go_through_the_figures_which_are_read_out(qtbot: QtBot, view: AnatomyView) -> None:
    view.canvas.setFocus()
    qtbot.keyClick(view.canvas, Qt.Key.Key_Down)
    assert view.canvas.accessibleDescription() == "Embedding, 1,409,630,208 parameters, 5.2 %, 2.82 GB"
    pointed = view.canvas.explain_at(view.canvas.rect().center())
    assert pointed is not None
    assert pointed.key == "parts.embedding"
    qtbot.keyClick(view.canvas, Qt.Key.Key_Down)
    assert view.canvas.accessibleDescription().startswith("Attention, ")
    qtbot.keyClick(view.canvas, Qt.Key.Key_Up)
    qtbot.keyClick(view.canvas, Qt.Key.Key_Up)
    assert view.canvas.accessibleDescription().startswith("Embedding, ")


def test_that_pointing_says_what_a_layer_and_what_a_matrix_is(qtbot: QtBot, view: AnatomyView) -> None:
    page = page_of(view)
    column = page.strip.columns[0]
    qtbot.mouseMove(view.canvas, QPoint(round(column.x + 2), round(page.strip.area.y + 5)))
    shown = view.canvas.card.shown
    assert shown is not None
    assert shown.title == "Layer 1: sliding attention, window of 1,024 tokens, gated MLP"
    qtbot.mouseMove(view.canvas, middle(page.layer.weights[-1].slab.box))
    shown = view.canvas.card.shown
    assert shown is not None
    assert shown.title == "Down"
    qtbot.mouseMove(view.canvas, middle(page.table.card))
    assert view.canvas.card.shown is None


def test_that_another_model_starts_with_its_largest_layers(view: AnatomyView) -> None:
    view.choose(3)
    view.show_result(result_of(model="Gemma 3 27B", prompt_tokens=1000), frozenset())
    assert page_of(view).index == 3
    view.show_result(result_of(model="DeepSeek V3"), frozenset())
    assert page_of(view).index == 1
    assert page_of(view).parts.runs[1].count == 58


def test_that_the_button_is_there_only_where_it_does_something(qtbot: QtBot, view: AnatomyView) -> None:
    assert view.button.isVisible()
    assert view.button.text() == "Decode 69 others alongside"
    with qtbot.waitSignal(view.suggested) as taken:
        view.button.click()
    assert dict(taken.args[0].edits) == {"others": 69}
    view.show_result(result_of(model="Gemma 3 27B", others=69), frozenset())
    assert not view.button.isVisible()
    view.show_result(result_of(model="DeepSeek V3"), frozenset())
    assert view.button.text() == "Share it among 32 accelerators"


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
def test_that_the_drawing_has_the_colours_of_its_parts(view: AnatomyView, theme: Theme) -> None:
    view.set_look(theme, 1.0)
    image: QImage = view.grab().toImage()
    page = page_of(view)
    attention, *_, down = page.layer.weights
    inside = attention.slab.box
    assert image.pixelColor(QPoint(round(inside.x + 3), round(inside.y + 3))).name() == theme.part_mixer
    assert image.pixelColor(middle(down.slab.box)).name() == theme.part_mlp
    assert page.layer.kept is not None
    assert image.pixelColor(middle(page.layer.kept.box)).name() == theme.memory_kv


def test_that_the_window_shows_it_with_7_and_takes_what_its_button_offers(
    qtbot: QtBot, window: MainWindow
) -> None:
    qtbot.keyClick(window, Qt.Key.Key_7)
    assert window.view == "anatomy"
    view = window.views["anatomy"]
    assert view.isVisible()
    offered = view.button.text()
    assert offered.startswith("Decode ")
    view.button.click()
    qtbot.waitUntil(lambda: window.store.result.scenario.others > 0)
    assert f"{window.store.result.scenario.others:,}" in offered
    assert window.store.result.memory.fits
    view.canvas.setFocus()
    qtbot.keyClick(view.canvas, Qt.Key.Key_Down)
    qtbot.keyClick(view.canvas, Qt.Key.Key_F2)
    qtbot.waitUntil(lambda: window.explainer.shown is not None)
    assert window.explainer.shown is not None
    assert window.explainer.shown.key == "parts.embedding"


def test_that_the_layer_under_the_mouse_lights_up(qtbot: QtBot, view: AnatomyView) -> None:
    strip = page_of(view).strip
    column = strip.columns[0]
    middle_y = round(strip.area.y + 0.3 * strip.area.h)
    second = QPoint(round(column.x + 1.5 * column.layer_w), middle_y)
    dark = view.grab().toImage().pixelColor(second)
    qtbot.mouseMove(view.canvas, second)
    lit = view.canvas.grab().toImage()
    assert lit.pixelColor(second) != dark
    assert lit.pixelColor(QPoint(round(column.x + 0.5 * column.layer_w), middle_y)) == dark
    qtbot.mouseMove(view.canvas, middle(page_of(view).table.card))
    assert view.canvas.grab().toImage().pixelColor(second) == dark
