"""A Hugging Face config.json read into an Architecture, every count exact.

``read_config`` finds the language model (nested or not), its family's row in the table, and builds
embedding, layers and head from the file's own fields. What the file leaves open and what was
assumed is said in ``notes``; what the checkpoint holds beside the language model in ``left_out``.
"""

from __future__ import annotations

from collections.abc import Mapping

from pdviz.costmodel.architecture import Architecture, Matrix, MatrixRole
from pdviz.costmodel.stored import PLAIN_BYTES
from pdviz.costmodel.weights import uneven_inputs
from pdviz.errors import InputError
from pdviz.readers.hf.context import context_of
from pdviz.readers.hf.families import FAMILIES
from pdviz.readers.hf.fields import Fields, shown
from pdviz.readers.hf.generic import contradicted, llama_like, not_understood, strange
from pdviz.readers.hf.layers import HIDDEN, norm_kind, norm_parameters, read_layers
from pdviz.readers.hf.quantisation import read_quantisation
from pdviz.readers.hf.refused import bare_class, refuse, refuse_classes
from pdviz.readers.hf.targets import Checkpoint
from pdviz.readers.hf.traits import Family, on, window_tokens

_NESTS = ("thinker_config", "text_config", "llm_config", "language_config")
_DEEPEST = 4
_BESIDE = {
    "vision_config": "a vision tower and its projector",
    "vision_tower": "a vision tower and its projector",
    "visual": "a vision tower and its projector",
    "audio_config": "an audio tower",
    "talker_config": "a second model that speaks",
}


def _language_model(outer: Fields) -> list[Fields]:
    """The objects from the file itself down to the one that describes the language model."""
    here, path = outer, [outer]
    for _ in range(_DEEPEST):
        names = [name for name in _NESTS if here.has(name)]
        if not names:
            return path
        for other in names[1:]:
            if here.raw(other) != here.raw(names[0]):
                raise here.error(
                    f"{here.label(names[0])} and {here.label(other)} are both there and differ; "
                    "one must describe the language model"
                )
        here = here.child(names[0])
        path.append(here)
    raise outer.error(f"{here.label('text_config')} lies deeper than {_DEEPEST} objects")


def _family(outer: Fields, inner: Fields) -> tuple[str, Family]:
    kind = inner.text("model_type") or outer.text("model_type")
    if kind is None:
        if outer.has("producer") and outer.has("quantization"):
            raise outer.error(
                "this says how a model's weights were quantised (an hf_quant_config.json); "
                "the config.json beside it is needed"
            )
        raise outer.error("model_type is missing, expected the family's name, such as llama")
    refuse(inner, kind)
    refuse_classes(outer)
    if kind in FAMILIES:
        return kind, FAMILIES[kind]
    return kind, llama_like(inner, kind, any(f.has("tie_word_embeddings") for f in (outer, inner)))


def _tied(outer: Fields, inner: Fields, family: Family) -> bool:
    for fields in (outer, inner):
        if fields.has("tie_word_embeddings"):
            return fields.switch("tie_word_embeddings", False)
    tied = on(family.tied, inner)
    if isinstance(family.tied, bool):  # a rule notes its own field
        inner.take("tie_word_embeddings", tied)
    return tied


def _disagree(outer: Fields, inner: Fields, name: str) -> bool:
    return outer.has(name) and inner.has(name) and outer.raw(name) != inner.raw(name)


def _dtype(fields: Fields) -> str | None:
    """The dtype in which the weights are published, without "torch."."""
    said = fields.text("torch_dtype", "dtype")
    name = None if said is None else said.removeprefix("torch.")
    if name is not None and name not in PLAIN_BYTES:
        field = "torch_dtype" if fields.has("torch_dtype") else "dtype"
        raise fields.error(
            f"{fields.label(field)} must be one of {', '.join(PLAIN_BYTES)}, got {shown(said)}"
        )
    return name


def _prediction_modules(fields: Fields) -> int:
    return fields.number("num_nextn_predict_layers", "mtp_num_hidden_layers", default=0, most=64)


def _left_out(path: list[Fields], inner: Fields, family: Family) -> list[str]:
    outer = path[0]
    found = {text: None for name, text in _BESIDE.items() if any(fields.has(name) for fields in path)}
    if not found and outer.nested(inner) and "ForConditionalGeneration" in shown(outer.raw("architectures")):
        found = {_BESIDE["vision_config"]: None}
    names = [*found, *family.left_out]
    modules = _prediction_modules(inner)
    if modules:
        names.append(f"{modules} multi-token prediction {'module' if modules == 1 else 'modules'}")
    return names


