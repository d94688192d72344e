"""Arithmetic that can be read and checked: an expression, its terms, and both as text.

A `Working` is one line of a calculation. Its formula (symbols) and its worked form (numbers) are the
same expression written twice, so that they cannot disagree; its value comes from the cost model, so
that the expression is checked by evaluating it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from pdviz.units import plural, si, significant

DIGITS = 5  # of numbers in a worked line: enough to find the displayed figure again with a calculator
EXACT_BELOW = 1e7
_SCALED = ("B", "s", "FLOP", "B/s", "FLOP/s")
_SCALES = {"P": 1e15, "T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3, "": 1.0, "m": 1e-3, "µ": 1e-6}
_PLAIN = ("", "tok/s", "FLOP/B")
NO_NUMBER: tuple[float | None, str] = (None, "")
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_FUNCTIONS = ("max", "min", "floor")


def _number(value: float) -> str:
    """Five significant digits; decimals that are zero are left out only where nothing was rounded."""
    number = significant(value, DIGITS)
    short = number.rstrip("0").rstrip(".") if "." in number else number
    return short if abs(float(short.replace(",", "")) - value) <= 1e-12 * abs(value) else number


def quantity(value: float, unit: str = "") -> str:
    """``value`` to five significant digits, whole numbers of things exactly; ``unit`` may be a noun.

    >>> quantity(0.0152438214, "s"), quantity(989e12, "FLOP/s"), quantity(131072, "B")
    ('15.244 ms', '989 TFLOP/s', '131,072 B')
    >>> quantity(512, "token"), quantity(0.98165, "%"), quantity(0.515625, "B"), quantity(255.9996, "expert")
    ('512 tokens', '98.165 %', '0.515625 B', '256.00 experts')
    """
    whole = value == round(value)
    if unit == "%":
        return f"{_number(value * 100)} %"
    if unit in ("B", "FLOP") and whole and abs(value) < EXACT_BELOW:
        return f"{value:,.0f} {unit}"
    if unit == "B" and 0 < abs(value) < 1:
        return f"{f'{value:.8f}'.rstrip('0')} {unit}"
    if unit in _SCALED:
        prefixed = si(value, unit, DIGITS).rpartition(" ")[2]
        return f"{_number(value / _SCALES[prefixed.removesuffix(unit)])} {prefixed}"
    number = f"{value:,.0f}" if whole else _number(value)
    if unit in _PLAIN:
        return f"{number} {unit}".strip()
    return plural(value, unit) if whole else f"{number} {plural(2, unit).partition(' ')[2]}"


class Term(msgspec.Struct, frozen=True):
    """A quantity in an expression: ``name`` there, ``symbol`` in the formula, ``meaning`` in words."""

    name: str
    symbol: str
    value: float
    unit: str = ""
    meaning: str = ""

    @property
    def shown(self) -> str:
        return quantity(self.value, self.unit)


class Working(msgspec.Struct, frozen=True):
    """``symbol`` is ``expression`` over ``terms``, which makes ``value``.

    ``name`` is that of the term which the value becomes in other workings. Expressions hold names,
    numbers, ``+ - * / **``, brackets, ``max``, ``min`` and ``floor``: Python can evaluate them.
    """

    name: str
    symbol: str
    expression: str
    terms: tuple[Term, ...]
    value: float
    unit: str = ""
    meaning: str = ""

    @property
    def term(self) -> Term:
        """The value as an input of another working."""
        return Term(self.name, self.symbol, self.value, self.unit, self.meaning)

    @property
    def formula(self) -> str:
        """The expression in symbols."""
        return f"{self.symbol} = {_written(self.expression, {t.name: t.symbol for t in self.terms})}"

    @property
    def worked(self) -> str:
        """The expression in numbers, and what it makes."""
        numbers = _written(self.expression, {t.name: t.shown for t in self.terms})
        return f"{numbers} = {quantity(self.value, self.unit)}"

    @property
    def line(self) -> str:
        """Both in one line, with what it is."""
        return f"{self.formula} = {self.worked}" + (f" ({self.meaning})" if self.meaning else "")


def _written(expression: str, texts: dict[str, str]) -> str:
    """The expression with ``texts`` for its names and the signs of print."""
    signed = expression.replace("**", "^").replace("*", "×").replace("-", "−").replace(" ^ ", "^")
    return _NAME.sub(lambda found: found[0] if found[0] in _FUNCTIONS else texts[found[0]], signed)


class Explanation(msgspec.Struct, frozen=True):
    """Where a figure comes from.

    ``value`` is the figure as the screen shows it. ``workings`` begin with the figure's own, whose
    texts are ``formula`` and ``worked``; the others are among the ``steps``, each as its line.
    ``figure`` is that figure in ``unit``, None where it is a word or does not exist. ``symbols`` tell what
    stands in the workings and is worked out nowhere; ``inputs`` are keys of figures that go into it.
    """

    key: str
    title: str
    value: str
    summary: str
    formula: str
    worked: str
    steps: tuple[str, ...]
    symbols: tuple[str, ...]
    sources: tuple[str, ...]
    fidelity: str
    inputs: tuple[str, ...]
    figure: float | None
    unit: str
    workings: tuple[Working, ...]
    pass_index: int | None = None

    @property
    def spoken(self) -> str:
        """All that matters, in words for assistive technology."""
        value, summary = self.value.replace("×", " times"), self.summary.replace("×", "times")
        return f"{self.title}: {value}. {summary} {_spoken(self.worked)}. {self.fidelity}"


_SPOKEN = (
    (" × ", " times "),
    (" / ", " divided by "),
    (" − ", " minus "),
    (" + ", " plus "),
    (" = ", " is "),
    ("^", " to the power of "),
    ("max(", "the larger of ("),
    ("min(", "the smaller of ("),
    ("floor(", "the whole part of ("),
)


def _spoken(worked: str) -> str:
    for sign, words in _SPOKEN:
        worked = worked.replace(sign, words)
    return worked[:1].upper() + worked[1:]


def explanation(
    key: str,
    title: str,
    value: str,
    summary: str,
    main: Working,
    *,
    steps: Iterable[Working | str] = (),
    sources: Iterable[str] = (),
    fidelity: str,
    inputs: Iterable[str] = (),
    pass_index: int | None = None,
    figure: tuple[float | None, str] | None = None,
) -> Explanation:
    """An Explanation with all its lines, and with what every symbol is that none of them works out.

    ``figure`` is the figure and its unit where they are not what the first working makes.
    """
    found: dict[str, Working] = {main.name: main}
    lines: list[str] = []
    for step in steps:
        if isinstance(step, str):
            lines.append(step)
        elif step.name not in found:
            found[step.name] = step
            lines.append(step.line)
    legend: dict[str, None] = {}
    for working in found.values():
        for term in working.terms:
            if term.name not in found and term.meaning:
                legend[f"{term.symbol} = {term.shown}: {term.meaning}"] = None
    number, unit = (main.value, main.unit) if figure is None else figure
    return Explanation(
        key=key,
        title=title,
        value=value,
        summary=summary,
        formula=main.formula,
        worked=main.worked,
        steps=tuple(lines),
        symbols=tuple(legend),
        sources=tuple(sources),
        fidelity=fidelity,
        inputs=tuple(inputs),
        figure=number,
        unit=unit,
        workings=tuple(found.values()),
        pass_index=pass_index,
    )
