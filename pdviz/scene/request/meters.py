"""The two meters that move with the playhead: how much of compute and of bandwidth a pass uses."""

from __future__ import annotations

import msgspec

from pdviz.costmodel.bounds import BANDWIDTH, COMPUTE, Bound
from pdviz.costmodel.fidelities import PassCost
from pdviz.costmodel.roofline import Machine
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.lettering import elided
from pdviz.scene.marks.parts import MeasureText, Place, Text
from pdviz.units import percent, si, significant

SEGMENTS = 40


class Meter(msgspec.Struct, frozen=True):
    """A column of ``cells``, ``lit`` as far as is used; ``reached_y``: what the assumptions allow."""

    bound: Bound
    well: Box
    cells: tuple[Box, ...]
    lit: tuple[Box, ...]
    reached_y: float


class MetersCard(msgspec.Struct, frozen=True):
    """Both meters and their words; ``places`` are what is explained."""

    box: Box
    meters: tuple[Meter, ...]
    texts: tuple[Text, ...]
    places: tuple[Place, ...]


def meters_title(index: int) -> str:
    return "Now: prefill" if index == 0 else "Now: decode"


def meters_spoken(cost: PassCost, machine: Machine, index: int) -> str:
    """Both values in words."""
    return (
        f"{meters_title(index)}, {cost.bound}-bound: compute {percent(cost.compute_utilisation)}, "
        f"bandwidth {percent(cost.bandwidth_utilisation)}, "
        f"{significant(cost.intensity_flops_per_byte)} FLOPs per byte, "
        f"ridge {significant(machine.ridge_flops_per_byte)}"
    )


def lay_out_meters(
    card: Box, cost: PassCost, machine: Machine, index: int, scale: float, measure: MeasureText
) -> MetersCard:
    """Both meters for pass ``index`` that costs ``cost``."""
    s = scale
    pad, gap, foot = 16 * s, 18 * s, 128 * s
    phase = "prefill" if index == 0 else "decode"
    title = Box(card.x + pad, card.y + 14 * s, card.w - 2 * pad, 24 * s)
    width = (card.w - 2 * pad - gap) / 2
    half = card.w / 2
    texts = [Text(title, meters_title(index), "text", 15.5 * s, True)]
    places = [Place(f"{phase}.bound", Box(card.x, card.y, card.w, title.bottom - card.y))]
    meters = []
    for column, (bound, name, share, rate, ceiling) in enumerate(
        (
            (
                COMPUTE,
                "Compute",
                cost.compute_utilisation,
                si(cost.flops / cost.time_s, "FLOP/s"),
                machine.compute_efficiency,
            ),
            (
                BANDWIDTH,
                "Bandwidth",
                cost.bandwidth_utilisation,
                si(cost.bytes / cost.time_s, "B/s"),
                machine.bandwidth_efficiency,
            ),
        )
    ):
        x, left, role = card.x + pad + column * (width + gap), card.x + column * half, f"{bound}_text"
        head = Box(x, title.bottom + 6 * s, width, 22 * s)
        well = Box(x, head.bottom + 4 * s, width, max(card.bottom - foot - head.bottom, 20 * s))
        value = Box(x, well.bottom + 8 * s, width, 32 * s)
        rate_box = Box(x - 6 * s, value.bottom, width + 12 * s, 18 * s)
        word = Box(x, rate_box.bottom + 1 * s, width, 18 * s)
        meters.append(_meter(well, share, ceiling, bound, s))
        texts += [
            Text(head, name, role, 14 * s, True, "center"),
            Text(value, percent(share), "text", 24 * s, True, "center"),
            Text(rate_box, rate, "muted", 13 * s, False, "center"),
        ]
        if cost.bound is bound:
            texts.append(Text(word, "the limit", role, 12.5 * s, True, "center"))
            places.append(Place(f"{phase}.bound", Box(left, word.y, half, word.h)))
        places += [
            Place(f"{phase}.{bound}_rate", Box(left, rate_box.y, half, word.bottom - rate_box.y)),
            Place(f"{phase}.{bound}_utilisation", Box(left, title.bottom, half, value.bottom - title.bottom)),
        ]
    if all(cost.bound is not meter.bound for meter in meters):
        row = Box(card.x + pad, texts[-1].box.bottom + 1 * s, card.w - 2 * pad, 18 * s)
        words = elided(f"limited by {cost.bound.short}", row.w, 12.5 * s, True, measure)
        texts.append(Text(row, words, f"{cost.bound}_text", 12.5 * s, True, "center"))
        places.append(Place(f"{phase}.bound", row))
    line = Box(card.x + pad, card.bottom - 42 * s, card.w - 2 * pad, 16 * s)
    ridge = line.moved(0, 16 * s)
    for row, role, words in (
        (line, "muted", f"{significant(cost.intensity_flops_per_byte)} FLOPs per byte"),
        (ridge, "faint", f"ridge {significant(machine.ridge_flops_per_byte)} · dashed: reached"),
    ):
        fitted = elided(words, row.w, 12 * s, False, measure)
        texts.append(Text(row, fitted, role, 12 * s))
    places += [
        Place("ridge", Box(card.x, ridge.y, card.w, card.bottom - ridge.y)),
        Place(f"{phase}.intensity", Box(card.x, line.y - 5 * s, card.w, ridge.y - line.y + 5 * s)),
    ]
    return MetersCard(card, tuple(meters), tuple(texts), tuple(places))


def _meter(well: Box, share: float, ceiling: float, bound: Bound, scale: float) -> Meter:
    inner = well.inset(8 * scale, 7 * scale)
    pitch = inner.h / SEGMENTS
    cells = tuple(
        Box(inner.x, inner.bottom - (number + 1) * pitch + pitch * 0.15, inner.w, pitch * 0.7)
        for number in range(SEGMENTS)
    )
    lit = []
    for number, cell in enumerate(cells):
        fill = min(max(share * SEGMENTS - number, 0.0), 1.0)
        if fill > 0:
            height = max(cell.h * fill, 1.0)
            lit.append(Box(cell.x, cell.bottom - height, cell.w, height))
    return Meter(bound, well, cells, tuple(lit), inner.bottom - inner.h * ceiling)
