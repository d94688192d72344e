"""A model as composable parts: matrices in attention and feed-forward blocks, stacked in layers.

Everything that the cost model asks of a model is counted from these parts: parameters (all, active,
read by a pass of T tokens), KV cache per token, attention pairs. Nothing is stored twice, so a count
cannot disagree with the shapes on screen.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property

import msgspec

from pdviz.costmodel.quantisation import Quantisation
from pdviz.costmodel.stored import Census


class MatrixRole(Enum):
    """What a matrix is for, in words."""

    EMBEDDING = "embedding"
    HEAD = "head"
    EMBEDDING_PROJECTION = "embedding projection"
    HEAD_PROJECTION = "head projection"
    QKV = "qkv"
    Q = "q"
    Q_DOWN = "q_down"
    Q_UP = "q_up"
    KV_DOWN = "kv_down"
    KV_UP = "kv_up"
    ATTENTION_OUTPUT = "attention output"
    ATTENTION_GATE = "attention gate"
    GATE_AND_UP = "gate and up"
    UP = "up"
    DOWN = "down"
    ROUTER = "router"
    SHARED_GATE = "shared gate"
    TO_EXPERTS = "to experts"
    FROM_EXPERTS = "from experts"
    INPUT_PROJECTION = "input projection"
    STATE_PROJECTION = "state projection"
    TIME_STEP = "time step"
    QKV_AND_GATE = "qkv and gate"
    DECAY_AND_BETA = "decay and beta"
    OUTPUT_GATE = "output gate"
    RECURRENT_INPUT_AND_GATE = "recurrent input and gate"
    RECURRENT_GATES = "recurrent gates"
    RECURRENT_DECAY_GATE_AND_BETA = "recurrent decay, gate and beta"
    RECURRENT_DECAY = "recurrent decay"
    RECURRENT_GATE = "recurrent gate"
    RECURRENT_INPUT_PROJECTION = "recurrent input projection"
    RECURRENT_OUTPUT = "recurrent output"


class Matrix(msgspec.Struct, frozen=True):
    """A weight matrix: ``inputs`` x ``outputs``, applied to a row for each token."""

    role: MatrixRole
    inputs: int
    outputs: int
    bias: bool = False

    @property
    def weights(self) -> int:
        """Elements of the matrix itself (what a quantised format shrinks)."""
        return self.inputs * self.outputs

    @property
    def parameters(self) -> int:
        return self.weights + (self.outputs if self.bias else 0)


class Attention(msgspec.Struct, frozen=True):
    """One layer's token mixing.

    ``kind`` is "full", "sliding", "chunked", "latent" (MLA) or "recurrent" (linear attention and
    state space: fixed state, no growing cache). ``window_tokens`` bounds the context of "sliding" and
    "chunked". ``cache_elements`` is what one token adds to the KV cache of this layer;
    ``state_elements`` what a sequence holds however long it is. ``vectors`` counts parameters
    that are not matrices or their biases (QK norms, sinks, convolutions, decay terms).
    """

    kind: str
    query_heads: int
    kv_heads: int
    head_dim: int
    value_head_dim: int
    matrices: tuple[Matrix, ...]
    cache_elements: int
    window_tokens: int | None = None
    state_elements: int = 0
    vectors: int = 0

    @property
    def expanded_elements(self) -> int:
        """What a token adds where an engine caches a latent's keys and values head by head."""
        if self.kind != "latent":
            return self.cache_elements
        return self.query_heads * (self.head_dim + self.value_head_dim)


class FeedForward(msgspec.Struct, frozen=True):
    """A dense MLP, gated or not."""

    matrices: tuple[Matrix, ...]
    vectors: int = 0


class Experts(msgspec.Struct, frozen=True):
    """A mixture of experts: ``active`` of ``total`` routed experts meet each token.

    ``shared`` matrices meet every token; the router is one of them in ``router``.
    """

    total: int
    active: int
    expert: tuple[Matrix, ...]
    shared: tuple[Matrix, ...] = ()
    router: tuple[Matrix, ...] = ()
    vectors: int = 0


class Layer(msgspec.Struct, frozen=True):
    """One block of the stack. Either part may be absent; ``vectors`` counts its norms."""

    attention: Attention | None
    feed_forward: FeedForward | Experts | None
    vectors: int = 0


class Run(msgspec.Struct, frozen=True):
    """``count`` equal layers in a row."""

    count: int
    layer: Layer


def _sum(matrices: tuple[Matrix, ...]) -> tuple[int, int]:
    """(weights, other parameters) of some matrices."""
    weights = sum(m.weights for m in matrices)
    return weights, sum(m.parameters for m in matrices) - weights


