"""The card of what to notice: all of it legible at any size, its link a link for mouse and keyboard."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QShortcut
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from pdviz.evaluation import evaluate
from pdviz.scenario import PRESETS, Scenario, edit
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Text
from pdviz.scene.marks.suggestion import Suggestion
from pdviz.scene.marks.theme import DARK, LIGHT, contrast
from pdviz.scene.request.notice import Notice, notices
from pdviz.scene.request.notice_card import NoticeLayout, lay_out_notice
from pdviz.scene.request.suggestion import suggestion
from pdviz.widgets.kit.palette import metrics, text_width
from pdviz.widgets.request.notice import NoticePanel, paint_notice_panel

SCENARIOS = (
    *(preset.apply(Scenario()) for preset in PRESETS),
    Scenario(model="Llama 3.1 405B"),
    Scenario(model="DeepSeek V3", others=31),
    Scenario(prompt_tokens=50),
    Scenario(output_tokens=1),
    Scenario(others=65_535, others_context_tokens=2**20, prompt_tokens=2**20),
)
LONG = Notice(
    "long",
    "A headline that goes on and on and has a very-long-word-that-nothing-can-break-in-two in its middle.",
    ("A sentence of detail. " * 12, "And another one."),
    (),
)


def laid_out(scenario: Scenario, width: float, height: float, scale: float) -> NoticeLayout:
    result = evaluate(scenario)
    return lay_out_notice(Box(10, 20, width, height), notices(result), suggestion(result), scale, text_width)


def ink(text: Text) -> Box:
    """What the letters may cover."""
    sizes = metrics(text.size, text.bold)
    middle = text.box.y + (text.box.h + sizes.ascent() - sizes.descent()) / 2
    top = middle - sizes.capHeight()
    return Box(
        text.box.x, top, text_width(text.text, text.size, text.bold), middle + sizes.descent() * 0.7 - top
    )


SIZES = (
    *((300 * s, 190 * s, s) for s in (0.8, 1.0, 1.15, 1.6, 2.3, 4.0)),
    *((240.0, 150.0, s) for s in (0.8, 1.0, 1.15)),
    *((520.0, 190.0, 1.0), (220.0, 400.0, 1.0), (160.0, 110.0, 1.0)),
)


@pytest.mark.parametrize(("width", "height", "scale"), SIZES)
def test_that_no_text_leaves_the_card_or_touches_another(width: float, height: float, scale: float) -> None:
    layouts = [laid_out(scenario, width, height, scale) for scenario in SCENARIOS]
    long = Suggestion("next: " + "something that is long to read " * 4, ())
    layouts.append(lay_out_notice(Box(10, 20, width, height), (LONG, LONG), long, scale, text_width))
    for layout in layouts:
        texts = [*layout.texts, *layout.links]
        for text in texts:
            box = ink(text)
            assert box.x >= 10 + 12 * scale
            assert box.right <= 10 + width - 12 * scale, text
            assert box.y >= 20
            assert box.bottom <= 20 + height - 3 * scale, text
        for one, other in itertools.combinations(texts, 2):
            assert not ink(one).overlaps(ink(other)), (one.text, other.text)


@pytest.mark.parametrize("scale", [0.8, 1.0, 1.15, 2.3])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_that_the_first_notice_is_whole_at_its_design_size(scenario: Scenario, scale: float) -> None:
    result = evaluate(scenario)
    layout = laid_out(scenario, 300 * scale, 190 * scale, scale)
    shown = " ".join(text.text for text in layout.texts).replace("\u00a0", " ")
    first = notices(result)[0]
    assert first.headline in shown
    assert all(detail in shown for detail in first.details)
    assert "…" not in shown
    assert shown.startswith("Notice ")
    wanted = suggestion(result)
    assert wanted is not None
    assert wanted.text in " ".join(text.text for text in layout.links)
    assert layout.link is not None


def test_that_what_has_no_room_is_left_out_sentence_by_sentence() -> None:
    result = evaluate(Scenario(prompt_tokens=128))
    first = notices(result)[0]
    shown = {}
    for height in range(80, 320, 4):
        layout = lay_out_notice(Box(0, 0, 300, height), notices(result), suggestion(result), 1.0, text_width)
        text = " ".join(t.text for t in layout.texts).replace("\u00a0", " ")
        assert first.headline in text or height < 110
        body = text.replace("Notice ", "").strip()
        assert body.endswith((".", "…")), (height, text)
        shown[height] = len(body)
    assert shown[316] > shown[200] > shown[132]
    assert shown[316] == sum(len(t) + 1 for n in notices(result) for t in (n.headline, *n.details)) - 1
    lengths = list(shown.values())
    assert lengths == sorted(lengths)


def test_that_headlines_are_stronger_than_details() -> None:
    texts = laid_out(SCENARIOS[0], 300, 190, 1.0).texts
    headline = next(t for t in texts if "decoding" in t.text)
    detail = next(t for t in texts if "Prefill uses" in t.text)
    assert headline.bold
    assert not detail.bold
    assert (headline.role, detail.role) == ("text", "muted")
    assert headline.size > detail.size


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_that_the_roles_are_legible_on_the_card(theme: object) -> None:
    for role in ("text", "muted"):
        assert contrast(getattr(theme, role), theme.surface) >= 4.5


def picture(
    scenario: Scenario, *, is_hovered: bool = False, is_focused: bool = False, bare: bool = False
) -> QImage:
    result = evaluate(scenario)
    found, suggested = ((), None) if bare else (notices(result), suggestion(result))
    layout = lay_out_notice(Box(0, 0, 300, 190), found, suggested, 1.0, text_width)
    image = QImage(300, 190, QImage.Format.Format_RGB32)
    image.fill(QColor(DARK.window))
    with QPainter(image) as p:
        paint_notice_panel(p, layout, DARK, 1.0, is_hovered=is_hovered, is_focused=is_focused)
    return image


def test_that_hover_and_focus_are_seen() -> None:
    plain = picture(Scenario())
    assert plain != picture(Scenario(), bare=True)
    assert picture(Scenario(), is_hovered=True) != plain
    assert picture(Scenario(), is_focused=True) != plain
    assert picture(Scenario(prompt_tokens=128)) != plain


def test_that_the_meaningful_hues_are_not_used() -> None:
    image = picture(Scenario(), is_hovered=True, is_focused=True)
    reserved = {
        QColor(c).rgb() for c in (DARK.compute, DARK.bandwidth, DARK.compute_text, DARK.bandwidth_text)
    }
    pixels = {image.pixel(x, y) for x in range(300) for y in range(190)}
    assert not pixels & reserved


# --- the widget ------------------------------------------------------------------------------------


@pytest.fixture
def panel(qtbot: QtBot) -> Iterator[NoticePanel]:
    window = QWidget()
    qtbot.addWidget(window)
    panel = NoticePanel(window)
    panel.setGeometry(20, 20, 300, 190)
    panel.show_result(evaluate(Scenario()))
    window.resize(400, 300)
    window.show()
    window.activateWindow()
    qtbot.waitExposed(window)
    yield panel
    window.close()


def link_point(panel: NoticePanel) -> QPoint:
    link = panel.layout_now().link
    assert link is not None
    return QPointF(link.x + link.w / 2, link.y + link.h / 2).toPoint()


def test_that_a_click_on_the_link_suggests(panel: NoticePanel, qtbot: QtBot) -> None:
    with qtbot.waitSignal(panel.suggested, timeout=1000) as caught:
        qtbot.mouseClick(panel, Qt.MouseButton.LeftButton, pos=link_point(panel))
    (found,) = caught.args
    assert found == suggestion(evaluate(Scenario()))
    assert found.apply(Scenario()) == edit(Scenario(), prompt_tokens=128)


def test_that_other_clicks_suggest_nothing(panel: NoticePanel, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(panel.suggested, wait=20):
        qtbot.mouseClick(panel, Qt.MouseButton.LeftButton, pos=QPoint(60, 60))
        qtbot.mouseClick(panel, Qt.MouseButton.RightButton, pos=link_point(panel))
        qtbot.mousePress(panel, Qt.MouseButton.LeftButton, pos=link_point(panel))
        qtbot.mouseRelease(panel, Qt.MouseButton.LeftButton, pos=QPoint(60, 60))  # dragged off it
        qtbot.mousePress(panel, Qt.MouseButton.LeftButton, pos=QPoint(60, 60))
        qtbot.mouseRelease(panel, Qt.MouseButton.LeftButton, pos=link_point(panel))


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space])
def test_that_keys_press_the_link_before_any_shortcut_of_the_window(
    panel: NoticePanel, qtbot: QtBot, key: Qt.Key
) -> None:
    pressed: list[int] = []
    shortcut = QShortcut(key, panel.window())
    shortcut.activated.connect(lambda: pressed.append(1))
    panel.setFocus(Qt.FocusReason.TabFocusReason)
    with qtbot.waitSignal(panel.suggested, timeout=1000):
        qtbot.keyClick(panel, key)
    assert not pressed


def test_that_the_link_can_be_reached_by_tab(panel: NoticePanel) -> None:
    assert panel.focusPolicy() & Qt.FocusPolicy.TabFocus
    panel.show_notices((LONG,), None)
    assert panel.focusPolicy() == Qt.FocusPolicy.NoFocus


def test_that_without_a_suggestion_nothing_can_be_pressed(panel: NoticePanel, qtbot: QtBot) -> None:
    point = link_point(panel)
    panel.show_notices(notices(evaluate(Scenario())), None)
    with qtbot.assertNotEmitted(panel.suggested, wait=20):
        qtbot.mouseClick(panel, Qt.MouseButton.LeftButton, pos=point)
        qtbot.keyClick(panel, Qt.Key.Key_Return)
        panel.press()


def test_that_the_pointer_shows_the_link(panel: NoticePanel, qtbot: QtBot) -> None:
    qtbot.mouseMove(panel, link_point(panel))
    assert panel.cursor().shape() == Qt.CursorShape.PointingHandCursor
    qtbot.mouseMove(panel, QPoint(60, 60))
    assert panel.cursor().shape() == Qt.CursorShape.ArrowCursor
    qtbot.mouseMove(panel, link_point(panel))
    QApplication.sendEvent(panel, QEvent(QEvent.Type.Leave))
    assert panel.cursor().shape() == Qt.CursorShape.ArrowCursor


def test_that_all_of_it_is_spoken(panel: NoticePanel) -> None:
    assert panel.accessibleName() == "Notice"
    text = panel.accessibleDescription()
    for notice in notices(evaluate(Scenario())):
        assert notice.headline in text
        assert all(detail in text for detail in notice.details)
    assert text.endswith("Next: try a 128-token prompt: press Enter.")
    panel.show_result(evaluate(Scenario(prompt_tokens=128)))
    assert "like a decode pass" in panel.accessibleDescription()


def test_that_only_a_change_repaints(panel: NoticePanel, qtbot: QtBot) -> None:
    painted: list[int] = []
    plain = panel.paint
    panel.paint = lambda p, dirty: (painted.append(1), plain(p, dirty))[1]
    qtbot.wait(20)
    painted.clear()
    panel.show_result(evaluate(Scenario()))
    qtbot.wait(20)
    assert not painted
    panel.show_result(evaluate(Scenario(prompt_tokens=128)))
    qtbot.waitUntil(lambda: bool(painted), timeout=1000)


def test_that_the_card_fills_its_widget(panel: NoticePanel) -> None:
    image = panel.grab().toImage()
    assert image.pixelColor(150, 20) == QColor(DARK.surface)
    assert image.pixelColor(0, 0) == QColor(DARK.window)


def test_that_what_was_changed_comes_first(panel: NoticePanel) -> None:
    result = evaluate(edit(Scenario(), others=63, prompt_tokens="32K", accelerators=8))
    panel.show_result(result)
    before = panel.accessibleDescription()
    panel.show_result(result, frozenset({"prompt_tokens"}))
    after = panel.accessibleDescription()
    assert before.index("64 streams") == 0
    assert after.index("At 32,768 tokens") == 0
