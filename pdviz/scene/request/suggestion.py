"""What to try next: an edit of the present scenario that shows something else, always one that works."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pdviz.costmodel.dtypes import DTYPES, math_dtype
from pdviz.costmodel.memory import Memory
from pdviz.costmodel.passes import ModelCost
from pdviz.costmodel.request import request_memory
from pdviz.errors import InputError
from pdviz.evaluation import Result
from pdviz.scenario import PRESETS, Preset, Scenario, changed
from pdviz.scene.marks.suggestion import Suggestion
from pdviz.scene.request.notice import notices
from pdviz.units import count, plural

# The lesson, preset by preset: what to try after each.
LESSON = ("Chat", "128-token prompt", "32K document", "Agent turn", "Busy server", "Code completion")
WORDS = {
    "Chat": "back to the chat",
    "128-token prompt": "try a 128-token prompt",
    "32K document": "try a 32K document",
    "Agent turn": "try an agent turn",
    "Busy server": "try a busy server",
    "Code completion": "try a code completion",
}
USUAL_OUTPUT = 128


def suggestion(result: Result) -> Suggestion | None:
    """The next thing to try; None where nothing else can be."""
    for found in _candidates(result):
        try:
            scenario = found.apply(result.scenario)
        except InputError:
            continue
        if scenario != result.scenario and _is_possible(result, scenario):
            return found
    return None


def _candidates(result: Result) -> Iterator[Suggestion]:
    s = result.scenario
    current = next((p for p in PRESETS if p.matches(s)), None)
    if not result.memory.fits:
        yield from _to_make_it_fit(result)
    elif current is None:
        for notice in notices(result):
            yield from _after(notice.key, result)
    titles = [*LESSON, *(p.title for p in PRESETS if p.title not in LESSON)]
    start = titles.index(current.title) + 1 if current is not None else 1
    presets = {p.title: p for p in PRESETS}
    for title in (*titles[start:], *titles[:start]):
        if title in presets:
            yield _preset(presets[title], s)


def _preset(preset: Preset, scenario: Scenario) -> Suggestion:
    wanted = preset.apply(scenario)
    names = sorted(changed(scenario, wanted))
    edits = tuple((name, getattr(wanted, name)) for name in names)
    return Suggestion(f"next: {WORDS.get(preset.title, f'try {preset.title}')}", edits, preset.title)


def _after(key: str, result: Result) -> Iterator[Suggestion]:
    """What a notice leads to."""
    s = result.scenario
    if key == "one_token":
        yield Suggestion(f"next: ask for {USUAL_OUTPUT} tokens", (("output_tokens", USUAL_OUTPUT),))
    elif key == "cached":
        yield Suggestion("next: drop the cached prefix", (("cached_tokens", 0),))
    elif key == "batch":
        others = "other" if s.others == 1 else f"{count(s.others)} others"
        yield Suggestion(f"next: send the {others} away", (("others", 0), ("others_context_tokens", None)))
    elif key == "short_prompt" and result.crossover_prompt_tokens is not None:
        tokens = result.crossover_prompt_tokens
        words = f"next: try {plural(tokens, 'token')}, where prefill turns compute-bound"
        yield Suggestion(words, (("prompt_tokens", tokens),))
    elif key == "attention":
        cached = s.prompt_tokens * 15 // 16
        yield Suggestion(f"next: cache {count(cached)} of its tokens", (("cached_tokens", cached),))
    elif key == "kv_outweighs" and DTYPES[s.kv_dtype].bytes_per_element > 1:
        yield Suggestion("next: try an FP8 KV cache", (("kv_dtype", "fp8"),))


def _to_make_it_fit(result: Result) -> Iterator[Suggestion]:
    s = result.scenario
    enough = result.fewest_accelerators
    if enough is not None and enough > s.accelerators:
        yield Suggestion(f"next: share it among {count(enough)} accelerators", (("accelerators", enough),))
    batch = result.memory.largest_batch
    if batch:
        yield Suggestion(f"next: keep it to {plural(batch - 1, 'other')}", (("others", batch - 1),))
    for dtype in ("fp8", "int8", "int4"):
        if _memory(result, msgspec.structs.replace(s, weights_dtype=dtype)).fits:
            yield Suggestion(f"next: try {DTYPES[dtype].title} weights", (("weights_dtype", dtype),))


def _model(result: Result, s: Scenario) -> ModelCost:
    """The model in the formats of another scenario."""
    if (s.weights_dtype, s.kv_dtype) == (result.model.weights_dtype, result.model.kv_dtype):
        return result.model
    return ModelCost(result.architecture, s.weights_dtype, s.kv_dtype, result.fidelity)


def _memory(result: Result, s: Scenario) -> Memory:
    """What a scenario with the same model on the same kind of accelerator would keep."""
    return request_memory(
        _model(result, s),
        result.accelerator.memory_bytes * s.accelerators,
        s,
        s.accelerators,
    )


def _is_possible(result: Result, scenario: Scenario) -> bool:
    """True where it can be computed, and fits memory and context as far as the present one does."""
    peaks = result.accelerator.peak_flops_per_s
    try:
        math_dtype(_model(result, scenario).kernel_dtype, peaks, result.accelerator.name)
    except InputError:
        return False
    limit, before = result.architecture.max_context_tokens, result.scenario
    longest = scenario.prompt_tokens + scenario.output_tokens
    if limit is not None and longest > max(limit, before.prompt_tokens + before.output_tokens):
        return False
    return _memory(result, scenario).fits or not result.memory.fits
