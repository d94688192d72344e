"""The shipped accelerators and models, found by whatever people type.

Two JSON files meant to be edited by hand. Loading never fails: what is damaged is left out and named
in ``Catalogue.problems``, everything else works.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from pdviz import assets
from pdviz.costmodel.accelerator import (
    NAME,
    OPTIONAL_TEXT,
    OPTIONAL_WHOLE,
    TABLE,
    TEXT,
    TEXTS,
    Accelerator,
    Check,
    check_accelerator,
    check_fields,
    read_accelerator,
)
from pdviz.errors import InputError
from pdviz.files import Stamp, full_path, look
from pdviz.names import ACCELERATOR_NOISE, MODEL_NOISE, Index, shown
from pdviz.own_files import (
    AcceleratorFile,
    ModelFile,
    accelerator_path,
    model_path,
    read_accelerator_file,
    read_model_file,
)

if TYPE_CHECKING:
    from pdviz.costmodel.architecture import Architecture

T = TypeVar("T")

ACCELERATORS_FILE = "accelerators.json"
MODELS_FILE = "models.json"


class ModelEntry(msgspec.Struct, frozen=True):
    """A model as the catalogue holds it: its Hugging Face configuration, and what was published.

    ``published_parameters`` counts what the checkpoint at ``published_where`` holds (both None where
    nobody says); ``note`` tells why it may differ from the main model's own count.
    """

    id: str
    name: str
    config: dict[str, Any]
    aliases: tuple[str, ...] = ()
    published_parameters: int | None = None
    published_where: str | None = None
    source: str = ""
    note: str = ""

    def __hash__(self) -> int:
        return hash((self.id, self.name))


# --- files -----------------------------------------------------------------------------------------


class _AcceleratorsFile(msgspec.Struct):
    entries: tuple[Accelerator, ...] = msgspec.field(name="accelerators")


class _ModelsFile(msgspec.Struct):
    entries: tuple[ModelEntry, ...] = msgspec.field(name="models")


_MODEL_FIELDS: dict[str, Check] = {
    "id": NAME,
    "name": NAME,
    "config": TABLE,
    "aliases": TEXTS,
    "published_parameters": OPTIONAL_WHOLE,
    "published_where": OPTIONAL_TEXT,
    "source": TEXT,
    "note": TEXT,
}


def read_model(data: object, place: str) -> ModelEntry:
    """A model entry from one table of a file. Raises InputError (place, field, expectation, value)."""
    fields = check_fields(data, _MODEL_FIELDS, ("id", "name", "config"), place, strict=False)
    count = fields.get("published_parameters")
    if isinstance(count, float):
        fields["published_parameters"] = int(count)
    try:
        return msgspec.convert(fields, ModelEntry)
    except msgspec.ValidationError as error:
        raise InputError(f"{place}: {error}") from error


def _check_model(entry: ModelEntry, place: str) -> ModelEntry:
    if not entry.id.strip() or not entry.name.strip():
        raise InputError(f"{place}: id and name must be text that is not empty")
    count = entry.published_parameters
    if count is not None and count <= 0:
        raise InputError(f"{place}: published_parameters must be {OPTIONAL_WHOLE[1]}, got {count}")
    return entry


_BYTE = re.compile(r" ?\(byte (\d+)\)$")


def _syntax_problem(data: bytes, file: str, error: Exception) -> str:
    """Where and why ``data`` is not JSON."""
    if isinstance(error, RecursionError):
        return f"{file}: not a catalogue, lists or objects are nested too deeply"
    reason, offset = str(error), len(data)
    match = _BYTE.search(reason)
    if match:
        offset = int(match[1])
        reason = reason[: match.start()].removeprefix("JSON is malformed: ")
    elif "truncated" in reason:
        reason = "the file ends too early"
    else:
        try:
            data.decode()
        except UnicodeDecodeError as undecodable:
            offset, reason = undecodable.start, "not UTF-8"
    before = data[:offset]
    line = before.count(b"\n") + 1
    column = len(before[before.rfind(b"\n") + 1 :].decode(errors="replace")) + 1
    return f"{file}: not JSON at line {line}, column {column}: {reason}"


def _read_entries(
    data: bytes, file: str, key: str, read: Callable[[object, str], T]
) -> tuple[tuple[T, ...], tuple[str, ...]]:
    """The good entries of a file that did not decode as a whole, and a sentence for each bad one."""
    try:
        top = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        items = msgspec.json.decode(top[key], type=list[msgspec.Raw])
    except (msgspec.ValidationError, KeyError):
        return (), (f'{file}: expected an object with a list "{key}"',)
    except (msgspec.DecodeError, RecursionError) as error:
        return (), (_syntax_problem(data, file, error),)
    good: list[T] = []
    problems: list[str] = []
    for number, item in enumerate(items, 1):
        place = f"{file}: entry {number}"
        try:
            value = msgspec.json.decode(item)
        except (msgspec.DecodeError, RecursionError) as error:
            problems.append(f"{place}: cannot be read ({error})")
            continue
        if isinstance(value, dict):
            label = value.get("id", value.get("name"))
            place += f" ({label})" if isinstance(label, str) and label.isprintable() and label else ""
        try:
            good.append(read(value, place))
        except InputError as error:
            problems.append(str(error))
    return tuple(good), tuple(problems)


def _decoded(
    data: bytes, file: str, key: str, kind: Any, check: Callable[[Any, str], object], read: Callable[..., T]
) -> tuple[tuple[T, ...], tuple[str, ...]]:
    """The entries of a file; where it is damaged, the good ones and a sentence for each bad one."""
    try:
        entries: tuple[Any, ...] = msgspec.json.decode(data, type=kind).entries
        for entry in entries:
            check(entry, entry.id)
    except (msgspec.DecodeError, RecursionError, InputError):
        return _read_entries(data, file, key, read)
    return entries, ()


# --- a person's own files --------------------------------------------------------------------------


def _stamp(path: str) -> Stamp:
    """What changes with a file. Raises InputError where there is none."""
    found = look(path, path if path.isprintable() and len(path) < 1000 else shown(path))
    return found.st_mtime_ns, found.st_size


# --- the catalogue ---------------------------------------------------------------------------------


class Catalogue:
    """Accelerators and models in the order of the files, and ``problems``: what was left out and why."""

    def __init__(
        self,
        accelerators: tuple[Accelerator, ...],
        models: tuple[ModelEntry, ...],
        problems: tuple[str, ...] = (),
    ) -> None:
        self.accelerators = accelerators
        self.models = models
        self.problems = problems
        empty = "; ".join(("the catalogue holds none", *problems[:1]))
        self._accelerators = Index("accelerator", accelerators, ACCELERATOR_NOISE, empty)
        self._models = Index("model", models, MODEL_NOISE, empty)
        self._architectures: dict[str, Architecture] = {}
        self._own_models: dict[str, tuple[Stamp, ModelEntry, Architecture]] = {}
        self._own_accelerators: dict[str, tuple[Stamp, Accelerator]] = {}
        self._stale: dict[str, str] = {}
        self._keeps_files = False

    def keeping_files(self) -> Catalogue:
        """The same catalogue for a window: what was read of a file is used on when that goes or breaks."""
        kept = copy.copy(self)
        kept._stale, kept._keeps_files = {}, True
        return kept

    @classmethod
    def from_bytes(cls, accelerators: bytes, models: bytes) -> Catalogue:
        """A catalogue from the contents of its two files. Raises nothing: see ``problems``."""
        bom = b"\xef\xbb\xbf"
        chips, chip_problems = _decoded(
            accelerators.removeprefix(bom),
            ACCELERATORS_FILE,
            "accelerators",
            _AcceleratorsFile,
            check_accelerator,
            read_accelerator,
        )
        entries, model_problems = _decoded(
            models.removeprefix(bom), MODELS_FILE, "models", _ModelsFile, _check_model, read_model
        )
        return cls(chips, entries, chip_problems + model_problems)

    def accelerator(self, text: str) -> Accelerator:
        """The accelerator that ``text`` names, or that a TOML file describes.

        Raises InputError with the three nearest names, or with what is wrong with the file.
        """
        path = self._accelerator_path(text)
        return self._accelerators.find(text) if path is None else self._kept_accelerator(path)

    def model(self, text: str) -> ModelEntry:
        """The model that ``text`` names, or that a config.json or GGUF file describes.

        Raises InputError with the three nearest names, or with what is wrong with the file.
        """
        path = self._model_path(text)
        return self._models.find(text) if path is None else self._kept_model(path)[0]

    def architecture(self, text: str) -> Architecture:
        """The shapes of the model that ``text`` names, read from its configuration once.

        Raises InputError for an unknown name or a configuration that is not supported.
        """
        path = self._model_path(text)
        if path is not None:
            return self._kept_model(path)[1]
        entry = self._models.find(text)
        known = self._architectures.get(entry.id)
        if known is None:
            from pdviz.readers.hf.config import read_config

            known = self._architectures[entry.id] = read_config(entry.config, entry.name)
        return known

    def is_file(self, text: str) -> bool:
        """True where ``text`` means a person's own file, not a name of the catalogue."""
        return self._model_path(text) is not None

    def model_reference(self, text: str) -> str:
        """How a scenario writes the model: its name in the catalogue, or the path of its file.

        Raises InputError as ``model`` does.
        """
        return self.model(text).id if self.is_file(text) else self.model(text).name

    def accelerator_reference(self, text: str) -> str:
        """How a scenario writes the accelerator. Raises InputError as ``accelerator`` does."""
        path = self._accelerator_path(text)
        found = self.accelerator(text)
        return found.name if path is None else path

    def _model_path(self, text: str) -> str | None:
        """The path of the file that ``text`` means; the catalogue's names come before folders' names."""
        if text in self._own_models:  # a path without an ending is a name once the file has gone
            return text
        path = model_path(text)
        if path is None and "/" in text and os.path.exists(full_path(text)):
            with suppress(InputError):
                self._models.find(text)
                return None
            return model_path(full_path(text))
        return path

    def _accelerator_path(self, text: str) -> str | None:
        return text if text in self._own_accelerators else accelerator_path(text)

    def stale(self, text: str) -> str | None:
        """Why a file that was read before cannot be read any more; None while all is well.

        What was read of it goes on being used, so that work with it can go on.
        """
        return self._stale.get(self._model_path(text) or self._accelerator_path(text) or "")

    def _kept_model(self, path: str) -> tuple[ModelEntry, Architecture]:
        try:
            found = self._own_model(path)
        except InputError as error:
            if path not in self._own_models or not self._keeps_files:
                raise
            self._stale[path] = str(error)
            return self._own_models[path][1:]
        self._stale.pop(path, None)
        return found

    def _kept_accelerator(self, path: str) -> Accelerator:
        try:
            found = self._own_accelerator(path)
        except InputError as error:
            if path not in self._own_accelerators or not self._keeps_files:
                raise
            self._stale[path] = str(error)
            return self._own_accelerators[path][1]
        self._stale.pop(path, None)
        return found

    def _own_model(self, path: str) -> tuple[ModelEntry, Architecture]:
        """A file's model, read again only once the file has changed."""
        stamp = _stamp(path)
        known = self._own_models.get(path)
        if known is None or known[0] != stamp:
            self.keep(read_model_file(path))
        return self._own_models[path][1:]

    def _own_accelerator(self, path: str) -> Accelerator:
        stamp = _stamp(path)
        known = self._own_accelerators.get(path)
        if known is None or known[0] != stamp:
            self.keep(read_accelerator_file(path))
        return self._own_accelerators[path][1]

    def keep(self, file: ModelFile | AcceleratorFile) -> None:
        """Takes what was read of a file, which is then read again only once it has changed."""
        if isinstance(file, ModelFile):
            name = file.architecture.name
            entry = ModelEntry(id=file.path, name=name, config=file.config, source=file.path)
            self._own_models[file.path] = file.stamp, entry, file.architecture
            return
        found = file.accelerator
        if self._accelerators.is_taken(found.name):  # two of one name could not be told apart
            where = os.path.basename(file.path)
            name = f"{found.name} ({where[:80] if where.isprintable() else 'own file'})"
            found = msgspec.structs.replace(found, name=name)
        self._own_accelerators[file.path] = file.stamp, found

    def nearest_accelerators(self, text: str, count: int = 3) -> tuple[str, ...]:
        """Names of the accelerators most like ``text``."""
        return self._accelerators.nearest(text, count)

    def nearest_models(self, text: str, count: int = 3) -> tuple[str, ...]:
        """Names of the models most like ``text``."""
        return self._models.nearest(text, count)

    def clashes(self) -> tuple[str, ...]:
        """A sentence for each name that two entries claim. Not asked at start-up."""
        return self._accelerators.clashes() + self._models.clashes()


def load(read: Callable[[str], bytes] = assets.read_bytes) -> Catalogue:
    """The catalogue through ``read(path inside resources) -> bytes``, which may raise InputError.

    Raises nothing: a file that cannot be read is one of ``problems``.
    """
    contents: list[bytes] = []
    missing: list[str] = []
    for file, key in ((ACCELERATORS_FILE, "accelerators"), (MODELS_FILE, "models")):
        try:
            contents.append(read(f"catalogue/{file}"))
        except InputError as error:
            contents.append(b'{"%s": []}' % key.encode())
            missing.append(f"{file}: {error}")
    found = Catalogue.from_bytes(*contents)
    return Catalogue(found.accelerators, found.models, (*missing, *found.problems)) if missing else found


@lru_cache(maxsize=1)
def default_catalogue() -> Catalogue:
    """The shipped catalogue, read at the first call."""
    return load()
