"""Parts of a model, worked out: their parameters, and what a decode pass reads of the weights."""

from __future__ import annotations

from pdviz import units
from pdviz.catalogue import Catalogue
from pdviz.costmodel.anatomy import Item, anatomy
from pdviz.evaluation import Result
from pdviz.explain import sources
from pdviz.explain.parts import weights_read
from pdviz.explain.working import Explanation, Term, Working, explanation
from pdviz.report import fidelity_text

PARTS = {
    "embedding": "token embedding",
    "positions": "learned positions",
    "attention": "attention",
    "recurrent": "recurrent mixing",
    "dense": "MLPs that every token meets",
    "router": "routers",
    "experts": "routed experts",
    "shared": "shared experts",
    "extra": "other matrices",
    "vectors": "norms, biases and the like",
    "head": "output head",
}
KINDS_SHOWN = 6


def _what(item: Item) -> str:
    if not item.inputs:
        return item.name
    copies = f"{item.copies:,} times " if item.is_routed else ""
    return f"{item.name}, {copies}{item.inputs:,} × {item.outputs:,}"


def part(result: Result, name: str, catalogue: Catalogue | None) -> Explanation:
    """Parameters and bytes of one part of the model."""
    kinds: dict[tuple[str, int], int] = {}
    stored = 0.0
    for times, item in anatomy(result.model).items():
        if item.part == name:
            key = _what(item), item.parameters
            kinds[key] = kinds.get(key, 0) + times
            stored += times * item.stored_bytes
    total = sum(times * parameters for (_, parameters), times in kinds.items())
    terms: list[Term] = []
    pieces: list[str] = []
    largest = sorted(kinds.items(), key=lambda kind: -kind[1] * kind[0][1])
    for number, ((what, parameters), times) in enumerate(largest[:KINDS_SHOWN], 1):
        terms.append(Term(f"p_{number}", f"p_{number}", parameters, "parameter", what))
        if times > 1:
            terms.append(Term(f"n_{number}", f"n_{number}", times, "layer", f"that have it ({what})"))
        pieces.append(f"n_{number} * p_{number}" if times > 1 else f"p_{number}")
    rest = sum(times * parameters for (_, parameters), times in largest[KINDS_SHOWN:])
    if rest:
        terms.append(Term("rest", "rest", rest, "parameter", "further kinds of layers"))
        pieces.append("rest")
    if not pieces:
        terms = [Term("none", "none", 0, "parameter", "this model has no such part")]
        pieces = ["none"]
    main = Working("P", "parameters", " + ".join(pieces), tuple(terms), total, "parameter", PARTS[name])
    steps: list[Working | str] = []
    if total:
        each = Term(
            "s", "s", stored / total, "B", f"mean bytes of one, stored as {result.model.weights_title}"
        )
        steps.append(Working("size", "bytes", "P * s", (main.term, each), stored, "B"))
        steps.append(f"{units.percent(total / result.architecture.parameters)} of all parameters.")
    title = PARTS[name][0].upper() + PARTS[name][1:]
    return explanation(
        f"parts.{name}", title, units.parameters(total), f"The model's {PARTS[name]}, counted.", main,
        steps=steps, sources=sources.model_sources(result, catalogue), fidelity=sources.COUNTED,
        inputs=("parameters",),
    )  # fmt: skip


def read_by_decode(result: Result) -> Explanation:
    """Weight bytes that a decode pass of the scenario reads."""
    tokens = Term("T", "T", result.streams, "token", "tokens of a decode pass: one for each sequence")
    main, *steps = weights_read(result, tokens, [])
    summary = "The weights that a decode pass reads, once for all its sequences."
    if result.architecture.is_mixture:
        summary += " Of the routed experts those that its tokens hit."
    said = (sources.INFERENCE, *((sources.EXPERTS,) if result.architecture.is_mixture else ()))
    return explanation(
        "weights_read", "Weights that a decode pass reads", units.size(main.value), summary, main,
        steps=steps, sources=said,
        fidelity=fidelity_text(result), inputs=("decode.bytes", "memory.weights"),
    )  # fmt: skip
