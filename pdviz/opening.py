"""One way in for every file: what it is, is found from its first bytes, and it is read once.

A kind of file is a row of ``KINDS``: how it is recognised, how it is read, and what is said of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from pdviz import own_files, share
from pdviz.errors import InputError
from pdviz.files import File, full_path, is_file_name
from pdviz.own_files import AcceleratorFile, ModelFile
from pdviz.serving.trace_kinds import is_trace
from pdviz.units import plural

if TYPE_CHECKING:
    from pdviz.catalogue import Catalogue

MODEL, ACCELERATOR, SCENARIO, WORKLOAD = "model", "accelerator", "scenario", "workload"
_TRACES = (".csv", ".tsv", ".jsonl")


class Kind(msgspec.Struct, frozen=True):
    """``name`` says how ``Opened.value`` is used, ``words`` what the file was taken for.

    ``recognises(first bytes, path)`` is asked from the first row to the last; ``read(file)`` may raise
    InputError.
    """

    name: str
    words: str
    recognises: Callable[[bytes, str], bool]
    read: Callable[[File], Any]


class RequestsFile(msgspec.Struct, frozen=True):
    """A file of requests that has been read; ``words`` say what was found in it."""

    path: str
    words: str


def requests_in(file: File) -> RequestsFile:
    """The requests in a file, read once: the server takes them from there. Raises InputError."""
    from pdviz.serving.plan import asked_of, workload_of

    if asked_of(file.path).text != file.path:
        raise InputError(f"{file.where}: its path holds spaces in a row; expected one with single spaces")
    found = workload_of(file.path, file.watch)
    words = [found.description.removeprefix(f"{file.where}: "), plural(len(found), "request")]
    if found.rejected:
        first = found.rejected[0]
        words.append(f"{plural(len(found.rejected), 'row')} left out, the first ({first.id}): {first.reason}")
    return RequestsFile(file.path, ", ".join(words))


KINDS = (
    Kind(WORKLOAD, "opened as the server's workload", lambda head, path: is_trace(head), requests_in),
    Kind(MODEL, "opened as the model", own_files.is_gguf, own_files.model_in),
    Kind(MODEL, "opened as the model", own_files.is_config, own_files.model_in),
    Kind(ACCELERATOR, "opened as the accelerator", own_files.is_accelerator, own_files.accelerator_in),
    Kind(SCENARIO, "opened the scenario of this picture", share.is_png, share.png_fields),
    Kind(SCENARIO, "opened the scenario of this picture", share.is_svg, share.svg_fields),
    Kind(SCENARIO, "opened as a scenario line", share.is_line, share.line_fields),
    Kind(WORKLOAD, "", lambda head, path: path.lower().endswith(_TRACES), requests_in),  # told what it lacks
    Kind(SCENARIO, "opened as a scenario", lambda head, path: True, share.toml_fields),
)


class Opened(msgspec.Struct, frozen=True):
    """What was read: a model's file, an accelerator's, requests, or a scenario's fields, as ``kind`` says.

    ``words`` say what it was taken for; ``files`` are the models and accelerators that it holds or names.
    """

    kind: str
    value: Any
    words: str
    files: tuple[ModelFile | AcceleratorFile, ...] = ()


def open_path(path: str, watch: Callable[[float], None] | None = None) -> Opened:
    """What is in the file at ``path``; a folder means its config.json.

    ``watch`` hears the share that is read of what is long. Raises InputError, one
    sentence with file, line or key, and what was expected.
    """
    with File(meant_file(full_path(path)), watch) as file:
        kind = next(kind for kind in KINDS if kind.recognises(file.head, file.path))
        value = kind.read(file)
    if kind.name == SCENARIO:
        return _scenario(value, kind.words)
    if kind.name == WORKLOAD:
        return Opened(kind.name, value, f"{kind.words}: {value.words}")
    return Opened(kind.name, value, kind.words, (value,))


def open_text(text: str) -> Opened:
    """The scenario in a text, as pasted or dropped. Raises InputError."""
    return _scenario(share.text_fields(text), "Opened the pasted scenario")


def _scenario(fields: dict[str, Any], words: str) -> Opened:
    """A scenario with those of its files that can be read; whoever uses the others is told why not."""
    files: list[ModelFile | AcceleratorFile] = []
    with suppress(InputError):
        path = own_files.model_path(fields.get("model", ""))
        if path is not None:
            files.append(own_files.read_model_file(path))
    with suppress(InputError):
        path = own_files.accelerator_path(fields.get("accelerator", ""))
        if path is not None:
            files.append(own_files.read_accelerator_file(path))
    return Opened(SCENARIO, fields, words, tuple(files))


def fields_in(opened: Opened, catalogue: Catalogue) -> dict[str, Any]:
    """The fields of a scenario that ``opened`` sets; ``catalogue`` takes its files."""
    for file in opened.files:
        catalogue.keep(file)
    fields: dict[str, Any] = opened.value if opened.kind == SCENARIO else {opened.kind: opened.value.path}
    return fields


def meant_file(path: str) -> str:
    """The file that ``path`` means: of a folder its config.json. Raises InputError where it has none."""
    if not os.path.isdir(path):
        return path
    inside = os.path.join(path, "config.json")
    if not os.path.isfile(inside):
        where = os.path.basename(os.path.normpath(path))
        raise InputError(f"{where}: this folder holds no config.json; {share.EXPECTED}")
    return inside


def path_in(text: str) -> str | None:
    """The path that a pasted text is, plain, quoted or as a file: address; None where it is none."""
    line = text.strip()
    if len(line) > PATH_LIMIT or len(line.splitlines()) != 1:
        return None
    if len(line) > 1 and line[0] == line[-1] and line[0] in "\"'":
        line = line[1:-1].strip()
    if line.lower().startswith("file:"):
        return _path_of_address(line)
    if not is_file_name(line):
        return None
    path = full_path(line)
    return None if "=" in line and not os.path.exists(path) else path


PATH_LIMIT = 2**15
"""The longest path or address there is, on any system."""


def _path_of_address(address: str) -> str | None:
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    host = f"//{parts.netloc}" if parts.netloc not in ("", "localhost") else ""
    return url2pathname(host + parts.path) or None
