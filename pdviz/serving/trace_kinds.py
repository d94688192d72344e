"""Forms of files with requests, known by the names of their columns; asked for every file that is opened."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable

import msgspec


class Kind(msgspec.Struct, frozen=True):
    """A form of trace: the columns that make a request. ``unit_s`` is None where times are dates."""

    title: str
    arrival: str
    unit_s: float | None
    prompt: str
    output: str
    cached: str = "cached_tokens"
    id: str = "id"
    blocks: str = ""

    @property
    def needed(self) -> tuple[str, ...]:
        return self.arrival, self.prompt, self.output


_PLAIN = "prompt_tokens", "output_tokens"
KINDS = (
    Kind("Azure trace", "timestamp", None, "contexttokens", "generatedtokens"),
    Kind("BurstGPT trace", "timestamp", 1.0, "request tokens", "response tokens"),
    Kind("Mooncake trace", "timestamp", 1e-3, "input_length", "output_length", blocks="hash_ids"),
    Kind("Vidur trace", "arrived_at", 1.0, "num_prefill_tokens", "num_decode_tokens"),
    Kind("ServeGen trace", "timestamp", 1.0, "input_tokens", "output_tokens"),
    Kind("request list", "arrival_time_ns", 1e-9, "input_toks", "output_toks"),
    Kind("vLLM requests", "arrival_time", 1.0, "input_toks", "output_toks", id="request_id"),
    Kind("request list", "arrival_s", 1.0, *_PLAIN),
    Kind("request list", "arrival_ms", 1e-3, *_PLAIN),
    Kind("request list", "arrival_ns", 1e-9, *_PLAIN),
)


def kind_of(columns: Iterable[str]) -> Kind | None:
    """The form of trace with these columns, None for something else."""
    there = {name.strip().lower() for name in columns}
    return next((kind for kind in KINDS if there.issuperset(kind.needed)), None)


def columns_of(head: str) -> list[str]:
    """The columns of a trace by the beginning of its text, [] where it has none."""
    text = head.lstrip("\ufeff \t\r\n")
    line = text.splitlines()[0] if text else ""
    if line.startswith("{"):
        try:
            first = json.loads(line)
        except ValueError:
            return []
        return list(first) if isinstance(first, dict) else []
    return next(csv.reader([line], delimiter=delimiter_of(line)), [])


def delimiter_of(line: str) -> str:
    """What stands between the columns of a header line."""
    return max(",;\t", key=line.count)


def is_trace(head: bytes) -> bool:
    """True for the first bytes of a file of requests."""
    return kind_of(columns_of(head.decode("utf-8-sig", "replace"))) is not None
