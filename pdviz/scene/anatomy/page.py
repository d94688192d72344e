"""The anatomy page: a model's weights to scale, one of its layers, the count, and what memory is left."""

from __future__ import annotations

import msgspec

from pdviz.costmodel.anatomy import Anatomy, anatomy
from pdviz.costmodel.passes import ModelCost
from pdviz.evaluation import Result
from pdviz.scene.anatomy.layer import LayerDrawing, build_layer
from pdviz.scene.anatomy.side import (
    MemoryCard,
    Row,
    Table,
    brief_words,
    build_memory_card,
    build_table,
    stored_words,
)
from pdviz.scene.anatomy.strip import Strip, build_strip, default_run
from pdviz.scene.anatomy.words import item_rows, layer_words, matrix_name, range_words
from pdviz.scene.marks.figures import Figure
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.lettering import Lettering
from pdviz.scene.marks.parts import Hover, MeasureText
from pdviz.units import binary_size, count, parameters, percent, plural, si, size

LEAST_WIDTH, LEAST_HEIGHT = 1100.0, 640.0
FIGURE_KEYS = (
    "parameters",
    "active_parameters",
    "memory.weights",
    "kv_bytes_per_token",
    "half_speed_context",
)
SIDE_WIDTH = 424.0
LAYER_SHARE = 0.6
TABLE_HEAD, MEMORY_HEAD = 76.0, 110.0
"""Design pixels of the two cards that are no lines."""


class AnatomyPage(msgspec.Struct, frozen=True):
    """The page. ``tiles`` are the boxes of ``figures``; ``index`` is the run of layers that is drawn."""

    parts: Anatomy
    index: int
    figures: tuple[Figure, ...]
    tiles: tuple[Box, ...]
    strip: Strip
    layer: LayerDrawing
    table: Table
    memory: MemoryCard
    spoken: str

    @property
    def rows(self) -> tuple[Row, ...]:
        """Lines with a figure that is explained."""
        return (*self.table.rows, *self.memory.rows)

    def row_at(self, x: float, y: float) -> Row | None:
        """The explained line at a point."""
        return next((row for row in self.rows if row.box.contains(x, y)), None)


_newest: tuple[ModelCost, Anatomy] | None = None


def anatomy_of(model: ModelCost) -> Anatomy:
    """The same Anatomy for the same ModelCost; the last one is kept."""
    global _newest
    if _newest is None or _newest[0] is not model:
        _newest = model, anatomy(model)
    return _newest[1]


def page_scale(width: float, height: float, scale: float) -> float:
    """The scale for a page of that size: ``scale``, but for large type in a small window less."""
    return min(scale, width / LEAST_WIDTH, height / LEAST_HEIGHT)


def build_anatomy(
    result: Result, index: int | None, width: float, height: float, scale: float, measure: MeasureText
) -> AnatomyPage:
    """The page for ``result``, ``width`` x ``height``; ``index`` picks the run of layers to draw."""
    parts = anatomy_of(result.model)
    chosen = default_run(parts) if index is None else min(max(index, 0), len(parts.runs) - 1)
    pen = Lettering(scale, measure)
    s, gap = scale, 12 * scale
    tile_h = 86 * s
    figures = anatomy_figures(result)
    tile_w = (width - gap * (len(figures) - 1)) / len(figures)
    tiles = tuple(Box(i * (tile_w + gap), 0.0, tile_w, tile_h) for i in range(len(figures)))
    top = tile_h + gap
    side = SIDE_WIDTH * s
    left = width - side - gap
    # The layer takes what its scale can use of up to 60 % of the height, the strip the rest.
    most = LAYER_SHARE * (height - top - gap)
    drawn = build_layer(result, parts, chosen, Box(0, 0, left, most), pen)
    layer_h = min(most, drawn.bottom + 14 * s)
    layer = build_layer(result, parts, chosen, Box(0, height - layer_h, left, layer_h), pen, drawn.plan)
    strip = build_strip(result, parts, Box(0, top, left, height - layer_h - gap - top), pen)
    table_lines, memory_lines = len(parts.totals()) + 3, 8
    room = height - top - gap - (TABLE_HEAD + MEMORY_HEAD) * s
    pitch = room / (table_lines + memory_lines)
    table_h = TABLE_HEAD * s + table_lines * pitch
    memory_h = height - top - gap - table_h
    table = build_table(result, parts, Box(left + gap, top, side, table_h), pen)
    memory = build_memory_card(result, Box(left + gap, height - memory_h, side, memory_h), pen)
    return AnatomyPage(
        parts, chosen, figures, tiles, strip, layer, table, memory, _spoken(result, parts, chosen)
    )


