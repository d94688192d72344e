"""The exact bytes of a checkpoint's weights, from its shapes and its stored format.

Matrices that a class fuses (queries, keys and values; gate and up) are stored apart, and scales are
counted for each: a block that hangs over an edge is a whole block.
"""

from __future__ import annotations

from pdviz.costmodel.architecture import Architecture, Attention, Experts, Layer, Matrix, MatrixRole
from pdviz.costmodel.dtypes import DTYPES, PUBLISHED
from pdviz.costmodel.quantisation import Kept, Quantisation
from pdviz.costmodel.stored import PLAIN_BYTES, StoredBytes
from pdviz.errors import InputError
from pdviz.units import percent

_PLAIN_FORMATS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "float64": "fp32"}
_GGML_FORMATS = {"F32": "fp32", "F64": "fp32", "F16": "fp16", "BF16": "bf16"}

#: Matrix -> names of the modules that hold it, where a file may single out one of them.
_MODULES: dict[MatrixRole, frozenset[str]] = {
    **dict.fromkeys(MatrixRole, frozenset()),
    MatrixRole.QKV: frozenset({"q_proj", "k_proj", "v_proj", "qkv_proj", "qkv"}),
    MatrixRole.Q: frozenset({"q_proj"}),
    MatrixRole.Q_DOWN: frozenset({"q_a_proj", "wq_a"}),
    MatrixRole.Q_UP: frozenset({"q_b_proj", "wq_b"}),
    MatrixRole.KV_DOWN: frozenset({"kv_a_proj_with_mqa", "wkv_a"}),
    MatrixRole.KV_UP: frozenset({"kv_b_proj", "wkv_b"}),
    MatrixRole.ATTENTION_OUTPUT: frozenset({"o_proj", "out_proj", "dense", "wo"}),
    MatrixRole.GATE_AND_UP: frozenset({"gate_proj", "up_proj", "gate_up_proj"}),
    MatrixRole.UP: frozenset({"up_proj", "gate_proj"}),
    MatrixRole.DOWN: frozenset({"down_proj"}),
    MatrixRole.SHARED_GATE: frozenset({"shared_expert_gate"}),
    MatrixRole.ROUTER: frozenset({"gate"}),
    MatrixRole.QKV_AND_GATE: frozenset({"in_proj_qkvz", "in_proj_qkv", "in_proj_z"}),
    MatrixRole.DECAY_AND_BETA: frozenset({"in_proj_ba", "in_proj_b", "in_proj_a"}),
    MatrixRole.INPUT_PROJECTION: frozenset({"in_proj"}),
}
#: Fused matrix -> the modules that are stored apart, in the order of `pieces`.
_APART = {
    MatrixRole.QKV: ("q_proj", "k_proj", "v_proj"),
    MatrixRole.GATE_AND_UP: ("gate_proj", "up_proj"),
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


def pieces(role: MatrixRole | None, outputs: int, attention: Attention | None) -> list[int]:
    """Output widths of the modules that are stored apart."""
    if role is MatrixRole.GATE_AND_UP:
        return [outputs // 2] * 2
    if role is MatrixRole.QKV and attention is not None:
        keys = attention.kv_heads * attention.head_dim
        values = attention.kv_heads * attention.value_head_dim
        queries = outputs - keys - values
        return [queries, keys, values] if queries > 0 else [outputs]
    return [outputs]


def _named(matrix: Matrix, attention: Attention | None) -> list[tuple[int, frozenset[str]]]:
    """(outputs, names) of the modules that are stored apart."""
    widths, names = pieces(matrix.role, matrix.outputs, attention), _MODULES[matrix.role]
    apart = _APART.get(matrix.role, ())
    if len(widths) != len(apart):
        return [(width, names) for width in widths]
    fused = names.difference(apart)
    return [(width, fused | {name}) for width, name in zip(widths, apart, strict=True)]


def _piece_bits(inputs: int, outputs: int, stored: Quantisation) -> int:
    """Bits of a module in a quantised format."""
    down = 1 if stored.rows == 0 else -(-outputs // stored.rows)
    scales = down * (-(-inputs // stored.group) if stored.group else 1)
    bits = inputs * outputs * stored.bits + scales * (stored.scale_bits + stored.zero_bits)
    bits += 32 * -(-scales // stored.second) if stored.second else 0
    return bits + inputs * stored.index_bits + stored.module_bits


def matrix_bytes(matrix: Matrix, stored: Quantisation, attention: Attention | None = None) -> int:
    """Bytes of a matrix in a quantised format, scales and zero points included, bias apart."""
    widths = pieces(matrix.role, matrix.outputs, attention)
    bits = sum(_piece_bits(matrix.inputs, outputs, stored) for outputs in widths)
    return -(-bits // 8)


class Counter:
    """Bytes of matrices, those that stay at 16 bit told from the others."""

    def __init__(self, architecture: Architecture) -> None:
        self.plain = plain_bytes(architecture)
        self.stored = architecture.quantisation
        self.kept: tuple[Kept, ...] = ()
        if self.stored is not None:
            self.kept = (*self.stored.kept, *(self.stored.only or ()))

    def _chosen(
        self, listed: tuple[Kept, ...], names: frozenset[str], part: str, first: int, count: int
    ) -> set[int]:
        """Which of ``count`` layers from ``first`` on a list singles out, for a module of such names."""
        chosen: set[int] = set()
        for one in listed:
            if part != one.part or not (one.module is None or one.module in names):
                continue
            if one.layer is None:
                return set(range(first, first + count))
            if first <= one.layer < first + count:
                chosen.add(one.layer)
        return chosen

    def _quantised(self, names: frozenset[str], part: str, first: int, count: int) -> int:
        """For how many layers a module of such names is stored in the quantised format."""
        if self.stored is None:
            return 0
        kept = self._chosen(self.stored.kept, names, part, first, count)
        if self.stored.only is None:
            return count - len(kept)
        return len(self._chosen(self.stored.only, names, part, first, count) - kept)

    def is_narrow(self, matrix: Matrix, part: str, first: int, count: int) -> bool:
        """Whether any of the layers stores the matrix, or a module of it, in the quantised format."""
        return self._quantised(_MODULES[matrix.role], part, first, count) > 0

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
            narrow: dict[int, int] = {}
            for outputs, names in _named(matrix, attention):
                n = self._quantised(names, part, first, count)
                total += (count - n) * matrix.inputs * outputs * self.plain
                if self.stored is not None and n:
                    narrow[n] = narrow.get(n, 0) + _piece_bits(matrix.inputs, outputs, self.stored)
            total += sum(n * -(-bits // 8) for n, bits in narrow.items())
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


def uneven_inputs(architecture: Architecture) -> int | None:
    """Inputs of an AWQ matrix that the groups do not divide, None where there are none; GPTQ rounds up."""
    stored, counter, first = architecture.quantisation, Counter(architecture), 0
    if stored is None or stored.method != "awq" or not stored.group:
        return None
    for run in architecture.runs:
        for part, matrices in _parts_of(run.layer):
            for matrix in matrices:
                if matrix.inputs % stored.group and counter.is_narrow(matrix, part, first, run.count):
                    return matrix.inputs
        first += run.count
    return None


def _parts_of(layer: Layer) -> list[tuple[str, tuple[Matrix, ...]]]:
    block, attention = layer.feed_forward, layer.attention
    found = [] if attention is None else [("attention", attention.matrices)]
    if isinstance(block, Experts):
        return [*found, ("router", block.router), ("shared", block.shared), ("experts", block.expert)]
    return found if block is None else [*found, ("dense", block.matrices)]


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
