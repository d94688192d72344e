"""Where every figure on screen comes from: formula, numbers, inputs, sources.

``KEYS`` lists the figures; ``explain(result, key)`` works one out. Arithmetic is carried as
`Working`s, an expression and its terms, so that each line can be checked by evaluating it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from functools import partial

import msgspec

from pdviz.catalogue import Catalogue
from pdviz.errors import InputError
from pdviz.evaluation import Result
from pdviz.explain import anatomy, lengths, machine, model, phases, request, room
from pdviz.explain.each import PARTS as EACH
from pdviz.explain.each import each
from pdviz.explain.memory import memory
from pdviz.explain.text import explanation_text, explanations_json, explanations_text
from pdviz.explain.working import Explanation, Term, Working, quantity
from pdviz.names import shown

__all__ = [
    "DEFAULT_RATE",
    "KEYS",
    "Explanation",
    "Term",
    "Working",
    "explain",
    "explanation_text",
    "explanations_json",
    "explanations_text",
    "find_keys",
    "pass_key",
    "quantity",
]

DEFAULT_RATE = 0.1
MEMORY_PARTS = {
    "weights": "weights in memory",
    "kv": "KV cache in memory",
    "reserve": "memory kept for the runtime",
    "used": "memory in use",
    "capacity": "memory that there is",
    "free": "memory that is left",
    "fits": "whether it fits",
}


class Asked(msgspec.Struct, frozen=True):
    """What an explanation may need beside the result."""

    pass_index: int
    rate: float
    catalogue: Catalogue | None


_Explain = Callable[[Result, Asked], Explanation]


def _of_pass(figure: str, is_decode: bool, result: Result, asked: Asked) -> Explanation:
    if not is_decode:
        return phases.of_pass(result, figure, 0)
    steps = result.request.train.steps
    if not steps:
        return request.no_decode(result, f"decode.{figure}", f"Decode: {phases.PASS_FIGURES[figure]}")
    return phases.of_pass(result, figure, min(max(asked.pass_index, 1), steps))


def _memory(part: str, result: Result, asked: Asked) -> Explanation:
    return memory(result, part, asked.catalogue)


def _each(part: str, result: Result, asked: Asked) -> Explanation:
    return each(result, part, asked.catalogue)


def _part(name: str, result: Result, asked: Asked) -> Explanation:
    return anatomy.part(result, name, asked.catalogue)


_TABLE: dict[str, tuple[str, _Explain]] = {
    "ttft": ("time to first token", lambda r, a: request.ttft(r)),
    "itl": ("inter-token latency, the mean", lambda r, a: request.itl(r)),
    "e2e": ("end to end", lambda r, a: request.e2e(r)),
    "decode_share": ("share of the time spent decoding", lambda r, a: request.decode_share(r)),
    "tokens_per_s": ("streaming speed of one stream", lambda r, a: request.tokens_per_s(r)),
    "tokens_per_s_total": ("streaming speed of all", lambda r, a: request.tokens_per_s(r, total=True)),
    **{
        f"{phase}.{figure}": (f"{phase}: {words}", partial(_of_pass, figure, phase == "decode"))
        for phase in ("prefill", "decode")
        for figure, words in phases.PASS_FIGURES.items()
    },
    "crossover": ("shortest compute-bound prompt", lambda r, a: lengths.crossover(r)),
    "half_speed_context": ("context at which KV outweighs weights", lambda r, a: lengths.half_speed(r)),
    "ridge": ("peak compute over bandwidth", lambda r, a: machine.ridge(r)),
    "achievable_ridge": ("the same with what kernels reach", lambda r, a: machine.achievable_ridge(r)),
    "peak": ("peak compute", lambda r, a: machine.peak(r)),
    "bandwidth": ("memory bandwidth", lambda r, a: machine.bandwidth(r)),
    "compute_efficiency": (
        "share of peak that kernels reach",
        lambda r, a: machine.efficiency(r, compute=True),
    ),
    "bandwidth_efficiency": (
        "share of bandwidth that kernels reach",
        lambda r, a: machine.efficiency(r, compute=False),
    ),
    "assumptions": ("what the cost model takes for granted", lambda r, a: machine.assumptions(r)),
    "remarks": ("what is said beside the figures", lambda r, a: machine.remarks(r)),
    "parameters": ("all parameters", lambda r, a: model.parameters(r, a.catalogue, active=False)),
    "active_parameters": (
        "parameters that a token meets",
        lambda r, a: model.parameters(r, a.catalogue, active=True),
    ),
    "kv_bytes_per_token": ("KV cache of a token", lambda r, a: model.kv_per_token(r, a.catalogue)),
    **{
        f"memory.{part}": (f"memory: {words}", partial(_memory, part)) for part, words in MEMORY_PARTS.items()
    },
    **{f"memory.{part}_each": (f"memory: {words}", partial(_each, part)) for part, words in EACH.items()},
    "memory.free_tokens": ("memory: tokens that it has room for", lambda r, a: room.free_tokens(r)),
    "memory.largest_batch": ("memory: sequences that fit together", lambda r, a: room.largest_batch(r)),
    "memory.fewest": ("memory: accelerators that it takes", lambda r, a: room.fewest(r)),
    "weights_read": ("weights that a decode pass reads", lambda r, a: anatomy.read_by_decode(r)),
    **{f"parts.{name}": (f"parts: {words}", partial(_part, name)) for name, words in anatomy.PARTS.items()},
    "slow_motion": ("speed of playing", lambda r, a: machine.slow_motion(r, a.rate)),
}
KEYS: dict[str, str] = {key: words for key, (words, _) in _TABLE.items()}
"""Every figure that can be explained, and what it is in a few words."""


def explain(
    result: Result,
    key: str,
    pass_index: int | None = None,
    *,
    rate: float = DEFAULT_RATE,
    catalogue: Catalogue | None = None,
) -> Explanation:
    """Where the figure ``key`` of ``result`` comes from.

    ``pass_index`` picks the decode pass that "decode.*" are about (the first unless given; held within
    those that there are), ``rate`` is that of playing. ``catalogue`` is the one that the result was
    evaluated with. Raises InputError for a key that is not in ``KEYS``.
    """
    if key not in _TABLE:
        raise _unknown(key)
    return _TABLE[key][1](result, Asked(1 if pass_index is None else pass_index, rate, catalogue))


def pass_key(index: int, figure: str) -> str:
    """The key of a figure of pass ``index``: "prefill.time", "decode.time"."""
    return f"{'decode' if index else 'prefill'}.{figure}"


def find_keys(words: Iterable[str]) -> tuple[str, ...]:
    """The keys that ``words`` name: keys, groups ("prefill", "memory"), several with commas; none: all.

    Raises InputError with the nearest keys for any other word.
    """
    found: dict[str, None] = {}
    asked = [part for word in words for part in word.split(",")]
    for part in asked:
        name = part.strip().lower().replace("-", "_")
        chosen = [name] if name in _TABLE else [key for key in _TABLE if key.startswith(f"{name}.")]
        if not chosen or not name:
            raise _unknown(part)
        found.update(dict.fromkeys(chosen))
    return tuple(found) if asked else tuple(_TABLE)


def _unknown(key: str) -> InputError:
    name = key.strip().lower()
    known = {**{k: k for k in KEYS}, **{words: k for k, words in KEYS.items()}}
    near = difflib.get_close_matches(name, known, len(known), 0.0)
    nearest = list(dict.fromkeys(known[match] for match in near))[:3]
    return InputError(f"unknown figure {shown(key)}; the nearest are {', '.join(nearest)}")
