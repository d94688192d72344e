"""What a field of a scenario is: how users meet it, and what it takes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from pdviz.errors import InputError
from pdviz.names import shown
from pdviz.units import parse_amount, parse_count, parse_fraction

TOKENS_LIMIT = 2**24
OTHERS_LIMIT = 65_535
ACCELERATORS_LIMIT = 4_096


class Field(msgspec.Struct, frozen=True):
    """One field of the scenario as users meet it.

    ``name`` is the attribute, ``key`` its name in text, ``kind`` one of "name", "choice", "count",
    "fraction", "amount" (of ``unit``, from ``low`` on). ``optional`` ones may be absent (None), which is
    written ``absent``.

    The window lays itself out from the rest. ``group`` is where the field is edited: "model"
    (always in the control panel), "request" or "server" (there while such a view is shown), "assumptions".
    ``control`` is how: "picker", "times" (a narrow count), "slider" (with its value to type), "entry"
    (part of the row above), "chips" or "share". ``beside``: in the row of the field before. A slider goes
    to ``slider_high``, or where ``reach`` says ("context": the model's, "prompt": inside it).
    """

    name: str
    key: str
    label: str
    help: str
    kind: str
    low: int = 1
    high: int = TOKENS_LIMIT
    choices: Collection[str] = ()
    unit: str = ""
    optional: bool = False
    absent: str = "same"
    group: str = "request"
    control: str = "picker"
    beside: bool = False
    slider_high: int = 0
    reach: str = ""
    policies: tuple[str, ...] = ()
    """Of a server's knob: the policies that use it; () for all."""

    def parse(self, value: object) -> Any:
        """``value`` as the field's type. Raises InputError that names the field."""
        text = value if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None
        if value is None and self.optional:
            return None
        if text is None:
            raise InputError(f"{self.key} must be {self.expectation}, got {shown(value)}")
        if self.kind == "count":
            if self.optional:
                if str(text).strip().lower() == self.absent:
                    return None
                as_this = " as this request" if self.absent == "same" else ""
                name = f'{self.key} must be "{self.absent}"{as_this}, or it'
                return parse_count(str(text), name, self.low, self.high)
            return parse_count(str(text), self.key, self.low, self.high)
        if self.kind == "amount":
            return parse_amount(text, self.key, self.unit, self.low)
        if self.kind == "fraction":
            return parse_fraction(text, self.key)
        if self.kind == "choice":
            choice = str(text).strip().lower()
            if choice not in self.choices:
                raise InputError(f"{self.key} must be one of {', '.join(self.choices)}, got {shown(text)}")
            return choice
        if not str(text).strip():
            raise InputError(f"{self.key} must be a name, got nothing")
        if not str(text).isprintable():
            raise InputError(f"{self.key} must be a name in printable characters, got {shown(text)}")
        return str(text).strip()

    @property
    def expectation(self) -> str:
        """What the field takes, in words."""
        if self.kind == "count":
            return f"a whole number from {self.low:,} to {self.high:,}"
        if self.kind == "fraction":
            return "a number above 0 and up to 1"
        if self.kind == "amount":
            return f"a number of {self.unit}, at least {self.low}"
        return f"one of {', '.join(self.choices)}" if self.choices else "a name"
