"""The headline figures of a request, in words: what is shown large, and what limits it."""

from __future__ import annotations

from pdviz.evaluation import Result
from pdviz.scene.marks.figures import Figure
from pdviz.units import count, percent, plural, written


def headline_figures(result: Result) -> tuple[Figure, ...]:
    """TTFT, ITL, end to end, share of time decoding, streaming speed."""
    prefill, decode = result.prefill, result.decode
    steps = result.request.train.steps
    speed, total = result.speed(), result.speed(result.streams)
    ttft = Figure(
        "Time to first token",
        written(result.ttft),
        f"{prefill.bound}-bound prefill",
        prefill.bound,
        f"{prefill.bound}-bound",
    )
    if decode is None or result.itl is None or speed is None or total is None:
        alone = "one token asked for: no decode pass"
        return (
            ttft,
            Figure("Inter-token latency", "–", alone),
            Figure("End to end", written(result.e2e), "the prefill pass alone"),
            Figure("Time spent decoding", "0 %", "of this request"),
            Figure("Streaming speed", "–", alone),
        )
    last = result.decode_last or decode
    bound = decode.bound if last.bound == decode.bound else None
    words = f"{decode.bound}-bound decode" if bound else f"{decode.bound}-bound, later {last.bound}-bound"
    streams = plural(result.streams, "stream")
    return (
        ttft,
        Figure("Inter-token latency", written(result.itl), words, bound, words.removesuffix(" decode")),
        Figure("End to end", written(result.e2e), f"TTFT + {count(steps)} × ITL"),
        Figure("Time spent decoding", percent(result.decode_share), "of this request"),
        Figure("Streaming speed", written(speed), f"{written(total)} over {streams}"),
    )
