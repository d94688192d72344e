"""Explanations for a terminal, the clipboard and a program."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pdviz.explain.working import Explanation, Term, Working
from pdviz.report import paragraph

WIDTH = 100
INDENT = "  "


def explanation_text(one: Explanation) -> str:
    """One explanation as a block of lines, wrapped at 100 columns."""
    lines = [f"{one.title}: {one.value}", _block(one.summary), ""]
    lines += [_block(one.formula, hang=True), _block(f"= {one.worked}", hang=True)]
    for group in (one.steps, one.symbols):
        if group:
            lines += ["", *(_block(step, hang=True) for step in group)]
    lines += ["", *(_block(text, hang=True) for text in (one.fidelity, *one.sources))]
    return "\n".join(lines) + "\n"


def _block(text: str, *, hang: bool = False) -> str:
    later = INDENT * (3 if hang else 1)
    folded = " ".join(_folded(word, WIDTH - len(later)) for word in text.split(" "))
    return paragraph(folded, INDENT, later, WIDTH)


def _folded(word: str, room: int) -> str:
    """A word with spaces where it has to be broken: a path after a slash or a colon, before an @."""
    if len(word) <= room:
        return word
    ends = [at.end() for at in re.finditer(r"[/:]|.(?=@)", word) if at.end() <= room]
    cut = ends[-1] if ends else room
    return f"{word[:cut]} {_folded(word[cut:], room)}"


def explanations_text(explanations: Iterable[Explanation]) -> str:
    """Blocks, an empty line between them; each is headed by its key."""
    return "\n".join(f"{one.key}\n{explanation_text(one)}" for one in explanations)


def _term(term: Term) -> dict[str, Any]:
    return {
        "name": term.name,
        "symbol": term.symbol,
        "value": term.value,
        "unit": term.unit,
        "shown": term.shown,
    }


def _working(working: Working) -> dict[str, Any]:
    return {
        "name": working.name,
        "expression": working.expression,
        "terms": [_term(term) for term in working.terms],
        "value": working.value,
        "unit": working.unit,
        "formula": working.formula,
        "worked": working.worked,
    }


def explanations_json(explanations: Iterable[Explanation]) -> list[dict[str, Any]]:
    """Plain JSON, quantities in SI units; every working carries its expression and terms."""
    return [
        {
            "key": one.key,
            "pass": one.pass_index,
            "title": one.title,
            "value": one.value,
            "figure": one.figure,
            "unit": one.unit,
            "summary": one.summary,
            "formula": one.formula,
            "worked": one.worked,
            "steps": list(one.steps),
            "symbols": list(one.symbols),
            "sources": list(one.sources),
            "fidelity": one.fidelity,
            "inputs": list(one.inputs),
            "workings": [_working(working) for working in one.workings],
        }
        for one in explanations
    ]
