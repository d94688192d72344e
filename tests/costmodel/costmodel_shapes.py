"""Models and machines for the tests of the cost model: known ones by hand, random ones by strategy.

Nothing here is read from the catalogue, so that these tests say what the arithmetic does with shapes
that they can see.
"""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from pdviz.costmodel.architecture import (
    Architecture,
    Attention,
    Experts,
    FeedForward,
    Layer,
    Matrix,
    MatrixRole,
    Run,
)
from pdviz.costmodel.dtypes import KV_DTYPES, WEIGHT_DTYPES
from pdviz.costmodel.fidelities import FIDELITIES, FLOOR, TEXTBOOK, PassCost
from pdviz.costmodel.memory import Memory
from pdviz.costmodel.passes import ModelCost
from pdviz.costmodel.request import Request, request_memory
from pdviz.costmodel.roofline import Machine
from pdviz.costmodel.terms import Role, Slice, Term, sequence_bytes, total_bytes, total_flops


def grouped(hidden: int, heads: int, kv_heads: int, width: int, window: int | None = None) -> Attention:
    """Grouped-query attention, sliding where there is a window."""
    return Attention(
        kind="full" if window is None else "sliding",
        query_heads=heads,
        kv_heads=kv_heads,
        head_dim=width,
        value_head_dim=width,
        matrices=(
            Matrix(MatrixRole.QKV, hidden, (heads + 2 * kv_heads) * width),
            Matrix(MatrixRole.ATTENTION_OUTPUT, heads * width, hidden),
        ),
        cache_elements=2 * kv_heads * width,
        window_tokens=window,
    )


def latent(
    hidden: int, heads: int, rank: int, rotary: int, plain: int, value: int, queries: int
) -> Attention:
    """Multi-head latent attention: one latent and one rotary key for all heads."""
    return Attention(
        kind="latent",
        query_heads=heads,
        kv_heads=1,
        head_dim=plain + rotary,
        value_head_dim=value,
        matrices=(
            Matrix(MatrixRole.Q_DOWN, hidden, queries),
            Matrix(MatrixRole.Q_UP, queries, heads * (plain + rotary)),
            Matrix(MatrixRole.KV_DOWN, hidden, rank + rotary),
            Matrix(MatrixRole.KV_UP, rank, heads * (plain + value)),
            Matrix(MatrixRole.ATTENTION_OUTPUT, heads * value, hidden),
        ),
        cache_elements=rank + rotary,
        vectors=rank + queries,
    )


def recurrent(hidden: int, heads: int, width: int, state: int) -> Attention:
    """A layer with a fixed state and no growing cache."""
    return Attention(
        kind="recurrent",
        query_heads=heads,
        kv_heads=heads,
        head_dim=width,
        value_head_dim=width,
        matrices=(
            Matrix(MatrixRole.QKV, hidden, 3 * heads * width),
            Matrix(MatrixRole.ATTENTION_OUTPUT, heads * width, hidden),
        ),
        cache_elements=0,
        state_elements=state,
    )


def mlp(hidden: int, width: int) -> tuple[Matrix, ...]:
    """The matrices of a gated MLP."""
    return Matrix(MatrixRole.GATE_AND_UP, hidden, 2 * width), Matrix(MatrixRole.DOWN, width, hidden)


def stack(name: str, hidden: int, vocabulary: int, *runs: Run, tied: bool = False) -> Architecture:
    """A model of these runs, with a final norm."""
    return Architecture(
        name=name,
        family="made by hand",
        hidden=hidden,
        vocabulary=vocabulary,
        max_context_tokens=None,
        runs=runs,
        embedding=Matrix(MatrixRole.EMBEDDING, vocabulary, hidden),
        head=None if tied else Matrix(MatrixRole.HEAD, hidden, vocabulary),
        vectors=hidden,
    )


def llama_8b() -> Architecture:
    """Llama 3.1 8B."""
    layer = Layer(grouped(4096, 32, 8, 128), FeedForward(mlp(4096, 14336)), 2 * 4096)
    return stack("Llama 3.1 8B", 4096, 128256, Run(32, layer))


