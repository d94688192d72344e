"""Pressing by key: the same keys press whatever can be pressed, once, and only without modifiers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from pdviz.evaluation import evaluate
from pdviz.scenario import Scenario
from pdviz.widgets.kit.buttons import Chip, IconButton, PickerButton
from pdviz.widgets.kit.press import PLAIN, PRESSES
from pdviz.widgets.request.notice import NoticePanel
from pdviz.widgets.roofline.panel import RooflinePanel
from pdviz.widgets.shapes.panel import ShapesPanel

Key, Type, Modifier = Qt.Key, QEvent.Type, Qt.KeyboardModifier
MAKERS: dict[str, Callable[[], QWidget]] = {
    "chip": lambda: Chip("Chip"),
    "icon": lambda: IconButton("Icon", "undo"),
    "picker": lambda: PickerButton("Picker"),
    "roofline": RooflinePanel,
    "shapes": ShapesPanel,
    "notice": NoticePanel,
}


@pytest.fixture(params=MAKERS)
def pressed(request: pytest.FixtureRequest, qtbot: QtBot) -> tuple[QWidget, list[int]]:
    """A widget, and as many entries as it has been pressed."""
    widget = MAKERS[request.param]()
    qtbot.addWidget(widget)
    times: list[int] = []
    signal = widget.suggested if isinstance(widget, NoticePanel) else widget.clicked
    signal.connect(lambda *_: times.append(1))
    if isinstance(widget, NoticePanel):
        widget.show_result(evaluate(Scenario()))
    return widget, times


def send(
    widget: QWidget, kind: QEvent.Type, key: Qt.Key, modifiers: Qt.KeyboardModifier, again: bool
) -> bool:
    """Whether the widget wanted the key."""
    event = QKeyEvent(kind, key, modifiers, "", again)
    event.ignore()
    QApplication.sendEvent(widget, event)
    return bool(event.isAccepted())


@pytest.mark.parametrize("key", PRESSES)
@pytest.mark.parametrize("modifiers", PLAIN)
def test_that_a_key_presses_once_and_before_any_shortcut(
    pressed: tuple[QWidget, list[int]], key: Qt.Key, modifiers: Qt.KeyboardModifier
) -> None:
    widget, times = pressed
    assert send(widget, Type.ShortcutOverride, key, modifiers, False)
    assert times == []
    send(widget, Type.KeyPress, key, modifiers, False)
    send(widget, Type.KeyPress, key, modifiers, True)
    send(widget, Type.KeyRelease, key, modifiers, False)
    assert times == [1]


@pytest.mark.parametrize(
    ("key", "modifiers"), [(Key.Key_Space, Modifier.ControlModifier), (Key.Key_W, Modifier.NoModifier)]
)
def test_that_other_keys_are_left_to_the_window(
    pressed: tuple[QWidget, list[int]], key: Qt.Key, modifiers: Qt.KeyboardModifier
) -> None:
    widget, times = pressed
    assert not send(widget, Type.ShortcutOverride, key, modifiers, False)
    send(widget, Type.KeyPress, key, modifiers, False)
    assert times == []


def test_that_a_notice_without_a_suggestion_is_not_pressed(qtbot: QtBot) -> None:
    panel = NoticePanel()
    qtbot.addWidget(panel)
    assert not send(panel, Type.ShortcutOverride, Key.Key_Space, Modifier.NoModifier, False)
    with qtbot.assertNotEmitted(panel.suggested):
        send(panel, Type.KeyPress, Key.Key_Space, Modifier.NoModifier, False)
