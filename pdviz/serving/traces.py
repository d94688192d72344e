"""Files of requests that people have, known by the names of their columns."""

from __future__ import annotations

import csv
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from pdviz.errors import InputError
from pdviz.serving.records import Seconds
from pdviz.serving.trace_kinds import Kind, delimiter_of, kind_of
from pdviz.serving.workload import Workload, workload

Watch = Callable[[float], None]
Row = list[Any]

BLOCK_TOKENS = 512
"""Tokens of a block whose hash a Mooncake trace gives."""

_AT_ONCE = 50_000  # rows between two looks at progress
_WALL_CLOCK_S = 1e8  # a time of day, not a time since the start
_NANOSECONDS = 1e9
_ZONE = re.compile(r"\s*(?:Z|UTC|([+-])(\d\d):?(\d\d))$", re.IGNORECASE)


def read_trace(path: Path, watch: Watch | None = None) -> Workload:
    """The requests of a file. ``watch`` hears the share that is read, and may raise to stop.

    Rows that cannot be requests are left out and listed; times of day are counted from the first
    arrival. Raises InputError in a sentence for a file of another kind.
    """
    try:
        with path.open("rb") as raw, TextIOWrapper(raw, "utf-8-sig", "replace") as file:
            size = max(os.fstat(raw.fileno()).st_size, 1)
            look = None if watch is None else lambda: watch(min(raw.tell() / size, 1.0))
            return _read(path.name, file, look)
    except OSError as error:
        raise InputError(f"{path.name}: {error.strerror or error}") from None


def _read(name: str, lines: Iterable[str], look: Callable[[], None] | None) -> Workload:
    rows = (line for line in lines if not line.isspace())
    first = next(rows, "").lstrip()
    if not first:
        raise InputError(f"{name}: the file is empty; expected requests with a header line, or one a line")
    if "\0" in first or "\ufffd" in first:
        raise InputError(f"{name}: expected text with a request on each line, not a binary file")
    if first.startswith("["):
        names, values = _json_list(name, first + "".join(rows))
    elif first.startswith("{"):
        names, values = _json_lines(name, first, rows)
    else:
        delimiter = delimiter_of(first)
        names = [column.strip().lower() for column in next(csv.reader([first], delimiter=delimiter))]
        values = csv.reader(rows, delimiter=delimiter)
    kind = kind_of(names)
    if kind is None:
        shown = ", ".join(names[:8]) or "nothing"
        raise InputError(
            f"{name}: expected columns arrival_s, prompt_tokens and output_tokens, "
            f"or those of a known trace; found {shown}"
        )
    return _collect(name, kind, names, values, look)


def _json_lines(name: str, first: str, lines: Iterable[str]) -> tuple[list[str], Iterator[Row]]:
    """Columns of the first object that has a request's, and a row for each object."""
    decode = msgspec.json.Decoder().decode

    def parsed(line: str) -> Any:
        try:
            return decode(line)
        except (msgspec.DecodeError, UnicodeError):
            try:
                return json.loads(line)  # which takes NaN and Infinity
            except ValueError:
                return None

    one = parsed(first)
    before: list[Any] = []
    if isinstance(one, dict) and set(one) == {"meta"}:
        one = parsed(next(iter(lines), ""))
    if not isinstance(one, dict):
        raise InputError(f"{name}: line 1: expected a JSON object with a request")
    before.append(one)
    names = [key.strip().lower() for key in one]
    keys = list(one)

    def rows() -> Iterator[Row]:
        for found in before:
            yield [found.get(key) for key in keys]
        for line in lines:
            found = parsed(line)
            yield [found.get(key) for key in keys] if isinstance(found, dict) else []

    return names, rows()


def _json_list(name: str, text: str) -> tuple[list[str], Iterator[Row]]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InputError(f"{name}: not JSON: {error}") from None
    if not found or not all(isinstance(one, dict) for one in found):
        raise InputError(f"{name}: expected a list of JSON objects, one for each request")
    keys = list(found[0])
    return [key.strip().lower() for key in keys], iter([[one.get(key) for key in keys] for one in found])


