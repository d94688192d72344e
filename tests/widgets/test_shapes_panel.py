"""The small panel of shapes: shows a result, repaints on change only, opens by mouse and keyboard."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QImage, QKeyEvent, QPainter
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from pdviz.evaluation import evaluate
from pdviz.scenario import Scenario
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import DARK, LIGHT, Theme
from pdviz.widgets.shapes.panel import ShapesPanel, paint_shapes_panel


@pytest.fixture
def panel(qtbot: QtBot) -> ShapesPanel:
    made = ShapesPanel()
    qtbot.addWidget(made)
    made.resize(430, 190)
    made.show_result(evaluate(Scenario()), 0.0)
    made.show()
    qtbot.waitExposed(made)
    QApplication.processEvents()
    return made


class Repaints:
    """Counts how often a widget is painted."""

    def __init__(self, widget: ShapesPanel, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        original = type(widget).paint

        def paint(view: ShapesPanel, p: QPainter, dirty: object) -> None:
            self.count += 1
            original(view, p, dirty)

        monkeypatch.setattr(type(widget), "paint", paint)


def test_that_the_same_result_paints_nothing_and_another_does(
    panel: ShapesPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    repaints = Repaints(panel, monkeypatch)
    panel.show_result(evaluate(Scenario()), 0.0)
    panel.show_result(evaluate(Scenario(output_tokens=300)), 0.0)  # no part of the picture
    QApplication.processEvents()
    assert repaints.count == 0
    panel.show_result(evaluate(Scenario(prompt_tokens=128)), 0.0)
    QApplication.processEvents()
    assert repaints.count == 1


def test_that_the_description_holds_both_intensities_and_what_limits_them(panel: ShapesPanel) -> None:
    assert panel.accessibleName() == "Same weights, different shapes"
    words = panel.accessibleDescription()
    assert "prefill, 512 rows: 410 FLOPs per byte, compute-bound" in words
    assert "decode, 1 row: 1.00 FLOPs per byte, bandwidth-bound" in words
    assert "4,096 × 4,096, 32 MiB read once" in words


def test_that_a_click_opens_and_a_press_that_leaves_does_not(qtbot: QtBot, panel: ShapesPanel) -> None:
    with qtbot.waitSignal(panel.clicked):
        qtbot.mouseClick(panel, Qt.MouseButton.LeftButton)
    with qtbot.assertNotEmitted(panel.clicked):
        qtbot.mouseClick(panel, Qt.MouseButton.RightButton)
        qtbot.mousePress(panel, Qt.MouseButton.LeftButton)
        qtbot.mouseRelease(panel, Qt.MouseButton.LeftButton, pos=panel.rect().bottomRight() * 2)


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space])
def test_that_the_keys_of_a_button_open_it(qtbot: QtBot, panel: ShapesPanel, key: Qt.Key) -> None:
    assert panel.focusPolicy() & Qt.FocusPolicy.TabFocus
    with qtbot.waitSignal(panel.clicked):
        qtbot.keyClick(panel, key)
    override = QKeyEvent(QEvent.Type.ShortcutOverride, key, Qt.KeyboardModifier.NoModifier)
    override.ignore()
    QApplication.sendEvent(panel, override)
    assert override.isAccepted()  # else Space would play


def test_that_focus_by_the_keyboard_is_seen(qtbot: QtBot, panel: ShapesPanel) -> None:
    before = panel.grab().toImage()
    panel.activateWindow()
    qtbot.waitUntil(lambda: QApplication.activeWindow() is panel, timeout=2_000)
    panel.clearFocus()
    panel.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(panel.hasFocus)
    assert panel.grab().toImage() != before


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_that_the_picture_of_a_file_is_that_of_the_widget(panel: ShapesPanel, theme: Theme) -> None:
    panel.set_look(theme, 1.0)
    panel.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, False)
    image = QImage(430, 190, QImage.Format.Format_RGB32)
    with QPainter(image) as p:
        p.fillRect(image.rect(), theme.window)
        paint_shapes_panel(p, Box(0, 0, 430, 190), evaluate(Scenario()), theme, 1.0)
    shown = panel.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    assert shown == image
