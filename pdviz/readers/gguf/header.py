"""The header of a GGUF file: metadata, and what each tensor takes. Tensor data is never read.

Whatever a file claims is held against its size before it is believed, so that a damaged or hostile
file costs neither time nor memory. Long lists (vocabularies) are walked over, not kept.
"""

from __future__ import annotations

import math
import mmap
import os
import struct

import msgspec

from pdviz.errors import InputError
from pdviz.names import shown
from pdviz.readers.gguf.types import BOOLEAN, LIST, NUMBER_TYPES, TENSOR_TYPES, TEXT

MAGIC = b"GGUF"
_OLDER = (b"ggml", b"ggmf", b"ggjt", b"lmgg", b"fmgg", b"tjgg")
_VERSIONS = (2, 3)

# Far above any real file: they stop damage, not ambition.
MOST_KEYS = 1 << 16
MOST_TENSORS = 1 << 17
MOST_WALKED = 1 << 22  # texts in lists, over the whole file
MOST_NAME = 1 << 12
KEPT_TEXT = 1 << 12
KEPT_LIST = 1 << 13
MOST_ALIGNMENT = 1 << 20
MOST_MAPPED = 1 << 30  # bytes; the longest headers known have some ten million
_LEAST_KEY, _LEAST_TENSOR = 13, 32  # bytes

_LENGTH, _TYPE = struct.Struct("<Q"), struct.Struct("<I")
_NUMBERS = {kind: struct.Struct("<" + layout) for kind, layout in NUMBER_TYPES.items()}

Value = int | float | bool | str | tuple[int | float | bool, ...]


class Tensor(msgspec.Struct, frozen=True):
    """One tensor: ``shape`` with the fastest dimension (the inputs of a matrix) first."""

    name: str
    shape: tuple[int, ...]
    type: str
    elements: int
    bytes: int


class Header(msgspec.Struct, frozen=True):
    """Metadata and tensors of a file; lists that were not kept are their ``lengths`` only."""

    metadata: dict[str, Value]
    lengths: dict[str, int]
    tensors: tuple[Tensor, ...]