def _collect(
    name: str, kind: Kind, names: list[str], rows: Iterator[Row], look: Callable[[], None] | None
) -> Workload:
    place = {
        column: names.index(column) for column in {*kind.needed, kind.cached, kind.id, kind.blocks} & {*names}
    }
    wanted = max(place.values())
    columns: dict[str, list[Any]] = {column: [] for column in place}
    faults: dict[int, str] = {}
    count = 0
    try:
        while block := list(islice(rows, _AT_ONCE)):
            for number, row in enumerate(block):
                if len(row) <= wanted:
                    had = f"{len(row)} of {wanted + 1} columns" if row else "the line is no request"
                    faults[count + number] = had
                    block[number] = row + [""] * (wanted + 1 - len(row))
            for column, at in place.items():
                values = [row[at] for row in block]
                if column == kind.arrival and kind.unit_s is None:
                    columns[column].extend(_dates(values))
                elif column in (kind.id, kind.blocks):
                    columns[column].extend(values)
                else:
                    columns[column].extend(_numbers(values))
            count += len(block)
            if look is not None:
                look()
    except csv.Error as error:
        raise InputError(f"{name}: line {count + 2} or after: {error}") from None
    if not count:
        raise InputError(f"{name}: expected at least one request after the header")
    arrival_s, shifted = _clock(columns[kind.arrival], kind.unit_s)
    prompts = np.array(columns[kind.prompt])
    cached = None
    notes = ["times from the first arrival"] if shifted else []
    if kind.blocks in columns:
        cached = _reused(columns[kind.blocks], arrival_s, prompts)
        notes.append("prefixes cached by block, without end")
    elif kind.cached in columns:
        cached = np.array(columns[kind.cached])
        cached[np.isnan(cached)] = 0
    ids = [str(one) for one in columns[kind.id]] if kind.id in columns else None
    return workload(
        arrival_s,
        prompts,
        np.array(columns[kind.output]),
        cached,
        ids=ids,
        faults=faults,
        description=f"{name}: {', '.join([kind.title, *notes])}",
    )


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _numbers(values: list[Any]) -> list[float]:
    try:
        return list(map(float, values))
    except (TypeError, ValueError):
        return [_number(value) for value in values]


def _date(text: Any) -> int | None:
    text = str(text).strip()
    zone = _ZONE.search(text, 10)
    ahead_s = 0
    if zone:
        text = text[: zone.start()]
        if zone[1]:
            ahead_s = int(f"{zone[1]}1") * (int(zone[2]) * 3600 + int(zone[3]) * 60)
    try:
        made = np.datetime64(text, "ns")
    except ValueError:
        return None
    return None if np.isnat(made) else int(made.astype(np.int64)) - ahead_s * int(_NANOSECONDS)


def _dates(values: list[Any]) -> list[int | None]:
    """Nanoseconds of times of day."""
    try:
        if any(value[-1] in "CcZz" or value[-6:-5] in "+-" for value in values):
            raise ValueError
        made = np.array(values, "datetime64[ns]")
    except (IndexError, TypeError, ValueError):
        return [_date(value) for value in values]
    found: list[int | None] = made.astype(np.int64).tolist()
    return found


def _clock(values: list[Any], unit_s: float | None) -> tuple[Seconds, bool]:
    """Seconds, and whether they count from the first arrival, as times of day and negative times do."""
    if unit_s is None:
        known = [value for value in values if value is not None]
        start = min(known, default=0)
        seconds = [math.nan if value is None else (value - start) / _NANOSECONDS for value in values]
        return np.array(seconds), True
    arrival_s: Seconds = np.array(values)
    finite = arrival_s[np.isfinite(arrival_s)]
    first = float(finite.min()) if len(finite) else 0.0
    if first < 0 or first * unit_s > _WALL_CLOCK_S:
        return (arrival_s - first) * unit_s, True
    return arrival_s * unit_s, False


def _reused(blocks: list[Any], arrival_s: Seconds, prompts: Seconds) -> Seconds:
    """Tokens of each prompt that stand in blocks which earlier requests brought."""
    cached = np.zeros(len(blocks))
    seen: set[Any] = set()
    for row in np.argsort(arrival_s, kind="stable").tolist():
        hashes = blocks[row] if isinstance(blocks[row], list) else []
        hits = next((n for n, one in enumerate(hashes) if one not in seen), len(hashes))
        cached[row] = max(min(hits * BLOCK_TOKENS, prompts[row] - 1), 0)
        seen.update(hashes)
    return cached