def anatomy_figures(result: Result) -> tuple[Figure, ...]:
    """The five tiles."""
    model, cost = result.architecture, result.model
    shape = f"{plural(model.layers, 'layer')}, width {count(model.hidden)}"
    kinds = {(b.active, b.total) for _, b in model.experts()}
    if len(kinds) == 1:
        active, total = next(iter(kinds))
        met = f"a token meets {count(active)} of {count(total)} experts"
    elif kinds:
        met = "a token meets some experts"
    else:
        met = "every token meets all of them"
    growing = sum(n for n, a in model.attentions() if a.cache_elements)
    kept = f"in {count(growing)} of {plural(model.layers, 'layer')}" if growing else "only a fixed state"
    ends = {a.window_tokens for _, a in model.attentions() if a.cache_elements and a.window_tokens}
    if len(ends) == 1:
        stopping = sum(n for n, a in model.attentions() if a.cache_elements and a.window_tokens)
        kept = f"{count(stopping)} of {count(growing)} layers stop at {count(ends.pop())}"
    return (
        Figure("Parameters", parameters(model.parameters), shape),
        Figure("Active parameters", parameters(model.active_parameters), met),
        Figure("Weights", size(result.memory.weights_bytes), stored_words(result), brief=brief_words(result)),
        Figure("KV cache of a token", binary_size(cost.kv_bytes_per_token), kept),
        Figure(
            "KV outweighs weights from",
            _turn_words(result.half_speed_context_tokens),
            *_turn_details(result),
        ),
    )


def _turn_words(tokens: float | None) -> str:
    if tokens is None:
        return "never"
    return plural(tokens, "token") if tokens < 1e6 else f"{si(tokens, '').strip()} tokens"


def _turn_details(result: Result) -> tuple[str, None, str]:
    """What the turn is about: (detail, no bound, fewer words)."""
    tokens, limit = result.half_speed_context_tokens, result.architecture.max_context_tokens
    if not result.model.kv_bytes_per_token:
        return "a fixed state does not grow", None, "a fixed state"
    if tokens is None:
        return "its cache ends at some length", None, "its cache ends"
    if limit is not None and tokens > limit:
        words = f"of context; made for {count(limit)}"
        return words, None, words
    streams = plural(result.streams, "sequence")
    return f"of context, {streams} decoding", None, f"of context, {count(result.streams)} decoding"


def layer_hover(page: AnatomyPage, result: Result, run_index: int, number: int) -> Hover:
    """What there is to say about a layer of the strip."""
    run = page.parts.runs[run_index]
    context = result.scenario.final_context
    rows = [
        ("parameters", count(run.parameters)),
        ("bytes", size(run.stored_bytes)),
    ]
    sums: dict[str, float] = {}
    for item in run.items:
        sums[item.part] = sums.get(item.part, 0.0) + item.stored_bytes
    rows += [(_PART_WORDS.get(part, part), size(value)) for part, value in sums.items()]
    if run.cache_bytes:
        rows.append(("KV cache of a token", binary_size(run.cache_bytes)))
    if run.state_bytes:
        rows.append(("fixed state", size(run.state_bytes)))
    rows.append((f"KV cache of {plural(context, 'token')}", size(run.kv_bytes(context))))
    return Hover(number, f"Layer {count(number + 1)}: {layer_words(run)}", "", tuple(rows))


def outside_hover(page: AnatomyPage, result: Result, is_before: bool) -> Hover:
    """What there is to say about the weights before the layers, or behind them."""
    items = page.parts.before if is_before else page.parts.after
    rows: list[tuple[str, str]] = []
    for item in items:
        shape = f", {item.inputs:,} × {item.outputs:,}" if item.inputs else ""
        rows.append((f"{item.name}{shape}", f"{count(item.parameters)}, {size(item.stored_bytes)}"))
    if is_before and result.architecture.tied:
        rows.append(("and the head", "the same table"))
    return Hover(
        -1 if is_before else -2, "Before the layers" if is_before else "Behind the layers", "", tuple(rows)
    )


def item_hover(page: AnatomyPage, result: Result, x: float, y: float) -> Hover | None:
    """What there is to say about the matrix at a point of the layer's drawing."""
    item = page.layer.item_at(x, y)
    if item is None:
        return None
    run = page.parts.runs[page.index]
    rows = item_rows(item, run.count, result.architecture.parameters)
    return Hover(page.index, matrix_name(item).capitalize(), "", rows)


_PART_WORDS = {
    "attention": "attention",
    "recurrent": "recurrent mixing",
    "dense": "MLP",
    "router": "router",
    "experts": "routed experts",
    "shared": "shared experts",
    "vectors": "norms and biases",
}


def _spoken(result: Result, parts: Anatomy, index: int) -> str:
    total = result.architecture.parameters
    shares = [f"{part} {percent(number / total)}" for part, (number, _) in parts.totals().items()]
    drawn = f"{range_words(parts.runs[index], result.architecture.layers)}: {layer_words(parts.runs[index])}"
    return f"{result.architecture.name}, {parameters(total)} parameters, {', '.join(shares)}. Drawn: {drawn}."
