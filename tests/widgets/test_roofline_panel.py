"""The small roofline: painted when something has changed, opened by mouse and keys, and light to load."""

from __future__ import annotations

import subprocess
import sys

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QRegion
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from pdviz.evaluation import Result, evaluate
from pdviz.scenario import Scenario
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import DARK, LIGHT, PRINT, THEMES, Theme, contrast
from pdviz.scene.roofline.curves import build_roofline
from pdviz.widgets.roofline.page import paint_roofline_page
from pdviz.widgets.roofline.panel import RooflinePanel, paint_roofline_panel, panel_chart


class CountingPanel(RooflinePanel):
    """Remembers what it was asked to paint."""

    def __init__(self) -> None:
        super().__init__()
        self.painted: list[QRegion] = []

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        self.painted.append(QRegion(dirty))
        super().paint(p, dirty)


def settle(widget: RooflinePanel) -> None:
    for _ in range(4):
        QApplication.processEvents()


@pytest.fixture
def result() -> Result:
    return evaluate(Scenario(output_tokens=20_000))


@pytest.fixture
def panel(qtbot: QtBot, result: Result) -> CountingPanel:
    made = CountingPanel()
    qtbot.addWidget(made)
    made.resize(430, 210)
    made.show_roofline(build_roofline(result, 0.0))
    made.show()
    settle(made)
    return made


def picture(scenario: Scenario, theme: Theme, time_s: float = 0.05, page: bool = False) -> QImage:
    image = QImage(1280 if page else 430, 760 if page else 210, QImage.Format.Format_RGB32)
    image.fill(QColor(theme.window))
    roofline = build_roofline(evaluate(scenario), time_s)
    box = Box(0, 0, image.width(), image.height())
    with QPainter(image) as p:
        (paint_roofline_page if page else paint_roofline_panel)(p, box, roofline, theme, 1.0)
    return image


def has(image: QImage, code: str, box: Box) -> bool:
    wanted = QColor(code).rgb()
    columns, rows = range(int(box.x), int(box.right)), range(int(box.y), int(box.bottom))
    return any(image.pixel(x, y) == wanted for y in rows for x in columns)


# --- what is painted -----------------------------------------------------------------------------


@pytest.mark.parametrize("theme", [DARK, LIGHT, PRINT], ids=lambda theme: theme.name)
@pytest.mark.parametrize(("prompt", "bound"), [(512, "compute"), (100, "bandwidth")])
def test_that_a_dot_has_the_colour_of_what_limits_its_pass(theme: Theme, prompt: int, bound: str) -> None:
    scenario = Scenario(prompt_tokens=prompt)
    image = picture(scenario, theme)
    roofline = build_roofline(evaluate(scenario), 0.05)
    for mark in panel_chart(Box(0, 0, 430, 210), roofline, 1.0).dots:
        assert image.pixelColor(round(mark.x), round(mark.y)).name() == theme.bound(mark.bound)
    assert roofline.prefill.cost.bound == bound


def test_that_the_ring_is_on_the_pass_under_the_playhead() -> None:
    scenario = Scenario()
    chart = panel_chart(Box(0, 0, 430, 210), build_roofline(evaluate(scenario), 0.0), 1.0)
    prefill, decode = chart.dots
    for time_s, ringed, plain in ((0.0, prefill, decode), (0.1, decode, prefill)):
        image = picture(scenario, DARK, time_s)
        assert has(image, DARK.text, Box(ringed.x - 12, ringed.y - 3, 5, 6))
        assert not has(image, DARK.text, Box(plain.x - 12, plain.y - 3, 5, 6))


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_that_each_text_on_the_chart_can_be_read(theme: Theme) -> None:
    chart = panel_chart(Box(0, 0, 430, 210), build_roofline(evaluate(Scenario()), 0.0), 1.0)
    texts = [*chart.labels, *(text for _, text in (*chart.x_ticks, *chart.y_ticks) if text is not None)]
    for role in {text.role for text in texts} | {"compute_text", "bandwidth_text", "muted", "faint"}:
        assert contrast(getattr(theme, role), theme.surface) >= 4.5


@pytest.mark.parametrize("theme", [DARK, LIGHT, PRINT], ids=lambda theme: theme.name)
def test_that_the_page_is_painted_without_a_window(theme: Theme) -> None:
    image = picture(Scenario(), theme, page=True)
    assert has(image, theme.compute, Box(0, 0, 1280, 760))
    assert has(image, theme.bandwidth, Box(0, 0, 1280, 760))


