"""The weight matrices of a model, as one picks them from a list, and what multiplying by one costs."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pdviz.costmodel.architecture import Architecture, Experts, Matrix, MatrixRole
from pdviz.costmodel.dtypes import DTYPES, PUBLISHED
from pdviz.costmodel.fidelities import Fidelity, PassCost
from pdviz.costmodel.terms import Role, Term, distinct_experts
from pdviz.evaluation import Result
from pdviz.units import count

ACTIVATION_BYTES = 2.0
"""Activations are kept at 16 bit, whatever the format of the weights."""

KNOWN_MODELS = 32

_NAMES = {
    MatrixRole.QKV: "Queries, keys, values",
    MatrixRole.Q: "Queries",
    MatrixRole.Q_DOWN: "Query latent",
    MatrixRole.Q_UP: "Queries from latent",
    MatrixRole.KV_DOWN: "KV latent",
    MatrixRole.KV_UP: "KV from latent",
    MatrixRole.INPUT_PROJECTION: "Recurrent input",
    MatrixRole.STATE_PROJECTION: "Recurrent state",
    MatrixRole.TIME_STEP: "Recurrent time step",
    MatrixRole.QKV_AND_GATE: "Recurrent QKV and gate",
    MatrixRole.DECAY_AND_BETA: "Recurrent decay, beta",
    MatrixRole.OUTPUT_GATE: "Recurrent output gate",
    MatrixRole.TO_EXPERTS: "Into the experts",
    MatrixRole.FROM_EXPERTS: "Out of the experts",
    MatrixRole.HEAD: "Head",
}
_RECURRENT_NAMES = {
    MatrixRole.QKV: "Recurrent QKV",
    MatrixRole.ATTENTION_OUTPUT: "Recurrent output",
}
_PREFIXES = {"expert": "One expert: ", "shared": "Shared expert: "}
_OWN_NAMES = (MatrixRole.TO_EXPERTS, MatrixRole.FROM_EXPERTS)
_KINDS = {
    "full": "global",
    "latent": "latent",
    "sliding": "sliding",
    "chunked": "chunked",
    "recurrent": "state",
}
_ORDER = (
    "before",
    "mixer",
    "dense",
    "router",
    "to experts",
    "expert",
    "from experts",
    "shared",
    "after",
    "head",
)


class WeightMatrix(msgspec.Struct, frozen=True):
    """A weight matrix and all its equals in the model.

    ``copies`` is how many there are: one for each of ``layers`` layers that have it, and each of
    ``experts`` routed experts of which ``active`` meet a token (both 0 for what is no routed expert).
    ``share`` is that of all copies in the model's parameters. ``is_wide`` matrices stay at 16 bit where the
    weights are quantised; those with ``samples_only`` are needed for positions that give a token.
    """

    part: str
    role: MatrixRole
    name: str
    inputs: int
    outputs: int
    layers: int
    copies: int
    share: float
    experts: int = 0
    active: int = 0
    is_wide: bool = False
    samples_only: bool = False
    is_tied: bool = False

    @property
    def weights(self) -> int:
        """Elements of one copy."""
        return self.inputs * self.outputs


class _Found(msgspec.Struct, frozen=True):
    """A matrix where it occurs in the stack: ``count`` times in ``layers`` layers."""

    rank: str
    part: str
    kind: str
    matrix: Matrix
    layers: int
    experts: int = 0
    active: int = 0

    @property
    def key(self) -> tuple[str, MatrixRole, int, int, int, int]:
        m = self.matrix
        return self.part, m.role, m.inputs, m.outputs, self.experts, self.active


def _occurrences(model: Architecture) -> Iterator[_Found]:
    for matrix in model.extra:
        rank = "after" if matrix.role is MatrixRole.HEAD_PROJECTION else "before"
        yield _Found(rank, "extra", "", matrix, 0)
    for run in model.runs:
        mixer, block = run.layer.attention, run.layer.feed_forward
        if mixer is not None:
            part = "recurrent" if mixer.kind == "recurrent" else "attention"
            for matrix in mixer.matrices:
                yield _Found("mixer", part, mixer.kind, matrix, run.count)
        if isinstance(block, Experts):
            for matrix in block.router:
                yield _Found("router", "router", "", matrix, run.count)
            for matrix in block.expert:
                yield _Found("expert", "expert", "", matrix, run.count, block.total, block.active)
            for matrix in block.shared:
                rank = matrix.role.value if matrix.role in _OWN_NAMES else "shared"
                yield _Found(rank, "shared", "", matrix, run.count)
        elif block is not None:
            for matrix in block.matrices:
                yield _Found("dense", "dense", "", matrix, run.count)


def _name(found: _Found, is_mixture: bool) -> str:
    role = found.matrix.role
    if found.part == "recurrent" and role in _RECURRENT_NAMES:
        return _RECURRENT_NAMES[role]
    plain = _NAMES.get(role, role.value)
    if found.part == "shared" and role is MatrixRole.SHARED_GATE:
        return "Shared expert: weight"
    if found.part in _PREFIXES and role not in _OWN_NAMES:
        return _PREFIXES[found.part] + plain.lower()
    if found.part == "dense" and is_mixture:
        return f"Dense layers: {plain.lower()}"
    return plain[:1].upper() + plain[1:]


_known: dict[int, tuple[Architecture, tuple[WeightMatrix, ...]]] = {}


def weight_matrices(architecture: Architecture) -> tuple[WeightMatrix, ...]:
    """Every distinct weight matrix that tokens are multiplied by, in reading order.

    Equal ones of several layers are one entry. The embedding table is looked up, not multiplied by:
    it is here only where it is the head too.
    """
    known = _known.get(id(architecture))
    if known is None or known[0] is not architecture:
        if len(_known) >= KNOWN_MODELS:
            _known.clear()
        known = _known[id(architecture)] = architecture, _weight_matrices(architecture)
    return known[1]


def _weight_matrices(architecture: Architecture) -> tuple[WeightMatrix, ...]:
    merged: dict[tuple[str, MatrixRole, int, int, int, int], list[_Found]] = {}
    for found in _occurrences(architecture):
        merged.setdefault(found.key, []).append(found)
    groups = sorted(merged.values(), key=lambda group: _ORDER.index(group[0].rank))
    names = [_name(group[0], architecture.is_mixture) for group in groups]
    entries = []
    for group, name in zip(groups, names, strict=True):
        first, matrix = group[0], group[0].matrix
        if names.count(name) > 1:
            kinds = dict.fromkeys(_KINDS.get(f.kind, f.kind) for f in group if f.kind)
            name += f" ({', '.join(kinds)})" if kinds else ""
        layers = sum(f.layers for f in group)
        copies = max(layers, 1) * max(first.experts, 1)
        entries.append(
            WeightMatrix(
                part=first.part,
                role=matrix.role,
                name=name,
                inputs=matrix.inputs,
                outputs=matrix.outputs,
                layers=layers,
                copies=copies,
                share=copies * matrix.weights / architecture.parameters,
                experts=first.experts,
                active=first.active,
                samples_only=first.rank == "after",
            )
        )
    return (*entries, _head(architecture))


def _head(model: Architecture) -> WeightMatrix:
    """The head; where it is tied, the embedding table read as one."""
    table = model.embedding
    head = model.head or Matrix(MatrixRole.HEAD, table.outputs, table.inputs)
    return WeightMatrix(
        part="head",
        role=MatrixRole.HEAD,
        name="Head (embedding table)" if model.tied else "Head",
        inputs=head.inputs,
        outputs=head.outputs,
        layers=0,
        copies=1,
        share=head.weights / model.parameters,
        is_wide=True,
        samples_only=True,
        is_tied=model.tied,
    )


def size_words(matrix: WeightMatrix) -> str:
    return f"{count(matrix.inputs)} × {count(matrix.outputs)}"


def default_matrix(matrices: tuple[WeightMatrix, ...]) -> int:
    """The index of the matrix to show first: the attention output, as in the textbooks, else the first."""
    for wanted in ("attention", "recurrent"):
        for index, matrix in enumerate(matrices):
            if matrix.part == wanted and matrix.role is MatrixRole.ATTENTION_OUTPUT:
                return index
    return 0


def experts_hit(matrix: WeightMatrix, tokens: int) -> float:
    """Routed experts of a layer that ``tokens`` tokens meet (uniform routing); 0 for other matrices."""
    return float(distinct_experts(matrix.experts, matrix.active, tokens)) if matrix.experts else 0.0


def matrix_rows(matrix: WeightMatrix, tokens: int, sampled: int, fidelity: Fidelity) -> float:
    """Rows that a pass over ``tokens`` tokens, ``sampled`` of which give a token, brings to the matrix.

    One for each token; for a routed expert the mean over the experts that are hit; for the head one
    for each sampled position, unless the fidelity counts every token.
    """
    if matrix.experts:
        return tokens * matrix.active / experts_hit(matrix, tokens)
    if matrix.samples_only and fidelity.samples_logits:
        return float(sampled)
    return float(tokens)


def weight_bytes(matrix: WeightMatrix, result: Result) -> float:
    """Bytes of one copy in the scenario's format."""
    if result.scenario.weights_dtype == PUBLISHED:
        part = "experts" if matrix.active else "head" if matrix.is_wide else "dense"
        return matrix.weights * result.model.bytes_per_parameter(part)
    dtype = DTYPES[result.scenario.weights_dtype]
    each = 2.0 if matrix.is_wide and dtype.is_quantised else dtype.bytes_per_weight
    return matrix.weights * each


def matmul_cost(matrix: WeightMatrix, rows: float, result: Result) -> PassCost:
    """What multiplying ``rows`` rows by one copy costs, alone on the accelerators of ``result``.

    FLOPs are 2 for each row and weight; bytes are the weights once and the activations in and out.
    """
    flops = 2.0 * rows * matrix.weights
    activations = ACTIVATION_BYTES * rows * (matrix.inputs + matrix.outputs)
    moved = weight_bytes(matrix, result) + activations
    return result.fidelity.cost(result.machine, (Term(Role.DENSE, flops, 1, moved, 1),), round(rows))
