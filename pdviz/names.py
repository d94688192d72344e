"""Names as people type them: case, spaces, dashes and vendor words do not matter, a near miss is answered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from pdviz.errors import InputError


def shown(value: object) -> str:
    """A value from a file or an option, short and on one line, as an error message quotes it."""
    if isinstance(value, str):
        text = value if value.isprintable() else value.encode("unicode_escape").decode("ascii")
        return f'"{text}"' if len(text) <= 60 else f'"{text[:57]}..."'
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**18):
        return repr(value)
    if isinstance(value, int):
        return "a number of more than 18 digits"
    if isinstance(value, Mapping):
        return "a table"
    return "a list" if isinstance(value, (list, tuple)) else f"a {type(value).__name__}"


_SEPARATORS = re.compile(r"[\W_]+")
_PARTS = re.compile(r"\d+|[^\W\d_]+")
MODEL_NOISE = frozenset(("meta", "instruct", "chat", "it", "hf", "base", "pt"))
ACCELERATOR_NOISE = frozenset(
    ("nvidia", "amd", "intel", "google", "aws", "apple", "geforce", "radeon", "instinct", "tesla", "cloud")
)


def _words(text: str) -> list[str]:
    return [word for word in _SEPARATORS.split(text.casefold().replace("+", " plus ")) if word]


def _join(words: Iterable[str]) -> str:
    """Words as one key. Only between digits does a separator count: 3.1 = 3-1, neither is 31."""
    key = ""
    for word in words:
        key += f".{word}" if key and key[-1].isdigit() and word[0].isdigit() else word
    return key


def normalised(text: str) -> str:
    """What remains of a name once case, spaces, dashes, underscores and dots are levelled."""
    return _join(_words(text))


def _distance(a: str, b: str) -> int:
    """Edits (insert, delete, replace, swap neighbours) between two short texts."""
    before: list[int] = []
    above = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(above[j] + 1, row[-1] + 1, above[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, above = above, row
    return above[-1]


def _parts(text: str) -> frozenset[str]:
    return frozenset(_PARTS.findall(text.casefold()))


def _unlikeness(a: str, b: str, parts_a: frozenset[str], parts_b: frozenset[str]) -> float:
    """0 for equal keys, towards 1 for unrelated ones; a part of the other, or the same parts, is near."""
    short, long = sorted((a, b), key=len)
    score = _distance(a, b) / max(len(long), 1)
    if len(short) >= 2 and short in long:
        score = min(score, 0.5 * (1.0 - len(short) / len(long)))
    common = len(parts_a & parts_b)
    if common:
        score = min(score, 0.05 + 0.7 * (1.0 - common / len(parts_a | parts_b)))
    return score


class _Named(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def aliases(self) -> tuple[str, ...]: ...


T = TypeVar("T", bound=_Named)


class Index(Generic[T]):
    """Finds an entry by any of its names. The table of names is built at the first inexact look-up."""

    def __init__(self, kind: str, entries: tuple[T, ...], noise: frozenset[str], empty: str) -> None:
        self.kind = kind
        self.entries = entries
        self._noise = noise
        self._empty = empty

    def _loose(self, text: str) -> str:
        return _join(word for word in _words(text.rpartition("/")[2]) if word not in self._noise)

    @cached_property
    def _claims(self) -> list[tuple[str, T]]:
        return [(text, entry) for entry in self.entries for text in (entry.id, entry.name, *entry.aliases)]

    @cached_property
    def _exact(self) -> dict[str, T]:
        table: dict[str, T] = {}
        for text, entry in self._claims:
            table.setdefault(normalised(text), entry)
        return table

    @cached_property
    def _by_loose(self) -> dict[str, list[T]]:
        """Entries by their names without vendor and tuning words; ambiguous where there are two."""
        table: dict[str, list[T]] = {}
        for text, entry in self._claims:
            holders = table.setdefault(self._loose(text), [])
            if not any(holder is entry for holder in holders):
                holders.append(entry)
        return table

    def find(self, text: str) -> T:
        """The entry that ``text`` names. Raises InputError with the three nearest names."""
        for entry in self.entries:
            if text == entry.name or text == entry.id:
                return entry
        for key in (normalised(text), normalised(text.rpartition("/")[2])):
            if key and key in self._exact:
                return self._exact[key]
        loose = self._loose(text)
        holders = self._by_loose.get(loose, ()) if loose else ()
        if len(holders) == 1:
            return holders[0]
        if not self.entries:
            raise InputError(f"unknown {self.kind} {shown(text)}: {self._empty}")
        names = self.nearest(text)
        nearest = "the nearest names are" if len(names) > 1 else "the only name is"
        raise InputError(f"unknown {self.kind} {shown(text)}: {nearest} {', '.join(names)}")

    def is_taken(self, text: str) -> bool:
        """True where an entry answers to ``text``, however that is spelled."""
        return normalised(text) in self._exact

    def nearest(self, text: str, count: int = 3) -> tuple[str, ...]:
        """Names of the ``count`` entries most like ``text``, the most like first."""
        wanted, parts = self._loose(text)[:48], _parts(text[:200])
        best: dict[str, float] = {}
        for name, entry in self._claims:
            score = _unlikeness(wanted, self._loose(name), parts, _parts(name))
            best[entry.id] = min(score, best.get(entry.id, 2.0))
        ranked = sorted(self.entries, key=lambda entry: best[entry.id])
        return tuple(entry.name for entry in ranked[:count])

    def clashes(self) -> tuple[str, ...]:
        """A sentence for each name that two entries claim; the earlier entry answers to it."""
        found = []
        for text, entry in self._claims:
            first = self._exact[normalised(text)]
            if first is not entry:
                found.append(f'{self.kind} name "{text}" of {entry.id} already belongs to {first.id}')
        return tuple(found)
