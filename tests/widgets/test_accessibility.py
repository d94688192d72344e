"""What assistive technology learns of painted widgets."""

from __future__ import annotations

import gc

import pytest
from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from pdviz.widgets.kit import accessibility
from pdviz.widgets.kit.accessibility import Role
from pdviz.widgets.kit.view import PaintedView
from pdviz.widgets.request.meters import MetersView

Texts = QAccessible.Text


@pytest.fixture(autouse=True)
def installed() -> None:
    accessibility.install()
    accessibility.install()  # a second time changes nothing


def test_that_a_painted_widget_has_a_role_a_name_and_its_value_in_words(qtbot: QtBot) -> None:
    view = MetersView()
    qtbot.addWidget(view)
    view.say("compute 93 %")
    found = QAccessible.queryAccessibleInterface(view)
    assert found is not None
    assert found.role() == Role.ProgressBar
    assert found.text(Texts.Name) == "Utilisation meters"
    assert found.text(Texts.Value) == "compute 93 %"
    view.say("compute 5 %")
    assert found.text(Texts.Value) == "compute 5 %"


def test_that_a_painted_widget_is_a_picture_unless_it_says_otherwise(qtbot: QtBot) -> None:
    view = PaintedView()
    qtbot.addWidget(view)
    found = QAccessible.queryAccessibleInterface(view)
    assert found is not None
    assert found.role() == Role.Graphic


def test_that_other_things_are_left_to_qt(qtbot: QtBot) -> None:
    plain = QWidget()
    qtbot.addWidget(plain)
    assert accessibility._make("", plain) is None
    assert accessibility._make("", QObject()) is None


def test_that_nothing_is_kept_of_a_widget_that_is_gone(qtbot: QtBot) -> None:
    view = PaintedView()
    assert QAccessible.queryAccessibleInterface(view) is not None
    kept = id(view)
    assert kept in accessibility._kept
    view.deleteLater()
    del view
    gc.collect()
    qtbot.waitUntil(lambda: kept not in accessibility._kept, timeout=2000)


@pytest.mark.parametrize("is_active", [True, False])
def test_that_changes_are_announced_where_someone_listens(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, is_active: bool
) -> None:
    said: list[str] = []
    monkeypatch.setattr(QAccessible, "isActive", lambda: is_active)
    monkeypatch.setattr(QAccessible, "updateAccessibility", lambda event: said.append(event.message()))
    view = PaintedView()
    qtbot.addWidget(view)
    view.say("quiet")
    view.announces = True
    view.say("loud")
    view.say("loud")
    assert said == (["loud"] if is_active else [])
