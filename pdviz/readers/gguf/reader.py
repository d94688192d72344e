"""A GGUF file read into an Architecture: shapes from its metadata, bytes from its tensors.

The metadata is put into the fields of a config.json and read by the same builders; which layers have
experts, biases or norms is taken from the tensors. Then the count of parameters is held against the
tensors: where they disagree, the file is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from pdviz.costmodel.architecture import Architecture
from pdviz.errors import InputError
from pdviz.names import shown
from pdviz.readers.gguf.census import BLOCK, census, check_shapes
from pdviz.readers.gguf.header import Header, Tensor, read_header
from pdviz.readers.gguf.metadata import NO_LANGUAGE_MODEL, Metadata
from pdviz.readers.hf.config import read_config
from pdviz.readers.hf.families import GGUF
from pdviz.readers.hf.fields import MOST_LAYERS
from pdviz.readers.hf.traits import Gguf

_PART = r"^(.*)-(\d{5})-of-(\d{5})\.gguf$"
#: Tensors that a pass of the language model does not multiply with, or that are copies of others.
_BESIDE = r"^(v|mm|a|cls|rope_\w+|enc|dec)\.|\bnextn\b|rope_freqs|rope_factors|rot_embd|\.(input_)?scale$"
#: What the layers of a Llama-like model hold.
_LLAMA_LIKE = (
    r"^(attn(_q|_k|_v|_qkv|_output|_norm|_q_norm|_k_norm|_sinks)|ffn_(norm|gate|up|down|gate_inp)"
    r"|ffn_(gate|up|down|gate_up)_(exps|shexp)|ffn_gate_inp_shexp|exp_probs_b|post_(attention|ffw)_norm)"
    r"\.(weight|bias)$"
)
#: The share of parameters by which fields and tensors may differ; any difference is said.
_TOLERATED = 0.02


def read_gguf(path: str) -> tuple[dict[str, Any], Architecture]:
    """(the model as fields of a config.json, its architecture) of a file, all its parts included.

    Raises InputError, one sentence that opens with the file's name.
    """
    where = os.path.basename(path)
    match = re.match(_PART, where)
    stem = match[1] if match is not None else os.path.splitext(where)[0]
    if match is not None and int(match[2]) != 1:  # only the first part says what the model is
        where = f"{stem}-00001-of-{match[3]}.gguf"
        path = os.path.join(os.path.dirname(path), where)
        if not os.path.isfile(path):
            raise InputError(f"{where}: the first part of the model is not beside the others")
    header = read_header(path, where)
    parts = header.metadata.get("split.count", 1)
    if type(parts) is int and parts > 1:
        header = _with_parts(header, path, where, parts)
    return gguf_architecture(header, stem, where)


def _with_parts(first: Header, path: str, where: str, count: int) -> Header:
    """The tensors of all parts together, under the metadata of the first."""
    match = re.match(_PART, where)
    if match is None or int(match[3]) != count:
        raise InputError(
            f"{where}: it is one of {count:,} parts, expected a name that ends in -00001-of-{count:05d}.gguf"
        )
    tensors = list(first.tensors)
    names = {tensor.name for tensor in tensors}
    for number in range(2, count + 1):
        name = f"{match[1]}-{number:05d}-of-{match[3]}.gguf"
        part = os.path.join(os.path.dirname(path), name)
        if not os.path.isfile(part):
            raise InputError(f"{where}: part {number:,} of {count:,}, {name}, is not beside it")
        found = read_header(part, name)
        said = found.metadata.get("split.no", number - 1), found.metadata.get("split.count", count)
        if said != (number - 1, count):
            place, of = (n if type(n) is int else -1 for n in said)
            raise InputError(f"{name}: it says that it is part {place + 1:,} of {of:,}")
        for tensor in found.tensors:
            if tensor.name in names:
                raise InputError(f"{name}: the tensor {shown(tensor.name)} is in another part too")
            names.add(tensor.name)
        tensors += found.tensors
    expected = first.metadata.get("split.tensors.count", len(tensors))
    if expected != len(tensors):
        raise InputError(f"{where}: its parts hold {len(tensors):,} tensors, expected {shown(expected)}")
    return msgspec.structs.replace(first, tensors=tuple(tensors))


def gguf_architecture(header: Header, stem: str, where: str) -> tuple[dict[str, Any], Architecture]:
    """(fields of a config.json, architecture) from a header; ``stem`` names a model that has no name."""
    meta = Metadata(header, where)
    family, kind = meta.text("general.architecture"), meta.text("general.type")
    reason = NO_LANGUAGE_MODEL.get(family or "") or NO_LANGUAGE_MODEL.get(kind or "")
    if reason is not None:
        raise meta.error(reason)
    if family is None:
        raise meta.error("general.architecture is missing, expected the family's name, such as llama")
    if not re.fullmatch(r"[\w.-]{1,64}", family, re.ASCII):
        raise meta.error(f"general.architecture must be a family's name, such as llama, got {shown(family)}")
    if not header.tensors:
        raise meta.error("it holds no tensors: a vocabulary, not a model")
    kind, row = GGUF.get(family, (family, Gguf(family)))
    meta.family, meta.is_varied = family, row.varied
    if meta.raw("attention.causal") is False:
        raise meta.error(NO_LANGUAGE_MODEL["bert"])
    blocks = meta.whole("block_count", most=MOST_LAYERS)
    layers = blocks - meta.whole("nextn_predict_layers", default=0, least=0, most=blocks - 1)
    _check_layers(header, meta, blocks, layers)
    meta.layers = layers
    main = {tensor.name: tensor for tensor in header.tensors if _is_main(tensor.name, layers, row)}
    meta.tensors = main
    config = _config(meta, kind, row)
    name = (meta.text("general.name") or "").strip()
    name = name[:80] if name.isprintable() and name else stem[:80]
    architecture = read_config(config, name, where, is_whole=True)
    check_shapes(main, architecture, meta)
    architecture = _checked(architecture, main, meta, row)
    return config, msgspec.structs.replace(architecture, census=census(main, architecture))


def _check_layers(header: Header, meta: Metadata, blocks: int, layers: int) -> None:
    """Raise where layers have no tensors, or tensors belong to blocks that are not there."""
    found = {int(block[1]) for tensor in header.tensors if (block := re.match(BLOCK, tensor.name))}
    odd = [*(set(range(layers)) - found), *(found - set(range(blocks)))]
    for number in sorted(odd)[:1]:
        has = "has" if number in found else "has no"
        raise meta.error(f"{meta.family}.block_count is {blocks:,}, but the file {has} tensors blk.{number}")


def _is_main(name: str, layers: int, row: Gguf) -> bool:
    """True for tensors of the language model's own layers, its tables and its final norm."""
    block = re.match(BLOCK, name)
    if re.search(_BESIDE, name) and not name.startswith("output") and not name.endswith(row.scales):
        return False
    return block is None or int(block[1]) < layers


