"""Explains what the pointer rests on, or what has the focus: when to show the card, and for how long.

Widgets are registered with a function that tells which figure is at a point of theirs. Resting on one
for a moment shows its card; leaving takes it away again unless the mouse has gone onto the card. A
click, F2 or the context key shows it at once and keeps it until Escape. Nothing is made, nor
imported, before the first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer, Slot
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget

from pdviz.catalogue import Catalogue
from pdviz.evaluation import Result
from pdviz.scene.marks.theme import DARK, Theme
from pdviz.widgets.kit.fields import by_keyboard
from pdviz.widgets.kit.focus_ring import FocusRing
from pdviz.widgets.kit.pointed import Explained, Pointed, Provider

if TYPE_CHECKING:
    from pdviz.explain import Explanation
    from pdviz.widgets.shell.explain_card import ExplainCard

HOVER_MS = 450
NEXT_MS = 150  # from one figure to the next while a card is open
LEAVE_MS = 300  # to get from the figure onto its card
Type = QEvent.Type


_WATCHED = frozenset(
    (
        *(Type.Enter, Type.Leave, Type.MouseMove, Type.MouseButtonPress, Type.MouseButtonRelease),
        *(Type.ShortcutOverride, Type.KeyPress, Type.ContextMenu, Type.FocusIn, Type.FocusOut, Type.Hide),
        Type.Resize,
    )
)


class _Entry(msgspec.Struct):
    provider: Provider
    is_clickable: bool
    has_own_focus: bool


class Explainer(QObject):
    """Shows explanations for the widgets of a window. ``newest`` gives the result that is on screen."""

    def __init__(
        self,
        newest: Callable[[], Result],
        window: QWidget,
        *,
        rate: Callable[[], float] | None = None,
        catalogue: Catalogue | None = None,
    ) -> None:
        super().__init__(window)
        self.theme: Theme = DARK
        self.scale = 1.0
        self._newest, self._window = newest, window
        self._rate, self._catalogue = rate, catalogue
        self._entries: dict[QWidget, _Entry] = {}
        self._card: ExplainCard | None = None
        self._hovering: QTimer | None = None
        self._leaving: QTimer | None = None
        self._ring: FocusRing | None = None
        self._anchor: QWidget | None = None  # what the card is about
        self._pointed: Pointed | None = None
        self._over: QWidget | None = None  # what the pointer is on
        self._point = QPoint()
        self._pressed: QPoint | None = None
        self._trail: list[str] = []
        self._before: QWidget | None = None  # what had the focus before the card
        self.is_pinned = False

    def register(
        self, widget: QWidget, provider: Provider, *, is_clickable: bool = True, is_focusable: bool = True
    ) -> None:
        """Explains the figures of ``widget``. With ``is_clickable`` a click pins the card.

        With ``is_focusable`` a widget that takes no focus can be reached by Tab from now on.
        """
        own = widget.focusPolicy() != Qt.FocusPolicy.NoFocus or not is_focusable
        if not own:
            widget.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        widget.setMouseTracking(True)
        self._entries[widget] = _Entry(provider, is_clickable, own)
        widget.installEventFilter(self)
        if is_focusable and not widget.whatsThis():
            widget.setWhatsThis("F2 explains this figure.")

    def add(self, found: Iterable[Explained]) -> None:
        """Explains all of these."""
        for one in found:
            self.register(
                one.widget, one.provider, is_clickable=one.is_clickable, is_focusable=one.is_focusable
            )

    def set_look(self, theme: Theme, scale: float) -> None:
        """Theme and scale; an open card follows."""
        if theme is not self.theme or scale != self.scale:
            self.theme, self.scale = theme, scale
            self._drop_ring()
            self._show(again=True)

    # --- the card ------------------------------------------------------------------------------

    @property
    def shown(self) -> Explanation | None:
        """What is explained just now."""
        return self._card.shown if self._card is not None else None

    def _made_card(self) -> ExplainCard:
        if self._card is None:
            from pdviz.widgets.shell.explain_card import ExplainCard

            card = self._card = ExplainCard(self._window)
            card.followed.connect(self.follow)
            card.entered.connect(self._stay)
            card.left.connect(self._leave_soon)
            card.closing.connect(self._closing)
        return self._card

    def _explanation(self, pointed: Pointed, key: str | None = None) -> Explanation:
        from pdviz.explain import DEFAULT_RATE, explain

        rate = self._rate() if self._rate is not None else DEFAULT_RATE
        return explain(
            self._newest(), key or pointed.key, pointed.pass_index, rate=rate, catalogue=self._catalogue
        )

    def open(self, widget: QWidget, pointed: Pointed, *, pin: bool = False, focus: bool = False) -> None:
        """Explains ``pointed`` beside ``widget``."""
        self._stop()
        if self.shown is None:
            self._before = QApplication.focusWidget() if focus else None
        self._anchor, self._pointed, self._trail = widget, pointed, []
        self.is_pinned = pin
        self._show()
        if focus:
            self._made_card().text.setFocus(Qt.FocusReason.PopupFocusReason)

    def _show(self, *, again: bool = False) -> None:
        """Puts the present explanation on the card; ``again``: only where one is open."""
        if self._anchor is None or self._pointed is None or (again and self.shown is None):
            return
        key = self._trail[-1] if self._trail else self._pointed.key
        one = self._explanation(self._pointed, key)
        back = None
        if self._trail:
            before = self._trail[-2] if len(self._trail) > 1 else self._pointed.key
            back = self._explanation(self._pointed, before)
        box = self._pointed.box or self._anchor.rect()
        self._made_card().open_for(one, self._anchor, box, self.theme, self.scale, back)
        self._window.installEventFilter(self)  # for Escape, while a card is open

    @Slot()
    def _place_again(self) -> None:
        self._show(again=True)

    @Slot(str)
    def follow(self, key: str) -> None:
        """Another figure on the same card; the one before it is the way back."""
        if self._pointed is None:
            return
        before = self._trail[-2] if len(self._trail) > 1 else self._pointed.key
        if self._trail and key == before:
            self._trail.pop()
        else:
            self._trail.append(key)
        self.is_pinned = True
        self._show()

    def refresh(self) -> None:
        """Call when result or playhead have changed; costs nothing while no card is open."""
        card = self._card
        if card is None or card.shown is None or self._anchor is None or self._pointed is None:
            return
        if not self.is_pinned and not card.underMouse():
            entry = self._entries.get(self._anchor)
            pointed = entry.provider(self._point) if entry is not None else None
            if pointed is None:
                self.close()
                return
            self._pointed = pointed
        key = self._trail[-1] if self._trail else None
        if self._explanation(self._pointed, key) != card.shown and not card.has_selection:
            self._show(again=True)

    @Slot()
    def close(self) -> None:
        """Takes the card away."""
        self._stop()
        if self._card is not None:
            self._card.close_card()

    @Slot()
    def _closing(self) -> None:
        """The card is about to go: the focus goes back to where it came from."""
        self._stop()
        if self._window not in self._entries:
            self._window.removeEventFilter(self)
        before, self._before = self._before, None
        focused = QApplication.focusWidget()
        on_card = self._card is not None and focused is not None and self._card.isAncestorOf(focused)
        if before is not None and before.isVisible():
            before.setFocus(Qt.FocusReason.TabFocusReason)
        elif on_card and self._anchor is not None:
            self._anchor.setFocus(Qt.FocusReason.PopupFocusReason)
        self._anchor = self._pointed = None
        self.is_pinned = False

    # --- waiting -------------------------------------------------------------------------------

    def _timer(self, milliseconds: int, slot: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(milliseconds)
        timer.timeout.connect(slot)
        return timer

    @Slot()
    def _stop(self) -> None:
        for timer in (self._hovering, self._leaving):
            if timer is not None:
                timer.stop()

    @Slot()
    def _stay(self) -> None:
        """The mouse is on the card."""
        self._stop()

    @Slot()
    def _leave_soon(self) -> None:
        """The mouse has left figure or card: time to come back to it."""
        if self._hovering is not None:
            self._hovering.stop()
        if self.shown is not None and not self.is_pinned:
            if self._leaving is None:
                self._leaving = self._timer(LEAVE_MS, self.close)
            self._leaving.start()

    def _wait(self, widget: QWidget, at: QPoint) -> None:
        """The pointer rests on a widget, from now on."""
        self._over, self._point = widget, at
        if self.is_pinned:
            return
        pointed = self._entries[widget].provider(at)
        is_open = self.shown is not None
        if pointed is None:
            self._leave_soon()
            return
        if is_open and widget is self._anchor and self._is_shown(pointed):
            self._stop()
            return
        if self._hovering is None:
            self._hovering = self._timer(HOVER_MS, self._rested)
        if self._leaving is not None:
            self._leaving.stop()
        self._hovering.start(NEXT_MS if is_open else HOVER_MS)

    def _is_shown(self, pointed: Pointed) -> bool:
        """True where the open card is about that figure."""
        now = self._pointed
        return now is not None and (pointed.key, pointed.box) == (now.key, now.box)

    @Slot()
    def _rested(self) -> None:
        widget = self._over
        if widget is None or not widget.isVisible() or QApplication.mouseButtons() != Qt.MouseButton.NoButton:
            return
        pointed = self._entries[widget].provider(self._point)
        if pointed is not None:
            self.open(widget, pointed)

    # --- what happens to widgets ---------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind not in _WATCHED:
            return False
        entry = self._entries.get(watched) if isinstance(watched, QWidget) else None
        if entry is None:
            return self._on_window(event) if watched is self._window else False
        assert isinstance(watched, QWidget)
        if isinstance(event, QMouseEvent):
            return self._on_mouse(watched, entry, event)
        if isinstance(event, QKeyEvent):
            return self._on_key(watched, event) or (watched is self._window and self._on_window(event))
        if kind == Type.Leave:
            self._over = None
            self._leave_soon()
        elif kind == Type.Hide:
            if watched is self._anchor or watched is self._over:
                self._over = None
                self.close()
        elif isinstance(event, QContextMenuEvent):
            at = event.pos() if event.reason() == QContextMenuEvent.Reason.Mouse else watched.rect().center()
            return self._ask(watched, at, focus=event.reason() != QContextMenuEvent.Reason.Mouse)
        elif isinstance(event, QFocusEvent) and not entry.has_own_focus:
            self._on_focus(watched, event)
        return False

    def _on_window(self, event: QEvent) -> bool:
        """Escape closes the card before anything else; the card stays inside a window that shrinks."""
        if event.type() == Type.Resize:
            QTimer.singleShot(0, self, self._place_again)  # once the figures have their new places
        if self.shown is None or not isinstance(event, QKeyEvent) or event.key() != Qt.Key.Key_Escape:
            return False
        if event.type() == Type.ShortcutOverride:
            event.accept()
            return True
        if event.type() == Type.KeyPress:
            self.close()
            return True
        return False

    def _on_mouse(self, widget: QWidget, entry: _Entry, event: QMouseEvent) -> bool:
        at = event.position().toPoint()
        kind = event.type()
        if kind == Type.MouseMove:
            if not event.buttons():
                self._wait(widget, at)
        elif kind == Type.MouseButtonPress:
            if self._hovering is not None:
                self._hovering.stop()
            self._pressed = at if event.button() == Qt.MouseButton.LeftButton else None
        elif kind == Type.MouseButtonRelease and self._pressed is not None:
            moved = (at - self._pressed).manhattanLength()
            self._pressed = None
            if entry.is_clickable and moved < QApplication.startDragDistance() and widget.rect().contains(at):
                self._toggle(widget, at)
        return False

    def _toggle(self, widget: QWidget, at: QPoint) -> None:
        """A click: pins the card, or takes it away where it is pinned."""
        pointed = self._entries[widget].provider(at)
        self._point = at
        if pointed is None:
            return
        if self.is_pinned and widget is self._anchor and self._is_shown(pointed):
            self.close()
        else:
            self.open(widget, pointed, pin=True)

    def _on_key(self, widget: QWidget, event: QKeyEvent) -> bool:
        if event.key() != Qt.Key.Key_F2 or event.modifiers():
            return False
        if event.type() == Type.ShortcutOverride:
            event.accept()
            return True
        return event.type() == Type.KeyPress and self._ask(widget, widget.rect().center(), focus=True)

    def _ask(self, widget: QWidget, at: QPoint, *, focus: bool) -> bool:
        """Explains at once what is at a point; False where there is nothing."""
        pointed = self._entries[widget].provider(at)
        if pointed is None:
            return False
        self._point = at
        self.open(widget, pointed, pin=True, focus=focus)
        return True

    def _on_focus(self, widget: QWidget, event: QFocusEvent) -> None:
        self._drop_ring()
        if event.gotFocus() and by_keyboard(event):
            self._ring = FocusRing(widget, self.theme, self.scale)
            self._ring.show()

    def _drop_ring(self) -> None:
        ring, self._ring = self._ring, None
        if ring is not None:
            ring.hide()
            ring.deleteLater()
