"""Scroll bars in the look of the rest: thin, without arrows, in the theme's colours."""

from __future__ import annotations

from PySide6.QtWidgets import QAbstractScrollArea

from pdviz.scene.marks.theme import Theme

WIDTH = 10.0  # design pixels, of which the handle takes six

_STYLE = """
QScrollBar:vertical {{ background: transparent; width: {width}px; margin: 0; border: none; }}
QScrollBar::handle:vertical {{
    background: {handle}; min-height: {least}px; margin: {gap}px; border-radius: {radius}px;
}}
QScrollBar::handle:vertical:hover, QScrollBar::handle:vertical:pressed {{ background: {over}; }}
QScrollBar::add-line:vertical, QScrollBar::sub-line:vertical {{ height: 0; border: none; }}
QScrollBar::add-page:vertical, QScrollBar::sub-page:vertical {{ background: transparent; }}
"""


def bar_width(scale: float) -> int:
    """Pixels that a bar takes."""
    return max(round(WIDTH * scale), 6)


def dress(area: QAbstractScrollArea, theme: Theme, scale: float) -> None:
    """Gives the vertical bar of ``area`` its look; costs nothing where it has it already."""
    width = bar_width(scale)
    gap = max(round(width / 5), 1)
    style = _STYLE.format(
        width=width,
        gap=gap,
        radius=(width - 2 * gap) // 2,
        least=round(28 * scale),
        handle=theme.faint,
        over=theme.muted,
    )
    bar = area.verticalScrollBar()
    if bar.styleSheet() != style:
        bar.setStyleSheet(style)
