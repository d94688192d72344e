"""The shapes view: a list of matrices to choose from, cards that follow it, a sweep that repaints little."""

from __future__ import annotations

import msgspec
import pytest
from PySide6.QtCore import QEvent, QRect, Qt
from PySide6.QtGui import QImage, QKeyEvent, QPainter, QRegion
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from pdviz.evaluation import Result, evaluate
from pdviz.scenario import Scenario
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import DARK, LIGHT, Theme
from pdviz.scene.shapes.page import build_shapes, sweep_share
from pdviz.widgets.kit.paint import rect
from pdviz.widgets.kit.palette import colour, text_width
from pdviz.widgets.kit.slab import slab_outline
from pdviz.widgets.shapes.paint import paint_shapes_page, sweep_front
from pdviz.widgets.shapes.view import ShapesCanvas, ShapesView

WIDTH, HEIGHT = 1274, 758


def result_of(**fields: object) -> Result:
    return evaluate(msgspec.structs.replace(Scenario(), **fields))


@pytest.fixture
def view(qtbot: QtBot) -> ShapesView:
    made = ShapesView(result_of())
    qtbot.addWidget(made)
    made.resize(WIDTH, HEIGHT)
    made.show()
    qtbot.waitExposed(made)
    QApplication.processEvents()
    return made


def name_of(view: ShapesView) -> str:
    assert view.canvas.shapes is not None
    return view.canvas.shapes.matrix.name


def test_that_the_attention_output_is_shown_first_and_chosen_in_the_list(view: ShapesView) -> None:
    assert name_of(view) == "Attention output"
    assert view.list.currentRow() == view.index == 1


def test_that_arrow_keys_choose_another_matrix(qtbot: QtBot, view: ShapesView) -> None:
    with qtbot.waitSignal(view.matrix_chosen) as chosen:
        qtbot.keyClick(view.list, Qt.Key.Key_Down)
    assert chosen.args == [2]
    assert name_of(view) == "Gate and up"
    qtbot.keyClick(view.list, Qt.Key.Key_End)
    assert name_of(view) == "Head"
    qtbot.keyClick(view.list, Qt.Key.Key_Home)
    assert name_of(view) == "Queries, keys, values"


