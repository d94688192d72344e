"""The exact bytes of a checkpoint's weights, from its shapes and its stored format.

Matrices that a class fuses (queries, keys and values; gate and up) are stored apart, and scales are
counted for each: a block that hangs over an edge is a whole block.
"""

from __future__ import annotations

from pdviz.costmodel.architecture import Architecture, Attention, Experts, Layer, Matrix
from pdviz.costmodel.dtypes import DTYPES, PUBLISHED
from pdviz.costmodel.quantisation import Kept, Quantisation
from pdviz.costmodel.stored import PLAIN_BYTES, StoredBytes
from pdviz.errors import InputError
from pdviz.units import percent

_PLAIN_FORMATS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "float64": "fp32"}
_GGML_FORMATS = {"F32": "fp32", "F64": "fp32", "F16": "fp16", "BF16": "bf16"}

#: Matrix -> names of the modules that hold it, where a file may keep one of them at 16 bit.
_MODULES = {
    "qkv": {"q_proj", "k_proj", "v_proj", "qkv_proj", "qkv"},
    "q": {"q_proj"},
    "q_down": {"q_a_proj", "wq_a"},
    "q_up": {"q_b_proj", "wq_b"},
    "kv_down": {"kv_a_proj_with_mqa", "wkv_a"},
    "kv_up": {"kv_b_proj", "wkv_b"},
    "attention output": {"o_proj", "out_proj", "dense", "wo"},
    "gate and up": {"gate_proj", "up_proj", "gate_up_proj"},
    "up": {"up_proj", "gate_proj"},
    "down": {"down_proj"},
    "shared gate": {"shared_expert_gate"},
    "qkv and gate": {"in_proj_qkvz", "in_proj_qkv", "in_proj_z"},
    "decay and beta": {"in_proj_ba", "in_proj_b", "in_proj_a"},
    "input projection": {"in_proj"},
}


def plain_bytes(architecture: Architecture) -> int:
    """Bytes of one unquantised parameter, from the published dtype (16 bit where none is published)."""
    return PLAIN_BYTES[_plain_name(architecture)]


def _plain_name(architecture: Architecture) -> str:
    name = (architecture.published_dtype or "bfloat16").removeprefix("torch.")
    if name not in PLAIN_BYTES:
        raise InputError(
            f"{architecture.name}: dtype {name[:40]!r} is not known, expected {', '.join(PLAIN_BYTES)}"
        )
    return name


