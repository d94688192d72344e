"""Reading single fields of a Hugging Face config.json, each checked where it is read.

Whatever is missing, of a wrong type or absurd becomes an InputError: one sentence that names the
file, the field, what was found and what was expected.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pdviz.errors import InputError

#: Upper bounds far above any real model: they stop typing errors, not ambition.
MOST_LAYERS = 4096
MOST_HEADS = 65_536
MOST_EXPERTS = 65_536
MOST_WIDTH = 1 << 24
MOST_TOKENS = 1 << 40


def shown(value: object) -> str:
    """``value`` as the file spells it, cut to a length that fits a sentence."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = repr(type(value).__name__)
    return text if len(text) <= 60 else text[:57] + "..."


def plain(name: str) -> str:
    """A field's name out of a file, fit for a sentence: short, on one line."""
    return shown(name)[1:-1]


class Taken(NamedTuple):
    """What a reader took for granted: field -> value, and whole sentences."""

    values: dict[str, str]
    remarks: dict[str, None]


class Fields:
    """The fields of one JSON object, read by name.

    Several names are spellings of the same field: the first one present counts, and others that
    are present too must agree with it. A null counts as absent, as it does for Hugging Face
    classes. A dotted name reaches into a nested object.
    """

    def __init__(
        self,
        values: Mapping[str, object],
        where: str,
        inside: str = "",
        defaults: Mapping[str, int] | None = None,
        taken: Taken | None = None,
    ) -> None:
        self._values = values
        self.where = where
        self._inside = inside
        self._defaults = defaults or {}
        self.taken = taken or Taken({}, {})
        self.asked: set[str] = set()

    def with_defaults(self, defaults: Mapping[str, int]) -> Fields:
        """The same fields, with a published class default for some that may be absent."""
        return Fields(self._values, self.where, self._inside, defaults, self.taken)

    def evened(self, names: Sequence[str]) -> Fields:
        """The same fields, where lists of one equal value for each layer count as that value."""
        found: dict[str, object] = {}
        for name in names:
            values = self.raw(name)
            if not isinstance(values, list) or not values:
                continue
            if any(value != values[0] or type(value) is not type(values[0]) for value in values):
                raise self.error(
                    f"{self.label(name)} differs from layer to layer, which is not modelled: {shown(values)}"
                )
            found[name] = values[0]
        if not found:
            return self
        return Fields({**self._values, **found}, self.where, self._inside, self._defaults, self.taken)

    def take(self, name: str, value: object) -> None:
        """Note that the family's ``value`` stands in for a field that is not in the file."""
        self.taken.values.setdefault(name, value if isinstance(value, str) else shown(value))

    def assumptions(self, said: Iterable[str] = ()) -> list[str]:
        """A sentence about all that was taken; fields of which other notes ``said`` more are left out."""
        others = frozenset(said)
        taken = {name: value for name, value in self.taken.values.items() if name not in others}
        listed = ", ".join(f"{name} = {value}" for name, value in taken.items())
        return [f"Not in the file, taken as its family does: {listed}."] if taken else []

    def remark(self, sentence: str) -> None:
        """A sentence for the notes."""
        self.taken.remarks[sentence] = None

    def how(self, *names: str) -> str:
        """How a field is not there: "null" or "missing"."""
        return "null" if self.present(*names) else "missing"

    def error(self, text: str) -> InputError:
        """An InputError that says in which file."""
        return InputError(f"{self.where}: {text}")

    def label(self, name: str) -> str:
        """``name`` with the object that holds it."""
        return self._inside + name

    def raw(self, name: str) -> object:
        """The value as it stands, None where absent."""
        self.asked.add(name.partition(".")[0])
        here: object = self._values
        for part in name.split("."):
            if not isinstance(here, Mapping):
                return None
            here = here.get(part)
        return here

    def has(self, *names: str) -> bool:
        """Whether any of the spellings holds something other than null."""
        return any(self.raw(name) is not None for name in names)

    def names(self) -> tuple[str, ...]:
        """The fields that hold something other than null."""
        return tuple(n for n, value in self._values.items() if isinstance(n, str) and value is not None)

    def items(self) -> tuple[tuple[str, object], ...]:
        """Names, whatever dots they hold, and values."""
        return tuple((n, value) for n, value in self._values.items() if isinstance(n, str))

    def nested(self, inner: Fields) -> bool:
        """Whether ``inner`` is an object within this one."""
        return len(inner._inside) > len(self._inside)

    def child(self, name: str) -> Fields:
        """A nested object."""
        value = self.raw(name)
        if not isinstance(value, Mapping):
            raise self.error(f"{self.label(name)} must be an object, got {shown(value)}")
        return Fields(value, self.where, f"{self._inside}{name}.", taken=self.taken)

    def _find(self, names: Sequence[str]) -> tuple[str, object]:
        found = [(name, value) for name in names if (value := self.raw(name)) is not None]
        if not found:
            default = None if self.present(names[0]) else self._defaults.get(names[0])
            if default is not None:
                self.take(names[0], default)
            return names[0], default
        first, value = found[0]
        for other, second in found[1:]:
            if second != value or type(second) is not type(value):
                raise self.error(
                    f"{self.label(first)} is {shown(value)} but {self.label(other)}, another spelling "
                    f"of it, is {shown(second)}; they must agree"
                )
        return first, value

    def _missing(self, names: Sequence[str], expected: str) -> InputError:
        if self.present(*names):
            null = next(name for name in names if self.present(name))
            return self.error(f"{self.label(null)} is null, expected {expected}")
        others = f" (also spelled {', '.join(names[1:])})" if len(names) > 1 else ""
        return self.error(f"{self.label(names[0])} is missing, expected {expected}{others}")

    def _whole(self, names: Sequence[str], least: int, most: int) -> int | None:
        name, value = self._find(names)
        if value is None:
            return None
        kind = "a positive whole number" if least == 1 else "a whole number of at least 0"
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.error(f"{self.label(name)} must be {kind}, got {shown(value)}")
        if value > most:
            raise self.error(f"{self.label(name)} must be at most {most:,}, got {shown(value)}")
        return value

    def count(self, *names: str, most: int = MOST_WIDTH) -> int:
        """A positive whole number that must be there."""
        value = self._whole(names, 1, most)
        if value is None:
            raise self._missing(names, "a positive whole number")
        return value

    def count_or_none(self, *names: str, most: int = MOST_WIDTH) -> int | None:
        """A positive whole number, or None where it is absent."""
        return self._whole(names, 1, most)

    def present(self, *names: str) -> bool:
        """Whether any of the spellings is in the file, be it as null."""
        return any(name in self._values for name in names)

    def require(self, *names: str) -> None:
        """Raise where the field is absent; null will do."""
        if not self.present(*names):
            raise self._missing(names, "a whole number")

    def number(self, *names: str, default: int, most: int = MOST_WIDTH) -> int:
        """A whole number of at least 0; ``default`` where absent."""
        value = self._whole(names, 0, most)
        return default if value is None else value

    def flag(self, name: str, default: bool) -> bool:
        """True or false; where absent ``default``, that of the family, which is then noted."""
        if self.raw(name) is None:
            self.take(name, default)
        return self.switch(name, default)

    def switch(self, name: str, default: bool) -> bool:
        """True or false; ``default`` where absent, which says the same as the file's silence."""
        value = self.raw(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.error(f"{self.label(name)} must be true or false, got {shown(value)}")
        return value

    def text(self, *names: str) -> str | None:
        """A string, or None where it is absent."""
        name, value = self._find(names)
        if value is not None and not isinstance(value, str):
            raise self.error(f"{self.label(name)} must be a string, got {shown(value)}")
        return value

    def entries(self, name: str, length: int | None = None) -> list[object] | None:
        """A list, of ``length`` entries where that is given; None where it is absent."""
        value = self.raw(name)
        if value is None:
            return None
        if not isinstance(value, list):
            raise self.error(f"{self.label(name)} must be a list, got {shown(value)}")
        if length is not None and len(value) != length:
            raise self.error(
                f"{self.label(name)} must have one entry for each of the {length} layers, got {len(value)}"
            )
        return value

    def names_of_layers(self, name: str, layers: int, spare: int = 0) -> list[str] | None:
        """One word for each layer; None where it is absent. ``spare`` more may follow and do not count."""
        values = self.entries(name)
        if values is not None and spare and len(values) == layers + spare:
            values = values[:layers]
        else:
            values = self.entries(name, layers)
        if values is None:
            return None
        words = [value for value in values if isinstance(value, str)]
        if len(words) != layers:
            raise self.error(f"{self.label(name)} must hold one word for each layer, got {shown(values)}")
        return words

    def bits_of_layers(self, name: str, layers: int) -> list[bool] | None:
        """One 0 or 1 for each layer; None where it is absent."""
        values = self.entries(name, layers)
        if values is None:
            return None
        if any(type(value) not in (int, bool) or value not in (0, 1) for value in values):
            raise self.error(f"{self.label(name)} must hold one 0 or 1 for each layer, got {shown(values)}")
        return [value == 1 for value in values]

    def layer_numbers(self, name: str, layers: int) -> frozenset[int]:
        """Indices of layers, counted from 0; none where it is absent."""
        chosen: set[int] = set()
        for value in self.entries(name) or ():
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < layers:
                raise self.error(
                    f"{self.label(name)} must list layers from 0 to {layers - 1}, got {shown(value)}"
                )
            chosen.add(value)
        return frozenset(chosen)
