"""Scenarios as files: TOML, a line of text, a picture that carries its scenario. Written and read again.

Accelerators as TOML, too: one of the catalogue to start one's own from.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

from pdviz.costmodel.accelerator import Accelerator
from pdviz.errors import InputError
from pdviz.fields import FIELDS
from pdviz.files import File, parse_toml
from pdviz.scenario import LINE, Scenario, line_keys, parse_keys

TEXT_LIMIT_BYTES = 3 * 2**15
MOST_CHUNKS = 2**14
"""Chunks of a PNG that are looked at; the largest pictures have half as many."""
PICTURE_KEY = "pdviz-scenario"
_PNG = b"\x89PNG\r\n\x1a\n"
EXPECTED = (
    "expected a model (config.json or GGUF), an accelerator or a scenario (TOML), a scenario line, "
    "or a PNG or SVG saved by pdviz"
)


def to_toml(scenario: Scenario) -> str:
    """A TOML file of all fields, each with what it is."""
    lines = ["# A scenario of pdviz. Open it by dropping it on the window, or: pdviz show FILE"]
    for field in FIELDS:
        value = getattr(scenario, field.name)
        if value is None:
            lines.append(f'{field.key} = "{field.absent}"  # {field.help}')
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


def is_png(head: bytes, path: str) -> bool:
    """True for a picture in PNG."""
    return head.startswith(_PNG)


def is_svg(head: bytes, path: str) -> bool:
    """True for a picture in SVG."""
    return b"<svg" in head[:2000]


def is_line(head: bytes, path: str) -> bool:
    """True for a scenario line, alone among comments."""
    lines = _said(head.decode("utf-8-sig", "replace"))
    return (
        len(lines) == 1
        and " = " not in lines[0]
        and "=" in lines[0]
        and not lines[0].lstrip().startswith("[")
    )


def _said(text: str) -> list[str]:
    """The lines of a text that are neither empty nor a comment."""
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def png_fields(file: File) -> dict[str, Any]:
    """The fields, by attribute, of the scenario that a PNG carries. Raises InputError."""
    return parse_keys(line_keys(_png_text(file)), file.where)


def svg_fields(file: File) -> dict[str, Any]:
    """The fields of the scenario that an SVG carries in its beginning. Raises InputError."""
    return parse_keys(line_keys(_svg_text(file)), file.where)


def line_fields(file: File) -> dict[str, Any]:
    """The fields of a scenario line in a file. Raises InputError."""
    return parse_keys(line_keys(" ".join(_said(_short_text(file)))), file.where)


def toml_fields(file: File) -> dict[str, Any]:
    """The fields of a scenario's TOML file. Raises InputError, for what is no TOML too."""
    values = parse_toml(_short_text(file), file.where, "scenario")
    if not values:
        raise InputError(f"{file.where}: it names nothing of a scenario, expected lines such as prompt = 512")
    return parse_keys(values, file.where)


def _short_text(file: File) -> str:
    if file.size > TEXT_LIMIT_BYTES:
        raise InputError(
            f"{file.where}: too long for a scenario file, expected a few lines such as prompt = 512"
        )
    try:
        text = file.read(TEXT_LIMIT_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text or file.where.lower().endswith((".json", ".gguf")):
        raise InputError(f"{file.where}: not a scenario, nor anything else that can be opened; {EXPECTED}")
    return text


def _png_text(file: File) -> str:
    """The scenario line among the text chunks of a PNG."""
    position = len(_PNG)
    for _ in range(MOST_CHUNKS):
        header = file.read(8, position)
        if len(header) < 8:
            break
        length, kind = struct.unpack(">I4s", header)
        if kind in (b"tEXt", b"zTXt", b"iTXt"):
            body = file.read(min(length, TEXT_LIMIT_BYTES), position + 8)
            if body.startswith(PICTURE_KEY.encode() + b"\0"):
                text = _chunk_text(kind, body[len(PICTURE_KEY) + 1 :])
                if text and len(body) == length:
                    return text
        position += 12 + length
        if kind == b"IEND" or position > file.size:
            break
    is_cut = position > file.size or not header[7:]
    what = "the picture is cut off" if is_cut else "this picture carries no scenario"
    raise InputError(f"{file.where}: {what}; expected a PNG saved by pdviz")


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


def _svg_text(file: File) -> str:
    """The scenario line in the description of an SVG, which stands at its beginning."""
    from html import unescape

    text = file.read(TEXT_LIMIT_BYTES).decode("utf-8-sig", "replace")
    start, end = text.find("<desc>"), text.find("</desc>")
    line = unescape(text[start + 6 : end]).strip() if 0 <= start < end else ""
    if "=" not in line:
        raise InputError(f"{file.where}: this picture carries no scenario; expected an SVG saved by pdviz")
    return line


def text_fields(text: str) -> dict[str, Any]:
    """The fields of the scenario in a pasted text: a line, or TOML. Raises InputError."""
    if len(text) > TEXT_LIMIT_BYTES:
        length = f"{len(text):,} characters"
        raise InputError(f"pasted text: too long for a scenario ({length}), expected a few lines")
    clean = text.strip()
    if "\n" in clean or " = " in clean:
        return parse_keys(parse_toml(clean, "pasted text", "scenario"), "pasted text")
    return parse_keys(line_keys(clean), LINE)