def pieces(matrix: Matrix, attention: Attention | None) -> list[int]:
    """Output widths of the modules that are stored apart."""
    if matrix.name == "gate and up":
        return [matrix.outputs // 2] * 2
    if matrix.name == "qkv" and attention is not None:
        keys = attention.kv_heads * attention.head_dim
        values = attention.kv_heads * attention.value_head_dim
        queries = matrix.outputs - keys - values
        return [queries, keys, values] if queries > 0 else [matrix.outputs]
    return [matrix.outputs]


def matrix_bytes(matrix: Matrix, stored: Quantisation, attention: Attention | None = None) -> int:
    """Bytes of a matrix in a quantised format, scales and zero points included, bias apart."""
    bits = 0
    for outputs in pieces(matrix, attention):
        down = 1 if stored.rows == 0 else -(-outputs // stored.rows)
        across = -(-matrix.inputs // stored.group) if stored.group else 1
        bits += matrix.inputs * outputs * stored.bits
        bits += down * across * (stored.scale_bits + stored.zero_bits) + matrix.inputs * stored.index_bits
        bits += stored.module_bits
    return -(-bits // 8)


class Counter:
    """Bytes of matrices, those that stay at 16 bit told from the others."""

    def __init__(self, architecture: Architecture) -> None:
        self.plain = plain_bytes(architecture)
        self.stored = architecture.quantisation
        self.gemma4 = architecture.family.startswith("gemma4")
        self.kept = self.stored.kept if self.stored is not None else ()

    def layers_kept(self, matrix: Matrix, part: str, first: int, count: int) -> int:
        """For how many of ``count`` layers from ``first`` on the matrix stays at 16 bit."""
        if self.stored is None:
            return count
        chosen: set[int] = set()
        for kept in self.kept:
            if part not in self._parts(kept) or not self._names(kept, matrix):
                continue
            if kept.layer is None:
                return count
            if first <= kept.layer < first + count:
                chosen.add(kept.layer)
        return len(chosen)

    def _parts(self, kept: Kept) -> tuple[str, ...]:
        if kept.part != "feed_forward":
            return (kept.part,)
        # Gemma 4's experts stand beside the MLP that every token meets, not inside it.
        return ("shared", "dense") if self.gemma4 else ("shared", "dense", "experts", "router")

    @staticmethod
    def _names(kept: Kept, matrix: Matrix) -> bool:
        return kept.module is None or kept.module in _MODULES.get(matrix.name, ())

    def matrices(
        self,
        matrices: tuple[Matrix, ...],
        part: str,
        first: int,
        count: int,
        attention: Attention | None = None,
    ) -> int:
        total = 0
        for matrix in matrices:
            kept = self.layers_kept(matrix, part, first, count)
            total += kept * matrix.weights * self.plain
            if self.stored is not None and kept < count:
                total += (count - kept) * matrix_bytes(matrix, self.stored, attention)
            total += count * (matrix.parameters - matrix.weights) * self.plain
        return total

    def layers(self, layer: Layer, first: int, count: int) -> tuple[int, int]:
        """(bytes that every pass reads, bytes of routed experts) of ``count`` layers."""
        attention, block = layer.attention, layer.feed_forward
        dense, experts = count * layer.vectors * self.plain, 0
        if attention is not None:
            dense += count * attention.vectors * self.plain
            dense += self.matrices(attention.matrices, "attention", first, count, attention)
        if isinstance(block, Experts):
            dense += self.matrices(block.router, "router", first, count)
            dense += self.matrices(block.shared, "shared", first, count)
            experts = block.total * self.matrices(block.expert, "experts", first, count)
        elif block is not None:
            dense += self.matrices(block.matrices, "dense", first, count)
        if block is not None:
            dense += count * block.vectors * self.plain
        return dense, experts


def stored_bytes(architecture: Architecture) -> StoredBytes:
    """The bytes of the weights as published: the file's tensors, else its quantisation, else its dtype."""
    if architecture.census is not None:
        return architecture.census.stored
    counter = Counter(architecture)
    others = architecture.vectors + architecture.positions
    others += sum(m.parameters for m in architecture.extra)
    dense, experts, first = others * counter.plain, 0, 0
    for run in architecture.runs:
        here, routed = counter.layers(run.layer, first, run.count)
        dense, experts, first = dense + here, experts + routed, first + run.count
    head = architecture.head
    return StoredBytes(
        embedding=counter.matrices((architecture.embedding,), "embedding", 0, 1),
        head=0 if head is None else counter.matrices((head,), "head", 0, 1),
        dense=dense,
        experts=experts,
    )


def is_quantised(architecture: Architecture) -> bool:
    """True where the model's file stores its weights in a form of its own."""
    return architecture.quantisation is not None or architecture.census is not None


def kernel_format(architecture: Architecture, weights: str) -> str:
    """The format whose kernels multiply ``weights`` of this model: themselves, unless as published.

    Published weights that kernels widen count as what they are widened to.
    """
    if weights != PUBLISHED:
        return weights
    stored, census = architecture.quantisation, architecture.census
    if census is not None:
        return _GGML_FORMATS.get(census.types[0][0] if census.types else "", "bf16")
    plain = _PLAIN_FORMATS[_plain_name(architecture)]
    if stored is None:
        return plain
    return stored.narrow or ("bf16" if plain == "fp32" else plain)


def is_converted(architecture: Architecture, weights: str, math: str) -> bool:
    """True where weights stored as ``weights`` are converted to be multiplied in ``math``."""
    if weights != PUBLISHED:
        return math != weights
    if DTYPES[kernel_format(architecture, weights)].math[0] != math:
        return True
    if architecture.census is not None:
        return any(name not in _GGML_FORMATS for name, _ in architecture.census.types[:1])
    return architecture.quantisation is not None and architecture.quantisation.narrow is None


def weights_title(architecture: Architecture, weights: str) -> str:
    """What the weights are stored as, for people: "FP8", "AWQ INT4, groups of 128", "65 % Q4_K, 35 % F16"."""
    if weights != PUBLISHED:
        return DTYPES[weights].title
    if architecture.census is not None:
        total = sum(size for _, size in architecture.census.types) or 1
        shares = [(name, size / total) for name, size in architecture.census.types]
        named = [f"{percent(share)} {name}" for name, share in shares[:3] if share >= 0.01]
        return ", ".join(named) if len(shares) > 1 else shares[0][0] if shares else "nothing"
    if architecture.quantisation is not None:
        return architecture.quantisation.title
    return DTYPES[_PLAIN_FORMATS[_plain_name(architecture)]].title
