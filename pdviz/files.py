"""Files of a person's own: read within limits, as bytes, JSON or TOML; written whole or not at all."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from typing import Any

from pdviz.errors import InputError
from pdviz.names import shown

Stamp = tuple[int, int]

HEAD_BYTES = 2**16
#: A TOML key of more parts than any of ours has.
_DEEP = r"""(?<![\w-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){24}"""
_ENDINGS = (".json", ".gguf", ".toml")
_BEGINNINGS = ("~", "/", "\\", "./", "../", ".\\", "..\\")


def is_file_name(text: str) -> bool:
    """True where ``text`` is meant as a file: by its ending, or as the path of something that is there."""
    clean = text.strip().lower()
    if clean.endswith(_ENDINGS):
        return True
    begins = clean.startswith(_BEGINNINGS) or clean[1:3] in (":/", ":\\")
    return begins and os.path.exists(full_path(text))


def full_path(text: str) -> str:
    """The absolute path that ``text`` means; ``~`` is the person's own folder."""
    return os.path.abspath(os.path.expanduser(text.strip()))


def look(path: str, where: str) -> os.stat_result:
    """Size and times of a file. Raises InputError where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            raise InputError(f"{where}: there is no such file") from None
        reason = (
            error.strerror if isinstance(error, OSError) and error.strerror else "that is no name of a file"
        )
        raise InputError(f"{where}: it cannot be read ({reason})") from None
    if not os.path.isfile(path):
        what = "a folder, not a file" if os.path.isdir(path) else "no file"
        raise InputError(f"{where}: this is {what}")
    return found


class File:
    """A regular file, open, of which the first bytes are read: ``head``. To be used with ``with``.

    ``where`` names it in messages, ``stamp`` (time and size) changes with it. Who reads long tells ``watch``
    the share that is read. Raises InputError.
    """

    def __init__(self, path: str, watch: Callable[[float], None] | None = None) -> None:
        self.path, self.watch = path, watch
        self.where = os.path.basename(path) or path
        found = look(path, self.where)
        self.size = found.st_size
        self.stamp: Stamp = (found.st_mtime_ns, found.st_size)
        try:
            self._file = open(path, "rb")  # noqa: SIM115 (closed by __exit__)
        except OSError as error:
            raise self._unreadable(error) from None
        try:
            self.head = self._file.read(HEAD_BYTES)
        except OSError as error:
            self._file.close()
            raise self._unreadable(error) from None

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, limit: int, start: int = 0) -> bytes:
        """Up to ``limit`` bytes from ``start`` on. Raises InputError."""
        if start + limit <= len(self.head):
            return self.head[start : start + limit]
        try:
            self._file.seek(start)
            return self._file.read(limit)
        except OSError as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: OSError) -> InputError:
        return InputError(f"{self.where}: it cannot be read ({error.strerror or error})")


def write_atomically(path: str, data: bytes | Iterable[bytes]) -> None:
    """Makes ``data`` the content of a file: whole and on the disk, or else the old file is as it was.

    It may come in pieces. Written beside under a name of its own, flushed, and renamed. Raises InputError.
    """
    where = os.path.basename(path) or path
    target = os.path.realpath(path)  # what a link points to is written, and the link stays
    if os.path.lexists(target) and not os.path.isfile(target):
        raise InputError(f"{where}: it cannot be written (this is no file)")
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise InputError(f"{where}: it cannot be written (it is write-protected)")
    folder = os.path.dirname(target)
    beside = os.path.join(folder, f".pdviz-{os.getpid()}-{os.urandom(4).hex()}.new")
    try:
        with open(beside, "xb") as file:
            if os.path.exists(target):
                os.chmod(beside, os.stat(target).st_mode & 0o777)
            for piece in (data,) if isinstance(data, bytes) else data:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except OSError as error:
        raise InputError(f"{where}: it cannot be written ({error.strerror or error})") from None
    finally:
        with suppress(OSError):  # it is there only where something failed
            os.remove(beside)
    _flush_folder(folder)


def _flush_folder(folder: str) -> None:
    """Lets the new name outlast a power cut, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def parse_json(data: bytes, where: str) -> object:
    """What a JSON text holds (NaN and Infinity included, as Python writes them). Raises InputError."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"{where}: not JSON, since line {line} is not text in UTF-8") from None
    if not text.strip():
        raise InputError(f"{where}: the file is empty")
    try:
        value: object = json.loads(text, object_pairs_hook=_object)
    except _TwiceError as twice:
        raise InputError(f"{where}: {twice}") from None
    except json.JSONDecodeError as error:
        ends = "the file ends too early" if error.pos >= len(text.rstrip()) else _plain(error.msg)
        raise InputError(f"{where}: not JSON at line {error.lineno}, column {error.colno}: {ends}") from None
    except RecursionError:
        raise InputError(f"{where}: lists or objects are nested too deeply") from None
    except ValueError:
        raise InputError(f"{where}: it holds a number with too many digits") from None
    return value


class _TwiceError(Exception):
    """A name that is twice in one object, with different values."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object. Raises _TwiceError."""
    found = dict(pairs)
    if len(found) < len(pairs):
        for name, value in pairs:
            last = found[name]
            if value is not last and (value != last or type(value) is not type(last)):
                raise _TwiceError(f"{shown(name)} is there twice, as {shown(value)} and as {shown(last)}")
    return found


def _plain(message: str) -> str:
    return message[:1].lower() + message[1:]


def parse_toml(text: str, where: str, kind: str) -> dict[str, Any]:
    """The tables of a TOML text; ``kind`` says of what. Raises InputError with line and column."""
    if re.search(_DEEP, text):  # a table for every dot: a few kilobytes would take all memory
        raise InputError(f"{where}: not a TOML {kind} file: keys are nested too deeply")
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        found: dict[str, Any] = toml.loads(text)
    except RecursionError:
        raise InputError(f"{where}: not a TOML {kind} file: lists or tables are nested too deeply") from None
    except ValueError as error:
        said = "; ".join(str(error).splitlines())
        match = re.fullmatch(r"(.+) \(at (?:(line .+)|(end of document))\)", said)
        if match is not None:
            said = f"{match[2] or 'its end'}: {_plain(match[1])}"
            raise InputError(f"{where}: not a TOML {kind} file at {said}") from None
        if "digits" in said:
            said = "it holds a number with too many digits"
        raise InputError(f"{where}: not a TOML {kind} file: {said}") from None
    return found
