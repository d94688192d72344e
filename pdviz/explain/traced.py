"""Quantities that remember how they were made, so that the cost model's own rules write its formulas.

The functions of `pdviz.costmodel` that count and price take numbers. Handed `Traced` quantities instead,
they return one whose expression is what they did: a rule stands in one place, and its explanation
cannot differ from it. Parts that come to nothing are left out: 0 added, 1 multiplied, max(x, 0).
"""

from __future__ import annotations

from typing import Any

from pdviz.explain.working import Term, Working

_SUM, _PRODUCT, _POWER, _CALL, _ATOM = range(5)


def _number(value: float) -> str:
    return repr(int(value)) if value == int(value) else repr(value)


class Traced:
    """A value, the expression that makes it, and the terms in that.

    ``chain`` holds the workings of terms that have one. ``suffix`` and ``label`` tell apart what is made
    for layers with one window from the same for others.
    """

    def __init__(
        self,
        value: float,
        expression: str,
        terms: dict[str, Term],
        rank: int = _ATOM,
        chain: tuple[Working, ...] = (),
        kind: tuple[str, str] = ("", ""),
    ) -> None:
        self.value, self.expression, self.terms = value, expression, terms
        self.rank, self.chain, self.kind = rank, chain, kind

    @classmethod
    def given(cls, term: Term, chain: tuple[Working, ...] = (), kind: tuple[str, str] = ("", "")) -> Traced:
        """A quantity that stands for itself."""
        return cls(term.value, term.name, {term.name: term}, _ATOM, chain, kind)

    @property
    def is_atom(self) -> bool:
        return self.rank == _ATOM

    def working(self, name: str, symbol: str, unit: str, meaning: str = "", value: Any = None) -> Working:
        """The working that makes this, under a name."""
        made = self.value if value is None else value
        return Working(name, symbol, self.expression, tuple(self.terms.values()), made, unit, meaning)

    def named(self, name: str, symbol: str, unit: str, meaning: str = "") -> Traced:
        """This under a name, its working first in the chain; itself where it is one name already."""
        if self.is_atom:
            return self
        made = self.working(name, symbol, unit, meaning)
        return Traced.given(made.term, (made, *self.chain), self.kind)

    def _join(self, sign: str, rank: int, left: Any, right: Any, value: float) -> Traced:
        sides, terms, chain, kind = [], {}, [], ("", "")
        for side, is_right in ((left, False), (right, True)):
            if not isinstance(side, Traced):
                sides.append(_number(side))
                continue
            terms.update(side.terms)
            chain += [one for one in side.chain if one not in chain]
            kind = side.kind if side.kind[0] else kind
            binds = side.rank > rank or (side.rank == rank and not (is_right and sign in "-/**"))
            sides.append(side.expression if binds else f"({side.expression})")
        return Traced(value, f"{sides[0]} {sign} {sides[1]}", terms, rank, tuple(chain), kind)

    def __add__(self, other: Any) -> Any:
        return self if _is(other, 0) else self._join("+", _SUM, self, other, self.value + _value(other))

    def __radd__(self, other: Any) -> Any:
        return self if _is(other, 0) else self._join("+", _SUM, other, self, other + self.value)

    def __sub__(self, other: Any) -> Any:
        return self if _is(other, 0) else self._join("-", _SUM, self, other, self.value - _value(other))

    def __rsub__(self, other: Any) -> Any:
        return self._join("-", _SUM, other, self, other - self.value)

    def __mul__(self, other: Any) -> Any:
        if _is(other, 0):
            return 0
        return self if _is(other, 1) else self._join("*", _PRODUCT, self, other, self.value * _value(other))

    def __rmul__(self, other: Any) -> Any:
        if _is(other, 0):
            return 0
        return self if _is(other, 1) else self._join("*", _PRODUCT, other, self, other * self.value)

    def __truediv__(self, other: Any) -> Any:
        return self if _is(other, 1) else self._join("/", _PRODUCT, self, other, self.value / _value(other))

    def __rtruediv__(self, other: Any) -> Any:
        return self._join("/", _PRODUCT, other, self, other / self.value)

    def __pow__(self, other: Any) -> Any:
        return self._join("**", _POWER, self, other, self.value ** _value(other))

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < _value(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > _value(other))

    def __bool__(self) -> bool:
        return bool(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def _call(self, name: str, other: Any, value: float) -> Traced:
        both = self._join(",", _SUM, self, other, value)
        expression = f"{name}({both.expression.replace(' , ', ', ')})"
        return Traced(value, expression, both.terms, _CALL, both.chain, both.kind)

    def least(self, other: Any) -> Any:
        """The smaller of the two. Of something made up, it gets a name: it is used again."""
        made = self._call("min", other, min(self.value, _value(other)))
        if isinstance(other, Traced) and self.is_atom and other.is_atom:
            return made
        suffix, label = made.kind
        return made.named(f"x{suffix}", f"x{label}", "token", "tokens that see no further than the window")

    def most(self, other: Any) -> Any:
        """The larger of the two; of something and nothing, the one that it is."""
        if _is(other, 0):
            return self if self.value > 0 else 0
        return self._call("max", other, max(self.value, _value(other)))


def _is(value: Any, number: int) -> bool:
    return not isinstance(value, Traced) and value == number


def _value(other: Any) -> Any:
    return other.value if isinstance(other, Traced) else other
