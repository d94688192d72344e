"""Beside the drawings: where the parameters are as a table, and the memory of each accelerator."""

from __future__ import annotations

import msgspec

from pdviz.costmodel.anatomy import Anatomy
from pdviz.costmodel.dtypes import DTYPES
from pdviz.costmodel.memory import RESERVE_SHARE
from pdviz.costmodel.weights import is_converted
from pdviz.evaluation import Result
from pdviz.field import OTHERS_LIMIT
from pdviz.scene.anatomy.words import ROLES, TITLES
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.lettering import Lettering
from pdviz.scene.marks.parts import Text
from pdviz.scene.marks.suggestion import Suggestion
from pdviz.units import count, percent, plural, significant, size


class Row(msgspec.Struct, frozen=True):
    """A line that is explained as a whole: ``key`` is that of its figure, ``role`` fills its swatch."""

    box: Box
    key: str
    role: str
    words: tuple[str, ...]


class Table(msgspec.Struct, frozen=True):
    """Parts with parameters, share and bytes."""

    card: Box
    rows: tuple[Row, ...]
    rule_y: float
    texts: tuple[Text, ...]


class Share(msgspec.Struct, frozen=True):
    """A stretch of the memory bar; ``is_hatched`` is what is kept for the runtime."""

    box: Box
    role: str
    is_hatched: bool = False


class MemoryCard(msgspec.Struct, frozen=True):
    """The memory of one accelerator. ``limit_x``: where the bar ends of what does not fit."""

    card: Box
    bar: Box
    shares: tuple[Share, ...]
    limit_x: float | None
    rows: tuple[Row, ...]
    texts: tuple[Text, ...]
    action: Suggestion | None
    button: Box


ROW = 32.0
LEAST_ROW = 17.0
"""Design pixels of a line, at most and at least."""


def build_table(result: Result, parts: Anatomy, card: Box, pen: Lettering) -> Table:
    """The table, its total at the foot."""
    s = pen.scale
    inner = card.inset(16 * s, 0)
    total = result.architecture.parameters
    totals = parts.totals()
    texts = [
        pen.line(inner.x, card.y + 13 * s, "Where the parameters are", "text", 15.5, True),
    ]
    share_x, count_x = inner.right - 76 * s, inner.right - 146 * s
    y = card.y + 42 * s
    for x, words in ((count_x, "parameters"), (share_x, "share"), (inner.right, "bytes")):
        texts.append(pen.line(x, y, words, "faint", 12, False, "right"))
    y += 20 * s
    foot = card.bottom - 12 * s
    notes = [line for note in table_notes(result, parts) for line in pen.wrapped(note, inner.w, 12)]
    noted = len(notes) * pen.height(12) + (6 * s if notes else 0.0)
    least = LEAST_ROW * s * (len(totals) + 2.4)
    if y + least + noted > foot:
        notes, noted = [], 0.0
    pitch = min(ROW * s, (foot - y - noted) / (len(totals) + 2.4))
    rows = []

    def line(title: str, number: int, bytes_of: float, role: str, key: str, bold: bool) -> None:
        middle = y + (pitch - pen.height(13)) / 2
        left = inner.x + (18 * s if role else 0)
        room = count_x - pen.width(count(number), 13, bold) - left - 6 * s
        name = pen.fitted(title, room, 13, bold) or title
        texts.append(pen.line(left, middle, name, "text", 13, bold))
        for x, words in (
            (count_x, count(number)),
            (share_x, share_words(number / total)),
            (inner.right, size(bytes_of)),
        ):
            texts.append(pen.line(x, middle, words, "text" if bold else "muted", 13, bold, "right"))
        spoken = title, plural(number, "parameter"), share_words(number / total), size(bytes_of)
        rows.append(Row(Box(card.x, y, card.w, pitch), key, role, spoken))

    for part, (number, bytes_of) in totals.items():
        line(TITLES[part], number, bytes_of, ROLES[part], f"parts.{part}", False)
        y += pitch
    rule = y + 2 * s
    y += 0.2 * pitch
    line("All", total, sum(b for _, b in totals.values()), "", "parameters", True)
    y += pitch
    read = float(result.model.weights_read_bytes(result.streams))
    middle = y + (pitch - pen.height(13)) / 2
    reads = f"A decode pass over {plural(result.streams, 'token')} reads"
    texts.append(pen.line(inner.x, middle, reads, "text", 13))
    stored = result.model.stored_weights_bytes
    for x, words in ((share_x, share_words(read / stored)), (inner.right, size(read))):
        texts.append(pen.line(x, middle, words, "muted", 13, False, "right"))
    rows.append(Row(Box(card.x, y, card.w, pitch), "weights_read", "", (reads, size(read))))
    y += pitch + 4 * s
    for words in notes:
        texts.append(pen.line(inner.x, y, words, "faint", 12))
        y += pen.height(12)
    return Table(card, tuple(rows), rule, tuple(texts))