class Architecture(msgspec.Struct, frozen=True, dict=True):
    """A decoder-only transformer (or a relative of one) by its shapes.

    ``embedding`` is the token table; ``head`` is None where it is tied to that table. ``positions``
    counts learned position embeddings, ``vectors`` the final norm and the like. ``notes`` are
    sentences for the user about what was assumed; ``left_out`` names what the checkpoint holds
    beside the main model (vision tower, prediction heads) and is no part of a pass.
    ``quantisation`` is the stored form of a quantised checkpoint's weights, ``census`` what the
    tensors of a file with exact sizes take.
    """

    name: str
    family: str
    hidden: int
    vocabulary: int
    max_context_tokens: int | None
    runs: tuple[Run, ...]
    embedding: Matrix
    head: Matrix | None
    positions: int = 0
    vectors: int = 0
    extra: tuple[Matrix, ...] = ()
    published_dtype: str | None = None
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    quantisation: Quantisation | None = None
    census: Census | None = None

    @property
    def layers(self) -> int:
        return sum(run.count for run in self.runs)

    @property
    def tied(self) -> bool:
        return self.head is None

    def attentions(self) -> tuple[tuple[int, Attention], ...]:
        """(how many layers, their attention) for each run that has one."""
        return self._attentions

    @cached_property
    def _attentions(self) -> tuple[tuple[int, Attention], ...]:
        found = ((run.count, run.layer.attention) for run in self.runs)
        return tuple((count, block) for count, block in found if block is not None)

    def experts(self) -> tuple[tuple[int, Experts], ...]:
        """(how many layers, their experts) for each run with a mixture of experts."""
        return self._experts

    @cached_property
    def _experts(self) -> tuple[tuple[int, Experts], ...]:
        found = ((run.count, run.layer.feed_forward) for run in self.runs)
        return tuple((count, block) for count, block in found if isinstance(block, Experts))

    @property
    def is_mixture(self) -> bool:
        return bool(self.experts())

    @cached_property
    def dense_weights(self) -> int:
        """Matrix elements that every pass reads, routed experts, embedding and head apart."""
        total = sum(m.weights for m in self.extra)
        for run in self.runs:
            attention, block = run.layer.attention, run.layer.feed_forward
            if attention is not None:
                total += run.count * _sum(attention.matrices)[0]
            if isinstance(block, FeedForward):
                total += run.count * _sum(block.matrices)[0]
            elif isinstance(block, Experts):
                total += run.count * (_sum(block.shared)[0] + _sum(block.router)[0])
        return total

    @cached_property
    def vector_parameters(self) -> int:
        """Norms, biases and the like of everything but routed experts, always at 16 bit."""
        total = self.vectors + self.positions + sum(m.parameters - m.weights for m in self.extra)
        total += self.embedding.parameters - self.embedding.weights
        if self.head is not None:
            total += self.head.parameters - self.head.weights
        for run in self.runs:
            attention, block = run.layer.attention, run.layer.feed_forward
            here = run.layer.vectors
            if attention is not None:
                here += attention.vectors + _sum(attention.matrices)[1]
            if isinstance(block, FeedForward):
                here += block.vectors + _sum(block.matrices)[1]
            elif isinstance(block, Experts):
                here += block.vectors + _sum(block.shared)[1] + _sum(block.router)[1]
            total += run.count * here
        return total

    @cached_property
    def table_weights(self) -> int:
        """Elements of the embedding table, and of the head where it is a table of its own."""
        return self.embedding.weights + (self.head.weights if self.head is not None else 0)

    def expert_parameters(self, block: Experts) -> int:
        """Parameters of one routed expert, its biases included."""
        return sum(m.parameters for m in block.expert)

    @cached_property
    def parameters(self) -> int:
        """All parameters of the main model, counted."""
        routed = sum(n * b.total * self.expert_parameters(b) for n, b in self.experts())
        return self.table_weights + self.dense_weights + self.vector_parameters + routed

    @cached_property
    def active_parameters(self) -> int:
        """Parameters that one token meets, embedding and head included."""
        routed = sum(n * b.active * self.expert_parameters(b) for n, b in self.experts())
        return self.table_weights + self.dense_weights + self.vector_parameters + routed

    def cache_elements(self, context_tokens: int = 1) -> int:
        """KV elements that a sequence of ``context_tokens`` tokens holds, windows respected."""
        total = 0
        for count, attention in self.attentions():
            window = attention.window_tokens
            kept = context_tokens if window is None else min(context_tokens, window)
            total += count * attention.cache_elements * kept
        return total