def test_that_a_click_chooses_a_matrix(qtbot: QtBot, view: ShapesView) -> None:
    place = view.list.visualItemRect(view.list.item(3)).center()
    qtbot.mouseClick(view.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert name_of(view) == "Down"


def test_that_keys_that_move_in_the_list_are_no_shortcuts_while_it_has_the_focus(view: ShapesView) -> None:
    for key, is_taken in ((Qt.Key.Key_Home, True), (Qt.Key.Key_Down, True), (Qt.Key.Key_W, False)):
        event = QKeyEvent(QEvent.Type.ShortcutOverride, key, Qt.KeyboardModifier.NoModifier)
        event.ignore()
        QApplication.sendEvent(view.list, event)
        assert event.isAccepted() == is_taken


def test_that_each_entry_says_its_name_size_and_share(view: ShapesView) -> None:
    texts = [view.list.item(i).text() for i in range(view.list.count())]
    assert texts[1] == "Attention output, 4,096 × 4,096, 32 MiB, 6.7 % of the model"
    assert view.list.accessibleName() == "Weight matrix"


def test_that_the_page_is_described_in_words(view: ShapesView) -> None:
    words = view.canvas.accessibleDescription()
    assert "Attention output, 4,096 × 4,096" in words
    assert "Prefill, 512 rows: 410 FLOPs per byte, 31.6 µs, limited by compute" in words
    assert "limited by memory bandwidth" in words


def test_that_the_matrix_stays_while_the_model_has_one_of_that_name(view: ShapesView) -> None:
    view.choose(4)
    view.show_result(result_of(prompt_tokens=64), frozenset())
    assert name_of(view) == "Head"
    view.show_result(result_of(model="DeepSeek V3"), frozenset())
    assert name_of(view) == "Head"
    assert view.list.count() == 13
    assert view.list.currentRow() == 12
    view.choose(8)
    view.show_result(result_of(), frozenset())
    assert name_of(view) == "Attention output"
    view.choose(0)
    view.show_result(result_of(), frozenset(), fresh=True)
    assert name_of(view) == "Attention output"


def test_that_nothing_is_chosen_by_showing_another_result(qtbot: QtBot, view: ShapesView) -> None:
    with qtbot.assertNotEmitted(view.matrix_chosen):
        view.show_result(result_of(model="Mixtral 8x7B"), frozenset())
        view.set_look(LIGHT, 1.2)
        view.resize(900, 600)


def test_that_a_hidden_view_builds_its_page_when_it_is_shown(qtbot: QtBot) -> None:
    made = ShapesView(result_of())
    qtbot.addWidget(made)
    made.show_result(result_of(prompt_tokens=3), frozenset())
    assert made.canvas.shapes is None
    made.show()
    qtbot.waitExposed(made)
    assert made.canvas.shapes is not None
    assert made.canvas.shapes.rows[0].rows == 3


def painted(canvas: ShapesCanvas, image: QImage, region: QRegion) -> None:
    with QPainter(image) as p:
        p.setClipRegion(region)
        canvas.paint(p, region)


@pytest.mark.parametrize("index", [1, 4])
@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_that_painting_what_the_sweep_moves_gives_the_whole_picture(
    view: ShapesView, index: int, theme: Theme
) -> None:
    view.set_look(theme, 1.0)
    view.choose(index)
    canvas = view.canvas
    shapes = canvas.shapes
    assert shapes is not None
    whole = QRegion(canvas.rect())
    moving = QImage(WIDTH, HEIGHT, QImage.Format.Format_RGB32)
    still = QImage(WIDTH, HEIGHT, QImage.Format.Format_RGB32)
    old_s = 0.0
    canvas.time_s = old_s
    painted(canvas, moving, whole)
    round_s = shapes.rows[0].round_s
    for number in (1, 2, 3, 17, 18, 40, 60, 79, 81, 130):
        time_s = number / 80 * round_s
        region = QRegion()
        for row in shapes.rows:
            shares = sweep_share(row, old_s), sweep_share(row, time_s)
            if shares[0] != shares[1]:
                region += rect(sweep_front(row, *shares, 1.0)).toAlignedRect()
        canvas.time_s = old_s = time_s
        painted(canvas, moving, region)
        painted(canvas, still, whole)
        assert moving == still, number


def test_that_moving_the_playhead_paints_little(view: ShapesView, monkeypatch: pytest.MonkeyPatch) -> None:
    areas: list[QRect] = []
    monkeypatch.setattr(view.canvas, "update", areas.append)
    view.show_time(0.010)
    view.show_time(0.012)
    assert areas
    assert all(area.width() * area.height() < 0.02 * WIDTH * HEIGHT for area in areas)
    areas.clear()
    view.show_time(0.012)
    assert not areas


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_that_an_export_shows_what_the_view_does(view: ShapesView, theme: Theme) -> None:
    view.set_look(theme, 1.0)
    view.show_time(0.06)
    QApplication.processEvents()
    shapes = build_shapes(result_of(), 1, WIDTH, HEIGHT, 1.0, text_width)
    image = QImage(WIDTH, HEIGHT, QImage.Format.Format_RGB32)
    with QPainter(image) as p:
        p.fillRect(image.rect(), colour(theme.window))
        paint_shapes_page(p, Box(0, 0, WIDTH, HEIGHT), shapes, theme, 1.0, 0.06)
    shown = view.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    right = QRect(270, 0, WIDTH - 270, HEIGHT)
    assert shown.copy(right) == image.copy(right)


def test_that_a_torn_edge_stays_inside_its_slab(view: ShapesView) -> None:
    view.show_result(result_of(prompt_tokens=2**17), frozenset())
    view.choose(4)
    assert view.canvas.shapes is not None
    torn = view.canvas.shapes.rows[0]
    assert torn.activations.cut_bottom
    assert torn.weights.cut_right
    for slab in (torn.activations, torn.weights, torn.outputs):
        for share in (0.3, 1.0):
            bounds = slab_outline(slab, 1.0, share).boundingRect()
            assert rect(slab.box).adjusted(-1e-6, -1e-6, 1e-6, 1e-6).contains(bounds)
        assert len(slab_outline(slab, 1.0)) > 12
