"""The two meters that move with the playhead: how much of compute and of bandwidth a pass uses."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QPainter, QRegion
from PySide6.QtWidgets import QWidget

from pdviz.costmodel.fidelities import PassCost
from pdviz.costmodel.roofline import Machine
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.theme import Theme
from pdviz.units import percent, si, significant
from pdviz.widgets.kit.accessibility import Role
from pdviz.widgets.kit.paint import draw_card, draw_dashed, draw_round_box, draw_text, elided, rect
from pdviz.widgets.kit.palette import colour
from pdviz.widgets.kit.pointed import Pointed
from pdviz.widgets.kit.view import PaintedView

SEGMENTS = 40


def meters_title(index: int) -> str:
    return "Now: prefill" if index == 0 else "Now: decode"


def intensity_words(cost: PassCost, machine: Machine) -> str:
    return (
        f"{significant(cost.intensity_flops_per_byte)} FLOPs per byte, "
        f"ridge {significant(machine.ridge_flops_per_byte)}"
    )


def paint_meters(
    p: QPainter, card: Box, cost: PassCost, machine: Machine, index: int, theme: Theme, scale: float
) -> None:
    """Both meters for pass ``index`` that costs ``cost``."""
    draw_card(p, card, theme, scale)
    pad = 16 * scale
    title = Box(card.x + pad, card.y + 14 * scale, card.w - 2 * pad, 24 * scale)
    draw_text(p, title, meters_title(index), theme.text, 15.5 * scale, True)
    gap = 18 * scale
    width = (card.w - 2 * pad - gap) / 2
    foot = 128 * scale
    meters = (
        (
            "compute",
            "Compute",
            cost.compute_utilisation,
            si(cost.flops / cost.time_s, "FLOP/s"),
            machine.compute_efficiency,
        ),
        (
            "bandwidth",
            "Bandwidth",
            cost.bandwidth_utilisation,
            si(cost.bytes / cost.time_s, "B/s"),
            machine.bandwidth_efficiency,
        ),
    )
    for column, (bound, name, share, rate, ceiling) in enumerate(meters):
        x = card.x + pad + column * (width + gap)
        head = Box(x, title.bottom + 6 * scale, width, 22 * scale)
        bold = cost.bound == bound
        draw_text(p, head, name, theme.bound_text(bound), 14 * scale, True, "center")
        well = Box(x, head.bottom + 4 * scale, width, max(card.bottom - foot - head.bottom, 20 * scale))
        _paint_well(p, well, share, ceiling, bound, theme, scale)
        value = Box(x, well.bottom + 8 * scale, width, 32 * scale)
        draw_text(p, value, percent(share), theme.text, 24 * scale, True, "center")
        rate_box = Box(x - 6 * scale, value.bottom, width + 12 * scale, 18 * scale)
        draw_text(p, rate_box, rate, theme.muted, 13 * scale, False, "center")
        if bold:
            word = Box(x, rate_box.bottom + 1 * scale, width, 18 * scale)
            draw_text(p, word, "the limit", theme.bound_text(bound), 12.5 * scale, True, "center")
    line = Box(card.x + pad, card.bottom - 42 * scale, card.w - 2 * pad, 16 * scale)
    words = f"{significant(cost.intensity_flops_per_byte)} FLOPs per byte"
    draw_text(p, line, elided(words, 12 * scale, False, line.w), theme.muted, 12 * scale)
    hint = f"ridge {significant(machine.ridge_flops_per_byte)} · dashed: reached"
    draw_text(p, line.moved(0, 16 * scale), elided(hint, 12 * scale, False, line.w), theme.faint, 12 * scale)


def _paint_well(
    p: QPainter, well: Box, share: float, ceiling: float, bound: str, theme: Theme, scale: float
) -> None:
    draw_round_box(p, well, theme.window, 6 * scale)
    inner = well.inset(8 * scale, 7 * scale)
    pitch = inner.h / SEGMENTS
    lit = share * SEGMENTS
    on, off = colour(theme.bound(bound)), colour(theme.bound_soft(bound), 0.6)
    for number in range(SEGMENTS):
        y = inner.bottom - (number + 1) * pitch
        cell = Box(inner.x, y + pitch * 0.15, inner.w, pitch * 0.7)
        fill = min(max(lit - number, 0.0), 1.0)
        p.fillRect(rect(cell), off)
        if fill > 0:
            height = max(cell.h * fill, 1.0)
            p.fillRect(rect(Box(cell.x, cell.bottom - height, cell.w, height)), on)
    y = inner.bottom - inner.h * ceiling
    draw_dashed(p, well.x, well.right, y, theme.text, 1.4 * scale, 3)


class MetersView(PaintedView):
    """Shows the cost of the pass under the playhead."""

    accessible_role = Role.ProgressBar

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Utilisation meters")
        self._shown: tuple[PassCost, Machine, int] | None = None

    def show_pass(self, cost: PassCost, machine: Machine, index: int) -> None:
        shown = (cost, machine, index)
        if shown != self._shown:
            self._shown = shown
            self.update()

    @property
    def pass_index(self) -> int | None:
        """The pass that is shown."""
        return self._shown[2] if self._shown is not None else None

    def explain_at(self, at: QPoint) -> Pointed | None:
        """Left and right meter, the line below them."""
        index = self.pass_index
        if index is None:
            return None
        phase = "prefill" if index == 0 else "decode"
        width, height, foot = self.width(), self.height(), round(48 * self.scale)
        if at.y() > height - foot:
            return Pointed(f"{phase}.intensity", index, QRect(0, height - foot, width, foot))
        half = width // 2
        rates = height - foot - round(56 * self.scale)
        side, left = ("compute", 0) if at.x() < half else ("bandwidth", half)
        if at.y() < round(34 * self.scale):
            return Pointed(f"{phase}.bound", index, QRect(0, 0, width, round(34 * self.scale)))
        if at.y() > rates + round(20 * self.scale):
            return Pointed(f"{phase}.{side}_rate", index, QRect(left, rates, half, height - foot - rates))
        return Pointed(f"{phase}.{side}_utilisation", index, QRect(left, 0, half, height - foot))

    def spoken(self) -> str:
        """Both values in words."""
        if self._shown is None:
            return ""
        cost, machine, index = self._shown
        return (
            f"{meters_title(index)}, {cost.bound}-bound: compute {percent(cost.compute_utilisation)}, "
            f"bandwidth {percent(cost.bandwidth_utilisation)}, {intensity_words(cost, machine)}"
        )

    def paint(self, p: QPainter, dirty: QRegion) -> None:
        p.fillRect(self.rect(), colour(self.theme.window))
        if self._shown is not None:
            cost, machine, index = self._shown
            card = Box(0, 0, self.width(), self.height())
            paint_meters(p, card, cost, machine, index, self.theme, self.scale)
