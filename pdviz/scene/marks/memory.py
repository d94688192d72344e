"""The memory bar: weights, KV cache, reserve, what is left or missing, and what that has room for."""

from __future__ import annotations

import msgspec

from pdviz.costmodel.memory import RESERVE_SHARE
from pdviz.evaluation import Result
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.lettering import elided
from pdviz.scene.marks.parts import MeasureText, Place, Text
from pdviz.units import count, percent, size

SIZE = 12.0


class Patch(msgspec.Struct, frozen=True):
    """A rectangle in a colour role of the theme."""

    box: Box
    role: str


class MemoryBar(msgspec.Struct, frozen=True):
    """The bar with its words. ``reserve`` is hatched; ``limit`` marks the end of what there is to give
    where it does not do; ``places`` are what is explained.
    """

    bar: Box
    parts: tuple[Patch, ...]
    reserve: Box
    limit: Box | None
    swatches: tuple[Patch, ...]
    texts: tuple[Text, ...]
    places: tuple[Place, ...]


def memory_words(result: Result) -> tuple[str, str, str, str]:
    """(how much of how much, its weights, its KV cache, what more there is room for)."""
    memory = result.memory
    used = f"{size(memory.used_bytes)} of {size(memory.capacity_bytes)}"
    if not memory.fits:
        used = f"{size(-memory.free_bytes)} missing"
    if memory.fits:
        more = memory.free_sequences
        room = "any number fits" if more is None else f"room for {count(more)} more"
    else:
        fewest = result.fewest_accelerators
        room = "fits on no number of them" if fewest is None else f"fits on {count(fewest)} of them"
    return used, f"weights {size(memory.weights_bytes)}", f"KV {size(memory.kv_bytes)}", room


def lay_out_memory(box: Box, result: Result, scale: float, measure: MeasureText) -> MemoryBar:
    """Title, bar, legend in a box about 72 design pixels high."""
    s, memory = scale, result.memory
    used, weights_words, kv_words, room = memory_words(result)
    head = Box(box.x, box.y, box.w, 20 * s)
    bar = Box(box.x, head.bottom + 4 * s, box.w, 11 * s)
    total = max(memory.capacity_bytes, memory.used_bytes + memory.reserve_bytes)
    weights = max(bar.w * memory.weights_bytes / total, 2 * s)
    kv = max(bar.w * memory.kv_bytes / total, min(2 * s, bar.w - weights))
    kept = bar.w * memory.reserve_bytes / total
    reserve = Box(bar.x + bar.w * memory.capacity_bytes / total - kept, bar.y, kept, bar.h)
    line = Box(box.x, bar.bottom + 5 * s, box.w, 16 * s)
    column = 0.54 * line.w
    texts = [
        Text(head, "GPU memory", "muted", 13 * s),
        Text(head, used, "text" if memory.fits else "warning", 14 * s, True, "right"),
    ]
    swatches = []
    for x, role, words in (
        (line.x, "memory_weights", weights_words),
        (line.x + column, "memory_kv", kv_words),
    ):
        swatches.append(Patch(Box(x, line.y + 4 * s, 8 * s, 8 * s), role))
        texts.append(Text(Box(x + 13 * s, line.y, line.w, line.h), words, "muted", SIZE * s))
    row = bar.y - 2 * s, bar.h + 5 * s  # the bar is thin: a little above and below it counts
    places = [
        Place("memory.fits", Box(box.x, box.y, box.w, row[0] - box.y)),
        Place("memory.capacity", Box(reserve.x, row[0], reserve.w, row[1])),
        Place("memory.used", Box(box.x, row[0], box.w, row[1])),
        Place("memory.weights", Box(line.x, line.y - 2 * s, column, line.h + 2 * s)),
        Place("memory.kv", Box(line.x + column, line.y - 2 * s, line.w - column, line.h + 2 * s)),
    ]
    below = line.moved(0, 16 * s)
    if below.bottom <= box.bottom + 1:
        hint = _reserve_text(below, room, s, measure)
        left = below.w
        if hint is not None:
            texts.append(hint)
            left -= measure(hint.text, SIZE * s, False) + 4 * s
            places.append(Place("memory.reserve", Box(below.x + left, below.y, below.w - left, below.h)))
        fitted = elided(room, line.w, SIZE * s, False, measure)
        texts.append(Text(below, fitted, "muted", SIZE * s))
        key = "memory.largest_batch" if memory.fits else "memory.fewest"
        places.append(Place(key, Box(below.x, below.y, left, below.h)))
    return MemoryBar(
        bar=bar,
        parts=(
            Patch(Box(bar.x, bar.y, weights, bar.h), "memory_weights"),
            Patch(Box(bar.x + weights, bar.y, kv, bar.h), "memory_kv"),
        ),
        reserve=reserve,
        limit=None if memory.fits else Box(reserve.x - s, bar.y - 3 * s, 2 * s, bar.h + 6 * s),
        swatches=tuple(swatches),
        texts=tuple(texts),
        places=tuple(places),
    )


def _reserve_text(below: Box, room: str, s: float, measure: MeasureText) -> Text | None:
    """What the hatched part is, in the longest form that has room beside what stands at the left."""
    left = below.w - measure(room, SIZE * s, False) - 8 * s
    share = percent(RESERVE_SHARE)[:-4]
    for words in (f"hatched: {share} % reserve", f"hatched: {share} %", "hatched: reserve"):
        if measure(words, SIZE * s, False) <= left:
            return Text(below, words, "faint", SIZE * s, False, "right")
    return None