def read_config(
    config: object, name: str, where: str = "config.json", *, is_whole: bool = False
) -> Architecture:
    """The architecture that a decoded config.json describes.

    ``name`` is the model's name for people, ``where`` names the file in error messages. Where the
    config ``is_whole``, made from another file that leaves nothing open, silence needs no note.
    Raises InputError, with one sentence that names the field, where the file cannot be read.
    """
    if not isinstance(config, Mapping):
        raise InputError(f"{where}: expected a JSON object, got {shown(config)}")
    outer = Fields(config, where)
    path = _language_model(outer)
    inner = path[-1]
    if not inner.has(*HIDDEN):
        for nest in _NESTS:
            if inner.present(nest):
                raise inner.error(f"{inner.label(nest)} is null, expected an object")
    kind, family = _family(outer, inner)
    family.check(inner)
    defaults = family.defaults(inner) if callable(family.defaults) else family.defaults
    if outer.nested(inner):
        defaults = {**family.nested, **defaults}
    inner = inner.evened(family.even).with_defaults(defaults)
    hidden = inner.count(*HIDDEN)
    vocabulary = (
        inner.count("padded_vocab_size") if inner.has("padded_vocab_size") else inner.count("vocab_size")
    )
    runs = read_layers(inner, family, hidden)
    attentions = [run.layer.attention for run in runs if run.layer.attention is not None]

    width = inner.count_or_none("word_embed_proj_dim") or hidden
    extra: tuple[Matrix, ...] = ()
    if width != hidden:
        extra = (
            Matrix(MatrixRole.EMBEDDING_PROJECTION, width, hidden),
            Matrix(MatrixRole.HEAD_PROJECTION, hidden, width),
        )
    norm = norm_parameters(norm_kind(inner, family), hidden)
    vectors = norm * (on(family.final_norm, inner) + on(family.embedding_norm, inner))
    head, biased = None, on(family.head_bias, inner)
    if not _tied(outer, inner, family):
        head = Matrix(MatrixRole.HEAD, width, vocabulary, biased)
    elif biased:
        vectors += vocabulary
    context = context_of(inner, family)
    checkpoint = Checkpoint(kind, family, sum(run.count for run in runs) + _prediction_modules(inner))
    quantisation = read_quantisation(inner, checkpoint) or read_quantisation(outer, checkpoint)
    left_out = _left_out(path, inner, family)
    notes = [*family.notes, *inner.taken.remarks]
    if kind in FAMILIES and not is_whole:
        notes += inner.assumptions(name for name in family.absent if not inner.present(name))
    if context is None and any(a.cache_elements for a in attentions):
        notes.append("The file gives no context length: prompts of any length are taken.")
    if outer.nested(inner) and _disagree(outer, inner, "tie_word_embeddings"):
        notes.append(f"The file contradicts itself: {inner.label('tie_word_embeddings')} is left aside.")
    notes += [text for field, text in family.absent.items() if not inner.present(field)]
    if family.mixers is None and not inner.has("layer_types") and window_tokens(inner) is not None:
        notes.append(f"{inner.label('sliding_window')} is left aside: layers of this family have no window.")
    if (bare := bare_class(outer)) is not None:
        notes.append(f"{bare} is a class without a head: the head is counted all the same.")
    notes += contradicted(inner, family)
    if aside := strange(inner, family) if kind in FAMILIES else not_understood(inner):
        notes.append(f"Fields that were left aside and may matter: {', '.join(aside)}.")
    if left_out:
        notes.append(f"Not counted, since a decode pass does not run it: {', '.join(left_out)}.")
    found = Architecture(
        name=name,
        family=kind,
        hidden=hidden,
        vocabulary=vocabulary,
        max_context_tokens=context,
        runs=runs,
        embedding=Matrix(MatrixRole.EMBEDDING, vocabulary, width),
        head=head,
        positions=0 if family.positions is None else family.positions(inner),
        vectors=vectors,
        extra=extra,
        published_dtype=_dtype(inner) or _dtype(outer),
        notes=tuple(notes),
        left_out=tuple(left_out),
        quantisation=quantisation,
    )
    if (uneven := uneven_inputs(found)) is not None and quantisation is not None:
        raise outer.error(
            f"quantization_config.group_size is {quantisation.group:,}, "
            f"which does not divide the {uneven:,} inputs of a matrix"
        )
    return found
