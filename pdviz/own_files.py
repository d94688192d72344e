"""A person's own model or accelerator, from a file: config.json, GGUF, a TOML table.

What a file is, is found from its content. What is no model or accelerator is said for what it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from pdviz.errors import InputError
from pdviz.files import File, Stamp, full_path, is_file_name, parse_json, parse_toml
from pdviz.names import shown

if TYPE_CHECKING:
    from pdviz.costmodel.accelerator import Accelerator
    from pdviz.costmodel.architecture import Architecture

CONFIG_LIMIT_BYTES = 4 * 2**20  # the longest known have half a megabyte
ACCELERATOR_LIMIT_BYTES = 3 * 2**15
_BOM = b"\xef\xbb\xbf"
_GGUF = (b"GGUF", b"ggml", b"ggmf", b"ggjt", b"lmgg", b"fmgg", b"tjgg")
_BINARY = (
    (b"\x89PNG", "a picture"),
    (b"PK\x03\x04", "weights (or another archive)"),
    (b"\x80\x02", "weights"),
    (b"\x1f\x8b", "a compressed file"),
    (b"version https://git-lfs", "a pointer of Git LFS in the place of a file (git lfs pull fetches it)"),
    (b"<!DOCTYPE", "a web page"),
    (b"<!doctype", "a web page"),
    (b"<html", "a web page"),
)
#: Fields of which a model's file has at least one.
_SHAPES = (
    "model_type",
    "architectures",
    "hidden_size",
    "n_embd",
    "d_model",
    "num_hidden_layers",
    "num_attention_heads",
    "text_config",
    "llm_config",
    "language_config",
)
#: Fields that only one kind of file has -> what it is. None of them describes a model's shapes.
_OTHER_KINDS = (
    (("weight_map",), "the index of a model's safetensors files"),
    (("peft_type", "lora_alpha", "lora_dropout"), "an adapter's configuration (LoRA)"),
    (("added_tokens", "pre_tokenizer"), "a tokenizer"),
    (("tokenizer_class", "added_tokens_decoder", "chat_template"), "a tokenizer's configuration"),
    (("image_processor_type", "feature_extractor_type", "processor_class"), "a processor's configuration"),
    (("_class_name", "_diffusers_version"), "a diffusion pipeline's configuration"),
    (
        ("max_new_tokens", "do_sample", "temperature", "top_p", "_from_model_config"),
        "a generation configuration",
    ),
    (("desc_act", "q_group_size", "zero_point"), "a description of a quantisation"),
    (("bos_token", "eos_token", "pad_token"), "a tokenizer's map of special tokens"),
    (("bos_token_id", "eos_token_id"), "a generation configuration"),
    (("n_layers", "n_heads", "norm_eps"), "the params.json of an original release"),
)


def model_path(text: str) -> str | None:
    """The absolute path of the file that ``text`` means as a model; None where it is a name.

    A folder means its config.json. Raises nothing: whether there is such a file is found on reading.
    """
    if not is_file_name(text):
        return None
    path = full_path(text)
    return os.path.join(path, "config.json") if os.path.isdir(path) else path


def accelerator_path(text: str) -> str | None:
    """The absolute path of the file that ``text`` means as an accelerator; None where it is a name."""
    return full_path(text) if is_file_name(text) else None


def is_gguf(head: bytes, path: str) -> bool:
    """True for what begins or is named as a GGUF file, readable or not."""
    return head.startswith(_GGUF) or path.lower().endswith(".gguf")


def is_config(head: bytes, path: str) -> bool:
    """True for what begins as a JSON object."""
    return head.removeprefix(_BOM).lstrip()[:1] == b"{"


def is_accelerator(head: bytes, path: str) -> bool:
    """True for what has a table [accelerator]."""
    return b"[accelerator]" in (line.split(b"#")[0].strip() for line in head.splitlines())


class ModelFile(msgspec.Struct, frozen=True):
    """What a model's file holds: the fields of its config.json and its architecture."""

    path: str
    stamp: Stamp
    config: dict[str, Any]
    architecture: Architecture


class AcceleratorFile(msgspec.Struct, frozen=True):
    """What an accelerator's file holds."""

    path: str
    stamp: Stamp
    accelerator: Accelerator


def read_model_file(path: str) -> ModelFile:
    """The model in a file. Raises InputError, one sentence that opens with the file's name."""
    with File(path) as file:
        return model_in(file)


def model_in(file: File) -> ModelFile:
    """The model in an open file. Raises InputError."""
    config, architecture = _model_in(file)
    return ModelFile(file.path, file.stamp, config, architecture)