def mistral_7b() -> Architecture:
    """Mistral 7B v0.1: every layer has a window of 4,096 tokens."""
    layer = Layer(grouped(4096, 32, 8, 128, window=4096), FeedForward(mlp(4096, 14336)), 2 * 4096)
    return stack("Mistral 7B", 4096, 32000, Run(32, layer))


def mixtral_8x7b() -> Architecture:
    """Mixtral 8x7B."""
    block = Experts(8, 2, mlp(4096, 14336), router=(Matrix(MatrixRole.ROUTER, 4096, 8),))
    return stack("Mixtral 8x7B", 4096, 32000, Run(32, Layer(grouped(4096, 32, 8, 128), block, 2 * 4096)))


def deepseek_v3() -> Architecture:
    """DeepSeek V3, the main model."""
    attention = latent(7168, 128, 512, 64, 128, 128, 1536)
    block = Experts(
        256, 8, mlp(7168, 2048), mlp(7168, 2048), (Matrix(MatrixRole.ROUTER, 7168, 256),), vectors=256
    )
    dense = Layer(attention, FeedForward(mlp(7168, 18432)), 2 * 7168)
    return stack("DeepSeek V3", 7168, 129280, Run(3, dense), Run(58, Layer(attention, block, 2 * 7168)))


def gemma_like() -> Architecture:
    """Windows of 1,024 tokens in five layers of six, and a tied table."""
    local = Run(5, Layer(grouped(2560, 8, 4, 256, window=1024), FeedForward(mlp(2560, 10240)), 2560))
    whole = Run(1, Layer(grouped(2560, 8, 4, 256), FeedForward(mlp(2560, 10240)), 2560))
    return stack("Gemma-like", 2560, 262144, local, whole, local, whole, tied=True)


def hybrid() -> Architecture:
    """Three layers of four with a fixed state, the fourth with a cache."""
    fixed = Layer(recurrent(2048, 16, 128, 1 << 19), FeedForward(mlp(2048, 5632)), 2048)
    whole = Layer(grouped(2048, 16, 2, 128), FeedForward(mlp(2048, 5632)), 2048)
    return stack("Hybrid", 2048, 32000, Run(3, fixed), Run(1, whole))


KNOWN = (llama_8b, mistral_7b, mixtral_8x7b, deepseek_v3, gemma_like, hybrid)


def h100(**changes: float) -> Machine:
    """One H100 SXM, textbook efficiencies."""
    values = {"compute_efficiency": 0.55, "bandwidth_efficiency": 0.75, "peak": 989e12, "bandwidth": 3.35e12}
    values.update(changes)
    return Machine(
        "H100 SXM",
        1,
        "bf16",
        values["peak"],
        values["bandwidth"],
        values["compute_efficiency"],
        values["bandwidth_efficiency"],
    )


def textbook(architecture: Architecture, weights: str = "bf16", kv: str = "bf16") -> ModelCost:
    return ModelCost(architecture, weights, kv, TEXTBOOK)


def ideal(architecture: Architecture, weights: str = "bf16", kv: str = "bf16") -> ModelCost:
    return ModelCost(architecture, weights, kv, FLOOR)


def asked(prompt: int, output: int, **further: Any) -> Request:
    """A request for ``output`` tokens after ``prompt``."""
    return Request(prompt, output, **further)


def memory_of(model: ModelCost, capacity_bytes: float, accelerators: int = 1, **request: Any) -> Memory:
    """What a request of these fields keeps in memory."""
    return request_memory(model, capacity_bytes, Request(**request), accelerators)


def flops_of(model: ModelCost, slices: tuple[Slice, ...]) -> float:
    return float(total_flops(model.terms(slices)))


def bytes_of(model: ModelCost, slices: tuple[Slice, ...]) -> float:
    return float(total_bytes(model.terms(slices)))


