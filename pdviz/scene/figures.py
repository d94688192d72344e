"""The headline figures of a request, in words: what is shown large, and what limits it."""

from __future__ import annotations

import os.path

import msgspec

from pdviz.costmodel.dtypes import DTYPES
from pdviz.evaluation import Result
from pdviz.scenario import Scenario
from pdviz.units import count, duration, percent, plural, significant


class Figure(msgspec.Struct, frozen=True):
    """A headline figure. ``bound`` colours its detail where something limits it; ``brief`` is shorter."""

    title: str
    value: str
    detail: str
    bound: str | None = None
    brief: str = ""

    @property
    def spoken(self) -> str:
        return f"{self.title}: {self.value}, {self.detail}"


def headline_figures(result: Result) -> tuple[Figure, ...]:
    """TTFT, ITL, end to end, share of time decoding, streaming speed."""
    prefill, decode = result.prefill, result.decode
    steps = result.request.train.steps
    ttft = Figure(
        "Time to first token",
        duration(result.ttft_s),
        f"{prefill.bound}-bound prefill",
        prefill.bound,
        f"{prefill.bound}-bound",
    )
    if decode is None or result.itl_s is None:
        alone = "one token asked for: no decode pass"
        return (
            ttft,
            Figure("Inter-token latency", "–", alone),
            Figure("End to end", duration(result.e2e_s), "the prefill pass alone"),
            Figure("Time spent decoding", "0 %", "of this request"),
            Figure("Streaming speed", "–", alone),
        )
    last = result.decode_last or decode
    bound = decode.bound if last.bound == decode.bound else None
    words = f"{decode.bound}-bound decode" if bound else f"{decode.bound}-bound, later {last.bound}-bound"
    speed, total = result.tokens_per_s_stream or 0.0, result.tokens_per_s_total or 0.0
    streams = plural(result.streams, "stream")
    return (
        ttft,
        Figure("Inter-token latency", duration(result.itl_s), words, bound, words.removesuffix(" decode")),
        Figure("End to end", duration(result.e2e_s), f"TTFT + {count(steps)} × ITL"),
        Figure("Time spent decoding", percent(result.decode_share), "of this request"),
        Figure(
            "Streaming speed", f"{significant(speed)} tok/s", f"{significant(total)} tok/s over {streams}"
        ),
    )


def short_name(name: str) -> str:
    """A catalogue name as it is; of a person's own file what tells it apart."""
    folder, file = os.path.split(name)
    if not folder:
        return name
    return os.path.basename(folder) if file.lower() == "config.json" and os.path.basename(folder) else file


def scenario_words(scenario: Scenario) -> str:
    """The scenario in one line of words, for titles and captions."""
    s = scenario
    weights, kv = DTYPES[s.weights_dtype].title, DTYPES[s.kv_dtype].title
    formats = weights if weights == kv else f"{weights} weights, {kv} KV"
    words = [f"{short_name(s.model)} {formats}", f"{s.accelerators} × {short_name(s.accelerator)}"]
    cached = f" ({count(s.cached_tokens)} cached)" if s.cached_tokens else ""
    words.append(f"{count(s.prompt_tokens)}{cached} → {plural(s.output_tokens, 'token')}")
    if s.others:
        at = f" at {plural(s.others_context_tokens, 'token')}" if s.others_context_tokens is not None else ""
        words.append(f"{count(s.others)} others alongside{at}")
    return " · ".join(words)
