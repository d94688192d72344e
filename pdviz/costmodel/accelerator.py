"""An accelerator by its datasheet: memory, bandwidth, dense peaks, link, and where each figure is from.

Catalogue entries and a user's own file pass the same checks (`read_accelerator`), so that a figure
in the wrong unit is caught where it is written and not on screen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from pdviz.costmodel.dtypes import DTYPES, PEAK_DTYPES
from pdviz.errors import InputError
from pdviz.names import shown

CONFIDENCES = ("high", "medium", "low", "unchecked")
MOST_NAME = 80


class Rejected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure that a source gives and that was not believed."""

    value: str
    where: str
    reason: str


class Accelerator(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One accelerator as software addresses it (one GPU of a superchip, one TPU chip).

    Bytes, bytes per second, FLOP per second and watts, nothing scaled. Peaks are dense, with the
    widest accumulation that the matrix units offer; a dtype without a key has no published rate.
    ``link_bytes_per_s`` is one way, all links of the device together; None where there is no link or
    no figure. ``power_w`` is None where the vendor publishes none.
    """

    id: str
    name: str
    memory_bytes: int
    memory_bandwidth_bytes_per_s: float
    peak_flops_per_s: dict[str, float]
    aliases: tuple[str, ...] = ()
    vendor: str = ""
    year: int | None = None
    memory_basis: str = ""
    link: str = "none"
    link_bytes_per_s: float | None = None
    link_note: str = ""
    power_w: float | None = None
    confidence: str = "unchecked"
    sources: tuple[str, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    notes: tuple[str, ...] = ()

    def __hash__(self) -> int:
        return hash((self.id, self.memory_bandwidth_bytes_per_s, self.memory_bytes))

    def ridge_flops_per_byte(self, dtype: str) -> float:
        """FLOPs per byte above which a pass is limited by arithmetic in ``dtype``.

        Raises InputError where the accelerator has no rate for ``dtype``.
        """
        peak = self.peak_flops_per_s.get(dtype)
        if peak is None:
            title = DTYPES[dtype].title if dtype in DTYPES else dtype.upper()
            raise InputError(
                f"{self.name} has no published {title} rate (it has {', '.join(self.peak_flops_per_s)})"
            )
        return peak / self.memory_bandwidth_bytes_per_s


Check = tuple[Callable[[object], bool], str]
"""A test of one field's value, and what is expected in words."""


def _is_positive(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e300


def _is_whole(value: object) -> bool:
    return _is_positive(value) and (
        isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.isprintable()


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and bool(value.strip()) and len(value) <= MOST_NAME


def _is_texts(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(_is_text(item) for item in value)


def _optional(check: Check) -> Check:
    return (lambda value: value is None or check[0](value)), f"{check[1]} or nothing"


TEXT: Check = (_is_text, "text on one line")
NAME: Check = (_is_name, f"printable text of 1 to {MOST_NAME} characters")
TEXTS: Check = (_is_texts, "a list of texts, each on one line")
TABLE: Check = (
    lambda value: isinstance(value, Mapping) and all(isinstance(key, str) for key in value),
    "a table",
)
POSITIVE: Check = (_is_positive, "a positive number")
WHOLE: Check = (_is_whole, "a positive whole number")
OPTIONAL_WHOLE: Check = _optional(WHOLE)
OPTIONAL_TEXT: Check = _optional(TEXT)

_FIELDS: dict[str, Check] = {
    "id": NAME,
    "name": NAME,
    "memory_bytes": WHOLE,
    "memory_bandwidth_bytes_per_s": POSITIVE,
    "peak_flops_per_s": TABLE,
    "aliases": TEXTS,
    "vendor": TEXT,
    "year": OPTIONAL_WHOLE,
    "memory_basis": TEXT,
    "link": TEXT,
    "link_bytes_per_s": _optional(POSITIVE),
    "link_note": TEXT,
    "power_w": _optional(POSITIVE),
    "confidence": (lambda value: value in CONFIDENCES, f"one of {', '.join(CONFIDENCES)}"),
    "sources": TEXTS,
    "rejected": (
        lambda value: isinstance(value, (list, tuple)) and all(_is_rejected(item) for item in value),
        "a list of tables with the texts value, where and reason",
    ),
    "notes": TEXTS,
}
_REQUIRED = ("name", "id", "memory_bytes", "memory_bandwidth_bytes_per_s", "peak_flops_per_s")
_REJECTED = {"value", "where", "reason"}


def _is_rejected(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and set(value) == _REJECTED
        and all(_is_text(text) for text in value.values())
    )


# What can be meant: (least, most, unit, an example in it).
_PLAUSIBLE: dict[str, tuple[float, float, str, str]] = {
    "memory_bytes": (1e8, 1e15, "bytes", "80 GiB is 85899345920"),
    "memory_bandwidth_bytes_per_s": (1e9, 1e15, "bytes per second", "3.35 TB/s is 3.35e12"),
    "peak_flops_per_s": (1e9, 1e18, "dense FLOP per second", "989 TFLOPS is 989e12"),
    "link_bytes_per_s": (1e6, 1e14, "bytes per second one way", "450 GB/s is 450e9"),
    "power_w": (0.1, 1e5, "watts", "700"),
    "year": (1990, 2100, "years of the calendar", "2022"),
}


def check_fields(
    data: object, fields: Mapping[str, Check], required: tuple[str, ...], place: str, strict: bool = True
) -> dict[str, object]:
    """The fields of one table of a file, each of the right kind.

    ``strict`` forbids names that are not in ``fields``. Raises InputError (``place``, field,
    expectation, value).
    """
    if not isinstance(data, Mapping):
        raise InputError(f"{place}: must be a table of fields, got {shown(data)}")
    if strict:
        for name in data:
            if name not in fields:
                raise InputError(f"{place}: {shown(name)} is no field here; known are {', '.join(fields)}")
    for name, (test, expected) in fields.items():
        if name in data and not test(data[name]):
            raise InputError(f"{place}: {name} must be {expected}, got {shown(data[name])}")
    for name in required:
        if name not in data:
            raise InputError(f"{place}: {name} is missing; expected {fields[name][1]}")
    return {name: data[name] for name in fields if name in data}


def check_accelerator(accelerator: Accelerator, place: str) -> Accelerator:
    """The same accelerator, once its figures have been found possible.

    Raises InputError (``place``, field, expectation, value) for a blank name, a figure that is not
    positive and finite or that can only be in another unit, an unknown dtype.
    """
    if not _is_name(accelerator.name) or not _is_name(accelerator.id):
        raise InputError(f"{place}: id and name must be {NAME[1]}")
    if accelerator.confidence not in CONFIDENCES:
        raise InputError(
            f"{place}: confidence must be {_FIELDS['confidence'][1]}, got {shown(accelerator.confidence)}"
        )
    if not accelerator.peak_flops_per_s:
        raise InputError(f"{place}: peak_flops_per_s must hold at least one of {', '.join(PEAK_DTYPES)}")
    for dtype, peak in accelerator.peak_flops_per_s.items():
        _check_dtype(dtype, place)
        _check_plausible(f"peak_flops_per_s.{dtype}", peak, "peak_flops_per_s", place)
    _check_plausible("memory_bytes", accelerator.memory_bytes, "memory_bytes", place)
    bandwidth = accelerator.memory_bandwidth_bytes_per_s
    _check_plausible("memory_bandwidth_bytes_per_s", bandwidth, "memory_bandwidth_bytes_per_s", place)
    for name in ("link_bytes_per_s", "power_w", "year"):
        value = getattr(accelerator, name)
        if value is not None:
            _check_plausible(name, value, name, place)
    return accelerator


def _check_dtype(dtype: str, place: str) -> None:
    if dtype not in PEAK_DTYPES:
        known = ", ".join(PEAK_DTYPES)
        raise InputError(f"{place}: peak_flops_per_s has the unknown dtype {shown(dtype)}; known are {known}")


def _check_plausible(name: str, value: float, kind: str, place: str) -> None:
    if not _is_positive(value):
        raise InputError(f"{place}: {name} must be a positive number, got {shown(value)}")
    least, most, unit, example = _PLAUSIBLE[kind]
    if not least <= value <= most:
        expected = f"in {unit} between {least:g} and {most:g} ({example})"
        raise InputError(f"{place}: {name} must be {expected}, got {shown(value)}")


def read_accelerator(data: object, place: str) -> Accelerator:
    """An accelerator from one table of a JSON or TOML file, checked.

    ``place`` opens every message ("mine.toml", "accelerators.json: entry 3 (h200)"). Without ``id``,
    the name in lower case with dashes is it. Raises InputError (place, field, expectation, value).
    """
    if isinstance(data, Mapping) and "id" not in data:
        name = data.get("name")
        words = name.lower().split() if NAME[0](name) and isinstance(name, str) else []
        data = {**data, "id": "-".join(words) or "-"}  # a name that is none is refused below, as the name
    fields = check_fields(data, _FIELDS, _REQUIRED, place)
    peaks = fields["peak_flops_per_s"]
    assert isinstance(peaks, Mapping)
    for dtype, peak in peaks.items():
        _check_dtype(dtype, place)
        if not _is_positive(peak):
            raise InputError(
                f"{place}: peak_flops_per_s.{dtype} must be a positive number, got {shown(peak)}"
            )
    for name in ("memory_bytes", "year"):
        value = fields.get(name)
        if isinstance(value, float):
            fields[name] = int(value)
    try:
        accelerator = msgspec.convert(fields, Accelerator)
    except msgspec.ValidationError as error:
        raise InputError(f"{place}: {error}") from error
    return check_accelerator(accelerator, place)
