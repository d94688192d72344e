"""Which figure of the window is explained by what: one place for all registrations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QWidget

from pdviz.widgets.shell.explainer import Explainer, Pointed, always

if TYPE_CHECKING:
    from pdviz.evaluation import Result
    from pdviz.widgets.controls.memory_view import MemoryView
    from pdviz.widgets.controls.panel import ControlPanel
    from pdviz.widgets.request.meters import MetersView
    from pdviz.widgets.shell.window import MainWindow

FIGURES = ("ttft", "itl", "e2e", "decode_share", "tokens_per_s")


def explain_window(window: MainWindow) -> Explainer:
    """An explainer that knows every figure of the window."""
    explainer = Explainer(
        partial(_newest, window), window, rate=partial(_rate, window), catalogue=window.store.catalogue
    )
    for view, key in zip(window.request.figures, FIGURES, strict=True):
        explainer.register(view, always(key))
    meters, memory, panel = window.request.meters, window.panel.memory, window.panel
    explainer.register(meters, partial(_on_meters, meters))
    explainer.register(memory, partial(_on_memory, memory))
    explainer.register(window.request.warning, always("remarks"))
    explainer.register(panel, partial(_on_panel, panel), is_clickable=False, is_focusable=False)
    passive: tuple[tuple[QWidget, str], ...] = (
        (window.transport.rate, "slow_motion"),
        (window.top.assumptions, "assumptions"),
        (panel.sliders["prompt_tokens"], "crossover"),
        (panel.sliders["others"], "half_speed_context"),
    )
    for widget, key in passive:
        explainer.register(widget, always(key), is_clickable=False)
    return explainer


def _newest(window: MainWindow) -> Result:
    return window.store.result


def _rate(window: MainWindow) -> float:
    return window.player.clock.rate


def _on_meters(meters: MetersView, at: QPoint) -> Pointed | None:
    """Left and right meter, the line below them."""
    index = meters.pass_index
    if index is None:
        return None
    phase = "prefill" if index == 0 else "decode"
    width, height, foot = meters.width(), meters.height(), round(48 * meters.scale)
    if at.y() > height - foot:
        return Pointed(f"{phase}.intensity", index, QRect(0, height - foot, width, foot))
    half = width // 2
    rates = height - foot - round(56 * meters.scale)
    side, left = ("compute", 0) if at.x() < half else ("bandwidth", half)
    if at.y() < round(34 * meters.scale):
        return Pointed(f"{phase}.bound", index, QRect(0, 0, width, round(34 * meters.scale)))
    if at.y() > rates + round(20 * meters.scale):
        return Pointed(f"{phase}.{side}_rate", index, QRect(left, rates, half, height - foot - rates))
    return Pointed(f"{phase}.{side}_utilisation", index, QRect(left, 0, half, height - foot))


def _on_memory(memory: MemoryView, at: QPoint) -> Pointed | None:
    """The head, the bar, and each part of the legend."""
    s, half = memory.scale, memory.width() // 2
    if at.y() < 22 * s:
        return Pointed("memory.fits", None, QRect(0, 0, memory.width(), round(22 * s)))
    if 22 * s <= at.y() < 38 * s and at.x() > 0.9 * memory.width():
        return Pointed("memory.capacity", None, QRect(0, round(22 * s), memory.width(), round(16 * s)))
    if at.y() < 38 * s:
        return Pointed("memory.used", None, QRect(0, round(22 * s), memory.width(), round(16 * s)))
    if at.y() < 57 * s:
        key, left = ("memory.weights", 0) if at.x() < half else ("memory.kv", half)
        return Pointed(key, None, QRect(left, round(38 * s), half, round(19 * s)))
    left = half
    if at.x() >= left:
        return Pointed(
            "memory.reserve", None, QRect(left, round(57 * s), memory.width() - left, round(17 * s))
        )
    key = "memory.largest_batch" if memory.fits else "memory.fewest"
    return Pointed(key, None, QRect(0, round(57 * s), left, round(17 * s)))


def _on_panel(panel: ControlPanel, at: QPoint) -> Pointed | None:
    """The lines below model and accelerator, word group by word group."""
    found: Callable[[QPoint], tuple[str, QRect] | None] = panel.figure_at
    figure = found(at)
    return Pointed(figure[0], None, figure[1]) if figure is not None else None