def test_that_panel_and_page_load_neither_numpy_nor_pyqtgraph() -> None:
    code = (
        "import sys, pdviz.widgets.roofline.panel, pdviz.widgets.roofline.page\n"
        "assert not {'numpy', 'pyqtgraph'} & set(sys.modules), 'too much is loaded'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- when it is painted --------------------------------------------------------------------------


def test_that_nothing_is_painted_while_nothing_changes(panel: CountingPanel, result: Result) -> None:
    panel.painted.clear()
    panel.show_roofline(build_roofline(result, 0.0))
    panel.set_look(DARK, 1.0)
    settle(panel)
    assert panel.painted == []


def test_that_a_pass_of_the_same_phase_paints_nothing_as_long_as_the_dot_stands_still(
    panel: CountingPanel, result: Result
) -> None:
    roofline = build_roofline(result, result.ttft_s + 0.001)
    panel.show_roofline(roofline)
    settle(panel)
    panel.painted.clear()
    for step in range(2, 12):
        panel.show_roofline(roofline.at_time(result, result.request.pass_start_s(step)))
        settle(panel)
    assert panel.painted == []


def test_that_the_playhead_paints_the_ring_and_no_more(panel: CountingPanel, result: Result) -> None:
    roofline = build_roofline(result, 0.0)
    panel.show_roofline(roofline)
    settle(panel)
    panel.painted.clear()
    panel.show_roofline(roofline.at_time(result, result.e2e_s / 2))
    settle(panel)
    assert len(panel.painted) == 1
    area = sum(r.width() * r.height() for r in panel.painted[0])
    assert area < 0.05 * panel.width() * panel.height()


def test_that_another_scenario_theme_or_size_paints_all(panel: CountingPanel) -> None:
    for change in (
        lambda: panel.show_roofline(build_roofline(evaluate(Scenario(prompt_tokens=64)), 0.0)),
        lambda: panel.set_look(LIGHT, 1.0),
        lambda: panel.set_look(LIGHT, 1.2),
        lambda: panel.resize(400, 200),
    ):
        panel.painted.clear()
        change()
        settle(panel)
        assert panel.painted
        assert panel.painted[-1].boundingRect() == panel.rect()


def test_that_an_empty_panel_is_painted_too(qtbot: QtBot) -> None:
    panel = RooflinePanel()
    qtbot.addWidget(panel)
    panel.resize(300, 180)
    assert not panel.grab().isNull()


# --- opening it ----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space])
def test_that_enter_and_space_open_it(qtbot: QtBot, panel: CountingPanel, key: Qt.Key) -> None:
    panel.setFocus(Qt.FocusReason.TabFocusReason)
    with qtbot.waitSignal(panel.clicked, timeout=500):
        qtbot.keyClick(panel, key)


def test_that_a_click_opens_it_and_a_press_that_leaves_it_does_not(
    qtbot: QtBot, panel: CountingPanel
) -> None:
    with qtbot.waitSignal(panel.clicked, timeout=500):
        qtbot.mouseClick(panel, Qt.MouseButton.LeftButton)
    with qtbot.assertNotEmitted(panel.clicked, wait=20):
        qtbot.mousePress(panel, Qt.MouseButton.LeftButton)
        qtbot.mouseRelease(panel, Qt.MouseButton.LeftButton, pos=QPoint(-40, 10))
        qtbot.mouseClick(panel, Qt.MouseButton.RightButton)


def test_that_other_keys_are_left_to_the_window(qtbot: QtBot, panel: CountingPanel) -> None:
    with qtbot.assertNotEmitted(panel.clicked, wait=20):
        qtbot.keyClick(panel, Qt.Key.Key_Right)
        qtbot.keyClick(panel, Qt.Key.Key_Space, Qt.KeyboardModifier.ControlModifier)


def test_that_it_says_what_it_shows(panel: CountingPanel) -> None:
    panel.say_moment()
    words = panel.accessibleDescription()
    assert panel.accessibleName() == "Roofline"
    assert "Prefill, 512 tokens: 516 FLOPs per byte" in words
    assert "Now: prefill, limited by compute" in words
    assert panel.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert panel.cursor().shape() == Qt.CursorShape.PointingHandCursor
