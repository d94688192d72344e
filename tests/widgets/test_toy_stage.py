"""A stage of another kind: tracks that know nothing of requests, played and handled by the same pieces."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import msgspec
import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QImage, QPainter, QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from toy_run import ToyRun

from pdviz.scene.marks.axis import Window
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Hover
from pdviz.scene.marks.theme import DARK, LIGHT, Theme
from pdviz.scene.stage.overview import OverviewTrack
from pdviz.scene.stage.parts import Block, Grip, Row, Space, Track, Wish
from pdviz.scene.stage.ticks import TickTrack
from pdviz.scene.stage.timeline import PASS, STALL
from pdviz.widgets.kit.palette import colour
from pdviz.widgets.shell.player import Player
from pdviz.widgets.shell.transport import Transport
from pdviz.widgets.stage.paint import Now, draw_veil, paint_row, paint_row_now
from pdviz.widgets.stage.view import StageView

LEFT, PLAIN = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


class Spans(Row, frozen=True):
    """A lane of bars, one for each pass."""

    bars: tuple[Box, ...]

    @property
    def plot(self) -> Box:
        return self.box


class SpanTrack(msgspec.Struct, frozen=True):
    run: ToyRun
    name: str

    @property
    def wish(self) -> Wish:
        return Wish(20.0, gap=6.0, grow=1.0)

    def build(self, space: Space) -> Spans:
        axis, box = space.axis, space.box
        edges = [(axis.clipped_px(start_s), axis.clipped_px(end_s)) for start_s, end_s in self.run.spans]
        return Spans(box, tuple(Box(x0, box.y, x1 - x0, box.h) for x0, x1 in edges))

    def hover(self, row: Spans, time_s: float, y: float) -> Hover | None:
        for number, (start_s, end_s) in enumerate(self.run.spans):
            if start_s <= time_s < end_s:
                return Hover(number, f"{self.name}, pass {number}", "", (("from", str(start_s)),))
        return None


@paint_row.register
def _paint_spans(row: Spans, p: QPainter, theme: Theme, scale: float) -> None:
    for bar in row.bars:
        p.fillRect(QRectF(bar.x, bar.y, bar.w, bar.h), colour(theme.accent))


@paint_row_now.register
def _veil_spans(row: Spans, p: QPainter, now: Now, theme: Theme) -> None:
    draw_veil(p, row.box, now.x, theme)


def tracks_of(run: ToyRun, name: str) -> tuple[Track, ...]:
    def bands(axis: object, box: Box) -> tuple[Block, ...]:
        return (Block(box, "compute", 0, run.passes),)

    return (OverviewTrack(run.duration_s, "all", bands), SpanTrack(run, name), TickTrack())


class Toy:
    """Two runs one above the other on one axis, played and handled."""

    def __init__(self, bot: QtBot) -> None:
        self.bot = bot
        self.run = ToyRun()
        tracks = (*tracks_of(self.run, "upper"), SpanTrack(ToyRun(spans=((2.0, 6.0),)), "lower"))
        self.view = StageView(self.run, tracks)
        self.view.reduces_motion = True
        self.view.set_look(DARK, 1.0)
        self.player = Player(self.run)
        self.transport = Transport(self.player)
        self.player.moved.connect(self.view.set_time)
        self.player.moved.connect(self.transport.show_time)
        self.view.seeked.connect(self.player.seek)
        self.transport.show_timeline(self.run)
        bot.addWidget(self.view)
        bot.addWidget(self.transport)
        self.view.resize(900, 420)
        self.view.show()
        self.view.activateWindow()
        bot.waitUntil(lambda: QApplication.activeWindow() is self.view, timeout=2_000)

    @property
    def rows(self) -> tuple[Spans, ...]:
        return self.view.stage.rows(Spans)

    def at(self, time_s: float, row: int = 0) -> QPoint:
        box = self.rows[row].box
        return QPoint(round(self.view.stage.axis.to_px(time_s)), round(box.y + box.h / 2))

    def drag(self, start: QPoint, end: QPoint) -> None:
        self.bot.mousePress(self.view, LEFT, PLAIN, start)
        for share in (0.25, 0.5, 0.75, 1.0):
            step = QPointF(start) * (1 - share) + QPointF(end) * share
            self.bot.mouseMove(self.view, step.toPoint())
        self.bot.mouseRelease(self.view, LEFT, PLAIN, end)

    def turn(self, notches: int) -> None:
        at, plain = self.at(2.5), QPoint(0, 0)
        event = QWheelEvent(
            QPointF(at), QPointF(self.view.mapToGlobal(at)), plain, QPoint(0, 120 * notches),
            Qt.MouseButton.NoButton, Qt.KeyboardModifier.ControlModifier, Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(self.view, event)

    def picture(self) -> QImage:
        return self.view.grab().toImage()


@pytest.fixture
def toy(qtbot: QtBot) -> Iterator[Toy]:
    made = Toy(qtbot)
    yield made
    made.player.set_playing(False)


def test_that_two_tracks_that_grow_share_what_the_others_leave_on_one_axis(toy: Toy) -> None:
    upper, lower = (row.box for row in toy.rows)
    assert (upper.x, upper.w) == (lower.x, lower.w)
    assert upper.bottom <= toy.view.stage.rows(Row)[2].box.y < lower.y
    assert lower.bottom == pytest.approx(toy.view.height() - 6.0)
    assert upper.h == pytest.approx(lower.h)
    assert upper.h > 100


def test_that_a_toy_is_played_to_its_end_and_shown_at_each_moment(toy: Toy) -> None:
    pictures = [toy.picture()]
    for time_s in (1.0, 2.5, 4.9):
        toy.player.seek(time_s)
        pictures.append(toy.picture())
    for one, other in itertools.combinations(pictures, 2):
        assert one != other
    toy.player.step(1)
    assert toy.player.time_s == toy.run.duration_s
    toy.player.step(-1)
    assert toy.player.time_s == 4.5
    assert toy.view.spoken() == "pass 3 of 4"
    assert toy.transport.clock.width() > 0
    toy.view.set_look(LIGHT, 1.0)
    assert toy.picture() != pictures[-1]


def test_that_the_view_turns_its_page_with_the_playhead(toy: Toy) -> None:
    assert toy.view.window_in_view == Window(0.0, 5.0)
    toy.player.seek(5.2)
    assert toy.view.window_in_view.start_s <= 5.2 <= toy.view.window_in_view.end_s
    assert toy.view.window_in_view.span_s == pytest.approx(5.0)


def test_that_each_track_says_what_is_under_the_mouse(toy: Toy) -> None:
    seen = []
    for time_s, row in ((0.5, 0), (3.0, 0), (3.0, 1)):
        at = toy.at(time_s, row)
        found = toy.view.stage.hover(at.x(), at.y())
        seen.append(found.title if found else None)
    assert seen == ["upper, pass 0", None, "lower, pass 0"]
    toy.bot.mouseMove(toy.view, toy.at(3.0, 1))
    assert toy.view._card is not None
    assert toy.view._card.isVisible()


@pytest.mark.parametrize("row", [0, 1])
def test_that_a_drag_on_any_track_measures_and_a_click_seeks(toy: Toy, row: int) -> None:
    toy.drag(toy.at(1.0, row), toy.at(3.0, row))
    assert toy.view.measured is not None
    assert toy.view.measured.words == "2.0 s"
    before = toy.picture()
    toy.view.clear_measure()
    assert toy.picture() != before
    toy.bot.mouseClick(toy.view, LEFT, PLAIN, toy.at(2.0, row))
    assert toy.player.time_s == pytest.approx(2.0, abs=0.01)


def test_that_jumps_go_by_what_the_timeline_names(toy: Toy) -> None:
    assert toy.view.jump(STALL, True)
    assert toy.player.time_s == 4.5
    assert not toy.view.jump(STALL, True)
    assert toy.view.jump(PASS, False)
    assert toy.player.time_s == 4.0


def test_that_a_double_click_fills_the_view_with_the_pass(toy: Toy) -> None:
    toy.bot.mouseDClick(toy.view, LEFT, PLAIN, toy.at(2.0))
    assert toy.view.window_in_view == Window(pytest.approx(0.25), pytest.approx(3.25))


# --- the way back --------------------------------------------------------------------------------


def test_that_views_can_be_taken_back_and_forward_again(toy: Toy) -> None:
    first = toy.view.window_in_view
    toy.view.zoom(2.0, 1.0)
    near = toy.view.window_in_view
    toy.view.pan(0.5)
    far = toy.view.window_in_view
    assert toy.view.undo_view()
    assert toy.view.window_in_view == near
    assert toy.view.undo_view()
    assert toy.view.window_in_view == first
    assert not toy.view.undo_view()
    assert toy.view.redo_view()
    assert toy.view.redo_view()
    assert toy.view.window_in_view == far
    assert not toy.view.redo_view()


def test_that_a_drag_and_a_turn_of_the_wheel_are_one_step_each(toy: Toy) -> None:
    first = toy.view.window_in_view
    for _ in range(4):
        toy.turn(1)
    near = toy.view.window_in_view
    assert near.span_s < 0.5 * first.span_s
    (strip,) = toy.view.stage.grips(Grip.WHOLE)
    middle = round(toy.view.stage.whole.to_px((near.start_s + near.end_s) / 2))
    y = round(strip.y + strip.h / 2)
    toy.drag(QPoint(middle, y), QPoint(middle + 150, y))
    assert toy.view.window_in_view.start_s > near.start_s
    assert toy.view.undo_view()
    assert toy.view.window_in_view == near
    assert toy.view.undo_view()
    assert toy.view.window_in_view == first


def test_that_a_view_that_was_automatic_follows_again_once_it_is_back(toy: Toy) -> None:
    toy.view.zoom(3.0, 1.0)
    toy.view.undo_view()
    longer = ToyRun(duration_s=20.0)
    toy.view.set_timeline(longer, tracks_of(longer, "upper"))
    assert toy.view.window_in_view == longer.first_view()
    toy.view.zoom(3.0, 1.0)
    chosen = toy.view.window_in_view
    toy.view.set_timeline(toy.run, tracks_of(toy.run, "upper"))
    assert toy.view.window_in_view == chosen


def test_that_a_row_without_a_painter_is_an_error(toy: Toy) -> None:
    class Unknown(Row, frozen=True):
        pass

    picture = QImage(8, 8, QImage.Format.Format_RGB32)
    with QPainter(picture) as p, pytest.raises(TypeError, match="Unknown"):
        paint_row(Unknown(Box(0, 0, 8, 8)), p, DARK, 1.0)