class _Walker:
    """Reads values one after another and says where the file ends too early."""

    def __init__(self, data: bytes | mmap.mmap, where: str) -> None:
        self.data = data
        self.where = where
        self.end = len(data)
        self.at = 0
        self.left = MOST_WALKED

    def error(self, text: str) -> InputError:
        return InputError(f"{self.where}: {text}")

    def cut(self) -> InputError:
        return self.error(f"the file is cut off within its header, at byte {self.end:,}")

    def skip(self, size: int) -> None:
        if size > self.end - self.at:
            raise self.cut()
        self.at += size

    def number(self, layout: struct.Struct) -> int | float:
        start = self.at
        self.skip(layout.size)
        value: int | float = layout.unpack_from(self.data, start)[0]
        return value

    def count(self, layout: struct.Struct = _LENGTH) -> int:
        return int(self.number(layout))

    def text(self, most: int) -> str | None:
        """A text; None, skipped, where it is longer than ``most`` bytes."""
        size = self.count()
        start = self.at
        self.skip(size)
        return self.data[start : self.at].decode("utf-8", "replace") if size <= most else None

    def name(self, what: str) -> str:
        found = self.text(MOST_NAME)
        if not found:
            raise self.error(f"the name of a {what} is empty or longer than {MOST_NAME:,} bytes")
        return found

    def skip_texts(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise self.error(f"its lists hold more than {MOST_WALKED:,} texts")
        if count * _LENGTH.size > self.end - self.at:
            raise self.cut()
        data, at, read = self.data, self.at, _LENGTH.unpack_from
        try:
            for _ in range(count):
                at += 8 + read(data, at)[0]
        except (struct.error, OverflowError):
            raise self.cut() from None
        self.at = at
        self.skip(0)

    def value(self, kind: int, key: str) -> Value | None:
        """A metadata value; None where it is too long to be kept."""
        if kind in _NUMBERS:
            found = self.number(_NUMBERS[kind])
            return found != 0 if kind == BOOLEAN else found
        if kind == TEXT:
            return self.text(KEPT_TEXT)
        raise self.error(f"{shown(key)} is of type {kind}, which GGUF does not know")

    def numbers(self, key: str, keep: bool) -> tuple[tuple[int | float | bool, ...] | None, int]:
        """(the numbers of a list, or None where they are not kept, its length)."""
        kind, count = self.count(_TYPE), self.count()
        if kind == TEXT:
            self.skip_texts(count)
            return None, count
        if kind not in _NUMBERS:
            raise self.error(f"{shown(key)} is a list of type {kind}, expected numbers or texts")
        layout, start = _NUMBERS[kind], self.at
        self.skip(count * layout.size)
        if not keep or count > KEPT_LIST:
            return None, count
        values = struct.unpack_from(f"<{count}{layout.format[-1]}", self.data, start)
        return (tuple(v != 0 for v in values) if kind == BOOLEAN else values), count

    def expect(self, count: int, most: int, least_bytes: int, what: str) -> None:
        if count > most:
            raise self.error(f"it claims {count:,} {what}, more than any such file has")
        if count > (self.end - self.at) // least_bytes:
            raise self.cut()

    def metadata(self, count: int) -> tuple[dict[str, Value], dict[str, int]]:
        self.expect(count, MOST_KEYS, _LEAST_KEY, "metadata entries")
        kept: dict[str, Value] = {}
        lengths: dict[str, int] = {}
        for _ in range(count):
            key = self.name("metadata entry")
            if key in kept or key in lengths:
                raise self.error(f"it has {shown(key)} twice")
            kind = self.count(_TYPE)
            value: Value | None
            if kind == LIST:
                value, lengths[key] = self.numbers(key, keep=not key.startswith("tokenizer."))
            else:
                value = self.value(kind, key)
            if value is not None:
                kept[key] = value
        return kept, lengths

    def tensors(self, count: int) -> list[tuple[Tensor, int]]:
        """Each tensor, with the byte at which it begins in the data."""
        self.expect(count, MOST_TENSORS, _LEAST_TENSOR, "tensors")
        found: list[tuple[Tensor, int]] = []
        names: set[str] = set()
        for _ in range(count):
            name = self.name("tensor")
            if name in names:
                raise self.error(f"it has the tensor {shown(name)} twice")
            names.add(name)
            dimensions = self.count(_TYPE)
            if not 1 <= dimensions <= 4:
                raise self.error(f"tensor {shown(name)} has {dimensions:,} dimensions, expected 1 to 4")
            shape = tuple(self.count() for _ in range(dimensions))
            found.append((self.tensor(name, shape, self.count(_TYPE)), self.count()))
        return found

    def tensor(self, name: str, shape: tuple[int, ...], kind: int) -> Tensor:
        if kind not in TENSOR_TYPES:
            raise self.error(f"tensor {shown(name)} is of type {kind}, which is not known")
        title, weights, size = TENSOR_TYPES[kind]
        elements = math.prod(shape)
        if not 0 < elements < 1 << 60:
            raise self.error(f"tensor {shown(name)} has the impossible shape {' x '.join(map(str, shape))}")
        if shape[0] % weights:
            raise self.error(
                f"tensor {shown(name)} is {title}, rows in blocks of {weights}, but {shape[0]:,} wide"
            )
        return Tensor(name, shape, title, elements, elements // weights * size)


def parse_header(data: bytes | mmap.mmap, where: str, size: int | None = None) -> Header:
    """The header of a file that begins with ``data`` and has ``size`` bytes (None: those of ``data``).

    Raises InputError: one sentence that opens with ``where``.
    """
    walker = _Walker(data, where)
    magic = data[:4]
    if magic in _OLDER:
        raise walker.error("a model in the format before GGUF; convert it again")
    if magic != MAGIC:
        raise walker.error("this is no GGUF file")
    walker.skip(4)
    version = walker.count(_TYPE)
    if version & 0xFFFF == 0 and version:
        raise walker.error("a big-endian GGUF file; little-endian ones are read")
    if version not in _VERSIONS:
        raise walker.error(f"GGUF version {version:,} is not known, expected 2 or 3; convert it again")
    tensor_count, key_count = walker.count(), walker.count()
    metadata, lengths = walker.metadata(key_count)
    placed = walker.tensors(tensor_count)
    alignment = metadata.get("general.alignment", 32)
    if type(alignment) is not int or not 0 < alignment <= MOST_ALIGNMENT:
        raise walker.error(
            f"general.alignment must be a whole number from 1 to {MOST_ALIGNMENT:,}, got {shown(alignment)}"
        )
    start = -(-walker.at // alignment) * alignment
    end = max((start + begins + tensor.bytes for tensor, begins in placed), default=0)
    size = walker.end if size is None else size
    if end > size:
        raise walker.error(f"the file is cut off: its tensors end at byte {end:,} and it has {size:,}")
    return Header(metadata, lengths, tuple(tensor for tensor, _ in placed))


def read_header(path: str, where: str) -> Header:
    """The header of the file at ``path``, its beginning memory-mapped. Raises InputError."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            with mmap.mmap(file.fileno(), min(size, MOST_MAPPED), access=mmap.ACCESS_READ) as data:
                return parse_header(data, where, size)
    except OSError as error:
        raise InputError(f"{where}: it cannot be read ({error.strerror or error})") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{where}: the file is empty") from None