def _model_in(file: File) -> tuple[dict[str, Any], Architecture]:
    where, head = file.where, file.head
    if head.startswith(_GGUF):
        from pdviz.readers.gguf.reader import read_gguf

        return read_gguf(file.path)
    if not head:
        raise InputError(f"{where}: the file is empty")
    text = head.removeprefix(_BOM).lstrip()
    for magic, what in _BINARY:
        if head.startswith(magic) or text.startswith(magic):
            raise _not_a_model(where, what)
    if head[8:9] == b"{" and b"\0" in head[:8]:
        raise _not_a_model(where, "safetensors weights")
    if file.path.lower().endswith(".gguf") and text[:1] != b"{":
        raise InputError(f"{where}: this is no GGUF file")
    if file.size > CONFIG_LIMIT_BYTES:
        kind = _kind_of_text(head)
        if kind is not None:
            raise _not_a_model(where, kind)
        raise InputError(
            f"{where}: too long for a config.json ({file.size / 2**20:,.0f} MiB, expected up to "
            f"{CONFIG_LIMIT_BYTES // 2**20})"
        )
    config = _config(file.read(CONFIG_LIMIT_BYTES), where)

    from pdviz.readers.hf.config import read_config

    return config, read_config(config, _name(config, file.path), where)


def _config(data: bytes, where: str) -> dict[str, Any]:
    try:
        config = parse_json(data, where)
    except InputError:
        if b"[accelerator]" in data:
            raise InputError(
                f"{where}: this is an accelerator's file; expected a config.json or GGUF"
            ) from None
        raise
    if not isinstance(config, dict):
        raise InputError(
            f"{where}: not the config.json of a model; expected an object with model_type, "
            f"got {'a list' if isinstance(config, list) else 'a single value'}"
        )
    what = _kind(config)
    if what is not None:
        raise _not_a_model(where, what)
    return config


def _kind(config: Mapping[str, Any]) -> str | None:
    """What a JSON object is that describes no model; None where it may be one."""
    if "peft_type" not in config and any(name in config for name in _SHAPES):
        return None
    return next((what for names, what in _OTHER_KINDS if any(name in config for name in names)), None)


def _kind_of_text(head: bytes) -> str | None:
    """What the beginning of a long JSON text says it is."""
    return next(
        (what for names, what in _OTHER_KINDS if any(b'"%s"' % n.encode() in head for n in names)), None
    )


def _not_a_model(where: str, what: str) -> InputError:
    return InputError(f"{where}: this is {what}, not a model; expected its config.json or a GGUF file")


def _name(config: Mapping[str, Any], path: str) -> str:
    """The model's name: what its file says, else what the file or its folder is called."""
    said = config.get("_name_or_path")
    parts = [said if isinstance(said, str) else "", os.path.splitext(os.path.basename(path))[0]]
    folders = os.path.dirname(path).replace("\\", "/").split("/")
    if parts[1] == "config":
        cached = [f.removeprefix("models--").replace("--", "/") for f in folders if f.startswith("models--")]
        parts[1] = cached[-1] if cached else folders[-1]
    for part in parts:
        name = part.strip().rstrip("/").rpartition("/")[2]
        if name and name not in (".", "..") and name.isprintable():
            return name[:80]
    return "config.json"


def read_accelerator_file(path: str) -> AcceleratorFile:
    """The accelerator in the table [accelerator] of a TOML file. Raises InputError."""
    with File(path) as file:
        return accelerator_in(file)


def accelerator_in(file: File) -> AcceleratorFile:
    """The accelerator in an open file. Raises InputError."""
    from pdviz.costmodel.accelerator import read_accelerator

    where, data = file.where, file.read(ACCELERATOR_LIMIT_BYTES + 1)
    expected = "expected a TOML file with a table [accelerator]"
    if data.startswith(_GGUF):
        raise InputError(f"{where}: this is a model; {expected}")
    if len(data) > ACCELERATOR_LIMIT_BYTES:
        raise InputError(f"{where}: too long for an accelerator; {expected}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{where}: not text in UTF-8; {expected}") from None
    if not text.strip():
        raise InputError(f"{where}: the file is empty; {expected}")
    if text.lstrip().startswith("{"):
        raise InputError(f"{where}: this is JSON; {expected}")
    tables = parse_toml(text, where, "accelerator")
    if "accelerator" not in tables:
        others = next(
            (
                f" but [{name}]"
                for name in tables
                if isinstance(tables[name], (dict, list)) and re.fullmatch(r"[\w-]{1,40}", name)
            ),
            "",
        )
        raise InputError(f"{where}: it has no table [accelerator]{others}; {expected}")
    table = tables["accelerator"]
    if not isinstance(table, dict):
        raise InputError(f"{where}: [accelerator] must be a table of fields, got {shown(table)}")
    return AcceleratorFile(file.path, file.stamp, read_accelerator(table, where))
