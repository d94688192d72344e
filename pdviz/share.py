"""Scenarios as files: TOML, a line of text, a picture that carries its scenario. Written and read again.

Accelerators as TOML, too: one of the catalogue to start one's own from.

What a file is, is found from its content; what it was taken for is said in one line.
"""

from __future__ import annotations

import os
import struct
import zlib
from html import unescape
from typing import Any

from pdviz.costmodel.accelerator import Accelerator
from pdviz.errors import InputError
from pdviz.files import full_path, parse_toml
from pdviz.own_files import field_of
from pdviz.scenario import FIELDS, LINE, Scenario, edit, line_keys, parse_keys

FILE_LIMIT_BYTES = 64 * 2**20
TEXT_LIMIT_BYTES = 2**20
PICTURE_KEY = "pdviz-scenario"
_PNG = b"\x89PNG\r\n\x1a\n"
_EXPECTED = (
    "expected a model (config.json or GGUF), an accelerator or a scenario (TOML), a scenario line, "
    "or a PNG or SVG saved by pdviz"
)
_A_KIND = {"model": "a model", "accelerator": "an accelerator"}


def to_toml(scenario: Scenario) -> str:
    """A TOML file of all fields, each with what it is."""
    lines = ["# A scenario of pdviz. Open it by dropping it on the window, or: pdviz show FILE"]
    for field in FIELDS:
        value = getattr(scenario, field.name)
        if value is None:
            lines.append(f'{field.key} = "same"  # {field.help}')
        else:
            lines.append(f"{field.key} = {_toml_value(value)}  # {field.help}")
    return "\n".join(lines) + "\n"


def _scaled(value: float, power: int) -> str:
    """3.35e12 as it is read aloud: so many times 10^power."""
    return f"{value / 10.0**power:.12g}e{power}"


def _toml_value(value: object) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return repr(value)


def meant_file(path: str) -> str:
    """The file that ``path`` means: of a folder its config.json. Raises InputError where it has none."""
    if not os.path.isdir(path):
        return path
    inside = os.path.join(path, "config.json")
    if not os.path.isfile(inside):
        where = os.path.basename(os.path.normpath(path))
        raise InputError(f"{where}: this folder holds no config.json; {_EXPECTED}")
    return inside


def accelerator_toml(accelerator: Accelerator) -> str:
    """A TOML file of an accelerator, to be changed into another one."""
    a = accelerator
    lines = [
        "# An accelerator of your own: change the figures, then pdviz --gpu FILE, or drop it on the window.",
        "[accelerator]",
        f"name = {_toml_value(f'My {a.name}')}  # what it is called on screen",
        f"memory_bytes = {a.memory_bytes}  # as the driver reports it",
        f"memory_bandwidth_bytes_per_s = {_scaled(a.memory_bandwidth_bytes_per_s, 12)}  # decimal, not TiB",
    ]
    if a.link_bytes_per_s is not None:
        lines.append(f"link_bytes_per_s = {_scaled(a.link_bytes_per_s, 9)}  # one way, all links together")
    if a.sources:
        lines.append(f"sources = [{', '.join(_toml_value(source) for source in a.sources)}]")
    lines += ["", "[accelerator.peak_flops_per_s]  # dense, no sparsity; what has no rate is left out"]
    lines += [f"{dtype} = {_scaled(peak, 12)}" for dtype, peak in a.peak_flops_per_s.items()]
    return "\n".join(lines) + "\n"


def read_file(path: str) -> tuple[dict[str, Any], str]:
    """(fields by attribute, what the file was taken for) of a scenario, a picture, a model, an accelerator.

    Raises InputError, one sentence with file, key and expectation.
    """
    path = meant_file(path)
    where = os.path.basename(path) or path
    field = field_of(path) if os.path.isfile(path) else None
    if field is not None:
        return {field: full_path(path)}, f"{where}: opened as {_A_KIND[field]}"
    data = _read(path, where)
    if data.startswith(_PNG):
        return _from_line(_png_text(data, where), where, "picture")
    if len(data) > TEXT_LIMIT_BYTES and b"<svg" not in data[:2000]:
        raise InputError(f"{where}: too long for a scenario file, expected a few lines such as prompt = 512")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text or where.lower().endswith((".json", ".gguf")):
        raise InputError(f"{where}: not a scenario, nor anything else that can be opened; {_EXPECTED}")
    if "<svg" in text[:2000]:
        return _from_line(_svg_text(text, where), where, "picture")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if (
        len(lines) == 1
        and " = " not in lines[0]
        and "=" in lines[0]
        and not lines[0].lstrip().startswith("[")
    ):
        return parse_keys(line_keys(lines[0]), where), f"{where}: opened as a scenario line"
    return parse_keys(parse_toml(text, where, "scenario"), where), f"{where}: opened as a scenario"


def _read(path: str, where: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(FILE_LIMIT_BYTES + 1)
    except OSError as error:
        raise InputError(f"{where}: it cannot be read ({error.strerror or error})") from None
    except ValueError:
        raise InputError("that is no name of a file") from None
    if len(data) > FILE_LIMIT_BYTES:
        raise InputError(f"{where}: too long for a scenario (over {FILE_LIMIT_BYTES // 2**20} MiB)")
    return data


def _from_line(line: str, where: str, kind: str) -> tuple[dict[str, Any], str]:
    return parse_keys(line_keys(line), where), f"{where}: opened the scenario of this {kind}"


def _png_text(data: bytes, where: str) -> str:
    """The scenario line among the text chunks of a PNG."""
    position = len(_PNG)
    while position + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[position : position + 8])
        body = data[position + 8 : position + 8 + length]
        position += 12 + length
        if kind in (b"tEXt", b"zTXt", b"iTXt") and body.startswith(PICTURE_KEY.encode() + b"\0"):
            text = _chunk_text(kind, body[len(PICTURE_KEY) + 1 :])
            if text:
                return text
        if kind == b"IEND":
            break
    raise InputError(f"{where}: this picture carries no scenario; expected a PNG saved by pdviz")


def _chunk_text(kind: bytes, body: bytes) -> str:
    try:
        if kind == b"tEXt":
            return body.decode("latin-1")
        if kind == b"zTXt":
            return zlib.decompressobj().decompress(body[1:], TEXT_LIMIT_BYTES).decode("latin-1")
        is_packed = body[:1] == b"\1"
        text = body[2:].split(b"\0", 2)[2]
        plain = zlib.decompressobj().decompress(text, TEXT_LIMIT_BYTES) if is_packed else text
        return plain.decode("utf-8")
    except (zlib.error, UnicodeDecodeError, IndexError):
        return ""


def _svg_text(text: str, where: str) -> str:
    """The scenario line in the description of an SVG."""
    start, end = text.find("<desc>"), text.find("</desc>")
    line = unescape(text[start + 6 : end]).strip() if 0 <= start < end else ""
    if "=" not in line:
        raise InputError(f"{where}: this picture carries no scenario; expected an SVG saved by pdviz")
    return line


def read_text(text: str) -> Scenario:
    """The scenario in a pasted text: a line, or TOML. Raises InputError."""
    clean = text.strip()
    if "\n" in clean or " = " in clean:
        return edit(Scenario(), **parse_keys(parse_toml(clean, "pasted text", "scenario"), "pasted text"))
    return edit(Scenario(), **parse_keys(line_keys(clean), LINE))