def per_token(model: ModelCost) -> float:
    """FLOPs of the weights for each token, logits of sampled positions apart."""
    return float(sum(t.flops_each for t in model.weight_terms)) - per_sample(model)


def per_sample(model: ModelCost) -> float:
    """FLOPs of one position's logits where they are counted apart, else 0."""
    exact = model.fidelity.samples_logits
    return float(sum(t.flops_each for t in model.weight_terms if exact and t.role is Role.HEAD))


def attention_of(model: ModelCost, slices: tuple[Slice, ...]) -> float:
    """FLOPs of attention alone."""
    return float(sum(t.flops for t in model.terms(slices) if t.role is Role.ATTENTION))


def kept_of(model: ModelCost, slices: tuple[Slice, ...]) -> float:
    """KV and state bytes alone."""
    return float(sequence_bytes(model.terms(slices)))


def priced(machine: Machine, tokens: int, flops: float, moved: float) -> PassCost:
    """What a pass of so many FLOPs and bytes costs."""
    return TEXTBOOK.cost(machine, (Term(Role.DENSE, flops, 1, moved, 1),), tokens)


@st.composite
def _attentions(draw: st.DrawFn, hidden: int) -> Attention:
    kv_heads = draw(st.sampled_from((1, 2, 3, 8)))
    heads = kv_heads * draw(st.sampled_from((1, 4, 32)))
    width = draw(st.sampled_from((16, 64, 128)))
    kind = draw(st.sampled_from(("full", "sliding", "shared", "latent", "recurrent")))
    if kind == "latent":
        return latent(hidden, heads, 4 * width, width // 2, width, width, 8 * width)
    if kind == "recurrent":
        return recurrent(hidden, heads, width, draw(st.integers(0, 1 << 16)))
    whole = grouped(hidden, heads, kv_heads, width, None if kind == "full" else draw(st.integers(1, 600)))
    if kind == "shared":  # attends within a window to the cache of another layer
        return msgspec.structs.replace(whole, cache_elements=0)
    return whole


@st.composite
def _layers(draw: st.DrawFn, hidden: int) -> Layer:
    width = draw(st.sampled_from((hidden, 4 * hidden)))
    block: FeedForward | Experts | None = FeedForward(mlp(hidden, width))
    if draw(st.booleans()):
        total = draw(st.integers(1, 256))
        shared = mlp(hidden, width) if draw(st.booleans()) else ()
        block = Experts(total, draw(st.integers(1, total)), mlp(hidden, width), shared)
    return Layer(draw(st.none() | _attentions(hidden)), block, 2 * hidden)


@st.composite
def architectures(draw: st.DrawFn) -> Architecture:
    """Any mix of layers: dense or experts; grouped, windowed, latent, recurrent or no attention."""
    hidden = draw(st.sampled_from((64, 512, 4096)))
    runs = draw(st.lists(st.builds(Run, st.integers(1, 40), _layers(hidden)), min_size=1, max_size=4))
    return stack("Random", hidden, draw(st.integers(100, 200_000)), *runs, tied=draw(st.booleans()))


models = st.builds(
    ModelCost,
    st.sampled_from(KNOWN).map(lambda make: make()) | architectures(),
    st.sampled_from(WEIGHT_DTYPES),
    st.sampled_from(KV_DTYPES),
    st.sampled_from(list(FIDELITIES.values())),
)
efficiencies = st.floats(0.01, 1.0)


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Any accelerator with a ridge from 1 to 1,000 FLOPs per byte."""
    bandwidth = draw(st.floats(1e10, 1e13))
    peak = bandwidth * draw(st.floats(1, 1000))
    return Machine("Random", 1, "bf16", peak, bandwidth, draw(efficiencies), draw(efficiencies))


slices = st.one_of(
    st.builds(Slice.prompt, st.integers(1, 40_000), st.integers(0, 40_000), st.booleans()),
    st.builds(Slice.decode, st.integers(1, 40_000), st.integers(1, 300)),
)
passes = st.lists(slices, min_size=1, max_size=5).map(tuple)
