"""The sheet of keys: every command with its shortcuts, made from the table of commands."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QHideEvent, QKeyEvent, QMouseEvent, QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.scene.marks.geometry import Box
from pdviz.widgets.kit.paint import draw_card, draw_text, elided
from pdviz.widgets.kit.palette import colour
from pdviz.widgets.kit.view import PaintedView
from pdviz.widgets.shell.actions import COMMANDS

ROW = 25.0
MOUSE = (
    ("Click, drag the axis", "move the playhead"),
    ("Drag", "measure a range"),
    ("Double-click", "zoom to the range or the pass"),
    ("Ctrl+wheel, pinch", "zoom about the cursor"),
    ("Wheel, Shift+drag", "pan"),
    ("Drag the strip above", "move the view"),
    ("Tab on the stage", "next token"),
    ("Hover, F2", "explain a figure"),
    ("Arrows on the anatomy", "layers, figures"),
    ("Esc", "clear; leave"),
)


class HelpSheet(PaintedView):
    """Covers the window until a key or a click."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName("Keys")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._before: QWidget | None = None
        self.say("; ".join(f"{c.title}: {', '.join(c.keys)}" for c in COMMANDS if c.keys))

    def open(self) -> None:
        """Shows the sheet over the whole parent."""
        parent = self.parentWidget()
        if parent is not None:
            self.setGeometry(parent.rect())
            self._before = parent.window().focusWidget()
        self.show()
        self.raise_()
        self.setFocus()

    def hideEvent(self, event: QHideEvent) -> None:
        if self._before is not None:
            self._before.setFocus(Qt.FocusReason.OtherFocusReason)

    def columns(self) -> list[list[tuple[str, str] | str]]:
        """Three columns of headings and (keys, what they do)."""
        groups: dict[str, list[tuple[str, str] | str]] = {}
        for command in COMMANDS:
            if command.keys:
                rows = groups.setdefault(command.menu, [command.menu])
                rows.append((" or ".join(command.keys), command.title))
        mouse: list[tuple[str, str] | str] = ["Mouse and stage", *MOUSE]
        ordered = [*groups.values(), mouse]
        total = sum(len(g) + 1 for g in ordered)
        found: list[list[tuple[str, str] | str]] = [[]]
        for group in ordered:
            if len(found) < 3 and found[-1] and len(found[-1]) + len(group) / 2 > total / 3:
                found.append([])
            found[-1] += [*group, ""]
        return found

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        theme = self.theme
        columns = self.columns()
        tallest = max(len(c) for c in columns)
        s = min(self.scale, (self.height() - 40) / (tallest * ROW + 100))
        p.fillRect(self.rect(), colour(theme.window))
        width, height = min(1360 * s, self.width() - 40.0), (tallest * ROW + 84) * s
        card = Box((self.width() - width) / 2, (self.height() - height) / 2, width, height)
        draw_card(p, card, theme, s)
        inner = card.inset(28 * s, 20 * s)
        draw_text(p, Box(inner.x, inner.y, inner.w, 28 * s), "Keys", theme.text, 18 * s, True)
        hint = "any key or a click closes this"
        draw_text(p, Box(inner.x, inner.y, inner.w, 28 * s), hint, theme.faint, 13 * s, False, "right")
        step = inner.w / len(columns)
        for number, column in enumerate(columns):
            y = inner.y + 42 * s
            x, room = inner.x + number * step, step - 26 * s
            for row in column:
                box = Box(x, y, room, ROW * s)
                if not row:
                    y -= 0.4 * ROW * s
                elif isinstance(row, str):
                    draw_text(p, box, row, theme.text, 14 * s, True)
                else:
                    keys = elided(row[0], 13 * s, True, 0.44 * room)
                    draw_text(p, box, keys, theme.text, 13 * s, True)
                    rest = Box(x + 0.46 * room, y, 0.54 * room, ROW * s)
                    draw_text(p, rest, elided(row[1], 13 * s, False, rest.w), theme.muted, 13 * s)
                y += ROW * s

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self.hide()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.hide()