def share_words(share: float) -> str:
    """A share to a tenth of a percent; less than a hundredth is said so."""
    return "< 0.01 %" if 0 < share < 1e-4 else percent(share)


def stored_words(result: Result) -> str:
    """What the weights are stored as and multiplied in."""
    title = result.model.weights_title
    math = result.machine.math_dtype
    if is_converted(result.architecture, result.scenario.weights_dtype, math):
        return f"{title}, multiplied in {DTYPES[math].title}"
    return title


def brief_words(result: Result) -> str:
    """The same in fewer words."""
    title, *rest = stored_words(result).split(", ")
    return f"{title}, {DTYPES[result.machine.math_dtype].title} math" if rest else title


def table_notes(result: Result, parts: Anatomy) -> tuple[str, ...]:
    """What the numbers do not say."""
    model = result.architecture
    found = []
    if model.tied:
        found.append("The head is the embedding table: stored once, read again for the logits.")
    if model.left_out:
        found.append(f"Left out of the pass: {', '.join(model.left_out)}.")
    if parts.is_mean:
        found.append("Exact by layer and part; matrices within a part share its bytes.")
    return tuple(found)


def build_memory_card(result: Result, card: Box, pen: Lettering) -> MemoryCard:
    """The memory of one accelerator of ``result``."""
    s, m = pen.scale, result.memory
    inner = card.inset(16 * s, 0)
    n = m.accelerators
    title = "Memory" if n == 1 else f"Memory of each of {count(n)}"
    texts = [
        pen.line(inner.x, card.y + 13 * s, title, "text", 15.5, True),
        pen.line(
            inner.right, card.y + 15 * s,
            pen.fitted(f"{result.accelerator.name}, {size(m.capacity_bytes_each)}", 0.62 * inner.w, 13),
            "muted", 13, False, "right",
        ),
    ]  # fmt: skip
    if texts[0].box.overlaps(texts[1].box):
        texts[1] = pen.line(
            inner.right, card.y + 15 * s, size(m.capacity_bytes_each), "muted", 13, False, "right"
        )
    bar = Box(inner.x, card.y + 44 * s, inner.w, 18 * s)
    needed = m.weights_bytes_each + m.kv_bytes_each + m.reserve_bytes_each
    px = bar.w / max(needed, m.capacity_bytes_each)
    weights = max(m.weights_bytes_each * px, 2 * s)
    kv = max(m.kv_bytes_each * px, 1.5 * s if m.kv_bytes_each else 0.0)
    edge = bar.x + m.capacity_bytes_each * px
    reserve = m.reserve_bytes_each * px
    kept_x = edge - reserve if m.fits else bar.x + weights + kv  # what is missing sticks out
    shares = (
        Share(Box(bar.x, bar.y, weights, bar.h), "memory_weights"),
        Share(Box(bar.x + weights, bar.y, kv, bar.h), "memory_kv"),
        Share(Box(kept_x, bar.y, reserve, bar.h), "faint", True),
    )
    free = m.free_bytes_each
    sequences = plural(m.sequences, "sequence")
    longest = plural(m.longest_context_tokens, "token")
    up_to = "up to " if m.sequences > 1 and m.other_kv_bytes != m.own_kv_bytes else ""
    logical = float(result.model.kv_bytes(result.scenario.final_context))
    logical += result.scenario.others * float(result.model.kv_bytes(m.other_context_tokens))
    copies = f", {significant(m.kv_bytes / logical, 2)} copies" if m.kv_bytes > logical * 1.001 else ""
    left = ("Missing", size(-free)) if free < 0 else ("Left", size(free))
    weights_each, kv_each = size(m.weights_bytes_each), size(m.kv_bytes_each)
    lines: list[tuple[str, str, str, str, str]] = [
        ("Weights", stored_words(result), weights_each, "memory.weights_each", "memory_weights"),
        ("KV cache", f"{sequences} of {up_to}{longest}{copies}", kv_each, "memory.kv_each", "memory_kv"),
        ("Reserve", f"{percent(RESERVE_SHARE)[:-4]} % for the runtime", size(m.reserve_bytes_each),
         "memory.reserve_each", "hatch"),
        (left[0], "", left[1], "memory.free_each", "raised" if free >= 0 else "warning"),
    ]  # fmt: skip
    if m.free_sequences is not None and free >= 0:
        also = plural(m.free_sequences, "more sequence")
        if m.free_tokens is None:
            lines.append(("room for", "", also, "memory.largest_batch", ""))
        else:
            lines.append(("room for", also, plural(m.free_tokens, "token"), "memory.free_tokens", ""))
    if m.largest_batch is not None and m.weights_fit:
        lines.append(
            ("Largest batch", "that fits", plural(m.largest_batch, "sequence"), "memory.largest_batch", "")
        )
    fewest = result.fewest_accelerators
    fits_on = "none up to 1,024" if fewest is None else f"{count(fewest)} × {result.accelerator.name}"
    divides = fewest is None or result.model.divides_among(fewest)
    lines.append(("Fits on", "as few as" if divides else "heads not divided", fits_on, "memory.fewest", ""))
    action = memory_action(result)
    button_h = 30 * s
    foot = card.bottom - 12 * s - (button_h + 8 * s if action is not None else 0.0)
    y = bar.bottom + 10 * s
    pitch = min(ROW * s, max((foot - y) / len(lines), 1.0))
    rows = []
    for name, detail, value, key, role in lines:
        middle = y + (pitch - pen.height(13)) / 2
        bad = key == "memory.free_each" and free < 0
        x = inner.x + 18 * s
        label = pen.line(x, middle, name, "warning" if bad else "text", 13)
        number = pen.line(
            inner.right, middle, value, "warning" if bad else "text", 13, True, "right"
        )  # fmt: skip
        words = pen.fitted(detail, number.box.x - label.box.right - 18 * s, 12.5) if detail else ""
        texts += [label, number]
        if words:
            texts.append(pen.line(label.box.right + 8 * s, middle, words, "muted", 12.5))
        rows.append(Row(Box(card.x, y, card.w, pitch), key, role, (name, value, detail)))
        y += pitch
    button = Box(inner.x, card.bottom - 12 * s - button_h, inner.w, button_h)
    limit = edge if free < 0 else None
    return MemoryCard(card, bar, shares, limit, tuple(rows), tuple(texts), action, button)


def memory_action(result: Result) -> Suggestion | None:
    """What a button of the card does: make it fit, or fill what is left."""
    m, fewest = result.memory, result.fewest_accelerators
    if not m.fits:
        if fewest is None or fewest <= m.accelerators:
            return None
        return Suggestion(f"Share it among {count(fewest)} accelerators", (("accelerators", fewest),))
    batch = m.largest_batch
    if batch is None or batch <= m.sequences:
        return None
    others = min(batch - 1, OTHERS_LIMIT)
    if others <= result.scenario.others:
        return None
    return Suggestion(f"Decode {plural(others, 'other')} alongside", (("others", others),))
