"""Quantities as text, and text as quantities. The only place where prefixes exist.

Everything inside pdviz is a plain float in SI base units; decimal prefixes are powers of ten
(GB = 1e9), binary ones are written with an i (GiB = 2**30). Counts a user types may carry K, M
or G, which are binary there (32K = 32,768 tokens), as context lengths are quoted.
"""

from __future__ import annotations

import math
import re

import msgspec

from pdviz.errors import InputError

LONGEST_COUNT = 60  # characters

_SCALES = (1e15, 1e12, 1e9, 1e6, 1e3, 1.0, 1e-3, 1e-6)
_PREFIXES = tuple(zip(_SCALES, ("P", "T", "G", "M", "k", "", "m", "µ"), strict=True))
_SUFFIXES = {"k": 2**10, "m": 2**20, "g": 2**30}
THIN = "\u202f"
_GROUPS = re.compile(rf"(?<![\d.,])\d{{1,3}}([,_ {THIN}]\d{{3}})+(?![\d,])")
LEAST_FRACTION = 1e-6


def significant(value: float, digits: int = 3) -> str:
    """``value`` to that many significant digits, without exponent; trailing zeros are kept.

    >>> significant(6.4223), significant(830.875), significant(0.5), significant(7696.6)
    ('6.42', '831', '0.500', '7,697')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    exponent = math.floor(math.log10(abs(value)))
    if abs(round(value, digits - 1 - exponent)) >= 10.0 ** (exponent + 1):
        exponent += 1
    return f"{value:,.{max(digits - 1 - exponent, 0)}f}"


def si(value: float, unit: str, digits: int = 3) -> str:
    """``value`` with the decimal prefix that leaves 1 to 999 before it.

    >>> si(1.37e-3, "s"), si(999.9e9, "B/s"), si(0.0, "B")
    ('1.37 ms', '1.00 TB/s', '0 B')
    """
    if value == 0 or not math.isfinite(value):
        return f"{significant(value)} {unit}"
    size = abs(value)
    for index, (scale, _) in enumerate(_PREFIXES):
        if size >= scale or index == len(_PREFIXES) - 1:
            rounded = float(f"{size / scale:.{digits}g}")
            if rounded >= 1000 and index > 0:
                index, value = index - 1, math.copysign(rounded * scale, value)
            scale, prefix = _PREFIXES[index]
            return f"{significant(value / scale, digits)} {prefix}{unit}"
    raise AssertionError("unreachable")


def duration(seconds: float, digits: int = 3) -> str:
    """A duration: µs, ms, s; minutes and hours beyond.

    >>> duration(0.0152438), duration(1.48), duration(0.9999), duration(75.0), duration(7260.0)
    ('15.2 ms', '1.48 s', '1.00 s', '1 min 15 s', '2 h 01 min')
    """
    if seconds < 59.95 or not math.isfinite(seconds):
        return si(seconds, "s", digits)
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60:,} h {minutes % 60:02d} min"


class Quantity(msgspec.Struct, frozen=True):
    """A figure, with the band in which the truth lies where one is stated. ``unit`` "s" or "tok/s"."""

    value: float
    low: float | None = None
    high: float | None = None
    unit: str = "s"

    @property
    def has_band(self) -> bool:
        return self.low is not None and self.high is not None and self.low < self.high


def written(quantity: Quantity) -> str:
    """A figure as every place writes it, its band behind it.

    >>> written(Quantity(0.0152438)), written(Quantity(0.0152438, 0.0137, 0.0181))
    ('15.2 ms', '15.2 ms (13.7 ms to 18.1 ms)')
    >>> written(Quantity(155.7, 140.0, 170.0, "tok/s"))
    '156 tok/s (140 to 170)'
    """
    low, high, unit = quantity.low, quantity.high, quantity.unit
    plain = duration if unit == "s" else significant
    text = plain(quantity.value) if unit == "s" else f"{plain(quantity.value)} {unit}"
    if low is None or high is None or not quantity.has_band:
        return text
    return f"{text} ({plain(low)} to {plain(high)})"


def size(count_bytes: float, digits: int = 3) -> str:
    """Bytes with a decimal prefix.

    >>> size(16_060_522_496), size(85_520_809_984)
    ('16.1 GB', '85.5 GB')
    """
    return si(count_bytes, "B", digits)


def binary_size(count_bytes: float) -> str:
    """Bytes with a binary prefix, for quantities that are powers of two.

    >>> binary_size(131072), binary_size(70272)
    ('128 KiB', '68.6 KiB')
    """
    value, unit = float(count_bytes), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if round(abs(value)) < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:,.0f} {unit}" if value == int(value) else f"{significant(value)} {unit}"


def count(value: float) -> str:
    """A whole number with thousands separators."""
    return f"{round(value):,}"


def plural(value: float, noun: str) -> str:
    """A count and its noun.

    >>> plural(1, "token"), plural(512, "token"), plural(2, "pass")
    ('1 token', '512 tokens', '2 passes')
    """
    ending = "" if round(value) == 1 else ("es" if noun.endswith("s") else "s")
    return f"{count(value)} {noun}{ending}"


def parameters(value: float) -> str:
    """A parameter count as the field writes it.

    >>> parameters(8_030_261_248), parameters(671_026_419_200), parameters(134_515_008)
    ('8.03 B', '671 B', '135 M')
    """
    if value >= 0.9995e12:
        return f"{significant(value / 1e12)} T"
    if value >= 0.9995e9:
        return f"{significant(value / 1e9)} B"
    return f"{significant(value / 1e6)} M"


def percent(fraction: float) -> str:
    """A share of one.

    >>> percent(0.982), percent(0.00254), percent(0.75), percent(1.0), percent(0.0), percent(0.99984)
    ('98.2 %', '0.25 %', '75.0 %', '100 %', '0 %', '99.98 %')
    """
    value = fraction * 100
    if value == 0:
        return "0 %"
    if 99.95 <= abs(value) < 100:
        return f"{min(value, 99.99):.2f} %"
    if abs(value) >= 100:
        return f"{value:,.0f} %"
    return f"{value:.1f} %" if abs(value) >= 1 else f"{significant(value, 2)} %"


def _quoted(text: object) -> str:
    """What was typed, short and on one line."""
    clean = ascii(str(text))[1:-1] if not str(text).isprintable() else str(text)
    return f'"{clean}"' if len(clean) <= 40 else f'"{clean[:37]}..."'


def parse_count(text: str | int, what: str, low: int, high: int) -> int:
    """A whole number as a user types it: ``512``, ``32K``, ``1.5k``, ``131,072``.

    Commas and spaces are understood before groups of three digits only (``1,5`` is no count).
    ``what`` names the field. Raises InputError for anything else or outside ``low`` .. ``high``.
    """
    expectation = f"{what} must be a whole number from {low:,} to {high:,} (K = 1,024 is understood)"
    clean = _GROUPS.sub(lambda match: re.sub(r"\D", "", match[0]), str(text).strip().lower())
    factor = _SUFFIXES.get(clean[-1:], 1)
    digits = clean[:-1] if factor != 1 else clean
    if len(clean) > LONGEST_COUNT:
        raise InputError(f"{expectation}, got {_quoted(text)}")
    try:
        number = float(digits) * factor if factor != 1 or "." in digits or "e" in digits else int(digits)
    except ValueError:
        raise InputError(f"{expectation}, got {_quoted(text)}") from None
    if isinstance(text, bool) or not math.isfinite(number) or number != int(number):
        raise InputError(f"{expectation}, got {_quoted(text)}")
    if not low <= number <= high:
        got = f"{int(number):,}" if abs(number) < 1e15 else _quoted(text)
        raise InputError(f"{expectation}, got {got}")
    return int(number)


_AMOUNTS = {
    "seconds": {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6},
    "bytes per second": {"": 1.0, "b/s": 1.0, "kb/s": 1e3, "mb/s": 1e6, "gb/s": 1e9, "tb/s": 1e12},
}
_AMOUNT = re.compile(r"([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([^0-9\s]*)")


def parse_amount(text: str | float, what: str, unit: str, low: float = 0) -> float:
    """An amount of ``unit`` ("seconds", "bytes per second"), with a suffix or bare: ``50 ms``, ``50 GB/s``.

    Raises InputError below ``low``, and for what is no finite number.

    >>> parse_amount("50 ms", "it", "seconds"), parse_amount(50e9, "it", "bytes per second")
    (0.05, 50000000000.0)
    """
    found = _AMOUNT.fullmatch(str(text).strip())
    scale = _AMOUNTS[unit].get(found[2].lower()) if found else None
    try:
        value = float(found[1]) * scale if found and scale is not None else math.nan
    except ValueError:
        value = math.nan
    if isinstance(text, bool) or not (math.isfinite(value) and value >= low):
        example = "0.05 or 50 ms" if unit == "seconds" else "50e9 or 50 GB/s"
        wanted = f"a number of {unit}, at least {low}, such as {example}"
        raise InputError(f"{what} must be {wanted}, got {_quoted(text)}")
    return value


def parse_fraction(text: str | float, what: str) -> float:
    """A share above 0 and up to 1: ``0.55`` or ``55%``. Raises InputError otherwise.

    Shares below one in a million are refused too: times would grow beyond what floats hold.
    """
    expectation = f"{what} must be a number above 0 (least {LEAST_FRACTION:f}) and up to 1, or a percentage"
    clean = str(text).strip()
    try:
        value = float(clean[:-1]) / 100 if clean.endswith("%") else float(clean)
    except ValueError:
        raise InputError(f"{expectation}, got {_quoted(text)}") from None
    if isinstance(text, bool) or not LEAST_FRACTION <= value <= 1:
        raise InputError(f"{expectation}, got {_quoted(text)}")
    return value
