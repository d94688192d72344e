"""Where a model's parameters and bytes are: matrix by matrix, layer by layer.

The sums over an `Anatomy` are `Architecture.parameters` and `ModelCost.stored_weights_bytes`: it is the
same count, not added up yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import groupby

import msgspec

from pdviz.costmodel.architecture import Architecture, Attention, Experts, Layer, Matrix, MatrixRole
from pdviz.costmodel.dtypes import DTYPES, PUBLISHED
from pdviz.costmodel.passes import STATE_BYTES, ModelCost
from pdviz.costmodel.stored import Census, Parts
from pdviz.costmodel.terms import distinct_experts

PARTS = (
    "embedding",
    "positions",
    "attention",
    "recurrent",
    "dense",
    "router",
    "experts",
    "shared",
    "extra",
    "vectors",
    "head",
)
"""Kinds of weights in reading order. "recurrent": token mixing with a fixed state. "vectors": norms, biases
and the like. "extra": matrices outside the layers, embedding and head apart."""

Price = Callable[[str, Matrix, int, Attention | None], float]
"""Bytes of the weights of a matrix of a part in the layer of that number, its bias apart."""


class Item(msgspec.Struct, frozen=True):
    """Some weights: ``copies`` matrices of ``inputs`` x ``outputs``, or vectors where these are 0.

    ``active`` of the copies meet a token. ``parameters`` and ``stored_bytes`` are those of all copies.
    ``role`` is that of a matrix.
    """

    part: str
    name: str
    parameters: int
    stored_bytes: float
    inputs: int = 0
    outputs: int = 0
    copies: int = 1
    active: int = 1
    role: MatrixRole | None = None

    @property
    def is_routed(self) -> bool:
        return self.part == "experts"

    def read_share(self, tokens: int) -> float:
        """The share that a pass over ``tokens`` tokens reads: routed experts by how many it hits."""
        if not self.is_routed:
            return 1.0
        return float(distinct_experts(self.copies, self.active, tokens)) / self.copies


class LayerRun(msgspec.Struct, frozen=True):
    """``count`` equal layers from number ``first`` (from 0) on; ``items`` are those of one of them.

    ``cache_bytes`` is what a token adds to the KV cache of one, ``state_bytes`` what it holds of a
    sequence however long that is.
    """

    first: int
    count: int
    layer: Layer
    items: tuple[Item, ...]
    cache_bytes: float
    state_bytes: float

    @property
    def parameters(self) -> int:
        return sum(item.parameters for item in self.items)

    @property
    def stored_bytes(self) -> float:
        return sum(item.stored_bytes for item in self.items)

    def kv_bytes(self, context_tokens: int) -> float:
        """KV cache of one such layer for a sequence of that length, its window respected."""
        attention = self.layer.attention
        window = attention.window_tokens if attention is not None else None
        kept = context_tokens if window is None else min(context_tokens, window)
        return self.cache_bytes * kept + self.state_bytes * (context_tokens > 0)


class Anatomy(msgspec.Struct, frozen=True, dict=True):
    """All weights of a model, ``before`` and ``after`` the layers included. Where ``is_mean``, the bytes
    of each part of each layer are exact, and matrices of one part share them by parameters."""

    before: tuple[Item, ...]
    runs: tuple[LayerRun, ...]
    after: tuple[Item, ...]
    is_mean: bool = False

    def items(self) -> Iterator[tuple[int, Item]]:
        """(how often, item) for all weights."""
        yield from ((1, item) for item in self.before)
        for run in self.runs:
            yield from ((run.count, item) for item in run.items)
        yield from ((1, item) for item in self.after)

    def totals(self) -> dict[str, tuple[int, float]]:
        """Part -> (parameters, bytes) of all its weights, in the order of ``PARTS``; none that has none."""
        return self._totals

    @cached_property
    def _totals(self) -> dict[str, tuple[int, float]]:
        sums: dict[str, tuple[int, float]] = {}
        for count, item in self.items():
            parameters, size = sums.get(item.part, (0, 0.0))
            sums[item.part] = parameters + count * item.parameters, size + count * item.stored_bytes
        return {part: sums[part] for part in PARTS if sums.get(part, (0, 0.0))[0]}


def anatomy(model: ModelCost) -> Anatomy:
    """The weights of ``model`` in its format."""
    architecture = model.architecture
    census = architecture.census if model.weights_dtype == PUBLISHED else None
    prices = _prices(model) if census is None else _Prices(_nothing, 0.0, 0.0)
    element = DTYPES[model.kv_dtype].bytes_per_element
    runs: list[LayerRun] = []
    first = 0
    for run in architecture.runs:
        if census is None:
            steps = [1] * run.count if prices.by_layer else [run.count]
            items = [_layer_items(run.layer, first + i, prices) for i in range(len(steps))]
        else:
            held = _held(census, first, run.count)
            steps = [count for count, _ in held]
            bare = _layer_items(run.layer, first, prices)
            items = [_shared_out(bare, dict(parts)) for _, parts in held]
        mixer = run.layer.attention
        cache, state = (mixer.cache_elements, mixer.state_elements) if mixer is not None else (0, 0)
        for same, group in groupby(zip(items, steps, strict=True), key=lambda pair: pair[0]):
            count = sum(step for _, step in group)
            runs.append(LayerRun(first, count, run.layer, same, cache * element, state * STATE_BYTES))
            first += count
    before, after = _outside(architecture, prices)
    if census is not None:
        both = _shared_out((*before, *after), dict(census.outside))
        before, after = both[: len(before)], both[len(before) :]
    return Anatomy(before, tuple(runs), after, census is not None)


def _nothing(part: str, matrix: Matrix, layer: int, attention: Attention | None) -> float:
    return 0.0


def _held(census: Census, first: int, count: int) -> list[tuple[int, Parts]]:
    """(how many, the bytes of one by part) of ``count`` layers from ``first`` on."""
    found: list[tuple[int, Parts]] = []
    begin = 0
    for many, parts in census.layers:
        here = min(begin + many, first + count) - max(begin, first)
        if here > 0:
            found.append((here, parts))
        begin += many
    return found


def _shared_out(items: tuple[Item, ...], sizes: dict[str, int]) -> tuple[Item, ...]:
    """Items with the bytes of their parts, shared by parameters within a part.

    What a file holds of a part that the model does not have goes to all of them.
    """
    parameters: dict[str, int] = {}
    for item in items:
        parameters[item.part] = parameters.get(item.part, 0) + item.parameters
    spare = sum(size for part, size in sizes.items() if part not in parameters)
    everything = sum(parameters.values()) or 1
    return tuple(
        msgspec.structs.replace(
            item,
            stored_bytes=sizes.get(item.part, 0) * item.parameters / parameters[item.part]
            + spare * item.parameters / everything,
        )
        for item in items
    )


class _Prices(msgspec.Struct, frozen=True):
    """``matrix`` prices a matrix's weights, ``vector`` is the bytes of a parameter that is no matrix's,
    ``expert_bias`` those of one of a routed expert's.

    ``by_layer``: equal matrices may be stored differently from layer to layer.
    """

    matrix: Price
    vector: float
    expert_bias: float
    by_layer: bool = False


def _prices(model: ModelCost) -> _Prices:
    if model.weights_dtype != PUBLISHED:
        dtype = DTYPES[model.weights_dtype]
        wide = 2.0 if dtype.is_quantised else dtype.bytes_per_weight

        def plain(part: str, matrix: Matrix, layer: int, attention: Attention | None) -> float:
            return matrix.weights * (wide if part in ("embedding", "head") else dtype.bytes_per_weight)

        return _Prices(plain, wide, wide)
    from pdviz.costmodel.weights import Counter

    counter = Counter(model.architecture)

    def stored(part: str, matrix: Matrix, layer: int, attention: Attention | None) -> float:
        if part == "extra":
            return float(matrix.weights * counter.plain)
        kind = "attention" if part == "recurrent" else part
        biases = (matrix.parameters - matrix.weights) * counter.plain
        return float(counter.matrices((matrix,), kind, layer, 1, attention) - biases)

    by_layer = any(kept.layer is not None for kept in counter.kept)
    wide = float(counter.plain)
    return _Prices(stored, wide, wide, by_layer)


def _biases(matrices: Iterable[Matrix]) -> int:
    return sum(m.parameters - m.weights for m in matrices)


def _layer_items(layer: Layer, number: int, prices: _Prices) -> tuple[Item, ...]:
    """The weights of one layer, matrices first, then all its norms and biases."""
    found: list[Item] = []
    vectors = layer.vectors

    def add(part: str, matrices: tuple[Matrix, ...], attention: Attention | None = None) -> None:
        for m in matrices:
            price = prices.matrix(part, m, number, attention)
            found.append(Item(part, m.role.value, m.weights, price, m.inputs, m.outputs, role=m.role))

    mixer, block = layer.attention, layer.feed_forward
    if mixer is not None:
        add("recurrent" if mixer.kind == "recurrent" else "attention", mixer.matrices, mixer)
        vectors += mixer.vectors + _biases(mixer.matrices)
    if isinstance(block, Experts):
        add("router", block.router)
        for m in block.expert:  # biases of routed experts go with them
            one = prices.matrix("experts", m, number, None) + (m.parameters - m.weights) * prices.expert_bias
            found.append(
                Item(
                    "experts", m.role.value, block.total * m.parameters, block.total * one,
                    m.inputs, m.outputs, block.total, block.active, m.role,
                )
            )  # fmt: skip
        add("shared", block.shared)
        vectors += block.vectors + _biases((*block.router, *block.shared))
    elif block is not None:
        add("dense", block.matrices)
        vectors += block.vectors + _biases(block.matrices)
    if vectors:
        found.append(Item("vectors", "norms and biases", vectors, vectors * prices.vector))
    return tuple(found)


def _outside(model: Architecture, prices: _Prices) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """What comes before the layers, and what after."""

    def item(part: str, m: Matrix) -> Item:
        price = prices.matrix(part, m, 0, None)
        return Item(part, m.role.value, m.weights, price, m.inputs, m.outputs, role=m.role)

    before = [item("embedding", model.embedding)]
    if model.positions:
        before.append(Item("positions", "positions", model.positions, model.positions * prices.vector))
    after: list[Item] = []
    for m in model.extra:
        (after if m.role is MatrixRole.HEAD_PROJECTION else before).append(item("extra", m))
    vectors = model.vectors + _biases((*model.extra, model.embedding))
    if model.head is not None:
        vectors += _biases((model.head,))
    if vectors:
        after.append(Item("vectors", "final norm", vectors, vectors * prices.vector))
    if model.head is not None:
        after.append(item("head", model.head))
    return tuple(before), tuple(after)
