"""From fields and family traits to attention, feed-forward blocks and runs of equal layers."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from pdviz.costmodel.architecture import Experts, FeedForward, Layer, Matrix, MatrixRole, Run
from pdviz.readers.hf.attention import attention_of
from pdviz.readers.hf.fields import MOST_EXPERTS, MOST_LAYERS, Fields, shown
from pdviz.readers.hf.traits import ACTIVE, EXPERTS, WIDTH, Family, Mixture, full, on

HIDDEN = ("hidden_size", "n_embd", "d_model", "n_embed", "model_dim")
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_transformer_layers")

_KINDS = {
    "full_attention": "full",
    "attention": "full",
    "global_attention": "full",
    "sliding_attention": "sliding",
    "sliding_window_attention": "sliding",
    "local_attention": "sliding",
    "chunked_attention": "chunked",
    "linear_attention": "recurrent",
    "mamba": "recurrent",
    "conv": "recurrent",
    "recurrent": "recurrent",
}


def norm_parameters(kind: str, hidden: int) -> int:
    """Parameters of one norm of that kind (see Family)."""
    return {"rms": hidden, "scale": hidden, "layer": 2 * hidden, "none": 0}[kind]


def norm_kind(fields: Fields, family: Family) -> str:
    """The kind of norm that this file has."""
    return family.norm if isinstance(family.norm, str) else family.norm(fields)


def mlp(hidden: int, width: int, gated: bool, bias: bool) -> tuple[Matrix, ...]:
    role, outputs = (MatrixRole.GATE_AND_UP, 2 * width) if gated else (MatrixRole.UP, width)
    return (Matrix(role, hidden, outputs, bias), Matrix(MatrixRole.DOWN, width, hidden, bias))


def dense_block(fields: Fields, family: Family, hidden: int, names: tuple[str, ...]) -> FeedForward:
    """An MLP for every token."""
    if family.mlp_width is not None:
        width = family.mlp_width(fields, hidden)
    elif family.mlp_ratio is not None:
        width = fields.count_or_none(*names) or family.mlp_ratio * hidden
        if family.mlp_field and not fields.present(*names):
            fields.take(family.mlp_field, width)
    else:
        width = fields.count(*names)
    matrices = mlp(hidden, width, on(family.gated, fields), on(family.mlp_bias, fields))
    return FeedForward(matrices, family.mlp_vectors)


def expert_block(fields: Fields, family: Family, mixture: Mixture, hidden: int) -> Experts:
    """A mixture of experts with its router and shared experts."""
    total = fields.count(*EXPERTS, most=MOST_EXPERTS)
    active = fields.count(*ACTIVE, most=MOST_EXPERTS)
    if active > total:
        raise fields.error(
            f"{fields.label('num_experts_per_tok')} must be at most the {total} experts, got {active}"
        )
    gated = on(family.gated, fields)
    width = fields.count(*mixture.width)
    shared = mixture.shared(fields, width)
    alongside = mlp(hidden, shared, gated, on(family.mlp_bias, fields)) if shared else ()
    if shared and on(mixture.shared_gate, fields):
        alongside = (*alongside, Matrix(MatrixRole.SHARED_GATE, hidden, 1))
    inside = hidden
    if mixture.latent and fields.has(*mixture.latent):
        inside = fields.count(*mixture.latent)
        bias = on(family.mlp_bias, fields)
        alongside = (
            *alongside,
            Matrix(MatrixRole.TO_EXPERTS, hidden, inside, bias),
            Matrix(MatrixRole.FROM_EXPERTS, inside, hidden, bias),
        )
    return Experts(
        total=total,
        active=active,
        expert=mlp(inside, width, gated, on(mixture.expert_bias, fields)),
        shared=alongside,
        router=(Matrix(MatrixRole.ROUTER, hidden, total, on(mixture.router_bias, fields)),),
        vectors=mixture.extra_vectors(fields, hidden) + (total if on(mixture.correction, fields) else 0),
    )


def _mixers(fields: Fields, family: Family, layers: int) -> list[str]:
    modules = fields.number("num_nextn_predict_layers", default=0, most=64)
    words = fields.names_of_layers("layer_types", layers, spare=modules)
    if words is None:
        return (family.mixers or full)(fields, layers)
    for word in sorted(set(words)):
        if word not in _KINDS or (_KINDS[word] == "recurrent" and family.recurrent is None):
            raise fields.error(f"{fields.label('layer_types')} has {shown(word)}, a kind not modelled here")
    kinds = [_KINDS[word] for word in words]
    if not fields.switch("use_sliding_window", True):
        kinds = ["full" if kind == "sliding" else kind for kind in kinds]
    return kinds


def runs_of(layers: Iterable[Layer]) -> tuple[Run, ...]:
    """Consecutive equal layers as one run."""
    return tuple(Run(sum(1 for _ in group), layer) for layer, group in groupby(layers))


def read_layers(fields: Fields, family: Family, hidden: int) -> tuple[Run, ...]:
    """The stack of layers, as runs of consecutive equal ones."""
    if family.stack is not None:
        return family.stack(fields, hidden)
    layers = family.layers(fields) if family.layers else fields.count(*LAYERS, most=MOST_LAYERS)
    mixers = _mixers(fields, family, layers)
    mixture = family.mixture(fields) if callable(family.mixture) else family.mixture
    if family.blocks is not None:
        blocks = family.blocks(fields, layers)
    elif mixture is not None:
        blocks = ["experts" if sparse else "dense" for sparse in mixture.sparse(fields, layers)]
    else:
        blocks = ["dense"] * layers

    attentions = {kind: attention_of(fields, family, hidden, kind) for kind in dict.fromkeys(mixers)}
    parts: dict[str, FeedForward | Experts | None] = {"none": None}
    if "dense" in blocks:
        names = WIDTH if mixture is None else mixture.dense_width
        parts["dense"] = dense_block(fields, family, hidden, names)
    if "experts" in blocks and mixture is not None:
        parts["experts"] = expert_block(fields, family, mixture, hidden)

    norms = family.norms if isinstance(family.norms, int) else family.norms(fields)
    vectors = norms * norm_parameters(norm_kind(fields, family), hidden) + family.extra_vectors(
        fields, hidden
    )
    return runs_of(
        Layer(attentions[mixer], parts[block], vectors) for mixer, block in zip(mixers, blocks, strict=True)
    )
