"""Results and windows for the tests of the scene: any scenario, any part of it in view."""

from __future__ import annotations

from functools import lru_cache

from hypothesis import strategies as st

from pdviz.evaluation import Result, evaluate
from pdviz.scenario import Scenario
from pdviz.scene.marks.axis import Window, automatic_window

# One of each kind: grouped queries, sliding windows, latent cache, experts, states, small and old.
MODELS = (
    "Llama 3.1 8B",
    "Gemma 3 27B",
    "DeepSeek V3",
    "gpt-oss 20B",
    "Mamba 2.8B",
    "SmolLM2 135M",
    "GPT-2 124M",
)
ACCELERATORS = ("H100 SXM", "L4", "TPU v5e", "M1 Max", "B200")


def measure(text: str, size: float, bold: bool) -> float:
    """Width of a text in a type in which all letters are alike."""
    return 0.55 * size * len(text)


@lru_cache(maxsize=4096)
def result_of(scenario: Scenario) -> Result:
    return evaluate(scenario)


def log_counts(low: int, high: int) -> st.SearchStrategy[int]:
    """Whole numbers, as many between 1 and 10 as between 1,000 and 10,000."""
    bits = (high - low).bit_length()
    return st.sampled_from(range(bits + 1)).flatmap(
        lambda b: st.integers(min(low + 2**b // 2, high), min(low + 2**b, high))
    )


def shares() -> st.SearchStrategy[float]:
    """Numbers from 0 to 1, as many in each part of it."""
    return st.sampled_from(range(16)).flatmap(lambda k: st.floats(k / 16, (k + 1) / 16))


@st.composite
def scenarios(draw: st.DrawFn, outputs: st.SearchStrategy[int] | None = None) -> Scenario:
    prompt = draw(log_counts(1, 2**20))
    return Scenario(
        model=draw(st.sampled_from(MODELS)),
        accelerator=draw(st.sampled_from(ACCELERATORS)),
        accelerators=draw(st.sampled_from((1, 2, 8))),
        kv_dtype=draw(st.sampled_from(("bf16", "fp8"))),
        prompt_tokens=prompt,
        output_tokens=draw(outputs if outputs is not None else log_counts(1, 10**7)),
        others=draw(st.one_of(st.just(0), log_counts(0, 4_095))),
        others_context_tokens=draw(st.one_of(st.none(), log_counts(1, 2**17))),
        cached_tokens=draw(st.one_of(st.just(0), st.integers(0, prompt - 1))),
        compute_efficiency=draw(st.sampled_from((0.55, 1.0, 0.01))),
    )


@st.composite
def views(draw: st.DrawFn, result: Result) -> Window:
    """A part of the request: the one shown at first, all of it, or a stretch of any length anywhere."""
    whole = result.e2e_s
    kind = draw(st.sampled_from(("first", "whole", "any", "middle", "edge", "start", "end")))
    if kind == "first":
        return automatic_window(result.ttft_s, result.itl_s, whole)
    if kind == "whole":
        return Window(0.0, whole)
    least = 0.02 * min(result.itl_s or result.ttft_s, result.ttft_s)  # as near as the stage view goes
    span = whole * (min(least / whole, 1.0) ** draw(shares()))
    if kind == "edge":
        start = result.ttft_s - draw(shares()) * span
    else:
        start = {"start": 0.0, "end": whole - span}.get(kind, draw(shares()) * (whole - span))
    start = start if start > 1e-6 * span else 0.0
    return Window(start, start + span).held(whole)
