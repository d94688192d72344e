"""From theme roles to Qt: colours, the application palette, the font. The only maker of QColor."""

from __future__ import annotations

import os.path
from functools import lru_cache

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontMetricsF, QPalette
from PySide6.QtWidgets import QApplication

from pdviz.scene.marks.theme import Theme

Role = QPalette.ColorRole
FAMILY = "Inter"


@lru_cache(maxsize=512)
def colour(code: str, opacity: float = 1.0) -> QColor:
    """A colour from #rrggbb. Shared: do not change it."""
    made = QColor(code)
    if opacity < 1.0:
        made.setAlphaF(opacity)
    return made


def load_font() -> str:
    """Registers the bundled Inter with Qt; returns the family to use (the system's where it fails)."""
    import fontpkg_inter

    folder = os.path.join(os.path.dirname(fontpkg_inter.__file__), "files")
    number = QFontDatabase.addApplicationFont(os.path.join(folder, "Inter[opsz,wght].ttf"))
    families = QFontDatabase.applicationFontFamilies(number) if number >= 0 else []
    return families[0] if families else QApplication.font().family()


@lru_cache(maxsize=256)
def font(pixels: float, bold: bool = False) -> QFont:
    """Inter with tabular figures at a pixel size. Shared: do not change it."""
    made = QFont(FAMILY)
    made.setPixelSize(max(round(pixels), 1))
    made.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
    made.setVariableAxis(QFont.Tag("wght"), 600 if bold else 420)
    made.setFeature(QFont.Tag("tnum"), 1)
    made.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    return made


@lru_cache(maxsize=256)
def metrics(pixels: float, bold: bool = False) -> QFontMetricsF:
    return QFontMetricsF(font(pixels, bold))


@lru_cache(maxsize=8192)
def text_width(text: str, pixels: float, bold: bool = False) -> float:
    """Width of ``text`` in logical pixels."""
    return metrics(pixels, bold).horizontalAdvance(text)


def qt_palette(theme: Theme) -> QPalette:
    """The palette of ordinary widgets (lists, menus, text fields, dialogs)."""
    palette = QPalette()
    for role, code in (
        (Role.Window, theme.window),
        (Role.WindowText, theme.text),
        (Role.Base, theme.surface),
        (Role.AlternateBase, theme.raised),
        (Role.Text, theme.text),
        (Role.Button, theme.raised),
        (Role.ButtonText, theme.text),
        (Role.BrightText, theme.text),
        (Role.ToolTipBase, theme.raised),
        (Role.ToolTipText, theme.text),
        (Role.PlaceholderText, theme.faint),
        (Role.Highlight, theme.accent),
        (Role.HighlightedText, theme.on_accent),
        (Role.Link, theme.text),
        (Role.Light, theme.line),
        (Role.Midlight, theme.line),
        (Role.Mid, theme.line),
        (Role.Dark, theme.line),
        (Role.Shadow, theme.window),
    ):
        palette.setColor(role, colour(code))
    for role in (Role.Text, Role.ButtonText, Role.WindowText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, colour(theme.faint))
    return palette


def system_is_dark() -> bool:
    """What the desktop asks for; dark where it does not say."""
    return QApplication.styleHints().colorScheme() != Qt.ColorScheme.Light