def _config(meta: Metadata, kind: str, row: Gguf) -> dict[str, Any]:
    """The fields that a config.json of this family would have."""
    config = {**(meta.common() if row.common else {}), "model_type": kind}
    if meta.family not in GGUF:
        for name in meta.tensors:
            block = re.match(BLOCK, name)
            if block is not None and not re.match(_LLAMA_LIKE, block[2]):
                raise meta.error(f"family {shown(kind)} is not modelled: its layers hold {shown(block[2])}")
    row.adapt(meta, config)
    return config


def _parameters(tensors: Mapping[str, Tensor], row: Gguf) -> int:
    """Elements of the tensors; the two halves of a latent's projection also come unsplit, once more."""
    aside = {name for name in tensors if ".attn_kv_b." in name and name.replace("kv_b", "k_b") in tensors}
    aside |= {name for name in tensors if name.endswith(row.aside)}
    return sum(tensor.elements for name, tensor in tensors.items() if name not in aside)


def _checked(
    architecture: Architecture, tensors: Mapping[str, Tensor], meta: Metadata, row: Gguf
) -> Architecture:
    """The architecture, once its parameters are those of the tensors."""
    held, counted = _parameters(tensors, row), architecture.parameters
    if held == counted:
        return architecture
    said = f"as {shown(meta.family)} its fields describe {counted:,} parameters and its tensors hold {held:,}"
    if abs(held - counted) > _TOLERATED * held:
        raise meta.error(f"{said}; such a model is not modelled")
    note = f"{said[:1].upper()}{said[1:]}; bytes are those of the tensors."
    return msgspec.structs.replace(architecture, notes=(*architecture.notes, note))
